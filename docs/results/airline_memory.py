"""Peak memory of a process that trains and measures a model on two million flights.

python docs/results/airline_memory.py OUT.json [--methods NAME ...]

The settings of `gpflow-gi experiment large --data airline`, for half a minute of CPU time with
measurements after 10, 15 and 22.5 seconds. Each method has a process of its own.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import asdict, replace
from pathlib import Path

from gpflow_gi.experiments import curve
from gpflow_gi.experiments.large import COMPARED, TABLES, USUAL, hash_of


def main() -> None:
    """Run what is missing, or the one method that an own process has."""
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--methods", nargs="+", default=list(COMPARED))
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.alone:
        print(json.dumps(peak(*options.methods)))
        return
    found = json.loads(options.out.read_text()) if options.out.is_file() else {}
    for method in options.methods:
        if method not in found:
            command = [sys.executable, __file__, str(options.out), "--alone", "--methods", method]
            said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            found[method] = json.loads(said.splitlines()[-1])
            options.out.write_text(json.dumps(found, indent=1) + "\n")


def peak(method: str) -> dict:
    """Train for half a minute; peak memory in MB and the number of steps."""
    settings = replace(USUAL, cpu_seconds=30.0)
    with tempfile.TemporaryDirectory() as folder:
        data = {"name": "airline", "sha256": hash_of(TABLES["airline"]()), "folder": folder}
        record = curve.run(data, 0, method, asdict(settings), 0)
    assert not record["failed"]
    steps = record["points"][-1]["step"]
    return {"peak_memory_mb": round(record["cost"]["peak_memory_mb"]), "steps": steps}


if __name__ == "__main__":
    main()
