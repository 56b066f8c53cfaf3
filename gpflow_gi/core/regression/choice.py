"""The choice of the space in which a regression is computed."""

import tensorflow as tf

from ..basis import Basis
from ..gaussians import WhitenedGaussian
from .function_space import FunctionSpaceRegression
from .units_of_noise import UnitsOfNoiseRegression
from .weight_space import WeightSpaceRegression

FEWER = 0.5
"""Largest ratio of pseudo-outputs to weights at which a dense layer is computed in the space of the
pseudo-outputs (measured: docs/performance.md)."""


def regress(basis: Basis, T: tf.Tensor, V: tf.Tensor, *, shared: bool) -> WhitenedGaussian:
    """The exact posterior given pseudo-data at the basis' inputs.

    GP layers use the space of the pseudo-outputs, where the Cholesky factor of their kernel matrix
    is not needed. Dense layers use the smaller space. Convolutions, whose pseudo-outputs are at all
    locations of all images, use the space of the weights. One precision per output needs one
    factorisation per output, which only the space of the weights has.

    :param basis: the layer's basis, at M pseudo-inputs.
    :param T: a root of Lambda = T T^T. If all outputs share it: [M] for a diagonal Lambda, or lower
        triangular [M, M]. Otherwise one for each output: [P, M] or [P, M, M]. In a convolution one
        for each image, [M], or for each location, [M, H, W].
    :param V: pseudo-outputs, [M, P] or [S, M, P], or [M, H, W, P] in a convolution.
    :param shared: True if all outputs share Lambda.
    :return: q(z).
    """
    if not (shared and basis.has_small_design):
        return WeightSpaceRegression(basis, T, V, shared=shared)
    if basis.has_kernel:
        return _in_function_space(basis, T, V)
    # The number of weights is known when a graph is built; so is M where it is needed.
    num_weights = basis.design.shape[-1]
    if V.shape[0] <= FEWER * num_weights:
        return _in_function_space(basis, T, V)
    return WeightSpaceRegression(basis, T, V, shared=True)


def _in_function_space(basis: Basis, T: tf.Tensor, V: tf.Tensor) -> WhitenedGaussian:
    is_diagonal = T.shape.rank == 1
    return (FunctionSpaceRegression if is_diagonal else UnitsOfNoiseRegression)(basis, T, V)
