"""The prior with a scale of each input: another route, an exact limit, and its border."""

import gpflow
import numpy as np
import pytest
import tensorflow as tf

import gpflow_gi as gi
from gpflow_gi.core.random import as_seed
from gpflow_gi.core.weight_root import WeightRoot
from gpflow_gi.inference import WeightSpace
from gpflow_gi.layers import DenseLayer
from gpflow_gi.models import DeepGP
from gpflow_gi.priors import ARDPrior, NealPrior

from ..builders import NUM_INDUCING, random_dense_posterior

D, N, NOISE = 3, 9, 0.2


def data(rng):
    return rng.normal(size=(N, D)), rng.normal(size=(N, 1))


def ard(scales):
    prior = ARDPrior(len(scales))
    prior.scales.assign(scales)
    return prior


def test_the_root_is_a_diagonal_matrix(rng):
    scales, z, M = rng.uniform(0.5, 2.0, 4), rng.normal(size=(2, 4, 3)), rng.normal(size=(4, 4))
    root, R = WeightRoot(tf.constant(scales[:, None])), np.diag(scales)
    assert not root.is_sampled and root.is_diagonal
    np.testing.assert_allclose(root.times(z), R @ z)
    np.testing.assert_allclose(root.transposed_times(z), R @ z)
    np.testing.assert_allclose(root.of_rows(z.swapaxes(1, 2)), z.swapaxes(1, 2) @ R)
    np.testing.assert_allclose(root.congruent(M + M.T), R @ (M + M.T) @ R)
    np.testing.assert_allclose(root.solve(z), np.linalg.solve(R, z))
    np.testing.assert_allclose(root.transposed_solve(z), np.linalg.solve(R, z))
    np.testing.assert_allclose(root.log_determinant(4), np.linalg.slogdet(R)[1])


def network(kind, layers_of):
    """A network of two layers without a bias, and the same random numbers in each call."""
    rng = np.random.default_rng(1)
    of_lower = "global" if kind == "optimal" else kind
    lower, upper = (
        random_dense_posterior(rng, each, inputs - 1, outputs)  # of as many weights
        for each, inputs, outputs in ((of_lower, D, 4), ("global", 4, 1))
    )
    if kind.startswith("local"):
        lower = gi.posteriors.LocalInducing(
            rng.normal(size=(5, D)), 4, pseudo_outputs=rng.normal(size=(5, 4))
        )
    likelihood, U = gpflow.likelihoods.Gaussian(NOISE), rng.normal(size=(NUM_INDUCING, D))
    if kind == "optimal":
        upper = gi.posteriors.Optimal(*data(rng), likelihood)
    return DeepGP(layers_of(lower, upper), likelihood, num_data=N, inducing_inputs=U)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["global", "local", "factorised", "prior", "optimal"])
def test_scales_of_weights_are_scales_of_inputs(kind, rng):
    """The same network with scaled rows below a prior of one scale."""
    X, Y = data(rng)
    scales, hidden = rng.uniform(0.3, 3.0, D), rng.uniform(0.3, 3.0, 4)
    first, second = (
        network(kind, scale_layers)
        for scale_layers in (
            lambda lower, upper: [
                tf.identity,  # seeds are of places in the list
                DenseLayer(D, 4, lower, prior=ard(scales), bias=False),
                tf.nn.tanh,
                DenseLayer(4, 1, upper, prior=ard(hidden), bias=False),
            ],
            lambda lower, upper: [
                lambda X: X * scales,
                DenseLayer(D, 4, lower, prior=NealPrior(), bias=False),
                lambda X: tf.nn.tanh(X) * hidden,
                DenseLayer(4, 1, upper, prior=NealPrior(), bias=False),
            ],
        )
    )
    lower = second.layers[1].posterior
    if kind.startswith("local"):
        lower.inducing_inputs.assign(lower.inducing_inputs * scales)
    if kind == "factorised":
        for parameter in (lower.mean, lower.standard_deviation):
            parameter.assign(parameter / scales[:, None])
    for found, expected in (
        (first.elbo((X, Y), 3, seed=1), second.elbo((X, Y), 3, seed=1)),
        (first.iwbo((X, Y), 3, seed=1), second.iwbo((X, Y), 3, seed=1)),
        (first.predict_y(X, 4, seed=2)[0], second.predict_y(X, 4, seed=2)[0]),
        (first.predict_y(X, 4, seed=2)[1], second.predict_y(X, 4, seed=2)[1]),
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_one_layer_is_a_linear_gp(rng):
    """Pseudo-data that are the data: the bound is the evidence, by GPflow's kernels."""
    X, Y = data(rng)
    scales = rng.uniform(0.3, 3.0, D + 1)
    posterior = gi.posteriors.GlobalInducing(
        N, 1, pseudo_outputs=Y, pseudo_precision=np.full(N, 1 / NOISE)
    )
    layer = DenseLayer(D, 1, posterior, prior=ard(scales))
    model = DeepGP([layer], gpflow.likelihoods.Gaussian(NOISE), num_data=N, inducing_inputs=X)
    variances = np.square(scales) / (D + 1)
    kernel = gpflow.kernels.Linear(variances[:D]) + gpflow.kernels.Constant(variances[D])
    gp = gpflow.models.GPR((X, Y), kernel, noise_variance=NOISE)
    evidence = float(gp.log_marginal_likelihood())
    assert float(model.elbo((X, Y), 1, seed=0)) == pytest.approx(evidence, rel=1e-9)
    rows = rng.normal(size=(4, D))
    for found, known in zip(model.predict_f(rows), gp.predict_f(rows), strict=True):
        np.testing.assert_allclose(found, known, rtol=1e-8)


@pytest.mark.parametrize("inference", ["global", "local", "factorised", "global -> optimal"])
def test_scales_of_one_are_neals_prior(inference, rng):
    X, Y = data(rng)
    settings = {"widths": (4,), "num_inducing": 5, "inference": inference}
    bounds = [
        float(
            gi.architectures.build_bnn(X, Y, prior=prior, prior_scale=0.7, **settings).elbo(
                (X, Y), 3, seed=0
            )
        )
        for prior in ("neal", "ard")
    ]
    assert bounds[0] == pytest.approx(bounds[1], rel=1e-10)


def test_coordinates_of_all_weights(rng):
    scales = rng.uniform(0.3, 3.0, D + 1)
    layer = DenseLayer(D, 2, gi.posteriors.Prior(), prior=ard(scales))
    space = WeightSpace(DeepGP([layer], gpflow.likelihoods.Gaussian(NOISE), num_data=N))
    theta, X = rng.normal(size=(5, 2 * (D + 1))), rng.normal(size=(N, D))
    weights = scales[:, None] / np.sqrt(D + 1) * theta.reshape(5, D + 1, 2)
    expected = np.hstack([X, np.ones((N, 1))]) @ weights
    np.testing.assert_allclose(space.functions(tf.constant(theta), X), expected)
    assert space.is_standard_normal and layer.prior.num_coordinates == 0


@pytest.mark.slow
def test_training_switches_an_input_off():
    """Of two inputs the targets depend on the first alone."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2))
    Y = np.sin(2 * X[:, :1]) + 0.1 * rng.normal(size=(100, 1))
    model = gi.architectures.build_bnn(X, Y, prior="ard", widths=(20,), num_inducing=30)
    assert model.layers[0].prior.is_type_ii
    gi.fit(model, (X, Y), steps=500, learning_rate=0.03, progress=False)
    relevant, other, _ = model.layers[0].prior.scales.numpy()
    assert other < 0.2 * relevant


def test_rescaling_and_fixed_scales(rng):
    prior = ARDPrior(2, 3.0, learn_scales=False)
    assert not prior.is_type_ii and not prior.trainable_variables
    prior.rescale(0.5)
    deviation = prior.draw(2, None, as_seed(0)).standard_deviation
    np.testing.assert_allclose(deviation, np.full((2, 1), 1.5 / np.sqrt(2)))


def test_a_prior_for_another_number_of_weights():
    said = r"is for 3 weights to each output, but the layer has 4, .* make it with ARDPrior\(4\)"
    with pytest.raises(ValueError, match=said):
        DenseLayer(3, 1, gi.posteriors.Prior(), prior=ARDPrior(3))
    with pytest.raises(ValueError, match="the layer has 9"):
        gi.layers.Conv2DLayer((4, 4, 1), 2, 3, gi.posteriors.Prior(), prior=ARDPrior(10))

    with pytest.raises(ValueError, match="is for 4 weights to each output, not 7"):
        ARDPrior(4).root_of(np.zeros((1, 0)), 7)


def test_the_class_is_no_function_without_arguments(rng):
    with pytest.raises(TypeError, match=r'needs some.* For ARDPrior, give "ard"'):
        gi.architectures.build_bnn(*data(rng), prior=ARDPrior)
    with pytest.raises(TypeError, match="must be a function without arguments"):
        gi.architectures.build_bnn(*data(rng), prior=lambda scale: NealPrior(scale))


@pytest.mark.slow
@pytest.mark.parametrize("structure", ["full", "diagonal"])
def test_laplace_has_the_evidence_of_scaled_inputs(structure, rng):
    """At a given maximum of the density, in a network of one layer, where it is exact or not."""
    X, Y = data(rng)
    scales = rng.uniform(0.5, 2.0, D)
    evidence = []
    for prior, factors in ((ard(scales), np.ones(D)), (NealPrior(), scales)):
        layer = DenseLayer(D, 1, gi.posteriors.Prior(), prior=prior, bias=False)
        model = DeepGP([layer], gpflow.likelihoods.Gaussian(NOISE), num_data=N)
        found = gi.inference.laplace(model, (X * factors, Y), structure=structure)
        evidence.append(found.log_evidence)
    assert evidence[0] == pytest.approx(evidence[1], rel=1e-6)


@pytest.mark.parametrize("size", [(), (1,), (2,), (4, 1)])
def test_files_with_other_scales_are_refused(size, tmp_path, rng):
    X, Y = data(rng)
    model = gi.architectures.build_bnn(X, Y, prior="ard", widths=(4,), num_inducing=5)
    ones = gpflow.Parameter(np.ones(size), transform=gpflow.utilities.positive())
    model.layers[0].prior.scales = ones
    gi.save(model, tmp_path / "model.gi")
    with pytest.raises(gi.persistence.LoadError, match="scales"):
        gi.load(tmp_path / "model.gi")


def test_a_saved_network_is_read(tmp_path, rng):
    X, Y = data(rng)
    model = gi.architectures.build_bnn(X, Y, prior="ard", widths=(4,), num_inducing=5)
    for layer in (model.layers[0], model.layers[2]):
        layer.prior.scales.assign(rng.uniform(0.3, 3.0, layer.num_weights))
    path = tmp_path / "model.gi"
    gi.save(model, path)
    read = gi.load(path)
    np.testing.assert_array_equal(read.elbo((X, Y), 3, seed=0), model.elbo((X, Y), 3, seed=0))
    np.testing.assert_array_equal(read.layers[2].prior.scales, model.layers[2].prior.scales)


def test_convolutions_have_scales_of_places_and_channels(rng):
    """A kernel of the whole image: the same convolution of images that are scaled."""
    scales, images, Y = rng.uniform(0.3, 3.0, 18), rng.normal(size=(N, 3, 3, 2)), data(rng)[1]
    V = rng.normal(size=(4, 1, 1, 1))
    bounds = []
    for prior, factors in ((ard(scales), np.ones(18)), (NealPrior(), scales)):
        q = gi.posteriors.GlobalInducing(4, (1, 1, 1), pseudo_outputs=V)
        layer = gi.layers.Conv2DLayer((3, 3, 2), 1, 3, q, padding="valid", prior=prior)
        X = images * factors.reshape(3, 3, 2)
        likelihood = gpflow.likelihoods.Gaussian(NOISE)
        model = DeepGP([layer], likelihood, num_data=N, inducing_inputs=X[:4])
        bounds.append(float(model.elbo((X, Y), 2, seed=0)))
    assert bounds[0] == pytest.approx(bounds[1], rel=1e-10)
