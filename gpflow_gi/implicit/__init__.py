"""Implicit processes: random functions given by their draws, for implicit layers and kernels."""

from ..core.process import Process
from ..kernels.empirical import EmpiricalMean, empirical_gp
from .kernel_process import KernelProcess
from .network_process import NetworkProcess
from .neural_sampler import NeuralSampler
from .prior_process import PriorProcess

__all__ = [
    "EmpiricalMean",
    "KernelProcess",
    "NetworkProcess",
    "NeuralSampler",
    "PriorProcess",
    "Process",
    "empirical_gp",
]
