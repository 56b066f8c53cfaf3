"""Parts that models of implicit processes share: their processes, and the checks of the data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from gpflow.likelihoods import Gaussian, Likelihood

from ..core.process import Process
from ..core.validation import numpy_seed, shown
from ..implicit import NetworkProcess, NeuralSampler
from ..models.targets import check_likelihood, check_targets
from .start import NOISE_VARIANCE, check_rows, output_dim_for, warn_of_scale

MakeProcess: TypeAlias = Callable[[int, int, int], Process]
"""A function from the numbers of inputs and of outputs, and a seed, to a process."""

PROCESSES: dict[str, MakeProcess] = {
    "network": lambda D, P, seed: NetworkProcess(D, P, seed=seed),
    "sampler": lambda D, P, seed: NeuralSampler(D, P, seed=seed),
    "low-rank-sampler": lambda D, P, seed: NeuralSampler(D, P, seed=seed, rank=50),
    "low-rank-sampler-dropout": lambda D, P, seed: NeuralSampler(
        D, P, seed=seed, rank=50, dropout_rate=0.05
    ),
}


def check_start(
    X: Any, Y: Any, likelihood: Likelihood | None, seed: int
) -> tuple[np.ndarray, np.ndarray, Likelihood, int, int]:
    """X, Y, the likelihood, its number of outputs and the seed, checked.

    :raises ValueError: if an argument is wrong.
    :raises TypeError: if `likelihood` is not a GPflow likelihood.
    :warns UserWarning: if a column is far from standardised.
    """
    X, Y = check_rows(X, Y)
    likelihood = Gaussian(NOISE_VARIANCE) if likelihood is None else likelihood
    check_likelihood(likelihood)
    output_dim = output_dim_for(likelihood, Y.shape[1])
    check_targets(likelihood, Y, output_dim)
    warn_of_scale(X, Y, likelihood)
    return X, Y, likelihood, output_dim, numpy_seed("seed", seed)


def process_maker(process: Any) -> MakeProcess:
    """A function that makes a process for each layer.

    :raises ValueError: if it is neither a known name nor a function.
    """
    if isinstance(process, str) and process in PROCESSES:
        return PROCESSES[process]
    if isinstance(process, str | Process) or not callable(process):
        raise ValueError(
            f"process must be {', '.join(map(repr, PROCESSES))}, or a function from the number of "
            f"inputs, the number of outputs and a seed to a process, but is {shown(process)}."
        )
    return process


def new_process(make: MakeProcess, D: int, P: int, seed: int, layer: int) -> Process:
    """A process for a layer, with a seed of its own.

    :raises TypeError: if the function does not make a process.
    :raises ValueError: if the function fails, or if the process does not fit the layer.
    """
    own = int(np.random.default_rng([seed, layer]).integers(2**32))
    try:
        prior = make(D, P, own)
    except Exception as error:
        raise ValueError(
            "process must be a function from the number of inputs, the number of outputs and a "
            f"seed to a process, such as lambda D, P, seed: NetworkProcess(D, P, seed=seed), but "
            f"{shown(make)} failed for {D}, {P} and {own}: {shown(error)}."
        ) from None
    if not isinstance(prior, Process):
        raise TypeError(
            "process must be a function that makes one of gpflow_gi.implicit, but it made "
            f"{shown(prior)}."
        )
    if prior.input_dim != D or prior.output_dim not in (1, P):
        raise ValueError(
            f"process must make a process of {D} inputs and {P} outputs for this layer, but made "
            f"one of {prior.input_dim} inputs and {prior.output_dim} outputs."
        )
    return prior
