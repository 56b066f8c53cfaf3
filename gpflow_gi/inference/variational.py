"""Variational inference over all weights, in a family of densities."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import gpflow
import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from ..core.random import Seed, as_seed, fold_in, standard_normal
from ..core.validation import (
    finite_array,
    is_one_of,
    positive_integer,
    positive_number,
    shown,
    true_or_false,
)
from ..models import DeepGP
from .ascent import ascend
from .autoregressive import InverseAutoregressive, NeuralAutoregressive
from .dropout import Dropout
from .flow import Flow
from .flow_steps import FlowStep, Planar, RadialStep
from .gaussian import Gaussian
from .log_joint import joint_of, log_prior_of_trained
from .maximise import starts
from .mixture import Mixture
from .radial import Radial
from .target import Target
from .weight_posterior import WeightPosterior

FLOWS: dict[str, Callable[[int, int, tf.Tensor], FlowStep]] = {
    "planar": lambda size, width, seed: Planar(size, seed),
    "radial-flow": lambda size, width, seed: RadialStep(size, seed),
    "inverse-autoregressive": InverseAutoregressive,
    "neural-autoregressive": lambda size, width, seed: NeuralAutoregressive(size, width, 8, seed),
}
"""Steps of flows by name, as functions of L, the width of hidden layers, and a seed."""

FAMILIES = ("mean-field", "full-rank", "low-rank", "radial", *FLOWS, "dropout")
"""Families of posteriors over all weights."""


@dataclass(frozen=True, eq=False)
class Variational:
    """A posterior that was found by maximising its bound."""

    model: WeightPosterior
    """The posterior, for bounds and predictions."""

    objective: NDArray[np.floating]
    """The estimate of the bound in each step, [steps], in nats, with the log density of GPflow's
    priors on trained parameters. For dropout, whose entropy does not exist, the expected log joint
    density."""

    seconds: float
    """The time taken in seconds, compilation included."""


def variational(
    model: DeepGP | Target,
    data: tuple[Any, Any] | None = None,
    family: str | Sequence[str] = "mean-field",
    *,
    steps: int = 2000,
    num_samples: int = 10,
    batch_size: int | None = None,
    learning_rate: float = 0.02,
    rank: int = 10,
    flow_steps: int = 4,
    width: int = 64,
    dropout_rate: float = 0.1,
    train_likelihood: bool = False,
    start: Any = None,
    seed: Seed = 0,
) -> Variational:
    """Maximise the evidence lower bound over a family of densities of all weights.

    Families: "mean-field", "full-rank" and "low-rank" (a factor of `rank` columns and a diagonal)
    are Gaussians (:class:`Gaussian`); "radial" is :class:`Radial`; "planar", "radial-flow"
    (Rezende & Mohamed 2015), "inverse-autoregressive" (Kingma et al. 2016) and
    "neural-autoregressive" (Huang et al. 2018) are flows of `flow_steps` steps with a layer
    mean + scale z on top (:class:`Flow`); "dropout" is :class:`Dropout`. A list of families is an
    equal-weight mixture of them (:class:`Mixture`), whose members need a density at every theta.

    :param model: as in :func:`map_estimate`, or a :class:`Target`, or an object with `size`,
        `log_prob` and optionally `log_likelihood`. It is not changed.
    :param data: X [N, D] and Y [N, Q], all rows that the model was built for; None for a target.
    :param family: one of these names, or a list of them.
    :param steps: number of steps of Adam.
    :param num_samples: S, samples of the bound in each step.
    :param batch_size: rows of each step; None for all.
    :param learning_rate: learning rate: constant for half of the steps, then falling to zero.
    :param rank: number of columns of the factor of "low-rank".
    :param flow_steps: K, the number of steps of a flow.
    :param width: units of each hidden layer of an autoregressive flow. With fewer than
        L - 1 units for L coordinates, neighbours form groups of about L / width, whose members
        depend on the coordinates before the group, and not on each other.
    :param dropout_rate: probability that "dropout" sets a unit to zero.
    :param train_likelihood: True to maximise over parameters of the likelihood too, such as the
        noise variance, and over GPflow's priors on them. Otherwise they stay fixed.
    :param start: mean of the posterior at the start, [L]. A draw from the prior by default, and
        zeros for a target.
    :param seed: seed of the start, the samples and the minibatches.
    :return: the posterior, and the bound during training.
    :raises TypeError: if `model` is neither a network nor a target.
    :raises ValueError: if a layer has no weights; if the data do not fit the model, are not finite
        or not all of its rows; if there is no such family; if a number is invalid; or if the bound
        is not finite.

    >>> target = Target(2, lambda theta: -0.5 * tf.reduce_sum((theta - 1.0) ** 2, axis=-1))
    >>> found = variational(target, family="mean-field", steps=500)
    >>> bool(abs(found.model.elbo(None, 10) - np.log(2 * np.pi)) < 0.1)
    True
    """
    started = time.perf_counter()
    steps = positive_integer("steps", steps)
    S = positive_integer("num_samples", num_samples)
    learning_rate = positive_number("learning_rate", learning_rate)
    if batch_size is not None:
        batch_size = positive_integer("batch_size", batch_size)
    sizes = {
        "rank": positive_integer("rank", rank),
        "flow_steps": positive_integer("flow_steps", flow_steps),
        "width": positive_integer("width", width),
        "rate": dropout_rate,
    }
    _check_family(family)
    seed = as_seed(seed)
    log_joint = joint_of(model, data)
    if start is None:
        start = starts(log_joint, 1, fold_in(seed, 0))[0].numpy()
    mean = finite_array("start", start, (log_joint.space.size,))
    members = [family] if isinstance(family, str) else list(family)
    q = _posterior(model, members, mean, sizes, fold_in(seed, 1))
    q.num_samples = S
    log_joint = joint_of(q.network, data)
    learned = true_or_false("train_likelihood", train_likelihood) and not q.is_of_target
    trained = q.network.likelihood if learned else None
    variables = q.own_variables
    if trained is not None:
        variables += trained.trainable_variables

    def bound(step: tf.Tensor) -> tf.Tensor:
        own = fold_in(fold_in(seed, 2), step)
        theta, log_q = q.sample(S, fold_in(own, 0))
        # E_q [log p(Y, theta) - log q(theta)]
        values = log_joint.of_minibatch(theta, batch_size, fold_in(own, 1))
        return tf.reduce_mean(values if log_q is None else values - log_q)

    def penalised(step: tf.Tensor) -> tf.Tensor:
        return bound(step) + log_prior_of_trained(trained)

    objective = ascend(penalised, variables, steps=steps, learning_rate=learning_rate).numpy()
    if not np.all(np.isfinite(objective)):
        first = int(np.argmin(np.isfinite(objective))) + 1
        raise ValueError(
            f"The bound is NaN or infinite at step {first}. Lower the learning rate, or "
            "standardise the data."
        )
    return Variational(q, objective, time.perf_counter() - started)


def _check_family(family: Any) -> None:
    members = [family] if isinstance(family, str) else family
    if not isinstance(members, Sequence) or not members:
        raise ValueError(f"family must be a name or a list of names, but is {shown(family)}.")
    for member in members:
        if not is_one_of(member, FAMILIES):
            raise ValueError(
                f"family must be one of {', '.join(FAMILIES)}, but is {shown(member)}."
            )


def _posterior(
    model: Any,
    members: list[str],
    mean: NDArray[np.floating],
    sizes: dict[str, Any],
    seed: tf.Tensor,
) -> WeightPosterior:
    if len(members) == 1:
        return _member(model, members[0], mean, sizes, seed)
    components = []
    for i, member in enumerate(members):
        own = fold_in(seed, i)
        # Apart from each other, or they would stay the same.
        moved = mean + standard_normal(mean.shape, fold_in(own, 0), mean.dtype).numpy()
        component = _member(model, member, moved, sizes, fold_in(own, 1))
        if isinstance(component, (Flow, Dropout)):
            raise ValueError(f"{member} cannot be in a mixture: {component.why_no_density()}")
        components.append(component)
    return Mixture(components)


_SCALE = 0.1
"""Standard deviations at the start."""


def _member(
    model: Any, family: str, mean: NDArray[np.floating], sizes: dict[str, Any], seed: tf.Tensor
) -> WeightPosterior:
    L = len(mean)
    scale = np.full(L, _SCALE)
    if family == "mean-field":
        return Gaussian(model, mean, diagonal=scale)
    if family == "full-rank":
        return Gaussian(model, mean, _SCALE * np.eye(L))
    if family == "low-rank":
        root = standard_normal([L, min(sizes["rank"], L)], seed, gpflow.default_float())
        return Gaussian(model, mean, 0.1 * _SCALE * root.numpy(), scale)
    if family == "radial":
        return Radial(model, mean, scale)
    if family == "dropout":
        return Dropout(model, mean, sizes["rate"])
    new_step = FLOWS[family]
    steps = [new_step(L, sizes["width"], fold_in(seed, k)) for k in range(sizes["flow_steps"])]
    return Flow(model, mean, scale, steps)
