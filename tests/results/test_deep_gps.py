"""The numbers of docs/results/deep-gps.md are those of the records."""

import re

import numpy as np
import pandas as pd
import pytest

from gpflow_gi.benchmark.report.statistics import p_of_shared_rows
from tests.results.pages import RESULTS, rows_of, words_of

# They read thousands of records, and change with the records and the pages alone.
pytestmark = pytest.mark.slow

PAGE = "docs/results/deep-gps.md"
WORDS = words_of(PAGE)


@pytest.mark.parametrize(
    "heading, metric, digits",
    [("The bound per row,", "elbo", 4), ("Test log density,", "log_density", 3)],
)
def test_means_at_the_quick_budget(heading, metric, digits):
    summary = pd.read_csv(RESULTS / "quick" / "summary.csv").set_index(
        ["metric", "method", "dataset"]
    )
    (_, *datasets), *rows = rows_of(PAGE, heading)
    assert len(datasets) == 3 and len(rows) == 9
    for method, *cells in rows:
        for dataset, cell in zip(datasets, cells, strict=True):
            found = summary.loc[metric, method, dataset]
            assert cell == f"{found['mean']:.{digits}f} ± {found.standard_error:.{digits}f}"
            assert found.n == 20


@pytest.mark.parametrize(
    "metric, method, other, dataset, said",
    [
        ("elbo", "dgp-global-2", "dgp-local-2", "energy", "0.054 ± 0.012 on energy"),
        ("elbo", "dgp-global-2", "dgp-local-2", "boston", "0.011 ± 0.005 on boston"),
        ("elbo", "dgp-global-2", "dgp-local-2", "yacht", "0.018 ± 0.013 on yacht"),
        ("log_density", "dgp-local-2", "dgp-global-2", "yacht", "on yacht, by 0.18 ± 0.03"),
        ("log_density", "dgp-local-2", "dgp-global-2", "boston", "on boston, by 0.04 ± 0.02"),
        ("log_density", "bnn-factorised", "bnn-global", "energy", "on energy, by 0.09 ± 0.01"),
    ],
)
def test_differences_at_the_quick_budget(metric, method, other, dataset, said):
    table = pd.read_csv(RESULTS / "quick" / "differences.csv")
    table = table.set_index(["metric", "dataset", "method", "other"])
    key, sign = (metric, dataset, method, other), 1
    if key not in table.index:
        key, sign = (metric, dataset, other, method), -1
    number, error = re.search(r"([\d.]+) ± ([\d.]+)", said).groups()
    digits = len(number.partition(".")[2])
    found = table.loc[key]
    assert f"{sign * found.difference:.{digits}f}" == number
    assert f"{found.standard_error:.{digits}f}" == error
    assert said in WORDS


@pytest.mark.parametrize(
    "method, other, said",
    [
        ("bnn-factorised", "bnn-global", "beat factorised weights by {1:.2f} to {0:.2f} nats"),
        ("bnn-global", "bnn-local", "and local inducing points by {0:.2f} to {1:.2f}."),
        ("bnn-factorised-global", "bnn-global", "better still (by {0:.2f}, {1:.2f} and "),
    ],
)
def test_networks_at_the_quick_budget(method, other, said):
    table = pd.read_csv(RESULTS / "quick" / "differences.csv")
    found = table.query("metric == 'elbo' and method == @method and other == @other")["difference"]
    assert len(found) == 3 and len(set(np.sign(found))) == 1
    assert said.format(abs(found.min()), abs(found.max())) in WORDS


def test_half_the_learning_rates(forms):
    half, quick = (
        pd.read_csv(RESULTS / name / "summary.csv").query("metric == 'elbo'")
        for name in ("half-rate", "quick")
    )
    half, quick = (table.set_index(["method", "dataset"]) for table in (half, quick))
    assert set(half["n"]) == {20} and len(half) == 7 * 3
    assert set(quick.index) - set(half.index) == {
        (method, dataset)
        for method in ("linear", "gp")
        for dataset in ("boston", "energy", "yacht")
    }
    assert all(half["mean"] < quick["mean"][half.index])
    (_, *datasets), *rows = rows_of(PAGE, "The learning rates matter as much.")
    assert len(rows) == 4
    for name, *cells in rows:
        method, rate = name.split(", ")
        table = half if rate == "half" else quick
        for dataset, cell in zip(datasets, cells, strict=True):
            number = table.loc[method, dataset]
            assert cell == f"{number['mean']:.4f} ± {number['standard_error']:.4f}"

    differences = pd.read_csv(RESULTS / "half-rate" / "differences.csv")
    differences = differences.set_index(["metric", "dataset", "method", "other"])
    found = differences.loc["elbo", "boston", "dgp-global-2", "dgp-local-2"]
    said = f"{-found.difference:.3f} ± {found.standard_error:.3f}"
    p = {}
    for folder in ("quick", "half-rate"):
        table = pd.read_csv(RESULTS / folder / "records.csv").query("method.str.startswith('dgp')")
        table = table.pivot(index=["dataset", "split"], columns="method")
        for metric in ("elbo", "log_density"):
            gaps = table[metric]["dgp-global-2"] - table[metric]["dgp-local-2"]
            for dataset, gap in gaps.groupby("dataset"):
                assert len(gap) == 20
                p[folder, metric, dataset] = p_of_shared_rows(gap)
    assert (
        f"better than global ones on boston, by {said} (p = {p['half-rate', 'elbo', 'boston']:.2f};"
        in WORDS
    )
    boston, energy, yacht = (p["quick", "elbo", name] for name in ("boston", "energy", "yacht"))
    assert f"(p = {energy:.3f}; boston {boston:.2f}, yacht {yacht:.2f})" in WORDS
    boston, yacht = (p["quick", "log_density", name] for name in ("boston", "yacht"))
    assert f"(in that test p = {yacht:.3f} and {boston:.2f})" in WORDS

    longer = pd.read_csv(RESULTS / "half-rate" / "records-of-12000-steps.csv").set_index("method")
    numbers = (longer.loc[name, "elbo"] for name in ("bnn-factorised-global", "bnn-global"))
    assert "{:.2f} against {:.2f}".format(*numbers) in WORDS


METRICS = (("elbo", 3), ("log_density", 2))


def test_trials_at_the_paper_budget():
    trials = pd.read_csv(RESULTS / "paper" / "records.csv").set_index(
        ["dataset", "split", "method"]
    )
    methods = ("dgp-local-2", "dgp-global-2", "bnn-global")
    columns = [(metric, digits, m) for metric, digits in METRICS for m in methods]
    _, *rows = rows_of(PAGE, "There are only 21 trials")
    cells = {
        (*place.split(", split "), *column): cell
        for place, *row in rows
        for column, cell in zip(columns, row, strict=True)
        if cell
    }
    assert len(cells) == 2 * len(trials) == 2 * 21
    for (dataset, split, metric, digits, method), cell in cells.items():
        assert cell == f"{trials.loc[dataset, int(split), method][metric]:.{digits}f}"


def test_differences_at_the_paper_budget():
    table = pd.read_csv(RESULTS / "paper" / "differences.csv")
    table = table.set_index(["metric", "dataset", "method", "other"])
    for metric, said in (
        ("elbo", "on yacht by 0.265 ± 0.014 nats per row"),
        ("log_density", "better on yacht by 0.12 ± 0.05,"),
    ):
        number, error = re.search(r"([\d.]+) ± ([\d.]+)", said).groups()
        digits = len(number.partition(".")[2])
        found = table.loc[metric, "yacht", "dgp-global-2", "dgp-local-2"]
        assert f"{found.difference:.{digits}f}" == number
        assert f"{found.standard_error:.{digits}f}" == error
        assert said in WORDS
