"""Trial functions that train nothing.

What they do is in the trial's budget: "seconds" to sleep, "crash" by "dataset split method", and
"counts", a file that gets a line for every trial that is begun and that ends.
"""

import contextlib
import os
import resource
import signal
import sys
import time
from pathlib import Path

from gpflow_gi.benchmark.records import Trial

HERE = "tests.benchmark.synthetic"

_LEFT = []
"""Memory that a trial does not give back."""


def behaves(data, split, method, budget, seed):
    """A trial that does what the budget says of it."""
    title = f"{data['name']} {split} {method}"
    counts = budget.get("counts")
    _count(counts, f"begun {title}")
    time.sleep(budget.get("seconds", 0.0))
    how = budget.get("crash", {}).get(title)
    if how == "raise":
        raise ValueError("the matrix is not\npositive definite")
    if how == "exit":
        sys.exit("no more")
    if how == "kill once" and _for_the_first_time(counts):
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "terminate":
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(60)
    if how == "kill":
        print("the last words", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "abort":
        os.abort()
    if how == "hang":
        time.sleep(60)
    if how == "memory":
        hoard = [bytearray(os.urandom(2**20)) for _ in range(400)]
        time.sleep(60)
        del hoard
    if how == "leave memory":
        _LEFT.append(bytearray(os.urandom(400 * 2**20)))
    if how == "array":
        return {"metrics": {"log_density": object()}}
    if how == "kill the supervisor once" and _for_the_first_time(counts):
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(60)
    _count(counts, f"ended {title}")
    if how == "no room once" and _for_the_first_time(counts):
        # From here on files take 100 bytes, as those on a disk that is nearly full.
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))
    return {
        "metrics": {"log_density": -split - seed / 10, "rmse": float("nan"), "elbo": None},
        "data": {"num_train": 9},
        "cost": {"process": os.getpid(), "threads": os.environ["OMP_NUM_THREADS"]},
    }


def fails(data, split, method, budget, seed):
    raise ValueError("on purpose")


def likes_a_rate(data, split, method, budget, seed):
    """A bound that is best at a rate of 0.05 on the first split, and at 0.01 on all others."""
    rate = budget["learning_rate"]
    elbo = -abs(rate - (0.01 if split else 0.05))
    return {"metrics": {"log_density": -split, "elbo": None if method == "bnn-ensemble" else elbo}}


def hangs_after_the_first(data, split, method, budget, seed):
    time.sleep(60 if split else 0)
    return {"metrics": {}}


def has_no_room(data, split, method, budget, seed):
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))
    return {"metrics": {}}


def _for_the_first_time(counts):
    marker = Path(f"{counts}.once")
    first = not marker.exists()
    marker.touch()
    return first


def _count(counts, line):
    if counts:
        # One write with O_APPEND: lines of several processes do not mix.
        with contextlib.closing(open(counts, "a", buffering=1)) as file:
            file.write(f"{line}\n")


def lines(counts, word):
    """The trials of which `counts` has a line, as often as it has."""
    text = Path(counts).read_text() if Path(counts).exists() else ""
    return sorted(line.partition(" ")[2] for line in text.splitlines() if line.startswith(word))


def data(name="a", **more):
    return {"name": name, "sha256": 64 * "0", "num_splits": None, **more}


def trial(split=0, method="m", *, name="a", seed=0, **budget):
    return Trial(data(name), split, method, {"name": "test", **budget}, seed, {"layers": 2})
