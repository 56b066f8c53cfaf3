"""The log evidence of a network or a target by annealed importance sampling."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gpflow
import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp

from ..core.estimate import Estimate
from ..core.random import Seed, as_seed, fold_in
from ..core.validation import integer, positive_integer, shown
from ..models import DeepGP
from .gaussian import DensityPosterior
from .log_joint import LogJoint, TargetJoint, joint_of
from .target import Target

_ACCEPTED = 0.7
"""Share of accepted proposals that step sizes are chosen for."""


def annealed_evidence(
    model: DeepGP | Target,
    data: tuple[Any, Any] | None,
    *,
    start: DensityPosterior | None = None,
    num_temperatures: int = 200,
    num_chains: int = 100,
    num_leapfrog: int = 10,
    seed: Seed = 0,
) -> Estimate:
    """Estimate the log evidence by annealed importance sampling, from the prior to the posterior.

    Neal (2001), "Annealed importance sampling". Chains follow p(theta) p(Y | theta)^beta_t, or with
    `start` q(theta)^(1 - beta_t) p(Y, theta)^beta_t, with beta_t = (t / T)^4, by one step of
    Hamiltonian Monte Carlo at each temperature. The step sizes come from chains of their own, so
    that the estimate of the evidence is unbiased and that of its log is below it on average.

    The error is small if the standard deviation of the chains' log weights is about one or less;
    more temperatures reduce it.

    :param model: a network; see :class:`gpflow_gi.inference.WeightSpace`. Its approximate
        posteriors are not used. With implicit layers the evidence is that of Gaussian processes
        with the moments of their draws, whatever the posterior. Or a target.
    :param data: X [N, D] and Y [N, Q], all rows that the model was built for; None for a target.
    :param start: the distribution q to begin with, such as the model of
        :func:`gpflow_gi.inference.variational`; it should be wider than the posterior rather than
        narrower. None: the prior of a network. A target needs it.
    :param num_temperatures: T, the number of temperatures after that of the start.
    :param num_chains: C, the number of chains.
    :param num_leapfrog: leapfrog steps of each proposal.
    :param seed: seed of the chains.
    :return: log p(Y) in nats, and its standard error by the delta method, from the spread of the
        chains' weights.
    :raises TypeError: if `model` is neither a DeepGP nor a target, or `start` has no density.
    :raises ValueError: as :func:`gpflow_gi.inference.map_estimate`, or if a number is not positive,
        there are fewer than two chains, or `start` has another number of weights, or is missing
        for a target.
    """
    log_joint = joint_of(model, data)
    _check_start(start, log_joint)
    T, C = (
        positive_integer("num_temperatures", num_temperatures),
        integer("num_chains", num_chains, 2),
    )
    steps = positive_integer("num_leapfrog", num_leapfrog)
    seed = as_seed(seed)
    dtype = gpflow.default_float()
    at_first: Callable[[tf.Tensor], tf.Tensor]
    ratio: Callable[[tf.Tensor], tf.Tensor]
    if start is None:
        at_first, ratio = log_joint.space.log_prior, log_joint.log_likelihood
    else:
        at_first = start.log_density

        def ratio(theta: tf.Tensor) -> tf.Tensor:
            return log_joint(theta) - at_first(theta)

    def draw(number: int, own: tf.Tensor) -> tf.Tensor:
        """From the prior or q, [number, L]."""
        if start is None:
            return log_joint.space.draw_prior(number, own)
        return tf.stop_gradient(start.sample(number, own)[0])

    beta = tf.constant((np.arange(T + 1) / T) ** 4, dtype)

    def move(
        theta: tf.Tensor, t: tf.Tensor, step_size: tf.Tensor, own: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """One step at temperature t, and the share of the chains that accepted it."""

        def log_density(theta: tf.Tensor) -> tf.Tensor:
            return at_first(theta) + beta[t] * ratio(theta)

        kernel = tfp.mcmc.HamiltonianMonteCarlo(log_density, step_size, steps)
        theta, results = kernel.one_step(theta, kernel.bootstrap_results(theta), seed=own)
        return theta, tf.reduce_mean(tf.cast(results.is_accepted, dtype))

    @tf.function(autograph=False)
    def tune(theta: tf.Tensor) -> tf.Tensor:
        """Step sizes, [T + 1]."""

        def at(
            t: tf.Tensor, theta: tf.Tensor, size: tf.Tensor, sizes: tf.TensorArray
        ) -> tuple[tf.Tensor, ...]:
            for i in range(2):
                own = fold_in(fold_in(fold_in(seed, 1), t), i)
                theta, accepted = move(theta, t, size, own)
                size *= tf.exp(0.5 * (accepted - _ACCEPTED))
            return t + 1, theta, size, sizes.write(t, size)

        sizes = tf.TensorArray(dtype, T + 1, element_shape=[])
        first = tf.constant(0.5 / log_joint.space.size**0.25, dtype)
        state = (tf.constant(1), theta, first, sizes.write(0, first))
        return tf.while_loop(lambda t, *_: t <= T, at, state)[3].stack()

    @tf.function(autograph=False)
    def anneal(theta: tf.Tensor, sizes: tf.Tensor) -> tf.Tensor:
        """Log weights, [C]."""

        def at(t: tf.Tensor, theta: tf.Tensor, log_w: tf.Tensor) -> tuple[tf.Tensor, ...]:
            # sum_t (beta_t - beta_(t-1)) log p(Y, theta_(t-1)) / q(theta_(t-1))
            log_w += (beta[t] - beta[t - 1]) * ratio(theta)
            theta, _ = move(theta, t, sizes[t], fold_in(fold_in(seed, 3), t))
            return t + 1, theta, log_w

        state = (tf.constant(1), theta, tf.zeros([C], dtype))
        return tf.while_loop(lambda t, *_: t <= T, at, state)[2]

    sizes = tune(draw(max(C // 4, 10), fold_in(seed, 0)))
    log_w = anneal(draw(C, fold_in(seed, 2)), sizes).numpy()
    if not np.all(np.isfinite(log_w)):
        raise ValueError(
            "A log weight is NaN or infinite: check that the data are standardised, and that the "
            "likelihood can have the values in Y."
        )
    w = np.exp(log_w - log_w.max())
    # log mean w, and the error of a log: sd(w) / (mean(w) sqrt(C))
    error = w.std(ddof=1) / (w.mean() * np.sqrt(C))
    return Estimate(float(log_w.max() + np.log(w.mean())), float(error))


def _check_start(start: Any, log_joint: LogJoint) -> None:
    if start is None:
        if isinstance(log_joint, TargetJoint):
            raise ValueError(
                "A target has no prior to draw from: give start, such as "
                "gpflow_gi.inference.variational(target, None).model."
            )
        return
    if not isinstance(start, DensityPosterior) or not start.has_density:
        raise TypeError(
            f"start must be a posterior over weights with a density, not {shown(start)}."
        )
    size = int(start.sample(1, as_seed(0))[0].shape[1])
    if size != log_joint.space.size:
        raise ValueError(
            f"start is a distribution of {size} weights, but the model has {log_joint.space.size}."
        )
