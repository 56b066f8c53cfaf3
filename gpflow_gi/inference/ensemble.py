"""Deep ensembles: maxima of the posterior density from several starts."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.random import Seed, as_seed
from ..core.validation import positive_integer, true_or_false
from ..models import DeepGP
from .map_estimate import search
from .samples import Samples
from .weight_space import check_network


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Networks at several maxima of the posterior density."""

    model: Samples
    """The mixture of the members, for predictions; it has no density and no bound."""

    theta: NDArray[np.floating]
    """Weights, one member per row, [T, L]; see :class:`gpflow_gi.inference.WeightSpace`."""

    log_densities: NDArray[np.floating]
    """Log p(Y, theta) of each member, [T], in nats."""

    seconds: float
    """The time taken in seconds, compilation included."""


def ensemble(
    model: DeepGP,
    data: tuple[Any, Any],
    num_members: int = 5,
    *,
    steps: int = 2000,
    batch_size: int | None = None,
    learning_rate: float = 0.01,
    train_likelihood: bool = False,
    random_priors: bool = False,
    seed: Seed = 0,
) -> Ensemble:
    """Maximise the posterior density from several draws of the prior, side by side.

    The predictive distribution is the mixture of the members (Lakshminarayanan, Pritzel & Blundell
    2017, "Simple and scalable predictive uncertainty estimation using deep ensembles"), each
    trained with the model's prior.

    :param model: as in :func:`map_estimate`.
    :param data: X [N, D] and Y [N, Q], all rows that the model was built for.
    :param num_members: T, the number of members.
    :param steps: as in :func:`map_estimate`.
    :param batch_size: as in :func:`map_estimate`; members see the same minibatches.
    :param learning_rate: as in :func:`map_estimate`.
    :param train_likelihood: as in :func:`map_estimate`; the members share one likelihood.
    :param random_priors: True to give each member a prior around a draw of its own, and targets
        with noise of its own (Pearce, Leibfried & Brintrup 2020): in a linear model members are
        then draws from the exact posterior. For Gaussian priors and noise, which is not learned.
    :param seed: seed of the starts and of the minibatches.
    :return: the members, and a model for predictions.
    :raises TypeError: if `model` is not a DeepGP.
    :raises ValueError: as :func:`map_estimate`; or if `random_priors` is True for another prior,
        another likelihood or one that is learned.
    """
    started = time.perf_counter()
    check_network(model)
    num_members = positive_integer("num_members", num_members)
    random_priors = true_or_false("random_priors", random_priors)
    if random_priors and true_or_false("train_likelihood", train_likelihood):
        raise ValueError(
            "random_priors needs a known noise: with train_likelihood=True the maximum over the "
            "noise variance would be that of perturbed targets."
        )
    network, log_joint, theta = search(
        model,
        data,
        num_members,
        steps=steps,
        batch_size=batch_size,
        learning_rate=learning_rate,
        train_likelihood=train_likelihood,
        random_priors=random_priors,
        seed=as_seed(seed),
    )
    return Ensemble(
        model=Samples(network, theta, num_samples=model.num_samples),
        theta=theta.numpy(),
        log_densities=log_joint(theta).numpy(),
        seconds=time.perf_counter() - started,
    )
