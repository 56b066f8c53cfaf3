"""Kill a run of gi.fit again and again, and see that it ends where an undisturbed one ends.

    python -m tests.training.kills --kills 50

Each process resumes the run of the one before it, writes a checkpoint after every step, and gets
SIGKILL at a random moment: while it starts, or within two seconds of its first checkpoint. At last
one process goes on to the end, and another does all the steps with no stop. Their last checkpoints,
which hold every variable of the model and of the optimizer, must be equal in every bit, and so must
all reports of the bound.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

MODELS = ("deep_gp", "network")
THEIRS = ("ckpt-1.index", "ckpt-best.h5", "notes.tmp")
"""Files of the user's, in the same folder."""


def train(model, directory, steps, every_step):
    """One process: take part in a run, or do all of it."""
    import tensorflow as tf

    import gpflow_gi as gi
    from gpflow_gi.training import checkpoints, pace

    pace.CALL_SECONDS = 0.0  # a report after every step
    checkpoints.EVERY_SECONDS = 0.0 if every_step else 1e9
    X = np.linspace(-2.0, 2.0, 40)[:, None]
    Y = np.sin(3.0 * X)
    settings = {"batch_size": 15, "kl_warmup": 200, "seed": 3, "progress": False}
    if model == "deep_gp":
        built = gi.architectures.build_deep_gp(X, Y, num_layers=2, num_inducing=8, seed=1)
        settings["learning_rate"] = lambda step: 0.01 / (1.0 + tf.cast(step, tf.float32) / 500.0)
    else:
        built = gi.architectures.build_bnn(X, Y, widths=(6, 6), num_inducing=8, seed=1)
        settings["augment"] = lambda X, seed: (
            X + 0.01 * tf.random.stateless_normal(tf.shape(X), seed, dtype=X.dtype)
        )
    gi.fit(built, (X, Y), steps=steps, checkpoint_dir=directory, **settings)


def start(model, directory, steps, every_step=True):
    command = [sys.executable, "-m", "tests.training.kills", "--part", model, str(directory)]
    command += [str(steps), *(["--every-step"] if every_step else [])]
    return subprocess.Popen(command, cwd=Path(__file__).parents[2])


def latest(directory):
    """The latest checkpoint's step and file."""
    paths = directory.glob("gpflow_gi-checkpoint-*.npz")
    steps = [(int(path.stem.rpartition("-")[2]), path) for path in paths]
    return max(steps, default=(0, None))


def where_it_was(directory, before):
    """What a process that was killed had in hand."""
    step, path = latest(directory)
    if step == before:
        # A file that it had begun may be its first, or one of a process before it.
        return "before its first checkpoint"
    if (directory / "gpflow_gi-unfinished").exists():
        return "while it wrote a file"
    index = directory / "gpflow_gi-checkpoints.json"
    named = json.loads(index.read_text())["checkpoints"] if index.exists() else []
    if path.name not in named or len(list(directory.glob("gpflow_gi-checkpoint-*.npz"))) > 2:
        return "between two files"
    return "elsewhere"


def content(path):
    """All variables' bytes and all reports of a checkpoint."""
    with np.load(path) as arrays:
        values = {name: arrays[name] for name in arrays.files}
    about = json.loads(values.pop("about.json"))
    reports = [{**r, "seconds": None} for r in about["record"]["reports"]]
    return {name: (v.dtype, v.shape, v.tobytes()) for name, v in values.items()}, reports


def kill(model, kills, seed, directory):
    """Kill a run `kills` times and compare its end. Return what the kills met, and the steps."""
    rng = random.Random(seed)
    run, undisturbed = directory / "run", directory / "undisturbed"
    run.mkdir()
    for name in THEIRS:
        (run / name).write_text(name)
    met = Counter()
    for number in range(kills):
        before, _ = latest(run)
        process = start(model, run, 10**9)
        if number % 10 == 9:
            time.sleep(rng.uniform(0.0, 8.0))
        else:
            while latest(run)[0] == before:
                assert process.poll() is None, "the run ended by itself"
                time.sleep(0.002)
            time.sleep(rng.uniform(0.0, 2.0))
        assert process.poll() is None, "the run ended by itself"
        process.kill()
        process.wait()
        where = where_it_was(run, before)
        met[where] += 1
        assert latest(run)[0] >= before
        print(f"{model}: kill {number + 1} at step {latest(run)[0]}, {where}", flush=True)
    steps = latest(run)[0] + 20
    for folder, every_step in ((run, True), (undisturbed, False)):
        assert start(model, folder, steps, every_step).wait() == 0
    assert content(latest(run)[1]) == content(latest(undisturbed)[1]), "the end differs"
    assert all((run / name).read_text() == name for name in THEIRS)
    ours = {path.name for path in run.iterdir()} - set(THEIRS)
    assert len(ours) == 3, ours  # two checkpoints and the index
    return met, steps


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=50, help="of each model's run")
    parser.add_argument("--seed", type=int, default=0, help="of the moments")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=MODELS)
    parser.add_argument("--part", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--every-step", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.part:
        model, directory, steps = given.part
        train(model, directory, int(steps), given.every_step)
        return
    for model in given.models:
        with tempfile.TemporaryDirectory() as directory:
            met, steps = kill(model, given.kills, given.seed, Path(directory))
        places = ", ".join(f"{count} {where}" for where, count in met.most_common())
        print(f"{model}: {given.kills} kills ({places}); {steps} steps, equal in every bit")


if __name__ == "__main__":
    main()
