"""Estimators whose training rows have weights."""

import numpy as np
import pandas as pd
import pytest

from gpflow_gi.core.random import as_seed, fold_in
from gpflow_gi.datasets import Standardiser
from gpflow_gi.datasets.column import Column
from gpflow_gi.estimators import BNNClassifier, BNNRegressor, likelihoods

SMALL = {"steps": 2, "num_inducing": 4, "num_posterior_samples": 2, "random_state": 0}
N = 10
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 2))
y = X @ [1.0, -2.0] + RNG.normal(size=N)
TIMES = np.array([2, 0, 1, 3, 1, 1, 0, 1, 2, 1])


def test_the_scaling_is_that_of_repeated_rows():
    rows = np.repeat(np.arange(N), TIMES)
    there = TIMES > 0
    weighted = Standardiser.fit(X[there], TIMES[there])
    np.testing.assert_allclose(weighted.mean, Standardiser.fit(X[rows]).mean, rtol=1e-12)
    np.testing.assert_allclose(weighted.scale, Standardiser.fit(X[rows]).scale, rtol=1e-12)


@pytest.mark.slow
def test_a_fit_maximises_the_bound_of_repeated_rows():
    model = BNNRegressor((3,), **{**SMALL, "steps": 1}).fit(X, y, sample_weight=TIMES)
    report = model.fit_record_.reports[-1]
    assert report.name == "weighted bound"
    rows = np.repeat(np.arange(N), TIMES)
    scaled = model.input_scaling_.transform(X[rows])
    targets = model.target_scaling_.transform(y[rows, None])
    # The model before its only step
    start = BNNRegressor((3,), **SMALL)
    likelihood, _ = likelihoods.of_targets("gaussian", y[:, None])
    seed = int(np.random.RandomState(0).randint(2**31))
    there = TIMES > 0
    of_there = (
        model.input_scaling_.transform(X[there]),
        model.target_scaling_.transform(y[there, None]),
    )
    first = start._build(*of_there, likelihood, num_inducing=4, seed=seed)
    assert first.num_data == there.sum()
    first.num_data = len(rows)
    terms = first.bound_terms((scaled, targets), 1, fold_in(as_seed(seed), 0))
    expected = terms[0] - report.kl_weight * terms[1]
    np.testing.assert_allclose(report.objective, expected, rtol=1e-10)


@pytest.mark.slow
def test_rows_of_weight_zero_are_not_there():
    there = TIMES > 0
    one = BNNRegressor((3,), **SMALL).fit(X, y, np.where(there, 1.0, 0.0))
    other = BNNRegressor((3,), **SMALL).fit(X[there], y[there])
    np.testing.assert_allclose(one.predict(X), other.predict(X), rtol=1e-9)
    labels = np.where(np.arange(N) % 2, "a", "b")
    labels[1] = "nowhere else"
    assert list(BNNClassifier((3,), **SMALL).fit(X, labels, TIMES).classes_) == ["a", "b"]


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        (-np.ones(N), "Negative values"),
        (np.zeros(N), "non-zero number|zero for every row"),
        (np.ones(N - 1), "sample_weight.shape =="),
        (np.full(N, np.nan), "sample_weight contains NaN"),
        (np.ma.masked_array(np.ones(N), np.arange(N) == 1), "sample_weight must be an array"),
    ],
)
def test_what_is_no_weights(weights, said):
    with pytest.raises(ValueError, match=said):
        BNNRegressor((3,), **SMALL).fit(X, y, weights)


def test_rows_of_weight_zero_have_no_part_in_the_preprocessing():
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": np.resize(["u", "v", "w"], N)})
    frame.loc[::4, "b"] = np.nan
    weights = TIMES.astype(float)
    frame.loc[weights == 0, "b"] = 1000.0
    frame.loc[weights == 0, "c"] = "elsewhere"
    frame.loc[weights == 0, "a"] = np.nan
    settings = {**SMALL, "preprocess": "median"}
    model = BNNRegressor((3,), **settings).fit(frame, y, sample_weight=weights)
    assert model.preprocessing_.columns[2].categories == ("u", "v", "w")
    rows = np.repeat(np.arange(N), TIMES)
    assert model.preprocessing_.columns[1].fill == np.nanmedian(frame["b"].to_numpy()[rows])
    assert not model.preprocessing_.columns[0].missing


@pytest.mark.parametrize("seed", range(5))
def test_a_weighted_median_is_that_of_repeated_values(seed):
    rng = np.random.default_rng(seed)
    values, times = rng.normal(size=9), rng.integers(1, 4, 9)
    found = Column("a").learned(values, True, times.astype(float)).fill
    assert found == np.median(np.repeat(values, times))
    assert found == Column("a").learned(values, True, 0.1 * times).fill
