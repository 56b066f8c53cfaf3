"""Families of densities over all weights: exact densities, limits, and their search."""

import math

import gpflow
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_probability as tfp
from scipy import integrate

import gpflow_gi as gi
from gpflow_gi.core.random import as_seed
from gpflow_gi.inference import (
    Dropout,
    Flow,
    Gaussian,
    InverseAutoregressive,
    Mixture,
    NeuralAutoregressive,
    Planar,
    Radial,
    RadialStep,
    Target,
    map_estimate,
    variational,
)
from gpflow_gi.inference.radial import log_sphere
from gpflow_gi.layers import DenseLayer, Residual
from gpflow_gi.models import DeepGP, NoDensityError
from gpflow_gi.posteriors import Prior

from .test_weight_posteriors import NOISE, N, data, exact, network  # noqa: F401

SIZE = 4


def steps_of(size):
    return {
        "planar": Planar(size, as_seed(1)),
        "radial": RadialStep(size, as_seed(1)),
        "inverse autoregressive": InverseAutoregressive(size, 6, as_seed(1)),
        "neural autoregressive": NeuralAutoregressive(size, 6, 5, as_seed(1)),
    }


def disturb(module, rng):
    for variable in module.trainable_variables:
        variable.assign_add(rng.normal(size=variable.shape))


def normal_target(size=SIZE, mean=0.0, scale=1.0):
    """log N(theta; mean, scale^2 I) + 1: the log evidence is 1."""

    def log_prob(theta):
        z = (theta - mean) / scale
        log_det = size * math.log(scale)
        return 1.0 - 0.5 * tf.reduce_sum(z**2 + math.log(2 * math.pi), axis=1) - log_det

    return Target(size, log_prob)


@pytest.mark.parametrize("size", [1, SIZE])
@pytest.mark.parametrize("name", list(steps_of(1)))
def test_log_determinants_are_those_of_the_jacobian(name, size, rng):
    step = steps_of(size)[name]
    disturb(step, rng)
    z = tf.constant(rng.normal(size=(5, size)))
    with tf.GradientTape() as tape:
        tape.watch(z)
        values, log_det = step(z)
    jacobian = tape.batch_jacobian(values, z)
    np.testing.assert_allclose(log_det, np.linalg.slogdet(jacobian)[1], rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("name", ["inverse autoregressive", "neural autoregressive"])
def test_a_coordinate_moves_by_those_before_it(name, rng):
    step = steps_of(SIZE)[name]
    disturb(step, rng)
    z = tf.constant(rng.normal(size=(1, SIZE)))
    with tf.GradientTape() as tape:
        tape.watch(z)
        values = tf.reverse(step(z)[0], [1])
    jacobian = tape.batch_jacobian(values, z)[0].numpy()
    np.testing.assert_array_equal(np.triu(jacobian, 1), 0.0)
    assert np.all(jacobian[np.tril_indices(SIZE)] != 0.0)
    assert np.all(np.diag(jacobian) > 0.0)


def test_without_steps_a_flow_is_a_factorised_gaussian(rng):
    mean, scale = rng.normal(size=SIZE), rng.uniform(0.5, 2.0, SIZE)
    theta, log_q = Flow(normal_target(), mean, scale, []).sample(6, as_seed(0))
    expected = tfp.distributions.MultivariateNormalDiag(mean, scale).log_prob(theta)
    np.testing.assert_allclose(log_q, expected)


@pytest.mark.parametrize("size", [1, 2, 3, 10])
def test_the_radial_density_is_one_of_distance_and_direction(size, rng):
    """In D dimensions q(rho) is that of |r|, half a normal, at every direction."""
    scale = rng.uniform(0.5, 2.0, size)
    q = Radial(normal_target(size), np.zeros(size), scale)
    direction = rng.normal(size=size)
    direction /= np.linalg.norm(direction)

    def of_distance(rho):
        log_q = q.log_density(tf.constant((scale * rho * direction)[None]))[0]
        return (
            float(tf.exp(log_q)) * np.prod(scale) * math.exp(log_sphere(size)) * rho ** (size - 1)
        )

    mass, _ = integrate.quad(of_distance, 1e-9, 10.0)
    second, _ = integrate.quad(lambda rho: rho**2 * of_distance(rho), 1e-9, 10.0)
    np.testing.assert_allclose([mass, second], 1.0, rtol=1e-6)
    theta, log_q = q.sample(5, as_seed(0))
    np.testing.assert_allclose(q.log_density(theta), log_q)


def test_the_radial_entropy():
    """-1.752 at D = 10 and scale 1."""
    q = Radial(normal_target(10), np.zeros(10), np.ones(10))
    _, log_q = q.sample(100_000, as_seed(0))
    entropy, error = -np.mean(log_q), np.std(log_q) / math.sqrt(100_000)
    # E log rho of half a normal is -(Euler's gamma + log 2) / 2.
    exact = 0.5 * math.log(2 * math.pi * math.e) - math.log(2) + log_sphere(10)
    exact -= 9 * 0.5 * (np.euler_gamma + math.log(2))
    assert abs(exact + 1.752) < 5e-4
    assert abs(entropy - exact) < 4 * error


def test_each_layer_is_a_block_of_a_radial_posterior(rng):
    layers = [DenseLayer(2, 3, Prior()), tf.nn.tanh, DenseLayer(3, 1, Prior())]
    model = DeepGP(layers, gpflow.likelihoods.Gaussian(), num_data=5)
    q = Radial(model, np.zeros(13), np.ones(13))
    theta = q.sample(2000, as_seed(0))[0].numpy()
    for block in (theta[:, :9], theta[:, 9:]):
        squares = np.sum(block**2, axis=1)  # r^2, with mean 1 and variance 2
        assert abs(squares.mean() - 1.0) < 5 * math.sqrt(2 / 2000)


@pytest.mark.parametrize("family", ["full-rank", "low-rank"])
def test_in_a_linear_model_the_bound_is_the_evidence(network, data, family):  # noqa: F811
    mean, _, evidence = exact(data)
    found = variational(network, data, family, rank=3, steps=1500, learning_rate=0.03)
    np.testing.assert_allclose(found.model.mean, mean, atol=0.02)
    bound = gi.bounds.estimate_elbo(found.model, data, 100)
    assert evidence - 0.02 < bound.value < evidence + 4 * bound.standard_error
    assert found.model.k_hat(data, 500, seed=0) < 0.7


def test_minibatches_and_the_noise_variance(network, data):  # noqa: F811
    found = variational(network, data, "mean-field", steps=800, batch_size=4, train_likelihood=True)
    assert found.objective.shape == (800,)
    assert float(network.likelihood.variance.numpy()) == pytest.approx(NOISE)
    assert float(found.model.likelihood.variance.numpy()) != pytest.approx(NOISE)


@pytest.mark.slow
@pytest.mark.parametrize(
    "family",
    [
        "mean-field",
        "radial",
        "planar",
        "radial-flow",
        pytest.param("inverse-autoregressive", marks=pytest.mark.slow),
        pytest.param("neural-autoregressive", marks=pytest.mark.slow),
    ],
)
def test_a_normal_target_is_found_by_every_family(family):
    """The evidence is 1. A radial posterior is no Gaussian; its best scale is the double."""
    target = normal_target(mean=0.5, scale=2.0)
    found = variational(target, family=family, steps=800, learning_rate=0.05, width=8, flow_steps=2)
    weights = found.model.log_importance_weights(None, 2000, seed=0).numpy()
    elbo, error = weights.mean(), weights.std() / math.sqrt(2000)
    best = 1.0
    if family == "radial":
        # 1 + H[q] + E log p, with E r^2 = 1 and E log rho = -(Euler's gamma + log 2) / 2
        best += 0.5 * math.log(2 * math.pi * math.e) + math.log(8) + log_sphere(SIZE)
        best += -1.5 * (np.euler_gamma + math.log(2)) - 2.0 - 2 * math.log(2 * math.pi)
    assert best - 0.03 - 4 * error < elbo < best + 4 * error
    assert float(found.model.elbo(None, 2000, seed=0)) == pytest.approx(elbo)
    assert elbo <= float(found.model.iwbo(None, 2000, seed=0)) < 1.1
    again = variational(target, family=family, steps=800, learning_rate=0.05, width=8, flow_steps=2)
    # On several threads TensorFlow rounds the sums of the largest family in varying order.
    atol = 1e-10 if family == "neural-autoregressive" else 0.0
    np.testing.assert_allclose(again.objective, found.objective, rtol=0.0, atol=atol)


@pytest.mark.slow
def test_a_mixture_finds_two_modes():
    def log_prob(theta):
        modes = [-0.5 * tf.reduce_sum((theta - m) ** 2, axis=1) for m in (-4.0, 4.0)]
        return tf.reduce_logsumexp(modes, axis=0) - math.log(2 * 2 * math.pi)

    target = Target(2, log_prob)
    one = variational(target, family="mean-field", steps=600, learning_rate=0.05, seed=1)
    both = variational(target, family=["mean-field"] * 4, steps=600, learning_rate=0.05, seed=1)
    assert isinstance(both.model, Mixture)
    assert float(one.model.elbo(None, 1000, seed=0)) == pytest.approx(-math.log(2), abs=0.05)
    assert float(both.model.elbo(None, 1000, seed=0)) > -0.1


def test_every_component_of_a_mixture_has_the_trained_noise(network, data):  # noqa: F811
    found = variational(network, data, ["mean-field"] * 3, steps=50, train_likelihood=True)
    trained = found.model.likelihood.variance.numpy()
    assert trained != pytest.approx(NOISE, rel=0.01)
    for component in found.model.components:
        np.testing.assert_array_equal(component.likelihood.variance.numpy(), trained)
    again = Mixture(found.model.components)  # refuses networks that differ
    assert float(again.elbo(data, 10, seed=0)) == float(found.model.elbo(data, 10, seed=0))


def test_a_target_from_a_joint_distribution():
    """y | m ~ N(m, s^2), m ~ N(0, 1), log s ~ N(0, 1): against the density written out."""
    tfd = tfp.distributions
    Y = np.array([0.5, -1.0, 2.0])
    joint = tfd.JointDistributionNamedAutoBatched(
        {
            "m": tfd.Normal(np.float64(0.0), 1.0),
            "s": tfd.LogNormal(np.float64(0.0), 1.0),
            "y": lambda m, s: tfd.Sample(tfd.Normal(m, s), 3),
        }
    )
    target = Target.from_joint_distribution(joint, {"y": Y})
    assert target.size == 2
    values = target.log_prob(tf.constant([[0.3, -0.2], [1.0, 0.4]], tf.float64)).numpy()
    # The joint distribution's bijector for s > 0 is its own: compare ratios at equal s.
    same = target.log_prob(tf.constant([[0.3, -0.2], [0.9, -0.2]], tf.float64)).numpy()
    pinned = joint.experimental_pin(y=Y)
    bijector = pinned.experimental_default_event_space_bijector()
    s = bijector.forward({"m": np.float64(0.3), "s": np.float64(-0.2)})["s"].numpy()
    log = lambda m: -0.5 * m**2 - 0.5 * np.sum((Y - m) ** 2) / s**2  # noqa: E731
    np.testing.assert_allclose(same[1] - same[0], log(0.9) - log(0.3))
    assert np.all(np.isfinite(values))
    # Over all theta the density integrates to p(y): the Jacobian is in it.
    grid = np.linspace(-8.0, 8.0, 161)
    points = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
    mass = np.sum(np.exp(target.log_prob(tf.constant(points)).numpy())) * (grid[1] - grid[0]) ** 2
    draws = np.random.default_rng(0).normal(size=(2, 200_000, 1))
    m, s = draws[0], np.exp(draws[1])
    likelihood = np.prod(np.exp(-0.5 * ((Y - m) / s) ** 2) / s / math.sqrt(2 * math.pi), axis=1)
    assert abs(mass - likelihood.mean()) < 5 * likelihood.std() / math.sqrt(200_000)


@pytest.mark.parametrize("counts", [(1.0, 2.0), (1.0, 2.0, 3.0)])
def test_a_target_of_probabilities_has_the_evidence_of_its_counts(counts):
    """Counts given probabilities from a Dirichlet: their evidence is known."""
    tfd = tfp.distributions
    alpha, total = np.arange(2.0, 2.0 + len(counts)), sum(counts)
    joint = tfd.JointDistributionNamed(
        {"p": tfd.Dirichlet(alpha), "x": lambda p: tfd.Multinomial(np.float64(total), probs=p)}
    )
    target = Target.from_joint_distribution(joint, {"x": np.array(counts)})
    grid = np.linspace(-12.0, 12.0, 401)
    axes = np.meshgrid(*[grid] * target.size)
    theta = tf.constant(np.stack(axes, axis=-1).reshape(-1, target.size))
    cell = (grid[1] - grid[0]) ** target.size
    evidence = np.log(np.sum(np.exp(target.log_prob(theta))) * cell)
    exact = tfd.DirichletMultinomial(np.float64(total), alpha).log_prob(np.array(counts))
    np.testing.assert_allclose(evidence, exact, rtol=1e-4)


def test_dropout_sets_units_to_zero(rng):
    layers = [DenseLayer(2, 3, Prior()), tf.nn.tanh, DenseLayer(3, 2, Prior())]
    model = DeepGP(layers, gpflow.likelihoods.Gaussian(), num_data=5)
    mean = rng.normal(size=9 + 8)
    q = Dropout(model, mean, 0.3)
    theta, log_q = q.sample(4000, as_seed(0))
    assert log_q is None
    kept = theta.numpy() != 0.0
    assert kept[:, :9].all() and kept[:, 15:].all()  # the first layer, and the biases
    units = kept[:, 9:15].reshape(-1, 3, 2)
    np.testing.assert_array_equal(units[..., 0], units[..., 1])
    share = units[..., 0].mean(axis=0)
    assert np.all(np.abs(share - 0.7) < 5 * math.sqrt(0.3 * 0.7 / 4000))
    X = rng.normal(size=(5, 2))
    with pytest.raises(NoDensityError, match="finite set"):
        q.elbo((X, X))
    found = variational(model, (X, X), "dropout", steps=20)
    assert np.all(np.isfinite(found.model.predict_y(X, 10, seed=0)[1]))


@pytest.mark.slow
@pytest.mark.parametrize("family", ["radial", "planar", "neural-autoregressive", "dropout"])
def test_files_keep_them(network, data, family, tmp_path):  # noqa: F811
    model = network
    if family == "dropout":
        layers = [DenseLayer(2, 3, Prior()), tf.nn.tanh, DenseLayer(3, 1, Prior())]
        model = DeepGP(layers, gpflow.likelihoods.Gaussian(NOISE), num_data=N)
    found = variational(model, data, family, steps=3, width=4, flow_steps=2)
    gi.save(found.model, tmp_path / "model.gpflow_gi")
    again = gi.load(tmp_path / "model.gpflow_gi")
    for one, other in zip(
        again.predict_y(data[0], 4, seed=0), found.model.predict_y(data[0], 4, seed=0), strict=True
    ):
        np.testing.assert_array_equal(one, other)
    if family != "dropout":
        gi.fit(again, data, steps=3, progress=False)  # what was found can be trained further


def test_errors(network, data):  # noqa: F811
    target = normal_target()
    with pytest.raises(ValueError, match=r"family must be one of mean-field, .* but is 'flow'"):
        variational(target, family="flow")
    with pytest.raises(ValueError, match="planar cannot be in a mixture: The density of a flow"):
        variational(target, family=["planar", "mean-field"])
    with pytest.raises(ValueError, match="data must be None for a target"):
        variational(target, data)
    with pytest.raises(ValueError, match="data must be X and Y"):
        variational(network)
    with pytest.raises(TypeError, match="or a target with a size and a function log_prob"):
        variational("network", data)
    with pytest.raises(ValueError, match="Lower the learning rate"):
        variational(Target(1, lambda theta: theta[:, 0] ** 4), steps=200, learning_rate=1.0)
    with pytest.raises(ValueError, match=r"must return \[S\] .* but returns \[2, 1\]"):
        Target(1, lambda theta: theta)
    with pytest.raises(ValueError, match=r"log_prob failed .* says: no"):
        Target(1, failing)
    found = variational(target, steps=2)
    with pytest.raises(ValueError, match="has no inputs and no predictions"):
        found.model.predict_f(np.zeros((2, 2)))
    with pytest.raises(ValueError, match="scale must have positive entries, but the least is -1"):
        Radial(target, np.zeros(SIZE), -np.ones(SIZE))


def failing(theta):
    raise RuntimeError("no")


def test_a_root_that_is_nearly_singular_gives_no_false_bound():
    """Its density is that of the draws it is made from, not of an inverse that has lost them."""
    L = 60
    root = np.tril(np.random.default_rng(0).normal(size=(L, L)), -1) + 1e-2 * np.eye(L)
    assert np.linalg.cond(root) > 1e18
    q = Gaussian(normal_target(L), np.zeros(L), root)
    _, log_q = q.sample(100, as_seed(0))
    entropy = 0.5 * L * math.log(2 * math.pi * math.e) + L * math.log(1e-2)
    assert abs(-np.mean(log_q) - entropy) < 5 * math.sqrt(L / 2 / 100)
    assert float(q.elbo(None, 100, seed=0)) < 1.0
    # With a diagonal that is small beside the root, too.
    q = Gaussian(normal_target(L), np.zeros(L), root, np.full(L, 1e-5))
    assert float(q.elbo(None, 100, seed=0)) < 1.0


@pytest.mark.parametrize("width", [1, 3, 8, 30])
def test_narrow_networks_see_every_coordinate_but_the_last(width, rng):
    """Of a unit's degree d, coordinates after d see those up to d."""
    size = 20
    step = InverseAutoregressive(size, width, as_seed(1))
    disturb(step, rng)
    z = tf.constant(rng.normal(size=(1, size)))
    with tf.GradientTape() as tape:
        tape.watch(z)
        values = step.network(z)[..., 0]
    seen = tape.batch_jacobian(values, z)[0].numpy() != 0.0
    assert not np.any(np.triu(seen))
    np.testing.assert_array_equal(seen[-1], np.arange(size) < size - 1)
    # A coordinate sees all of those before its group, of at most `largest` in a row.
    largest = math.ceil((size - 1) / width)
    assert all(np.all(row[: max(i - largest + 1, 0)]) for i, row in enumerate(seen))


def test_units_that_the_data_enter_are_not_dropped(rng):
    """The layer of a first block's shortcut takes the data as its chain's first layer does."""
    block = Residual([DenseLayer(2, 3, Prior()), tf.nn.tanh, DenseLayer(3, 4, Prior())],
                     shortcut=DenseLayer(2, 4, Prior()))  # fmt: skip
    layers = [block, tf.nn.tanh, DenseLayer(4, 1, Prior())]
    model = DeepGP(layers, gpflow.likelihoods.Gaussian(), num_data=5)
    q = Dropout(model, rng.normal(size=9 + 16 + 12 + 5), 0.5)
    kept = (q.sample(500, as_seed(0))[0].numpy() != 0.0).all(axis=0)
    dropped = [(9, 9 + 12), (37, 37 + 4)]  # in the order chain, shortcut, last layer
    expected = np.ones(len(kept), bool)
    for start, stop in dropped:
        expected[start:stop] = False
    np.testing.assert_array_equal(kept, expected)


@pytest.mark.slow
def test_a_prior_on_the_noise_is_followed(network, data):  # noqa: F811
    """One so narrow that the data have no say."""
    at = tfp.distributions.LogNormal(np.float64(math.log(5.0)), np.float64(0.001))
    network.likelihood.variance.prior = at
    settings = {"train_likelihood": True, "steps": 1500}
    for found in (
        map_estimate(network, data, **settings),
        map_estimate(network, data, **settings, batch_size=4, learning_rate=0.05),
        variational(network, data, **settings, learning_rate=0.05),
    ):
        assert float(found.model.likelihood.variance.numpy()) == pytest.approx(5.0, rel=0.02)


def frozen_network(freeze):
    tf_keras = gpflow.keras.tf_keras
    layer = tf_keras.layers.Dense(3, dtype="float64", activation="tanh")
    layer.build((None, 2))
    layer.trainable = not freeze
    likelihood = gpflow.likelihoods.Gaussian(NOISE)
    return DeepGP([layer, DenseLayer(3, 1, Prior())], likelihood, num_data=6)


@pytest.mark.slow
@pytest.mark.parametrize("freeze", [True, False])
def test_layers_of_keras_are_trained_by_fit_unless_they_are_frozen(freeze, rng):
    X, Y = rng.normal(size=(6, 2)), rng.normal(size=(6, 1))
    start = frozen_network(freeze)
    q = variational(start, (X, Y), "mean-field", steps=3).model
    kernel = q.network.layers[0].function.kernel
    np.testing.assert_array_equal(kernel, start.layers[0].function.kernel)  # q alone is searched
    assert not {id(one) for one in q.own_variables} & {id(one) for one in q.network.variables}
    before = kernel.numpy()
    gi.fit(q, (X, Y), steps=2, progress=False)
    assert np.array_equal(kernel, before) == freeze
    process = gi.implicit.PriorProcess(start)
    layer = gi.layers.ImplicitLayer(process, 1, Prior(), num_draws=5)
    model = DeepGP([layer], gpflow.likelihoods.Gaussian(NOISE), num_data=6)
    of_keras = [one for one in model.variables if one.shape == (2, 3)]
    trained = {id(one) for one in model.trainable_variables}
    assert len(of_keras) == 1 and (id(of_keras[0]) in trained) != freeze


def test_dropout_needs_weights_of_units():
    prior = gi.priors.SpatialIWPrior((2, 2))
    layers = [
        gi.layers.Conv2DLayer((2, 2, 1), 2, 2, Prior(), padding="valid", prior=prior),
        DenseLayer(2, 1, Prior()),
    ]
    model = DeepGP(layers, gpflow.likelihoods.Gaussian(NOISE), num_data=4)
    size = gi.inference.WeightSpace(model).size
    with pytest.raises(ValueError, match="with a SpatialIWPrior each weight"):
        Dropout(model, np.zeros(size))


def test_the_number_of_rows_is_that_of_the_network(rng):
    """Bayesian optimisation sets it as rows arrive."""
    model = frozen_network(False)
    size = gi.inference.WeightSpace(model).size
    q = Gaussian(model, np.zeros(size), np.eye(size))
    for each in (q, gi.inference.Linearised(q)):
        each.num_data = 17
        assert each.num_data == each.network.num_data == 17
        each.num_data = 6
