"""scikit-learn's own checks of what it expects from estimators; none is expected to fail."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from gpflow_gi.estimators import BNNClassifier, BNNRegressor, DeepGPClassifier, DeepGPRegressor

# Enough for the checks that ask for a good fit
SMALL = {"steps": 150, "num_inducing": 30, "num_posterior_samples": 5, "random_state": 0}


@pytest.mark.slow
@parametrize_with_checks([BNNRegressor((5,), **SMALL)])
def test_one_estimator(estimator, check):
    check(estimator)


@pytest.mark.longest
@parametrize_with_checks(
    [DeepGPRegressor(**SMALL), DeepGPClassifier(**SMALL), BNNClassifier((5,), **SMALL)]
)
def test_the_others(estimator, check):
    check(estimator)
