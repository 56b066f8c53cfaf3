"""Every likelihood that GPflow has works with a deep model, or is refused with a clear error.

GPflow's likelihoods are made for [N, P]; deep models integrate them over samples as well. Each
class has a row in one of the tables below, and a test fails when GPflow brings one that is in none.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gpflow
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_probability as tfp
from gpflow import likelihoods as gl
from gpflow.kernels import Matern32

import gpflow_gi as gi
from gpflow_gi.core.random import standard_normal
from gpflow_gi.models import integration
from gpflow_gi.models.targets import check_targets

S, M, N, D = 3, 2, 4, 2


def positive(rng: np.random.Generator, P: int) -> np.ndarray:
    return rng.uniform(0.1, 0.9, size=(N, P))


def real(rng: np.random.Generator, P: int) -> np.ndarray:
    return rng.normal(size=(N, P))


def whole(upper: int) -> Callable[[np.random.Generator, int], np.ndarray]:
    return lambda rng, P: rng.integers(0, upper, size=(N, P))


def switched(rng: np.random.Generator, P: int) -> np.ndarray:
    return np.concatenate([real(rng, P - 1), whole(2)(rng, 1)], axis=1)


@dataclass(frozen=True)
class Case:
    """A likelihood, and targets that it is for."""

    make: Callable[[], gl.Likelihood]
    output_dim: int
    """P, the number of latent functions."""

    targets: Callable[[np.random.Generator, int], np.ndarray]
    """From a generator and Q to targets, [N, Q]."""

    target_columns: int
    """Q."""

    predicted_columns: int | None = None
    """Columns of predict_y, where these are not Q."""


def scalar(make: Callable, targets: Callable, P: int = 2) -> Case:
    return Case(make, P, targets, P)


def log_normal(F: tf.Tensor) -> tfp.distributions.Distribution:
    return tfp.distributions.LogNormal(F[..., :1], tf.nn.softplus(F[..., 1:]))


TESTED: dict[type, list[Case]] = {
    gl.Bernoulli: [
        scalar(gl.Bernoulli, whole(2)),
        scalar(lambda: gl.Bernoulli(invlink=tf.sigmoid), whole(2), 1),
    ],
    gl.Beta: [scalar(gl.Beta, positive)],
    gl.Exponential: [scalar(gl.Exponential, positive)],
    gl.Gamma: [scalar(gl.Gamma, positive)],
    gl.Gaussian: [
        scalar(lambda: gl.Gaussian(0.3), real),
        # Noise that depends on the inputs: X must arrive row by row.
        scalar(lambda: gl.Gaussian(scale=gpflow.functions.Linear([[0.2], [0.1]], 2.0)), real),
    ],
    gl.GaussianMC: [scalar(lambda: gl.GaussianMC(0.3), real)],
    gl.HeteroskedasticTFPConditional: [Case(gl.HeteroskedasticTFPConditional, 2, real, 1)],
    gl.MultiClass: [Case(lambda: gl.MultiClass(3), 3, whole(3), 1, 3)],
    gl.MultiLatentTFPConditional: [
        Case(lambda: gl.MultiLatentTFPConditional(2, log_normal), 2, positive, 1)
    ],
    gl.Poisson: [
        scalar(gl.Poisson, whole(4)),
        scalar(lambda: gl.Poisson(invlink=tf.nn.softplus), whole(4), 1),
    ],
    gl.Softmax: [Case(lambda: gl.Softmax(3), 3, whole(3), 1, 3)],
    gl.StudentT: [scalar(gl.StudentT, real)],
    gl.SwitchedLikelihood: [
        # GPflow predicts under every likelihood, since Y tells which one is meant.
        Case(lambda: gl.SwitchedLikelihood([gl.Gaussian(0.3), gl.StudentT()]), 2, switched, 3, 4)
    ],
}

# tf.math.erf(inf) is NaN in some versions of TensorFlow, and GPflow's Ordinal with it.
ORDINAL = scalar(lambda: gl.Ordinal(np.array([-0.5, 0.5])), whole(3))
ORDINAL_WORKS = bool(np.isfinite(tf.math.erf(tf.constant(np.inf, tf.float64))))
if ORDINAL_WORKS:
    TESTED[gl.Ordinal] = [ORDINAL]

REFUSED: dict[type, tuple[Case, str]] = (
    {} if ORDINAL_WORKS else {gl.Ordinal: (ORDINAL, "Ordinal likelihood is NaN with this version")}
)

# Not abstract for Python, though it has no density of its own.
BASES = {gl.MultiLatentLikelihood} if not inspect.isabstract(gl.MultiLatentLikelihood) else set()

EVERY_CASE = [
    pytest.param(case, id=f"{likelihood.__name__}{i or ''}")
    for likelihood, cases in TESTED.items()
    for i, case in enumerate(cases)
]


def test_every_likelihood_class_of_gpflow_is_in_a_table() -> None:
    exported = (getattr(gl, name) for name in gl.__all__)
    classes = {m for m in exported if inspect.isclass(m) and issubclass(m, gl.Likelihood)}
    concrete = {each for each in classes if not inspect.isabstract(each)}
    assert concrete == {*TESTED, *REFUSED, *BASES}


def deep_gp(case: Case, rng: np.random.Generator) -> gi.models.DeepGP:
    layers = [
        gi.layers.GPLayer(
            Matern32(),
            P,
            gi.posteriors.GlobalInducing(M, P, pseudo_outputs=rng.normal(size=(M, P))),
        )
        for P in (D, case.output_dim)
    ]
    return gi.models.DeepGP(
        layers, case.make(), num_data=2 * N, inducing_inputs=rng.normal(size=(M, D)), num_samples=S
    )


def data(case: Case, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    return rng.normal(size=(N, D)), case.targets(rng, case.target_columns)


def one_sample(
    likelihood: gl.Likelihood, integral: str, s: int, seed: tf.Tensor, X, mean, variance, *Y
) -> Any:
    """GPflow's own answer for sample s."""
    arguments = [X, mean[s], variance[s], *Y]
    if not isinstance(likelihood, gl.MonteCarloLikelihood):
        return getattr(likelihood, integral)(*arguments)
    # The same noise: that of all samples' rows, of which these are N.
    num_points, P = likelihood.num_monte_carlo_points, mean.shape[-1]
    noise = standard_normal([num_points, S, N, P], seed, mean.dtype)[:, s]
    return getattr(likelihood, "_" + integral)(*arguments, epsilon=noise)


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Compares every integral with GPflow's, sample by sample; keeps what came out."""
    results = {}

    def check(integral: str) -> None:
        of_all_samples = getattr(integration, integral)

        def both(likelihood, X, mean, variance, *Y_and_seed, missing=False) -> Any:
            assert not missing
            result = of_all_samples(likelihood, X, mean, variance, *Y_and_seed)
            *Y, seed = Y_and_seed
            assert mean.shape[:2] == [S, N]
            assert not np.allclose(mean[0], mean[1])
            for s in range(S):
                own = one_sample(likelihood, integral, s, seed, X, mean, variance, *Y)
                for all_samples, one in zip(*map(tf.nest.flatten, (result, own)), strict=True):
                    np.testing.assert_allclose(all_samples[s], one, rtol=1e-8, atol=1e-8)
            results[integral] = result
            return result

        monkeypatch.setattr(integration, integral, both)

    check("variational_expectations")
    check("predict_mean_and_var")
    check("predict_log_density")
    return results


@pytest.mark.slow
@pytest.mark.parametrize("case", EVERY_CASE)
def test_samples_are_integrated_one_by_one(
    case: Case, checked: dict[str, Any], rng: np.random.Generator
) -> None:
    model, (X, Y) = deep_gp(case, rng), data(case, rng)

    with tf.GradientTape() as tape:
        log_likelihood, kl = model.bound_terms((X, Y), seed=1)
        bound = log_likelihood - kl
    gradients = tape.gradient(bound, model.trainable_variables)
    assert all(gradient is not None and np.all(np.isfinite(gradient)) for gradient in gradients)
    expectations = checked["variational_expectations"]
    assert expectations.shape == [S, N]
    np.testing.assert_allclose(log_likelihood, 2 * np.sum(np.mean(expectations, axis=0)))

    mean, variance = model.predict_y(X, num_samples=S, seed=1)
    means, variances = checked["predict_mean_and_var"]
    Q = case.predicted_columns or case.target_columns
    assert mean.shape == variance.shape == [N, Q]
    np.testing.assert_allclose(mean, np.mean(means, axis=0))
    np.testing.assert_allclose(variance, np.mean(variances, axis=0) + np.var(means, axis=0))

    log_density = model.predict_log_density((X, Y), num_samples=S, seed=1)
    densities = np.exp(checked["predict_log_density"])
    assert log_density.shape == [N]
    np.testing.assert_allclose(log_density, np.log(np.mean(densities, axis=0)))


@pytest.mark.parametrize("likelihood_class", [gl.Softmax, gl.GaussianMC])
def test_monte_carlo_likelihoods_are_seeded(
    likelihood_class: type, rng: np.random.Generator
) -> None:
    case = TESTED[likelihood_class][0]
    model, (X, Y) = deep_gp(case, rng), data(case, rng)

    def numbers(seed: int) -> list[np.ndarray]:
        return [
            model.elbo((X, Y), seed=seed).numpy(),
            *(moment.numpy() for moment in model.predict_y(X, num_samples=2, seed=seed)),
            model.predict_log_density((X, Y), num_samples=2, seed=seed).numpy(),
        ]

    for first, same, other in zip(numbers(0), numbers(0), numbers(1), strict=True):
        np.testing.assert_array_equal(first, same)
        assert np.all(first != other)


@pytest.mark.longest
@pytest.mark.compiled
@pytest.mark.parametrize("likelihood_class", [gl.Softmax, gl.SwitchedLikelihood])
def test_eager_and_compiled_agree(likelihood_class: type, rng: np.random.Generator) -> None:
    case = TESTED[likelihood_class][0]
    model, (X, Y) = deep_gp(case, rng), data(case, rng)
    compiled = tf.function(lambda: model.elbo((X, Y), seed=1))
    np.testing.assert_allclose(compiled(), model.elbo((X, Y), seed=1), rtol=1e-10)


def test_monte_carlo_noise_integrates_the_likelihood(rng: np.random.Generator) -> None:
    """GaussianMC against the closed form of Gaussian, within the error of 20,000 points."""
    exact, sampled = gl.Gaussian(0.3), gl.GaussianMC(0.3)
    sampled.num_monte_carlo_points = 20_000
    X, Y = real(rng, D), real(rng, 1)
    mean, variance = (
        tf.constant(rng.normal(size=(S, N, 1))),
        tf.constant(rng.uniform(size=(S, N, 1))),
    )
    arguments, seed = (tf.constant(X), mean, variance), tf.constant([0, 1])
    expected, estimated = (
        integration.variational_expectations(likelihood, *arguments, tf.constant(Y), seed)
        for likelihood in (exact, sampled)
    )
    # log p is quadratic in f: Var[(y - f)^2 / 2 sigma^2] = (4 d^2 v + 2 v^2) / (2 sigma^2)^2.
    squares = tf.square(Y - mean)
    error = tf.sqrt((4 * squares * variance + 2 * variance**2) / (2 * 0.3) ** 2 / 20_000)[..., 0]
    assert np.all(np.abs(estimated - expected) < 5 * error)
    assert np.max(np.abs(estimated - expected) / error) > 0.1  # is not the closed form itself


@pytest.mark.parametrize("likelihood_class", REFUSED)
def test_refused_likelihoods(likelihood_class: type, rng: np.random.Generator) -> None:
    case, message = REFUSED[likelihood_class]
    with pytest.raises(ValueError, match=message):
        deep_gp(case, rng)


def test_ordinal_works_in_float32(rng: np.random.Generator) -> None:
    gpflow.config.set_default_float(np.float32)
    gpflow.config.set_default_jitter(1e-4)
    model, (X, Y) = deep_gp(ORDINAL, rng), data(ORDINAL, rng)
    bound = model.elbo((X, Y), seed=1)
    assert bound.dtype == tf.float32
    assert np.isfinite(bound)
    assert np.all(model.predict_log_density((X, Y), num_samples=S, seed=1) < 0)


def test_noise_that_no_seed_reaches_is_refused(rng: np.random.Generator) -> None:
    mixed = Case(lambda: gl.SwitchedLikelihood([gl.GaussianMC(), gl.StudentT()]), 1, switched, 2)
    with pytest.raises(ValueError, match="noise without a seed"):
        deep_gp(mixed, rng)


@pytest.mark.parametrize(
    ("case", "label"),
    [
        (TESTED[gl.Softmax][0], 3),
        (TESTED[gl.Softmax][0], -1),
        (TESTED[gl.Softmax][0], 0.5),
        (TESTED[gl.MultiClass][0], 3),
        (TESTED[gl.MultiClass][0], 1.5),
        (TESTED[gl.SwitchedLikelihood][0], 2),
    ],
)
def test_labels_out_of_range(case: Case, label: float, rng: np.random.Generator) -> None:
    model, (X, Y) = deep_gp(case, rng), data(case, rng)
    Y = Y.astype(float)
    Y[3, -1] = label
    for method in (model.elbo, model.training_loss_closure, model.predict_log_density):
        with pytest.raises(ValueError, match=rf"labels from 0 to \d in .* Y, but it holds {label}"):
            method((X, Y))


@pytest.mark.parametrize("dtype", [np.int64, np.float32, np.float64])
def test_labels_of_any_type(dtype: type, rng: np.random.Generator) -> None:
    case = TESTED[gl.Softmax][0]
    model, (X, Y) = deep_gp(case, rng), data(case, rng)
    np.testing.assert_array_equal(
        model.elbo((X, Y.astype(dtype)), seed=1), model.elbo((X, Y), seed=1)
    )


@pytest.mark.parametrize(
    "likelihood_class", [gl.Softmax, gl.MultiClass, gl.SwitchedLikelihood, gl.Bernoulli]
)
def test_wrong_number_of_target_columns(likelihood_class: type, rng: np.random.Generator) -> None:
    case = TESTED[likelihood_class][0]
    model, (X, Y) = deep_gp(case, rng), data(case, rng)
    with pytest.raises(ValueError, match=rf"Y has .* columns, but .* make it {Y.shape[1]}"):
        model.elbo((X, np.concatenate([Y, Y], axis=1)))


@pytest.mark.parametrize(
    "likelihood_class",
    [
        gl.Bernoulli,
        gl.HeteroskedasticTFPConditional,
        gl.MultiClass,
        gl.Softmax,
        gl.SwitchedLikelihood,
    ],
)
def test_built_models_have_the_latent_functions(
    likelihood_class: type, rng: np.random.Generator
) -> None:
    case = TESTED[likelihood_class][0]
    X, Y = data(case, rng)
    model = gi.architectures.build_deep_gp(X, Y, num_inducing=M, likelihood=case.make())
    assert model.layers[-1].output_dim == case.output_dim
    assert np.isfinite(model.elbo((X, Y), seed=0))


def test_chunks_of_predictions_count_the_points_of_integrals(rng: np.random.Generator) -> None:
    """A quadrature in two dimensions has 400 points, against which M = 2 is nothing."""
    model = deep_gp(TESTED[gl.HeteroskedasticTFPConditional][0], rng)
    assert model.width() == 2 * 400
    model = deep_gp(TESTED[gl.Softmax][0], rng)
    assert model.width() == 3 * 100


@pytest.mark.parametrize(
    ("likelihood", "right", "wrong"),
    [
        (gl.Bernoulli, ([0, 1], [1, 1], [-1, 1]), ([1, 2], [-1, 0], [0.5, 1])),
        (gl.Poisson, ([0, 3],), ([-1, 2], [0.5, 1])),
        (gl.Exponential, ([0, 0.5],), ([-0.1, 1],)),
        (gl.Gamma, ([0.1, 5],), ([0, 1],)),
        (gl.Beta, ([0.1, 0.9],), ([0, 0.5], [0.5, 1.5])),
    ],
)
def test_values_without_a_density_are_refused(likelihood, right, wrong):
    for values in (*right, [right[0][1], np.nan]):
        check_targets(likelihood(), np.array(values, float)[:, None], 1, missing=True)
    for values in wrong:
        with pytest.raises(ValueError, match=f"{likelihood.__name__} takes .* as targets, but Y"):
            check_targets(likelihood(), np.array(values, float)[:, None], 1)


def test_values_of_each_part_of_a_switched_likelihood():
    switch = gl.SwitchedLikelihood([gl.Gaussian(), gl.Poisson(), gl.Bernoulli()])
    check_targets(switch, np.array([[-0.5, 0.0], [3.0, 1.0], [1.0, 2.0]]), 1)
    for row, words in (([-1.0, 1.0], "Poisson takes whole"), ([0.3, 2.0], "Bernoulli takes 0")):
        with pytest.raises(ValueError, match=words):
            check_targets(switch, np.array([[-0.5, 0.0], row]), 1)
    bins = gl.SwitchedLikelihood([gl.Gaussian(), gl.Ordinal(np.array([0.0, 1.0]))])
    with pytest.raises(ValueError, match="Ordinal takes labels from 0 to 2"):
        check_targets(bins, np.array([[-0.5, 0.0], [3.0, 1.0]]), 1)


class SoftLabels(gl.Bernoulli):
    def _scalar_log_prob(self, X, F, Y):
        p = self.invlink(F)
        return Y * tf.math.log(p) + (1 - Y) * tf.math.log1p(-p)


def test_values_are_those_of_each_column_and_of_gpflows_densities():
    check_targets(gl.Bernoulli(), np.array([[0.0, -1.0], [1.0, 1.0]]), 2)
    check_targets(gl.Bernoulli(), np.zeros((0, 1)), 1)
    check_targets(SoftLabels(), np.array([[0.3]]), 1)


@pytest.mark.parametrize("df", [gpflow.Parameter(3.0), gpflow.Parameter(1.5), [3.0, 2.0]])
def test_degrees_of_freedom_that_are_trained_or_differ(df, rng):
    q = gi.posteriors.LocalInducing(rng.normal(size=(4, 2)), 2)
    layer = gi.layers.GPLayer(gpflow.kernels.SquaredExponential(), 2, q)
    likelihood = gl.StudentT(scale=0.5, df=df if isinstance(df, gpflow.Parameter) else np.array(df))
    model = gi.models.DeepGP([layer], likelihood, num_data=5)
    df = np.broadcast_to(df, 2)
    with np.errstate(divide="ignore"):
        expected = np.where(df > 2, 1.0 + 0.25 * df / (df - 2.0), np.inf)
    variance = model.predict_y(rng.normal(size=(3, 2)))[1]
    np.testing.assert_allclose(variance, np.tile(expected, (3, 1)), rtol=1e-12)


@pytest.mark.parametrize("df", [0.8, 2.0, 3.0])
def test_a_student_t_of_few_degrees_of_freedom_has_no_variance(df, rng):
    q = gi.posteriors.LocalInducing(rng.normal(size=(4, 2)), 1)
    layer = gi.layers.GPLayer(gpflow.kernels.SquaredExponential(), 1, q)
    model = gi.models.DeepGP([layer], gl.StudentT(scale=0.5, df=df), num_data=5)
    X = rng.normal(size=(3, 2))
    expected = 1.0 + 0.25 * 3.0 if df == 3.0 else np.inf
    for one in (model, model.posterior(2)):
        mean, variance = one.predict_y(X)
        np.testing.assert_allclose(variance, np.full((3, 1), expected), rtol=1e-12)
        assert np.all(np.isfinite(mean))
