"""Layers: a basis and a choice of q(z)."""

from .base import ConditionedLayer, Layer, LayerDraw, LayerFunction
from .conv import Conv2DLayer
from .dense import DenseLayer
from .deterministic import Deterministic
from .gp import GPLayer
from .implicit import ImplicitLayer
from .latent import LatentVariableLayer
from .residual import Residual
from .row_latents import DataRows, RowLatents
from .uncertain import UncertainInputs

__all__ = [
    "ConditionedLayer",
    "Conv2DLayer",
    "DataRows",
    "DenseLayer",
    "Deterministic",
    "GPLayer",
    "ImplicitLayer",
    "LatentVariableLayer",
    "Layer",
    "LayerDraw",
    "LayerFunction",
    "Residual",
    "RowLatents",
    "UncertainInputs",
]
