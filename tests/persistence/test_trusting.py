"""Code that a file may not name: `gi.save` warns of it, `gi.load` accepts it if it is trusted."""

import warnings

import gpflow
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_probability as tfp
from gpflow.keras import tf_keras

import gpflow_gi as gi
from gpflow_gi.persistence import LoadError, SaveError
from gpflow_gi.persistence.attributes import attributes_of, can_be_set
from gpflow_gi.persistence.decoding import Decoder
from gpflow_gi.persistence.encoding import Encoder
from gpflow_gi.persistence.names import Names
from tests.builders import TwoDense

D = 2


def network(rng, *functions):
    layers = [*functions, gi.layers.DenseLayer(D, 1, gi.posteriors.GlobalInducing(3, 1))]
    U = rng.normal(size=(3, D))
    return gi.models.DeepGP(layers, gpflow.likelihoods.Gaussian(), num_data=5, inducing_inputs=U)


def same(model, read, X):
    one, other = (m.predict_f(X, num_samples=2, seed=1)[0] for m in (model, read))
    return np.array_equal(one, other)


def squared(x):
    return tf.square(x)


@tf_keras.utils.register_keras_serializable("mine")
class Shifted(tf_keras.layers.Layer):
    """A layer with a weight, and with one in a layer inside that is made at the first call."""

    def __init__(self, activation="tanh", **options):
        super().__init__(**options)
        self.activation = tf_keras.activations.get(activation)
        self.inner = tf_keras.layers.Dense(D, dtype=options.get("dtype"))

    def build(self, input_shape):
        self.shift = self.add_weight("shift", input_shape[-1:])
        super().build(input_shape)

    def call(self, x):
        return self.activation(self.inner(x) + self.shift)

    def get_config(self):
        activation = tf_keras.activations.serialize(self.activation)
        return {**super().get_config(), "activation": activation}


class Scaled(tf.Module):
    """A function whose attributes come from elsewhere, and which knows who has it."""

    def __init__(self):
        super().__init__()
        self.part = Part(self)
        setattr(self, "fac" + "tor", tf.Variable(2.0, dtype=tf.float64))

    def __call__(self, x):
        return self.factor * x


class Part(tf.Module):
    def __init__(self, owner):
        super().__init__()
        self.owner = owner


@pytest.mark.parametrize(
    ("make", "trusted"),
    [
        (lambda: squared, [squared]),
        (lambda: tf.nn.l2_normalize, [tf.nn.l2_normalize]),
        (lambda: Shifted(dtype=np.float64), [Shifted]),
        (lambda: Shifted(squared, dtype=np.float64), [Shifted, squared]),
        (lambda: tf_keras.layers.Dense(D, squared, dtype=np.float64), [squared]),
        (lambda: tf_keras.Sequential([Shifted(dtype=np.float64)]), [Shifted]),
        (lambda: tf_keras.layers.Masking(dtype=np.float64), [tf_keras.layers.Masking]),
        (lambda: Scaled(), [Scaled, Part]),
    ],
    ids=[
        "function",
        "TensorFlow's",
        "layer",
        "layer with a function",
        "Dense",
        "model",
        "Keras'",
        "module",
    ],
)
def test_what_is_trusted_is_loaded(make, trusted, rng, tmp_path):
    model = network(rng, make())
    with pytest.warns(UserWarning) as said:
        gi.save(model, tmp_path / "model")
    (message,) = [f"{one.message}" for one in said if "may not name" in f"{one.message}"]
    assert all(one.__name__ in message.partition("trusted=")[2] for one in trusted), message
    X = rng.normal(size=(4, D))
    read = gi.load(tmp_path / "model", trusted=trusted)
    assert same(model, read, X)
    by_name = {one.__name__: one for one in trusted}
    assert same(model, gi.load(tmp_path / "model", custom_objects=by_name), X)
    for i in range(len(trusted)):
        with pytest.raises(LoadError, match=rf"trusted=\[{trusted[i].__name__}\]"):
            gi.load(tmp_path / "model", trusted=trusted[:i] + trusted[i + 1 :])


def test_a_module_may_refer_to_what_has_it(rng, tmp_path):
    with pytest.warns(UserWarning, match="may not name"):
        gi.save(network(rng, Scaled()), tmp_path / "model")
    read = gi.load(tmp_path / "model", trusted=[Scaled, Part]).layers[0].function
    assert read.part.owner is read and read.factor.numpy() == 2.0


def test_what_is_on_the_lists_is_saved_without_a_word(rng, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gi.save(network(rng, tf.nn.relu), tmp_path / "model")


def test_attributes_that_no_class_has_are_left_out(rng, tmp_path):
    model = network(rng)
    model.note, model.layers[0].mine = "a note", [1, 2]
    with pytest.warns(UserWarning, match=r"not hold model\.layers\[0\]\.mine, model\.note: "):
        gi.save(model, tmp_path / "model")
    assert not hasattr(gi.load(tmp_path / "model"), "note")


def test_distributions_and_bijectors_that_take_functions(rng, tmp_path):
    model = network(rng)
    noise = model.likelihood.variance
    transform = tfp.bijectors.Inline(
        forward_fn=tf.nn.softplus,
        inverse_fn=tfp.math.softplus_inverse,
        forward_min_event_ndims=0,
    )
    model.likelihood.variance = gpflow.Parameter(noise, transform=transform)
    with pytest.warns(UserWarning, match=r"trusted=\[Inline, softplus_inverse\]"):
        gi.save(model, tmp_path / "model")
    with pytest.raises(LoadError, match="asks to call 'Inline'"):
        gi.load(tmp_path / "model")
    trusted = [tfp.bijectors.Inline, tfp.math.softplus_inverse]
    read = gi.load(tmp_path / "model", trusted=trusted)
    np.testing.assert_array_equal(read.likelihood.variance, model.likelihood.variance)
    cholesky = tfp.bijectors.CholeskyOuterProduct(cholesky_fn=squared)
    model.likelihood.variance = gpflow.Parameter([[2.0]], transform=cholesky)
    with pytest.raises(SaveError, match="argument cholesky_fn, which takes a function"):
        gi.save(model, tmp_path / "other")


def test_numbers_of_numpy_keep_their_type():
    """A default's value is not the default where its type says what others have to be."""
    bijector = tfp.bijectors.GumbelCDF(np.float64(0.0), np.float64(1.0))
    encoder = Encoder()
    described = encoder.describe(bijector, "bijector")
    read = Decoder(encoder.arrays, Names()).make(described)
    assert read.forward(np.float64(0.4)).dtype == np.float64


@pytest.mark.parametrize(
    "trusted", ["squared", squared, 3, {"squared": squared}, [3], [np.vectorize(squared)], [None]]
)
def test_what_cannot_be_trusted(trusted, tmp_path):
    with pytest.raises(TypeError, match="trusted must be a list of classes and functions"):
        gi.load(tmp_path / "nothing", trusted=trusted)


def test_attributes_are_read_off_the_code():
    class Base:
        declared: int

        def __init__(self):
            self.of_base = 1

        @property
        def computed(self):
            return 1

        def method(self):
            def inner():
                self.later = 2

            inner()

    class Derived(Base):
        kind = None

        @staticmethod
        def other(thing):
            thing.elsewhere = thing.method = thing.computed = 1

        def set_kind(self):
            self.kind = 1
            self.__dict__["no"] = 1

    assert attributes_of(Derived) == {"declared", "of_base", "later", "elsewhere", "kind"}
    assert can_be_set(Derived, "anything")
    for name in ("method", "computed", "__class__", "__dict__", "a b", "", "_self_x"):
        assert not can_be_set(Derived, name)


def test_an_attribute_that_is_newer_than_a_file_has_the_value_of_its_class(
    rng, tmp_path, monkeypatch
):
    gi.save(network(rng), tmp_path / "model")
    monkeypatch.setattr(gi.layers.DenseLayer, "of_tomorrow", 3, raising=False)
    assert gi.load(tmp_path / "model").layers[0].of_tomorrow == 3


def test_operations_between_layers_of_keras(rng, tmp_path):
    inputs = tf_keras.Input([D], dtype=np.float64)
    hidden = tf_keras.layers.Dense(D, "tanh", dtype=np.float64)(inputs)
    summed = hidden * 2.0 - inputs / 3.0 + tf.nn.relu(hidden) ** 2 + hidden[:, :1]
    model = network(rng, tf_keras.Model(inputs, -summed))
    gi.save(model, tmp_path / "model")
    assert same(model, gi.load(tmp_path / "model"), rng.normal(size=(4, D)))
    # Others are no part of a file.
    model = network(rng, tf_keras.Model(inputs, tf.py_function(squared, [hidden], tf.float64)))
    with pytest.raises(SaveError, match=r"cannot be stored"):
        gi.save(model, tmp_path / "other")


@pytest.mark.parametrize("wrong", ["text", 1.0, [None], np.ones(3), dict])
def test_renamed_classes_must_be_in_a_dictionary(tmp_path, wrong):
    with pytest.raises(TypeError, match="custom_objects must be a dictionary"):
        gi.load(tmp_path / "model.gi", custom_objects=wrong)


@pytest.mark.parametrize("frozen", [(), ("a",), ("b",), ("a", "b")])
def test_weights_of_frozen_layers_stay_where_they_are(frozen, tmp_path, rng):
    two = TwoDense()
    two.build((None, 2))
    for name in frozen:
        getattr(two, name).trainable = False
    model = gi.models.DeepGP(
        [two, gi.layers.DenseLayer(2, 1, gi.posteriors.Factorised())],
        gpflow.likelihoods.Gaussian(0.1),
        num_data=5,
    )
    with pytest.warns(UserWarning, match="trusted"):
        gi.save(model, tmp_path / "model.gi")
    read = gi.load(tmp_path / "model.gi", trusted=[TwoDense])
    for name in ("a", "b"):
        part, known = (getattr(one.layers[0].function, name) for one in (read, model))
        np.testing.assert_array_equal(part.kernel, known.kernel)
        assert part.trainable == known.trainable == (name not in frozen)


def test_shared_weights_are_remarked(tmp_path):
    dense = tf_keras.layers.Dense(2, dtype="float64")
    networks = [tf_keras.Sequential([tf_keras.layers.Input((2,)), dense]) for _ in range(2)]
    model = gi.models.DeepGP(
        [*networks, gi.layers.DenseLayer(2, 1, gi.posteriors.Factorised())],
        gpflow.likelihoods.Gaussian(0.1),
        num_data=5,
    )
    with pytest.warns(UserWarning, match="holds copies of weights that .* shares with another"):
        gi.save(model, tmp_path / "model.gi")
