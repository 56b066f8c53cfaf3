"""Tables of numbers: where they come from, how they are split and standardised.

Nothing here knows of models, and nothing imports TensorFlow.
"""

import difflib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]

MIN_ROWS = 3
"""Two rows to train on, so that a standard deviation exists, and one to test on."""


class DataError(ValueError):
    """A table that cannot be used. The message is one line and names the file, column and row."""


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of numbers with one target.

    :param name: what the table is called in reports: "diabetes", or the name of a file.
    :param X: [N, D], the inputs.
    :param Y: [N, 1], the target.
    :param input_names: D names, one for each column of `X`.
    :param target_name: the name of the column `Y`.
    """

    name: str
    X: Array
    Y: Array
    input_names: tuple[str, ...]
    target_name: str

    def rows(self, index: NDArray[np.intp]) -> "Table":
        """The rows numbered `index`, in that order.

        :param index: [n], integers in [0, N).
        """
        return Table(self.name, self.X[index], self.Y[index], self.input_names, self.target_name)


def diabetes() -> Table:
    """Disease progression one year after baseline, for 442 patients and 10 measurements.

    Efron, Hastie, Johnstone & Tibshirani, "Least angle regression", Annals of Statistics 2004; the
    copy that ships with scikit-learn, in the units in which it was measured.

    :return: X [442, 10], Y [442, 1].
    """
    from sklearn.datasets import load_diabetes

    data = load_diabetes(scaled=False)
    names = tuple(str(name) for name in data.feature_names)
    return Table("diabetes", data.data, data.target[:, None], names, "progression")


def read_csv(path: str | Path, target: str, drop: Sequence[str] = ()) -> Table:
    """Read a table of numbers from a file of comma-separated values.

    The file is UTF-8, its first line names the columns, and every other line that is not empty is
    a row of numbers.

    :param path: the file.
    :param target: the column to predict.
    :param drop: columns to leave out, which may hold anything. All others are inputs.
    :return: X [N, D], Y [N, 1], where N >= 3 and D >= 1.
    :raises DataError: if there is no such file or column, if a name is missing or repeated, if a
        value is missing, infinite or not a number, if there are fewer than 3 rows, no inputs, or
        if the target is constant. Lines are counted as an editor does: the names are in line 1.
    """
    path = Path(path)
    cells = _read_cells(path)
    names = _column_names(path, cells)
    for name in (target, *drop):
        if name not in names:
            raise DataError(f"{path}: there is no column {name!r}{_suggestion(name, names)}")
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
        raise DataError(f"{path}, line 1: {count} columns have the name {name!r}.")
    return names


def _suggestion(name: str, names: Sequence[str], most: int = 8) -> str:
    """The end of a sentence that says which columns there are instead."""
    by_lower_case = {other.lower(): other for other in names}
    near = difflib.get_close_matches(name.lower(), by_lower_case, n=3)
    if near:
        return f"; near it: {', '.join(repr(by_lower_case[other]) for other in near)}."
    shown = ", ".join(repr(other) for other in names[:most])
    if len(names) > most:
        shown += f" and {len(names) - most} more"
    if len(names) == 1 and any(separator in names[0] for separator in ";\t|"):
        shown += ": is the file separated by something else than commas?"
        return f"; its only column is {shown}"
    return f"; there is {shown}."


def _line_numbers(cells: "pd.DataFrame") -> NDArray[np.intp]:
    """[rows] The line of the file at which each record starts, counted from 1.

    A quoted cell may run over several lines, and moves all records after it.
    """
    breaks = sum(cells[name].str.count("\n").to_numpy() for name in cells.columns)
    return 1 + np.arange(len(cells)) + np.concatenate([[0], np.cumsum(breaks)[:-1]]).astype(int)


def _to_numbers(path: Path, cells: "pd.DataFrame", lines: NDArray[np.intp], target: str) -> Array:
    """[N, D] The cells as numbers; the first that is none, in reading order, is an error."""
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
    elif np.isinf(values[row, column]):
        problem = f"the value {text!r} is infinite"
        remedy = "correct it"
    else:
        problem = f"{_shortened(text)!r} is not a number"
        remedy = "write it as a number"
    remedy += " or remove the line" if name == target else ", remove the line or drop the column"
    raise DataError(f"{path}, line {lines[row]}, column {name!r}: {problem}; {remedy}.")


def _shortened(text: str, most: int = 40) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."


def train_test_split(
    table: Table, test_fraction: float = 0.1, seed: int = 0
) -> tuple[Table, Table]:
    """Split the rows at random.

    :param table: N rows, at least 3.
    :param test_fraction: in (0, 1), the share of rows to test on, rounded so that at least one row
        is left to test on and two to train on.
    :param seed: of the permutation; the same seed gives the same split.
    :return: the rows to train on and the rows to test on.
    :raises ValueError: if `test_fraction` is not in (0, 1).
    :raises DataError: if there are fewer than 3 rows.
    """
    if not 0 < test_fraction < 1:
        raise ValueError(f"test_fraction must lie in (0, 1), but is {test_fraction}.")
    num_rows = len(table.X)
    if num_rows < MIN_ROWS:
        raise DataError(f"{table.name} has {num_rows} rows: at least {MIN_ROWS} are needed.")
    num_test = min(max(1, round(test_fraction * num_rows)), num_rows - 2)
    order = np.random.default_rng(seed).permutation(num_rows)
    return table.rows(order[num_test:]), table.rows(order[:num_test])


@dataclass(frozen=True, eq=False)
class Standardiser:
    """The map of every column to mean zero and standard deviation one.

    Fit it on the rows to train on, and on no others. A column that is constant there maps to zero
    and keeps its unit.

    :param mean: [D].
    :param scale: [D], positive: the standard deviations, and 1 for constant columns.
    """

    mean: Array
    scale: Array

    @classmethod
    def fit(cls, values: Array) -> "Standardiser":
        """Take mean and (population) standard deviation of the columns.

        :param values: [N, D], finite, with N >= 1.
        """
        # By way of [0, 1], where no square overflows or vanishes, and where a constant column is
        # exactly constant: the mean of many 0.1 is not 0.1.
        low, span = values.min(axis=0), np.ptp(values, axis=0)
        unit = (values - low) / np.where(span > 0, span, 1.0)
        mean = low + span * unit.mean(axis=0)
        return cls(mean, np.where(span > 0, span * unit.std(axis=0), 1.0))

    def transform(self, values: Array) -> Array:
        """The standardised `values`; both [..., D]."""
        return (values - self.mean) / self.scale

    def inverse(self, standardised: Array) -> Array:
        """The values whose :meth:`transform` is `standardised`; both [..., D]."""
        return standardised * self.scale + self.mean

    def inverse_variance(self, standardised: Array) -> Array:
        """Variances of the values, given those of the standardised values; both [..., D]."""
        return standardised * np.square(self.scale)

    def inverse_log_density(self, standardised: Array) -> Array:
        """Log densities of rows of values, given those of the standardised rows; both [...].

        p(y) = p(standardised y) / prod_d scale_d, in nats.
        """
        return standardised - np.log(self.scale).sum()
