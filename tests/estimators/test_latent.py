"""Latent variables behind scikit-learn's interface."""

import numpy as np
import pytest

from gpflow_gi.estimators import DeepGPRegressor

pytestmark = pytest.mark.slow


@pytest.mark.longest
def test_latent_variables_of_rows(rng):
    X, y = rng.normal(size=(20, 1)), rng.normal(size=20)
    settings = {"num_inducing": 5, "steps": 4, "num_posterior_samples": 4, "random_state": 0}
    fitted = DeepGPRegressor(1, latent_dim=1, warm_start=True, **settings).fit(X, y)
    assert fitted.fit_record_.reports[-1].name == "importance weighted bound"
    assert fitted.model_.layers[0].num_data == 20
    assert np.all(np.isfinite(fitted.log_density(X, y)))
    fitted.fit(X, y)  # goes on with the same rows
    with pytest.raises(ValueError, match=r"X must have the 20 rows .* but has 10"):
        fitted.fit(X[:10], y[:10])


def test_weights_of_one_change_nothing(rng):
    X, y = rng.normal(size=(12, 1)), rng.normal(size=12)
    settings = {"num_inducing": 4, "steps": 3, "num_posterior_samples": 4, "random_state": 0}
    one = DeepGPRegressor(1, latent_dim=1, **settings).fit(X, y)
    other = DeepGPRegressor(1, latent_dim=1, **settings).fit(X, y, np.ones(12))
    assert other.fit_record_.reports[-1].name == "importance weighted bound of weighted rows"
    np.testing.assert_array_equal(one.predict(X), other.predict(X))
