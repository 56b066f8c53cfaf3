"""The outcome of a call: an answer, an error in words, or a failure of the library."""

import ast
import functools
import linecache
import re
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

import gpflow_gi as gi

PACKAGE = Path(gi.__file__).parent

ANSWER, WORDS = "answer", "words"
"""Good outcomes."""

RAW, LONG, NAN, HANG = "raw error", "long error", "silent NaN", "hang"
"""Bad outcomes."""

LONGEST = 600
"""Largest number of characters of a message."""

_OF_TENSORFLOW = re.compile(r"\{\{|\[Op:|node |Traceback|tensorflow/|InvalidArgument|Function:\n")

# scikit-learn's own checks speak for its estimators, and so does what NumPy and pandas say in them:
# check_estimator asks for those words.
_OF_SCIKIT_LEARN = ("sklearn/utils/", "sklearn/base.py")


@dataclass(frozen=True)
class Verdict:
    """The outcome of a call."""

    outcome: str
    detail: str
    """The error, or what was not finite."""


def judge(call: Callable[[], Any], of_estimator: bool = False) -> Verdict:
    """Call it, and say what it did.

    :param of_estimator: whether scikit-learn's checks may speak.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = call()
    except Exception as error:
        return _of_error(error, of_estimator)
    wrong = not_finite(result)
    return Verdict(NAN, wrong) if wrong else Verdict(ANSWER, "")


def _of_error(error: Exception, of_estimator: bool) -> Verdict:
    said = f"{type(error).__name__}: {error}"
    frames = traceback.extract_tb(error.__traceback__)
    frame = frames[-1]
    ours = Path(frame.filename).is_relative_to(PACKAGE) and frame.lineno in _raising(frame.filename)
    files = [frame.filename for frame in frames]
    if of_estimator and any(part in file for file in files for part in _OF_SCIKIT_LEARN):
        return Verdict(WORDS, said)
    kind = isinstance(error, TypeError | ValueError | ImportError | RuntimeError) or type(
        error
    ).__module__.startswith("gpflow_gi")
    if not (ours and kind) or _OF_TENSORFLOW.search(str(error)):
        return Verdict(RAW, f"{said} [{frame.filename}:{frame.lineno}]")
    if len(str(error)) > LONGEST or str(error).count("\n") > 1:
        return Verdict(LONG, said)
    return Verdict(WORDS, said)


@functools.cache
def _raising(file: str) -> frozenset[int]:
    """The lines of a file at which it raises something on purpose."""
    tree = ast.parse("".join(linecache.getlines(file)))
    return frozenset(
        line
        for node in ast.walk(tree)
        if isinstance(node, ast.Raise)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    )


def not_finite(result: Any, name: str = "the answer") -> str:
    """The place of NaN in a result; "" if there is none."""
    if isinstance(result, gi.models.DeepGP | tf.Module):
        for i, variable in enumerate(result.variables):
            if found := not_finite(variable.numpy(), f"variable {i} of {name}"):
                return found
        return ""
    if isinstance(result, gi.training.FitRecord):
        return not_finite([report.bound for report in result.reports], "the record")
    if isinstance(result, tf.Tensor | np.ndarray | float | np.floating):
        values = np.asarray(result)
        is_float = values.dtype.kind == "f"
        return name if is_float and values.size and np.isnan(values).any() else ""
    if isinstance(result, dict):
        parts = list(result.items())
    elif isinstance(result, tuple | list):
        parts = list(enumerate(result))
    elif is_dataclass(result) and not isinstance(result, type):
        parts = [(field.name, getattr(result, field.name)) for field in fields(result)]
    else:
        return ""
    for key, value in parts:
        if found := not_finite(value, f"{name}[{key}]"):
            return found
    return ""
