"""Records of trials, written by hand."""

import json

from gpflow_gi.benchmark.records import DONE, FAILED, encode, key_of
from gpflow_gi.datasets import UCI_SETS

QUICK = {"name": "quick", "steps": 500}


def record(dataset, split, method, log_density=None, **changes):
    """A record of a trial, done unless an error is given.

    :param log_density: other metrics follow `changes`, or are None.
    :param changes: budget, seed, version, versions, started, host, settings, sha256 (that of UCI's
        data, if there are some of that name), error, notes, seconds and metrics.
    """
    error = changes.pop("error", None)
    found = {
        "status": FAILED if error else DONE,
        "trial": {
            "dataset": dataset,
            "split": split,
            "method": method,
            "budget": changes.pop("budget", QUICK),
            "seed": changes.pop("seed", 0),
            "settings": changes.pop("settings", {"layers": 2}),
        },
        "data": {
            "name": dataset,
            "sha256": changes.pop(
                "sha256", UCI_SETS[dataset].sha256 if dataset in UCI_SETS else dataset
            ),
            "num_train": 90,
            "num_test": 10,
            "num_inputs": 3,
            "target": "y",
        },
        "version": changes.pop("version", "1.0"),
        "started": changes.pop("started", "2026-01-01T12:00:00+00:00"),
        "host": changes.pop("host", "here"),
    }
    found["key"] = key_of(found)
    seconds = changes.pop("seconds", 10.0)
    if error:
        name, message = error
        found["error"] = {"type": name, "message": message, "traceback": None}
        found["seconds"] = seconds
    else:
        names = ("elbo", "rmse", "crps", "pit_error", "coverage_50", "coverage_90", "coverage_95")
        metrics = {name: changes.pop(name, None) for name in names}
        found["metrics"] = {"log_density": log_density, **metrics}
        found["versions"] = changes.pop("versions", {})
        found["cost"] = {"seconds": seconds, "peak_memory_mb": 100.0, "num_parameters": 7}
    if "notes" in changes:
        found["notes"] = changes.pop("notes")
    assert not changes, changes
    return found


def write(folder, *records, sealed=True):
    """Write records into a folder of a sweep, each to a file of its own.

    :param sealed: whether they have a checksum, which those of before had not.
    """
    (folder / "records").mkdir(parents=True, exist_ok=True)
    for i, one in enumerate(records, start=len(list((folder / "records").iterdir()))):
        content = encode(one) if sealed else json.dumps(one).encode()
        (folder / "records" / f"trial-{i:04}-{one['key']}.json").write_bytes(content)
    return folder


def table(values, dataset="a", **changes):
    """Records of one data set from {method: [log density of each split, None for no record]}."""
    return [
        record(dataset, split, method, value, **changes)
        for method, column in values.items()
        for split, value in enumerate(column)
        if value is not None
    ]
