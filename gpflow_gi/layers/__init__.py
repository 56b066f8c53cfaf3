"""Layers: a basis and a choice of q(z)."""

from .base import ConditionedLayer, Layer, LayerDraw, LayerFunction
from .dense import DenseLayer
from .deterministic import Deterministic
from .gp import GPLayer

__all__ = [
    "ConditionedLayer",
    "DenseLayer",
    "Deterministic",
    "GPLayer",
    "Layer",
    "LayerDraw",
    "LayerFunction",
]
