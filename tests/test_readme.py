"""The statements of the README: its code runs, its commands exist, its numbers are measured."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import matplotlib
import numpy as np
import pytest

import gpflow_gi as gi
from gpflow_gi import cli
from gpflow_gi.experiments.catalogue import EXPERIMENTS

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text("utf-8")
WORDS = " ".join(README.split())


def bounds_of_seeds(names):
    """Bounds of the first example with five other seeds."""
    X, Y, found = names["X"], names["Y"], []
    for seed in range(1, 6):
        model = gi.architectures.build_deep_gp(X, Y, num_inducing=30, seed=seed)
        gi.fit(model, (X, Y), steps=1500, progress=False, seed=seed)
        found.append(gi.bounds.estimate_elbo(model, (X, Y)).value)
    return found


@pytest.mark.slow
def test_the_examples_fit_their_data(capsys):
    matplotlib.use("Agg")
    deep_gp, network, estimator = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    names: dict = {}
    exec(deep_gp, names)
    number = r"(-?[\d.]+) ± ([\d.]+)"
    # Fits print their progress without a ±.
    printed = re.findall(number, capsys.readouterr().out)
    said = re.findall(rf"^    {number}$", README, re.MULTILINE)
    assert len(printed) == len(said) == 1
    (bound, error), (bound_said, error_said) = printed[0], said[0]
    # Training amplifies rounding, which differs between processors, as it does another seed.
    spread = np.hypot(
        np.std(bounds_of_seeds(names), ddof=1), np.hypot(float(error), float(error_said))
    )
    assert abs(float(bound) - float(bound_said)) < 4 * spread
    assert spread < 20
    means_said = [float(value) for value in re.search(r"^    \[(.+?)\]", README, re.M)[1].split()]
    np.testing.assert_allclose(np.ravel(names["mean"]), means_said, atol=0.1)
    # Away from the step the noise is all that is left.
    inside = np.abs(names["X"][:, 0]) > 0.2

    def rmse():
        mean, _ = names["model"].predict_y(names["X"], seed=0)
        return np.sqrt(np.mean((mean - names["Y"])[inside] ** 2))

    assert rmse() < 1.2 * 0.1
    exec(network, names)  # of the same data
    assert rmse() < 1.5 * 0.1
    # In nats, of 300 rows: a bound near its IWBO, and what is said of them.
    elbo, iwbo = re.findall(number, capsys.readouterr().out)
    said = re.search(f"It prints {number} and {number} nats", WORDS).groups()
    for (mean, error), value, its_error in zip((elbo, iwbo), said[::2], said[1::2], strict=True):
        assert abs(float(mean) - float(value)) < 3 + 4 * np.hypot(float(error), float(its_error))
    assert float(elbo[0]) < float(iwbo[0]) < float(elbo[0]) + 6

    exec(estimator, names)
    mean, std, y = names["mean"], names["std"], names["y"][-40:]
    assert np.mean((mean - y) ** 2) < 0.7 * np.var(y)
    assert np.mean(np.abs(mean - y) < 2 * std) > 0.8


COMMANDS = re.findall(r"^    (gpflow-gi .*)$", README, re.MULTILINE)


def test_there_are_commands():
    assert {command.split()[1] for command in COMMANDS} == {"compare", "benchmark", "report"}


def parsed(command, *more):
    # What is optional is given as well.
    return cli._parser().parse_args([*shlex.split(re.sub(r"[][]|\.{3}", " ", command))[1:], *more])


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_are_understood(command):
    assert parsed(command).command == command.split()[1]
    with pytest.raises(SystemExit):  # as one that is misspelt would
        parsed(command, "--no-such-option")


def test_make_has_the_targets():
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    named = set(re.findall(r"(?:^    |`)make ([\w-]+)", README, re.MULTILINE))
    assert named == {"demo", "test", "docs"}
    assert named <= set(targets)


def test_every_name_exists():
    names = set(re.findall(r"`gi\.([\w.]+)", README))
    assert len(names) > 15
    for name in names:
        value = gi
        for part in name.split("."):
            value = getattr(value, part)
    methods = re.search(r"A GPflow model: (.*?) and `posterior`|a GPflow model: (.*?) \|", README)
    for name in re.findall(r"`(\w+)`", methods.group(0)):
        assert hasattr(gi.models.DeepGP, name), name


def test_every_experiment_is_named():
    listed = re.search(
        r"repeats published experiments, and adds some: (.*?) each with a figure", WORDS
    ).group(1)
    assert re.findall(r"`([\w-]+)`", listed) == list(EXPERIMENTS)


def test_counts():
    assert "The nine UCI regression sets" in WORDS
    assert len(gi.datasets.UCI_SETS) == 9
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    assert 'requires-python = ">=3.10,<3.13"' in project
    said = ("Python 3.10, 3.11 or 3.12", "Python 3.10 to 3.12")
    assert [WORDS.count(words) for words in said] == [1, 2]


def test_the_speed_is_what_was_measured():
    # Of the table's default models of two layers, in gi.fit.
    speed = (ROOT / "docs" / "performance-tables.md").read_text("utf-8")
    row = r"^\| default model, .*? 2 layers, S=(\d+) \| [\d.]+ \| +\| ([\d.]+) \|"
    rows = re.findall(row, speed, re.MULTILINE)
    one, ten = ([float(ratio) for S, ratio in rows if S == number] for number in ("1", "10"))
    assert len(one) == len(ten) == 2
    low, high, *of_ten = (f"{ratio:.2f}" for ratio in (*sorted(one), *sorted(ten)))
    assert f"takes {low} to {high} of the time of a GPflux DSVI step with one sample" in WORDS
    assert f"and {of_ten[0]} to {of_ten[1]} of it with ten" in WORDS


@pytest.mark.longest  # and `make demo` itself
def test_the_demo_prints_the_table(tmp_path):
    command = [sys.executable, "-m", "gpflow_gi", "compare", "--out", str(tmp_path / "demo")]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def table(text):
        return {
            name: list(map(float, numbers.split()))
            for name, numbers in re.findall(
                r"^ *(Sparse GP|Deep GP, local|Deep GP, global)((?: +-?[\d.]+)+)$",
                text,
                re.MULTILINE,
            )
        }

    said, found = table(README), table(printed)
    assert list(said) == list(found) and len(said) == 3
    for name, numbers in said.items():
        # Bound, log density, RMSE and CRPS, not the times: to one in the last digit, which another
        # machine's rounding may change.
        for number, other in zip(numbers[:4], found[name][:4], strict=True):
            digits = len(f"{number:g}".partition(".")[2])
            assert abs(number - other) < 1.5 * 10.0**-digits, (name, number, other)
