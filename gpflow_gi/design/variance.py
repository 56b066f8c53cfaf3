"""Active learning: the predictive variance, and its reduction by an observation."""

from __future__ import annotations

from typing import Any

import gpflow
import tensorflow as tf
from check_shapes import check_shapes

from ..core.noise import variance_of_outputs
from ..core.random import Seed
from ..core.validation import positive_number
from .components import NUM_SAMPLES, check_model


@check_shapes("return: [N]")
def predictive_variance(
    model: Any, X: Any, *, num_samples: int = NUM_SAMPLES, seed: Seed = None
) -> tf.Tensor:
    """The variance of f(x), summed over outputs ("ALM").

    MacKay, "Information-based objective functions for active data selection", Neural Computation
    1992.

    :param model: a :class:`gpflow_gi.models.Predictive`.
    :param X: [N, D].
    :param num_samples: S, as in :meth:`gpflow_gi.models.Predictive.predict_f`.
    :param seed: see there.
    :return: [N], in the squared unit of f.
    :raises ValueError: if X does not fit the model.
    :raises TypeError: if it is not a model of this library.
    """
    check_model(model, outputs=None)
    return tf.reduce_sum(model.predict_f(X, num_samples, seed=seed)[1], axis=-1)


@check_shapes("return: [N]")
def integrated_variance_reduction(
    model: Any,
    X: Any,
    references: Any,
    *,
    noise_variance: Any = None,
    num_samples: int = NUM_SAMPLES,
    seed: Seed = None,
) -> tf.Tensor:
    """The reduction of the mean variance at reference points by an observation at x (ALC, IMSE).

        1/R sum_r cov(f(x), f(r))^2 / (var f(x) + noise), summed over outputs

    Cohn, Ghahramani & Jordan, "Active learning with statistical models", 1996, section 5; Seo,
    Wallat, Graepel & Obermayer, "Gaussian process regression: active data selection and test point
    rejection", 2000. It is exact for a Gaussian posterior; for a mixture it is the fall for
    the best linear predictor, by the mixture's own covariance, that between its samples included.

    :param model: a :class:`gpflow_gi.models.Predictive`.
    :param X: [N, D].
    :param references: [R, D], where the function is to be known.
    :param noise_variance: of an observation; by default that of the model's Gaussian likelihood.
    :param num_samples: S, as in :meth:`gpflow_gi.models.Predictive.predict_f`. Takes memory of
        S (N + R)^2.
    :param seed: see there.
    :return: [N], in the squared unit of f.
    :raises ValueError: if X or the references do not fit the model, or if the noise is not known.
    :raises TypeError: if it is not a model of this library.
    """
    check_model(model, outputs=None)
    if noise_variance is None:
        if not isinstance(model.likelihood, gpflow.likelihoods.Gaussian):
            raise ValueError(
                f"The variance of an observation under a {type(model.likelihood).__name__} "
                "likelihood is not one number: give noise_variance."
            )
    else:
        noise_variance = positive_number("noise_variance", noise_variance)
    X, references = model.check_inputs(X), model.check_inputs(references)
    if references.shape[0] == 0:
        raise ValueError("references must have at least one row.")
    if noise_variance is None:
        outputs = tf.zeros([X.shape[0], model.output_dim], X.dtype)
        noise_variance = tf.transpose(variance_of_outputs(model.likelihood, X, outputs))
    N = X.shape[0]
    both = tf.concat([X, references], axis=0)
    _, covariance = model.predict_f(both, num_samples, full_cov=True, seed=seed)  # [P, N+R, N+R]
    variance = tf.linalg.diag_part(covariance)[:, :N] + noise_variance
    fall = tf.reduce_mean(tf.square(covariance[:, :N, N:]), axis=-1) / variance
    return tf.reduce_sum(fall, axis=0)
