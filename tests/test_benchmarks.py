"""The benchmark programs run; what they measure is for no test."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = sorted(
    file.stem
    for file in (ROOT / "tests" / "benchmarks").glob("*.py")
    if "__main__" in file.read_text("utf-8")
)


def test_make_bench_runs_every_program():
    (tables,) = (
        line for line in (ROOT / "Makefile").read_text("utf-8").splitlines() if "TABLES :=" in line
    )
    assert sorted(tables.split()[2:]) == PROGRAMS


@pytest.mark.longest
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_writes_markdown_and_json(name, tmp_path):
    if name in ("float32", "wall_clock") and "GPFLOW_GI_DATA" not in os.environ:
        pytest.skip("GPFLOW_GI_DATA names no folder of the UCI sets, which would be downloaded")
    command = [sys.executable, "-m", f"tests.benchmarks.{name}", "--fast", "--out", str(tmp_path)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-2000:]
    (markdown,) = tmp_path.glob("*.md")
    assert markdown.read_text("utf-8").strip() == run.stdout.strip()
    assert markdown.with_suffix(".json").is_file()
