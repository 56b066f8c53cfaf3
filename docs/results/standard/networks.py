"""Networks at their best rates on five splits, beside GP regression.

python docs/results/standard/networks.py

Reads records.csv beside this file, and prints the tables of docs/results/networks.md.
"""

from pathlib import Path

import pandas as pd

from gpflow_gi.benchmark.report.markdown import pipe_table
from gpflow_gi.benchmark.report.statistics import p_of_shared_rows

HERE = Path(__file__).resolve().parent

POSTERIORS = ("bnn-factorised", "bnn-local", "bnn-global", "bnn-factorised-global")
"""Sets that have these on five splits have rows."""

OTHERS = ("bnn-factorised-optimal", "bnn-laplace", "bnn-ensemble")
"""Cells of these are empty where they have fewer splits, and columns where no set has five."""

SPLITS = range(5)

METRICS = {"elbo": "bound per row", "log_density": "test log density"}


def trials(metric: str) -> pd.DataFrame:
    """Values at each method's best rate: an index of sets and methods, a column for each split.

    :param metric: one of :data:`METRICS`.
    """
    table = pd.read_csv(HERE / "records.csv")
    table = table[(table["status"] == "done") & table["used"].eq(True)]
    table = table[table["split"].isin(SPLITS)]
    values = table.set_index(["dataset", "method", "split"])[metric].unstack("split")
    return values.dropna()


def sets() -> list[str]:
    """Sets with all four posteriors on five splits."""
    index = trials("log_density").index
    return [
        dataset
        for dataset in index.unique("dataset")
        if all((dataset, method) in index for method in POSTERIORS)
    ]


def table_of(metric: str) -> pd.DataFrame:
    """Means and their standard errors as text: a row for each set, a column for each method.

    Two stars mark the best network of a row.
    """
    values = trials(metric)
    others = OTHERS if metric == "log_density" else OTHERS[:1]
    columns = [*POSTERIORS, *others]
    rows = {}
    for dataset in sets():
        of_set = values.loc[dataset].reindex(["gp", *columns])
        best = of_set.loc[columns].mean(axis=1).idxmax()
        cells = {}
        for method, row in of_set.iterrows():
            stars = "**" if method == best else ""
            text = f"{stars}{row.mean():.3f} ± {row.sem():.3f}{stars}"
            cells[method] = "" if row.isna().any() else text
        rows[dataset] = cells
    table = pd.DataFrame.from_dict(rows, orient="index")
    return table.loc[:, (table != "").any()]


def gaps(metric: str, method: str, other: str) -> pd.DataFrame:
    """Paired differences, method minus other: mean, standard error and p-value; a row a set."""
    values = trials(metric)
    rows = {}
    for dataset in sets():
        gap = values.loc[(dataset, method)] - values.loc[(dataset, other)]
        p = p_of_shared_rows(gap)
        rows[dataset] = {"mean": gap.mean(), "error": gap.sem(), "p": p}
    return pd.DataFrame.from_dict(rows, orient="index")


OF_ALL_WEIGHTS = ("bnn-laplace", "bnn-ensemble")
"""Posteriors over all weights at once."""


def over_best() -> dict[str, pd.DataFrame]:
    """Test log densities of posteriors over all weights minus the best of the four posteriors.

    The one with the best mean counts. A table for each method: a row for each set, a column for
    each split.
    """
    values = trials("log_density")
    of_four = values[values.index.get_level_values("method").isin(POSTERIORS)]
    best = {name: of_four.loc[name].loc[of_four.loc[name].mean(axis=1).idxmax()] for name in sets()}
    return {
        method: pd.DataFrame({name: values.loc[name, method] - best[name] for name in best}).T
        for method in OF_ALL_WEIGHTS
    }


def over_best_markdown() -> str:
    """The table of these as the page has it; bold where the p-value is below 5%."""
    found = over_best()
    rows = []
    for name in sets():
        gaps = [found[method].loc[name] for method in OF_ALL_WEIGHTS]
        cells = [f"{gap.mean():.3f} ± {gap.sem():.3f}" for gap in gaps]
        is_sure = [p_of_shared_rows(gap) < 0.05 for gap in gaps]
        rows.append(
            [name, *(f"**{c}**" if sure else c for c, sure in zip(cells, is_sure, strict=True))]
        )
    return pipe_table(["", *OF_ALL_WEIGHTS], rows)


def markdown(table: pd.DataFrame) -> str:
    """A table as the page has it."""
    return pipe_table(["", *table.columns], [[name, *row] for name, row in table.iterrows()])


if __name__ == "__main__":
    for metric, words in METRICS.items():
        print(f"\n{words}:\n\n{markdown(table_of(metric))}")
    print(f"\nMinus the best of the four posteriors:\n\n{over_best_markdown()}")
    for other in ("bnn-local", "bnn-factorised", "bnn-factorised-global"):
        for metric in METRICS:
            print(f"\nbnn-global minus {other}, {metric}\n{gaps(metric, 'bnn-global', other)}")
