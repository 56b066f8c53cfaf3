"""A posterior over all weights, corrected by importance weights."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import tensorflow as tf

from ..core.pareto import smoothed
from ..core.random import Seed, as_seed, fold_in
from ..core.validation import positive_integer, shown
from ..models import NoDensityError
from .log_joint import joint_of
from .samples import Samples
from .weight_posterior import WeightPosterior

LARGEST_K_HAT = 0.7
"""Above it, importance weights need too many samples to be of use (Vehtari et al. 2024)."""


def reweighted(
    posterior: WeightPosterior,
    data: tuple[Any, Any] | None,
    num_samples: int = 1000,
    *,
    num_draws: int = 100,
    seed: Seed = 0,
) -> Samples:
    """Draw weights again in proportion to their smoothed importance weights.

    Its predictions are those of the exact posterior where k-hat is below 0.7 and there are many
    samples (Vehtari, Simpson, Gelman, Yao & Gabry 2024).

    :param posterior: a posterior over all weights with a density.
    :param data: X [N, D] and Y [N, Q], all rows that the network was built for; None for a target.
    :param num_samples: S, the number of weighted samples, at least 25.
    :param num_draws: T, the number of draws from these, with equal weights.
    :param seed: seed of the samples and of the draws.
    :return: the draws, for predictions.
    :raises TypeError: if `posterior` is none over all weights.
    :raises ValueError: as :meth:`WeightPosterior.log_importance_weights`, or if there are too few
        samples.
    :raises NoDensityError: if the posterior has no density.
    :warns UserWarning: if k-hat is above 0.7.
    """
    if not isinstance(posterior, WeightPosterior):
        raise TypeError(
            "posterior must be one of gpflow_gi.inference, whose draws are vectors of weights, "
            f"but is {shown(posterior)}."
        )
    S, T = positive_integer("num_samples", num_samples), positive_integer("num_draws", num_draws)
    seed = as_seed(seed)
    log_joint = joint_of(posterior.network, data)
    draws = posterior.draw(S, seed)
    if draws.log_p_minus_log_q is None:
        raise NoDensityError(posterior.why_no_density())
    theta, ratio = draws.theta, draws.log_p_minus_log_q
    parts = [log_joint.log_likelihood(theta[i : i + 100]) for i in range(0, S, 100)]
    log_w, k = smoothed((tf.concat(parts, axis=0) + ratio).numpy())
    if k > LARGEST_K_HAT:
        warnings.warn(
            f"k-hat is {k:.2f}, above {LARGEST_K_HAT}: too few of the {S} samples are where the "
            "posterior is, and what the draws say of it may be wrong. Give a posterior that is "
            "closer to the exact one, such as one of another family, or more samples "
            "(num_samples).",
            stacklevel=2,
        )
    shares = np.cumsum(np.exp(log_w - np.logaddexp.reduce(log_w)))
    # Systematic: one draw from each of T equal parts of the total weight (Kitagawa 1996).
    u = float(tf.random.stateless_uniform([], fold_in(seed, 1), dtype=tf.float64))
    chosen = np.minimum(np.searchsorted(shares, (np.arange(T) + u) / T), S - 1)
    return Samples(posterior.network, tf.gather(theta, chosen), num_samples=posterior.num_samples)
