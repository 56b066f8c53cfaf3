"""The numbers of docs/results/airline.md are those of the records."""

import json

import pandas as pd
import pytest

from tests.results.pages import RESULTS, rows_of, words_of

# They read thousands of records, and change with the records and the pages alone.
pytestmark = pytest.mark.slow

PAGE = "docs/results/airline.md"
WORDS = words_of(PAGE)


def test_steps_cost_the_same_whatever_the_number_of_rows():
    runs = json.loads((RESULTS / "cost-of-steps.json").read_text())
    first, second = (", ".join(f"{cost:.2f}" for cost in run.values()) for run in runs)
    for said in (first, second):
        head, _, tail = said.rpartition(", ")
        assert f"{head} and {tail} ms" in WORDS
    costs = [cost for run in runs for cost in run.values()]
    assert max(costs) < 1.2 * min(costs)


def test_memory_for_two_million_flights():
    found = json.loads((RESULTS / "airline-memory.json").read_text())
    assert set(found) == {path.stem for path in (RESULTS / "airline").glob("*")}
    peaks = pd.Series({name: one["peak_memory_mb"] for name, one in found.items()})
    assert peaks.max() < 3000
    assert f"held {peaks.max() / 1000:.1f} GB at most, `{peaks.idxmax()}` the most" in WORDS


def test_two_million_flights():
    curves = {path.stem: json.loads(path.read_text()) for path in (RESULTS / "airline").glob("*")}
    last = {name: curve["points"][-1] for name, curve in curves.items()}
    _, *rows = rows_of(PAGE, "Held-out measures after half an hour")
    assert {name for name, *_ in rows} == set(curves)
    for name, *cells in rows:
        assert curves[name]["done"] and last[name]["cpu_seconds"] >= 1800
        measures = (f"{last[name][measure]:.3f}" for measure in ("rmse", "log_density", "crps"))
        assert cells == [f"{last[name]['step']}", *measures]
    late = {
        name: pd.DataFrame(curve["points"]).set_index("step")[-3:][["rmse", "log_density", "crps"]]
        for name, curve in curves.items()
    }
    spread = pd.DataFrame({name: rows.max() - rows.min() for name, rows in late.items()})
    sip = spread[["sip-bnn", "sip-ns"]].max(axis=1)
    said = (sip["rmse"], sip["log_density"], sip["crps"])
    assert "vary more, by {:.2f}, {:.3f} and {:.2f}".format(*said) in WORDS
    widest = spread.drop(columns=["sip-bnn", "sip-ns"]).max(axis=1)
    assert (
        f"within {widest['rmse']:.2f} minutes in error, {widest['log_density']:.3f} in log density "
        f"and {widest['crps']:.2f} in CRPS"
    ) in WORDS
    mean = pd.DataFrame({name: rows.mean() for name, rows in late.items()})
    gain = pd.Series({"rmse": -1, "log_density": 1})  # better: lower error, higher density

    def is_better(one, other):
        return (gain * (mean[one] - mean[other])[gain.index] > 0).all()

    for layers in (2, 3):
        assert is_better(f"dgp-global-{layers}", f"dgp-local-{layers}")
    for inference in ("local", "global"):
        assert is_better(f"dgp-{inference}-3", f"dgp-{inference}-2")
    assert is_better("bnn-global", "bnn-factorised")
    assert mean.loc["rmse"].idxmin() == "bnn-global"
    first, second = mean.loc["log_density"].nlargest(2).items()
    assert first[0] == mean.loc["crps"].idxmin() == "sip-ns"
    ends = pd.Series({name: point["log_density"] for name, point in last.items()}).nlargest(2)
    assert (second[0], *ends.index) == ("sip-bnn", "sip-ns", "aadm-0.5")
    said = "ahead of `sip-bnn` by {:.3f} (in the table, which has the last measurement, ahead of"
    assert said.format(first[1] - second[1]) in WORDS
    assert f"ahead of `aadm-0.5` by {ends.iloc[0] - ends.iloc[1]:.3f})" in WORDS
    assert {*mean.loc["log_density"].nlargest(4).index} == {"sip-ns", "sip-bnn", "aadm-0.5", "vip"}
    assert mean.loc["rmse", "sip-ns"] > mean.loc["rmse"].median()
    density = pd.Series({name: point["log_density"] for name, point in last.items()})
    before = pd.Series({name: rows["log_density"].iloc[-2] for name, rows in late.items()})
    assert before.nlargest(2).index[1] == density.idxmin() == "sip-bnn"
