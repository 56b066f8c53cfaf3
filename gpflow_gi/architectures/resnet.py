"""Residual networks of Bayesian convolutions from images and a few words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from gpflow.likelihoods import Likelihood

from ..core.validation import positive_integer
from ..models import DeepGP
from ..priors import WeightPrior
from .image_network import ImageNetwork
from .networks import Method


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
    width = positive_integer("width", width)
    num_blocks = positive_integer("num_blocks", num_blocks)
    network = ImageNetwork(
        X,
        Y,
        2 * num_blocks + 2,
        inference=inference,
        prior=prior,
        prior_scale=prior_scale,
        num_inducing=num_inducing,
        likelihood=likelihood,
        seed=seed,
    )
    height, cols = network.Z.shape[1:3]
    if min(height, cols) < 2 ** (num_blocks - 1):
        raise ValueError(
            f"num_blocks is {num_blocks}, but images of {height} x {cols} can be halved only "
            f"{int(np.log2(min(height, cols)))} times between blocks."
        )
    network.add_convolution(width)
    for i in range(num_blocks):
        network.add_block(width)
        network.add_pooling(2 if i + 1 < num_blocks else None)
    return network.with_last_layer(num_samples)
