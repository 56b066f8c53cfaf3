"""Search for the points at which a function crosses a level."""

from __future__ import annotations

from typing import Any

import tensorflow as tf
from check_shapes import check_shapes

from ..core.random import Seed
from ..core.validation import positive_number
from .components import NUM_SAMPLES, components, density, distribution, number


@check_shapes("return: [N]")
def contour_improvement(
    model: Any,
    X: Any,
    level: Any,
    *,
    width: Any = 1.96,
    num_samples: int = NUM_SAMPLES,
    seed: Seed = None,
) -> tf.Tensor:
    """E max(eps^2 - (f(x) - level)^2, 0), with eps = `width` standard deviations of f(x).

    Large where f is uncertain and near the level: Ranjan, Bingham & Michailidis, "Sequential
    experiment design for contour estimation from complex computer codes", Technometrics 2008.

    :param model: a :class:`gpflow_gi.models.Predictive` of one output.
    :param X: [N, D].
    :param level: the level, a number in the unit of f.
    :param width: a positive number.
    :param num_samples: S, as in :meth:`gpflow_gi.models.Predictive.predict_f`.
    :param seed: see there.
    :return: [N], in the squared unit of f.
    :raises ValueError: if a number is not finite, or X does not fit the model.
    :raises TypeError: if it is not a model of this library.
    """
    mean, sd = components(model, X, num_samples, seed, maximise=True)
    variance = tf.reduce_mean(tf.square(sd), axis=0) + tf.math.reduce_variance(mean, axis=0)
    eps = positive_number("width", width) * tf.sqrt(variance)
    # Over t = (f - mean) / sd from low to high, for each component.
    u = (number("level", level) - mean) / sd
    low, high = u - eps / sd, u + eps / sd
    mass = distribution(high) - distribution(low)
    first = density(low) - density(high)
    second = mass + low * density(low) - high * density(high)
    spread = second - 2.0 * u * first + tf.square(u) * mass
    return tf.reduce_mean(tf.square(eps) * mass - tf.square(sd) * spread, axis=0)
