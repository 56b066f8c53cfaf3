"""Processes are drawn with common random numbers, and have the moments of what they stand for."""

import gpflow
import numpy as np
import pytest
import tensorflow as tf

import gpflow_gi as gi
from gpflow_gi.implicit import KernelProcess, NetworkProcess, NeuralSampler, PriorProcess

X = np.array([[-1.0, 0.3], [0.2, 0.1], [1.5, -0.7], [0.0, 0.0]])


def deep_gp():
    layers = [
        gi.layers.GPLayer(gpflow.kernels.Matern32(), 2, gi.posteriors.GlobalInducing(3, 2)),
        gi.layers.GPLayer(gpflow.kernels.Matern32(), 2, gi.posteriors.GlobalInducing(3, 2)),
    ]
    likelihood = gpflow.likelihoods.Gaussian()
    return gi.models.DeepGP(layers, likelihood, num_data=4, inducing_inputs=X[:3])


PROCESSES = {
    "network": lambda: NetworkProcess(2, 2, widths=(7, 5), seed=3),
    "sampler": lambda: NeuralSampler(2, 2, widths=(7, 5), noise_dim=3),
    "sampler of low rank": lambda: NeuralSampler(2, 2, widths=(7,), noise_dim=3, rank=4),
    "dropout": lambda: NeuralSampler(2, 2, widths=(7, 5), noise_dim=3, dropout_rate=0.2),
    "dropout of low rank": lambda: NeuralSampler(
        2, 2, widths=(7,), noise_dim=3, rank=4, dropout_rate=0.2
    ),
    "warped kernel": lambda: KernelProcess(gpflow.kernels.Matern52(), 2, 2, warp=tf.exp),
    "prior of a model": lambda: PriorProcess(deep_gp(), num_features=20),
}


@pytest.mark.parametrize("name", PROCESSES)
def test_draws_are_functions_with_common_random_numbers(name):
    process = PROCESSES[name]()
    values = process.draw(6)(X)
    assert values.shape == (6, 4, 2)
    np.testing.assert_array_equal(process.draw(6)(X), values)
    np.testing.assert_array_equal(process.draw(6, process.seed)(X), values)
    np.testing.assert_allclose(process.draw(6)(X[::-1][:3]), values[:, ::-1][:, :3], rtol=1e-12)
    assert np.all(process.draw(6, seed=99)(X) != values)


@pytest.mark.parametrize("name", PROCESSES)
def test_draws_have_gradients_in_all_parameters(name):
    process = PROCESSES[name]()

    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.square(process.draw(6)(X)))
    assert len(process.trainable_variables) > 1
    for gradient in tape.gradient(loss, process.trainable_variables):
        assert np.any(tf.convert_to_tensor(gradient) != 0)


@pytest.mark.parametrize("name", PROCESSES)
def test_a_process_of_another_float_type_than_the_default(name):
    process = PROCESSES[name]()
    with gpflow.config.as_context():
        gpflow.config.set_default_float(np.float32)
        with pytest.raises(ValueError, match="The process is in float64, and GPflow's default is"):
            process.draw(3)(X)


def assert_mean(values, expected):
    """The mean over the first axis, within five standard errors."""
    error = np.std(values, axis=0) / np.sqrt(len(values))
    assert np.all(np.abs(np.mean(values, axis=0) - expected) < 5 * error)


def test_a_network_without_hidden_layers_has_the_moments_of_its_weights(rng):
    process = NetworkProcess(2, widths=())
    mean, scale = rng.normal(size=(3, 1)), np.exp(rng.normal(size=(3, 1)))
    process.layers[0].posterior.mean.assign(mean)
    process.layers[0].posterior.standard_deviation.assign(scale)
    values = process.draw(4000)(X).numpy()[..., 0]
    phi = np.hstack([X, np.ones((4, 1))])
    assert_mean(values, (phi @ mean)[:, 0])
    centred = values - (phi @ mean)[:, 0]
    assert_mean(centred[:, :, None] * centred[:, None], phi @ np.diag(scale[:, 0] ** 2) @ phi.T)


def test_hidden_layers_are_independent_of_each_other():
    process = NetworkProcess(1, widths=(1,), nonlinearity="identity")
    assert process.size == 4
    # f(x) = v (w x + b) + c has mean zero, and E f(1)^2 = E v^2 E (w + b)^2 + E c^2 = 1
    values = process.draw(4000)([[1.0]]).numpy()[:, 0, 0]
    assert_mean(values, 0.0)
    assert_mean(values**2, 0.5 * 1.0 + 0.5)


def test_a_kernel_process_has_the_kernel_s_covariance():
    kernel = gpflow.kernels.SquaredExponential(2.0, 0.7)
    g = KernelProcess(kernel, 2).draw(3000)(X).numpy()[..., 0]
    assert_mean(g, 0.0)
    assert_mean(g[:, :, None] * g[:, None], kernel(X).numpy())
    warped = KernelProcess(kernel, 2, warp=tf.exp).draw(3000)(X)
    np.testing.assert_allclose(np.log(warped[..., 0]), g)


@pytest.mark.parametrize("rank", [None, 3])
def test_a_neural_sampler_is_a_network_of_inputs_and_shared_noise(rank):
    process = NeuralSampler(2, widths=(5,), noise_dim=4, rank=rank)
    values = process.draw(30)(X).numpy()
    if rank is not None:
        assert np.linalg.matrix_rank(values[..., 0]) == rank
        return
    noise = tf.random.stateless_normal(
        [30, 4], gi.core.random.fold_in(process.own_seed, 0), dtype=tf.float64
    ).numpy()
    (W, V), (b, c) = process.network.weights, process.network.biases
    for s in range(30):
        rows = np.hstack([X, np.tile(noise[s], (4, 1))])
        np.testing.assert_allclose(values[s], tf.tanh(rows @ W + b) @ V + c)


@pytest.mark.parametrize("rank", [None, 3])
def test_dropout_leaves_out_units_of_each_draw_and_keeps_the_mean(rank):
    """In a linear network the mean over draws is the output at the mean noise, zero."""
    S, rate = 20_000, 0.3
    process = NeuralSampler(2, widths=(5, 4), nonlinearity=tf.identity, noise_dim=4, rank=rank)
    without = process.draw(S)(X)
    process.dropout_rate = rate
    values = process.draw(S)(X).numpy()
    if rank is None:
        expected = process.network(np.hstack([X, np.zeros([4, 4])]))
    else:
        v = process.noise_network(np.zeros([1, 4])) / np.sqrt(rank)
        expected = tf.matmul(process.network(X), v, transpose_b=True)
    assert_mean(values, expected)
    assert np.all(np.var(values, axis=0) > np.var(without, axis=0))
    # All products, or all units of a layer, are left out now and then: one function of all rows.
    constant = np.all(values == values[:, :1], axis=(1, 2)).mean()
    bias = rate**5 + (1 - rate**5) * rate**4 if rank is None else rate**rank
    assert abs(constant - bias) < 5 * np.sqrt(bias / S)


def test_the_prior_of_a_model_is_drawn_as_the_model_draws_it():
    model = deep_gp()
    process = PriorProcess(model, num_features=20)
    expected = model.prior_model().sample_functions(5, seed=8, num_features=20)(X)
    np.testing.assert_allclose(process.draw(5, seed=8)(X), expected, rtol=1e-10)
    network = gi.architectures.build_bnn(X, X[:, :1], widths=(5,), num_inducing=3)
    mine, its = (
        PriorProcess(one) for one in (network, gi.inference.Samples(network, np.zeros((2, 21))))
    )
    np.testing.assert_allclose(mine.draw(3)(X), its.draw(3)(X), rtol=1e-10)


def test_the_prior_of_a_layer_of_any_kernel_and_in_a_block(rng):
    """A block adds its layer's values to its inputs; moments over draws are those of the kernel."""
    kernel = gpflow.kernels.Periodic(gpflow.kernels.SquaredExponential(), period=3.0)
    one, two = (
        gi.layers.GPLayer(
            kernel,
            1,
            gi.posteriors.GlobalInducing(2, 1),
            mean_function=gpflow.functions.Constant(0.7),
        )
        for _ in range(2)
    )
    dense = gi.layers.DenseLayer(1, 1, gi.posteriors.Factorised())
    x = X[:, :1]
    likelihood = gpflow.likelihoods.Gaussian()
    for layers in ([one], [gi.layers.Residual([two]), dense]):
        model = gi.models.DeepGP(layers, likelihood, num_data=4, inducing_inputs=x[:2])
        process = PriorProcess(model)
        values = process.draw(20_000, seed=rng.integers(1000))(x).numpy()[..., 0]
        if len(layers) == 1:
            assert_mean(values, 0.7)
            second = kernel(x).numpy()
            assert_mean((values[:, None] - 0.7) * (values[:, :, None] - 0.7), second)
        else:
            # w (x + g(x)) + b, with w and b of variance 1/2, and g of mean 0.7.
            own = x + 0.7
            assert_mean(values[:, None] * values[:, :, None], (own * own.T + kernel(x) + 1.0) / 2)


def test_the_prior_of_a_linearised_network_is_linear_in_the_weights():
    """Of a network without hidden layers it is that of the network itself; it is a GP of J J^T."""
    for widths in ((), (3,)):
        network = gi.architectures.build_bnn(X, X[:, :1], widths=widths, inference="factorised")
        size = 13 if widths else 3  # biases included
        mean = np.linspace(-1.0, 1.0, size)
        q = gi.inference.Gaussian(network, mean, diagonal=np.full(size, 0.1))
        process = PriorProcess(gi.inference.Linearised(q))
        assert not process.trainable_variables
        values = process.draw(20_000, seed=1)(X).numpy()[..., 0]
        f, J = gi.inference.curvature.jacobian(q.space, tf.constant(mean), tf.constant(X))
        centre = f[:, 0] - tf.linalg.matvec(J[:, 0], mean)
        assert_mean(values, centre)
        values = values - centre.numpy()
        assert_mean(values[:, None] * values[:, :, None], J[:, 0].numpy() @ J[:, 0].numpy().T)


def test_wrong_arguments_are_refused_in_words():
    process = NetworkProcess(2)
    with pytest.raises(ValueError, match="input_dim=2, but X has 1 columns"):
        process.draw(3)(X[:, :1])
    with pytest.raises(ValueError, match="num_draws"):
        process.draw(0)
    with pytest.raises(ValueError, match="dropout_rate must be below 1, but is 1"):
        NeuralSampler(2, dropout_rate=1)
    with pytest.raises(ValueError, match="widths"):
        NetworkProcess(2, widths=5)
    with pytest.raises(ValueError, match="White cannot be drawn as functions: a White kernel is"):
        KernelProcess(gpflow.kernels.White(), 2)
    with pytest.raises(ValueError, match="cannot take inputs of 2 columns"):
        KernelProcess(gpflow.kernels.Matern52(lengthscales=[1.0, 1.0, 1.0]), 2)
    with pytest.raises(ValueError, match=r"such as tf.exp, but it returned a ndarray"):
        KernelProcess(gpflow.kernels.Matern52(), 2, warp=lambda f: np.exp(f))
    with pytest.raises(ValueError, match="warp must return"):
        KernelProcess(gpflow.kernels.Matern52(), 2, warp=tf.reduce_sum)
    with pytest.raises(TypeError, match=r"must be a gpflow_gi\.models\.DeepGP"):
        PriorProcess(process)
    layer = gi.layers.GPLayer(gpflow.kernels.Matern52(), 1, gi.posteriors.Prior())
    model = gi.models.DeepGP([layer], gpflow.likelihoods.Gaussian(), num_data=4)
    with pytest.raises(ValueError, match="number of inputs of the model is not known"):
        PriorProcess(model)
    layer = gi.layers.GPLayer(gpflow.kernels.White(), 1, gi.posteriors.GlobalInducing(3, 1))
    model = gi.models.DeepGP(
        [layer], gpflow.likelihoods.Gaussian(), num_data=4, inducing_inputs=X[:3]
    )
    with pytest.raises(ValueError, match="layer's kernel cannot be drawn as functions: a White"):
        PriorProcess(model)


def test_a_layer_whose_draws_are_no_functions_is_refused(monkeypatch):
    monkeypatch.delattr(gi.layers.gp.GPLayerDraw, "function")
    with pytest.raises(ValueError, match="layer cannot be drawn as functions: GPLayerDraw has no"):
        PriorProcess(deep_gp())
