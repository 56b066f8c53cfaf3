"""Kernels: batched evaluation of any GPflow kernel, and the whitened basis that a kernel spans."""

from .basis import KernelBasis
from .bnn import BNNKernel

__all__ = ["BNNKernel", "KernelBasis"]
