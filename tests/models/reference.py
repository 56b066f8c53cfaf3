"""Models against the values of an independent implementation, up to the noise of both."""

from typing import Any

import numpy as np
import tensorflow as tf

import gpflow_gi as gi

from ..builders import bounds, mean_and_standard_error


def check_bound_and_its_terms(model: gi.models.DeepGP, values: dict[str, Any]) -> None:
    data = (values["X"], values["Y"])
    elbo, error = mean_and_standard_error(bounds(model, data, num_samples=100, repeats=200))
    assert np.abs(elbo - values["elbo_mean"]) < 3 * np.hypot(error, values["elbo_se"])
    bound_terms = tf.function(
        lambda seed: model.bound_terms(data, num_samples=400, seed=seed), autograph=False
    )
    terms = np.array([bound_terms(tf.constant([1, i])) for i in range(30)])
    for name, (mean, error), sign in zip(
        ("expected_log_likelihood", "log_p_minus_log_q"),
        zip(*mean_and_standard_error(terms), strict=True),
        (1, -1),
        strict=True,
    ):
        combined = np.hypot(error, values[f"{name}_se"])
        assert np.abs(sign * mean - values[f"{name}_mean"]) < 3 * combined


def check_moments_and_densities(model: gi.models.DeepGP, values: dict[str, Any]) -> None:
    X = np.concatenate([values["X"], values["Xtest"]])
    predict = tf.function(
        lambda seed: model.predict_f(X, num_samples=250, seed=seed), autograph=False
    )
    runs = [predict(tf.constant([0, i])) for i in range(60)]
    mean, error = mean_and_standard_error([run[0][:, 0] for run in runs])
    # Four, not three, standard errors: the largest of 58 is looked at.
    assert np.all(np.abs(mean - values["f_mean"]) < 4 * np.hypot(error, values["f_mean_se"]))
    variance, error = mean_and_standard_error([run[1][:, 0] for run in runs])
    # The reference gives no error of its variances; over 1e6 samples it is about this.
    reference_error = np.sqrt(2 / 1e6) * values["f_var"]
    assert np.all(np.abs(variance - values["f_var"]) < 4.5 * np.hypot(error, reference_error))
    data = (values["X"], values["Y"])
    predict = tf.function(
        lambda seed: model.predict_log_density(data, 1000, seed=seed), autograph=False
    )
    runs = [predict(tf.constant([0, i])) for i in range(20)]
    density, error = mean_and_standard_error(runs)
    combined = np.hypot(error, values["log_density_se"])
    assert np.all(np.abs(density - values["log_density"]) < 4 * combined)
