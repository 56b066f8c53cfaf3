"""Global inducing points with one draw of the layers in a step, and with four that share its rows.

python docs/results/standard/divided_rows.py

Reads records.csv here and in ../rates, and prints the table of docs/results/training.md.
"""

from pathlib import Path

import pandas as pd
from scipy import stats

from gpflow_gi.benchmark.report.markdown import pipe_table

HERE = Path(__file__).resolve().parent

SPLITS = range(5)

METRICS = {"elbo": "bound", "log_density": "test log density"}

DIVIDED = "-divided"


def trials() -> pd.DataFrame:
    """Trials at each method's best rate: an index of dataset, name and split.

    The name is the method's, and ", lower rates" where these were tried.
    """
    usual = pd.read_csv(HERE / "records.csv")
    lower = pd.read_csv(HERE.parent / "rates" / "records.csv")
    lower = lower[lower["budget"].str.contains("learning_rate=0.0075")]
    table = pd.concat([usual.assign(end=""), lower.assign(end=", lower rates")])
    table = table[(table["status"] == "done") & table["used"].eq(True)]
    table["name"] = table["method"] + table["end"]
    return table.set_index(["dataset", "name", "split"]).sort_index()


def compared() -> pd.DataFrame:
    """Divided rows minus one draw, paired over the splits that both have: a row for each method.

    :return: an index of dataset and name, and "n", "elbo_one", "elbo_divided", and of each metric
        the mean difference, its "_error" and "_p".
    """
    found = trials()
    rows = {}
    for dataset, method in sorted({index[:2] for index in found.index}):
        whole = method.replace(DIVIDED, "")
        if method == whole or whole not in found.loc[dataset].index.unique("name"):
            continue
        four, one = (found.loc[dataset].loc[name] for name in (method, whole))
        splits = [i for i in SPLITS if i in four.index and i in one.index]
        four, one = four.loc[splits], one.loc[splits]
        row = {
            "n": len(splits),
            "elbo_one": one["elbo"].mean(),
            "elbo_divided": four["elbo"].mean(),
        }
        for metric in METRICS:
            gap = four[metric] - one[metric]
            row[metric], row[f"{metric}_error"] = gap.mean(), gap.sem()
            row[f"{metric}_p"] = stats.ttest_1samp(gap, 0.0).pvalue if len(splits) > 1 else None
        rows[dataset, method] = row
    return pd.DataFrame.from_dict(rows, orient="index")


def markdown(table: pd.DataFrame) -> str:
    """The table as the page has it."""
    heads = ["", "method", "splits", "bound, one draw", "bound, divided"]
    heads += [f"{words}: divided minus one draw" for words in METRICS.values()]
    rows = []
    for (dataset, method), row in table.iterrows():
        cells = [dataset, method.replace(DIVIDED, ""), f"{row['n']:.0f}"]
        cells += [f"{row[name]:.4f}" for name in ("elbo_one", "elbo_divided")]
        for metric in METRICS:
            error = f" ± {row[f'{metric}_error']:.4f}" if row["n"] > 1 else ""
            stars = "**" if row["n"] > 1 and row[f"{metric}_p"] < 0.05 else ""
            cells.append(f"{stars}{row[metric]:.4f}{error}{stars}")
        rows.append(cells)
    return pipe_table(heads, rows, num_names=2)


if __name__ == "__main__":
    print(markdown(compared()))
    print(compared()[["elbo_p", "log_density_p"]])
