"""Kernels: batched evaluation of any GPflow kernel, and the whitened basis of a kernel."""

from .basis import KernelBasis
from .bnn import BNNKernel
from .empirical import EmpiricalKernel

__all__ = ["BNNKernel", "EmpiricalKernel", "KernelBasis"]
