"""Exports: the same numbers, in a process that has TensorFlow alone."""

import subprocess
import sys

import gpflow
import numpy as np
import pytest
import tensorflow as tf
from gpflow.keras import tf_keras

import gpflow_gi as gi
from gpflow_gi.persistence import SaveError

D, SHAPE = 2, (4, 5, 1)


def deep_gp(rng, inference):
    X = rng.normal(size=(20, D))
    return gi.architectures.build_deep_gp(X, X[:, :1], inference=inference, num_inducing=5)


def network(rng, inference, **arguments):
    X = rng.normal(size=(20, D))
    return gi.architectures.build_bnn(
        X, X[:, :1], inference=inference, widths=(4,), num_inducing=5, **arguments
    )


def images(rng, inference):
    X = rng.normal(size=(6, *SHAPE))
    Y = np.arange(6)[:, None] % 3
    return gi.architectures.build_resnet(
        X, Y, inference=inference, width=2, num_blocks=1, num_inducing=5
    )


def images_below_a_gp(rng):
    """Pixels that a function of the user's makes rows of."""
    U = rng.normal(size=(5, *SHAPE))
    posterior = gi.posteriors.GlobalInducing(5, 2, pseudo_outputs=rng.normal(size=(5, 2)))
    layer = gi.layers.GPLayer(gpflow.kernels.Matern32(), 2, posterior)
    flatten = tf_keras.layers.Flatten(dtype=gpflow.default_float())
    likelihood = gpflow.likelihoods.Softmax(2)
    return gi.models.DeepGP([flatten, layer], likelihood, num_data=9, inducing_inputs=U)


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize(
    "make",
    [
        lambda rng: deep_gp(rng, "global"),
        lambda rng: deep_gp(rng, ["local", "global"]),
        lambda rng: deep_gp(rng, "local"),
        lambda rng: network(rng, "global", prior="scale"),
        lambda rng: network(rng, "factorised"),
        lambda rng: images(rng, "global"),
        lambda rng: images(rng, "factorised"),
        images_below_a_gp,
    ],
    ids=[
        "global",
        "local then global",
        "local",
        "network",
        "factorised",
        "images",
        "factorised images",
        "images below a GP",
    ],
)
def test_numbers_are_those_of_predict_f(make, rng, tmp_path):
    model = make(rng)
    gi.export(model, tmp_path / "served", num_samples=7, seed=3)
    served = tf.saved_model.load(str(tmp_path / "served")).signatures["serving_default"]
    for N in (1, 6):
        X = rng.normal(size=(N, *model.input_shape))
        found = served(x=tf.constant(X))
        mean, variance = model.predict_f(X, num_samples=7, seed=3)
        np.testing.assert_allclose(found["mean"], mean, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(found["variance"], variance, rtol=1e-9, atol=1e-12)
    # A copy: training goes on without it.
    before = served(x=tf.constant(X))["mean"].numpy()
    for variable in model.trainable_variables:
        variable.assign_add(0.1 * tf.ones_like(variable))
    np.testing.assert_array_equal(served(x=tf.constant(X))["mean"], before)


@pytest.mark.slow
def test_nothing_but_tensorflow_is_needed(rng, tmp_path):
    model = deep_gp(rng, "global")
    gi.export(model, tmp_path / "served", num_samples=7, seed=3)
    X = rng.normal(size=(6, D))
    np.save(tmp_path / "X.npy", X)
    script = (
        "import sys\n"
        "import numpy as np\n"
        "import tensorflow as tf\n"
        f"served = tf.saved_model.load({str(tmp_path / 'served')!r})\n"
        f"X = tf.constant(np.load({str(tmp_path / 'X.npy')!r}))\n"
        "found = served.signatures['serving_default'](x=X)\n"
        f"np.save({str(tmp_path / 'mean.npy')!r}, found['mean'])\n"
        "sys.exit('gpflow' in sys.modules or 'gpflow_gi' in sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)
    mean, _ = model.predict_f(X, num_samples=7, seed=3)
    np.testing.assert_allclose(np.load(tmp_path / "mean.npy"), mean, rtol=1e-9, atol=1e-12)


@pytest.mark.slow
def test_the_signature_takes_images_where_the_model_does(rng, tmp_path):
    for name, make in {"images": images, "rows": network}.items():
        gi.export(make(rng, "global"), tmp_path / name, num_samples=2)
        served = tf.saved_model.load(str(tmp_path / name)).signatures["serving_default"]
        x = served.structured_input_signature[1]["x"]
        assert x.shape.as_list() == [None, *(SHAPE if name == "images" else (D,))]


def test_what_cannot_be_exported(rng, tmp_path):
    model = network(rng, "global")
    with pytest.raises(TypeError, match=r"model must be one of .*DeepGP, but is a Gaussian"):
        gi.export(gpflow.likelihoods.Gaussian(), tmp_path / "served")
    with pytest.raises(ValueError, match="num_samples must be"):
        gi.export(model, tmp_path / "served", num_samples=0)
    (tmp_path / "file").write_text("hello")
    for there in (tmp_path, tmp_path / "file"):
        with pytest.raises(SaveError, match="exists and is not an empty folder"):
            gi.export(model, there)
    layer = gi.layers.GPLayer(gpflow.kernels.Matern32(), 1, gi.posteriors.Prior())
    prior = gi.models.DeepGP([layer], gpflow.likelihoods.Gaussian(), num_data=9)
    with pytest.raises(ValueError, match="number of inputs is not known"):
        gi.export(prior, tmp_path / "served")
