"""The most probable weights."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from ..core.random import Seed, as_seed, fold_in, standard_normal
from ..core.validation import positive_integer, positive_number, true_or_false
from ..models import DeepGP
from .anchored import AnchoredJoint
from .log_joint import LogJoint, TargetJoint, joint_of
from .maximise import maximise, starts
from .samples import Samples
from .target import Target, as_target
from .weight_space import WeightSpace


@dataclass(frozen=True, eq=False)
class MapEstimate:
    """A maximum of the posterior density of the whitened weights."""

    model: Samples
    """The network with these weights, for predictions; it has no density and no bound."""

    theta: NDArray[np.floating]
    """The whitened weights, [L]; see :class:`gpflow_gi.inference.WeightSpace`."""

    log_density: float
    """Log p(Y, theta), in nats."""

    gradient_norm: float
    """The largest derivative there in absolute value; zero at a maximum."""

    seconds: float
    """The time taken in seconds, compilation included."""


def map_estimate(
    model: DeepGP | Target,
    data: tuple[Any, Any] | None = None,
    *,
    steps: int = 2000,
    batch_size: int | None = None,
    learning_rate: float = 0.01,
    train_likelihood: bool = False,
    seed: Seed = 0,
) -> MapEstimate:
    """Maximise the posterior density of a network's weights, in whitened coordinates.

    A maximum depends on the coordinates. Here they are z ~ N(0, I) and, for scale priors, log s,
    whose density includes the Jacobian (MacKay 1992, "A practical Bayesian framework for
    backpropagation networks"). The search starts from a draw of the prior; of a target, close to
    zero, with a standard deviation of 0.01.

    :param model: a model of layers of weights and deterministic layers. It is not changed; its
        approximate posteriors and inducing inputs are not used. Or a :class:`Target`, whose own
        coordinates count.
    :param data: X [N, D] and Y [N, Q], all rows that the model was built for; None for a target.
    :param steps: the largest number of steps of L-BFGS, or the number of steps of Adam.
    :param batch_size: rows of a step of Adam; None, or all N of them or more, for L-BFGS on all
        rows. None for a target.
    :param learning_rate: learning rate of Adam: constant for half of the steps, then falling to
        zero.
    :param train_likelihood: True to maximise over parameters of the likelihood too, such as the
        noise variance, and over GPflow's priors on them. Otherwise they stay fixed.
    :param seed: seed of the start and of the minibatches.
    :return: the weights, a model for predictions, and diagnostics.
    :raises TypeError: if `model` is neither a network nor a target.
    :raises ValueError: if a layer has no weights, if the data do not fit the model, are not finite
        or not all of its rows, if a number is invalid, if the density is not finite, or if data,
        rows of a step or a likelihood to train are given for a target.

    >>> from gpflow_gi.architectures import build_bnn
    >>> X = np.linspace(-1.0, 1.0, 20)[:, None]
    >>> network = build_bnn(X, np.sin(X), widths=(5,), num_inducing=5)
    >>> found = map_estimate(network, (X, np.sin(X)), train_likelihood=True)
    >>> bool(found.model.predict_f([[0.5]])[0] > 0.4)
    True
    """
    started = time.perf_counter()
    network, log_joint, theta = search(
        model,
        data,
        1,
        steps=steps,
        batch_size=batch_size,
        learning_rate=learning_rate,
        train_likelihood=train_likelihood,
        seed=as_seed(seed),
    )
    log_density, gradient_norm = log_joint.with_gradient_norm(theta[0])
    return MapEstimate(
        model=Samples(network, theta, num_samples=getattr(model, "num_samples", 1)),
        theta=theta[0].numpy(),
        log_density=log_density,
        gradient_norm=gradient_norm,
        seconds=time.perf_counter() - started,
    )


def search(
    model: DeepGP | Target,
    data: tuple[Any, Any] | None,
    num_starts: int,
    *,
    steps: int,
    batch_size: int | None,
    learning_rate: float,
    train_likelihood: bool,
    seed: tf.Tensor,
    precise: bool = False,
    random_priors: bool = False,
) -> tuple[Any, LogJoint, tf.Tensor]:
    """Check the arguments of :func:`map_estimate`, and maximise from several starts.

    :param num_starts: S, the number of starts.
    :param seed: [2].
    :param precise: see :func:`gpflow_gi.inference.maximise.maximise`.
    :param random_priors: True for a density of its own for each start, see
        :class:`gpflow_gi.inference.anchored.AnchoredJoint`.
    :return: a copy of the network with the learned likelihood, or the target; its log joint
        density; and the maxima [S, L].
    """
    checked = joint_of(model, data)
    steps = positive_integer("steps", steps)
    if batch_size is not None:
        batch_size = positive_integer("batch_size", batch_size)
    learning_rate = positive_number("learning_rate", learning_rate)
    learned = true_or_false("train_likelihood", train_likelihood)
    network: Any
    if isinstance(model, DeepGP):
        network = model.prior_model()
        log_joint = LogJoint(WeightSpace(network), network.likelihood, checked.X, checked.Y)
    else:
        network, log_joint = as_target(model), checked
        if learned or batch_size is not None:
            raise ValueError(
                "A target has no rows and no likelihood to train: leave batch_size and "
                "train_likelihood out."
            )
    start = starts(log_joint, num_starts, fold_in(seed, 0))
    if isinstance(log_joint, TargetJoint):
        # Exactly at zero a symmetric density has no slope, even between two maxima.
        start += 0.01 * standard_normal(start.shape, fold_in(seed, 0), start.dtype)
    anchored = AnchoredJoint(log_joint, num_starts, fold_in(seed, 2)) if random_priors else None
    theta = maximise(
        anchored or log_joint,
        start,
        network.likelihood if learned else None,
        steps=steps,
        batch_size=batch_size,
        learning_rate=learning_rate,
        precise=precise,
        seed=fold_in(seed, 1),
    )
    return network, log_joint, theta
