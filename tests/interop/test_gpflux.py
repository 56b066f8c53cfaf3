import importlib
import sys

import gpflow
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_probability as tfp
from gpflow.inducing_variables import (
    InducingPoints,
    Multiscale,
    SeparateIndependentInducingVariables,
    SharedIndependentInducingVariables,
)
from gpflow.keras import tf_keras
from gpflow.kernels import (
    LinearCoregionalization,
    Matern52,
    SeparateIndependent,
    SharedIndependent,
    SquaredExponential,
)
from gpflow.likelihoods import Gaussian

import gpflow_gi as gi

from ..builders import TwoDense, mean_and_standard_error, random_q_sqrt

gpflux = pytest.importorskip("gpflux")

N, M, D = 8, 5, 2


@pytest.fixture(autouse=True)
def _small_jitter():
    # GPflow's jitter is absolute, ours relative to the kernel's variance.
    gpflow.config.set_default_jitter(1e-11)


def random_kernel(rng, input_dim=D, family=SquaredExponential):
    return family(rng.uniform(0.5, 1.5), lengthscales=rng.uniform(0.8, 1.5, input_dim))


def shared_kernel(rng, output_dim, input_dim=D):
    return gpflux.helpers.construct_basic_kernel(
        random_kernel(rng, input_dim), output_dim, share_hyperparams=True
    )


def shared_points(rng, input_dim=D):
    return gpflux.helpers.construct_basic_inducing_variables(
        M, input_dim, share_variables=True, z_init=rng.normal(size=(M, input_dim))
    )


def random_layer(rng, output_dim, *, input_dim=D, kernel=None, points=None, **kwargs):
    mean_function = kwargs.pop("mean_function", None) or gpflow.functions.Linear(
        rng.normal(size=(input_dim, output_dim)), rng.normal(size=output_dim)
    )
    layer = gpflux.layers.GPLayer(
        kernel or shared_kernel(rng, output_dim, input_dim),
        points or shared_points(rng, input_dim),
        N,
        mean_function=mean_function,
        verbose=False,
        **kwargs,
    )
    layer.q_mu.assign(rng.normal(size=(M, output_dim)))
    layer.q_sqrt.assign(random_q_sqrt(rng, output_dim, M))
    return layer


def deep_gp(*layers):
    return gpflux.models.DeepGP(list(layers), Gaussian(0.5))


def random_data(rng, P=1):
    return rng.normal(size=(N, D)), rng.normal(size=(N, P))


# ------------------------------------------------------------------------------- the mathematics


def two_layers(rng, num_samples=None):
    return deep_gp(random_layer(rng, 2, num_samples=num_samples), random_layer(rng, 1))


@pytest.mark.slow
@pytest.mark.longest
def test_two_layers_give_the_same_bound_in_expectation(rng):
    tf.random.set_seed(0)
    S, repeats = 4000, 12
    model, data = two_layers(rng, num_samples=S), random_data(rng)
    converted = gi.interop.from_gpflux(model)
    assert converted.num_samples == S

    theirs, their_error = mean_and_standard_error([model.elbo(data) for _ in range(repeats)])
    ours, our_error = mean_and_standard_error(
        [converted.elbo(data, seed=i) for i in range(repeats)]
    )
    error = np.hypot(their_error, our_error)
    assert error < 3e-3 * abs(theirs)  # small enough for a wrong bound to fail
    assert abs(ours - theirs) < 4.5 * error


@pytest.mark.slow
def test_two_layers_give_the_same_predictions_in_expectation(rng):
    tf.random.set_seed(0)
    S, repeats = 1000, 10
    model, (X, _) = two_layers(rng, num_samples=S), random_data(rng)
    converted = gi.interop.from_gpflux(model)

    def raw_moments(mean, variance):
        return np.stack([mean, variance + mean**2])

    theirs, their_error = mean_and_standard_error(
        [np.mean(raw_moments(*map(np.asarray, model.predict_f(X))), 1) for _ in range(repeats)]
    )
    ours, our_error = mean_and_standard_error(
        [raw_moments(*converted.predict_f(X, num_samples=S, seed=i)) for i in range(repeats)]
    )
    np.testing.assert_array_less(np.abs(ours - theirs), 5 * np.hypot(their_error, our_error))


def plain_points(rng):
    return InducingPoints(rng.normal(size=(M, D)))


def separate_points(rng, equal=True):
    Z = rng.normal(size=(M, D))
    other = Z if equal else Z + np.eye(M, D)
    return SeparateIndependentInducingVariables([InducingPoints(Z), InducingPoints(other)])


def separate_kernels(rng):
    return SeparateIndependent([random_kernel(rng), random_kernel(rng, family=Matern52)])


ONE_LAYER = {
    "shared kernel": lambda rng: random_layer(rng, 2),
    "separate kernels": lambda rng: random_layer(rng, 2, kernel=separate_kernels(rng)),
    "helper's separate kernels": lambda rng: random_layer(
        rng, 2, kernel=gpflux.helpers.construct_basic_kernel(random_kernel(rng), 2)
    ),
    "separate but equal inputs": lambda rng: random_layer(rng, 2, points=separate_points(rng)),
    "plain inducing points": lambda rng: random_layer(
        rng, 2, kernel=random_kernel(rng), points=plain_points(rng), num_latent_gps=2
    ),
    "identity mean": lambda rng: random_layer(rng, 2, mean_function=gpflow.functions.Identity()),
    "zero mean": lambda rng: random_layer(rng, 2, mean_function=gpflow.functions.Zero()),
    "not whitened": lambda rng: random_layer(rng, 2, whiten=False),
    "not whitened, separate kernels": lambda rng: random_layer(
        rng, 2, kernel=separate_kernels(rng), whiten=False
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("build", ONE_LAYER.values(), ids=ONE_LAYER)
def test_one_layer_is_equal(build, rng):
    model, (X, Y) = deep_gp(build(rng)), random_data(rng, P=2)
    converted = gi.interop.from_gpflux(model)

    for rows in (slice(None), slice(3)):  # all data and a minibatch
        batch = X[rows], Y[rows]
        np.testing.assert_allclose(converted.elbo(batch), model.elbo(batch), rtol=1e-7)
    new = rng.normal(size=(4, D))
    prediction = model.call(new)
    for ours, theirs in zip(
        (*converted.predict_f(new), *converted.predict_y(new)),
        (prediction.f_mean, prediction.f_var, prediction.y_mean, prediction.y_var),
        strict=True,
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-7, atol=1e-7)


def test_not_whitened_layers_agree_at_the_default_jitter(rng):
    # With a kernel variance of one, the absolute jitter and the relative one are the same.
    gpflow.config.set_default_jitter(1e-3)
    kernel = SharedIndependent(SquaredExponential(), 1)
    model, data = deep_gp(random_layer(rng, 1, kernel=kernel, whiten=False)), random_data(rng)
    np.testing.assert_allclose(gi.interop.from_gpflux(model).elbo(data), model.elbo(data))


def test_keras_layers_are_applied_in_between(rng):
    layers = [
        tf_keras.layers.Dense(3, activation="tanh", dtype="float64"),
        tf_keras.layers.Lambda(lambda X: 2.0 * X, dtype="float64"),
        random_layer(rng, 1, input_dim=3),
    ]
    model, data = deep_gp(*layers), random_data(rng)
    bound = model.elbo(data)
    np.testing.assert_allclose(gi.interop.from_gpflux(model).elbo(data), bound, rtol=1e-7)


# ---------------------------------------------------------------------------- what is carried over


def test_trainable_flags_are_carried_over(rng):
    first, last = random_layer(rng, 2), random_layer(rng, 1)
    dense = tf_keras.layers.Dense(2, dtype="float64", trainable=False)
    model = deep_gp(first, dense, last)
    model.elbo(random_data(rng))
    gpflow.set_trainable(first.q_mu, False)
    gpflow.set_trainable(first.kernel.kernel.lengthscales, False)
    gpflow.set_trainable(first.mean_function, False)
    gpflow.set_trainable(last.q_sqrt, False)
    gpflow.set_trainable(last.inducing_variable, False)
    gpflow.set_trainable(model.likelihood_layer.likelihood, False)

    converted = gi.interop.from_gpflux(model)
    layers = converted.layers
    assert [layer.posterior.q_mu.trainable for layer in layers[::2]] == [False, True]
    assert [layer.posterior.q_sqrt.trainable for layer in layers[::2]] == [True, False]
    assert [layer.posterior.inducing_inputs.trainable for layer in layers[::2]] == [True, False]
    assert not layers[0].kernel.kernel.lengthscales.trainable
    assert layers[0].kernel.kernel.variance.trainable
    assert not layers[0].mean_function.A.trainable
    assert layers[2].mean_function.A.trainable
    assert not layers[1].function.trainable_weights
    assert not converted.likelihood.variance.trainable
    # GPflux trains the kernel and the bias of the dense layer, which says that it is not to be.
    trained = {variable.ref() for variable in model.trainable_variables}
    frozen = {variable.ref() for variable in dense.weights}
    assert len(converted.trainable_variables) == len(trained - frozen) == len(trained) - 2


@pytest.mark.slow
def test_models_share_nothing(rng):
    dense = tf_keras.layers.Dense(2, dtype="float64")
    model = deep_gp(random_layer(rng, 2), dense, random_layer(rng, 1))
    data = random_data(rng)
    model.elbo(data)
    model.as_training_model()  # as its users do, and after which Keras layers cannot be deep-copied
    converted = gi.interop.from_gpflux(model)
    before = converted.elbo(data, seed=0)
    for variable in model.trainable_variables:
        variable.assign(variable + 0.1)
    assert converted.elbo(data, seed=0) == before


def test_a_kernel_that_layers_share_stays_shared(rng):
    kernel = SharedIndependent(random_kernel(rng), 2)
    model = deep_gp(random_layer(rng, 2, kernel=kernel), random_layer(rng, 2, kernel=kernel))
    first, last = gi.interop.from_gpflux(model).layers
    assert first.kernel is last.kernel
    assert first.kernel is not kernel


def test_default_number_of_samples(rng):
    assert gi.interop.from_gpflux(two_layers(rng)).num_samples == 1


# ------------------------------------------------------------------------------------ the failures


class _Subclass(gpflux.layers.GPLayer):
    pass


def _latent_variables(rng):
    prior = tfp.distributions.MultivariateNormalDiag(np.zeros(1))
    encoder = gpflux.encoders.DirectlyParameterizedNormalDiag(N, 1)
    return gpflux.layers.LatentVariableLayer(prior, encoder)


def _linear_coregionalization(rng):
    return LinearCoregionalization(
        [random_kernel(rng), random_kernel(rng)], rng.normal(size=(2, 2))
    )


def _multiscale(rng):
    points = Multiscale(rng.normal(size=(M, D)), np.ones((M, D)))
    return SharedIndependentInducingVariables(points)


REFUSED = {
    "latent variables": (_latent_variables, TypeError, "LatentVariableLayer.*no counterpart"),
    "Bayesian dense layer": (
        lambda rng: gpflux.layers.BayesianDenseLayer(2, 2, N),
        TypeError,
        "BayesianDenseLayer.*no counterpart",
    ),
    "subclass": (
        lambda rng: _Subclass(shared_kernel(rng, 2), shared_points(rng), N, verbose=False),
        TypeError,
        "_Subclass.*no counterpart",
    ),
    "mixed outputs": (
        lambda rng: random_layer(rng, 2, kernel=_linear_coregionalization(rng)),
        TypeError,
        "LinearCoregionalization, whose outputs are not independent",
    ),
    "interdomain": (
        lambda rng: random_layer(rng, 2, points=_multiscale(rng)),
        TypeError,
        "inducing variables of type Multiscale",
    ),
    "different inputs": (
        lambda rng: random_layer(rng, 2, points=separate_points(rng, equal=False)),
        ValueError,
        "those of outputs 0 and 1 differ",
    ),
    "dropout": (
        lambda rng: tf_keras.Sequential([tf_keras.layers.Dropout(0.5)]),
        TypeError,
        "Dropout does something else in training",
    ),
    "batch normalisation": (
        lambda rng: tf_keras.layers.BatchNormalization(),
        TypeError,
        "BatchNormalization does something else in training",
    ),
    "a layer never used": (
        lambda rng: tf_keras.layers.Dense(2),
        ValueError,
        "never used",
    ),
}


@pytest.mark.parametrize(("build", "error", "message"), REFUSED.values(), ids=REFUSED)
def test_what_has_no_counterpart_is_refused(build, error, message, rng):
    model = deep_gp(random_layer(rng, 2), build(rng), random_layer(rng, 1))
    with pytest.raises(error, match=rf"^f_layers\[1\].*{message}"):
        gi.interop.from_gpflux(model)


def test_regularised_layer_is_refused(rng):
    dense = tf_keras.layers.Dense(2, kernel_regularizer="l2", dtype="float64")
    model = deep_gp(dense, random_layer(rng, 1))
    model.elbo(random_data(rng))
    with pytest.raises(ValueError, match=r"^f_layers\[0\] \(Dense .*adds a loss of its own"):
        gi.interop.from_gpflux(model)


def test_other_objects_are_refused(rng):
    with pytest.raises(TypeError, match=r"must be a gpflux.models.DeepGP, but is a Functional"):
        gi.interop.from_gpflux(deep_gp(random_layer(rng, 1)).as_training_model())


def test_missing_gpflux(monkeypatch):
    monkeypatch.setitem(sys.modules, "gpflux", None)
    importlib.reload(gi.interop.gpflux)  # importing the module does not import GPflux
    with pytest.raises(ImportError, match=r"pip install 'gpflow-gi\[gpflux\]'"):
        gi.interop.from_gpflux(None)


@pytest.mark.parametrize("frozen", [None, "a", "b"])
def test_a_layer_of_which_a_part_is_frozen(frozen, rng):
    two = TwoDense()
    model, data = deep_gp(two, random_layer(rng, 1)), random_data(rng)
    model.elbo(data)
    if frozen is not None:
        getattr(two, frozen).trainable = False
    converted = gi.interop.from_gpflux(model)
    np.testing.assert_allclose(converted.elbo(data), model.elbo(data), rtol=1e-7)
    copy = converted.layers[0].function
    assert [part.trainable for part in (copy.a, copy.b)] == [frozen != name for name in "ab"]
