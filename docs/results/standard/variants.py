"""Variants of methods with global inducing points, and the same methods without them.

python docs/results/standard/variants.py

One is four draws of the layers that share the rows of a step, in place of one for all; the other
is half of each layer's inducing points its own, in place of none. Reads records.csv here, in
../optimal-gp and in ../rates, and prints the tables of docs/results/training.md and nine-sets.md.
"""

from pathlib import Path

import pandas as pd

from gpflow_gi.benchmark.report.markdown import pipe_table
from gpflow_gi.benchmark.report.statistics import p_of_shared_rows

HERE = Path(__file__).resolve().parent

SPLITS = range(5)

METRICS = {"elbo": "bound", "log_density": "test log density"}

DIVIDED = "-divided"
OWN = "-own"

WORDS = {DIVIDED: ("one draw", "divided"), OWN: ("all from below", "half own")}
"""The two sides of a comparison, without the variant and with it."""


def trials() -> pd.DataFrame:
    """Trials at each method's best rate: an index of dataset, name and split.

    The name is the method's, and ", lower rates" where these were tried.
    """
    usual = pd.concat(
        [pd.read_csv(HERE.parent / name / "records.csv") for name in ("standard", "optimal-gp")]
    )
    usual = usual[~usual["budget"].str.contains("steps=")]
    lower = pd.read_csv(HERE.parent / "rates" / "records.csv")
    lower = lower[lower["budget"].str.contains("learning_rate=0.0075")]
    table = pd.concat([usual.assign(end=""), lower.assign(end=", lower rates")])
    table = table[(table["status"] == "done") & table["used"].eq(True)]
    table["name"] = table["method"] + table["end"]
    return table.set_index(["dataset", "name", "split"]).sort_index()


def compared(variant: str = DIVIDED) -> pd.DataFrame:
    """A variant minus the method without it, paired over the splits that both have.

    :param variant: "-divided" or "-own", as in the names of methods.
    :return: a row for each method, with an index of dataset and name, and "n", "elbo_without",
        "elbo_with", and of each metric the mean difference, its "_error" and "_p".
    """
    found = trials()
    rows = {}
    for dataset, method in sorted({index[:2] for index in found.index}):
        without = method.replace(variant, "")
        if method == without or without not in found.loc[dataset].index.unique("name"):
            continue
        new, old = (found.loc[dataset].loc[name] for name in (method, without))
        splits = [i for i in SPLITS if i in new.index and i in old.index]
        new, old = new.loc[splits], old.loc[splits]
        row = {
            "n": len(splits),
            "elbo_without": old["elbo"].mean(),
            "elbo_with": new["elbo"].mean(),
        }
        for metric in METRICS:
            gap = new[metric] - old[metric]
            row[metric], row[f"{metric}_error"] = gap.mean(), gap.sem()
            row[f"{metric}_p"] = p_of_shared_rows(gap) if len(splits) > 1 else None
        rows[dataset, method] = row
    return pd.DataFrame.from_dict(rows, orient="index")


def markdown(variant: str = DIVIDED) -> str:
    """The table as the page has it."""
    old, new = WORDS[variant]
    heads = ["", "method", "splits", f"bound, {old}", f"bound, {new}"]
    heads += [f"{words}: {new} minus {old}" for words in METRICS.values()]
    rows = []
    for (dataset, method), row in compared(variant).iterrows():
        cells = [dataset, method.replace(variant, ""), f"{row['n']:.0f}"]
        cells += [f"{row[name]:.4f}" for name in ("elbo_without", "elbo_with")]
        for metric in METRICS:
            error = f" ± {row[f'{metric}_error']:.4f}" if row["n"] > 1 else ""
            stars = "**" if row["n"] > 1 and row[f"{metric}_p"] < 0.05 else ""
            cells.append(f"{stars}{row[metric]:.4f}{error}{stars}")
        rows.append(cells)
    return pipe_table(heads, rows, num_names=2)


if __name__ == "__main__":
    for variant in WORDS:
        print(markdown(variant))
        print(compared(variant)[["elbo_p", "log_density_p"]])
