"""Nothing that is NaN comes back without a word."""

from typing import Any

import numpy as np
import tensorflow as tf

from ..core.validation import all_finite

_LARGE = 1e100
"""Numbers beyond are what makes sums and products overflow, if anything in the data does."""


@tf.autograph.experimental.do_not_convert
def check_outputs(inputs: Any, *outputs: tf.Tensor, what: str = "The prediction") -> None:
    """Check that what was computed from finite data is finite itself, where values are known.

    :param inputs: the data, a list of tensors.
    :param outputs: tensors.
    :param what: what they are, for the message; of a log density or a bound, minus infinity is the
        right answer where the data are impossible up to rounding.
    :raises ValueError: if they are not.
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
        largest = max(float(np.max(np.abs(one.numpy()), initial=0.0)) for one in inputs)
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
