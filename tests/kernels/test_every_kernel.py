"""Every kernel that GPflow has either works in a layer or is refused with a clear error.

Deep layers meet kernels in a way that GPflow's own models do not: with a sample axis in front of
the inputs. Each kernel class therefore has a row in one of the tables below, and a test fails when
GPflow brings one that is in none.
"""

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import GenericAlias

import gpflow
import numpy as np
import pytest
import tensorflow as tf
from gpflow import kernels as gk
from gpflow.kernels.categorical import Categorical

import gpflow_gi as gi
from gpflow_gi.kernels import batched

from ..builders import hierarchy

S, M, N = 3, 4, 5


@dataclass(frozen=True)
class Case:
    """A kernel, and the inputs that it is for."""

    make: Callable[[], gk.Kernel]
    input_dim: int = 2
    """D of the layer."""

    last_is_category: bool = False
    """True if the last input is a category, 0 or 1."""

    output_dim: int = 2
    """P of the layer."""


def categorical() -> Categorical:
    return Categorical(gk.Matern32(active_dims=[0]), gk.Matern32(active_dims=[1]), num_labels=3)


TESTED: dict[type, list[Case]] = {
    gk.ArcCosine: [
        Case(lambda order=order: gk.ArcCosine(order, weight_variances=[0.5, 2.0]))
        for order in (0, 2)
    ],
    gk.ArcHierarchical: [
        Case(lambda: gk.ArcHierarchical(hierarchy(), active_dims=[0, 1, 2]), 3, True)
    ],
    Categorical: [Case(categorical, 2, True)],
    gk.ChangePoints: [
        Case(lambda: gk.ChangePoints([gk.Matern12(), gk.Linear()], [0.1], steepness=2.0), 1)
    ],
    gk.Constant: [Case(gk.Constant)],
    gk.Convolutional: [Case(lambda: gk.Convolutional(gk.Matern52(), [2, 2], [1, 2]), 4)],
    gk.Coregion: [Case(lambda: gk.Coregion(2, 1, active_dims=[1]), 2, True)],
    gk.Cosine: [Case(lambda: gk.Cosine(lengthscales=[3.0, 4.0]))],
    gk.Exponential: [Case(gk.Exponential)],
    gk.LinearCoregionalization: [
        Case(lambda: gk.LinearCoregionalization([gk.Matern32(), gk.Matern52()], W=np.eye(2)))
    ],
    gk.Linear: [Case(lambda: gk.Linear(variance=[0.5, 2.0]))],
    gk.Matern12: [Case(lambda: gk.Matern12(lengthscales=[0.5, 2.0]))],
    gk.Matern32: [Case(lambda: gk.Matern32(active_dims=[1]))],
    gk.Matern52: [Case(lambda: gk.Matern52(active_dims=slice(1, 3)), 3)],
    gk.Periodic: [Case(lambda: gk.Periodic(gk.SquaredExponential(), period=[1.5, 2.0]))],
    gk.Polynomial: [Case(lambda: gk.Polynomial(degree=2.0))],
    gk.Product: [Case(lambda: gk.Matern32(active_dims=[0]) * gk.Linear(active_dims=[1]))],
    gk.RationalQuadratic: [Case(gk.RationalQuadratic)],
    gk.SeparateIndependent: [
        Case(lambda: gk.SeparateIndependent([gk.Matern32(), gk.SquaredExponential()]))
    ],
    gk.SharedIndependent: [Case(lambda: gk.SharedIndependent(gk.Matern32(), 3), output_dim=3)],
    gk.SquaredExponential: [Case(lambda: gk.SquaredExponential(lengthscales=[0.5, 2.0]))],
    gk.Sum: [Case(lambda: gk.Matern32(active_dims=[0]) + gk.White(0.1))],
    gk.WedgeHierarchical: [
        Case(lambda: gk.WedgeHierarchical(hierarchy(), active_dims=[0, 1, 2]), 3, True)
    ],
    gk.White: [Case(gk.White)],
}

# Base classes that have no covariance of their own, though Python would let one make them.
BASES = [gk.AnisotropicStationary, gk.IsotropicStationary]

EVERY_CASE = [
    pytest.param(case, id=f"{kernel_class.__name__}{i or ''}")
    for kernel_class, cases in TESTED.items()
    for i, case in enumerate(cases)
]


def gpflow_kernel_classes() -> Iterator[type]:
    """Those of all modules, since gpflow.kernels.__all__ names Categorical's module only."""
    for module_info in pkgutil.walk_packages(gk.__path__, gk.__name__ + "."):
        for member in vars(importlib.import_module(module_info.name)).values():
            is_class = inspect.isclass(member) and not isinstance(member, GenericAlias)
            if is_class and issubclass(member, gk.Kernel):
                yield member


def test_every_kernel_class_of_gpflow_is_in_a_table() -> None:
    classes = set(gpflow_kernel_classes())
    exported = {getattr(gk, name) for name in gk.__all__}
    assert {member for member in exported if gk.Kernel in getattr(member, "__mro__", ())} < classes
    assert {each for each in classes if not inspect.isabstract(each)} == {*TESTED, *BASES}


@pytest.mark.parametrize("base", BASES)
def test_base_classes_have_no_covariance(base: type) -> None:
    with pytest.raises(NotImplementedError):
        base()(np.zeros((1, 1)))


def inputs(case: Case, rng: np.random.Generator, num_rows: int) -> tf.Tensor:
    X = rng.normal(size=(S, num_rows, case.input_dim))
    if case.last_is_category:
        X[..., -1] = rng.integers(0, 2, size=(S, num_rows))
    return tf.constant(X)


def deep_gp(case: Case, kind: str, rng: np.random.Generator) -> gi.models.DeepGP:
    """The kernel in the second of two layers."""
    D, P = case.input_dim, case.output_dim
    U = rng.normal(size=(M, D))
    below = gi.layers.GPLayer(gk.SquaredExponential(), D, gi.posteriors.GlobalInducing(M, D))
    layers = [below]
    if case.last_is_category:
        layers.append(lambda F: tf.concat([F[:, :-1], tf.round(tf.sigmoid(F[:, -1:]))], axis=1))
    if kind == "global":
        V = rng.normal(size=(M, P))
        posterior = gi.posteriors.GlobalInducing(M, P, pseudo_outputs=V)
    else:
        Z = inputs(case, rng, M)[0]
        posterior = gi.posteriors.LocalInducing(Z, P, q_mu=rng.normal(size=(M, P)))
    layers.append(gi.layers.GPLayer(case.make(), P, posterior))
    likelihood = gpflow.likelihoods.Gaussian(0.2)
    return gi.models.DeepGP(layers, likelihood, num_data=N, inducing_inputs=U, num_samples=S)


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Compares every batched evaluation with GPflow's, sample by sample; lists what was checked."""
    calls = []

    def check(name: str, single: Callable[..., tf.Tensor]) -> None:
        batch_version = getattr(batched, name)

        def both(kernel: gk.Kernel, *inputs: tf.Tensor) -> tf.Tensor:
            batch = batch_version(kernel, *inputs)
            if tf.executing_eagerly() and any(X.shape.rank == 3 for X in inputs):
                samples = [[X if X.shape.rank == 2 else X[s] for X in inputs] for s in range(S)]
                expected = tf.stack([single(kernel, *sample) for sample in samples])
                np.testing.assert_allclose(batch, expected, rtol=1e-10, atol=1e-10)
                calls.append(name)
            return batch

        monkeypatch.setattr(batched, name, both)

    check("covariance", lambda kernel, X: kernel(X))
    check("cross_covariance", lambda kernel, X1, X2: kernel(X1, X2))
    check("variance", lambda kernel, X: kernel(X, full_cov=False))
    return calls


@pytest.mark.longest
@pytest.mark.compiled
@pytest.mark.filterwarnings("ignore:.*experimental")
@pytest.mark.parametrize("case", EVERY_CASE)
def test_vectorised_samples(case: Case, checked: list[str], rng: np.random.Generator) -> None:
    """Compiled, samples are vectorised; eagerly, a few of them are not."""
    kernels = [kernel for kernel, _ in layer(case.make(), case.output_dim).kernels]

    def covariances(U: tf.Tensor, X: tf.Tensor) -> list[tf.Tensor]:
        return [
            covariance
            for kernel in kernels
            for covariance in (
                batched.covariance(kernel, U),
                batched.cross_covariance(kernel, U, X),
            )
        ]

    U, X = inputs(case, rng, M), inputs(case, rng, N)
    eager = covariances(U, X)
    for one, other in zip(tf.function(covariances)(U, X), eager, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-10)
    for kernel in kernels:  # one side without a sample axis needs no vectorising
        batched.cross_covariance(kernel, U[0], X)
        batched.cross_covariance(kernel, U, X[0])
    assert len(checked) >= 2 * len(eager)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*experimental")
@pytest.mark.parametrize("kind", ["global", "local"])
@pytest.mark.parametrize("case", EVERY_CASE)
def test_bound_and_gradient(
    case: Case, kind: str, checked: list[str], rng: np.random.Generator
) -> None:
    model = deep_gp(case, kind, rng)
    X, Y = rng.normal(size=(N, case.input_dim)), rng.normal(size=(N, case.output_dim))
    parameters = {
        path: parameter.unconstrained_variable
        for path, parameter in gpflow.utilities.parameter_dict(model).items()
        if parameter.trainable
    }
    with tf.GradientTape() as tape:
        bound = model.elbo((X, Y), seed=1)
    gradients = tape.gradient(bound, parameters)
    assert np.isfinite(bound)
    if kind == "global":
        assert set(checked) == {"covariance", "cross_covariance", "variance"}
    top = f".layers[{len(model.layers) - 1}].kernel"
    assert any(path.startswith(top) for path in gradients)
    for path, gradient in gradients.items():
        if gradient is None:
            # The inducing inputs of kernels that are piecewise constant.
            assert path.endswith("posterior.inducing_inputs")
            assert isinstance(model.layers[-1].kernel, gk.Static | gk.Coregion)
        else:
            assert np.all(np.isfinite(gradient)), path
            assert np.any(gradient) or not path.startswith(top), path


def layer(kernel: gk.Kernel | list[gk.Kernel], output_dim: int = 2) -> gi.layers.GPLayer:
    return gi.layers.GPLayer(kernel, output_dim, gi.posteriors.Prior())


class OtherLatents(gk.IndependentLatent):
    """A multi-output kernel that this library has never heard of."""

    num_latent_gps = 2
    latent_kernels = ()

    def Kgg(self, X, X2):
        raise AssertionError("must not be evaluated")

    K = K_diag = Kgg


@pytest.mark.parametrize(
    "make",
    [
        OtherLatents,
        lambda: [gk.Matern32(), OtherLatents()],
        lambda: gk.SharedIndependent(OtherLatents(), 2),
        lambda: gk.SeparateIndependent([gk.Matern32(), OtherLatents()]),
        lambda: gk.SharedIndependent(gk.SharedIndependent(gk.Matern32(), 2), 2),
    ],
    ids=["alone", "listed", "shared", "separate", "nested"],
)
def test_other_multioutput_kernels_are_refused(make: Callable) -> None:
    with pytest.raises(TypeError, match=r"OtherLatents|SharedIndependent"):
        layer(make())


@pytest.mark.parametrize("kernel", ["rbf", [gk.Matern32(), "rbf"], gk.Matern32])
def test_what_is_no_kernel_is_refused(kernel: object) -> None:
    with pytest.raises(TypeError, match="kernel must be"):
        layer(kernel)


@pytest.mark.parametrize(
    "kernel",
    [
        [gk.Matern32()] * 3,
        [],
        gk.SharedIndependent(gk.Matern32(), 3),
        gk.SeparateIndependent([gk.Matern32()]),
    ],
    ids=["three", "none", "shared", "separate"],
)
def test_wrong_number_of_kernels_is_refused(kernel: gk.Kernel | list[gk.Kernel]) -> None:
    with pytest.raises(ValueError, match=r"output_dim=2|2 kernels"):
        layer(kernel)


class OfPower(gpflow.kernels.Kernel):
    """A kernel with a constant."""

    def __init__(self, power):
        super().__init__()
        self.power = power

    def K(self, X, X2=None):
        X2 = X if X2 is None else X2
        return (tf.matmul(X, X2, transpose_b=True) + 1.0) ** self.power

    def K_diag(self, X):
        return (tf.reduce_sum(X * X, -1) + 1.0) ** self.power


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kernel", "name", "value"),
    [
        (OfPower(2), "power", 3),
        (gpflow.kernels.Polynomial(degree=2), "degree", 3),
        (gpflow.kernels.Periodic(gpflow.kernels.Matern32()), "active_dims", [1]),
        (gpflow.kernels.ArcCosine(order=0), "order", 2),
    ],
    ids=lambda one: type(one).__name__,
)
def test_a_change_of_a_kernels_constant_counts(kernel, name, value, rng):
    X = tf.constant(rng.normal(size=(12, 4, 2)))
    before = batched.covariance(kernel, X)
    setattr(kernel, name, value)
    after = batched.covariance(kernel, X)
    np.testing.assert_allclose(after, [kernel(one) for one in X], rtol=1e-12)
    assert np.max(np.abs(after - before)) > 1e-3
