"""``gpflow-gi benchmark``: what it says, what it refuses, and its exit codes."""

import gzip
import hashlib
import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass, fields, replace
from pathlib import Path

import numpy as np
import pytest

from gpflow_gi import datasets
from gpflow_gi.benchmark import data as benchmark_data
from gpflow_gi.benchmark import run_trial, sweep
from gpflow_gi.benchmark.budgets import QUICK
from gpflow_gi.benchmark.lock import only_sweep
from gpflow_gi.benchmark.methods import METHODS
from gpflow_gi.cli import benchmark, main, workers

from .. import test_cli
from .synthetic import HERE, lines
from .test_sweep import num_records

METHOD = next(iter(METHODS))

PROGRAM = [sys.executable, "-m", "gpflow_gi"]

BUFFERED = {**os.environ, "PYTHONUNBUFFERED": ""}
"""An environment in which what is said at once arrives at once."""


@dataclass(frozen=True)
class Budget:
    """As budgets are, with what the synthetic trials need."""

    name: str = "quick"
    steps: int = 10
    kl_warmup: int = 5
    rate: float = 0.5
    seconds: float = 0.0
    counts: str = ""


@pytest.fixture
def csv(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a,b,y\n" + "".join(f"{i},{i * i},{i % 3}\n" for i in range(10)))
    return str(path)


@pytest.fixture
def command(monkeypatch, csv, tmp_path):
    """Run the command with synthetic trials, two of them."""
    monkeypatch.setattr(sweep, "TRIAL_FUNCTION", f"{HERE}:behaves")
    budget = Budget(counts=str(tmp_path / "counts"))
    monkeypatch.setattr(benchmark, "BUDGETS", {"quick": budget})

    def run(*more, out="out"):
        table = ["--data", csv, "--target", "y"]
        fixed = ["--methods", METHOD, "--splits", "2", "--out", str(tmp_path / out)]
        return main(["benchmark", *table, *fixed, *more])

    return run


def error_of(capsys, *arguments):
    return test_cli.error_of(capsys, "benchmark", *arguments)


def test_a_sweep_from_begin_to_end(command, capsys, tmp_path):
    assert command("--jobs", "2", "--set", "steps=500", "--set", "rate=0.25") == 0
    output = capsys.readouterr()
    said = " ".join(output.out.split())
    assert (
        "2 trials: 1 data set (table), 1 method" in said
        and "steps=500, kl_warmup=5, rate=0.25" in said
    )
    assert "2 trials are done, 0 failed." in said
    assert f"next: gpflow-gi report {tmp_path / 'out'}" in said and "KL warm-up" not in said
    assert output.err.count("\n") == 2 and "2/2 table split" in output.err
    assert lines(tmp_path / "counts", "begun") == [f"table 0 {METHOD}", f"table 1 {METHOD}"]
    assert command("--jobs", "2", "--set", "rate=0.25", "--set", "steps=500") == 0
    assert len(lines(tmp_path / "counts", "begun")) == 2


def test_a_warmup_that_does_not_end_is_remarked(command, capsys):
    assert command("--set", "steps=4") == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "The KL warm-up does not end in 4 steps" in said and "--set kl_warmup=1 ends" in said


def test_changed_budgets_have_another_name():
    changed = benchmark._changed(Budget(), ["steps=500", "rate=0.5"])
    assert changed == Budget(name="quick, steps=500", steps=500)
    assert benchmark._changed(Budget(), []) == Budget()


def test_of_a_budget_the_warmup_and_the_last_rate_may_be_zero():
    for field in fields(QUICK):
        if field.name == "kl_warmup":
            changed = benchmark._changed(QUICK, ["kl_warmup=0"])
            assert changed == replace(QUICK, name="quick, kl_warmup=0", kl_warmup=0)
        elif field.name == "last_learning_rate":
            changed = benchmark._changed(QUICK, ["last_learning_rate=0"])
            assert changed.name == "quick, last_learning_rate=0.0"
            assert changed.last_learning_rate == 0.0
        elif field.name != "name":
            with pytest.raises(ValueError, match=f"--set {field.name}=0: {field.name} must be a "):
                benchmark._changed(QUICK, [f"{field.name}=0"])


def test_failures_are_listed(command, capsys, monkeypatch):
    monkeypatch.setattr(sweep, "TRIAL_FUNCTION", f"{HERE}:fails")
    assert command() == 1
    said = capsys.readouterr().out
    assert "0 trials are done, 2 failed." in said
    assert f"\n  table split 1 {METHOD}: ValueError: on purpose\n" in said
    assert "--retry-failed" in said
    monkeypatch.setattr(sweep, "TRIAL_FUNCTION", f"{HERE}:behaves")
    assert command() == 1
    assert command("--retry-failed") == 0


def test_the_data_are_part_of_a_trial(command, csv, tmp_path):
    command()
    command("--drop", "b")
    assert len(lines(tmp_path / "counts", "begun")) == 4
    with open(csv, "a") as file:
        file.write("11,121,2\n")
    command()
    assert len(lines(tmp_path / "counts", "begun")) == 6


def test_limits_are_passed_on(command, capsys):
    assert command("--set", "seconds=5", "--time-limit", "0.3", "--jobs", "2") == 1
    assert "TimeLimit: it took longer than 0.3 s." in capsys.readouterr().out
    assert command("--set", "seconds=4", "--memory-limit", "1", "--jobs", "2") == 1
    assert "1 MB are allowed." in capsys.readouterr().out


def test_another_sweep_in_the_folder(command, capsys, tmp_path):
    with only_sweep(sweep.prepare(tmp_path / "out")):
        assert command() == 1
    said = capsys.readouterr().err
    assert said.startswith(f"gpflow-gi: error: another sweep is running in {tmp_path / 'out'} (")
    assert said.count("\n") == 1


def test_what_cannot_be_written_is_one_line(command, capsys, monkeypatch):
    monkeypatch.setattr(sweep, "TRIAL_FUNCTION", f"{HERE}:has_no_room")
    assert command() == 1
    said = capsys.readouterr().err
    assert said.startswith("gpflow-gi: error: ") and said.count("\n") == 1
    assert "/records/table-0-" in said and said.endswith("cannot be written: File too large.\n")


@pytest.mark.slow
def test_an_interrupt(csv, tmp_path):
    script = (
        "import sys\nfrom gpflow_gi.benchmark import sweep\nfrom gpflow_gi.cli import main\n"
        f"sweep.TRIAL_FUNCTION = '{HERE}:hangs_after_the_first'\nsys.exit(main(sys.argv[1:]))\n"
    )
    out = tmp_path / "out"
    arguments = ["benchmark", "--data", csv, "--target", "y", "--out", str(out)]
    process = subprocess.Popen(
        [sys.executable, "-c", script, *arguments, "--methods", METHOD],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stderr.readline().startswith("1/20 table split 0")
    os.killpg(process.pid, signal.SIGINT)
    error = process.communicate(timeout=50)[1]
    assert process.returncode == 130
    assert num_records(out) == 1
    assert error.splitlines() == [
        f"gpflow-gi: error: interrupted; what has ended is kept in {out}{os.sep}. Give the same "
        "command again to go on."
    ]
    assert not list((out / "records").glob(".*.part"))


@pytest.mark.parametrize(
    "text, numbers",
    [
        ("3", [0, 1, 2]),
        ("0:3", [0, 1, 2]),
        (":2", [0, 1]),
        ("3:4", [3]),
        ("0,4,7", [0, 4, 7]),
        ("4,4", [4]),
    ],
)
def test_splits(text, numbers):
    assert list(benchmark._splits(text)) == numbers


@pytest.mark.parametrize(
    "arguments, said",
    [
        ([], "--datasets NAME,NAME or --data FILE is needed; see --list."),
        (["--target", "y"], "--target needs --data"),
        (["--drop", "y"], "--drop needs --data"),
        (["--max-categories", "3"], "--max-categories needs --data"),
        (["--data", "table.csv"], "--data needs --target"),
        (["--data", "table.csv", "--target", "y"], "table.csv: there is no such file"),
        (["--data", "d/yacht.csv", "--target", "y", "--datasets", "yacht"], "rename it"),
        (["--data", "d/yacht.csv", "--target", "y"], "d/yacht.csv has the name of a UCI set"),
        (["--data", "wine.txt", "--target", "y", "--datasets", "yacht"], "rename it"),
        (["--datasets", "yatch"], "yatch"),
        (["--datasets", ""], "--datasets: must be names with commas between them, but is ''"),
        (["--datasets", "yacht", "--methods", ""], "--methods: must be names with commas"),
        (["--datasets", "yacht", "--methods", " ,"], "--methods: must be names with commas"),
        (
            ["--datasets", "yacht", "--methods", "SVPG"],
            "there is no method 'SVPG'. Did you mean 'svgp'? --list says which there are.\n",
        ),
        (["--datasets", "yacht", "--methods", "zzz"], "no method 'zzz'. --list says"),
        (["--splits", "0"], "--splits: must be a number of splits, FIRST:END"),
        (["--splits", "3:3"], "--splits"),
        (["--splits", "-1"], "--splits"),
        (["--splits", "1,x"], "--splits"),
        (["--splits", "1,-2"], "--splits"),
        (["--budget", "none"], "--budget"),
        (
            ["--datasets", "yacht", "--set", "steps"],
            "--set steps: steps must be a whole number of at least 1, but is ''.",
        ),
        (["--datasets", "yacht", "--set", "steps=0"], "steps must be a whole number of at least 1"),
        (["--datasets", "yacht", "--set", "kl_warmup=-1"], "kl_warmup must be a whole number, 0 o"),
        (["--datasets", "yacht", "--set", "learning_rate=0"], "must be a positive number"),
        (["--datasets", "yacht", "--set", "learning_rate=nan"], "must be a positive number"),
        (["--datasets", "yacht", "--set", "steps=many"], "steps must be a whole number"),
        (["--datasets", "yacht", "--set", "steps=1.5"], "steps must be a whole number"),
        (["--datasets", "yacht", "--set", "steps=-1"], "steps must be a whole number"),
        (["--datasets", "yacht", "--set", "paces=1"], "--set paces=1: the budget has "),
        (["--jobs", "0"], "--jobs"),
        (["--jobs", "2", "--dask", "tcp://x"], "not allowed with"),
        (["--time-limit", "0"], "--time-limit"),
        (["--memory-limit", "-1"], "--memory-limit"),
        (["--seed", "-1"], "--seed"),
        (["more"], "more"),
    ],
)
def test_wrong_arguments(capsys, tmp_path, monkeypatch, arguments, said):
    monkeypatch.chdir(tmp_path)
    assert said in error_of(capsys, *arguments)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_ours(capsys, csv, tmp_path):
    error = error_of(capsys, "--data", csv, "--target", "y", "--out", str(tmp_path))
    assert "is not the folder of a sweep (it holds 'table.csv')" in error


def test_no_cluster(capsys, csv, tmp_path, monkeypatch):
    cluster = pytest.importorskip("gpflow_gi.benchmark.cluster")
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 0.3)
    arguments = ["--data", csv, "--target", "y", "--out", str(tmp_path / "out")]
    error = error_of(capsys, *arguments, "--dask", "tcp://127.0.0.1:1")
    assert "no scheduler answers at tcp://127.0.0.1:1" in error
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("address", ["foo", "tcp://", "tcp://host:port", "nonsense://host:1"])
def test_what_is_no_address_is_said(capsys, csv, tmp_path, address):
    pytest.importorskip("distributed", reason="the extra `cluster` is not installed")
    arguments = ["--data", csv, "--target", "y", "--out", str(tmp_path / "out")]
    error = error_of(capsys, *arguments, "--dask", address)
    assert error.startswith(f"gpflow-gi: error: {address!r} is not the address of a schedul")


@pytest.mark.slow
def test_what_is_no_address_is_one_line(csv, tmp_path, address="nonsense://host:1"):
    """The whole process prints one line: a remaining connection might print at Python's exit."""
    pytest.importorskip("distributed", reason="the extra `cluster` is not installed")
    arguments = ["--data", csv, "--target", "y", "--out", str(tmp_path / "out")]
    run = subprocess.run(
        [*PROGRAM, "benchmark", *arguments, "--dask", address], capture_output=True, text=True
    )
    assert run.returncode == 2 and run.stdout == ""
    assert run.stderr.startswith(f"gpflow-gi: error: {address!r} is not the address of a schedul")
    assert run.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_cluster_is_left_if_there_is_no_folder(capsys, csv, tmp_path, monkeypatch):
    closed = []

    class Workers:
        def close(self):
            closed.append(self)

    monkeypatch.setattr(workers, "made", lambda options: Workers())
    error = error_of(capsys, "--data", csv, "--target", "y", "--out", str(tmp_path))
    assert "is not the folder of a sweep" in error
    assert len(closed) == 1


def test_the_extra_that_a_cluster_needs(capsys, csv, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "gpflow_gi.benchmark.cluster", None)
    arguments = ["--data", csv, "--target", "y", "--out", str(tmp_path / "out")]
    error = error_of(capsys, *arguments, "--dask", "tcp://127.0.0.1:1")
    assert "pip install 'gpflow-gi[cluster]'" in error


def test_the_rows_of_a_csv_are_what_is_described(csv):
    table = benchmark_data.table_of(benchmark_data.describe_csv(csv, "y", ["a"]))
    assert (table.name, table.input_names, table.target_name) == ("table", ("b",), "y")
    np.testing.assert_array_equal(table.X, [[i * i] for i in range(10)])
    np.testing.assert_array_equal(table.Y, [[i % 3] for i in range(10)])


@pytest.mark.skipif(
    not os.environ.get("GPFLOW_GI_DATA"),
    reason="GPFLOW_GI_DATA names no folder with the published files of the UCI sets",
)
def test_the_rows_of_a_uci_set_are_what_is_described():
    table, expected = (
        benchmark_data.table_of(benchmark_data.describe("yacht")),
        datasets.uci_table("yacht"),
    )
    assert table.name == "yacht" and table.X.shape == (308, 6)
    np.testing.assert_array_equal(table.X, expected.X)
    np.testing.assert_array_equal(table.Y, expected.Y)


def test_splits_that_a_data_set_lacks_are_said(command, capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(benchmark_data, "uci_table", lambda name: None)
    arguments = ["--datasets", "protein", "--methods", METHOD, "--out", str(tmp_path / "out")]
    assert main(["benchmark", *arguments, "--splits", "3,4,5,6"]) == 0
    assert "protein has 5 splits: the others are left out." in capsys.readouterr().out
    assert lines(tmp_path / "counts", "begun") == [f"protein {i} {METHOD}" for i in (3, 4)]
    assert main(["benchmark", *arguments, "--splits", "5,6"]) == 2
    assert "there is nothing to run" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["benchmark", "--list"], ["--help"], ["--version"]])
def test_nobody_reads_what_is_said(arguments):
    """As with `| head -1`, once head has its line."""
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "wb") as closed:
        run = subprocess.run(
            [*PROGRAM, *arguments], stdout=closed, stderr=subprocess.PIPE, env=BUFFERED
        )
    assert run.stderr == b""
    assert run.returncode == 141


@pytest.mark.slow
def test_the_reader_leaves_during_a_command(csv, tmp_path):
    script = (
        "import sys\nfrom gpflow_gi.benchmark import sweep\nfrom gpflow_gi.cli import main\n"
        f"sweep.TRIAL_FUNCTION = '{HERE}:fails'\nsys.exit(main(sys.argv[1:]))\n"
    )
    out = tmp_path / "out"
    arguments = ["benchmark", "--data", csv, "--target", "y", "--out", str(out)]
    process = subprocess.Popen(
        [sys.executable, "-c", script, *arguments, "--methods", METHOD, "--splits", "2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=BUFFERED,
    )
    assert process.stdout.readline().startswith(b"2 trials: ")
    process.stdout.close()
    error = process.stderr.read()
    process.stderr.close()
    assert process.wait(50) == 141
    # The trials themselves are run, and say so elsewhere.
    assert error.count(b"\n") == 2 and b"Traceback" not in error
    assert num_records(out) == 2


def test_an_interrupt_before_the_sweep(capsys, monkeypatch):
    def interrupt(options):
        raise KeyboardInterrupt

    monkeypatch.setattr(benchmark, "_data", interrupt)
    assert main(["benchmark", "--datasets", "yacht"]) == 130
    assert capsys.readouterr().err == "gpflow-gi: error: interrupted before it was done.\n"


def test_the_list_imports_no_tensorflow():
    script = (
        "import sys\nfrom gpflow_gi.cli import main\nmain(['benchmark', '--list'])\n"
        "print('imported:', [name for name in ('tensorflow', 'gpflow') if name in sys.modules])\n"
    )
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout
    assert "imported: []" in said
    assert all(len(line) <= 80 for line in said.splitlines())
    for name in [*METHODS, *datasets.UCI_SETS, "quick", "standard", "paper"]:
        assert f"\n  {name} " in said


@pytest.mark.slow
def test_a_sweep_imports_no_tensorflow_in_the_driver(csv, tmp_path):
    script = (
        "import sys\nfrom gpflow_gi.benchmark import sweep\nfrom gpflow_gi.cli import main\n"
        f"sweep.TRIAL_FUNCTION = '{HERE}:fails'\ncode = main(sys.argv[1:])\n"
        "print('imported:', [name for name in ('tensorflow', 'gpflow') if name in sys.modules])\n"
        "sys.exit(code)"
    )
    arguments = ["benchmark", "--data", csv, "--target", "y", "--out", str(tmp_path / "out")]
    run = subprocess.run(
        [sys.executable, "-c", script, *arguments, "--methods", METHOD, "--splits", "1"],
        capture_output=True,
        text=True,
    )
    assert run.returncode == 1, run.stderr
    assert "imported: []" in run.stdout


MIXED = "id,k,when,colour,x,y\n" + "".join(
    f"{i},7,{1 + i}.03.2024,{'red' if i % 3 else 'blue'},{'' if i == 4 else i * i},{i % 4}\n"
    for i in range(20)
)


def test_the_ways_of_reading_are_part_of_the_identity(tmp_path):
    path = tmp_path / "mixed.csv.gz"
    path.write_bytes(gzip.compress(MIXED.encode()))
    said = []
    one = benchmark_data.describe_csv(path, "y", ["id,k"], say=said.append, impute="median")
    assert one["name"] == "mixed" and one["drop"] == ["id", "k"] and said == []
    assert one["reading"] == {"impute": "median"}
    benchmark_data.check(one)
    table = benchmark_data.table_of(json.loads(json.dumps(one)))
    assert table.input_names == ("when", "colour = blue", "colour = red", "x", "x is missing")
    # A constant column is left out as if it had been named.
    same = benchmark_data.describe_csv(path, "y", ["id"], say=said.append, impute="median")
    assert same == one and said == ["Left out, constant in all rows: column 'k'."]
    for reading in ({"calendar": True}, {"categories": ["x"]}, {"max_categories": 5}):
        other = benchmark_data.describe_csv(path, "y", ["id"], impute="median", **reading)
        assert other["sha256"] != one["sha256"]


def test_a_target_of_two_values_is_remarked(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text("a,y\n" + "".join(f"{i},{'yes' if i % 3 else 'no'}\n" for i in range(12)))
    said = []
    benchmark_data.describe_csv(path, "y", say=said.append)
    assert said == [
        "The target 'y' has two values, taken as the numbers 0 and 1: a benchmark is a regression. "
        "For classes: gpflow-gi compare --task classification."
    ]


@pytest.mark.parametrize(
    ("text", "targets"),
    [
        # The rate alone, which is constant, tells that the file has decimal commas.
        ("rate;n;y\n19,5;1;1.200\n19,5;2;2.201\n19,5;3;3.202\n", [1200, 2201, 3202]),
        # And that of this one tells that commas stand between thousands.
        ("rate;n;y\n1,234.5;1;1,200\n1,234.5;2;2,201\n1,234.5;3;7\n", [1200, 2201, 7]),
    ],
)
def test_a_trial_reads_the_numbers_that_the_command_has_read(tmp_path, text, targets):
    path = tmp_path / "prices.csv"
    path.write_text(text)
    data = benchmark_data.describe_csv(path, "y")
    assert data["drop"] == data["constant"] == ["rate"]
    table = benchmark_data.table_of(json.loads(json.dumps(data)))
    np.testing.assert_array_equal(table.Y[:, 0], targets)
    assert table.input_names == ("n",)
    benchmark_data.check(data)
    # Without the column that tells the mark it is another table, with other records.
    other = benchmark_data.describe_csv(path, "y", ["rate"])
    assert other["drop"] == ["rate"] and other["sha256"] != data["sha256"]
    assert not np.array_equal(benchmark_data.table_of(other).Y[:, 0], targets)


def test_the_identity_of_a_table_of_numbers_is_as_it_was(csv):
    """Records of earlier versions are found again."""
    described = benchmark_data.describe_csv(csv, "y", ["a"])
    content = Path(csv).read_bytes() + b'{"drop": ["a"], "target": "y"}'
    assert described["sha256"] == hashlib.sha256(content).hexdigest()
    assert described.keys() == {"name", "sha256", "num_splits", "path", "target", "drop"}


def test_a_trial_learns_from_its_training_rows(tmp_path):
    path = tmp_path / "mixed.csv"
    path.write_text(MIXED)
    data = benchmark_data.describe_csv(path, "y", ["id"], impute="median")
    result = run_trial(benchmark_data.table_of(data), 0, "linear")
    assert result["data"]["num_train"] == 18 and np.isfinite(result["metrics"]["log_density"])
    assert result["data"]["num_inputs"] in (4, 5)  # whether or not the empty cell is in them
