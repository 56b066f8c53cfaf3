"""Kernels: batched evaluation of any GPflow kernel, and the whitened basis of a kernel."""

from .basis import KernelBasis
from .bnn import BNNKernel

__all__ = ["BNNKernel", "KernelBasis"]
