"""Models of this library as Keras models."""

import copy
import warnings

import gpflow
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_probability as tfp
from gpflow.keras import tf_keras

import gpflow_gi as gi
from gpflow_gi.core.jitter import jitter_scales

from ..builders import random_data, random_deep_gp

N = 7
RATE = 2.0**-7  # exact in float32, which Keras keeps it in
SGD = tf_keras.optimizers.SGD


def two_layers(seed=0):
    return random_deep_gp(np.random.default_rng(seed), ["global", "local"], num_data=N)


def one_layer(seed=0):
    """Nothing is sampled, so that the bound is a number."""
    return random_deep_gp(np.random.default_rng(seed), ["local"], num_data=N)


def deep_features():
    net = tf_keras.Sequential([tf_keras.layers.Dense(2, "tanh", dtype="float64")])
    posterior = gi.posteriors.GlobalInducing(4, 1)
    kernel = gpflow.kernels.SquaredExponential()
    gpflow.set_trainable(kernel.variance, False)
    return gi.models.DeepGP(
        [net, gi.layers.GPLayer(kernel, 1, posterior)],
        gpflow.likelihoods.Gaussian(0.3),
        num_data=N,
        inducing_inputs=np.random.default_rng(3).normal(size=(4, 2)),
    )


def data_of(rng, num_rows=N):
    X, Y = random_data(rng, num_rows)
    return {"inputs": X, "targets": Y}


def pair(data):
    return data["inputs"], data["targets"]


def compiled(model, optimizer=None, **options):
    keras = gi.interop.as_keras_model(model, **options)
    # Compiling would take longer than all the steps of these tests.
    keras.compile(optimizer or SGD(0.01), run_eagerly=True)
    return keras


def values(model):
    return [variable.numpy() for variable in model.variables]


def assert_same(first, second, **tolerance):
    for one, other in zip(first, second, strict=True):
        np.testing.assert_allclose(one, other, **{"rtol": 0, "atol": 0, **tolerance})


def differ(first, second):
    return [bool(np.any(a != b)) for a, b in zip(first, second, strict=True)]


# ------------------------------------------------------------------------------------------- loss


@pytest.mark.slow
def test_steps_are_those_of_fit(rng):
    """The loss is per row, so that a rate N times as high makes the same steps, samples and all."""
    data = data_of(rng)
    ours, keras = two_layers(), compiled(two_layers(), SGD(RATE * N), num_samples=3, seed=5)
    gi.fit(ours, pair(data), steps=3, optimizer=SGD(RATE), num_samples=3, seed=5, progress=False)
    before = values(keras.deep_gp)
    keras.fit(data, batch_size=N, epochs=2, shuffle=False, verbose=0)
    keras.fit(data, batch_size=N, epochs=1, shuffle=False, verbose=0)  # goes on, with new samples
    assert any(differ(before, values(keras.deep_gp)))
    assert_same(values(ours), values(keras.deep_gp), rtol=1e-10, atol=1e-12)


@pytest.mark.slow
def test_an_epoch_reports_the_bound_whatever_the_last_batch(rng):
    """7 rows in batches of 3, 3 and 1: each row counts once. No array is rounded to float32."""
    data, model = data_of(rng), one_layer()
    likelihood, kl = (term.numpy() / N for term in model.bound_terms(pair(data)))
    keras = compiled(model, SGD(0.0))
    history = keras.fit(data, batch_size=3, epochs=2, verbose=0).history
    for name, value in {
        "loss": kl - likelihood,
        "expected_log_likelihood": likelihood,
        "kl": kl,
    }.items():
        np.testing.assert_allclose(history[name], value, rtol=1e-12)
        assert keras.evaluate(data, batch_size=3, verbose=0, return_dict=True)[name] == (
            pytest.approx(value, rel=1e-12)
        )


def test_validation_is_the_same_formula_at_other_rows(rng):
    data, other, model = data_of(rng), data_of(rng, 5), one_layer()
    X, Y = pair(other)
    expected = model.likelihood.variational_expectations(X, *model.predict_f(X), Y).numpy()
    _, kl = model.bound_terms(pair(data))
    history = (
        compiled(model, SGD(0.0)).fit(data, batch_size=3, validation_data=other, verbose=0).history
    )
    np.testing.assert_allclose(history["val_expected_log_likelihood"], expected.mean(), rtol=1e-12)
    np.testing.assert_allclose(history["val_loss"], kl / N - expected.mean(), rtol=1e-12)


@pytest.mark.slow
def test_validation_has_the_same_samples_after_every_epoch(rng):
    data = data_of(rng)
    history = (
        compiled(two_layers(), SGD(0.0))
        .fit(data, epochs=2, validation_data=data, verbose=0)
        .history
    )
    assert history["val_loss"][0] == history["val_loss"][1]
    assert history["loss"][0] != history["loss"][1]


def test_rows_can_be_kept_for_validation(rng):
    data = data_of(rng, 10)
    history = compiled(one_layer()).fit(data, validation_split=0.3, verbose=0).history
    assert len(history["val_loss"]) == 1


def test_priors_of_parameters_belong_to_the_loss(rng):
    data, model = data_of(rng), one_layer()
    without = compiled(model).evaluate(data, verbose=0, return_dict=True)
    model.likelihood.variance.prior = tfp.distributions.LogNormal(np.float64(1.0), np.float64(0.5))
    loss = compiled(model).evaluate(data, verbose=0, return_dict=True)
    log_prior = model.log_prior_density().numpy()
    assert abs(log_prior) > 0.1
    assert loss["loss"] == pytest.approx(without["loss"] - log_prior / N, rel=1e-12)
    assert loss["kl"] == without["kl"]


@pytest.mark.longest
@pytest.mark.compiled
def test_compiled_and_eager_steps_are_the_same(rng):
    data = data_of(rng)
    eager, graph = compiled(two_layers()), gi.interop.as_keras_model(two_layers())
    graph.compile(SGD(0.01), steps_per_execution=2)
    batches = tf.data.Dataset.from_tensor_slices(data).batch(4)
    for keras in (eager, graph):
        history = keras.fit(batches, epochs=2, verbose=0, validation_data=batches).history
    assert_same(values(eager.deep_gp), values(graph.deep_gp), rtol=1e-10, atol=1e-12)
    names = ["loss", "expected_log_likelihood", "kl"]
    assert list(history) == names + [f"val_{name}" for name in names]
    assert_same(
        eager.predict(data["inputs"], verbose=0),
        graph.predict(data["inputs"], verbose=0),
        atol=1e-12,
    )

    # What is trained may change in between, though Keras keeps its compiled step.
    gpflow.set_trainable(graph.deep_gp.layers[0], False)
    before = values(graph.deep_gp.layers[0])
    graph.fit(batches, verbose=0)
    assert_same(before, values(graph.deep_gp.layers[0]))


def test_a_sequence_of_batches(rng):
    data = data_of(rng)

    class Batches(tf_keras.utils.Sequence):
        def __len__(self):
            return 2

        def __getitem__(self, i):
            return {name: array[4 * i : 4 * i + 4] for name, array in data.items()}

    model = one_layer()
    loss = compiled(model, SGD(0.0)).fit(Batches(), verbose=0).history["loss"]
    np.testing.assert_allclose(loss, -model.elbo(pair(data)) / N, rtol=1e-6)  # float32 data


# ---------------------------------------------------------------------------------------- weights


def test_the_weights_are_the_models(rng):
    model = deep_features()
    keras = compiled(model)
    assert {id(w) for w in keras.weights} == {id(v) for v in model.variables}
    assert {id(w) for w in keras.trainable_weights} == {id(v) for v in model.trainable_variables}
    assert keras.deep_gp is model


def test_what_is_frozen_stays(rng):
    model = deep_features()
    frozen = [False] * len(model.variables)
    before = values(model)
    keras = compiled(model)
    keras.fit(data_of(rng), verbose=0)
    moved = differ(before, values(model))
    trainable = [v.ref() in {t.ref() for t in model.trainable_variables} for v in model.variables]
    assert moved == trainable != frozen and not all(moved)


@pytest.mark.slow
@pytest.mark.parametrize(
    "build", [pytest.param(two_layers, marks=pytest.mark.longest), deep_features]
)
def test_weights_files_restore_every_weight_and_the_optimizer(build, rng, tmp_path):
    """Two epochs, a file, and two more in another model are four epochs."""
    data, path = data_of(rng), tmp_path / "a.weights.h5"
    adam = tf_keras.optimizers.Adam
    first = compiled(build(), adam(0.1))
    first.fit(data, batch_size=3, epochs=2, verbose=0, shuffle=False)
    first.save_weights(path)
    second = compiled(build(), adam(0.1))
    for variable in second.deep_gp.variables:
        variable.assign(variable + 1.0)  # none is right by chance
    second.load_weights(path)
    assert_same(values(first.deep_gp), values(second.deep_gp))
    for keras in (first, second):
        keras.fit(data, batch_size=3, epochs=2, verbose=0, shuffle=False)
    assert_same(values(first.deep_gp), values(second.deep_gp))


@pytest.mark.parametrize("name", ["a", "a.h5", "a.keras", "a.ckpt", "a.hdf5"])
def test_other_formats_are_refused(name, tmp_path):
    keras = compiled(one_layer())
    for method in (keras.save_weights, keras.load_weights):
        with pytest.raises(ValueError, match=r"ends in \.weights\.h5"):
            method(tmp_path / name)
    with pytest.raises(ValueError, match=r"ends in \.weights\.h5"):
        keras.fit(
            {"inputs": np.zeros((N, 2)), "targets": np.zeros((N, 1))},
            callbacks=tf_keras.callbacks.ModelCheckpoint(tmp_path / name, save_weights_only=True),
        )
    with pytest.raises(ValueError, match=r"gpflow_gi\.save"):
        keras.save(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_keras_has_nothing_to_say_of_weights_and_is_told_what_it_cannot_copy(tmp_path, caplog):
    keras = compiled(one_layer())
    keras.save_weights(tmp_path / "a.weights.h5")
    assert not caplog.records
    for copied in (copy.deepcopy, tf_keras.models.clone_model):
        with pytest.raises(ValueError, match=r"Copy the model inside.*as_keras_model"):
            copied(keras)


def test_files_that_do_not_fit_are_refused(tmp_path):
    path = tmp_path / "a.weights.h5"
    compiled(two_layers()).save_weights(path)
    keras = compiled(one_layer())
    before = values(keras.deep_gp)
    with pytest.raises(ValueError, match="of another model"):
        keras.load_weights(path)
    assert_same(before, values(keras.deep_gp))
    with pytest.raises(ValueError, match="skip_mismatch"):
        keras.load_weights(path, skip_mismatch=True)
    with pytest.raises(ValueError, match="there is no such file"):
        keras.load_weights(tmp_path / "missing.weights.h5")
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(ValueError, match="cannot be read"):
        keras.load_weights(path)
    tf_keras.Sequential([tf_keras.layers.Dense(1, input_shape=(1,))]).save_weights(path)
    with pytest.raises(ValueError, match="holds 0 weights and the model has"):
        keras.load_weights(path)


# -------------------------------------------------------------------------------------- callbacks


@pytest.mark.slow
def test_callbacks(rng, tmp_path):
    """With a change that nothing reaches, the first epoch is the best, and patience ends."""
    callbacks = tf_keras.callbacks
    keras = compiled(two_layers(), SGD(0.08))
    history = keras.fit(
        data_of(rng),
        batch_size=3,
        epochs=9,
        verbose=0,
        validation_data=data_of(rng),
        callbacks=[
            callbacks.EarlyStopping("val_loss", 1e6, patience=3, restore_best_weights=True),
            callbacks.ReduceLROnPlateau("val_loss", 0.5, patience=2, min_delta=1e6),
            callbacks.ModelCheckpoint(tmp_path / "{epoch}.weights.h5", save_weights_only=True),
            callbacks.TensorBoard(tmp_path / "board"),
        ],
    ).history
    assert len(history["loss"]) == 4
    np.testing.assert_allclose(history["lr"], [0.08, 0.08, 0.08, 0.04], rtol=1e-6)
    first, last = compiled(two_layers()), compiled(two_layers())
    first.load_weights(tmp_path / "1.weights.h5")
    last.load_weights(tmp_path / "4.weights.h5")
    assert_same(values(keras.deep_gp), values(first.deep_gp))
    assert any(differ(values(first.deep_gp), values(last.deep_gp)))

    written = {}
    for file in (tmp_path / "board" / "validation").iterdir():
        for event in tf.compat.v1.train.summary_iterator(str(file)):
            for value in event.summary.value:
                written.setdefault(value.tag, []).append(tf.make_ndarray(value.tensor))
    np.testing.assert_allclose(written["epoch_loss"], history["val_loss"], rtol=1e-6)


def test_callbacks_that_cannot_work_are_refused_at_once(rng, tmp_path):
    keras, callbacks = compiled(one_layer()), tf_keras.callbacks
    before = values(keras.deep_gp)
    for callback, message in [
        (callbacks.ModelCheckpoint(str(tmp_path / "a.weights.h5")), "save_weights_only=True"),
        (callbacks.TensorBoard(tmp_path, histogram_freq=1), "histogram_freq=0"),
    ]:
        with pytest.raises(ValueError, match=message):
            keras.fit(data_of(rng), callbacks=[callback])
    assert_same(before, values(keras.deep_gp))


# ------------------------------------------------------------------------------------ predictions


def test_predictions_are_of_new_targets(rng):
    X, model = rng.normal(size=(9, 2)), one_layer()
    keras = gi.interop.as_keras_model(model)
    keras.compile(SGD(0.01))
    expected = [moment.numpy() for moment in model.predict_y(X)]
    assert_same(keras.predict(X, verbose=0), expected, atol=1e-12)
    assert_same(keras(tf.constant(X)), expected, atol=1e-12)
    batches = tf.data.Dataset.from_tensor_slices(X).batch(4)
    assert_same(keras.predict(batches, verbose=0), expected, atol=1e-12)
    # Not of the model as it was when predictions were first asked for.
    model.likelihood.variance.assign(5.0)
    _, variance = keras.predict(X, verbose=0)
    np.testing.assert_allclose(variance, model.predict_y(X)[1], rtol=1e-12)


def test_predictions_are_the_same_at_every_call(rng):
    X = rng.normal(size=(9, 2))
    keras = compiled(two_layers(), prediction_samples=5)
    first = keras.predict(X, verbose=0)
    assert_same(first, keras.predict(X, verbose=0))
    other = compiled(two_layers(), prediction_samples=5, seed=1).predict(X, verbose=0)
    assert any(differ(first, other))


# ----------------------------------------------------------------------------------------- errors


@pytest.mark.slow
@pytest.mark.parametrize("recover", [True, False])
def test_a_bound_that_is_not_finite_is_named_and_undone(recover, rng):
    keras = compiled(two_layers())
    before = values(keras.deep_gp)
    explode = tf_keras.callbacks.LearningRateScheduler(lambda epoch: 0.0 if epoch == 0 else 1e30)
    with (
        warnings.catch_warnings(),
        pytest.raises(
            gi.training.NonFiniteError,
            match=r"step 5, in epoch 2: .* is NaN or infinite. The model is what it was .* jitter",
        ) as error,
    ):
        warnings.simplefilter("ignore" if recover else "error")
        keras.fit(
            data_of(rng), batch_size=3, epochs=3, verbose=0, callbacks=[explode], recover=recover
        )
    assert error.value.step == 5
    assert_same(before, values(keras.deep_gp))
    assert all(scale == 1.0 for scale in jitter_scales(keras.deep_gp))


def scales_from(model, epoch, value):
    """A callback that gives the layers another jitter from an epoch on."""

    def set_scales(now, logs):
        for scale in jitter_scales(model):
            scale.assign(value if now >= epoch else 1.0)

    return tf_keras.callbacks.LambdaCallback(on_epoch_begin=set_scales)


@pytest.mark.slow
@pytest.mark.longest
def test_jitter_is_raised_and_the_epoch_repeated(monkeypatch):
    data, options = data_of(np.random.default_rng(1)), dict(batch_size=3, verbose=0, shuffle=False)
    expected = compiled(two_layers(), tf_keras.optimizers.Adam(0.01))
    plain = expected.fit(
        data, epochs=3, callbacks=[scales_from(expected.deep_gp, 1, 100.0)], **options
    )

    keras = compiled(two_layers(), tf_keras.optimizers.Adam(0.01))
    scale = jitter_scales(keras.deep_gp)[0]
    terms = gi.models.DeepGP.bound_terms

    def failing(model, *arguments):
        first, second = terms(model, *arguments)
        fails = (keras.optimizer.iterations >= 4) & (scale < 100.0)
        return tf.where(fails, tf.constant(np.nan, first.dtype), first), second

    monkeypatch.setattr(gi.models.DeepGP, "bound_terms", failing)
    epochs = []
    note = tf_keras.callbacks.LambdaCallback(on_epoch_begin=lambda epoch, _: epochs.append(epoch))
    with pytest.warns(UserWarning, match="At step 5 .* the jitter .* raised to 1e-0") as caught:
        history = keras.fit(data, epochs=3, callbacks=[note], **options)
    assert len(caught) == len(history.recoveries) == 2
    assert epochs == [0, 1, 1, 1, 2]
    assert history.epoch == plain.epoch == [0, 1, 2]
    assert int(keras.optimizer.iterations) == 9 and scale == 100.0
    assert_same(values(expected.deep_gp), values(keras.deep_gp))
    assert history.history == plain.history


@pytest.mark.slow
def test_the_rate_is_halved_where_no_jitter_helps(rng, monkeypatch):
    keras = compiled(one_layer(), SGD(RATE))
    terms = gi.models.DeepGP.bound_terms

    def failing(model, *arguments):
        first, second = terms(model, *arguments)
        fails = keras.optimizer.learning_rate == RATE
        return tf.where(fails, tf.constant(np.nan, first.dtype), first), second

    monkeypatch.setattr(gi.models.DeepGP, "bound_terms", failing)
    with pytest.warns(UserWarning):
        history = keras.fit(data_of(rng), epochs=1, verbose=0)
    assert [one.learning_rate for one in history.recoveries][-1] == RATE / 2
    assert keras.optimizer.learning_rate == RATE / 2
    assert all(scale == 1.0 for scale in jitter_scales(keras.deep_gp))


def test_weights_files_hold_the_jitter(tmp_path):
    path = tmp_path / "a.weights.h5"
    first, second = compiled(two_layers()), compiled(two_layers())
    for scale in jitter_scales(first.deep_gp):
        scale.assign(100.0)
    first.save_weights(path)
    second.load_weights(path)
    assert all(scale == 100.0 for scale in jitter_scales(second.deep_gp))


def test_mistakes_are_named(rng):
    model, data = one_layer(), data_of(rng)
    X, Y = pair(data)
    with pytest.raises(TypeError, match=r"must be one of this library"):
        gi.interop.as_keras_model(gpflow.models.GPR((X, Y), gpflow.kernels.RBF()))
    with pytest.raises(ValueError, match="num_samples"):
        gi.interop.as_keras_model(model, num_samples=0)
    keras = gi.interop.as_keras_model(model)
    with pytest.raises(RuntimeError, match="compile"):
        keras.fit(data)
    for refused in ({"loss": "mse"}, {"metrics": ["mse"]}, {"jit_compile": True}):
        with pytest.raises(ValueError, match=next(iter(refused))):
            keras.compile(SGD(), **refused)
    with pytest.raises(TypeError, match=r"gpflow\.keras"):
        keras.compile(tf.compat.v1.train.AdamOptimizer())
    keras.compile("adam", run_eagerly=True)

    dataset = tf.data.Dataset.from_tensor_slices
    for x, message in [
        (X, "the type is ndarray"),
        ((X, Y), "the type is tuple"),
        ({"inputs": X}, "the keys are 'inputs'"),
        (dataset((X, Y, X)).batch(2), "the type is tuple"),
        (dataset({"inputs": X, "y": Y}).batch(2), "the keys are 'inputs', 'y'"),
        ({"inputs": X[:4], "targets": Y[:4]}, "num_data=4"),
        ({"inputs": X, "targets": Y[:4]}, "same number of rows"),
        ({"inputs": X * np.nan, "targets": Y}, r"X must be finite, but X\[0, 0\] is nan"),
        ({"inputs": X, "targets": np.hstack([Y, Y])}, "Y has 2 columns"),
    ]:
        with pytest.raises(ValueError, match=message):
            keras.fit(x)
    with pytest.raises(ValueError, match="the keys are 'inputs'"):
        keras.fit(data, validation_data={"inputs": X})
    with pytest.raises(ValueError, match="y must be left out"):
        keras.fit(data, Y)
    with pytest.raises(ValueError, match="same number of rows"):
        keras.fit(X, Y[:4])
    with pytest.raises(ValueError, match="y must be left out"):
        keras.evaluate(dataset((X, Y)).batch(2), Y)
    with pytest.raises(ValueError, match="sample_weight"):
        keras.fit(data, sample_weight=np.ones(N))
    with pytest.raises(ValueError, match="X has 3 columns"):
        keras.predict(np.zeros((2, 3)))
    gpflow.set_trainable(model.layers[0].kernel, False)
    keras.compile("adam", run_eagerly=True)
    gpflow.set_trainable(model.layers[0].kernel, True)
    with pytest.raises(ValueError, match="optimizer was used before for other variables"):
        keras.fit(data)


@pytest.mark.longest
def test_pairs_of_x_and_y_are_the_same_as_a_dictionary(rng):
    """As arrays and as batches of a dataset; of validation data too."""
    data, held_out = data_of(rng), data_of(rng, 4)
    X, Y = pair(data)
    options = {"batch_size": 3, "epochs": 2, "shuffle": False, "verbose": 0}
    batches = tf.data.Dataset.from_tensor_slices((X, Y)).batch(3)
    of_batches = {**options, "batch_size": None, "validation_batch_size": 3}
    runs = []
    for given, validation, how in [
        ((data,), held_out, options),
        ((X, Y), pair(held_out), options),
        ((batches,), pair(held_out), of_batches),
    ]:
        model = two_layers()
        keras = compiled(model)
        history = keras.fit(*given, validation_data=validation, **how).history
        measured = keras.evaluate(*pair(held_out), verbose=0)
        runs.append([*values(model), history["loss"], history["val_loss"], measured])
    assert_same(runs[0], runs[1])
    assert_same(runs[0], runs[2], atol=1e-12)


def test_a_strategy_is_refused():
    strategy = tf.distribute.get_strategy()
    strategy_of_two = type("Two", (), {"num_replicas_in_sync": 2})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tf.distribute, "get_strategy", lambda: strategy_of_two)
        with pytest.raises(ValueError, match="strategy="):
            gi.interop.as_keras_model(one_layer())
    assert tf.distribute.get_strategy() is strategy


def test_models_without_a_density_are_refused(rng):
    """Also where Keras traces a step: of an error in there it makes one of its own."""
    weights = gi.layers.DenseLayer(2, 1, gi.posteriors.Prior())
    network = gi.models.DeepGP([weights], gpflow.likelihoods.Gaussian(0.3), num_data=N)
    model = gi.inference.Gaussian(network, np.zeros(3), np.ones((3, 1)))
    keras = gi.interop.as_keras_model(model)
    keras.compile(SGD(0.01))
    for method in (keras.fit, keras.evaluate):
        with pytest.raises(gi.models.NoDensityError, match="low rank"):
            method(data_of(rng), verbose=0)


@pytest.mark.slow
def test_changes_of_the_model_are_followed(rng):
    """Keras keeps functions that it has traced; they would be of the model before."""
    X, Y = pair(data_of(rng))
    model = one_layer()
    keras = gi.interop.as_keras_model(model)
    keras.compile(SGD(0.0))
    keras.fit(X, Y, epochs=1, verbose=0)
    keras.evaluate(X, Y, verbose=0)
    keras.predict(X)

    def losses():
        history = keras.fit(X, Y, batch_size=len(X), epochs=1, verbose=0).history
        terms = model.bound_terms((X, Y), seed=0)
        loss = float(terms[1] - terms[0] - model.log_prior_density()) / len(X)
        return history["loss"][0], keras.evaluate(X, Y, len(X), verbose=0)[0], loss

    model.likelihood.variance.prior = tfp.distributions.Normal(np.float64(100.0), np.float64(1.0))
    trained, evaluated, expected = losses()
    assert expected > 50
    np.testing.assert_allclose([trained, evaluated], expected, rtol=1e-9)
    before = keras.train_function
    losses()
    assert keras.train_function is before  # nothing was changed
    model.likelihood = gpflow.likelihoods.Gaussian(25.0)
    expected = -float(model.elbo((X, Y)) + model.log_prior_density()) / len(X)
    assert keras.evaluate(X, Y, len(X), verbose=0)[0] == pytest.approx(expected, rel=1e-9)
    assert keras.predict(X)[1].min() >= 25.0


def test_a_posterior_over_weights_that_is_not_finite_is_undone(rng):
    X, Y = pair(data_of(rng))
    network = gi.architectures.build_bnn(X, Y, widths=(3,), inference="factorised")
    size = gi.inference.WeightSpace(network).size
    q = gi.inference.Gaussian(network, np.zeros(size), diagonal=np.full(size, 0.1))
    keras = compiled(q, SGD(1e30))
    with pytest.raises(gi.training.NonFiniteError, match="gradient is not finite at step"):
        keras.fit(X, Y, epochs=5, verbose=0, recover=False)
    assert np.all(np.isfinite(q.mean))


def test_missing_targets_may_be_ignored(rng):
    X, Y = pair(data_of(rng))
    Y = np.concatenate([Y, Y**2], axis=1)
    model = gi.architectures.build_deep_gp(
        X, Y, num_layers=1, num_inducing=5, inference="local", missing="ignore"
    )
    Y[3, 0] = np.nan
    keras = compiled(model, SGD(0.0))
    loss = keras.fit(X, Y, batch_size=len(X), epochs=1, verbose=0).history["loss"][0]
    np.testing.assert_allclose(loss, -float(model.elbo((X, Y))) / len(X), rtol=1e-9)
    assert keras.evaluate(X, Y, len(X), verbose=0)[0] == pytest.approx(loss, rel=1e-9)
    Y[4] = np.inf
    with pytest.raises(ValueError, match="Y must be finite"):
        keras.fit(X, Y, verbose=0)
