"""A sweep in a process of its own: ``python -m tests.benchmark.driver FOLDER JSON``."""

import json
import sys
from pathlib import Path

from gpflow_gi.benchmark import sweep
from gpflow_gi.benchmark.workers import LocalWorkers

from .synthetic import HERE, data


def trials(budget):
    """Twelve: two data sets, two methods, three splits."""
    methods = {"m": {"layers": 1}, "n": {"layers": 2}}
    return sweep.plan([data("a"), data("b")], range(3), methods, {"name": "test", **budget}, 0)


def run(folder, budget, **options):
    return sweep.run(trials(budget), folder, LocalWorkers(2), function=f"{HERE}:behaves", **options)


if __name__ == "__main__":
    run(Path(sys.argv[1]), json.loads(sys.argv[2]))
