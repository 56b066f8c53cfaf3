"""scikit-learn's own checks of what it expects from estimators; none is expected to fail."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from gpflow_gi.estimators import BNNClassifier, BNNRegressor, DeepGPClassifier, DeepGPRegressor

# Enough for the checks that ask for a good fit
SMALL = {"steps": 150, "num_inducing": 30, "num_posterior_samples": 5, "random_state": 0}
ESTIMATORS = [
    DeepGPRegressor(**SMALL),
    DeepGPClassifier(**SMALL),
    BNNRegressor((5,), **SMALL),
    BNNClassifier((5,), **SMALL),
]


@pytest.mark.slow
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
