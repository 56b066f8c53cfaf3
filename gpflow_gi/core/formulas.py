"""Texts that spreadsheets would take for formulas."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

_FORMULA = re.compile(r"[=+\-@\t\r＝＋－＠]")  # and what Japanese keyboards have for them


def without_formulas(table: pd.DataFrame) -> pd.DataFrame:
    """Add an apostrophe before texts that spreadsheets would take for a formula.

    OWASP, "CSV injection". Numbers stay as they are.
    """
    texts = table.select_dtypes(exclude=["number", "bool"]).columns
    return table.assign(**{name: [safe(cell) for cell in table[name]] for name in texts})


def safe(cell: Any) -> Any:
    """A cell, with an apostrophe before it if it is such a text."""
    return f"'{cell}" if isinstance(cell, str) and _FORMULA.match(cell) else cell
