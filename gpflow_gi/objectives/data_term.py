"""The data term of an objective: a sum over rows, scaled to all rows."""

from __future__ import annotations

from typing import Any

import tensorflow as tf
from gpflow.likelihoods import Likelihood

from ..models import integration, mixture


def data_term(
    likelihood: Likelihood,
    batch: tuple[tf.Tensor, tf.Tensor],
    moments: tuple[tf.Tensor, tf.Tensor],
    num_data: Any,
    seed: tf.Tensor,
    alpha: float,
) -> tf.Tensor:
    """N/B sum_n 1/alpha log E_q[p(y_n | f_n)^alpha]; for alpha = 0 its limit, the ELBO's data term.

    :param likelihood: any GPflow likelihood.
    :param batch: X [B, D] and Y [B, Q].
    :param moments: mean and variance of f, two of [B, P] or [S, B, P]; q is their equal mixture.
    :param num_data: the number of rows, N, to which the sum is scaled.
    :param seed: [2], of Monte Carlo likelihoods.
    :param alpha: at least 0.
    :return: [], in nats.
    """
    X, Y = batch
    rows = (likelihood, X, *moments, Y, seed)
    if alpha == 0.0:
        per_row = integration.variational_expectations(*rows)
    else:
        log_power = integration.log_expected_power(*rows, alpha)  # [B] or [S, B]
        if log_power.shape.rank == 2:
            log_power = mixture.log_density(log_power)
        per_row = log_power / alpha
    return tf.cast(num_data, per_row.dtype) * tf.reduce_mean(per_row)
