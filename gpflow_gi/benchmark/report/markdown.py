"""Tables in Markdown, for the template of the report."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
from tabulate import tabulate

from .published import Published
from .tables import Table


def results(table: Table) -> str:
    """A table of results: the best in bold, ties in italics, and its footnote."""
    around = {"best": "**", "tied": "*", "": ""}
    rows = [
        (
            escaped(dataset),
            str(n),
            *(f"{around[cell.mark]}{cell}{around[cell.mark]}" for cell in cells),
        )
        for dataset, n, cells in table.rows
    ]
    lines = pipe_table(("data set", "splits", *map(escaped, table.methods)), rows)
    return f"{lines}\n\n{escaped(table.footnote)}" if table.footnote else lines


def failures(found: pd.DataFrame) -> str:
    """Failed trials, by data set and method."""
    rows: list[Any] = [
        (
            escaped(row.dataset),
            escaped(row.method),
            str(row.number),
            row.splits,
            escaped(f"{row.type}: {row.message}"),
        )
        for row in found.rename(columns={"count": "number"}).itertuples()
    ]
    return pipe_table(("data set", "method", "trials", "splits", "error"), rows)


def published(found: Published) -> str:
    """A table of published results."""
    rows = [
        (f"{escaped(name)} [{letter}] ± {spread}", *(cell.replace("*", "\\*") for cell in cells))
        for (name, letter, spread), cells in found.rows
    ]
    return pipe_table(("method", *map(escaped, found.datasets)), rows)


def escaped(text: str) -> str:
    """Escape text for a table cell in GitHub's Markdown, which has formulas between dollars."""
    for character in "\\|*_`<[]~$&":
        text = text.replace(character, f"\\{character}")
    return text


def pipe_table(headers: Sequence[str], rows: Sequence[Sequence[str]], num_names: int = 1) -> str:
    """A table whose first columns are names, aligned left, and whose others are aligned right."""
    align = ["left" if i < num_names else "right" for i in range(len(headers))]
    return tabulate(rows, headers, tablefmt="pipe", disable_numparse=True, colalign=align)
