"""Samples from the exact posterior of the weights: :func:`nuts`."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any

import gpflow
import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp
from numpy.typing import NDArray

from ..core.random import Seed, as_seed, fold_in, standard_normal
from ..core.validation import finite_array, positive_integer, positive_number
from ..models import DeepGP
from ..priors import ScalePrior
from .chain_target import joint_distribution
from .convergence import LARGEST_R_HAT, LEAST_EFFECTIVE_SAMPLES, Convergence
from .log_joint import LogJoint, TargetJoint, joint_of
from .maximise import starts
from .samples import Samples
from .target import Target

Array = NDArray[np.floating]

MOST_WEIGHTS = 10_000
"""Largest number of weights without a warning before sampling."""

_MOST_ROWS = 1000
"""Largest number of rows of the data at which function values are monitored."""

_CHUNK_SIZE = 4_000_000
"""Size of the largest array of one chunk of draws, in numbers, for function values."""


@dataclass(frozen=True, eq=False)
class NutsResult:
    """Draws from the posterior of a network's weights, and convergence diagnostics.

    The convergence of weights is not measured: hidden units can be exchanged, and with an odd
    nonlinearity their signs too, without a change of the function. Chains in different copies of
    the same mode would seem to disagree although all their predictions agree. R-hat and effective
    sample sizes are therefore those of identified quantities: ``"f"``, the function values at the
    data (at 1,000 evenly spread rows if there are more) and at further inputs if given, [rows, P];
    ``"log density"``, []; and ``"s of layer i"``, [], for a layer with a ScalePrior, or
    ``"prior of layer i"``, [E], for a layer whose prior has other coordinates. Of a target they are
    ``"theta"``, [L], and ``"log density"``.

    Shapes: T draws in all, chain after chain; K weights to each of P outputs of a layer.
    """

    model: Samples
    """The draws as a posterior over all weights, for predictions; it has no bound."""

    weights: dict[Any, Array]
    """Weights [T, K, P] of each layer, by its position in the network's ``layers``; for a block as
    in
    :class:`gpflow_gi.inference.WeightSpace`. In a dense layer the last of the K is the bias."""

    scales: dict[Any, Array]
    """The scale s of each ScalePrior, [T], by the position of its layer."""

    log_density: Array
    """Log p(Y, z, log s) of each draw, [T], in nats, where z are the weights in units of their
    prior standard deviation."""

    num_chains: int
    """Number of chains."""

    num_draws: int
    """Number of draws of each chain."""

    convergence: Convergence
    """The values of `r_hat` and `effective_sample_size`."""

    divergences: int
    """Number of transitions that ended early because the energy error was too large."""

    acceptance: float
    """The mean acceptance probability along the trajectories."""

    step_size: float
    """Mean step size over the draws, in units of the adapted scale of each coordinate."""

    leapfrog_steps: float
    """Mean number of gradients per draw."""

    seconds: float
    """The time taken in seconds, compilation included."""

    @property
    def r_hat(self) -> dict[str, Array]:
        """Split R-hat of the identified quantities (see above); near 1 if chains agree.

        Brooks & Gelman 1998, with each chain split into halves.
        """
        return self.convergence.r_hat

    @property
    def effective_sample_size(self) -> dict[str, Array]:
        """Effective sample size of the identified quantities, all chains together (Geyer 1992)."""
        return self.convergence.effective_sample_size


def nuts(
    model: DeepGP | Target,
    data: tuple[Any, Any] | None = None,
    *,
    num_draws: int = 1000,
    num_chains: int = 4,
    num_adaptation_steps: int = 500,
    max_tree_depth: int = 10,
    target_acceptance: float = 0.8,
    inputs: Any = None,
    jit_compile: bool = True,
    seed: Seed = 0,
) -> NutsResult:
    """Draw the weights of a Bayesian neural network from their exact posterior.

    The No-U-Turn sampler (Hoffman & Gelman 2014) with Stan's windowed adaptation of the step size
    and of a diagonal mass matrix, as implemented in TensorFlow Probability
    (``tfp.experimental.mcmc.windowed_adaptive_nuts``). It is for small networks: it needs a few
    hundred thousand gradients of all the data. Chains start from independent draws of the prior.
    The whole run is one compiled call, which shows no progress.

    It samples the model given by the layers, their priors and the likelihood, with constants
    (noise, learned scales of priors, weights of Keras layers) at their present values. Approximate
    posteriors and inducing inputs are not used.

    :param model: a model of layers of weights, blocks of them and deterministic layers, or a
        :class:`Target`. It is not changed.
    :param data: X [N, D] and Y [N, Q], all rows that the model was built for; None for a target.
    :param num_draws: number of draws of each chain; at least 4.
    :param num_chains: number of chains. They run side by side in one compiled step, which takes as
        long as the longest of their trajectories.
    :param num_adaptation_steps: number of steps of each chain before the draws.
    :param max_tree_depth: trajectories have fewer than 2^max_tree_depth gradients. If all of them
        reach the limit (see ``leapfrog_steps``), the draws are still exact, and a smaller depth may
        be more efficient.
    :param target_acceptance: target of the step size's adaptation: the acceptance probability, as
        a harmonic mean over chains. Closer to 1 means smaller steps.
    :param inputs: [N*, D], further inputs at which convergence is monitored, such as a grid: chains
        agree sooner at the data than between them.
    :param jit_compile: compile with XLA. That takes some tens of seconds, and makes each gradient
        several times faster: a trajectory is a loop of hundreds of small operations.
    :param seed: seed of the starts and of the transitions: an integer or a pair of integers.
    :return: a new model with the draws, and diagnostics.
    :raises TypeError: if `model` is not a DeepGP.
    :raises ValueError: if a layer has no weights to sample or an unknown prior, if the likelihood
        is a step function or not finite at the data, if the data do not fit the model, are not
        finite or not all of its rows, if an argument has an invalid value, or if XLA cannot
        compile the model.
    :warns UserWarning: beforehand, if there are more than 10,000 weights; afterwards, if R-hat
        is above 1.05, if an effective sample size is below 100, or if trajectories diverged.
    """
    density = joint_of(model, data)
    num_draws = positive_integer("num_draws", num_draws)
    if num_draws < 4:
        raise ValueError(
            f"num_draws must be at least 4, but is {num_draws}: R-hat compares halves of chains."
        )
    num_chains = positive_integer("num_chains", num_chains)
    num_adaptation_steps = positive_integer("num_adaptation_steps", num_adaptation_steps)
    max_tree_depth = positive_integer("max_tree_depth", max_tree_depth)
    target_acceptance = positive_number("target_acceptance", target_acceptance)
    if target_acceptance >= 1:
        raise ValueError(f"target_acceptance must be below 1, but is {target_acceptance}.")
    seed = as_seed(seed)
    watched = _watched(model, density, inputs)
    size = density.space.size
    if size > MOST_WEIGHTS:
        states_bytes = size * gpflow.default_float()().nbytes
        warnings.warn(
            f"The model has {size:,} weights. NUTS is meant for up to about "
            f"{MOST_WEIGHTS:,}: with more, chains take very long to agree, and the draws alone "
            f"take {num_chains * num_draws * states_bytes / 1e9:.1f} GB. Make the "
            "layers narrower, or train the model with gpflow_gi.fit instead.",
            stacklevel=2,
        )

    started = time.perf_counter()
    states = starts(density, num_chains, fold_in(seed, 0))
    if isinstance(density, TargetJoint):
        states += standard_normal(states.shape, fold_in(seed, 0), states.dtype)
    draws = _sample(
        density,
        states,
        num_draws=num_draws,
        num_adaptation_steps=num_adaptation_steps,
        max_tree_depth=max_tree_depth,
        target_acceptance=target_acceptance,
        jit_compile=jit_compile,
        seed=fold_in(seed, 1),
    )
    result = _result(model, density, draws, watched, started)
    for message in _complaints(result, num_adaptation_steps, target_acceptance):
        warnings.warn(message, stacklevel=2)
    return result


def _watched(model: Any, density: LogJoint, inputs: Any) -> tf.Tensor | None:
    """The rows at which function values are monitored; None for a target."""
    if isinstance(density, TargetJoint):
        if inputs is not None:
            raise ValueError("inputs are for a network: a target has no functions. Leave them out.")
        return None
    watched = _spread(density.X)
    if inputs is None:
        return watched
    inputs = model.check_inputs(finite_array("inputs", inputs, (None, None)))
    return tf.concat([watched, inputs], axis=0)


def _spread(X: tf.Tensor) -> tf.Tensor:
    """Rows of `X`, spread evenly over it; all rows if there are not too many."""
    num_rows = min(int(X.shape[0]), _MOST_ROWS)
    return tf.gather(X, ((np.arange(num_rows) + 0.5) * X.shape[0] / num_rows).astype(int))


# ---------------------------------------------------------------------------------------- sampling


@dataclass(frozen=True)
class _Draws:
    """The record of the chains."""

    states: Array
    """Samples of theta, [C, T / C, L]."""

    log_density: Array
    acceptance: Array
    diverged: NDArray[np.bool_]
    leapfrog_steps: Array
    step_size: Array
    """Records of the sampler, all [C, T / C]."""


def _sample(
    density: LogJoint,
    states: tf.Tensor,
    *,
    num_draws: int,
    num_adaptation_steps: int,
    max_tree_depth: int,
    target_acceptance: float,
    jit_compile: bool,
    seed: tf.Tensor,
) -> _Draws:
    """Run the chains from `states`, [C, L]."""
    joint = joint_distribution(density)

    @tf.function(jit_compile=jit_compile, autograph=False)
    def sample(states: tf.Tensor, seed: tf.Tensor) -> Any:
        return tfp.experimental.mcmc.windowed_adaptive_nuts(
            num_draws,
            joint,
            n_chains=[states.shape[0]],
            num_adaptation_steps=num_adaptation_steps,
            current_state={"states": states},
            dual_averaging_kwargs={"target_accept_prob": target_acceptance},
            max_tree_depth=max_tree_depth,
            seed=seed,
            data=tf.zeros([], states.dtype),
        )

    try:
        drawn, trace = sample(states, seed)
    except tf.errors.OpError as error:
        if not jit_compile:
            raise
        reason = str(error.message).splitlines()[0]
        raise ValueError(
            f"XLA cannot compile the model; pass jit_compile=False, which is slower. ({reason})"
        ) from None
    shape = (num_draws, states.shape[0])

    def chain_after_chain(values: tf.Tensor) -> Any:
        # Values that all chains share have no axis for chains.
        values = values.numpy().reshape(num_draws, -1)
        return np.broadcast_to(values, shape).T

    return _Draws(
        states=np.swapaxes(drawn["states"].numpy(), 0, 1),
        log_density=chain_after_chain(trace["target_log_prob"]),
        acceptance=chain_after_chain(trace["accept_ratio"]),
        diverged=chain_after_chain(trace["diverging"]),
        leapfrog_steps=chain_after_chain(trace["n_steps"]),
        step_size=chain_after_chain(trace["step_size"]),
    )


# ------------------------------------------------------------------------------------------ result


def _result(
    model: DeepGP | Target,
    density: LogJoint,
    draws: _Draws,
    watched: tf.Tensor | None,
    started: float,
) -> NutsResult:
    num_chains, num_draws, size = draws.states.shape
    # Chain after chain: samples of the model are spread evenly over the record, so over the chains.
    states = tf.constant(draws.states.reshape(-1, size))
    coordinates = {} if watched is None else density.space.coordinates
    weights = {place: layer.weights(states).numpy() for place, layer in coordinates.items()}
    log_density = draws.log_density.ravel()
    quantities = {"log density": log_density}
    if watched is None:
        quantities["theta"] = states.numpy()
    else:
        quantities["f"] = _function_values(density, states, watched)
    scales = {}
    for place, layer in coordinates.items():
        number = place + 1 if isinstance(place, int) else place
        if isinstance(layer.prior, ScalePrior):
            scales[place] = np.exp(layer.eta(states)[:, 0].numpy())
            # The logarithm of s, since s has a long tail.
            quantities[f"s of layer {number}"] = np.log(scales[place])
        elif layer.num_coordinates:
            quantities[f"prior of layer {number}"] = layer.eta(states).numpy()
    return NutsResult(
        model=Samples(model, states, num_samples=getattr(model, "num_samples", 1)),
        weights=weights,
        scales=scales,
        log_density=log_density,
        num_chains=num_chains,
        num_draws=num_draws,
        convergence=Convergence.of(quantities, num_chains),
        divergences=int(draws.diverged.sum()),
        acceptance=float(draws.acceptance.mean()),
        step_size=float(draws.step_size.mean()),
        leapfrog_steps=float(draws.leapfrog_steps.mean()),
        seconds=time.perf_counter() - started,
    )


def _function_values(density: LogJoint, states: tf.Tensor, X: tf.Tensor) -> Array:
    """Compute f for each draw, [T, N, P]."""
    width = max(max(layer.shape) for layer in density.space.coordinates.values())
    chunk = max(1, _CHUNK_SIZE // (int(X.shape[0]) * width))
    parts = [
        density.space.functions(states[start : start + chunk], X).numpy()
        for start in range(0, states.shape[0], chunk)
    ]
    return np.concatenate(parts)


def _complaints(
    result: NutsResult, num_adaptation_steps: int, target_acceptance: float
) -> list[str]:
    """Warnings about the draws, in sentences."""
    complaints = []
    total = result.num_chains * result.num_draws
    longer = (
        f"Take more draws (num_draws is {result.num_draws}), adapt for longer "
        f"(num_adaptation_steps is {num_adaptation_steps}), or make the network smaller."
    )
    r_hat, name = result.convergence.worst_r_hat()
    if r_hat > LARGEST_R_HAT:
        complaints.append(
            f"The chains do not agree: the largest R-hat, of {name}, is {r_hat:.3f}, above "
            f"{LARGEST_R_HAT} (the strict standard is 1.01). What they say of the posterior may be "
            f"wrong. {longer}"
        )
    size, name = result.convergence.worst_effective_sample_size()
    if size < LEAST_EFFECTIVE_SAMPLES:
        complaints.append(
            f"The {total} draws are worth few independent ones: the smallest effective sample "
            f"size, of {name}, is {size:.0f}, below {LEAST_EFFECTIVE_SAMPLES}. Posterior means "
            f"have an error of {1 / max(size, 1) ** 0.5:.0%} of the posterior standard deviation "
            f"or more. {longer}"
        )
    if result.divergences:
        complaints.append(
            f"{result.divergences} of {total} transitions diverged: where the posterior is sharply "
            "curved the steps are too large, and the draws may leave such places out. Raise "
            f"target_acceptance (it is {target_acceptance:g}) towards 1."
        )
    return complaints
