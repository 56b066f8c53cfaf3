"""Small random models for tests."""

from collections.abc import Sequence
from typing import Any

import gpflow
import numpy as np
import tensorflow as tf
from gpflow.kernels import SquaredExponential

import gpflow_gi as gi

NUM_INDUCING = 6


MIXES = [
    ("global",),
    ("free", "free"),
    ("local", "global"),
    ("global", "local"),
    ("prior", "local", "full"),
    ("half", "half"),
]
"""Kinds of posteriors of the layers of deep GPs whose functions are drawn."""


def random_posterior(
    rng: np.random.Generator, kind: str, P: int, D: int, M: int = NUM_INDUCING
) -> gi.posteriors.Posterior:
    """A posterior of a kind away from every symmetry.

    :param kind: "global", "full" (global with a full precision), "half" (global beside points of
        its own), "free" (a free Gaussian at the global inducing points), "local" or "prior".
    """
    if kind == "global":
        return gi.posteriors.GlobalInducing(
            M,
            P,
            pseudo_outputs=rng.normal(size=(M, P)),
            pseudo_precision=np.exp(rng.normal(size=M)),
        )
    if kind == "full":
        T = np.eye(M) + np.tril(0.5 * rng.normal(size=(M, M)))
        return gi.posteriors.GlobalInducing(
            M,
            P,
            pseudo_outputs=rng.normal(size=(M, P)),
            pseudo_precision=T @ T.T,
            precision="full",
        )
    if kind == "half":
        return gi.posteriors.GlobalInducing(
            M + 2,
            P,
            pseudo_outputs=rng.normal(size=(M + 2, P)),
            pseudo_precision=np.exp(rng.normal(size=M + 2)),
            inducing_inputs=rng.normal(size=(2, D)),
        )
    if kind == "free":
        return gi.posteriors.FullGaussian(
            M, q_mu=rng.normal(size=(M, P)), q_sqrt=random_q_sqrt(rng, P, M)
        )
    if kind == "local":
        M += 1  # so that a confusion with the global points shows
        return gi.posteriors.LocalInducing(
            rng.normal(size=(M, D)),
            P,
            q_mu=rng.normal(size=(M, P)),
            q_sqrt=random_q_sqrt(rng, P, M),
        )
    assert kind == "prior"
    return gi.posteriors.Prior()


def random_q_sqrt(rng: np.random.Generator, P: int, M: int) -> np.ndarray:
    return np.stack([0.3 * np.tril(rng.normal(size=(M, M))) + 0.5 * np.eye(M) for _ in range(P)])


def random_deep_gp(
    rng: np.random.Generator,
    kinds: Sequence[str],
    *,
    D: int = 2,
    width: int = 2,
    P: int = 1,
    noise: float = 0.3,
    num_data: int = 9,
    likelihood: Any = None,
    mean_functions: bool = True,
) -> gi.models.DeepGP:
    """Layers of the given kinds of posterior."""
    layers = []
    for i, kind in enumerate(kinds):
        last = i == len(kinds) - 1
        inputs, outputs = (D if i == 0 else width), (P if last else width)
        kernel = SquaredExponential(
            variance=rng.uniform(0.5, 1.5), lengthscales=rng.uniform(0.8, 2.0, inputs)
        )
        mean = gpflow.functions.Linear(rng.normal(size=(inputs, outputs)), rng.normal(size=outputs))
        layers.append(
            gi.layers.GPLayer(
                kernel,
                outputs,
                random_posterior(rng, kind, outputs, inputs),
                mean_function=mean if mean_functions else None,
            )
        )
    uses_global = any(kind in ("global", "full", "half", "free") for kind in kinds)
    return gi.models.DeepGP(
        layers,
        likelihood or gpflow.likelihoods.Gaussian(noise),
        num_data=num_data,
        inducing_inputs=rng.normal(size=(NUM_INDUCING, D)) if uses_global else None,
    )


DENSE_KINDS = ("global", "full", "own", "own full", "local", "local full", "factorised", "prior")


def random_dense_posterior(
    rng: np.random.Generator, kind: str, D: int, P: int, M: int = NUM_INDUCING
) -> gi.posteriors.Posterior:
    """A posterior for a dense layer with a bias, away from every symmetry."""
    if kind == "prior":
        return gi.posteriors.Prior()
    if kind == "factorised":
        return gi.posteriors.Factorised(
            mean=rng.normal(size=(D + 1, P)),
            standard_deviation=0.3 * np.exp(rng.normal(size=(D + 1, P))),
        )
    outputs = (P,) if kind.startswith("own") else ()
    M = M + 1 if kind.startswith("local") else M
    Lambda = np.exp(rng.normal(size=(*outputs, M)))
    if kind.endswith("full"):
        T = np.eye(M) + np.tril(0.5 * rng.normal(size=(*outputs, M, M)))
        Lambda = T @ np.swapaxes(T, -1, -2)
    pseudo_data = {
        "pseudo_outputs": rng.normal(size=(M, P)),
        "pseudo_precision": Lambda,
        "precision": "full" if kind.endswith("full") else "diagonal",
        "shared": not outputs,
    }
    if kind.startswith("local"):
        return gi.posteriors.LocalInducing(rng.normal(size=(M, D)), P, **pseudo_data)
    return gi.posteriors.GlobalInducing(M, P, **pseudo_data)


def random_prior(kind: str) -> gi.priors.WeightPrior:
    priors = gi.priors
    return {
        "neal": priors.NealPrior,
        "standard": lambda: priors.StandardPrior(0.5),
        "scale": lambda: priors.ScalePrior(alpha=1.5, beta=2.5),
    }[kind]()


def random_bnn(
    rng: np.random.Generator,
    kinds: Sequence[str],
    *,
    prior: str = "neal",
    D: int = 2,
    width: int = 4,
    P: int = 1,
    noise: float = 0.3,
    num_data: int = 9,
    nonlinearity: Any = tf.nn.tanh,
) -> gi.models.DeepGP:
    """Dense layers of the given kinds of posterior, a nonlinearity after each but the last."""
    layers: list[Any] = []
    for i, kind in enumerate(kinds):
        last = i == len(kinds) - 1
        inputs, outputs = (D if i == 0 else width), (P if last else width)
        posterior = random_dense_posterior(rng, kind, inputs, outputs)
        layers.append(gi.layers.DenseLayer(inputs, outputs, posterior, prior=random_prior(prior)))
        if not last:
            layers.append(nonlinearity)
    uses_global = any(kind.startswith(("global", "full", "own")) for kind in kinds)
    return gi.models.DeepGP(
        layers,
        gpflow.likelihoods.Gaussian(noise),
        num_data=num_data,
        inducing_inputs=rng.normal(size=(NUM_INDUCING, D)) if uses_global else None,
    )


def random_data(
    rng: np.random.Generator, N: int = 9, D: int = 2, P: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    return rng.normal(size=(N, D)), rng.normal(size=(N, P))


def mean_and_standard_error(draws: Any) -> tuple[np.ndarray, np.ndarray]:
    """Over the first axis."""
    draws = np.asarray(draws)
    return draws.mean(0), draws.std(0, ddof=1) / np.sqrt(len(draws))


def bounds(model: gi.models.DeepGP, data: Any, num_samples: int, repeats: int) -> np.ndarray:
    """Independent estimates of the bound, [repeats]; compiled, since there are many."""

    @tf.function(autograph=False)
    def estimate(seed: tf.Tensor) -> tf.Tensor:
        return model.elbo(data, num_samples=num_samples, seed=seed)

    return np.array([estimate(tf.constant([0, i])) for i in range(repeats)])


CONV_KINDS = ("global", "location", "local", "local location", "factorised", "prior")


def random_conv_layer(
    rng: np.random.Generator,
    kind: str,
    input_shape: tuple[int, int, int],
    filters: int,
    kernel_size: Any,
    *,
    prior: str = "neal",
    M: int = NUM_INDUCING,
    **arguments: Any,
) -> gi.layers.Conv2DLayer:
    """A convolution with a posterior away from every symmetry."""
    layer = gi.layers.Conv2DLayer(
        input_shape,
        filters,
        kernel_size,
        gi.posteriors.Prior(),
        prior=random_prior(prior),
        **arguments,
    )
    if kind == "prior":
        return layer
    height, width, _ = layer.output_shape
    if kind == "factorised":
        shape = (layer.num_weights, filters)
        layer.posterior = gi.posteriors.Factorised(
            mean=rng.normal(size=shape), standard_deviation=0.3 * np.exp(rng.normal(size=shape))
        )
    else:
        M = M + 1 if kind.startswith("local") else M
        places = (height, width) if kind.endswith("location") else ()
        pseudo_data = {
            "pseudo_outputs": rng.normal(size=(M, *layer.output_shape)),
            "pseudo_precision": np.exp(rng.normal(size=(M, *places))),
            "precision": "location" if places else "diagonal",
        }
        if kind.startswith("local"):
            Z = rng.normal(size=(M, *input_shape))
            layer.posterior = gi.posteriors.LocalInducing(Z, layer.output_shape, **pseudo_data)
        else:
            layer.posterior = gi.posteriors.GlobalInducing(M, layer.output_shape, **pseudo_data)
    layer.posterior.bind(layer.num_weights, filters)
    return layer


def assert_slope(function, arguments, directions, gradients):
    """Check gradients by what the function does on a short way, where nothing is differentiated.

    :param function: of `arguments`, to a number.
    :param directions: a way for each argument.
    :param gradients: of the function, by argument.
    """
    step = 1e-5
    ahead, behind = (
        function(*(a + way * d for a, d in zip(arguments, directions, strict=True)))
        for way in (step, -step)
    )
    parts = [np.sum(g * d) for g, d in zip(gradients, directions, strict=True)]
    # Rounding in the values comes to 1e-11 of them, the third derivative to 1e-10 of it.
    np.testing.assert_allclose(
        (ahead - behind) / (2 * step), sum(parts), rtol=1e-6, atol=1e-6 * np.max(np.abs(parts))
    )


def hierarchy() -> list[gpflow.kernels.HierarchyNode]:
    """An input that always counts, and one that counts where a third is 1."""
    bounds = np.array([[-3.0, 3.0]])
    gk = gpflow.kernels
    return [
        gk.HierarchyNode("always", [0], bounds),
        gk.HierarchyNode("sometimes", [1], bounds, gk.ActivityCondition({2: 1})),
    ]


class TwoDense(gpflow.keras.tf_keras.layers.Layer):
    """Two layers of Keras with weights of one shape, of which one can be frozen."""

    def __init__(self, **config):
        super().__init__(dtype="float64", **config)
        dense = gpflow.keras.tf_keras.layers.Dense
        self.a, self.b = (dense(2, dtype="float64") for _ in range(2))

    def build(self, shape):
        self.a.build(shape)
        self.b.build(shape)
        super().build(shape)

    def call(self, X):
        return self.b(tf.tanh(self.a(X)))
