"""What is maximised: the variational bound, its KL term weighted, plus the log prior."""

from collections.abc import Callable
from typing import Any, TypeAlias

import gpflow
import tensorflow as tf
from check_shapes.exceptions import CheckShapesError

BoundTerms: TypeAlias = Callable[
    [tuple[tf.Tensor, tf.Tensor], tf.Tensor], tuple[tf.Tensor, tf.Tensor]
]
"""(data, seed) -> expected log likelihood [], scaled to all rows, and KL divergence []."""


def bound_terms_of(model: Any, num_samples: int | None) -> BoundTerms:
    """The two terms of the model's bound, ELBO = first - second.

    :param model: with ``bound_terms(data, num_samples, seed)``, as :class:`DeepGP` has it, or with
        ``elbo(data)`` and ``prior_kl()``, as :class:`gpflow.models.SVGP` has them.
    :param num_samples: samples per step; None takes the model's default.
    :raises TypeError: if the model has neither.
    :raises ValueError: if `num_samples` is given to a model whose bound is not sampled.
    """
    if hasattr(model, "bound_terms"):
        return lambda data, seed: model.bound_terms(data, num_samples=num_samples, seed=seed)

    if not isinstance(model, gpflow.models.SVGP):
        raise TypeError(
            "fit needs a model with bound_terms(data, num_samples, seed), such as "
            "gpflow_gi.models.DeepGP, or gpflow.models.SVGP, "
            f"but got {type(model).__name__}. Train others with gpflow.optimizers."
        )
    if num_samples is not None:
        raise ValueError(
            f"num_samples={num_samples} has no meaning for {type(model).__name__}, whose bound is "
            "not sampled. Leave it out."
        )

    def terms(data: tuple[tf.Tensor, tf.Tensor], seed: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        try:
            return of_svgp(data)
        except (CheckShapesError, TypeError, ValueError, tf.errors.OpError):
            # GPflow leaves it to TensorFlow to find out, whose words are about other things.
            X, Y = data
            raise ValueError(
                f"The bound of the {type(model).__name__} cannot be computed for X of shape "
                f"{X.shape.as_list()} and Y of shape {Y.shape.as_list()}: it has "
                f"{model.num_latent_gps} latent functions, {type(model.likelihood).__name__} as "
                f"its likelihood, and inducing variables of shape {model.inducing_variable.shape}."
            ) from None

    def of_svgp(data: tuple[tf.Tensor, tf.Tensor]) -> tuple[tf.Tensor, tf.Tensor]:
        kl = model.prior_kl()
        if type(model).elbo is not gpflow.models.SVGP.elbo:
            return model.elbo(data) + kl, kl
        # The first term of SVGP.elbo by itself: elbo + KL would compute the KL term twice.
        X, Y = data
        mean, variance = model.predict_f(X)
        per_row = model.likelihood.variational_expectations(X, mean, variance, Y)
        num_data = X.shape[0] if model.num_data is None else model.num_data
        return tf.cast(num_data, per_row.dtype) * tf.reduce_mean(per_row), kl

    return terms


def kl_weight(step: Any, warmup: int, temperature: float = 1.0) -> tf.Tensor:
    """The weight temperature * min((step + 1) / warmup, 1): a linear warm-up of `warmup` steps.

    The first step has weight 1 / warmup, not 0, so that every step's objective sees the KL term
    (and shows it when it is not finite).

    :param step: [], counting from 0.
    :param warmup: in steps; 0 for none.
    :param temperature: the weight after the warm-up.
    :return: [], GPflow's default float.
    """
    weight = tf.constant(temperature, gpflow.default_float())
    if warmup == 0:
        return weight
    return weight * tf.minimum(tf.cast(step + 1, weight.dtype) / warmup, 1.0)
