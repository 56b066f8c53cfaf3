"""Networks of images, put together from the images up, with inducing images that start them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
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
    hidden_posterior,
    last_posterior,
    methods_of_layers,
    new_prior,
    prior_maker,
    within_bounds,
)
from .start import as_regression, check_size, output_dim_for, some_rows

_MOST_CLASSES = 10_000
"""Largest number of classes of the default likelihood; larger labels are probably not labels."""


class ImageNetwork:
    """A residual network in the making.

    Layers are added from the images up. Each starts at weights drawn from its prior, and the
    inducing images Z are pushed through it: its outputs at Z are the start of its pseudo-outputs,
    and the inducing inputs of the next one.
    """

    def __init__(
        self,
        X: Any,
        Y: Any,
        num_layers: int,
        *,
        inference: Any,
        prior: str | Callable[[], WeightPrior],
        prior_scale: float,
        num_inducing: int,
        likelihood: Likelihood | None,
        seed: int,
    ) -> None:
        """Choose inducing images, a random subset of the images.

        :param X: images, [N, H, W, C].
        :param Y: targets, [N, Q]; labels in one column for the default likelihood.
        :param num_layers: number of layers of weights, the last one included.
        :raises ValueError, TypeError: as :func:`build_resnet`, whose other arguments these are.
        :warns UserWarning: if `num_inducing` exceeds N, and is lowered to it.
        """
        X = finite_array("X", X, (None, None, None, None))
        N = len(X)
        Y = finite_array("Y", Y, (N, None))
        check_size(X=X, Y=Y)
        num_inducing = positive_integer("num_inducing", num_inducing)
        self.seed = numpy_seed("seed", seed)
        self._methods = methods_of_layers(inference, num_layers)
        self._remaining = iter(self._methods)
        self._prior = prior, prior_scale
        prior_maker(prior, prior_scale, (3, 3))  # for its errors
        if likelihood is None:
            likelihood = Softmax(_num_classes(Y))
        check_likelihood(likelihood)
        self._likelihood, self._num_data = likelihood, N
        self._outputs = output_dim_for(likelihood, Y.shape[1])
        check_targets(likelihood, Y, self._outputs)
        if num_inducing > N:
            warnings.warn(
                f"num_inducing is {num_inducing}, but there are only {N} images; all of them are "
                "used.",
                stacklevel=3,
            )
        self._rng = np.random.default_rng(self.seed)
        chosen = np.sort(some_rows(N, num_inducing, self.seed))
        self._inducing, self._targets = X[chosen], Y[chosen]
        self.Z: np.ndarray = X[chosen]
        self.layers: list[Any] = []

    def convolution(
        self, width: int, *, size: int = 3, stride: int = 1
    ) -> tuple[Conv2DLayer, np.ndarray]:
        """Make the next convolution of the present Z.

        :param width: number of channels.
        :param size: height and width of the kernel, in pixels.
        :param stride: along both dimensions, in pixels.
        :return: the layer, and its outputs at Z, [M, H', W', width].
        """
        M, height, cols, channels = self.Z.shape
        shape, method = (height, cols, channels), next(self._remaining)
        geometry = Convolution(shape, (size, size), stride, "same")
        make_prior = prior_maker(*self._prior, (size, size))
        prior, deviation = new_prior(make_prior, method, geometry.num_weights, self.seed)
        W = deviation * self._rng.normal(size=(geometry.num_weights, width))
        W = W.astype(self.Z.dtype)
        outputs = geometry(tf.reshape(self.Z, [M, -1]), tf.constant(W))
        outputs = outputs.numpy().reshape(M, *geometry.output_size, width)
        posterior = hidden_posterior(method, self.Z, W, deviation, outputs)
        layer = Conv2DLayer(shape, width, size, posterior, strides=stride, prior=prior)
        return layer, outputs

    def add_convolution(self, width: int) -> None:
        """Add a convolution of 3 x 3 and a relu."""
        layer, outputs = self.convolution(width)
        self.layers += [layer, relu]
        self.Z = np.maximum(outputs, 0.0)

    def add_block(self, width: int, *, stride: int = 1, relu_last: bool = False) -> None:
        """Add a residual block of two convolutions of 3 x 3.

        :param width: number of channels.
        :param stride: of the first one. The shortcut is the identity, or if this changes the shape
            a convolution of 1 x 1 (He et al. 2016, option B).
        :param relu_last: True for a relu after the sum, as there; False for one before it, as in
            the network of Ober & Aitchison (2021).
        """
        start, shortcut = self.Z, None
        first, outputs = self.convolution(width, stride=stride)
        self.Z = np.maximum(outputs, 0.0)
        second, outputs = self.convolution(width)
        straight = start
        if outputs.shape != start.shape:
            self.Z = start
            shortcut, straight = self.convolution(width, size=1, stride=stride)
        chain: list[Any] = [first, relu, second]
        if relu_last:
            self.layers += [Residual(chain, shortcut), relu]
            self.Z = np.maximum(straight + outputs, 0.0)
        else:
            self.layers += [Residual([*chain, relu], shortcut)]
            self.Z = straight + np.maximum(outputs, 0.0)

    def add_pooling(self, size: int | None = None) -> None:
        """Add average pooling of size x size pixels, or of all of them by default."""
        layers, dtype = tf_keras.layers, gpflow.default_float()
        pooling = (
            layers.GlobalAveragePooling2D(dtype=dtype)
            if size is None
            else layers.AveragePooling2D(size, dtype=dtype)
        )
        self.layers.append(pooling)
        self.Z = pooling(tf.constant(self.Z)).numpy()

    def with_last_layer(self, num_samples: int) -> DeepGP:
        """Add the dense last layer, which starts at the regression on the targets.

        Pseudo-outputs are the targets at the inducing images, with the precision of N / M
        observations each.

        :param num_samples: S, the number of samples of the bound in training.
        :return: the model.
        """
        Z, M, N, P = self.Z, len(self.Z), self._num_data, self._outputs
        method = next(self._remaining)
        name, scale = self._prior
        make_prior = prior_maker("neal" if name == "spatial" else name, scale)
        prior, deviation = new_prior(make_prior, method, Z.shape[1] + 1, self.seed)
        A = np.hstack([Z, np.ones((M, 1), Z.dtype)])
        regression = as_regression(self._likelihood, self._targets, P)
        V, noise = (np.zeros((M, P)), 1.0) if regression is None else regression
        Lambda = within_bounds(np.full(M, N / (M * noise)))
        posterior = last_posterior(method, Z, A, deviation, V, Lambda)
        self.layers.append(DenseLayer(Z.shape[1], P, posterior, prior=prior))
        return DeepGP(
            self.layers,
            self._likelihood,
            num_data=N,
            inducing_inputs=self._inducing if "global" in self._methods else None,
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
