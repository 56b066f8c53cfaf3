"""Whole models from data and a few words."""

from .bnn import build_bnn
from .deep_gp import build_deep_gp
from .sparse_gp import build_sparse_gp

__all__ = ["build_bnn", "build_deep_gp", "build_sparse_gp"]
