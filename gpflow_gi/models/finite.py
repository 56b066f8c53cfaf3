"""Checks that no result is silently NaN."""

from typing import Any

import numpy as np
import tensorflow as tf

from ..core.validation import all_finite

_LARGE = 1e100
"""Limit of large numbers: larger ones are the probable cause of an overflow."""


@tf.autograph.experimental.do_not_convert
def check_outputs(inputs: Any, *outputs: tf.Tensor, what: str = "The prediction") -> None:
    """Check that results from finite data are finite, where values are known.

    :param inputs: the data, a list of tensors.
    :param outputs: tensors.
    :param what: name of the results in the message. For a log density or a bound, minus infinity is
        the right result if the data are impossible up to rounding.
    :raises ValueError: if they are not finite.
    """
    for output in outputs:
        if not hasattr(output, "numpy"):
            continue
        array = output.numpy()
        if all_finite(array):
            continue
        wrong = ~np.isfinite(array) if what == "The prediction" else ~(array < np.inf)
        if not wrong.any():
            continue
        largest = max(
            (float(np.max(np.abs(one.numpy()), initial=0.0)) for one in inputs), default=0
        )
        if largest > min(_LARGE, np.sqrt(np.finfo(array.dtype).max)):
            advice = (
                f"They hold numbers as large as {largest:.3g}, with which sums and products "
                "overflow: standardise the columns (gpflow_gi.datasets.Standardiser)."
            )
        else:
            advice = (
                "The model's method first_non_finite((X, Y)) says which layer is the first that "
                "is not finite; gpflow.utilities.print_summary(model) shows its parameters."
            )
        raise ValueError(f"{what} is NaN or infinite, although the data are finite. {advice}")
