"""The evidence lower bound."""

from typing import Any

import gpflow
import tensorflow as tf
from check_shapes.exceptions import CheckShapesError

from ..core.validation import shown
from ..posteriors.optimal import optimal_of
from .divided import check_divisible, divided_terms
from .objective import Batch, Objective, Terms


class _OfTheBound(Objective):
    """An objective with the terms of the model's bound, for the rows that it is given."""

    divide_rows: bool = False
    """True to divide the rows of a step among the samples."""

    def terms(self, model: Any, batch: Batch, num_samples: int | None, seed: tf.Tensor) -> Terms:
        if self.divide_rows:
            S = model.num_samples if num_samples is None else num_samples
            return divided_terms(model, batch, S, seed)
        if hasattr(model, "bound_terms"):
            terms: Terms = model.bound_terms(batch, num_samples=num_samples, seed=seed)
            return terms
        try:
            return _of_svgp(model, batch)
        except (CheckShapesError, TypeError, ValueError, tf.errors.OpError):
            # GPflow leaves this check to TensorFlow, whose message does not name the cause.
            X, Y = batch
            raise ValueError(
                f"The bound of the {type(model).__name__} cannot be computed for X of shape "
                f"{X.shape.as_list()} and Y of shape {Y.shape.as_list()}: it has "
                f"{model.num_latent_gps} latent functions, {type(model.likelihood).__name__} as "
                f"its likelihood, and inducing variables of shape {model.inducing_variable.shape}."
            ) from None

    def check(self, model: Any, num_samples: int | None) -> None:
        if self.divide_rows:
            check_divisible(model)
        if self.temperature != 1.0 and optimal_of(model) is not None:
            raise ValueError(
                f"temperature is {self.temperature:g}, but the last layer has the posterior "
                "Optimal, which is the best one at temperature 1 alone. Give it another posterior."
            )
        if hasattr(model, "bound_terms"):
            return
        if not isinstance(model, gpflow.models.SVGP):
            raise TypeError(
                "fit needs a model with bound_terms(data, num_samples, seed), such as "
                "gpflow_gi.models.DeepGP, or gpflow.models.SVGP, "
                f"but got {type(model).__name__}. Train others with gpflow.optimizers."
            )
        if num_samples is not None:
            raise ValueError(
                f"num_samples={num_samples} has no meaning for {type(model).__name__}, whose bound "
                "is not sampled. Leave it out."
            )


class Elbo(_OfTheBound):
    """The evidence lower bound: E_q[log p(Y | f)] - KL(q || p) <= log p(Y).

    Its terms are those of ``model.bound_terms(data, num_samples, seed)``, as in
    :class:`~gpflow_gi.models.DeepGP`, or those of a :class:`gpflow.models.SVGP`.

    A hidden layer below one with global inducing points, a convolution and a residual block are
    drawn once for all rows of a step, so that their noise moves all rows. Draws can share the rows
    instead of taking all of them, ``fit(..., num_samples=4, objective=Elbo(divide_rows=True))``:
    the rows are dealt out among S = 4 draws, and the draws are antithetic pairs, z = mean +- root
    eps. The objective is the same, with less noise than that of one draw; a step takes S times the
    work for inducing points, and no more for the rows. Other hidden layers are integrated row by
    row, and gain nothing over one draw.

    :param divide_rows: True to divide the rows of a step among the S draws.
    :raises TypeError: if `divide_rows` is neither True nor False.
    """

    name = "ELBO"

    def __init__(self, *, divide_rows: bool = False) -> None:
        if not isinstance(divide_rows, bool):
            raise TypeError(f"divide_rows must be True or False, but is {shown(divide_rows)}.")
        self.divide_rows = divide_rows


def row_terms(
    model: Any, batch: Batch, num_samples: int | None, seed: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor | None, tf.Tensor]:
    """The terms of the bound: see :meth:`gpflow_gi.models.Predictive.row_terms`.

    :return: [B] or [S, B], [B] or None, and [], in nats.
    """
    if hasattr(model, "row_terms"):
        return model.row_terms(batch, num_samples=num_samples, seed=seed)
    X, Y = _as_gpflow_takes(model, batch)
    mean, variance = model.predict_f(X)
    return model.likelihood.variational_expectations(X, mean, variance, Y), None, model.prior_kl()


def _as_gpflow_takes(model: gpflow.models.SVGP, batch: Batch) -> Batch:
    """The batch with labels as integers, which GPflow's Softmax asks for."""
    if not isinstance(model.likelihood, gpflow.likelihoods.Softmax):
        return batch
    X, Y = batch
    return X, tf.cast(Y, gpflow.default_int())


def _of_svgp(model: gpflow.models.SVGP, batch: Batch) -> Terms:
    if type(model).elbo is not gpflow.models.SVGP.elbo:
        kl = model.prior_kl()
        return model.elbo(_as_gpflow_takes(model, batch)) + kl, kl
    # The first term of SVGP.elbo alone: elbo + KL would compute the KL term twice.
    per_row, _, kl = row_terms(model, batch, None, tf.zeros([2], tf.int32))
    num_data = batch[0].shape[0] if model.num_data is None else model.num_data
    return tf.cast(num_data, per_row.dtype) * tf.reduce_mean(per_row), kl
