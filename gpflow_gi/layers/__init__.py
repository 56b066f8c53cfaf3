"""Layers: a basis and a choice of q(z)."""

from .base import ConditionedLayer, Layer, LayerDraw
from .deterministic import Deterministic
from .gp import GPLayer

__all__ = ["ConditionedLayer", "Deterministic", "GPLayer", "Layer", "LayerDraw"]
