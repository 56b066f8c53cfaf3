"""Each method at its own best learning rate on each data set."""

from dataclasses import asdict

import pandas as pd
import pytest

from gpflow_gi.benchmark import best_rates, sweep
from gpflow_gi.benchmark.budgets import QUICK, STANDARD
from gpflow_gi.benchmark.methods import METHODS
from gpflow_gi.benchmark.report import making
from gpflow_gi.benchmark.report.reading import read
from gpflow_gi.cli import main

from .record_files import record, write
from .synthetic import HERE, data

NAN = float("nan")
RATES = 0.01, 0.05


def test_the_budgets_differ_in_their_rates_alone():
    at = best_rates.budgets_at(QUICK, RATES)
    assert list(at) == [0.01, 0.02, 0.05]  # 0.02 is the budget's own
    low, _, high = at.values()
    assert low.name == high.name == "quick, best learning rate of 0.01, 0.02, 0.05"
    assert (low.learning_rate, high.learning_rate) == RATES
    # quick falls to a tenth
    assert (low.last_learning_rate, high.last_learning_rate) == pytest.approx((0.001, 0.005))
    changed = {"name", "learning_rate", "last_learning_rate"}
    for one in (low, high):
        assert {k for k, v in asdict(one).items() if v != getattr(QUICK, k)} <= changed
    assert {b.last_learning_rate for b in best_rates.budgets_at(STANDARD, RATES).values()} == {0.0}
    assert best_rates.is_of_best_rates(low.name)
    assert not best_rates.is_of_best_rates("quick, learning_rate=0.1")


def test_the_best_rate_has_the_best_bound():
    assert best_rates.best_rate({0.1: -1.0, 0.01: -2.0, 0.03: NAN}) == 0.1
    assert best_rates.best_rate({0.1: -1.0, 0.01: -1.0}) == 0.01
    assert best_rates.best_rate({0.1: NAN, 0.01: NAN}) is None


def test_methods_without_a_rate_of_the_budget():
    without = {name for name, method in METHODS.items() if not method.has_rate}
    assert {"linear", "gp", "avb", "sip-ns", "bnn-swag", "bnn-multiswag", "bnn-sghmc"} <= without
    assert {"svgp", "bnn-global", "dgp-local-5-zero", "bnn-laplace"}.isdisjoint(without)


def test_methods_whose_bound_does_not_rank_rates():
    names = [name for name, method in METHODS.items() if not best_rates.is_ranked_by_bound(method)]
    assert {"bnn-laplace", "vip", "dgp-global-2-alpha-1", "svgp-alpha-1"} <= set(names)
    assert {"bnn-swag", "bnn-multiswag", "dgp-global-2-latent"} <= set(names)
    ranked = {"svgp", "dgp-global-2-divided", "bnn-global", "bnn-factorised-optimal", "dvip-2"}
    assert ranked.isdisjoint(names)


def _bound(method, rate, split):
    return {"svgp": rate, "dgp-global-2": -rate, "bnn-global": 0.0}.get(method) + split


def test_rates_are_tried_on_one_split_and_kept():
    ran = []

    def run_trials(trials):
        ran.append([(one.method, one.split, one.budget["learning_rate"]) for one in trials])
        records = []
        for one in trials:
            rate = one.budget["learning_rate"]
            if one.method == "bnn-global" and rate == 0.02:
                records.append({"status": "failed"})
            elif one.method in ("linear", "bnn-ensemble", "bnn-laplace"):
                bound = None if one.method == "bnn-ensemble" else 0.0
                records.append({"status": "done", "metrics": {"elbo": bound}})
            else:
                bound = _bound(one.method, rate, one.split)
                records.append({"status": "done", "metrics": {"elbo": bound}})
        return records

    names = ("linear", "svgp", "dgp-global-2", "bnn-global", "bnn-ensemble", "bnn-laplace")
    found = best_rates.run(
        [data("a")], range(2), {name: {} for name in names}, QUICK, RATES, 0, run_trials
    )
    first, others, rest = ran
    assert first == [(name, 0, 0.02) for name in names]
    rated = ("svgp", "dgp-global-2", "bnn-global")
    assert sorted(others) == sorted((name, 0, rate) for name in rated for rate in (0.01, 0.05))
    kept = {"svgp": 0.05, "dgp-global-2": 0.01, "bnn-global": 0.01}
    assert rest == [(name, 1, kept.get(name, 0.02)) for name in names]
    assert len(found) == len(first) + len(others) + len(rest)


def test_a_sweep_and_its_report(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sweep, "TRIAL_FUNCTION", f"{HERE}:likes_a_rate")
    csv = tmp_path / "table.csv"
    csv.write_text("a,y\n" + "".join(f"{i},{i % 3}\n" for i in range(10)))
    what = ["--data", str(csv), "--target", "y", "--methods", "svgp,bnn-ensemble", "--splits", "2"]
    command = ["benchmark", *what, "--rates", "0.05,0.01", "--out", str(tmp_path / "out")]
    assert main(command) == 0
    said = capsys.readouterr().out
    assert "Split 0 first, at the learning rates 0.01, 0.02, 0.05;" in " ".join(said.split())
    # svgp at three rates and on another split; the ensemble, without a bound, at one
    assert "6 trials are done, 0 failed." in said
    assert main(command) == 0
    records = read(tmp_path / "out")
    used = records.trials[records.trials["used"]]
    assert len(records.trials) == 6
    assert set(map(tuple, used[["method", "split", "learning_rate"]].to_numpy())) == {
        ("svgp", 0, 0.05),
        ("svgp", 1, 0.05),  # although 0.01 would be better there
        ("bnn-ensemble", 0, 0.02),
        ("bnn-ensemble", 1, 0.02),
    }
    made = making.make(tmp_path / "out", tmp_path / "report")
    (budget,) = made.report.budgets
    assert budget.num_done == 4
    said = "2 records not used: of learning rates that do not have the best bound on split 0, where"
    assert any(said in sentence for sentence in made.report.overview)
    page = (tmp_path / "report" / "report.md").read_text()
    section = page[page.index("### Learning rate") :]
    assert "| 2 | 0.05 | 0.02 |" in " ".join(section.split())
    csv = pd.read_csv(tmp_path / "report" / "records.csv")
    assert sorted(csv.loc[csv["used"], "learning_rate"]) == [0.02, 0.02, 0.05, 0.05]


def test_a_report_in_the_middle_of_a_sweep_has_the_best_rate_so_far(tmp_path):
    low, _, high = (asdict(one) for one in best_rates.budgets_at(QUICK, RATES).values())
    folder = write(
        tmp_path,
        record("a", 0, "svgp", -1.0, budget=low, elbo=-1.0),
        record("a", 0, "svgp", -2.0, budget=high, error=("ValueError", "no")),
        record("a", 0, "linear", -3.0, budget=high, elbo=-1.0),
        record("a", 0, "svgp", -4.0, elbo=-1.0),
    )
    trials = read(folder).trials
    used = trials[trials["used"]]
    assert sorted(used["log_density"]) == [-4.0, -3.0, -1.0]
    assert sorted(used["budget"].unique()) == ["quick", low["name"]]


def test_rates_that_an_earlier_version_chose_by_a_bound_are_kept(tmp_path):
    """It tried them on split 0 also for methods that maximise something else."""
    low, own, high = (asdict(one) for one in best_rates.budgets_at(QUICK, RATES).values())
    settings = {"inference": "swag"}
    write(
        tmp_path,
        *(
            record("a", 0, "bnn-swag", 1.0, budget=budget, elbo=bound, settings=settings)
            for budget, bound in ((low, 3.0), (own, 1.0), (high, 2.0))
        ),
        *(
            record("a", split, "bnn-swag", 1.0, budget=own, elbo=0.0, settings=settings)
            for split in (1, 2)
        ),
    )
    trials = read(tmp_path).trials
    assert set(trials.loc[trials["used"], "learning_rate"]) == {own["learning_rate"]}
    assert sorted(trials.loc[trials["used"], "split"]) == [0, 1, 2]


def test_each_seed_keeps_its_own_rate(tmp_path):
    """Although a third rate has the best mean bound over seeds."""
    low, own, high = (asdict(one) for one in best_rates.budgets_at(QUICK, RATES).values())
    bounds = {0: (3.0, 2.5, 0.0), 1: (0.0, 2.5, 3.0)}
    folder = write(
        tmp_path,
        *(
            record("a", 0, "svgp", bound, budget=budget, seed=seed, elbo=bound)
            for seed in bounds
            for budget, bound in zip((low, own, high), bounds[seed], strict=True)
        ),
        *(
            record("a", split, "svgp", 3.0, budget=budget, seed=seed, elbo=3.0)
            for seed, budget in ((0, low), (1, high))
            for split in (1, 2)
        ),
    )
    trials = read(folder).trials
    used = trials[trials["used"]]
    assert len(used) == 6 and set(used["log_density"]) == {3.0}
    made = making.make(folder, tmp_path / "report")
    said = "4 records not used: of learning rates that do not have the best bound on split 0, where"
    assert any(said in sentence for sentence in made.report.overview)
    page = (tmp_path / "report" / "report.md").read_text()
    section = page[page.index("### Learning rate") :]
    assert f"{low['learning_rate']:g}, {high['learning_rate']:g} |" in " ".join(section.split())


@pytest.mark.parametrize("rates", ["", "0", "0.1,x", "-1"])
def test_rates_are_positive_numbers(rates, capsys):
    with pytest.raises(SystemExit):
        main(["benchmark", "--rates", rates, "--datasets", "yacht"])
    assert "--rates: must be positive numbers" in capsys.readouterr().err
