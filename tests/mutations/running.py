"""A fault in a copy of the repository, and the fast tests of that copy."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .listing import MUTATIONS
from .mutation import Mutation

ROOT = Path(__file__).parents[2]
OF_THE_LIST = "tests/mutations/test_mutations.py"
"""Is red wherever the code has a fault of the list."""

LONGEST = 3600.0
"""Seconds after which tests hang, which finds a fault as well."""

_FOUND = re.compile(r"^(?:FAILED|ERROR) (\S+::.*?)(?: - .*)?$", re.MULTILINE)


def run(
    numbers: Iterable[int], out: Path | None = None, likely_only: bool = False
) -> list[dict[str, Any]]:
    """Try faults one after the other.

    :param numbers: of the faults, from 1; 0 is the code as it is, which all tests should pass.
    :param out: a file of one line of JSON for each fault, written as they come. What stands there
        already is not tried again, unless the list says something else by now, or fewer tests have
        not found it.
    :param likely_only: run no tests but those that are likely to find a fault.
    :return: what the lines hold.
    """
    known = _read(out)
    results = []
    for number in numbers:
        mutation = MUTATIONS[number - 1] if number else None
        described = {"number": number, "fault": "none", "old": "", "new": ""}
        if mutation is not None:
            described |= {"fault": mutation.fault, "old": mutation.old, "new": mutation.new}
        tried = [one for one in known if described.items() <= one.items()]
        tried = [one for one in tried if one["found_by"] or one["of_all"] or likely_only]
        if tried:
            result = tried[-1]
        else:
            started = time.perf_counter()
            result = {**described, **_tried(mutation, likely_only), "of_all": not likely_only}
            result["seconds"] = round(time.perf_counter() - started, 1)
            if out is not None:
                with out.open("a") as file:
                    file.write(json.dumps(result) + "\n")
        print(line(result), flush=True)
        results.append(result)
    return results


def line(result: dict[str, Any]) -> str:
    """A result in words."""
    found = f"found by {result['found_by']}" if result["found_by"] else "NOT FOUND"
    return f"{result['number']:2} {result['fault']}: {found} ({result['seconds']:.0f} s)"


def _tried(mutation: Mutation | None, likely_only: bool) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "repository")
        ignored = shutil.ignore_patterns(".git", ".venv", ".*_cache", "__pycache__", "_build")
        shutil.copytree(ROOT, copy, ignore=ignored)
        for beside in ROOT.parent.glob("shared"):  # the reference values
            Path(folder, beside.name).symlink_to(beside)
        if mutation is None:
            return {"file": "", "found_by": _first_failure(copy, ["tests"], [])}
        file = mutation.apply(copy / "gpflow_gi")
        likely = [f"tests/{path}" for path in mutation.tests.split()]
        found_by = _first_failure(copy, likely, [])
        if not (found_by or likely_only):
            found_by = _first_failure(copy, ["tests"], likely)
        return {"file": str(file.relative_to(copy)), "found_by": found_by}


def _first_failure(copy: Path, tests: list[str], but: list[str]) -> str:
    """The name of the first fast test that fails, or nothing."""
    command = [sys.executable, "-m", "pytest", "-m", "not slow and not longest", "-x", "-q"]
    command += [*tests, *(f"--ignore={path}" for path in [OF_THE_LIST, *but])]
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            [*command, "-p", "no:cacheprovider", "--color=no"],
            cwd=copy,
            env=environment,
            capture_output=True,
            text=True,
            timeout=LONGEST,
        )
    except subprocess.TimeoutExpired:
        return "the time limit"
    if done.returncode == 0:
        return ""
    found = _FOUND.search(done.stdout)
    if done.returncode != 1 or found is None:
        raise RuntimeError(f"The tests cannot be run: {done.stdout}{done.stderr}")
    return found[1]


def _read(out: Path | None) -> list[dict[str, Any]]:
    if out is None or not out.exists():
        return []
    return [json.loads(one) for one in out.read_text().splitlines()]
