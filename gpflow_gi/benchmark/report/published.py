"""Published results on the UCI data sets, to be shown beside ours and not ranked with them."""

from collections.abc import Collection
from dataclasses import dataclass
from importlib.resources import files

import pandas as pd


@dataclass(frozen=True)
class Published:
    """What others published of one metric.

    :param columns: (method, letter of its source, what its ± is).
    :param rows: the data set and a text for each column, such as "-0.93 ± 0.01", "–" where there
        is none.
    :param sources: by letter, where the numbers are from, how the data were split, and what
        stands behind the ±.
    :param notes: on single numbers.
    """

    columns: list[tuple[str, str, str]]
    rows: list[tuple[str, list[str]]]
    sources: dict[str, str]
    notes: list[str]


def read() -> pd.DataFrame:
    """The published results.

    :return: "dataset", "method", "metric" (log_density in nats on the original scale, rmse and crps
        in the target's unit), "mean", "spread", "spread_is", "split", "source" and "note", all but
        the mean as they were written.
    """
    path = files("gpflow_gi.benchmark") / "published" / "uci.csv"
    with path.open(encoding="utf-8") as file:
        return pd.read_csv(file, dtype=str, keep_default_na=False)


def published(results: pd.DataFrame, metric: str, datasets: Collection[str]) -> Published | None:
    """What there is of one metric.

    :param results: from :func:`read`.
    :param datasets: those that ours are on, if they are the same data.
    :return: None if there is nothing.
    """
    found = results[(results["metric"] == metric) & results["dataset"].isin(datasets)]
    if found.empty:
        return None
    protocols = found.groupby(["source", "split", "spread_is"], sort=True)
    columns, sources = [], {}
    cells: dict[tuple[str, tuple[str, str, str]], str] = {}
    notes: dict[str, int] = {}
    for letter, ((source, split, spread_is), rows) in zip("abcdefghij", protocols, strict=False):
        sources[letter] = f"{source}. Splits: {split}. ±: {spread_is}."
        short = spread_is.partition(" over ")[0]
        columns += [(str(method), letter, short) for method in sorted(rows["method"].unique())]
        for row in rows.itertuples():
            sign = "*" * notes.setdefault(row.note, len(notes) + 1) if row.note else ""
            cells[row.dataset, (row.method, letter, short)] = (
                f"{row.mean} ± {row.spread}{sign}".replace("-", "−")
            )
    return Published(
        columns=columns,
        rows=[
            (dataset, [cells.get((dataset, column), "–") for column in columns])
            for dataset in sorted(found["dataset"].unique())
        ],
        sources=sources,
        notes=[f"{'*' * number} {note}." for note, number in notes.items()],
    )
