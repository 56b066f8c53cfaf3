"""scikit-learn's own checks of what it expects from estimators; one is expected to fail."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from gpflow_gi.estimators import BNNClassifier, BNNRegressor, DeepGPClassifier, DeepGPRegressor

# Enough for the checks that ask for a good fit
SMALL = {"steps": 150, "num_inducing": 30, "num_posterior_samples": 5, "random_state": 0}


def expected_failures(estimator):
    return {
        "check_sample_weight_equivalence_on_dense_data": (
            "rows that are repeated, and in another order, give training another start; the bound "
            "is the same: see test_sample_weight.py"
        )
    }


@pytest.mark.slow
@parametrize_with_checks([BNNRegressor((5,), **SMALL)], expected_failed_checks=expected_failures)
def test_one_estimator(estimator, check):
    check(estimator)


@pytest.mark.longest
@parametrize_with_checks(
    [DeepGPRegressor(**SMALL), DeepGPClassifier(**SMALL), BNNClassifier((5,), **SMALL)],
    expected_failed_checks=expected_failures,
)
def test_the_others(estimator, check):
    check(estimator)
