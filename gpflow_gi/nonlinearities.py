"""Elementwise nonlinearities of neural networks, by name or as any function that is elementwise."""

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
