"""Deep GPs with other rows a step, steps or warm-ups, on the first split of sets that need them.

python docs/results/settings/table.py

Reads records.csv here and in ../standard, and prints tables of docs/results/five-layers.md and
training.md.
"""

import re
from pathlib import Path

import pandas as pd

from gpflow_gi.benchmark.report.markdown import pipe_table

HERE = Path(__file__).resolve().parent

CHANGES = {
    "batch_size=1000": "1000 rows a step",
    "batch_size=2000": "2000 rows a step",
    "kl_warmup=0": "no KL warm-up",
    "steps=20000": "20000 steps",
}
"""Changes of the budget but that of the rate, as records and the page name them."""

METRICS = ("elbo", "log_density")


def changes_of(budget: str) -> str:
    """The changes of a budget in words, from its name.

    :raises KeyError: if a change has no words here.
    """
    found = re.findall(r"\w+=[\w.]+", budget)
    return ", ".join(CHANGES[one] for one in found if not one.startswith("learning_rate="))


def trials(depths: str) -> pd.DataFrame:
    """Trials of split 0: an index of dataset, method and changes, "" first; rates and metrics.

    Each at the best of the rates that were tried: three with the budget as it is for methods of
    the sweep, and with 1000 rows a step for five layers of local inducing points; else one.

    :param depths: numbers of layers, as a regular expression.
    """
    here, usual = (pd.read_csv(HERE / f / "records.csv") for f in (".", "../standard"))
    here = here[here["method"].str.match(rf"dgp-(local|global)-{depths}\b")]
    usual = usual[usual["used"].eq(True) & usual["dataset"].isin(here["dataset"].unique())]
    paper = ["dgp-global-5-zero"] if depths == "5" else []
    usual = usual[usual["method"].isin([*here["method"], *paper])]
    table = pd.concat([usual, here])
    table = table[(table["status"] == "done") & (table["split"] == 0)]
    table = table.assign(changes=table["budget"].map(changes_of))
    index = ["dataset", "method", "changes"]
    best = table.sort_values("elbo").groupby(index).tail(1).set_index(index)
    return best[["learning_rate", *METRICS]].sort_index()


def markdown(table: pd.DataFrame) -> str:
    """The trials as the page has them."""
    heads = ["", "method", "changes", "rate", "bound per row", "test log density"]
    rows = [
        [*names, f"{row['learning_rate']:g}", *(f"{row[metric]:.3f}" for metric in METRICS)]
        for names, row in table.iterrows()
    ]
    return pipe_table(heads, rows, num_names=3)


if __name__ == "__main__":
    for depths in ("5", "[23]"):
        print(markdown(trials(depths)), end="\n\n")
