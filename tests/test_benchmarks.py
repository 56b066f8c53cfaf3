"""The benchmark programs run; what they measure is for no test."""

import json
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


NOT_TABLES = {"export_step", "gpytorch_deep_gp", "run_exported", "trieste_regret"}
"""Programs for other machines and other environments."""


def test_make_bench_runs_every_program():
    (tables,) = (
        line for line in (ROOT / "Makefile").read_text("utf-8").splitlines() if "TABLES :=" in line
    )
    assert {*tables.split()[2:]} == {*PROGRAMS} - NOT_TABLES


@pytest.mark.longest
@pytest.mark.parametrize("name", sorted({*PROGRAMS} - NOT_TABLES))
def test_a_program_writes_markdown_and_json(name, tmp_path):
    if name in ("float32", "time_to_quality") and "GPFLOW_GI_DATA" not in os.environ:
        pytest.skip("GPFLOW_GI_DATA names no folder of the UCI sets, which would be downloaded")
    command = [sys.executable, "-m", f"tests.benchmarks.{name}", "--fast", "--out", str(tmp_path)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-2000:]
    (markdown,) = tmp_path.glob("*.md")
    assert markdown.read_text("utf-8").strip() == run.stdout.strip()
    assert markdown.with_suffix(".json").is_file()


@pytest.mark.longest
def test_exported_steps_run_with_jax_alone(tmp_path):
    """In an environment that has nothing else, and with the numbers of TensorFlow's XLA."""
    export = [sys.executable, "-m", "tests.benchmarks.export_step", "--fast", "--out"]
    subprocess.run([*export, str(tmp_path / "steps")], cwd=ROOT, check=True)
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "jax")], check=True)
    python = str(tmp_path / "jax" / "bin" / "python")
    subprocess.run([python, "-m", "pip", "install", "--quiet", "jax"], check=True)
    command = [python, str(tmp_path / "steps" / "run_exported.py"), str(tmp_path / "steps")]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-2000:]
    ours, gpflux = map(json.loads, run.stdout.splitlines())
    assert ours["agrees"] and ours["is_deterministic"]
    assert ours["relative_difference_of_loss"] < 1e-12
    assert ours["largest_difference_in_learning_rates"] < 1e-6
    assert gpflux["agrees"] and not gpflux["is_deterministic"]
    assert 0 < ours["seconds_per_step"] < 10
