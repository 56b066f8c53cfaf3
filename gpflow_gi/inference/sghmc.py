"""Markov chains with gradients from minibatches."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from ..core.random import Seed, as_seed, fold_in, standard_normal
from ..core.validation import integer, positive_integer, positive_number
from ..models import DeepGP
from .log_joint import LogJoint, joint_of
from .map_estimate import search
from .maximise import starts
from .samples import Samples


@dataclass(frozen=True, eq=False)
class MinibatchChains:
    """Draws of chains with gradients from minibatches."""

    model: Samples
    """The draws as a posterior, for predictions; it has no density and no bound."""

    theta: NDArray[np.floating]
    """The draws, [C, T, L] for C chains; see :class:`gpflow_gi.inference.WeightSpace`."""

    seconds: float
    """The time taken in seconds, compilation included."""


def sghmc(
    model: DeepGP,
    data: tuple[Any, Any],
    *,
    num_draws: int = 100,
    num_chains: int = 1,
    steps: int = 10_000,
    batch_size: int | None = 32,
    learning_rate: float = 1e-3,
    friction: float = 0.1,
    cycles: int = 4,
    map_steps: int = 0,
    seed: Seed = 0,
) -> MinibatchChains:
    """Draw weights by stochastic gradient Hamiltonian Monte Carlo.

    Chen, Fox & Guestrin (2014), eq. (15) without an estimate of the gradients' noise: velocities
    v <- (1 - friction) v + eta g + sqrt(2 friction eta) eps, and theta <- theta + v, with g an
    unbiased estimate of the gradient of log p(Y, theta). Steps are cyclical (Zhang et al. 2020):
    in each cycle eta falls from `learning_rate` / N to zero by a cosine, and draws are taken in the
    second half. No proposal is rejected, so that draws are biased by an amount that vanishes with
    the learning rate only.

    :param model: as in :func:`map_estimate`.
    :param data: X [N, D] and Y [N, Q], all rows that the model was built for.
    :param num_draws: T, the draws of each chain.
    :param num_chains: C, chains side by side, from as many draws of the prior.
    :param steps: number of steps of each chain.
    :param batch_size: rows of each step; None for all.
    :param learning_rate: eta times N at the start of a cycle.
    :param friction: in (0, 1]; 1 is stochastic gradient Langevin dynamics.
    :param cycles: number of cycles. 0 for a constant eta, with draws from the second half of the
        steps.
    :param map_steps: largest number of steps of L-BFGS from each start to a maximum of the density,
        where its chain then begins; 0 to begin at the start. Where the noise is small, so are the
        stable learning rates, and chains need very many steps to find a mode by themselves.
    :param seed: seed of the starts, the minibatches and the noise.
    :return: the draws, and a model for predictions.
    :raises TypeError: if `model` is not a DeepGP.
    :raises ValueError: as :func:`map_estimate`; if `friction` is not in (0, 1]; if there are fewer
        steps to draw from than draws; or if the chains diverge.
    """
    started = time.perf_counter()
    T, C = positive_integer("num_draws", num_draws), positive_integer("num_chains", num_chains)
    steps, cycles = positive_integer("steps", steps), integer("cycles", cycles, least=0)
    map_steps = integer("map_steps", map_steps, least=0)
    if batch_size is not None:
        batch_size = positive_integer("batch_size", batch_size)
    learning_rate = positive_number("learning_rate", learning_rate)
    friction = check_friction(friction)
    at = _times_of_draws(steps, T, cycles)
    seed = as_seed(seed)
    log_joint = joint_of(model, data)
    N = model.num_data if isinstance(model, DeepGP) else 1
    theta = _run(
        log_joint,
        _starts(model, data, log_joint, C, map_steps, fold_in(seed, 0)),
        at,
        batch_size,
        lambda step: learning_rate / N * _cosine(step, steps, cycles),
        friction,
        fold_in(seed, 1),
    )
    if not np.all(np.isfinite(theta)):
        raise ValueError("The chains diverge: give a lower learning_rate.")
    samples = Samples(model, theta.reshape([-1, theta.shape[-1]]))
    return MinibatchChains(samples, theta, time.perf_counter() - started)


def sgld(model: DeepGP, data: tuple[Any, Any], **settings: Any) -> MinibatchChains:
    """Draw weights by stochastic gradient Langevin dynamics (Welling & Teh 2011).

    :func:`sghmc` with a friction of 1, in which velocities are forgotten at once.

    :param model: as in :func:`sghmc`.
    :param data: as in :func:`sghmc`.
    :param settings: the other arguments of :func:`sghmc` but for `friction`.
    :return: as :func:`sghmc`.
    :raises TypeError: as :func:`sghmc`, or if an argument is unknown.
    :raises ValueError: as :func:`sghmc`.
    """
    return sghmc(model, data, **settings, friction=1.0)


def _starts(
    model: DeepGP,
    data: tuple[Any, Any],
    log_joint: LogJoint,
    num_chains: int,
    map_steps: int,
    seed: tf.Tensor,
) -> tf.Tensor:
    """Draws from the prior, or the maxima that are found from them: [C, L]."""
    if not map_steps:
        return starts(log_joint, num_chains, seed)
    _, _, theta = search(
        model,
        data,
        num_chains,
        steps=map_steps,
        batch_size=None,
        learning_rate=0.01,
        train_likelihood=False,
        seed=seed,
    )
    return theta


def check_friction(friction: Any) -> float:
    """Return the friction after checking that it is in (0, 1].

    :raises ValueError: if it is not.
    """
    friction = positive_number("friction", friction)
    if friction > 1.0:
        raise ValueError(f"friction must be at most 1, but is {friction:g}.")
    return friction


def _cosine(step: tf.Tensor, steps: int, cycles: int) -> tf.Tensor:
    """The share of the learning rate at a step, from 1 to 0 in each cycle."""
    if cycles == 0:
        return tf.ones([], tf.float64)
    length = -(-steps // cycles)
    return 0.5 * (tf.cos(math.pi * tf.cast(step % length, tf.float64) / length) + 1.0)


def _times_of_draws(steps: int, num_draws: int, cycles: int) -> NDArray[np.int64]:
    """The steps after which weights are drawn, from the second half of each cycle: [T]."""
    length = -(-steps // max(cycles, 1))
    allowed = np.flatnonzero(np.arange(steps) % length >= length // 2)
    if len(allowed) < num_draws:
        raise ValueError(
            f"num_draws is {num_draws}, but only {len(allowed)} of {steps} steps are in the second "
            "half of a cycle. Take more steps, or fewer draws."
        )
    return allowed[np.linspace(0, len(allowed) - 1, num_draws).astype(int)] + 1


def _run(
    log_joint: LogJoint,
    theta: tf.Tensor,
    at: NDArray[np.int64],
    batch_size: int | None,
    rate: Any,
    friction: float,
    seed: tf.Tensor,
) -> NDArray[np.floating]:
    """The weights after the steps `at`, from [C, L]: [C, T, L]."""

    def take(
        step: tf.Tensor, theta: tf.Tensor, velocity: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        own = fold_in(seed, step)
        with tf.GradientTape() as tape:
            tape.watch(theta)
            value = tf.reduce_sum(log_joint.of_minibatch(theta, batch_size, fold_in(own, 0)))
        eta = tf.cast(rate(step), theta.dtype)
        noise = standard_normal(tf.shape(theta), fold_in(own, 1), theta.dtype)
        velocity *= 1.0 - friction
        velocity += eta * tape.gradient(value, theta) + tf.sqrt(2.0 * friction * eta) * noise
        return step + 1, theta + velocity, velocity

    @tf.function(autograph=False)
    def run(step: tf.Tensor, stop: tf.Tensor, *state: tf.Tensor) -> tuple[tf.Tensor, ...]:
        return tf.while_loop(lambda step, *_: step < stop, take, (step, *state))

    draws = []
    state = tf.constant(0), theta, tf.zeros_like(theta)
    for stop in at:
        state = run(state[0], tf.constant(int(stop)), *state[1:])
        draws.append(state[1].numpy())
    return np.stack(draws, axis=1)
