"""Deep GPs after a short and a long KL warm-up.

python docs/results/warm-up/table.py

Reads records.csv here, in ../standard and in ../optimal-gp, and prints the tables of
docs/results/training.md.
"""

from pathlib import Path

import pandas as pd

from gpflow_gi.benchmark.report.markdown import pipe_table

HERE = Path(__file__).resolve().parent

SPLITS = range(5)

SHORT, LONG = 150, 3000
"""Steps of the warm-ups, of 10,000 in all."""

METRICS = {"elbo": "bound", "log_density": "test log density"}


def used_trials(changes: list[str], *names: str) -> pd.DataFrame:
    """Trials at each method's rate: an index of dataset, method and split.

    :param changes: those of the budget, and no others.
    """
    table = pd.concat([pd.read_csv(HERE / name) for name in names])
    is_budget = table["budget"].str.findall(r"\w+=[\w.]+").map(lambda found: found == changes)
    table = table[(table["status"] == "done") & table["used"].eq(True) & is_budget]
    table = table[table["split"].isin(SPLITS)]
    return table.set_index(["dataset", "method", "split"]).sort_index()


def both() -> dict[int, pd.DataFrame]:
    """Trials by the number of steps of their warm-up."""
    return {
        SHORT: used_trials([], "../standard/records.csv", "../optimal-gp/records.csv"),
        LONG: used_trials([f"kl_warmup={LONG}"], "records.csv"),
    }


def first_splits() -> pd.DataFrame:
    """Bounds and densities of split 0: a row for each set and method with a long warm-up."""
    trials = both()
    rows = trials[LONG].xs(0, level="split").index
    columns = {
        (metric, steps): [found[metric].get((*row, 0)) for row in rows]
        for metric in METRICS
        for steps, found in trials.items()
    }
    return pd.DataFrame(columns, index=rows, dtype=float)


def several_splits(dataset: str) -> pd.DataFrame:
    """Means and standard errors over the splits of a set, as the page has them."""
    trials = both()
    methods = trials[LONG].loc[dataset].index.unique("method")
    rows = {}
    for method in methods:
        for steps, found in trials.items():
            values = found.loc[dataset].reindex([(method, i) for i in range(5)])
            if values["elbo"].notna().all():
                rows[method, steps] = {
                    metric: f"{values[metric].mean():.3f} ± {values[metric].sem():.3f}"
                    for metric in METRICS
                }
    return pd.DataFrame(rows).T


def markdown(table: pd.DataFrame, names: list[str]) -> str:
    """The table as the page has it: its index, of two levels, and its columns."""
    rows = []
    for index, row in table.iterrows():
        cells = [value if isinstance(value, str) else f"{value:.3f}" for value in row]
        rows.append([*map(str, index), *("" if cell == "nan" else cell for cell in cells)])
    return pipe_table(names, rows, num_names=2)


def page_tables() -> list[str]:
    """The tables of the page."""
    heads = [f"{name}, {steps} steps" for name in METRICS.values() for steps in (SHORT, LONG)]
    energy = ["", "steps of warm-up", *METRICS.values()]
    return [
        markdown(first_splits(), ["", "", *heads]),
        markdown(several_splits("energy"), energy),
    ]


if __name__ == "__main__":
    print(*page_tables(), sep="\n\n")
