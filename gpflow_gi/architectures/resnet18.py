"""ResNet-18 of Bayesian convolutions, from images and a few words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpflow.likelihoods import Likelihood

from ..core.validation import positive_integer
from ..models import DeepGP
from ..priors import WeightPrior
from .image_network import ImageNetwork
from .networks import Method

NUM_LAYERS = 21
"""Layers of weights: the first convolution, 16 in 8 blocks, 3 of shortcuts, and the last layer."""


def build_resnet18(
    X: Any,
    Y: Any,
    *,
    width: int = 64,
    inference: str | Sequence[Method] = "factorised -> global",
    prior: str | Callable[[], WeightPrior] = "spatial",
    prior_scale: float = 1.0,
    num_inducing: int = 100,
    likelihood: Likelihood | None = None,
    num_samples: int = 1,
    seed: int = 0,
) -> DeepGP:
    """The ResNet-18 of Ober & Aitchison (2021), section 3.4, for small images.

    He, Zhang, Ren & Sun (2016), "Deep residual learning for image recognition", in the form for
    CIFAR-10: a convolution and a relu, four stages of two blocks, global average pooling, linear. A
    block is a shortcut in parallel with conv, relu, conv, and a relu follows the sum. Each stage
    after the first has twice the channels of the one before and half the height and width: the
    first block of it has stride 2, and a convolution of 1 x 1 as its shortcut. All other kernels
    are 3 x 3. There is no batch normalisation.

    The paper trains it with `temperature` 1 / 20 and random flips and crops, which is no bound on
    the evidence, factorised or with a global last layer::

        augment = gpflow_gi.training.augmented
        gpflow_gi.fit(model, (X, Y), batch_size=500, temperature=0.05, augment=augment)

    It starts as :func:`build_resnet` does. Pixels should be standardised.

    :param X: images, [N, H, W, C].
    :param Y: targets, [N, Q]; labels 0, 1, ... in one column for the default likelihood.
    :param width: number of channels of the first stage; the last one has eight times as many.
    :param inference: as in :func:`build_resnet`; a list has one method for each layer of weights,
        21, in the order of the network, a block's shortcut after its chain.
    :param prior: as in :func:`build_resnet`.
    :param prior_scale: factor on the weights' standard deviation, if `prior` is a name.
    :param num_inducing: M, for the model and for every local layer; at most N.
    :param likelihood: a GPflow likelihood; by default a softmax with one class for each label.
    :param num_samples: S, the number of samples of the bound in training.
    :param seed: for the subset of images and the drawn network, an integer from 0 to 2^32 - 1.
    :return: the model, not trained yet.
    :raises ValueError: as :func:`build_resnet`.
    :raises TypeError: as :func:`build_resnet`.
    :warns UserWarning: if `num_inducing` exceeds N, and is lowered to it.
    """
    width = positive_integer("width", width)
    network = ImageNetwork(
        X,
        Y,
        NUM_LAYERS,
        inference=inference,
        prior=prior,
        prior_scale=prior_scale,
        num_inducing=num_inducing,
        likelihood=likelihood,
        seed=seed,
    )
    network.add_convolution(width)
    for stage in range(4):
        for block in range(2):
            stride = 2 if stage > 0 and block == 0 else 1
            network.add_block(width * 2**stage, stride=stride, relu_last=True)
    network.add_pooling()
    return network.with_last_layer(num_samples)
