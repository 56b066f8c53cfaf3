"""Mean ranks of GP regression, deep GPs and networks in their best forms, over nine sets.

python docs/results/standard/ranks.py

Reads what all_forms.py and five_layers.py read, and prints a table of
docs/results/local-and-global.md.
"""

import runpy
from pathlib import Path

import pandas as pd

from gpflow_gi.benchmark.report.markdown import pipe_table
from gpflow_gi.benchmark.report.statistics import METRICS, Ranks, ranks

HERE = Path(__file__).resolve().parent

FORMS = runpy.run_path(str(HERE / "all_forms.py"))

FIVE = runpy.run_path(str(HERE / "five_layers.py"))

SPLITS = range(5)

WORDS = {"elbo": "mean rank by bound", "log_density": "mean rank by test log density"}

DEPTHS = {2: "two layers", 3: "three layers", 5: "five layers of mean zero"}

NETWORK = "network"


def candidates(metric: str) -> pd.DataFrame:
    """A metric of all forms with five splits: an index of dataset, group and name.

    Groups are `gp`, `svgp`, deep GPs by inducing points and depth, and networks with a bound.
    """
    usual, lower = (pd.read_csv(HERE / name / "records.csv") for name in (".", "../rates"))
    lower = lower[lower["budget"].str.contains("learning_rate=0.0075")]
    table = pd.concat([usual, lower], ignore_index=True)
    table = table[(table["status"] == "done") & table["used"].eq(True)]
    table = table[table["split"].isin(SPLITS)]
    is_network = table["method"].str.startswith("bnn-") & ~table["method"].eq("bnn-laplace")
    table = table[table["method"].isin(["gp", "svgp"]) | is_network & table["elbo"].notna()]
    group = table["method"].where(~is_network, NETWORK)
    name_of = FORMS["name_of"]
    names = [name_of(*row) for row in zip(table["method"], table["budget"], strict=True)]
    table = table.assign(group=group, name=names)
    index = ["dataset", "group", "name"]
    found = [table.set_index([*index, "split"])[metric].unstack("split").dropna()]
    for depth, words in DEPTHS.items():
        deep = FIVE["trials"](metric) if depth == 5 else FORMS["candidates"](depth)[metric]
        deep = deep.rename_axis(["dataset", "name"]).reset_index()
        family = deep["name"].str.extract(r"^dgp-(local|global)", expand=False)
        found.append(deep.assign(group=family + f", {words}").set_index(index))
    return pd.concat(found)


def best(metric: str) -> pd.DataFrame:
    """A metric of the form of each group with the best mean bound: [dataset and split, groups]."""
    bounds, values = candidates("elbo"), candidates(metric)
    chosen = bounds.mean(axis=1).groupby(level=["dataset", "group"], sort=False).idxmax()
    of_chosen = values.loc[list(chosen)].droplevel("name").rename_axis(columns="split")
    return of_chosen.stack().unstack("group")


def ranked(metric: str) -> Ranks:
    """Ranks of all groups by their means over five splits.

    :raises ValueError: if they cannot be ranked, with the reason.
    """
    found = ranks(best(metric), METRICS[metric])
    if not isinstance(found, Ranks):
        raise ValueError(found)
    return found


def markdown() -> str:
    """The table as the page has it."""
    means = pd.DataFrame({metric: ranked(metric).mean for metric in WORDS})
    rows = [
        [str(name), *(f"{row[metric]:.2f}" for metric in WORDS)]
        for name, row in means.sort_values("elbo", kind="stable").iterrows()
    ]
    return pipe_table(["", *WORDS.values()], rows, num_names=1)


if __name__ == "__main__":
    print(markdown())
    for metric in WORDS:
        found = ranked(metric)
        print(metric, f"critical difference {found.critical_difference:.2f}", found.p_value)
        print(found.ranks)
