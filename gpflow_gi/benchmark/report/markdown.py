"""Tables in Markdown, for the template of the report."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
from tabulate import tabulate

from .published import Published
from .tables import Table


def results(table: Table) -> str:
    """Best in bold, tied in italics, and the footnote."""
    around = {"best": "**", "tied": "*", "": ""}
    rows = [
        (
            escaped(dataset),
            str(n),
            *(f"{around[cell.mark]}{cell}{around[cell.mark]}" for cell in cells),
        )
        for dataset, n, cells in table.rows
    ]
    lines = _table(("data set", "splits", *map(escaped, table.methods)), rows)
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
    return _table(("data set", "method", "trials", "splits", "error"), rows)


def published(found: Published) -> str:
    """The results of others."""
    headers = [f"{escaped(name)} [{letter}] ± {spread}" for name, letter, spread in found.columns]
    rows = [
        (escaped(dataset), *(cell.replace("*", "\\*") for cell in cells))
        for dataset, cells in found.rows
    ]
    return _table(("data set", *headers), rows)


def escaped(text: str) -> str:
    """For a cell of a table in Markdown, as GitHub has it: with formulas between dollars."""
    for character in "\\|*_`<[]~$&":
        text = text.replace(character, f"\\{character}")
    return text


def _table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Left column to the left, all others to the right."""
    align = ("left", *("right" for _ in headers[1:]))
    return tabulate(rows, headers, tablefmt="pipe", disable_numparse=True, colalign=align)
