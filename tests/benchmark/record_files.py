"""Records of trials, written by hand."""

import json

QUICK = {"name": "quick", "steps": 500}


def record(dataset, split, method, log_density=None, **changes):
    """A record of a trial, done unless an error is given.

    :param log_density: other metrics follow `changes`, or are None.
    :param changes: budget, seed, version, started, settings, sha256, error, seconds and metrics.
    """
    error = changes.pop("error", None)
    found = {
        "key": "0123456789abcdef",
        "status": "failed" if error else "done",
        "trial": {
            "dataset": dataset,
            "split": split,
            "method": method,
            "budget": changes.pop("budget", QUICK),
            "seed": changes.pop("seed", 0),
            "settings": changes.pop("settings", {"layers": 2}),
        },
        "data": {
            "sha256": changes.pop("sha256", dataset),
            "num_train": 90,
            "num_test": 10,
            "num_inputs": 3,
            "target": "y",
        },
        "version": changes.pop("version", "1.0"),
        "started": changes.pop("started", "2026-01-01T12:00:00+00:00"),
        "host": "here",
    }
    seconds = changes.pop("seconds", 10.0)
    if error:
        name, message = error
        found["error"] = {"type": name, "message": message, "traceback": None}
        found["seconds"] = seconds
    else:
        names = ("elbo", "rmse", "crps", "pit_error", "coverage_50", "coverage_90", "coverage_95")
        metrics = {name: changes.pop(name, None) for name in names}
        found["metrics"] = {"log_density": log_density, **metrics}
        found["cost"] = {"seconds": seconds, "peak_memory_mb": 100.0, "num_parameters": 7}
    assert not changes, changes
    return found


def write(folder, *records):
    """Write records into a folder of a sweep, each to a file of its own."""
    (folder / "records").mkdir(parents=True, exist_ok=True)
    for i, one in enumerate(records, start=len(list((folder / "records").iterdir()))):
        (folder / "records" / f"trial-{i:04}.json").write_text(json.dumps(one))
    return folder


def table(values, dataset="a", **changes):
    """Records of one data set from {method: [log density of each split, None for no record]}."""
    return [
        record(dataset, split, method, value, **changes)
        for method, column in values.items()
        for split, value in enumerate(column)
        if value is not None
    ]
