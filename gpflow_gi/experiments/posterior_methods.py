"""Methods of the experiment with every posterior: names, and how each is found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpflow_gi.benchmark.train import train_by
from gpflow_gi.experiments.cubic_network import Training
from gpflow_gi.inference import (
    ensemble,
    laplace,
    map_estimate,
    multi_swag,
    sghmc,
    swag,
    variational,
)

from .posterior_tasks import Task

LAYERWISE = ("factorised", "local", "global")
"""Posteriors of layers, from :func:`gpflow_gi.architectures.build_bnn`."""

SAMPLES = "Laplace, samples"
"""The Gaussian of "Laplace", with weights drawn from it in the network itself."""

NOT_A_LAYER = (
    "mean-field", "full-rank", "low-rank", "radial", "planar", "mixture of 5", "Laplace", SAMPLES,
    "SWAG", "MultiSWAG", "MAP", "ensemble", "random priors", "dropout", "SGHMC",
)  # fmt: skip
"""Posteriors over all weights, from :mod:`gpflow_gi.inference`."""


def methods_of(task: Task) -> list[str]:
    """The methods that a task can have."""
    return [method for method in (*LAYERWISE, *NOT_A_LAYER) if method not in task.without]


def find(
    method: str,
    task: Task,
    *,
    layerwise: Training,
    steps: int,
    num_members: int,
    seed: int,
    progress: bool,
) -> Any:
    """A posterior by a method of :data:`LAYERWISE` or :data:`NOT_A_LAYER`, not :data:`SAMPLES`.

    :param layerwise: training of posteriors of layers.
    :param steps: steps of the others; of L-BFGS at most 2000.
    :param num_members: members of ensembles.
    """
    if method in LAYERWISE:
        model = task.network(method)
        train_by(layerwise, model, task.rows, seed=seed, progress=progress)
        return model
    network, data, T = task.network("factorised"), task.rows, num_members
    most = min(2000, steps)  # of L-BFGS
    of_ascent: dict[str, Any] = {
        "steps": steps,
        "interval": max(steps // 100, 1),
        "batch_size": task.batch_size,
        "learning_rate": task.rates["SWAG"],
        "seed": seed,
    }
    methods: dict[str, Callable[[], Any]] = {
        "mixture of 5": lambda: variational(
            network, data, ["mean-field"] * 5, steps=steps, seed=seed
        ),
        "Laplace": lambda: laplace(network, data, steps=most, seed=seed),
        "SWAG": lambda: swag(network, data, **of_ascent),
        "MultiSWAG": lambda: multi_swag(network, data, 5, **of_ascent),
        "MAP": lambda: map_estimate(network, data, steps=most, seed=seed),
        "ensemble": lambda: ensemble(network, data, T, steps=most, seed=seed),
        "random priors": lambda: ensemble(
            network, data, T, random_priors=True, steps=most, seed=seed
        ),
        "SGHMC": lambda: sghmc(
            network,
            data,
            num_draws=min(100, steps // 4),
            num_chains=4,
            steps=steps,
            batch_size=None,
            learning_rate=task.rates["SGHMC"],
            seed=seed,
        ),
    }
    if method in methods:
        return methods[method]().model
    return variational(network, data, method, steps=steps, seed=seed).model
