"""Shapes that hide mistakes: one row, one inducing point, one dimension, one sample, none."""

import itertools

import gpflow
import numpy as np
import pytest
import tensorflow as tf
from gpflow.kernels import Matern32, SeparateIndependent

import gpflow_gi as gi

from ..builders import random_posterior

KINDS = ("global", "full", "free", "local", "prior")
PAIRS = list(itertools.product(("global", "local", "prior"), repeat=2))


def deep_gp(rng, kinds, *, M, D, width, P, separate=False) -> gi.models.DeepGP:
    def layer(kind: str, inputs: int, outputs: int) -> gi.layers.GPLayer:
        kernel = (
            SeparateIndependent([Matern32() for _ in range(outputs)]) if separate else Matern32()
        )
        return gi.layers.GPLayer(kernel, outputs, random_posterior(rng, kind, outputs, inputs, M))

    widths = [D, *[width] * (len(kinds) - 1), P]
    layers = [layer(kind, *io) for kind, io in zip(kinds, itertools.pairwise(widths), strict=True)]
    U = rng.normal(size=(M, D)) if {"global", "full", "free"} & set(kinds) else None
    likelihood = gpflow.likelihoods.Gaussian(0.3)
    return gi.models.DeepGP(layers, likelihood, num_data=10, inducing_inputs=U)


def check_all_methods(model: gi.models.DeepGP, X: np.ndarray, P: int, S: int) -> None:
    N = len(X)
    Y = np.ones((N, P))
    if N:
        bound_terms = model.bound_terms((X, Y), num_samples=S, seed=0)
        assert [term.shape for term in bound_terms] == [(), ()]
    results = {
        (N, P): [
            *model.predict_f(X, num_samples=S, seed=0),
            *model.predict_y(X, num_samples=S, seed=0),
        ],
        (P, N, N): [model.predict_f(X, num_samples=S, full_cov=True, seed=0)[1]],
        (S, N, P): [
            *model.predict_y_components(X, num_samples=S, seed=0),
            model.predict_f_samples(X, S, seed=0),
            model.predict_f_samples(X, S, full_cov=False, seed=0),
        ],
        (N,): [model.predict_log_density((X, Y), num_samples=S, seed=0)],
    }
    for shape, tensors in results.items():
        for tensor in tensors:
            assert tensor.shape == shape
            assert np.all(np.isfinite(tensor))


@pytest.mark.slow
@pytest.mark.parametrize("kinds", PAIRS, ids="-".join)
def test_one_of_everything(kinds, rng):
    model = deep_gp(rng, kinds, M=1, D=1, width=1, P=1)
    check_all_methods(model, rng.normal(size=(1, 1)), P=1, S=1)


MIXES = [
    ("full", "full"),
    ("local", "local"),
    ("prior", "prior"),
    ("free", "free"),
    ("local", "global", "local"),
]


@pytest.mark.slow
@pytest.mark.parametrize("kinds", MIXES, ids="-".join)
def test_one_of_everything_but_samples(kinds, rng):
    model = deep_gp(rng, kinds, M=1, D=1, width=1, P=1)
    check_all_methods(model, rng.normal(size=(1, 1)), P=1, S=2)


# All sizes differ, so that none can stand for another.
S, SIZES, N = 2, {"D": 3, "width": 4, "P": 5, "M": 6}, 8


@pytest.mark.slow
@pytest.mark.parametrize("kinds", MIXES, ids="-".join)
def test_different_numbers_of_everything(kinds, rng):
    model = deep_gp(rng, kinds, **SIZES)
    check_all_methods(model, rng.normal(size=(N, 3)), P=5, S=S)


@pytest.mark.slow
def test_one_kernel_per_output(rng):
    model = deep_gp(rng, ("local", "full"), D=3, width=1, P=4, M=6, separate=True)
    check_all_methods(model, rng.normal(size=(N, 3)), P=4, S=S)


@pytest.mark.parametrize("kind", KINDS)
def test_one_layer(kind, rng):
    model = deep_gp(rng, (kind,), **SIZES)
    for rows, samples in [(1, 1), (N, S)]:
        check_all_methods(model, rng.normal(size=(rows, 3)), P=5, S=samples)


@pytest.mark.parametrize("kinds", [("global", "local"), ("local", "local"), ("prior",)])
def test_no_rows_to_predict(kinds, rng):
    model = deep_gp(rng, kinds, **SIZES)
    check_all_methods(model, np.zeros((0, 3)), P=5, S=S)


def test_identical_rows_and_inducing_points(rng):
    """Kernel matrices that are singular but for the jitter."""
    U = np.zeros((4, 2))
    layers = [
        gi.layers.GPLayer(Matern32(), 2, gi.posteriors.GlobalInducing(4, 2)),
        gi.layers.GPLayer(Matern32(), 1, gi.posteriors.LocalInducing(U, 1)),
    ]
    likelihood = gpflow.likelihoods.Gaussian(0.3)
    model = gi.models.DeepGP(layers, likelihood, num_data=10, inducing_inputs=U)
    check_all_methods(model, np.zeros((6, 2)), P=1, S=2)
    with tf.GradientTape() as tape:
        bound = model.elbo((np.zeros((6, 2)), np.ones((6, 1))), seed=0)
    gradients = tape.gradient(bound, model.trainable_variables)
    assert all(np.all(np.isfinite(gradient)) for gradient in gradients)
