"""A check that competitors compute the same."""

from collections.abc import Callable, Mapping

import numpy as np
import tensorflow as tf


def check_equal(
    estimates: Mapping[str, Callable[[], tf.Tensor]], draws: int, what: str = "bound at the start"
) -> str:
    """Compare means over draws, those of all with that of the first.

    :param estimates: one draw per call, []; compiled here.
    :param what: of what they are estimates.
    :return: a sentence that says the means.
    :raises RuntimeError: if means differ by more than 5 standard errors.
    """
    values = {}
    for name, estimate in estimates.items():
        compiled = tf.function(estimate)
        values[name] = np.array([compiled().numpy() for _ in range(draws)], np.float64)
    return check_equal_draws(values, what)


def check_equal_draws(values: Mapping[str, np.ndarray], what: str = "bound at the start") -> str:
    """:func:`check_equal` of draws that are there.

    :param values: as many draws of each.
    """
    first = next(iter(values))
    draws = len(values[first])
    means = {name: each.mean() for name, each in values.items()}
    errors = {name: each.std(ddof=1) / np.sqrt(draws) for name, each in values.items()}
    for name in values:
        error = np.hypot(errors[name], errors[first])
        if not abs(means[name] - means[first]) <= 5 * error:
            raise RuntimeError(
                f"Competitors differ in their {what}: {name} has {means[name]:.3f}, {first} "
                f"{means[first]:.3f} (standard error of the difference {error:.3f})."
            )
    listed = (f"{name} {means[name]:.2f} ± {errors[name]:.2f}" for name in values)
    return f"Equal {what} (means over {draws} calls): {', '.join(listed)}."
