"""Functions that build whole models from data and a few settings."""

from .bnn import build_bnn
from .deep_gp import build_deep_gp
from .resnet import build_resnet
from .resnet18 import build_resnet18
from .sip import build_sip
from .sparse_gp import build_sparse_gp
from .vip import build_vip

__all__ = [
    "build_bnn",
    "build_deep_gp",
    "build_resnet",
    "build_resnet18",
    "build_sip",
    "build_sparse_gp",
    "build_vip",
]
