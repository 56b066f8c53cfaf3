"""Tables from files, ready for a model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.validation import file_path, integer, is_one_of, shown, true_or_false
from .cells import MARKS, is_numeric
from .errors import DataError
from .kinds import MOST_CATEGORIES, decimal_marks, find_kinds
from .near import near_names
from .preprocessing import Preprocessing
from .problems import IMPUTE, Problem, refuse
from .source import Source
from .table import MIN_ROWS, Table
from .table_files import TableFile
from .targets import AUTO, REGRESSION, TASKS, read_target

if TYPE_CHECKING:
    import pandas as pd


def read_csv(
    path: str | Path,
    target: str,
    drop: str | Sequence[str] | None = (),
    *,
    impute: str | None = None,
    categories: str | Sequence[str] | None = (),
    max_categories: int = MOST_CATEGORIES,
    calendar: bool = False,
    decimal: str | None = None,
    drop_constant: bool = False,
    task: str = REGRESSION,
) -> Table:
    """Read a table from a file of comma-separated values.

    The file is UTF-8, and its first line names the columns. Commas, semicolons, tabs and vertical
    bars are recognised as separators, separators of thousands and decimal commas too. It may be
    compressed (.gz, .bz2, .xz, or .zip with one file), or Parquet if pyarrow is installed.

    Numbers are inputs as they are. Truth values (true and false, yes and no) become 1 and 0, dates
    days since the beginning of 1970, and every category an input that is 1 in its rows. Categories
    and medians here are those of all rows; :func:`train_test_split` and :func:`standard_split`
    take those of the training rows alone.

    :param path: the file.
    :param target: the column to predict: numbers or truth values; or classes, see `task`.
    :param drop: columns to leave out; they may hold anything. Text names several by commas. None
        for none. All other columns are inputs.
    :param impute: "median" to replace missing values of inputs; where values of a column are
        missing, one more input says so. None refuses them.
    :param categories: columns that are categories, although they may hold numbers.
    :param max_categories: largest number of categories of a column.
    :param calendar: True to make inputs of the day of the week and the month of dates too: sine
        and cosine of their places on a circle.
    :param decimal: the decimal mark, "." or ",", of numbers that can be read with both, as 1,234;
        None finds it.
    :param drop_constant: True to leave out inputs that are the same in all rows.
    :param task: "regression"; "classification", for which Y counts the classes of the target, from
        0, in the order of the table's `classes`; "counts", for whole numbers from 0; or "auto":
        classification of truth values and texts, and regression on numbers.
    :return: X [N, D], Y [N, 1], where N >= 3 and D >= 1.
    :raises DataError: if there is no such file or column, if a name is missing or repeated, if a
        value is missing, infinite or of another kind than its column, if a column has too many
        categories, if there are fewer than 3 rows, no inputs, or if the target is constant. One
        message says what is wrong with all columns. Lines are counted as in an editor: the names
        are in line 1.
    :raises ValueError: if another argument cannot be used.
    """
    path = file_path("path", path)
    if not isinstance(target, str):
        raise DataError(f"target must be the name of a column, but is {shown(target)}.")
    if impute is not None and not is_one_of(impute, ["median"]):
        raise ValueError(f'impute must be "median" or None, but is {shown(impute)}.')
    if decimal is not None and not is_one_of(decimal, MARKS):
        raise ValueError(f'decimal must be ".", "," or None, but is {shown(decimal)}.')
    if not is_one_of(task, (*TASKS, AUTO)):
        raise ValueError(f"task must be one of {', '.join((*TASKS, AUTO))}, but is {shown(task)}.")
    max_categories = integer("max_categories", max_categories, 1)
    calendar = true_or_false("calendar", calendar)
    drop_constant = true_or_false("drop_constant", drop_constant)
    file = TableFile.open(path)
    left_out = named(file, "drop", drop)
    texts = named(file, "categories", categories)
    _check_named(file, (target,))
    if target in left_out:
        raise DataError(f"{path}: column {target!r} is the target and cannot be dropped.")

    frame = file.frame(texts).drop(columns=list(left_out))
    if len(frame) < MIN_ROWS:
        rows = f"{len(frame)} {'row' if len(frame) == 1 else 'rows'}"
        raise DataError(f"{path} has {rows} of data: at least {MIN_ROWS} are needed.")
    marks, notes = _decimal_marks(file, frame, decimal)
    frame = _with_texts(file, frame, [name for name, mark in marks.items() if mark == ","])
    inputs = frame.drop(columns=target)
    found = find_kinds(
        inputs, categories=texts, max_categories=max_categories, calendar=calendar, marks=marks
    )
    typed = Preprocessing(found.columns).typed(inputs)
    columns = list(found.columns)
    problems = list(found.problems)
    for one in columns:
        problems += _wrong_values(one.name, typed[one.name], impute is not None)
    found_target = read_target(frame[[target]], marks, task)
    refuse(file, _in_order(file, [*problems, *found_target.problems]), target)
    if drop_constant:
        constant = [one for one in columns if typed[one.name].nunique(dropna=False) == 1]
        if constant and len(constant) < len(columns):
            names = ", ".join(repr(one.name) for one in constant)
            plural = "s" * (len(constant) > 1)
            notes += (f"Left out, constant in all rows: column{plural} {names}.",)
            columns = [one for one in columns if one not in constant]
    if not columns:
        raise DataError(f"{path} has no column besides the target {target!r} to predict it from.")
    Y, classes = found_target.Y, found_target.classes
    if np.ptp(Y) == 0:
        value = repr(classes[0]) if classes else f"{Y[0, 0]:g}"
        raise DataError(
            f"{path}, column {target!r}: the target is {value} in all {len(Y)} rows, "
            "so there is nothing to predict."
        )
    typed = typed[[one.name for one in columns]]
    fitted = Preprocessing.fit(typed, columns, impute is not None)
    source = Source(typed, fitted, tuple(notes))
    X, task = fitted.transform(typed), found_target.task
    return Table(path.name, X, Y, fitted.input_names, target, source, task, classes)


def named(file: TableFile, argument: str, given: Any) -> tuple[str, ...]:
    """Names of columns that a user has given, as a list or with commas between them.

    :raises DataError: if there is no such column.
    """
    given = () if given is None else (given,) if isinstance(given, str) else given
    if not isinstance(given, Sequence) or not all(isinstance(name, str) for name in given):
        raise DataError(f"{argument} must be a list of names of columns, but is {shown(given)}.")
    names: list[str] = []
    for name in given:
        parts = [name] if name in file.names else [part.strip() for part in name.split(",")]
        names += [part for part in parts if part not in names]
    _check_named(file, names)
    return tuple(names)


def _check_named(file: TableFile, names: Sequence[str]) -> None:
    for name in names:
        if name not in file.names:
            raise DataError(
                f"{file.path}: there is no column {shown(name)}{_suggestion(name, file.names)}"
            )


def _suggestion(name: str, names: Sequence[str], most: int = 8) -> str:
    """The end of an error message, with the columns that exist."""
    near = near_names(name, names)
    if near:
        return f"; near it: {', '.join(map(repr, near))}."
    shown = ", ".join(repr(other) for other in names[:most])
    if len(names) > most:
        shown += f" and {len(names) - most} more"
    return f"; there is {shown}."


def _decimal_marks(
    file: TableFile, frame: pd.DataFrame, decimal: str | None
) -> tuple[dict[str, str], tuple[str, ...]]:
    marks, notes = decimal_marks(frame, None, file.separator, decimal)
    floats = [name for name in frame.columns if frame[name].dtype.kind == "f"]
    if "," not in ({decimal} if decimal else set(marks.values())) or not floats:
        return marks, notes
    texts = file.frame(floats)[floats]
    return decimal_marks(frame, texts, file.separator, decimal)


def _with_texts(file: TableFile, frame: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """The frame with the texts of columns that were read as other numbers."""
    again = [name for name in names if is_numeric(frame[name])]
    return frame.assign(**{name: file.frame(again)[name] for name in again}) if again else frame


def _wrong_values(name: str, values: pd.Series, impute: bool) -> list[Problem]:
    if values.dtype == object:
        absent = (values == "").to_numpy()
        infinite = np.zeros(len(values), bool)
    else:
        absent, infinite = np.isnan(values.to_numpy()), np.isinf(values.to_numpy())
    problems = []
    if infinite.any():
        problems.append(Problem(name, infinite))
    if absent.any() and not impute:
        problems.append(Problem(name, absent, remedies=(IMPUTE,)))
    return problems


def _in_order(file: TableFile, problems: list[Problem]) -> list[Problem]:
    return sorted(problems, key=lambda problem: file.names.index(problem.column))
