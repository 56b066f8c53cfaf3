"""The tables in docs/results are those that scripts make from the records."""

import pandas as pd
import pytest

from gpflow_gi.benchmark.methods import METHODS
from tests.results.pages import OF_STANDARD, RESULTS, script

# They read thousands of records, and change with the records and the pages alone.
pytestmark = pytest.mark.slow


def test_the_tables_that_scripts_compute():
    tables = script(".", "tables.py")
    pages, computed = tables.pages(), tables.computed()
    for words, table in computed.items():
        assert tables.written(pages, words, table) == pages, words


def test_records_at_best_rates_are_those_of_the_table():
    table = pd.read_csv(OF_STANDARD / "records.csv")
    files = {path.name for path in (OF_STANDARD / "records").glob("*.json")}
    assert set(table["file"]) == files
    assert set(table["status"]) == {"done"}


@pytest.mark.parametrize("folder", ["doubled", "optimal-gp", "rates", "settings", "standard"])
def test_the_methods_of_records_exist(folder):
    assert set(pd.read_csv(RESULTS / folder / "records.csv")["method"]) <= set(METHODS)
