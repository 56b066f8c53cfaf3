"""The bound for rows that count more or less than once."""

from typing import Any

import gpflow
import numpy as np
import tensorflow as tf

from ..core.validation import finite_floats
from ..models.streaming import memory_term
from ..posteriors.optimal import optimal_of
from .elbo import Elbo, row_terms
from .objective import Batch, Objective, Terms


class WeightedBound(Objective):
    """The bound with a weight on each row: sum_n w_n E_q[log p(y_n | f_n)] - KL(q || p).

    With whole numbers as weights it is the ELBO of rows that are repeated so often, and a row of
    weight zero is left out. With others it is that of a likelihood to the powers w_n; a common
    factor makes the data count more or less against the prior (see :class:`TemperedBound`).

    :param weights: [N], finite, at least 0 and not all 0: one for each row of the data.
    :raises ValueError: if they are anything else.
    """

    name = "weighted bound"
    shows_elbo = False

    def __init__(self, weights: Any) -> None:
        self.weights = weights_of_rows(weights)

    def check(self, model: Any, num_samples: int | None) -> None:
        Elbo().check(model, num_samples)
        refuse_optimal(self, model)
        if not hasattr(model, "row_terms") and hasattr(model, "bound_terms"):
            raise TypeError(
                f"WeightedBound needs a model with row_terms(data, num_samples, seed), but got "
                f"{type(model).__name__}."
            )

    def terms(self, model: Any, batch: Batch, num_samples: int | None, seed: tf.Tensor) -> Terms:
        X, Y, weights = batch
        per_row, row_kl, kl = row_terms(model, (X, Y), num_samples, seed)
        num_data = float(X.shape[0] if model.num_data is None else model.num_data)
        if row_kl is not None:
            kl += num_data * tf.reduce_mean(weights * row_kl)
        # N/B sum_n w_n 1/S sum_s E log p(y_n | f_n)
        # Rows before an update have no weights.
        first = num_data * tf.reduce_mean(weights * per_row)
        return first + memory_term(model, num_samples, seed), kl


def weights_of_rows(weights: Any) -> tf.Tensor:
    """Weights of rows, [N].

    :raises ValueError: if they are not finite, at least 0 and not all 0.
    """
    weights = finite_floats("weights", weights)
    if np.ndim(weights) != 1:
        raise ValueError(f"weights must have shape [N], but have shape {list(weights.shape)}.")
    if np.any(weights < 0) or not np.any(weights > 0):
        raise ValueError(
            f"weights must be at least 0 and not all 0, but lie between {weights.min():g} and "
            f"{weights.max():g}."
        )
    return gpflow.utilities.to_default_float(weights)


def refuse_optimal(objective: Objective, model: Any) -> None:
    """Refuse a posterior that is the best one for rows of equal weights.

    :raises ValueError: if the last layer has it.
    """
    if optimal_of(model) is not None:
        raise ValueError(
            f"{type(objective).__name__} cannot train a model whose last layer has the posterior "
            "Optimal, which takes all rows with equal weights. Use GlobalInducing there."
        )
