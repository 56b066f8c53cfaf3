"""The command line up to the point where TensorFlow is imported, and what it does with failures.

Whole runs are in tests/experiments/test_compare.py.
"""

import json
import subprocess
import sys
from contextlib import closing

import numpy as np
import pytest

from gpflow_gi import __version__
from gpflow_gi.cli import main

HEAVY = ("tensorflow", "gpflow", "sklearn", "pandas", "matplotlib", "scipy")


@pytest.fixture
def csv(tmp_path):
    def write(text):
        path = tmp_path / "table.csv"
        path.write_text(text)
        return str(path)

    return write


def random_csv(num_rows=30):
    rows = np.random.default_rng(0).normal(size=(num_rows, 3))
    return "a,b,y\n" + "\n".join(",".join(f"{value:.4f}" for value in row) for row in rows) + "\n"


def error_of(capsys, *arguments):
    """The one line that a misuse says, on standard error alone."""
    try:
        code = main(arguments)
    except SystemExit as exit:
        code = exit.code
    output = capsys.readouterr()
    assert code == 2
    assert output.out == ""
    assert output.err.endswith("\n") and output.err.count("\n") == 1
    return output.err


QUICK_ANSWERS = [
    (["--help"], 0, "compare"),
    (["--version"], 0, __version__),
    (["compare", "--help"], 0, "--num-inducing"),
    ([], 2, "compare"),
    (["compare", "--data", "nothing.csv"], 2, "--target"),
    (["compare", "--steps", "0"], 2, "--steps"),
    (["experiment", "--help"], 0, "deep-linear"),
    (["experiment", "toy", "--full"], 2, "no --full version"),
    (["experiment", "nothing"], 2, "toy-iwbo"),
    (["experiment", "toy", "--data", "digits"], 2, "it makes its own"),
    (["experiment", "toy", "--jobs", "2"], 2, "leave out --jobs and --dask"),
    (["experiment", "images", "--data", "cats"], 2, "choose from digits, mnist5k, mnist, cifar10"),
]


def test_quick_answers_import_nothing_heavy():
    """All in one process: what one of them imports the next would show."""
    script = (
        "import contextlib, io, json, sys\n"
        "from gpflow_gi.cli import main\n"
        "for arguments in json.loads(sys.argv[1]):\n"
        "    said, errors = io.StringIO(), io.StringIO()\n"
        "    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(errors):\n"
        "        try:\n            code = main(arguments)\n"
        "        except SystemExit as exit:\n            code = exit.code\n"
        f"    heavy = [name for name in {HEAVY} if name in sys.modules]\n"
        "    print(json.dumps([code, said.getvalue(), errors.getvalue(), heavy]))\n"
    )
    questions = json.dumps([arguments for arguments, _, _ in QUICK_ANSWERS])
    run = subprocess.run([sys.executable, "-c", script, questions], capture_output=True, text=True)
    answers = [json.loads(line) for line in run.stdout.splitlines()]
    for (arguments, code, text), (found, said, errors, heavy) in zip(
        QUICK_ANSWERS, answers, strict=True
    ):
        assert (found, heavy) == (code, []), arguments
        assert text in said + errors
        assert all(len(line) <= 80 for line in said.splitlines())


def test_wrong_data_is_said_before_tensorflow_is_imported(csv):
    script = (
        "import sys\n"
        "from gpflow_gi.cli import main\n"
        "code = main(sys.argv[1:])\n"
        "sys.exit('tensorflow was imported' if 'tensorflow' in sys.modules else code)"
    )
    path = csv("a,y\n1,2\n3,x\n4,5\n")
    run = subprocess.run(
        [sys.executable, "-c", script, "compare", "--data", path, "--target", "y"],
        capture_output=True,
        text=True,
    )
    assert run.returncode == 2, run.stderr
    assert run.stdout == ""
    assert run.stderr == (
        f"gpflow-gi: error: {path}, line 3, column 'y': 'x' is not a number; write it as a "
        "number or remove the line.\n"
    )


@pytest.mark.parametrize(
    "text, said",
    [
        ("a,b,y\n1,2,3\n4,,5\n6,7,8\n", "line 3, column 'b': the value is missing"),
        ("a,b,y\n1,2,3\n4,inf,5\n6,7,8\n", "line 3, column 'b': the value 'inf' is infinite"),
        ("a,b,z\n1,2,3\n", "there is no column 'y'"),
        ("a,b,y\n1,2,3\n", "has 1 row of data"),
        ("a,b,y\n1,2,3\n4,5,3\n6,7,3\n", "the target is 3 in all 3 rows"),
        # The one row that differs is held out.
        ("a,y\n1,2\n2,2\n3,9\n", "the target is 2 in all 2 rows that are left to train on"),
    ],
)
def test_wrong_data(capsys, csv, monkeypatch, text, said):
    monkeypatch.setattr(np.random, "default_rng", lambda seed: ReversedOrder())
    path = csv(text)
    error = error_of(capsys, "compare", "--data", path, "--target", "y")
    assert said in error and path in error


class ReversedOrder:
    def permutation(self, n):
        return np.arange(n)[::-1]


def test_missing_file(capsys, tmp_path):
    path = str(tmp_path / "nothing.csv")
    error = error_of(capsys, "compare", "--data", path, "--target", "y")
    assert error == f"gpflow-gi: error: {path}: there is no such file.\n"


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["--steps", "0"], "--steps: must be a whole number of at least 1, but is '0'"),
        (["--steps", "-5"], "--steps"),
        (["--steps", "many"], "--steps"),
        (["--layers", "0"], "--layers"),
        (["--batch-size", "0"], "--batch-size"),
        (["--num-inducing", "1.5"], "--num-inducing"),
        (["--num-samples", "0"], "--num-samples"),
        (["--test-samples", "0"], "--test-samples"),
        (["--learning-rate", "0"], "--learning-rate: must be a positive number"),
        (["--learning-rate", "nan"], "--learning-rate"),
        (["--learning-rate", "inf"], "--learning-rate"),
        (["--test-fraction", "1"], "--test-fraction: must be a number between 0 and 1"),
        (["--seed", "-1"], "--seed"),
        (["--seed", "3000000000"], "--seed"),
        (["--nonsense"], "--nonsense"),
        (["--target", "y"], "--target needs --data"),
        (["--drop", "y"], "--drop needs --data"),
        (["--task", "classification"], "--task needs --data"),
        (["--max-categories", "3"], "--max-categories needs --data"),
        (["--data", "table.csv"], "--data needs --target"),
        (["--data", "elevation", "--test-fraction", "0.5"], "test rows of their own"),
        (["--test-fraction", "0.5"], "test rows of their own"),
        (["--jitter", "0"], "--jitter: must be a positive number"),
    ],
)
def test_wrong_arguments(capsys, arguments, said):
    assert said in error_of(capsys, "compare", *arguments)


def test_unknown_command(capsys):
    assert "'contrast'" in error_of(capsys, "contrast")


def test_a_folder_that_is_not_ours(capsys, csv, tmp_path):
    error = error_of(
        capsys, "compare", "--data", csv(random_csv()), "--target", "y", "--out", str(tmp_path)
    )
    assert "exists and is not a folder of results (it holds 'table.csv')" in error


# What comes after the import: the models are replaced by failures.


@pytest.fixture
def compare_that(monkeypatch):
    from gpflow_gi.experiments import compare

    def replace_by(function):
        monkeypatch.setattr(compare, "compare", function)

    return replace_by


def test_interrupt(capsys, compare_that, csv, tmp_path):
    def interrupt(*arguments, **keywords):
        raise KeyboardInterrupt

    compare_that(interrupt)
    code = main(["compare", "--data", csv(random_csv()), "--target", "y"])
    assert code == 130
    assert capsys.readouterr().err.strip() == "gpflow-gi: error: interrupted before it was done."
    assert [path.name for path in tmp_path.iterdir()] == ["table.csv"]


def test_settings_fit_the_data(capsys, compare_that, csv, tmp_path):
    asked = []

    def remember(train, test, settings, **keywords):
        asked.append((len(train.Y), len(test.Y), settings))
        raise KeyboardInterrupt

    compare_that(remember)
    data = ["compare", "--data", csv(random_csv(30)), "--target", "y"]
    main([*data, "--layers", "3", "--num-inducing", "50", "--test-fraction", "0.2"])
    num_train, num_test, settings = asked[0]
    assert (num_train, num_test) == (24, 6)
    assert (settings.num_layers, settings.num_inducing, settings.batch_size) == (3, 24, 24)
    said = capsys.readouterr().out
    assert "50 inducing points are more than there are rows to train on: 24 used" in " ".join(
        said.split()
    )
    assert all(len(line) <= 80 for line in said.splitlines())

    main([*data, "--num-inducing", "10", "--batch-size", "8", "--seed", "5"])
    settings = asked[1][2]
    assert (settings.num_inducing, settings.batch_size, settings.seed) == (10, 8, 5)
    assert "used instead" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments, name, num_train, num_test",
    [
        ([], "elevation", 2000, 8686),
        (["--data", "elevation"], "elevation", 2000, 8686),
        (["--data", "diabetes", "--test-fraction", "0.5"], "diabetes", 221, 221),
    ],
)
def test_data_without_a_file(capsys, compare_that, arguments, name, num_train, num_test):
    def remember(train, test, settings, **keywords):
        assert (train.name, len(train.Y), len(test.Y)) == (name, num_train, num_test)
        raise KeyboardInterrupt

    compare_that(remember)
    assert main(["compare", *arguments]) == 130
    assert capsys.readouterr().out.startswith(f"{name}: {num_train + num_test} rows, ")


def test_a_file_may_have_the_name_of_data_without_one(compare_that, tmp_path, monkeypatch):
    def remember(train, test, settings, **keywords):
        assert len(train.Y) + len(test.Y) == 30
        raise KeyboardInterrupt

    compare_that(remember)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "diabetes").write_text(random_csv(30))
    assert main(["compare", "--data", "diabetes", "--target", "y"]) == 130


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["--model", "bnn", "--layers", "3"], "--layers needs --model deep-gp, but it is bnn"),
        (["--widths", "8,8"], "--widths needs --model bnn, but it is deep-gp"),
        (["--prior", "neal"], "--prior needs --model bnn"),
        (["--model", "bnn", "--widths", "8,0"], "--widths: must be whole numbers of at least 1"),
        (["--model", "bnn", "--prior", "normal"], "--prior: invalid choice"),
        (["--model", "network"], "--model: invalid choice"),
        (["--methods", ","], "--methods: must be names with commas"),
        (
            ["--methods", "svgp,bnn-map"],
            "--methods: there is no 'bnn-map' with --model deep-gp; there are svgp, dgp-local,",
        ),
        (["--model", "bnn", "--methods", "bnn-svgd"], "bnn-low-rank, bnn-radial, bnn-flow."),
    ],
)
def test_options_of_the_other_model(capsys, arguments, said):
    assert said in error_of(capsys, "compare", *arguments)


def test_networks_are_set_up_as_asked(capsys, compare_that, csv):
    asked = []

    def remember(train, test, settings, **keywords):
        asked.append(settings)
        raise KeyboardInterrupt

    compare_that(remember)
    data = ["compare", "--data", csv(random_csv(30)), "--target", "y", "--model", "bnn"]
    main(data)
    main([*data, "--widths", "7,8,9", "--prior", "scale", "--methods", "bnn-map,svgp"])
    assert [(s.model, s.widths, s.prior) for s in asked] == [
        ("bnn", (50, 50), "neal"),
        ("bnn", (7, 8, 9), "scale"),
    ]
    usual, chosen = (settings.methods() for settings in asked)
    assert [one.name for one in usual] == ["svgp", "bnn-factorised", "bnn-local", "bnn-global"]
    assert [one.name for one in chosen] == ["bnn-map", "svgp"]
    assert chosen[0].settings["widths"] == (7, 8, 9) and chosen[0].settings["prior"] == "scale"
    assert "Hidden units: 7, 8, 9. Prior: scale." in " ".join(capsys.readouterr().out.split())


@pytest.fixture
def experiment_that(monkeypatch):
    """Let the command run another function in the place of an experiment."""

    def use(function):
        from gpflow_gi.experiments import study

        monkeypatch.setattr(study, "run", function)

    return use


def test_experiments_that_fail_write_nothing(capsys, experiment_that, tmp_path):
    from gpflow_gi.training import FitRecord, NonFiniteError

    def fail(name, **options):
        assert (name, options["fast"], options["full"], options["seed"]) == ("toy", True, False, 3)
        raise NonFiniteError("The bound is nan\nin step 7.", step=7, record=FitRecord())

    experiment_that(fail)
    out = tmp_path / "out"
    assert main(["experiment", "toy", "--fast", "--seed", "3", "--out", str(out)]) == 1
    error = capsys.readouterr().err
    assert error == "gpflow-gi: error: The bound is nan in step 7. Nothing was written.\n"
    assert not out.exists()


def test_experiments_write_into_the_working_directory(experiment_that, tmp_path, monkeypatch):
    from gpflow_gi.training import FitRecord, NonFiniteError

    seen = []

    def fail(name, **options):
        seen.append(options["checkpoints"])
        raise NonFiniteError("The bound is nan.", step=7, record=FitRecord())

    experiment_that(fail)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert main(["experiment", "toy", "--fast", "--out", "."]) == 1
    assert seen == [tmp_path / "here-unfinished"]


def test_experiments_of_trials_take_a_cluster(capsys, experiment_that, tmp_path):
    pytest.importorskip("distributed", reason="the extra `cluster` is not installed")
    experiment_that(lambda *_, **__: pytest.fail("it was run"))
    arguments = ["experiment", "large", "--out", str(tmp_path / "out"), "--dask", "nowhere"]
    assert "'nowhere' is not the address of a scheduler" in error_of(capsys, *arguments)


def test_experiments_of_trials_take_jobs(capsys, experiment_that, tmp_path):
    from gpflow_gi.benchmark.worker import StopSweepError

    def stop(name, **options):
        with closing(options["workers"]) as workers:
            assert workers.num_jobs() == 3
        raise StopSweepError("it ended.")

    experiment_that(stop)
    arguments = ["experiment", "large", "--out", str(tmp_path / "out"), "--jobs", "3"]
    assert main(arguments) == 1
    assert capsys.readouterr().err == "gpflow-gi: error: it ended.\n"


def test_the_unfinished_work_of_other_runs_is_kept(experiment_that, monkeypatch, tmp_path):
    from gpflow_gi.experiments import study

    experiment_that(lambda *_, **__: {})
    monkeypatch.setattr(study, "summary", lambda results: "a table")
    monkeypatch.setattr(study, "write", lambda results, folder: (folder / "results.json").touch())
    unfinished = tmp_path / "out-unfinished"
    long, short = (f"airline-{length}seed0-v{__version__}" for length in ("", "fast-"))
    for name in (long, short):
        (unfinished / name / "svgp").mkdir(parents=True)
    arguments = ["experiment", "large", "--out", str(tmp_path / "out")]
    assert main([*arguments, "--fast"]) == 0
    assert [one.name for one in unfinished.iterdir()] == [long]
    assert main(arguments) == 0
    assert not unfinished.exists()


def test_folders_for_experiments_are_checked_first(capsys, experiment_that, tmp_path):
    experiment_that(lambda *_, **__: pytest.fail("it was run"))
    (tmp_path / "mine.txt").write_text("")
    assert "is not a folder of results" in error_of(
        capsys, "experiment", "toy", "--out", str(tmp_path)
    )
