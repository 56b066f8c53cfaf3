"""Splits of each set on which each method has been run at the budget `standard`.

python docs/results/standard/coverage.py

Reads records.csv here, in ../optimal-gp, ../twenty and ../chains, and prints a table of
docs/results/nine-sets.md.
"""

from pathlib import Path

import pandas as pd

from gpflow_gi.benchmark.report.markdown import pipe_table

HERE = Path(__file__).resolve().parent


def counts() -> pd.DataFrame:
    """Numbers of splits at each method's best rate: a row for each method, a column a set.

    Chains have one rate.
    """
    names = ("records.csv", "../optimal-gp/records.csv", "../twenty/records.csv")
    tables = [pd.read_csv(HERE / name) for name in names]
    # Not the optimal last layers of 3000 steps.
    table = pd.concat(tables)
    table = table[table["budget"].isin(tables[0]["budget"])]
    # One rate, and so a budget of its own.
    chains = pd.read_csv(HERE / "../chains/records.csv")
    table = pd.concat([table, chains[chains["method"] == "dgp-sghmc-2"]])
    table = table[(table["status"] == "done") & table["used"].eq(True)]
    splits = table.groupby(["method", "dataset"])["split"].nunique().unstack(fill_value=0)
    # GPs, deep GPs, networks; by name within each.
    families = ("linear", "gp", "svgp", "dgp", "bnn")
    order = sorted(splits.index, key=lambda name: (families.index(name.split("-")[0]), name))
    return splits.loc[order].rename_axis(index=None, columns=None)


def markdown(table: pd.DataFrame) -> str:
    """The table as the page has it: empty where a method has not been run."""
    rows = [[method, *(str(n) if n else "" for n in row)] for method, row in table.iterrows()]
    return pipe_table(["", *table.columns], rows)


if __name__ == "__main__":
    print(markdown(counts()))
