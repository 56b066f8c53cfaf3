"""Recovery of training from a bound that is not finite."""

import json
import warnings

import gpflow
import numpy as np
import pytest
import tensorflow as tf
from gpflow.keras import tf_keras

import gpflow_gi as gi
from gpflow_gi.core.jitter import Jitter, jitter_scales
from gpflow_gi.training import FitRecord, NonFiniteError, Recovery, RecoveryWarning

from ..builders import random_data, random_deep_gp
from .models import DATA, FailingModel, JitterModel, SteepModel, train, values

pytestmark = pytest.mark.compiled


def sgd(rate=1.0):
    return tf_keras.optimizers.SGD(rate)


@pytest.fixture(params=[1e9, 0.0], ids=["long calls", "calls of one step"])
def calls(request, monkeypatch):
    monkeypatch.setattr("gpflow_gi.training.pace.CALL_SECONDS", request.param)


@pytest.mark.parametrize("needed, raised_to", [(10, 10), (11, 100), (1e4, 1e4)])
def test_jitter_is_raised_until_the_step_is_finite(calls, needed, raised_to):
    model, plain = JitterModel(3.5, needed), JitterModel(3.5, 0)
    with pytest.warns(RecoveryWarning, match="At step 5 .* jitter .* was raised to") as caught:
        record = train(model, DATA, steps=20, optimizer=sgd())
    assert len([one for one in caught if one.category is RecoveryWarning]) == 1
    # The steps are those that would have been taken with enough jitter from the start.
    train(plain, DATA, steps=20, optimizer=sgd())
    assert values(model)[".level"] == values(plain)[".level"] == 3.5 - 20
    assert model.jitter_scale == raised_to
    (recovery,) = record.recoveries
    assert recovery.step == 5 and recovery.learning_rate is None
    assert recovery.jitter == pytest.approx(1e-6 * raised_to)
    assert record.step == 20
    # What is reported is the bound with the jitter of then.
    assert record.reports[-1].bound == pytest.approx(-(3.5 - 19) - 0.5 - raised_to, abs=20)


def test_the_rate_is_halved_where_no_jitter_helps(calls):
    """From 1, the rate of 1 gives 1, -2, 4, -8, 16; half of it converges."""
    model = SteepModel(1.0, 3.0)
    with pytest.warns(RecoveryWarning, match="At step 5 .*learning rate was halved, to 0.5"):
        record = train(model, DATA, steps=40, optimizer=sgd())
    # After three steps, at -8, at half the rate: 4, then -2, 1, ...
    np.testing.assert_allclose(values(model)[".level"], -8.0 * (-0.5) ** 37, rtol=1e-12)
    assert [one.learning_rate for one in record.recoveries] == [0.5]
    assert record.reports[-1].learning_rate == 0.5


def test_a_schedule_is_halved_from_there_on():
    model = SteepModel(1.0, 3.0)
    with pytest.warns(RecoveryWarning, match="halved, to 0.5"):
        record = train(
            model, DATA, steps=40, optimizer=sgd(), learning_rate=lambda step: tf.constant(1.0)
        )
    np.testing.assert_allclose(values(model)[".level"], -8.0 * (-0.5) ** 37, rtol=1e-12)
    assert record.reports[-1].learning_rate == 0.5


def test_jitter_that_does_not_help_is_taken_back():
    model = JitterModel(3.5, 1e5)  # more than is ever tried
    with (
        pytest.warns(RecoveryWarning, match="halved"),
        pytest.raises(
            NonFiniteError,
            match=r"a jitter of up to 0.01 and with half the learning rate too\. The model keeps",
        ) as error,
    ):
        train(model, DATA, steps=20, optimizer=sgd())
    assert model.jitter_scale == 1
    # 3.5, 2.5, 1.5, 0.5, then half steps: 0, -0.5.
    assert error.value.step == 6 and values(model)[".level"] == 0.0
    assert len(error.value.record.recoveries) == 1


def own_schedule():
    return sgd(tf_keras.optimizers.schedules.PiecewiseConstantDecay([10], [1.0, 0.5]))


@pytest.mark.slow
def test_the_schedule_of_an_optimizer_is_halved_from_there_on(tmp_path):
    model = SteepModel(1.0, 3.0)
    with pytest.warns(RecoveryWarning, match="halved, to 0.5"):
        record = train(model, DATA, steps=40, optimizer=own_schedule())
    # Optimizers count their steps from 0: 11 have the first rate.
    expected = -8.0 * (-0.5) ** 8 * 0.25**29
    np.testing.assert_allclose(values(model)[".level"], expected, rtol=1e-12)
    assert record.reports[-1].learning_rate == 0.25
    assert np.isfinite(record.seconds_per_step)
    # A resumed run goes on at half the rate, with this optimizer or a new one.
    for again in (False, True):
        resumed, optimizer = SteepModel(1.0, 3.0), own_schedule()
        with pytest.warns(RecoveryWarning):
            train(
                resumed, DATA, steps=20, optimizer=optimizer, checkpoint_dir=tmp_path / str(again)
            )
        if again:
            resumed, optimizer = SteepModel(1.0, 3.0), own_schedule()
        train(resumed, DATA, steps=40, optimizer=optimizer, checkpoint_dir=tmp_path / str(again))
        assert values(resumed) == values(model)


def test_nothing_is_changed_if_not_wanted_or_where_nothing_went_wrong():
    model = JitterModel(3.5, 10)
    with pytest.raises(NonFiniteError) as error:
        train(model, DATA, steps=20, optimizer=sgd(), recover=False)
    assert model.jitter_scale == 1 and error.value.record.recoveries == []
    assert "It was so" not in str(error.value)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RecoveryWarning)
        assert train(JitterModel(30.5, 10), DATA, steps=20, optimizer=sgd()).recoveries == []
    with pytest.raises(TypeError, match="recover must be True or False, but is 'yes'"):
        train(model, DATA, steps=20, recover="yes")


def test_a_start_that_is_not_finite():
    model = FailingModel(-1.0, "bound")
    with pytest.raises(NonFiniteError, match="parameters that training started from"):
        train(model, DATA, steps=20, optimizer=sgd())
    model = JitterModel(-1.0, 10)
    with pytest.warns(RecoveryWarning, match="At step 1 "):
        train(model, DATA, steps=3, optimizer=sgd())
    assert values(model)[".level"] == -4.0


def test_the_record_survives_json():
    record = FitRecord(
        recoveries=[Recovery(3, "something", jitter=1e-5), Recovery(9, "it", None, 0.1)]
    )
    again = FitRecord.from_dict(json.loads(json.dumps(record.to_dict())))
    assert again.recoveries == record.recoveries
    old = record.to_dict()
    del old["recoveries"]
    assert FitRecord.from_dict(old).recoveries == []


def model_and_data(rng):
    model = random_deep_gp(rng, ["global", "local"], num_data=7)
    return model, random_data(rng, 7)


@pytest.mark.slow
def test_the_jitter_is_part_of_a_model(rng, tmp_path):
    model, data = model_and_data(rng)
    before = model.elbo(data, seed=0)

    @tf.function
    def bound():
        return model.elbo(data, seed=0)

    np.testing.assert_allclose(bound(), before, rtol=1e-10)
    jitter = Jitter(model)
    assert jitter.value == pytest.approx(1e-6)
    while jitter.raise_tenfold():
        pass
    assert jitter.value == pytest.approx(0.01)
    after = model.elbo(data, seed=0)
    assert abs(after - before) > 1e-4
    # What was compiled before knows of it.
    np.testing.assert_allclose(bound(), after, rtol=1e-10)
    # It is what a larger default makes of a model.
    other, _ = model_and_data(np.random.default_rng(0))
    with gpflow.config.as_context(gpflow.config.Config(jitter=0.01)):
        gpflow.utilities.multiple_assign(other, gpflow.utilities.parameter_dict(model))
        np.testing.assert_allclose(other.elbo(data, seed=0), after, rtol=1e-10)
    gi.save(model, tmp_path / "model.gi")
    loaded = gi.load(tmp_path / "model.gi")
    np.testing.assert_array_equal(loaded.elbo(data, seed=0), after)
    np.testing.assert_array_equal(
        loaded.predict_f(data[0], 3, seed=0), model.predict_f(data[0], 3, seed=0)
    )


def test_the_jitter_is_no_parameter(rng):
    model, _ = model_and_data(rng)
    assert len(jitter_scales(model)) == 2
    gpflow.set_trainable(model, False)
    gpflow.set_trainable(model, True)
    variables = {variable.ref() for variable in model.variables}
    assert not variables & {scale.ref() for scale in jitter_scales(model)}


def test_jitter_is_a_tenth_of_the_largest_at_most_before_it_is_raised():
    model = JitterModel(1.0, 0)
    with gpflow.config.as_context(gpflow.config.Config(jitter=2e-3)):
        assert not Jitter(model).raise_tenfold()
    with gpflow.config.as_context(gpflow.config.Config(jitter=1e-3)):
        assert Jitter(model).raise_tenfold()
    assert model.jitter_scale == 10
    assert not Jitter(FailingModel(1.0, "bound")).raise_tenfold()


@pytest.mark.slow
@pytest.mark.parametrize("build", [lambda: JitterModel(3.5, 10), lambda: SteepModel(1.0, 3.0)])
@pytest.mark.parametrize("scheduled", [False, True])
def test_a_resumed_run_keeps_what_was_changed(tmp_path, build, scheduled):
    def run(model, steps, folder):
        options = {"learning_rate": lambda step: tf.constant(1.0)} if scheduled else {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return train(
                model,
                DATA,
                steps=steps,
                optimizer=sgd(),
                checkpoint_dir=tmp_path / folder,
                **options,
            )

    whole, parts = build(), build()
    expected = run(whole, 20, "whole")
    run(parts, 8, "parts")
    parts = build()
    record = run(parts, 20, "parts")
    assert values(parts) == values(whole)
    assert record.recoveries == expected.recoveries and len(record.recoveries) == 1
    assert record.reports[-1].learning_rate == expected.reports[-1].learning_rate
    assert [float(s) for s in jitter_scales(parts)] == [float(s) for s in jitter_scales(whole)]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.filterwarnings("ignore::gpflow_gi.training.RecoveryWarning")
def test_bounds_of_weighted_rows_recover_as_the_others_do(weighted):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(12, 1)), rng.normal(size=(12, 1))
    objective = gi.objectives.WeightedBound(np.ones(12)) if weighted else gi.objectives.Elbo()
    with gpflow.config.as_context():
        gpflow.config.set_default_jitter(1e-18)
        layer = gi.layers.GPLayer(
            gpflow.kernels.SquaredExponential(), 1, gi.posteriors.FullGaussian(6)
        )
        model = gi.models.DeepGP(
            [layer], gpflow.likelihoods.Gaussian(0.1), num_data=12, inducing_inputs=np.zeros((6, 1))
        )
        record = gi.fit(model, (X, Y), steps=3, objective=objective, progress=False)
    (recovery,) = record.recoveries
    assert recovery.step == 1 and recovery.jitter > 1e-18
    assert "layer 1 of 1 (GPLayer with FullGaussian)" in recovery.cause
