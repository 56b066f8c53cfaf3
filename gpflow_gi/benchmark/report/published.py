"""Published results on the UCI data sets, shown beside ours and not ranked with them."""

from collections.abc import Collection
from dataclasses import dataclass
from importlib.resources import files
from string import ascii_lowercase

import pandas as pd


@dataclass(frozen=True)
class Published:
    """Published values of one metric.

    :param datasets: the columns.
    :param rows: (method, letter of its source, meaning of its ±), and a text for each data set,
        such as "-0.93 ± 0.01", or "–" without a value.
    :param sources: by letter: the source of the numbers, the splits of the data, and the meaning
        of the ±.
    :param notes: on single numbers.
    """

    datasets: list[str]
    rows: list[tuple[tuple[str, str, str], list[str]]]
    sources: dict[str, str]
    notes: list[str]


def read() -> pd.DataFrame:
    """The published results.

    :return: "dataset", "method", "metric" (elbo in nats per row of standardised targets,
        log_density in nats on the original scale, rmse and crps in the target's unit), "mean",
        "spread", "spread_is", "split", "source" and "note", all but the mean as in the source.
    """
    path = files("gpflow_gi.benchmark") / "published" / "uci.csv"
    with path.open(encoding="utf-8") as file:
        return pd.read_csv(file, dtype=str, keep_default_na=False)


def published(results: pd.DataFrame, metric: str, datasets: Collection[str]) -> Published | None:
    """The published values of one metric.

    :param results: from :func:`read`.
    :param datasets: data sets of our results, if the data are the same.
    :return: None if there are none.
    """
    found = results[(results["metric"] == metric) & results["dataset"].isin(datasets)]
    if found.empty:
        return None
    protocols = found.groupby(["source", "split", "spread_is"], sort=True)
    methods, sources = [], {}
    cells: dict[tuple[str, tuple[str, str, str]], str] = {}
    notes: dict[str, int] = {}
    for letter, ((source, split, spread_is), rows) in zip(ascii_lowercase, protocols, strict=False):
        sources[letter] = f"{source}. Splits: {split}. ±: {spread_is}."
        short = spread_is.partition(" over ")[0]
        methods += [(str(method), letter, short) for method in sorted(rows["method"].unique())]
        for row in rows.itertuples():
            sign = "*" * notes.setdefault(row.note, len(notes) + 1) if row.note else ""
            cells[row.dataset, (row.method, letter, short)] = (
                f"{row.mean} ± {row.spread}{sign}".replace("-", "−")
            )
    datasets = sorted(found["dataset"].unique())
    return Published(
        datasets=datasets,
        rows=[(one, [cells.get((name, one), "–") for name in datasets]) for one in methods],
        sources=sources,
        notes=[f"{'*' * number} {note}." for note, number in notes.items()],
    )
