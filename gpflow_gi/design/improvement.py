"""Expected improvement and the upper confidence bound."""

from __future__ import annotations

from typing import Any

import tensorflow as tf
from check_shapes import check_shapes

from ..core.random import Seed
from ..core.validation import positive_number
from .components import NUM_SAMPLES, components, density, distribution, number


@check_shapes("return: [N]")
def expected_improvement(
    model: Any,
    X: Any,
    best: Any,
    *,
    maximise: bool = False,
    num_samples: int = NUM_SAMPLES,
    seed: Seed = None,
) -> tf.Tensor:
    """E max(best - f(x), 0), a mean over the components of the mixture.

    Mockus, Tiesis & Zilinskas 1978; Jones, Schonlau & Welch, "Efficient global optimization of
    expensive black-box functions", 1998, eq. 15, for each component.

    :param model: a :class:`gpflow_gi.models.Predictive` of one output.
    :param X: [N, D].
    :param best: the lowest value so far, a number in the unit of f.
    :param maximise: True to search for the maximum of f; `best` is then the highest value.
    :param num_samples: S, as in :meth:`gpflow_gi.models.Predictive.predict_f`.
    :param seed: see there.
    :return: [N], in the unit of f.
    :raises ValueError: if `best` is not a finite number, or X does not fit the model.
    :raises TypeError: if it is not a model of this library.
    """
    mean, sd = components(model, X, num_samples, seed, maximise=maximise)
    best = number("best", best) if maximise else -number("best", best)
    t = (mean - best) / sd
    improvement = sd * (t * distribution(t) + density(t))
    return tf.reduce_mean(tf.maximum(improvement, 0.0), axis=0)


@check_shapes("return: [N]")
def upper_confidence_bound(
    model: Any,
    X: Any,
    beta: Any = 4.0,
    *,
    maximise: bool = False,
    num_samples: int = NUM_SAMPLES,
    seed: Seed = None,
) -> tf.Tensor:
    """The mean of -f plus sqrt(beta) standard deviations, of the mixture's moments.

    Srinivas, Krause, Kakade & Seeger, "Gaussian process optimization in the bandit setting", ICML
    2010, eq. 6.

    :param model: a :class:`gpflow_gi.models.Predictive` of one output.
    :param X: [N, D].
    :param beta: the weight of the variance, a positive number.
    :param maximise: True to search for the maximum: the bound is then that of f.
    :param num_samples: S, as in :meth:`gpflow_gi.models.Predictive.predict_f`.
    :param seed: see there.
    :return: [N], in the unit of f.
    :raises ValueError: if `beta` is not positive, or X does not fit the model.
    :raises TypeError: if it is not a model of this library.
    """
    mean, sd = components(model, X, num_samples, seed, maximise=maximise)
    variance = tf.reduce_mean(tf.square(sd), axis=0) + tf.math.reduce_variance(mean, axis=0)
    return tf.reduce_mean(mean, axis=0) + tf.sqrt(positive_number("beta", beta) * variance)
