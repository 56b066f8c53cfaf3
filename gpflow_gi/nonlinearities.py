"""Elementwise nonlinearities of neural networks, by name or as a function."""

from .kernels.nonlinearities import (
    Nonlinearity,
    as_nonlinearity,
    elu,
    erf,
    gelu,
    identity,
    relu,
    sigmoid,
    sin,
    softplus,
    tanh,
)

__all__ = [
    "Nonlinearity",
    "as_nonlinearity",
    "elu",
    "erf",
    "gelu",
    "identity",
    "relu",
    "sigmoid",
    "sin",
    "softplus",
    "tanh",
]
