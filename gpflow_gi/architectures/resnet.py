"""Residual networks of Bayesian convolutions from images and a few words."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import gpflow
import numpy as np
import tensorflow as tf
from gpflow.keras import tf_keras
from gpflow.likelihoods import Likelihood, Softmax

from ..core.convolution import Convolution
from ..core.validation import finite_array, numpy_seed, positive_integer
from ..kernels.nonlinearities import relu
from ..layers import Conv2DLayer, DenseLayer, Residual
from ..models import DeepGP
from ..models.targets import check_likelihood, check_targets
from ..priors import WeightPrior
from .networks import (
    Method,
    hidden_posterior,
    last_posterior,
    methods_of_layers,
    new_prior,
    prior_maker,
    within_bounds,
)
from .start import as_regression, check_size, output_dim_for, some_rows

KERNEL_SIZE = (3, 3)

_MOST_CLASSES = 10_000
"""Largest number of classes of the default likelihood; larger labels are probably not labels."""


def build_resnet(
    X: Any,
    Y: Any,
    *,
    width: int = 32,
    num_blocks: int = 3,
    inference: str | Sequence[Method] = "global",
    prior: str | Callable[[], WeightPrior] = "neal",
    prior_scale: float = 1.0,
    num_inducing: int = 100,
    likelihood: Likelihood | None = None,
    num_samples: int = 1,
    seed: int = 0,
) -> DeepGP:
    """The convolutional network of Ober & Aitchison (2021), section 3.4.

    Conv, relu, block, average pooling of 2 x 2, block, average pooling of 2 x 2, block, global
    average pooling, linear. A block is a shortcut in parallel with conv, relu, conv, relu. All
    kernels are 3 x 3.

    Like :func:`build_bnn`, it starts at a network drawn from the prior, through which inducing
    images are pushed. These are a random subset of the images. In the last layer their
    pseudo-outputs are their targets, with the precision of N / M observations each.

    Pixels should be standardised: the priors assume that scale.

    :param X: images, [N, H, W, C].
    :param Y: targets, [N, Q]; labels 0, 1, ... in one column for the default likelihood.
    :param width: number of channels of every layer.
    :param num_blocks: number of blocks, with pooling between them.
    :param inference: as in :func:`build_bnn`, without "optimal" and "implicit"; a list has one
        method for each convolution, in the order of the network, and one for the last layer: 2
        num_blocks + 2.
    :param prior: as in :func:`build_bnn`; or "spatial", a
        :class:`~gpflow_gi.priors.SpatialIWPrior` in every convolution and "neal" in the last layer.
    :param prior_scale: factor on the weights' standard deviation, if `prior` is a name.
    :param num_inducing: M, for the model and for every local layer; at most N.
    :param likelihood: a GPflow likelihood; by default a softmax with one class for each label.
    :param num_samples: S, the number of samples of the bound in training.
    :param seed: for the subset of images and the drawn network, an integer from 0 to 2^32 - 1.
    :return: the model, not trained yet.
    :raises ValueError: if an argument has the wrong shape, is not finite or not positive, or is
        unknown, if labels are not whole numbers, or if pooling leaves nothing of the images.
    :raises TypeError: if an argument is of the wrong kind.
    :warns UserWarning: if `num_inducing` exceeds N, and is lowered to it.
    """
    X = finite_array("X", X, (None, None, None, None))
    N, height, cols, _ = X.shape
    Y = finite_array("Y", Y, (N, None))
    check_size(X=X, Y=Y)
    width = positive_integer("width", width)
    num_blocks = positive_integer("num_blocks", num_blocks)
    num_inducing = positive_integer("num_inducing", num_inducing)
    seed = numpy_seed("seed", seed)
    methods = methods_of_layers(inference, 2 * num_blocks + 2)
    make_prior = prior_maker(prior, prior_scale, KERNEL_SIZE)
    make_last_prior = prior_maker("neal" if prior == "spatial" else prior, prior_scale)
    if min(height, cols) < 2 ** (num_blocks - 1):
        raise ValueError(
            f"num_blocks is {num_blocks}, but images of {height} x {cols} can be halved only "
            f"{int(np.log2(min(height, cols)))} times between blocks."
        )
    if likelihood is None:
        likelihood = Softmax(_num_classes(Y))
    check_likelihood(likelihood)
    P = output_dim_for(likelihood, Y.shape[1])
    check_targets(likelihood, Y, P)

    rng = np.random.default_rng(seed)
    if num_inducing > N:
        warnings.warn(
            f"num_inducing is {num_inducing}, but there are only {N} images; all of them are used.",
            stacklevel=2,
        )
    chosen = np.sort(some_rows(N, num_inducing, seed))
    U = Z = X[chosen]
    remaining = iter(methods)

    def convolution() -> Conv2DLayer:
        """Make the next convolution, and move Z through it and its relu."""
        nonlocal Z
        shape, method = Z.shape[1:], next(remaining)
        geometry = Convolution(shape, KERNEL_SIZE, 1, "same")
        weight_prior, deviation = new_prior(make_prior, method, geometry.num_weights, seed)
        W = (deviation * rng.normal(size=(geometry.num_weights, width))).astype(X.dtype)
        outputs = geometry(tf.reshape(Z, [len(Z), -1]), tf.constant(W))
        outputs = outputs.numpy().reshape(*Z.shape[:-1], width)
        posterior = hidden_posterior(method, Z, W, deviation, outputs)
        Z = np.maximum(outputs, 0.0)
        return Conv2DLayer(shape, width, KERNEL_SIZE, posterior, prior=weight_prior)

    layers: list[Any] = [convolution(), relu]
    dtype = gpflow.default_float()
    for i in range(num_blocks):
        start = Z
        layers.append(Residual([convolution(), relu, convolution(), relu]))
        Z = start + Z
        pooling = tf_keras.layers.AveragePooling2D(2, dtype=dtype)
        if i + 1 == num_blocks:
            pooling = tf_keras.layers.GlobalAveragePooling2D(dtype=dtype)
        layers.append(pooling)
        Z = pooling(tf.constant(Z)).numpy()

    method = next(remaining)
    weight_prior, deviation = new_prior(make_last_prior, method, width + 1, seed)
    A = np.hstack([Z, np.ones((len(Z), 1), Z.dtype)])
    regression = as_regression(likelihood, Y[chosen], P)
    V, noise = (np.zeros((len(Z), P)), 1.0) if regression is None else regression
    Lambda = within_bounds(np.full(len(Z), N / (len(Z) * noise)))
    posterior = last_posterior(method, Z, A, deviation, V, Lambda)
    layers.append(DenseLayer(width, P, posterior, prior=weight_prior))
    return DeepGP(
        layers,
        likelihood,
        num_data=N,
        inducing_inputs=U if "global" in methods else None,
        num_samples=num_samples,
    )


def _num_classes(Y: np.ndarray) -> int:
    wrong = Y[(np.floor(Y) != Y) | (Y < 0)]
    if Y.shape[1] != 1 or wrong.size:
        found = f"it holds {wrong[0]:g}" if wrong.size else f"its shape is {list(Y.shape)}"
        raise ValueError(
            "Y must hold labels 0, 1, ... in one column, or targets of the likelihood that is "
            f"given; {found}."
        )
    num_classes = int(Y.max()) + 1
    if num_classes > _MOST_CLASSES:
        raise ValueError(
            f"Y holds the label {Y.max():g}, and labels count the classes. Number them 0, 1, 2 and "
            "so on, or give the likelihood."
        )
    return num_classes
