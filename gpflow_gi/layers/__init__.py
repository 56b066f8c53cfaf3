"""Layers: a basis and a choice of q(z)."""

from .base import ConditionedLayer, Layer, LayerDraw, LayerFunction
from .conv import Conv2DLayer
from .dense import DenseLayer
from .deterministic import Deterministic
from .gp import GPLayer
from .implicit import ImplicitLayer
from .residual import Residual

__all__ = [
    "ConditionedLayer",
    "Conv2DLayer",
    "DenseLayer",
    "Deterministic",
    "GPLayer",
    "ImplicitLayer",
    "Layer",
    "LayerDraw",
    "LayerFunction",
    "Residual",
]
