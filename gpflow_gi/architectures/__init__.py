"""Functions that build whole models from data and a few settings."""

from .bnn import build_bnn
from .deep_gp import build_deep_gp
from .resnet import build_resnet
from .sip import build_sip
from .sparse_gp import build_sparse_gp
from .vip import build_vip

__all__ = [
    "build_bnn",
    "build_deep_gp",
    "build_resnet",
    "build_sip",
    "build_sparse_gp",
    "build_vip",
]
