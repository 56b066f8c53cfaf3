"""The column that is predicted: a number, a class or a count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from . import cells
from .cells import Array
from .column import NUMBER, TRUTH, texts
from .kinds import find_kinds
from .problems import Problem

if TYPE_CHECKING:
    import pandas as pd

TASKS = REGRESSION, CLASSIFICATION, COUNTS = ("regression", "classification", "counts")

AUTO = "auto"
"""Classification of truth values and texts, regression on numbers."""

MOST_CLASSES = 100


@dataclass(frozen=True, eq=False)
class Target:
    """The target of a table.

    :param Y: [N, 1]: numbers, or of classes their numbers, from 0.
    :param task: one of :data:`TASKS`.
    :param classes: the names of the classes.
    :param problems: what is wrong with the column.
    """

    Y: Array
    task: str = REGRESSION
    classes: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


def read_target(frame: pd.DataFrame, marks: dict[str, str], task: str) -> Target:
    """Read the target.

    :param frame: one column, of N rows.
    :param marks: decimal marks by column.
    :param task: one of :data:`TASKS`, or :data:`AUTO`.
    """
    (name,) = frame.columns
    raw = frame[name]
    found = find_kinds(frame, marks=marks, max_categories=MOST_CLASSES)
    column = found.columns[0] if found.columns else None
    if cells.are_nested(raw):
        text = "lists or records, which cannot be predicted"
        problem = Problem(name, text=text, remedies=("name another target",))
        return Target(np.zeros((len(raw), 1)), REGRESSION, problems=(problem,))
    if task == AUTO:
        is_number = column.kind == NUMBER if column else found.problems[0].rows is not None
        task = REGRESSION if is_number else CLASSIFICATION
    if task == CLASSIFICATION:
        return _classes(name, raw, column is not None and column.kind == TRUTH)
    zeros = np.zeros((len(raw), 1))
    if column is None and found.problems[0].rows is not None:
        return Target(zeros, task, problems=(Problem(name, found.problems[0].rows),))
    if column is None or column.kind not in (NUMBER, TRUTH):
        return Target(zeros, task, problems=(Problem(name, raw.notna().to_numpy()),))
    values = column.values(raw)
    bad = ~np.isfinite(values)
    expected = ""
    if task == COUNTS and not bad.any():
        bad, expected = (values < 0) | (values != np.round(values)), "a count (0, 1, 2, ...)"
    problems = (Problem(name, bad, expected),) if bad.any() else ()
    return Target(values[:, None], task, problems=problems)


def _classes(name: str, raw: pd.Series, are_truths: bool) -> Target:
    """Texts or numbers as classes, in their order.

    :param are_truths: True for truth values, which are the same in capitals.
    """
    labels = texts(raw)
    missing = labels == ""
    if are_truths and len({one.lower() for one in set(labels)}) < len(set(labels)):
        labels = np.array([one.lower() for one in labels], dtype=object)
    different = sorted(set(labels[~missing]))
    if cells.is_numeric(raw):
        different.sort(key=float)
    zeros = np.zeros((len(raw), 1))
    if missing.any():
        return Target(zeros, CLASSIFICATION, problems=(Problem(name, missing),))
    if len(different) > MOST_CLASSES:
        text = f"{len(different)} different values are more than {MOST_CLASSES} classes"
        remedy = ("predict a number (--task regression)",)
        return Target(zeros, CLASSIFICATION, problems=(Problem(name, text=text, remedies=remedy),))
    numbers = {label: float(i) for i, label in enumerate(different)}
    Y = np.array([numbers[label] for label in labels])[:, None]
    return Target(Y, CLASSIFICATION, tuple(different))
