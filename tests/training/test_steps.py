"""Compiled steps against a plain loop; what the steps depend on and what they do not."""

import gpflow
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_probability as tfp
from gpflow.keras import tf_keras

from gpflow_gi.core.random import as_seed, fold_in
from gpflow_gi.objectives import Elbo, TemperedBound
from gpflow_gi.training.adam import Adam
from gpflow_gi.training.minibatches import Minibatches
from gpflow_gi.training.pace import Pace

from .models import LinearModel, assert_same, linear_data, svgp, train, values

pytestmark = pytest.mark.compiled


def plain_loop(model, data, steps, *, batch_size, warmup, seed, num_samples, rate):
    """The same steps, eagerly, with NumPy's indexing; only the permutation is shared."""
    X, Y = data
    seed = as_seed(seed)
    optimizer = Adam(0.01, jit_compile=False)
    optimizer.build(model.trainable_variables)
    per_epoch = len(X) // batch_size
    terms = []
    for step in range(steps):
        epoch, position = divmod(step, per_epoch)
        permutation = tf.random.experimental.stateless_shuffle(
            tf.range(len(X)), fold_in(fold_in(seed, -1), epoch)
        ).numpy()
        rows = permutation[position * batch_size : (position + 1) * batch_size]
        weight = min((step + 1) / warmup, 1.0) if warmup else 1.0
        with tf.GradientTape() as tape:
            if isinstance(model, LinearModel):
                batch = (tf.constant(X[rows]), tf.constant(Y[rows]))
                log_likelihood, kl = model.bound_terms(batch, num_samples, fold_in(seed, step))
            else:
                kl = model.prior_kl()
                log_likelihood = model.elbo((X[rows], Y[rows])) + kl
            loss = -(log_likelihood - weight * kl + model.log_prior_density())
        terms.append((float(log_likelihood), float(kl)))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.learning_rate = rate(step)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    return np.array(terms)


class ScaledInACustomGradient(gpflow.kernels.SquaredExponential):
    """Reads its variance where one value for all reads in a step would have no gradient."""

    def K(self, X, X2=None):
        @tf.custom_gradient
        def scaled(base):
            def gradient(upstream, variables):
                (variable,) = variables
                own = tf.reduce_sum(upstream * base) * tf.sigmoid(variable)
                return upstream * self.variance, [own]

            return base * self.variance, gradient

        return scaled(super().K(X, X2) / tf.stop_gradient(tf.convert_to_tensor(self.variance)))


@pytest.mark.parametrize(
    "kind",
    [
        "own",
        pytest.param("svgp", marks=pytest.mark.slow),
        pytest.param("own kernel", marks=pytest.mark.slow),
    ],
)
def test_fit_is_the_plain_loop(kind):
    data = linear_data()
    make = {
        "own": lambda: LinearModel(20),
        "svgp": lambda: svgp(20),
        "own kernel": lambda: svgp(20, kernel=ScaledInACustomGradient),
    }[kind]
    num_samples = 3 if kind == "own" else None
    model, expected = make(), make()
    for m in (model, expected):
        parameter = m.noise if kind == "own" else m.kernel.variance
        parameter.prior = tfp.distributions.Gamma(np.float64(2.0), np.float64(5.0))
    terms = plain_loop(
        expected,
        data,
        15,
        batch_size=6,
        warmup=8,
        seed=3,
        num_samples=num_samples,
        rate=lambda step: 0.05 / (1.0 + 0.1 * step),
    )
    record = train(
        model,
        data,
        steps=15,
        batch_size=6,
        kl_warmup=8,
        seed=3,
        num_samples=num_samples,
        learning_rate=lambda step: 0.05 / (1.0 + 0.1 * tf.cast(step, tf.float64)),
    )
    assert_same(model, expected, 1e-12)
    # The reports' means, put together again, are the mean of the plain loop's terms.
    counts = np.diff([0, *(r.step for r in record.reports)])
    means = np.array([(r.expected_log_likelihood, r.kl) for r in record.reports])
    np.testing.assert_allclose(counts @ means, terms.sum(axis=0), rtol=1e-10)


def test_full_data_is_all_rows_in_order():
    data = linear_data()
    model, same, expected = LinearModel(20), LinearModel(20), LinearModel(20)
    train(model, data, steps=5)
    train(same, data, steps=5, batch_size=100)
    assert_same(model, same)
    optimizer = Adam(0.01, jit_compile=False)
    for step in range(5):
        with tf.GradientTape() as tape:
            terms = expected.bound_terms(
                (tf.constant(data[0]), tf.constant(data[1])), None, fold_in(as_seed(0), step)
            )
            loss = terms[1] - terms[0]
        variables = expected.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
    assert_same(model, expected, 1e-12)


def test_steps_per_call_change_nothing(monkeypatch):
    data, models = linear_data(), []
    monkeypatch.setattr("gpflow_gi.training.pace.FEWEST_CALLS", 1)
    for call_seconds, reports in ((0.0, 23), (1e9, 3)):
        monkeypatch.setattr("gpflow_gi.training.pace.CALL_SECONDS", call_seconds)
        models.append(LinearModel(20))
        record = train(models[-1], data, steps=23, batch_size=6, kl_warmup=30)
        assert len(record.reports) == reports  # 1 + 10 + 12 for the second; see Pace
        assert record.reports[-1].step == 23
    assert_same(*models)


@pytest.mark.slow
def test_seed_decides():
    data, models = linear_data(), [LinearModel(20) for _ in range(3)]
    for model, seed in zip(models, (1, 1, 2), strict=True):
        train(model, data, steps=3, batch_size=6, seed=seed)
    assert_same(models[0], models[1])
    assert np.all(values(models[0])[".mean"] != values(models[2])[".mean"])


def test_one_trace(monkeypatch):
    monkeypatch.setattr("gpflow_gi.training.pace.CALL_SECONDS", 1e9)
    monkeypatch.setattr("gpflow_gi.training.pace.FEWEST_CALLS", 1)
    model = LinearModel(20)
    schedule = tf_keras.optimizers.schedules.ExponentialDecay(0.05, 10, 0.9)
    record = train(
        model, linear_data(), steps=300, batch_size=6, kl_warmup=100, learning_rate=schedule
    )
    assert [r.step for r in record.reports] == [1, 11, 111, 300]
    assert model.num_traces == 1


@pytest.mark.parametrize(
    "num_rows, batch_size, jit_compile",
    [(12, 4, False), (13, 4, False), (5, 1, False), (7, 6, False), (13, 4, True)],
)
def test_an_epoch_has_every_row_once(num_rows, batch_size, jit_compile):
    rows = np.arange(float(num_rows))[:, None]
    data = (tf.constant(rows), tf.constant(-rows))
    minibatches = Minibatches(data, batch_size, as_seed(0), jit_compile)
    held, epochs = minibatches.initially(), []
    per_epoch = num_rows // batch_size
    for epoch in range(3):
        seen = []
        for position in range(per_epoch):
            step = tf.constant(epoch * per_epoch + position, tf.int64)
            (X, Y), held = minibatches.batch(step, held)
            assert X.shape == Y.shape == [batch_size, 1]
            np.testing.assert_array_equal(X, -Y)
            # A start in the middle of an epoch gives the same rows.
            (afresh, _), _ = minibatches.batch(step, minibatches.initially())
            np.testing.assert_array_equal(X, afresh)
            seen += X.numpy().ravel().tolist()
        assert len(set(seen)) == len(seen) == per_epoch * batch_size
        epochs.append(seen)
    assert epochs[0] != epochs[1] != epochs[2]


@pytest.mark.slow
def test_a_dropped_remainder_leaves_rows_equally_likely():
    num_rows, batch_size, epochs = 7, 4, 3000
    rows = tf.range(7, dtype=tf.float64)[:, None]
    minibatches = Minibatches((rows, rows), batch_size, as_seed(5))

    @tf.function
    def batch(step):
        return minibatches.batch(step, minibatches.initially())[0][0]

    seen = tf.map_fn(batch, tf.range(epochs, dtype=tf.int64), fn_output_signature=tf.float64)
    share = np.bincount(seen.numpy().astype(int).ravel(), minlength=7) / epochs
    p = batch_size / num_rows
    np.testing.assert_allclose(share, p, atol=5 * np.sqrt(p * (1 - p) / epochs))


class SubclassedSVGP(gpflow.models.SVGP):
    """With a bound of its own, which fit must not take for GPflow's."""

    def elbo(self, data):
        return super().elbo(data) - tf.square(self.kernel.variance)


@pytest.mark.parametrize("num_data, num_rows", [(20, 20), (20, 7), (None, 20)])
@pytest.mark.parametrize("kind", [gpflow.models.SVGP, SubclassedSVGP])
def test_terms_of_svgp(kind, num_data, num_rows):
    model = svgp(num_data, kind)
    data = tuple(tf.constant(array[:num_rows]) for array in linear_data())
    model.q_mu.assign(np.ones((5, 1)))
    expected_log_likelihood, kl = Elbo().terms(model, data, None, as_seed(0))
    np.testing.assert_allclose(kl, model.prior_kl(), rtol=1e-12)
    np.testing.assert_allclose(expected_log_likelihood - kl, model.elbo(data), rtol=1e-12)


def test_kl_weight():
    elbo = Elbo()
    weights = [float(elbo.kl_weight(step, 4)) for step in range(6)]
    assert weights == [0.25, 0.5, 0.75, 1.0, 1.0, 1.0]
    assert float(elbo.kl_weight(0, 0)) == float(elbo.kl_weight(0, 1)) == 1.0
    weights = [float(TemperedBound(0.5).kl_weight(step, 2)) for step in range(3)]
    assert weights == [0.25, 0.5, 0.5] and float(TemperedBound(3.0).kl_weight(0, 0)) == 3.0


@pytest.mark.parametrize("temperature", [0.05, 3.0])
def test_the_optimum_at_a_temperature_is_the_tempered_posterior(temperature):
    """Proportional to likelihood^(1/T) times prior: the posterior with T times the noise."""
    data = linear_data()
    model = svgp(20)
    gpflow.set_trainable(model, False)
    for parameter in (model.q_mu, model.q_sqrt):
        gpflow.set_trainable(parameter, True)
    Z, kernel = model.inducing_variable, model.kernel
    Kuu = gpflow.covariances.Kuu(Z, kernel, jitter=gpflow.default_jitter())
    A = np.linalg.solve(np.linalg.cholesky(Kuu), gpflow.covariances.Kuf(Z, kernel, data[0]))
    noise = temperature * model.likelihood.variance.numpy()
    covariance = np.linalg.inv(np.eye(len(A)) + A @ A.T / noise)
    model.q_mu.assign(covariance @ A @ data[1] / noise)
    model.q_sqrt.assign(np.linalg.cholesky(covariance)[None])

    def moved(temperature):
        other = gpflow.utilities.deepcopy(model)
        sgd = tf_keras.optimizers.SGD(1e-3)
        record = train(other, data, steps=1, optimizer=sgd, temperature=temperature)
        (report,) = record.reports
        elbo = model.elbo(data)
        np.testing.assert_allclose(report.bound, elbo, rtol=1e-10)
        difference = (1 - temperature) * model.prior_kl()
        np.testing.assert_allclose(report.objective, elbo + difference, rtol=1e-10)
        return max(
            np.abs(one - before).max()
            for one, before in zip(
                other.trainable_variables, model.trainable_variables, strict=True
            )
        )

    assert moved(temperature) < 1e-12
    assert moved(1.0) > 1e-4


def test_pace_starts_small_and_finds_a_second():
    pace, taken = Pace(100_000), []
    for _ in range(6):
        taken.append(pace.num_steps)
        pace.measured(pace.num_steps, pace.num_steps * 0.004)
    assert taken == [1, 10, 100, 250, 250, 250]
    pace.measured(250, 500.0)
    assert pace.num_steps == 1


def test_fast_steps_still_make_a_curve():
    pace, taken = Pace(3000), []
    for _ in range(4):
        taken.append(pace.num_steps)
        pace.measured(pace.num_steps, 0.0)
    assert taken == [1, 10, 60, 60]
    assert Pace(3).num_steps == 1


@pytest.mark.slow
def test_learning_rates():
    """Each way to give a rate reaches the optimizer; SGD shows by how far a parameter moves."""
    schedules = tf_keras.optimizers.schedules
    SGD = tf_keras.optimizers.SGD
    cases = [
        (None, None, [0.01, 0.01]),
        (None, 0.3, [0.3, 0.3]),
        (SGD(0.2), None, [0.2, 0.2]),
        (SGD(0.2), 0.3, [0.3, 0.3]),
        (SGD(0.2), schedules.PiecewiseConstantDecay([0], [0.4, 0.1]), [0.4, 0.1]),
        (SGD(schedules.PiecewiseConstantDecay([0], [0.4, 0.1])), None, [0.4, 0.1]),
        (None, lambda step: 0.1 / tf.cast(step + 1, tf.float32), [0.1, 0.05]),
    ]
    for optimizer, learning_rate, expected in cases:
        model = LinearModel(20)
        record = train(
            model, linear_data(), steps=2, optimizer=optimizer, learning_rate=learning_rate
        )
        assert [r.learning_rate for r in record.reports] == expected
        if optimizer is not None:
            assert int(optimizer.iterations) == 2


@pytest.mark.slow
def test_an_optimizer_keeps_its_state_for_the_next_fit():
    data, models = linear_data(), [LinearModel(20) for _ in range(3)]
    for model in models:
        # Without noise in the bound, all that differs between steps is the optimizer's state.
        model.scale.assign(np.full(2, 1e-9))
        gpflow.set_trainable(model.scale, False)
    once, twice, afresh = models
    train(once, data, steps=4)
    optimizer = Adam(0.01, jit_compile=False)
    for _ in range(2):
        train(twice, data, steps=2, optimizer=optimizer)
        train(afresh, data, steps=2)
    assert_same(once, twice, 1e-7)
    assert np.all(np.abs(values(once)[".mean"] - values(afresh)[".mean"]) > 1e-5)


def test_fixed_and_unused_parameters_stay():
    model = LinearModel(20)
    gpflow.set_trainable(model.noise, False)
    model.unused = gpflow.Parameter(3.0)
    train(model, linear_data(), steps=2)
    assert values(model)[".noise"] == 1.0 and values(model)[".unused"] == 3.0
    assert np.all(values(model)[".mean"] != 0.0)


def test_fit_trains():
    """It reaches the exact evidence's neighbourhood and the least-squares weights."""
    X, Y = linear_data(100)
    model = LinearModel(100, num_samples=5)
    record = train(model, (X, Y), steps=600, learning_rate=0.05, batch_size=50)
    ridge = np.linalg.solve(X.T @ X / 0.09 + np.eye(2), X.T @ Y / 0.09)
    np.testing.assert_allclose(values(model)[".mean"], ridge[:, 0], atol=0.05)
    assert record.reports[-1].bound > record.reports[0].bound


def test_default_float_decides_the_type():
    """Data of any type, float32 throughout."""
    X, Y = linear_data()
    gpflow.config.set_default_float(np.float32)
    try:
        model = svgp(20)
        train(model, (X, Y), steps=2, batch_size=6, kl_warmup=2)
        assert model.q_mu.dtype == tf.float32
        assert np.all(np.isfinite(model.q_mu))
    finally:
        gpflow.config.set_default_float(np.float64)


@pytest.mark.slow
def test_xla():
    """The same numbers, where no random ones are involved; minibatches work too."""
    data, models = linear_data(), [LinearModel(20) for _ in range(2)]
    for model, jit_compile in zip(models, (True, False), strict=True):
        model.scale.assign(np.full(2, 1e-9))
        gpflow.set_trainable(model.scale, False)
        train(model, data, steps=4, jit_compile=jit_compile)
    assert_same(*models, 1e-7)
    record = train(models[0], data, steps=4, batch_size=6, jit_compile=True)
    assert record.step == 4
