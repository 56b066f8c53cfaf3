"""The numbers of docs/results/trieste.md are those of the records."""

import json

import numpy as np
import pandas as pd
import pytest

from tests.results.pages import RESULTS, rows_of, words_of

# They read thousands of records, and change with the records and the pages alone.
pytestmark = pytest.mark.slow

PAGE = "docs/results/trieste.md"
WORDS = words_of(PAGE)


def regrets():
    """The last regrets of all seeds, by function and model."""
    lines = (RESULTS / "trieste" / "trieste_regret.jsonl").read_text("utf-8").splitlines()
    table = pd.DataFrame(map(json.loads, lines))
    table["last"] = table["regret"].map(lambda regret: regret[-1])
    assert not table.duplicated(["problem", "model", "seed"]).any()
    return table.groupby(["problem", "model"])["last"].agg(list)


def test_regret_in_trieste():
    found = regrets()
    _, *rows = rows_of(PAGE, "The last regret in Trieste")
    assert {tuple(row[:2]) for row in rows} == set(found.index) and len(found) == 9
    for problem, model, *cells in rows:
        quartiles = np.quantile(found[problem, model], [0.25, 0.5, 0.75])
        assert len(found[problem, model]) == 10
        assert cells == [f"{value:.3g}" for value in quartiles]
