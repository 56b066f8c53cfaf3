"""Code as users write it, for mypy alone: it is checked by test_user_code.py, and never run.

A `type: ignore` is a mistake that mypy must find: one that it does not find is reported as unused.
"""

import numpy as np
import numpy.typing as npt
import tensorflow as tf
from typing_extensions import assert_type

import gpflow_gi as gi
from gpflow_gi.estimators import BNNClassifier, DeepGPRegressor
from gpflow_gi.training import FitRecord, Report
from gpflow_gi.training.trackers import TensorBoard

X: npt.NDArray[np.float64] = np.zeros((20, 3))
Y = X[:, :1]


def models() -> None:
    model = gi.architectures.build_deep_gp(X, Y, num_layers=2, inference=["global", "local"])
    assert_type(model, gi.models.DeepGP)
    mean, variance = model.predict_y(X, num_samples=5)
    assert_type(mean, tf.Tensor)
    assert_type(variance, tf.Tensor)
    assert_type(model.predict_f(X), tuple[tf.Tensor, tf.Tensor])
    assert_type(model.k_hat((X, Y)), float)
    assert_type(model.posterior(100), gi.models.FrozenPosterior)
    gi.save(model, "model.npz")
    gi.models.print_summary(model)
    model.predict_y(X, samples=5)  # type: ignore[call-arg]
    gi.architectures.build_bnn(X, Y, widht=(5,))  # type: ignore[call-arg]


def training(model: gi.models.DeepGP, rows: tf.data.Dataset) -> FitRecord:
    def stop(report: Report) -> bool:
        assert_type(report.bound, float)
        return report.step > 10

    record = gi.fit(model, (X, Y), steps=100, callbacks=[stop, TensorBoard("logs")])
    assert_type(record, FitRecord)
    gi.fit(model, rows, steps=100, objective=gi.objectives.WeightedBound(np.ones(20)))
    gi.fit(model, (X, Y))  # type: ignore[call-arg]
    gi.fit(model, (X, Y), steps="many")  # type: ignore[arg-type]
    gi.fit(model, (X, Y), steps=1, objective="ELBO")  # type: ignore[arg-type]
    return record


def estimators() -> None:
    regressor = DeepGPRegressor(2, steps=100).fit(X, Y[:, 0], sample_weight=np.ones(20))
    assert_type(regressor, DeepGPRegressor)
    assert_type(regressor.predict(X), npt.NDArray[np.float64])
    mean, std = regressor.predict(X, return_std=True)
    assert_type(mean, npt.NDArray[np.float64])
    assert_type(std, npt.NDArray[np.float64])
    assert_type(regressor.score(X, Y), float)
    assert_type(BNNClassifier((5,)).fit(X, Y[:, 0]), BNNClassifier)
    DeepGPRegressor(layers=2)  # type: ignore[call-arg]
    DeepGPRegressor(steps="all")  # type: ignore[arg-type]


def posteriors(model: gi.models.DeepGP) -> None:
    laplace = gi.inference.laplace(model, (X, Y))
    assert_type(laplace.weight_samples.elbo((X, Y)), tf.Tensor)
    gi.inference.variational(model, (X, Y), families="mean-field")  # type: ignore[call-arg]
