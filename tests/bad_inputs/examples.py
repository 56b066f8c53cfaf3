"""Data and small models that good arguments are made of."""

import functools
import tempfile
from pathlib import Path
from typing import Any

import gpflow
import matplotlib
import numpy as np
import tensorflow as tf

from gpflow_gi import architectures
from gpflow_gi.layers import DenseLayer, GPLayer, LatentVariableLayer
from gpflow_gi.models import DeepGP
from gpflow_gi.posteriors import Factorised, GlobalInducing, LocalInducing

matplotlib.use("Agg")

N, D, M, S = 6, 2, 3, 2
_rng = np.random.default_rng(0)
X, Y = _rng.normal(size=(N, D)), _rng.normal(size=(N, 1))
PIXELS = _rng.normal(size=(N, 4, 4, 1))
CLASSES = np.array([[0.0], [1.0], [2.0], [0.0], [1.0], [2.0]])
LABEL_LIST = np.array([0, 1, 0, 1, 0, 1])
MEAN, VARIANCE = _rng.normal(size=(S, N, 1)), np.exp(_rng.normal(size=(S, N, 1)))
PROBABILITIES = np.full((N, 2), 0.5)
PIT = np.linspace(0.1, 0.9, N)


def gp_layer(P: int = 1, posterior: Any = None) -> GPLayer:
    return GPLayer(gpflow.kernels.SquaredExponential(), P, posterior or GlobalInducing(M, P))


def deep_gp(likelihood: Any = None, P: int = 1, num_layers: int = 2) -> DeepGP:
    hidden = [gp_layer(D) for _ in range(num_layers - 1)]
    likelihood = likelihood or gpflow.likelihoods.Gaussian()
    return DeepGP([*hidden, gp_layer(P)], likelihood, num_data=N, inducing_inputs=X[:M])


def local_gp() -> DeepGP:
    layer = gp_layer(1, LocalInducing(X[:M], 1))
    return DeepGP([layer], gpflow.likelihoods.Gaussian(), num_data=N)


def network(num_data: int = N) -> DeepGP:
    layers = [DenseLayer(D, 3, Factorised()), tf.nn.tanh, DenseLayer(3, 1, Factorised())]
    return DeepGP(layers, gpflow.likelihoods.Gaussian(), num_data=num_data)


@functools.cache
def model() -> DeepGP:
    return deep_gp()


@functools.cache
def classifier() -> DeepGP:
    return deep_gp(gpflow.likelihoods.Softmax(3), 3)


@functools.cache
def binary_classifier() -> DeepGP:
    return deep_gp(gpflow.likelihoods.Bernoulli())


@functools.cache
def image_model() -> DeepGP:
    return architectures.build_resnet(PIXELS, CLASSES, width=2, num_blocks=1, num_inducing=3)


def latent_model() -> DeepGP:
    layers = [LatentVariableLayer(1, num_data=N), gp_layer()]
    return DeepGP(layers, gpflow.likelihoods.Gaussian(), num_data=N, inducing_inputs=X[:M])


def svgp() -> Any:
    return gpflow.models.SVGP(
        gpflow.kernels.SquaredExponential(),
        gpflow.likelihoods.Gaussian(),
        X[:M].copy(),
        num_data=N,
    )


@functools.cache
def network_model() -> DeepGP:
    return network()


@functools.cache
def posterior() -> Any:
    return model().posterior(S, seed=0)


@functools.cache
def folder() -> Path:
    return Path(tempfile.mkdtemp())
