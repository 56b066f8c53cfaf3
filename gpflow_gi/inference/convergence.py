"""Convergence of Markov chains: R-hat and effective sample sizes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp
from numpy.typing import NDArray

Array = NDArray[np.floating]

LARGEST_R_HAT = 1.05
"""Limit for a warning. Chains that agree are near 1; the strict limit is 1.01 (Vehtari et al.
2021)."""

LEAST_EFFECTIVE_SAMPLES = 100
"""Limit for a warning, for all chains together: below it the Monte Carlo error of a posterior mean
exceeds a tenth of the posterior standard deviation."""


@dataclass(frozen=True, eq=False)
class Convergence:
    """R-hat and effective sample sizes of several quantities, by name."""

    r_hat: dict[str, Array]
    effective_sample_size: dict[str, Array]

    @staticmethod
    def of(draws: dict[str, Array], num_chains: int) -> Convergence:
        """Compute both, with TensorFlow Probability.

        R-hat is that of split chains (Brooks & Gelman 1998); for effective sample sizes see
        Geyer (1992).

        :param draws: draws of each quantity, [T, ...], chain after chain.
        :param num_chains: C, the number of chains, of equal lengths.
        """
        r_hat, effective_sample_size = {}, {}
        for name, values in draws.items():
            # [T / C, C, ...], in float64: variances of float32 chains would lose digits.
            chains = values.reshape(num_chains, -1, *values.shape[1:]).swapaxes(0, 1)
            chains = tf.constant(chains.astype(np.float64))
            r_hat[name] = _r_hat(chains)
            effective_sample_size[name] = _effective_sample_size(chains)
        return Convergence(r_hat, effective_sample_size)

    def worst_r_hat(self) -> tuple[float, str]:
        """The largest R-hat and its quantity."""
        return max((float(np.max(values)), name) for name, values in self.r_hat.items())

    def worst_effective_sample_size(self) -> tuple[float, str]:
        """The smallest effective sample size and its quantity."""
        sizes = self.effective_sample_size
        return min((float(np.min(values)), name) for name, values in sizes.items())


def _r_hat(chains: tf.Tensor) -> Array:
    # TensorFlow Probability returns a ratio of variances; R-hat is its square root.
    r_hat = np.sqrt(tfp.mcmc.potential_scale_reduction(chains, split_chains=True).numpy())
    # 0 / 0 where nothing moves, such as f(0) of a network without biases: the chains agree.
    return np.where(_never_moves(chains), 1.0, r_hat)


def _effective_sample_size(chains: tf.Tensor) -> Array:
    num_chains = int(chains.shape[1])
    sizes = tfp.mcmc.effective_sample_size(
        chains,
        filter_beyond_positive_pairs=True,
        cross_chain_dims=1 if num_chains > 1 else None,
    ).numpy()
    sizes = sizes if num_chains > 1 else sizes[0]
    sizes = np.nan_to_num(sizes, nan=0.0)  # chains that are stuck at different values
    return np.where(_never_moves(chains), float(chains.shape[0] * num_chains), sizes)


def _never_moves(chains: tf.Tensor) -> NDArray[np.bool_]:
    return np.ptp(chains.numpy(), axis=(0, 1)) == 0
