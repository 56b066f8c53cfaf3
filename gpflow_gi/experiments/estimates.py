"""Means with their standard errors: as JSON, and as text."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def mean_and_standard_error(values: Sequence[float] | Array) -> dict[str, float | None]:
    """The mean of independent repetitions and its standard error; None for a single one.

    :param values: [n].
    """
    n = len(values)
    error = float(np.std(values, ddof=1)) / math.sqrt(n) if n > 1 else None
    return {"mean": float(np.mean(values)), "standard_error": error}


def written(estimate: Mapping[str, Any], digits: int = 2) -> str:
    """Text of an estimate, such as "1.23 ± 0.04".

    :param estimate: with "mean" and "standard_error", either of which may be None.
    :param digits: number of decimals.
    """
    mean, error = estimate["mean"], estimate["standard_error"]
    if mean is None:
        return "-"
    return f"{mean:.{digits}f}" + ("" if error is None else f" ± {error:.{digits}f}")
