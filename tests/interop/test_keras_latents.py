"""Models with free latent variables of the rows in Keras, which shuffles rows."""

import gpflow
import numpy as np
import pytest
import tensorflow as tf
from gpflow.keras import tf_keras

import gpflow_gi as gi

N, P, NOISE = 8, 3, 0.3


@pytest.fixture
def problem(rng):
    """Probabilistic PCA: a linear map of one latent variable, and its exact posterior means."""
    w = np.array([[1.0, -0.5, 2.0]])
    Y = rng.normal(size=(N, 1)) @ w + np.sqrt(NOISE) * rng.normal(size=(N, P))
    latents = gi.layers.LatentVariableLayer(1, num_data=N)
    latents.connect(1, None)
    latents.q_mu.assign(np.zeros((N, 1)))
    mean = gpflow.functions.Linear(np.vstack([np.zeros((1, P)), w]), np.zeros(P))
    for part in (mean, latents.q_sqrt):
        gpflow.set_trainable(part, False)
    kernel = gpflow.kernels.SquaredExponential(variance=1e-14)
    last = gi.layers.GPLayer(kernel, P, gi.posteriors.Prior(), mean_function=mean)
    likelihood = gpflow.likelihoods.Gaussian(NOISE)
    for part in (kernel, likelihood):
        gpflow.set_trainable(part, False)
    model = gi.models.DeepGP([latents, last], likelihood, num_data=N)
    exact = Y @ w.T / NOISE / (1 + np.sum(w**2) / NOISE)
    return model, (np.zeros((N, 1)), Y), exact


EPOCHS = 60


def compiled(model, batch_size=4):
    keras_model = gi.interop.as_keras_model(model, num_samples=20)
    # Falling to nearly zero, since latent variables are drawn in each step.
    steps = EPOCHS * N // batch_size
    rate = tf_keras.optimizers.schedules.PolynomialDecay(0.1, steps, 1e-3)
    keras_model.compile(tf_keras.optimizers.Adam(rate))
    return keras_model


@pytest.mark.slow
@pytest.mark.parametrize("batch_size", [4, N])
def test_shuffled_rows_keep_their_latent_variables(problem, batch_size):
    model, data, exact = problem
    compiled(model, batch_size).fit(*data, batch_size=batch_size, epochs=EPOCHS, verbose=0)
    got = model.latents[0].q_mu.numpy()
    assert np.corrcoef(got[:, 0], exact[:, 0])[0, 1] > 0.98
    assert np.abs(got - exact).max() < 0.3 * np.abs(exact).max()


@pytest.mark.slow
def test_batches_of_a_stream_need_the_index(problem):
    model, (X, Y), exact = problem
    keras_model = compiled(model)
    for data in ((X, Y), {"inputs": X, "targets": Y}):
        stream = tf.data.Dataset.from_tensor_slices(data).batch(N)
        with pytest.raises(ValueError, match=r"3 columns.*free latent variables.*numbered"):
            keras_model.fit(stream, verbose=0)
    numbered = model.numbered(tf.constant(Y))
    stream = tf.data.Dataset.from_tensor_slices((X, numbered)).shuffle(N, seed=0).batch(4)
    keras_model.fit(stream, epochs=EPOCHS, verbose=0)
    assert np.corrcoef(model.latents[0].q_mu.numpy()[:, 0], exact[:, 0])[0, 1] > 0.98


def test_rows_that_are_not_for_training_have_no_bound(problem):
    model, data, _ = problem
    keras_model = compiled(model)
    with pytest.raises(ValueError, match="other rows have no bound: leave validation_data and"):
        keras_model.fit(*data, validation_data=data, verbose=0)
    X, Y = (np.vstack([part, part[:2]]) for part in data)
    with pytest.raises(ValueError, match="leave validation_data and validation_split out"):
        keras_model.fit(X, Y, validation_split=0.2, verbose=0)
    with pytest.raises(ValueError, match=r"10 rows.*latent variables of 8 rows"):
        keras_model.evaluate(X, Y, verbose=0)
