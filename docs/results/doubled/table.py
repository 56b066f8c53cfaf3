"""Bounds of deep GPs after the steps of the budget `standard`, and after twice as many.

python docs/results/doubled/table.py

Reads records.csv here, in the folders longer and optimal, in ../standard, ../rates, ../optimal-gp,
its folder naval and ../warm-up, and prints the tables of docs/results/training.md.
"""

import itertools
from pathlib import Path

import numpy as np
import pandas as pd

from gpflow_gi.benchmark.report.markdown import pipe_table

HERE = Path(__file__).resolve().parent

STEPS = (10000, 20000)

ENOUGH = 0.02
"""A gain of the bound per row below this counts as converged."""

USUAL = [
    f"dgp-{family}-{depth}" for depth in ("2", "3", "5-zero") for family in ("global", "local")
]
"""Methods in their default form: those of the first table."""


def trials(*folders: str) -> pd.DataFrame:
    """Trials of split 0: an index of dataset, method and learning rate."""
    table = pd.concat([pd.read_csv(HERE / folder / "records.csv") for folder in folders])
    table = table[(table["status"] == "done") & (table["split"] == 0)]
    table = table.sort_values("used").set_index(["dataset", "method", "learning_rate"])
    return table[~table.index.duplicated(keep="last")].sort_index()


def is_usual(index: pd.MultiIndex) -> np.ndarray:
    """True for default forms, from either start of five layers."""
    names = index.get_level_values("method").str.removesuffix("-targets")
    return names.isin(USUAL)


def compared(metric: str = "elbo") -> pd.DataFrame:
    """A metric after each number of steps, and the gain: an index of dataset and method.

    :param metric: name of a column of the records, the bound per row unless told.
    """
    once, twice = trials("../standard", "../rates"), trials(".")
    # Anything else than the number of steps is the same; default forms have their best rate.
    missing = twice.index.difference(once.index)
    assert missing.empty, missing
    once = once.loc[twice.index]
    assert (once["used"].eq(True) | ~is_usual(once.index)).all()
    table = pd.DataFrame({STEPS[0]: once[metric], STEPS[1]: twice[metric]})
    table = table.assign(gain=table[STEPS[1]] - table[STEPS[0]])
    return table.reset_index("learning_rate")


def by_method(column: pd.Series) -> pd.DataFrame:
    """A column of :func:`compared`, of the default forms: a row for each set, a column a method."""
    usual = column[is_usual(column.index)]
    named = usual.rename(index=lambda name: name.removesuffix("-targets"), level="method")
    return named.unstack("method")[USUAL]


def marked(cell: str, gain: float) -> str:
    """The cell, bold if the gain is that of training that has not converged."""
    return f"**{cell}**" if gain >= ENOUGH else cell


def markdown(table: pd.DataFrame) -> str:
    """The gains of the default forms as the page has them; those that are too large are bold."""
    gains = by_method(table["gain"])
    rows = []
    for dataset, row in gains.iterrows():
        cells = ["" if pd.isna(gain) else marked(f"{gain:.3f}", gain) for gain in row]
        rows.append([dataset, *cells])
    return pipe_table(["", *gains.columns], rows)


def other_forms(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of forms that are not the default."""
    return table[~is_usual(table.index)]


def markdown_of_gains(table: pd.DataFrame) -> str:
    """Bounds after each number of steps, and gains, as the page has them."""
    rows = []
    for (dataset, method), row in table.iterrows():
        bounds = [f"{row[steps]:.3f}" for steps in STEPS]
        gain = marked(f"{round(row['gain'], 3) + 0.0:.3f}", row["gain"])  # 0.000, not -0.000
        rows.append([dataset, method, f"{row['learning_rate']:g}", *bounds, gain])
    heads = ["", "method", "rate", *(f"{steps} steps" for steps in STEPS), "gain"]
    return pipe_table(heads, rows, num_names=2)


def leads(table: pd.DataFrame) -> pd.DataFrame:
    """The best form of global minus local inducing points: an index of sets and depth.

    Columns are the numbers of steps. The best form is chosen for each, among forms that have trials
    with both. Sets and depths where another form than the default was run have rows.
    """
    rows = {}
    for dataset, depth in itertools.product(table.index.unique("dataset"), (2, 3)):
        of_set = table.loc[dataset, list(STEPS)]
        names = other_forms(table.loc[[dataset]]).index.get_level_values("method")
        if not names.str.startswith(f"dgp-global-{depth}").any():
            continue
        ours = of_set[of_set.index.str.startswith(f"dgp-global-{depth}")]
        local = of_set.reindex([f"dgp-local-{depth}"]).iloc[0]
        rows[dataset, depth] = ours.max() - local
    return pd.DataFrame.from_dict(rows, orient="index")


def markdown_of_leads(table: pd.DataFrame) -> str:
    """The leads as the page has them: a row for each set."""
    wide = leads(table).unstack()
    depths = {2: "two layers", 3: "three layers"}
    columns = [(steps, depth) for depth in depths for steps in STEPS]
    rows = [
        [dataset, *("" if pd.isna(row[c]) else f"{row[c]:.3f}" for c in columns)]
        for dataset, row in wide.iterrows()
    ]
    heads = [f"{depths[depth]}, {steps} steps" for steps, depth in columns]
    return pipe_table(["", *heads], rows)


def longer() -> pd.DataFrame:
    """Bounds after each number of steps: an index of dataset and method, a column for each.

    Of the methods that were trained for more than twice the steps.
    """
    table = pd.read_csv(HERE / "longer" / "records.csv")
    assert (table["status"] == "done").all() and (table["split"] == 0).all()
    table = table.assign(steps=table["budget"].str.extract(r"steps=(\d+)")[0].astype(int))
    wide = table.pivot(index=["dataset", "method"], columns="steps", values="elbo")
    rates = table.groupby(["dataset", "method"])["learning_rate"].unique()
    before = compared().set_index("learning_rate", append=True)
    rows = [(*place, rate) for place, (rate,) in rates.items()]
    return before.loc[rows, list(STEPS)].droplevel("learning_rate").join(wide)


def markdown_of_longer() -> str:
    """The table of :func:`longer`, as the page has it."""
    table = longer()
    rows = [[*place, *(f"{bound:.3f}" for bound in row)] for place, row in table.iterrows()]
    return pipe_table(["", "method", *map(str, table.columns)], rows, num_names=2)


def with_optimal_last_layers() -> pd.DataFrame:
    """Bounds after each number of steps, and gains, as :func:`compared` has them.

    Of the best two layers with an optimal last layer; on energy after a long KL warm-up.
    """
    folders = ("../optimal-gp", "../optimal-gp/naval", "../warm-up")
    table = pd.concat([pd.read_csv(HERE / folder / "records.csv") for folder in folders])
    once = table[(table["split"] == 0) & ~table["budget"].str.contains("steps=")]
    is_long = once["budget"].str.contains("kl_warmup")
    once = once[is_long == (once["dataset"] == "energy")]
    twice = pd.read_csv(HERE / "optimal" / "records.csv")
    names = ["dataset", "method", "learning_rate"]
    once, twice = (
        each[each["status"] == "done"].set_index(names)["elbo"] for each in (once, twice)
    )
    found = pd.DataFrame({STEPS[0]: once.loc[twice.index], STEPS[1]: twice}).sort_index()
    return found.assign(gain=found[STEPS[1]] - found[STEPS[0]]).reset_index("learning_rate")


if __name__ == "__main__":
    found = compared()
    print(markdown(found), markdown_of_gains(other_forms(found)), sep="\n\n")
    print(markdown_of_leads(found), markdown_of_longer(), sep="\n\n")
    print(markdown_of_gains(with_optimal_last_layers()))
