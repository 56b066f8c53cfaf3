"""Tables from files of comma-separated values."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..core.validation import file_path, shown
from .errors import DataError
from .near import near_names
from .table import MIN_ROWS, Array, Table

if TYPE_CHECKING:
    import pandas as pd


def read_csv(path: str | Path, target: str, drop: Sequence[str] | None = ()) -> Table:
    """Read a table of numbers from a file of comma-separated values.

    The file is UTF-8, its first line names the columns, and every other line that is not empty is
    a row of numbers.

    :param path: the file.
    :param target: the column to predict.
    :param drop: columns to leave out; they may hold anything. None for none. All other columns
        are inputs.
    :return: X [N, D], Y [N, 1], where N >= 3 and D >= 1.
    :raises DataError: if there is no such file or column, if a name is missing or repeated, if a
        value is missing, infinite or not a number, if there are fewer than 3 rows, no inputs, or
        if the target is constant. Lines are counted as in an editor: the names are in line 1.
    """
    path = file_path("path", path)
    if not isinstance(target, str):
        raise DataError(f"target must be the name of a column, but is {shown(target)}.")
    drop = () if drop is None else drop
    if not isinstance(drop, Sequence) or not all(isinstance(name, str) for name in drop):
        raise DataError(f"drop must be a list of names of columns, but is {shown(drop)}.")
    drop = (drop,) if isinstance(drop, str) else drop
    cells = _read_cells(path)
    names = _column_names(path, cells)
    for name in (target, *drop):
        if name not in names:
            raise DataError(f"{path}: there is no column {shown(name)}{_suggestion(name, names)}")
    if target in drop:
        raise DataError(f"{path}: column {target!r} is the target and cannot be dropped.")

    cells.columns = names
    lines = _line_numbers(cells)[1:]
    cells = cells.iloc[1:]
    filled = (cells != "").any(axis="columns").to_numpy()
    cells, lines = cells[filled].drop(columns=list(drop)), lines[filled]
    if len(cells) < MIN_ROWS:
        rows = f"{len(cells)} {'row' if len(cells) == 1 else 'rows'}"
        raise DataError(f"{path} has {rows} of data: at least {MIN_ROWS} are needed.")

    values = _to_numbers(path, cells, lines, target)
    is_target = cells.columns == target
    X, Y = values[:, ~is_target], values[:, is_target]
    if X.shape[1] == 0:
        raise DataError(f"{path} has no column besides the target {target!r} to predict it from.")
    if np.ptp(Y) == 0:
        raise DataError(
            f"{path}, column {target!r}: the target is {Y[0, 0]:g} in all {len(Y)} rows, "
            "so there is nothing to predict."
        )
    input_names = tuple(name for name in cells.columns if name != target)
    return Table(path.name, X, Y, input_names, target)


def _read_cells(path: Path) -> "pd.DataFrame":
    """Every cell of the file as text: row i of the frame is record i of the file."""
    import pandas as pd

    try:
        with path.open("rb") as file:
            return pd.read_csv(
                file,
                header=None,
                index_col=False,
                dtype=str,
                keep_default_na=False,
                skip_blank_lines=False,
                skipinitialspace=True,
                encoding="utf-8-sig",
            )
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file.") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise DataError(
            f"{path} is not a text file in UTF-8: save the table as CSV (UTF-8)."
        ) from None
    except pd.errors.EmptyDataError:
        raise DataError(
            f"{path}, line 1 is empty: it must hold the names of the columns."
        ) from None
    except pd.errors.ParserError as error:
        # "Error tokenizing data. C error: Expected 3 fields in line 5, saw 4"
        reason = str(error).split("C error: ")[-1].strip()
        if "EOF inside string" in reason:
            reason = "a quotation mark is never closed"
        elif ";" in path.read_text(encoding="utf-8-sig").partition("\n")[0]:
            reason += "; are its columns separated by semicolons?"
        raise DataError(f"{path} is not comma-separated values: {reason}.") from None


def _column_names(path: Path, cells: "pd.DataFrame") -> list[str]:
    names = [name.strip() for name in cells.iloc[0]]
    if "" in names:
        raise DataError(
            f"{path}, line 1: column {names.index('') + 1} has no name. Name it; or "
            "if it is an index, write the table without."
        )
    name, count = Counter(names).most_common(1)[0]
    if count > 1:
        raise DataError(f"{path}, line 1: {count} columns have the name {shown(name)}.")
    return names


def _suggestion(name: str, names: Sequence[str], most: int = 8) -> str:
    """The end of an error message, with the columns that exist."""
    near = near_names(name, names)
    if near:
        return f"; near it: {', '.join(map(repr, near))}."
    shown = ", ".join(repr(other) for other in names[:most])
    if len(names) > most:
        shown += f" and {len(names) - most} more"
    if len(names) == 1 and any(separator in names[0] for separator in ";\t|"):
        shown += ": is the file separated by something else than commas?"
        return f"; its only column is {shown}"
    return f"; there is {shown}."


def _line_numbers(cells: "pd.DataFrame") -> NDArray[np.intp]:
    """The line of the file at which each record starts, counted from 1: [rows].

    A quoted cell may contain line ends, so records and lines can differ.
    """
    breaks = sum(cells[name].str.count("\n").to_numpy() for name in cells.columns)
    return 1 + np.arange(len(cells)) + np.concatenate([[0], np.cumsum(breaks)[:-1]]).astype(int)


def _to_numbers(path: Path, cells: "pd.DataFrame", lines: NDArray[np.intp], target: str) -> Array:
    """Convert the cells to numbers, [N, D]; the first that is not a number is an error."""
    import pandas as pd

    values = cells.apply(pd.to_numeric, errors="coerce").to_numpy(dtype=float)
    bad = np.argwhere(~np.isfinite(values))
    if len(bad) == 0:
        return values
    row, column = bad[0]
    name, text = cells.columns[column], str(cells.iloc[row, column]).strip()
    if text.lower() in ("", "nan", "na", "n/a", "null", "none", "?", "-"):
        problem = "the value is missing" + (f" ({text!r})" if text else "")
        remedy = "fill it in"
    elif _is_infinite(text):
        problem = f"the value {text!r} is infinite"
        remedy = "correct it"
    else:
        problem = f"{_shortened(text)!r} is not a number"
        remedy = "write it as a number"
    remedy += " or remove the line" if name == target else ", remove the line or drop the column"
    raise DataError(f"{path}, line {lines[row]}, column {shown(name)}: {problem}; {remedy}.")


def _shortened(text: str, most: int = 40) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."


def _is_infinite(text: str) -> bool:
    # Some versions of pandas do not report a number that is too large.
    try:
        return bool(np.isinf(float(text)))
    except ValueError:
        return False
