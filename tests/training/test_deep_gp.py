"""fit on the models that it is made for."""

import shutil

import numpy as np
import pytest
from gpflow.keras import tf_keras

import gpflow_gi as gi
from gpflow_gi.training import NonFiniteError

from .models import assert_same, train

pytestmark = pytest.mark.compiled


def data(num_rows=60):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2.0, 2.0, size=(num_rows, 2))
    Y = np.sin(2.0 * X[:, :1]) + 0.1 * rng.normal(size=(num_rows, 1))
    return X, Y


def build(X, Y):
    return gi.architectures.build_deep_gp(X, Y, num_layers=2, num_inducing=10, seed=0)


@pytest.mark.slow
def test_deep_gp_trains_and_resumes(tmp_path, monkeypatch):
    monkeypatch.setattr("gpflow_gi.training.checkpoints.EVERY_SECONDS", 0.0)
    X, Y = data()
    kwargs = {"steps": 60, "batch_size": 25, "kl_warmup": 10, "num_samples": 2, "seed": 1}
    whole, resumed = build(X, Y), build(X, Y)

    def copy(report):
        if report.step == 11:
            shutil.copytree(tmp_path / "whole", tmp_path / "part")

    record = train(whole, (X, Y), checkpoint_dir=tmp_path / "whole", callbacks=[copy], **kwargs)
    first = train(resumed, (X, Y), checkpoint_dir=tmp_path / "part", **kwargs)
    assert first.reports[:2] == record.reports[:2]
    assert_same(whole, resumed)
    elbo = float(whole.elbo((X, Y), num_samples=50, seed=3))
    assert record.reports[0].bound < record.reports[-1].bound < elbo + 20.0


@pytest.mark.slow
def test_deep_gp_that_fails_says_where():
    X, Y = data()
    model = build(X, Y)
    with pytest.raises(
        NonFiniteError, match=r"at step \d+: .*(layer|parameter|gradient)"
    ) as caught:
        train(model, (X, Y), steps=50, learning_rate=1e6)
    assert caught.value.step > 1
    assert all(np.all(np.isfinite(v)) for v in model.trainable_variables)


@pytest.mark.slow
def test_a_run_is_traced_once(monkeypatch):
    """With warm-up, a schedule, and rows that no batch has at the end of an epoch."""
    monkeypatch.setattr("gpflow_gi.training.pace.CALL_SECONDS", 1e9)
    monkeypatch.setattr("gpflow_gi.training.pace.FEWEST_CALLS", 1)
    X, Y = data()
    model = build(X, Y)
    calls, bound_terms = [], model.bound_terms
    monkeypatch.setattr(
        model,
        "bound_terms",
        lambda *args, **kwargs: (calls.append(1), bound_terms(*args, **kwargs))[1],
    )
    schedule = tf_keras.optimizers.schedules.ExponentialDecay(0.01, 10, 0.9)
    record = train(model, (X, Y), steps=150, batch_size=25, kl_warmup=100, learning_rate=schedule)
    assert [report.step for report in record.reports] == [1, 11, 111, 150]
    assert len(calls) == 1
