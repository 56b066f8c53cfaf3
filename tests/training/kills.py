"""Kill a run of gi.fit again and again, and see that it ends where an undisturbed one ends.

    python -m tests.training.kills --kills 50

Each process resumes the run of the one before it, writes a checkpoint after every step, and gets
SIGKILL at a random moment: while it starts, or within two seconds of its first checkpoint. At last
one process goes on to the end, and another does all the steps with no stop. Their last checkpoints,
which hold every variable of the model and of the optimizer, must be equal in every bit, and so must
all reports of the bound.

The processes are forks of one that has imported TensorFlow and computed nothing with it, which
saves most of the time.
"""

import argparse
import json
import os
import random
import signal
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

import numpy as np
import tensorflow as tf

from gpflow_gi.architectures import build_bnn, build_deep_gp
from gpflow_gi.training import checkpoints, fit, pace

MODELS = ("deep_gp", "network")
THEIRS = ("ckpt-1.index", "ckpt-best.h5", "notes.tmp")
"""Files of the user's, in the same folder."""


def train(model, directory, steps, every_step):
    """Take part in a run, or do all of it."""
    pace.CALL_SECONDS = 0.0  # a report after every step
    checkpoints.EVERY_SECONDS = 0.0 if every_step else 1e9
    X = np.linspace(-2.0, 2.0, 40)[:, None]
    Y = np.sin(3.0 * X)
    settings = {"batch_size": 15, "kl_warmup": 200, "seed": 3, "progress": False}
    if model == "deep_gp":
        built = build_deep_gp(X, Y, num_layers=2, num_inducing=8, seed=1)
        settings["learning_rate"] = lambda step: 0.01 / (1.0 + tf.cast(step, tf.float32) / 500.0)
    else:
        built = build_bnn(X, Y, widths=(6, 6), num_inducing=8, seed=1)
        settings["augment"] = lambda X, seed: (
            X + 0.01 * tf.random.stateless_normal(tf.shape(X), seed, dtype=X.dtype)
        )
    fit(built, (X, Y), steps=steps, checkpoint_dir=directory, **settings)


class Process:
    """A fork that trains."""

    def __init__(self, *arguments):
        self.pid = os.fork()
        if self.pid == 0:
            code = 1
            try:
                train(*arguments)
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(code)

    def ended(self):
        return os.waitpid(self.pid, os.WNOHANG) != (0, 0)

    def wait(self):
        _, status = os.waitpid(self.pid, 0)
        return os.waitstatus_to_exitcode(status)

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)
        assert self.wait() == -signal.SIGKILL


def latest(directory):
    """The latest checkpoint's step and file."""
    paths = directory.glob("gpflow_gi-checkpoint-*.npz")
    steps = [(int(path.stem.rpartition("-")[2]), path) for path in paths]
    return max(steps, default=(0, None))


def where_it_was(directory, before):
    """The activity of a process at the time of its kill."""
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
        process = Process(model, run, 10**9, True)
        try:
            if number % 10 == 9:
                time.sleep(rng.uniform(0.0, 4.0))
            else:
                while latest(run)[0] == before:
                    assert not process.ended(), "the run ended by itself"
                    time.sleep(0.002)
                time.sleep(rng.uniform(0.0, 2.0))
        finally:
            process.kill()
        where = where_it_was(run, before)
        met[where] += 1
        assert latest(run)[0] >= before
        print(f"{model}: kill {number + 1} at step {latest(run)[0]}, {where}", flush=True)
    steps = latest(run)[0] + 20
    for folder, every_step in ((run, True), (undisturbed, False)):
        assert Process(model, folder, steps, every_step).wait() == 0
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
    given = parser.parse_args(arguments)
    for model in given.models:
        with tempfile.TemporaryDirectory() as directory:
            met, steps = kill(model, given.kills, given.seed, Path(directory))
        places = ", ".join(f"{count} {where}" for where, count in met.most_common())
        print(f"{model}: {given.kills} kills ({places}); {steps} steps, equal in every bit")


if __name__ == "__main__":
    main()
