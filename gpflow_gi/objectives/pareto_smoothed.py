"""Measures of a posterior from smoothed importance weights."""

from typing import Any, NamedTuple

import numpy as np

from ..core.estimate import Estimate
from ..core.pareto import smoothed
from ..core.random import Seed
from ..core.validation import positive_integer
from .objective import refuse_objective


class ParetoSmoothed(NamedTuple):
    """Measures of a posterior from the importance weights of S draws, in nats."""

    elbo: Estimate
    """The mean of the log weights: the evidence lower bound."""

    iwbo: float
    """The log mean weight: one draw of the importance weighted bound of S samples."""

    log_evidence: float
    """The same of the smoothed weights: an estimate of the log evidence, and no bound."""

    k_hat: float
    """The shape of the weights' tail. Above 0.7 neither estimate of the evidence is reliable."""

    num_samples: int
    """S. k-hat depends on it."""

    def __str__(self) -> str:
        """Format in one line."""
        return (
            f"ELBO {self.elbo}, log evidence {self.log_evidence:.1f} "
            f"(k-hat {self.k_hat:.2f} of {self.num_samples} samples)"
        )


def pareto_smoothed(
    model: Any, data: tuple[Any, Any] | None, num_samples: int = 1000, *, seed: Seed = 0
) -> ParetoSmoothed:
    """Measure a posterior by Pareto smoothed importance sampling.

    Vehtari, Simpson, Gelman, Yao & Gabry (2024), "Pareto smoothed importance sampling"; Yao,
    Vehtari, Simpson & Gelman (2018), "Yes, but did it work?".

    :param model: a :class:`~gpflow_gi.models.Predictive` whose posterior has a density.
    :param data: X [N, D] and Y [N, Q], all rows that the model is trained on; None for a posterior
        of a :class:`~gpflow_gi.inference.Target`.
    :param num_samples: S, at least 25.
    :param seed: seed of the samples.
    :return: bounds, an estimate of the log evidence, and k-hat, in nats.
    :raises TypeError: if the model has no importance weights, or is an objective.
    :raises ValueError: as :meth:`gpflow_gi.models.Predictive.log_importance_weights`, or if there
        are too few samples.
    :raises NoDensityError: if the posterior has no density.
    """
    refuse_objective(model)
    if not hasattr(model, "log_importance_weights"):
        raise TypeError(
            "model must be one of this library's, such as gpflow_gi.models.DeepGP, but is a "
            f"{type(model).__name__}, which has no importance weights."
        )
    S = positive_integer("num_samples", num_samples)
    given = model.log_importance_weights(data, S, seed=seed).numpy()
    smooth, k = smoothed(given)
    log_w = given.astype(float)
    return ParetoSmoothed(
        elbo=Estimate(float(log_w.mean()), float(log_w.std(ddof=1) / np.sqrt(S))),
        iwbo=float(np.logaddexp.reduce(log_w) - np.log(S)),
        log_evidence=float(np.logaddexp.reduce(smooth) - np.log(S)),
        k_hat=k,
        num_samples=S,
    )
