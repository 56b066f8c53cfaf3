"""The energy of alpha-divergence minimisation."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from ..core.validation import positive_number, shown
from ..models import NoDensityError, Predictive
from ..models.bounds import kl_of
from .data_term import check_power, data_term, draws_for
from .objective import Batch, Objective, Terms


class AlphaEnergy(Objective):
    """The objective sum_n 1/alpha log E_q[p(y_n | f_n)^alpha] - KL(q || p); no bound.

    It is the negative energy of black-box alpha (Hernandez-Lobato et al. 2016, "Black-box
    alpha-divergence minimization", in the form of Li & Gal 2017, eq. 6; Rodriguez Santana et al.
    2022, eq. 12). Small powers fit the mean of the targets, as the ELBO does, which is the limit
    alpha -> 0; alpha = 1 fits the log density of the predictive distribution, row by row.

    The integral over f given a sample is exact for Gaussian noise. The logarithm of the mean over S
    samples is biased downwards by about the variance of that mean; use 10 samples or more where
    layers or weights are sampled. The KL divergences of the rows' latent variables are part of the
    first term: a KL warm-up or temperature does not weight them, as it does in the ELBO.

    :param alpha: the power, positive.
    :raises TypeError: if it is not a number.
    :raises ValueError: if it is not a number, not positive or not finite.

    >>> AlphaEnergy(0.5).name
    'alpha-energy (0.5)'
    """

    def __init__(self, alpha: float) -> None:
        self.alpha = positive_number("alpha", alpha)

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"alpha-energy ({self.alpha:g})"

    def terms(self, model: Any, batch: Batch, num_samples: int | None, seed: tf.Tensor) -> Terms:
        draws = draws_for(model, batch, num_samples, seed)
        kl = kl_of(draws)
        if kl is None:
            raise NoDensityError(model.why_no_density())
        return data_term(model, batch, draws, seed, self.alpha), kl

    def check(self, model: Any, num_samples: int | None) -> None:
        check_has_rows(self, model)
        check_power(model)


def check_has_rows(objective: Objective, model: Any) -> None:
    """Refuse models without draws of f at rows of data, and those that were updated.

    :raises TypeError: for a model without draws.
    :raises ValueError: for a model that was updated.
    """
    if not isinstance(model, Predictive) or getattr(model, "is_of_target", False):
        raise TypeError(
            f"{type(objective).__name__} needs a model of rows of data, such as "
            f"gpflow_gi.models.DeepGP, but got {shown(model)}. For a sparse GP use "
            'build_deep_gp(X, Y, num_layers=1, inference="local").'
        )
    if getattr(model, "memory", None) is not None:
        raise ValueError(
            f"{type(objective).__name__} cannot train a model that was updated: it has no term of "
            "the earlier rows. Use the ELBO, or WeightedBound."
        )
