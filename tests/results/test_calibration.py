"""The numbers of docs/results/calibration.md are those of the records."""

import numpy as np
import pytest

from gpflow_gi import datasets
from gpflow_gi.metrics import calibration_error
from tests.results.pages import NINE_SETS, script, words_of

# They read thousands of records, and change with the records and the pages alone.
pytestmark = pytest.mark.slow

PAGE = "docs/results/calibration.md"
WORDS = words_of(PAGE)


@pytest.fixture(scope="module")
def calibration():
    return script("standard", "calibration.py")


def test_coverage_on_nine_sets(calibration):
    narrow, wide = (
        (100 * calibration.means(f"coverage_{level}")).round().astype(int) for level in (50, 95)
    )
    depths = narrow.index.str.contains("dgp|best form")
    is_global = narrow.index.str.contains("dgp-global|best form")
    usual = [name for name in NINE_SETS if name != "naval"]
    of_deep = wide.loc[depths, usual]
    said = "they hold {} to {}% of the test rows, those of global inducing points {} to {}%"
    ends = [end for each in (of_deep, wide.loc[is_global, usual]) for end in _ends(each)]
    assert said.format(*ends) in WORDS
    assert f"{ends[0]} to {ends[1]}% of the test rows on eight of nine sets" in words_of(
        "docs/results/README.md"
    )
    assert set(of_deep.min().nsmallest(3).index) == {"energy", "concrete", "yacht"}
    said = "Those of deep GPs hold {} to {}% on seven of these sets, and {} to {}% on wine."
    seven = [name for name in usual if name != "wine"]
    ends = [*_ends(narrow.loc[depths, seven]), *_ends(narrow.loc[depths, ["wine"]])]
    assert said.format(*ends) in WORDS
    assert narrow.loc[depths, usual].min(axis=None) > 50
    said = "their 50% intervals hold {} to {}% of the test rows. Training has not"
    assert said.format(*_ends(narrow.loc[depths, ["naval"]])) in WORDS
    optimal = (100 * calibration.on_naval()["coverage_50"]).round().astype(int)
    said = "these intervals hold {}% (global) and {}% (local), fewer than those of `gp` and `svgp`"
    names = ["dgp-global-2-full-optimal", "dgp-local-2-optimal"]
    assert said.format(*optimal[names]) in WORDS
    assert optimal.max() < narrow.loc[["gp", "svgp"], "naval"].min()
    said = "far too wide ({}% and {}% of the rows with an optimal last layer)."
    assert said.format(*optimal[names]) in words_of("docs/results/README.md")
    networks = narrow.index.str.startswith("bnn")
    said = (
        "**Networks are too wide on boston, energy, naval and yacht:** {} to {}% of the test rows"
    )
    wide_sets = ["boston", "energy", "naval", "yacht"]
    assert said.format(*_ends(narrow.loc[networks, wide_sets])) in WORDS
    variational = [f"bnn-{name}" for name in ("factorised", "local", "global", "factorised-global")]
    for dataset in ("boston", "energy"):
        assert narrow.loc[variational, dataset].idxmax() == "bnn-local"
    said = "too narrow at 95% on protein and wine: {} to {}%"
    ends = _ends(wide.loc[["bnn-laplace", "bnn-ensemble"], ["protein", "wine"]])
    assert said.format(*ends) in WORDS and ends[1] < wide.loc[variational].min(axis=None)


def _ends(table):
    return table.min(axis=None), table.max(axis=None)


def test_pit_errors_on_nine_sets(calibration, figures):
    errors, expected = calibration.means("pit_error"), calibration.expected_error()
    n = 0.1 * datasets.uci_sets.UCI_SETS["energy"].num_rows
    assert expected["energy"] == pytest.approx(0.31 / n**0.5, rel=0.02)
    rng = np.random.default_rng(0)
    drawn = [calibration_error(rng.uniform(size=round(n))) for _ in range(1000)]
    assert abs(np.mean(drawn) - expected["energy"]) < 4 * np.std(drawn) / 1000**0.5
    deep = errors[errors.index.str.contains("dgp|best form")] - expected
    assert deep[["boston", "concrete", "energy", "wine"]].max(axis=None) < 0.015
    assert deep["power"].max() < 0.0105
    gaps = {
        depth: errors.loc[f"best form, {depth} layers"] - errors.loc[f"dgp-local-{depth}"]
        for depth in (2, 3)
    }
    said = "at most {:.3f} with two layers, and by at most {:.3f} with three"
    assert said.format(*(gap.drop("naval").abs().max() for gap in gaps.values())) in WORDS
    said = "nearer to a calibrated model, by {:.3f} and {:.3f} (from unrounded errors)."
    assert said.format(*(gap["naval"] for gap in gaps.values())) in WORDS
    best = errors.idxmin()
    assert best[["kin8nm", "naval"]].tolist() == ["bnn-factorised", "linear"]
