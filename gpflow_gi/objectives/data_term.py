"""The data term of an objective: a sum over rows, scaled to all rows."""

from __future__ import annotations

from typing import Any

import tensorflow as tf
from gpflow.likelihoods import Gaussian

from ..core.random import fold_in
from ..models import Draws, integration, mixture
from ..models.expected_power import log_expected_power_of_correlated
from .objective import Batch


def draws_for(model: Any, batch: Batch, num_samples: int | None, seed: tf.Tensor) -> Draws:
    """The draws with which a step computes its data term.

    :param model: a :class:`~gpflow_gi.models.Predictive`.
    :param batch: X [B, D] and Y [B, Q].
    :param num_samples: S; None for the model's own number.
    :param seed: [2].
    """
    X = model.data_rows(batch).X
    return model.draw_for(X, model.num_samples if num_samples is None else num_samples, seed)


def check_power(model: Any) -> None:
    """Refuse models whose expected power is not known.

    :param model: a :class:`~gpflow_gi.models.Predictive`.
    :raises ValueError: if its outputs are correlated, and the noise is not Gaussian or rows have
        latent variables.
    """
    if not model.has_correlated_outputs:
        return
    has_latents = bool(getattr(model, "latents", []))
    if has_latents or not isinstance(model.likelihood, Gaussian):
        raise ValueError(
            "The outputs of the last layer are correlated, for which a power of the likelihood has "
            "a closed form with Gaussian noise and without latent variables alone. Give the mixing "
            "matrix to the layer below, or use the ELBO."
        )


def data_term(
    model: Any, batch: Batch, draws: Draws, seed: tf.Tensor, alpha: float = 0.0
) -> tf.Tensor:
    """N/B sum_n 1/alpha log E_q[p(y_n | f_n)^alpha]; for alpha = 0 its limit, the ELBO's data term.

    If the model has latent variables of the rows, their KL divergences are subtracted.

    :param model: a :class:`~gpflow_gi.models.Predictive`.
    :param batch: X [B, D] and Y [B, Q].
    :param draws: functions f of the model, whose equal mixture is q.
    :param seed: [2], that of the draws.
    :param alpha: at least 0.
    :return: [], in nats.
    """
    data = model.data_rows(batch)
    if alpha > 0.0 and model.has_correlated_outputs:
        log_power = log_expected_power_of_correlated(
            model.likelihood,
            alpha,
            data.X,
            *draws.moments_of_outputs(data.X, fold_in(seed, 1)),
            data.Y,
        )
        return float(model.num_data) * tf.reduce_mean(_mean_over_samples(log_power) / alpha)
    mean, variance, row_kl = draws.moments_of_data(data, fold_in(seed, 1))
    # The streams are those of the bound: the limit alpha -> 0 is its term, draw by draw.
    rows = (model.likelihood, data.X, mean, variance, data.Y, fold_in(seed, 2))
    missing = model.missing == "ignore"
    if alpha == 0.0:
        per_row = integration.variational_expectations(*rows, missing=missing)
    else:
        log_power = integration.log_expected_power(*rows, alpha, missing=missing)
        per_row = _mean_over_samples(log_power) / alpha
    if row_kl is not None:
        per_row -= row_kl
    return float(model.num_data) * tf.reduce_mean(per_row)


def _mean_over_samples(log_power: tf.Tensor) -> tf.Tensor:
    """The log of the mean over samples, [B], of [S, B]; or of [B] itself."""
    return log_power if log_power.shape.rank == 1 else mixture.log_density(log_power)
