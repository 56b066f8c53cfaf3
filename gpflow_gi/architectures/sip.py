"""Sparse implicit processes from data and a few settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpflow.likelihoods import Likelihood

from ..core.validation import finite_array, integer, positive_integer
from ..layers import ImplicitLayer
from ..models import DeepGP
from ..posteriors import ImplicitInducing, NoiseNetwork
from .processes import MakeProcess, check_start, new_process, process_maker
from .start import centres, targets_near


def build_sip(
    X: Any,
    Y: Any,
    *,
    process: str | MakeProcess = "network",
    num_draws: int = 100,
    num_inducing: int = 100,
    inducing_inputs: Any = None,
    noise_dim: int = 100,
    widths: Sequence[int] = (50, 50),
    likelihood: Likelihood | None = None,
    num_samples: int = 100,
    seed: int = 0,
) -> DeepGP:
    """A sparse implicit process (Rodriguez Santana, Zaldivar & Hernandez-Lobato 2022).

    One implicit layer with inducing inputs Z, whose values u are drawn by a network on noise. The
    conditional p(f | u) of eq. (13) is computed in the space of the draws or of the inducing
    points, whichever is smaller. Values start around the means of the targets near each inducing
    point. There is no bound: train with an objective that needs samples of q(u) and p(u) only.

    Columns of X and Y should be standardised (mean 0, standard deviation 1 over the training rows).

    >>> import numpy as np
    >>> X = np.linspace(-1.0, 1.0, 50)[:, None]
    >>> model = build_sip(X, X**3, num_inducing=10)
    >>> mean, variance = model.predict_y(X, num_samples=500)
    >>> mean.shape
    TensorShape([50, 1])

    :param X: inputs, [N, D].
    :param Y: targets, [N, Q].
    :param process: the prior; see :func:`build_vip`.
    :param num_draws: the number of draws of the process for its mean and covariance, at least 2.
    :param num_inducing: M; at most the number of different rows of X.
    :param inducing_inputs: initial inducing inputs, [M, D], instead of the centres of k-means;
        `num_inducing` is then ignored.
    :param noise_dim: number of dimensions of the noise from which values u are made.
    :param widths: widths of the hidden layers of the network that makes them.
    :param likelihood: a GPflow likelihood; by default Gaussian, with a learned noise variance that
        starts at 0.1.
    :param num_samples: S, the number of samples of u in training.
    :param seed: for the process, the network and k-means, an integer from 0 to 2^32 - 1.
    :return: the model, not trained yet.
    :raises ValueError: as :func:`build_vip`.
    :raises TypeError: as :func:`build_vip`.
    :warns UserWarning: as :func:`build_vip`.
    """
    X, Y, likelihood, output_dim, seed = check_start(X, Y, likelihood, seed)
    num_draws = integer("num_draws", num_draws, 2)
    num_inducing = positive_integer("num_inducing", num_inducing)
    if inducing_inputs is not None:
        Z = finite_array("inducing_inputs", inducing_inputs, (None, X.shape[1]))
    else:
        Z = centres(X, num_inducing, seed)
    prior = new_process(process_maker(process), X.shape[1], output_dim, seed, 0)
    V, _ = targets_near(X, Y, Z, likelihood)
    sampler = NoiseNetwork(V.size, noise_dim=noise_dim, widths=widths, mean=V.ravel(), seed=seed)
    posterior = ImplicitInducing(Z, sampler)
    layer = ImplicitLayer(prior, output_dim, posterior, num_draws=num_draws)
    return DeepGP([layer], likelihood, num_data=len(X), num_samples=num_samples)
