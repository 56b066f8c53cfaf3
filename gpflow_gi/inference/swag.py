"""SWAG: a Gaussian with the moments of the iterates of stochastic gradient ascent."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from ..core.random import Seed, as_seed, fold_in
from ..core.validation import integer, positive_integer, positive_number
from ..models import DeepGP
from .gaussian import Gaussian
from .log_joint import LogJoint
from .map_estimate import search
from .mixture import Mixture
from .target import Target
from .weight_space import check_network


@dataclass(frozen=True, eq=False)
class Swag:
    """The moments of the iterates of stochastic gradient ascent, as a posterior."""

    model: Gaussian | Mixture
    """The Gaussian of SWAG, or the mixture of MultiSWAG, for bounds and predictions."""

    iterates: NDArray[np.floating]
    """The collected weights, [M, K, L] for M runs of K iterates; see :class:`WeightSpace`."""

    seconds: float
    """The time taken in seconds, compilation included."""


def swag(model: DeepGP, data: tuple[Any, Any], rank: int = 20, **settings: Any) -> Swag:
    """Fit a Gaussian to the iterates of stochastic gradient ascent from a maximum.

    Maddox, Garipov, Izmailov, Vetrov & Wilson (2019), "A simple baseline for Bayesian uncertainty
    in deep learning": the mean of the iterates, and the covariance
    1/2 [diag(variances) + D D^T / (rank - 1)], with D the last `rank` iterates' distances from the
    mean. With rank 0 it is the diagonal Gaussian of the iterates' means and variances (Brack,
    "Approximate inference for Bayesian neural networks", eq. 3.17 and 3.18). The covariance is that
    of the ascent, and grows with the learning rate; on a quadratic density it is its stationary
    covariance.

    :param model: as in :func:`map_estimate`.
    :param data: X [N, D] and Y [N, Q], all rows that the model was built for.
    :param rank: number of columns of D, at least 2; or 0.
    :param settings: the other arguments of :func:`multi_swag` but for `num_members`.
    :return: the posterior, and the iterates.
    :raises TypeError: as :func:`multi_swag`, or if an argument is unknown.
    :raises ValueError: as :func:`multi_swag`.
    """
    return multi_swag(model, data, 1, rank, **settings)


def multi_swag(
    model: DeepGP,
    data: tuple[Any, Any],
    num_members: int = 5,
    rank: int = 20,
    *,
    steps: int = 2000,
    interval: int = 20,
    batch_size: int = 32,
    learning_rate: float = 0.01,
    map_steps: int = 2000,
    seed: Seed = 0,
) -> Swag:
    """Mix the Gaussians of :func:`swag` from several starts.

    Wilson & Izmailov (2020), "Bayesian deep learning and a probabilistic perspective of
    generalization".

    :param model: as in :func:`map_estimate`.
    :param data: X [N, D] and Y [N, Q], all rows that the model was built for.
    :param num_members: M, the number of starts.
    :param rank: as in :func:`swag`.
    :param steps: steps of ascent at a constant rate, from each maximum.
    :param interval: steps from one collected iterate to the next.
    :param batch_size: rows of each step; members see the same minibatches.
    :param learning_rate: rate on the log joint density divided by the number of rows.
    :param map_steps: largest number of steps of L-BFGS for the maxima.
    :param seed: seed of the starts and of the minibatches.
    :return: the posterior, and the iterates.
    :raises TypeError: if `model` is not a DeepGP.
    :raises ValueError: as :func:`map_estimate`; if there are fewer iterates than `rank`; or if the
        ascent diverges.
    """
    started = time.perf_counter()
    check_network(model)
    num_members = positive_integer("num_members", num_members)
    rank = integer("rank", rank, least=0)
    if rank == 1:
        raise ValueError("rank must be 0, or at least 2: one distance has no covariance.")
    steps, interval = positive_integer("steps", steps), positive_integer("interval", interval)
    batch_size = positive_integer("batch_size", batch_size)
    learning_rate = positive_number("learning_rate", learning_rate)
    if steps // interval < max(rank, 2):
        raise ValueError(
            f"rank is {rank}, but {steps} steps with an interval of {interval} give "
            f"{steps // interval} iterates. Take at least {interval * max(rank, 2)} steps, or a "
            "lower rank."
        )
    seed = as_seed(seed)
    network, log_joint, theta = search(
        model,
        data,
        num_members,
        steps=map_steps,
        batch_size=None,
        learning_rate=0.01,
        train_likelihood=False,
        seed=fold_in(seed, 0),
    )
    iterates = _ascent(
        log_joint, theta, steps, interval, batch_size, learning_rate, fold_in(seed, 1)
    )
    if not np.all(np.isfinite(iterates)):
        raise ValueError("The ascent diverges: give swag a lower learning_rate.")
    members = [gaussian_of(network, member, rank) for member in iterates]
    posterior = members[0] if num_members == 1 else Mixture(members)
    return Swag(posterior, iterates, time.perf_counter() - started)


def gaussian_of(model: DeepGP | Target, iterates: NDArray[np.floating], rank: int) -> Gaussian:
    """The Gaussian of SWAG, from iterates [K, L]."""
    mean = iterates.mean(axis=0)
    variances = np.maximum(iterates.var(axis=0), np.finfo(iterates.dtype).tiny)
    if rank == 0:
        return Gaussian(model, mean, diagonal=np.sqrt(variances))
    D = (iterates[-rank:] - mean).T
    # 1/2 [ diag(variances) + D D^T / (rank - 1) ]
    return Gaussian(model, mean, D / math.sqrt(2 * (rank - 1)), np.sqrt(variances / 2))


def _ascent(
    log_joint: LogJoint,
    theta: tf.Tensor,
    steps: int,
    interval: int,
    batch_size: int,
    learning_rate: float,
    seed: tf.Tensor,
) -> NDArray[np.floating]:
    """The weights after every `interval` steps, from [M, L]: [M, K, L]."""
    N = int(log_joint.X.shape[0])

    def take(step: tf.Tensor, theta: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        with tf.GradientTape() as tape:
            tape.watch(theta)
            value = tf.reduce_sum(log_joint.of_minibatch(theta, batch_size, fold_in(seed, step)))
        return step + 1, theta + learning_rate / N * tape.gradient(value, theta)

    @tf.function(autograph=False)
    def run(start: tf.Tensor, theta: tf.Tensor) -> tf.Tensor:
        return tf.while_loop(lambda step, _: step < start + interval, take, (start, theta))[1]

    iterates = []
    for start in range(0, steps - interval + 1, interval):
        theta = run(tf.constant(start), theta)
        iterates.append(theta.numpy())
    return np.stack(iterates, axis=1)
