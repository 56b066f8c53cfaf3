"""The independent processes of a Gaussian process layer: their kernels, and their mixing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gpflow
from gpflow.kernels import Kernel, MultioutputKernel, SeparateIndependent, SharedIndependent

from ..core.validation import finite_array, shown


def mixing_matrix(W: Any, output_dim: int) -> gpflow.Parameter | None:
    """A mixing matrix as a parameter, which it may already be."""
    if W is None:
        return None
    array = finite_array("mixing", W, (output_dim, None))
    return W if isinstance(W, gpflow.Parameter) else gpflow.Parameter(array)


def kernels_of(kernel: Kernel | Sequence[Kernel], output_dim: int) -> list[tuple[Kernel, slice]]:
    """The single-output kernels of a layer, each with its outputs."""
    kernels = kernel
    if isinstance(kernel, SharedIndependent):
        if kernel.num_latent_gps != output_dim:
            raise ValueError(
                f"The kernel is a SharedIndependent of {kernel.num_latent_gps} outputs, but the "
                f"layer has output_dim={output_dim}."
            )
        kernels = kernel.kernel
    elif isinstance(kernel, SeparateIndependent):
        kernels = kernel.kernels
    each = [kernels] if isinstance(kernels, Kernel) else kernels
    if not isinstance(each, Sequence) or not all(isinstance(one, Kernel) for one in each):
        raise TypeError(
            f"kernel must be a GPflow kernel or a list of them, but is {shown(kernel)}."
        )
    for one in each:
        if isinstance(one, MultioutputKernel):
            raise TypeError(
                "A layer takes one kernel for all outputs or one for each, not "
                f"{type(one).__name__}."
            )
    if isinstance(kernels, Kernel):
        return [(kernels, slice(0, output_dim))]
    if len(each) != output_dim:
        raise ValueError(
            f"A layer of {output_dim} outputs needs {output_dim} kernels, or one shared by all, "
            f"but was given {len(each)}."
        )
    return [(one, slice(p, p + 1)) for p, one in enumerate(each)]
