"""scikit-learn's interface to deep GPs and Bayesian neural networks."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from gpflow_gi.architectures import build_deep_gp
from gpflow_gi.estimators import BNNClassifier, BNNRegressor, DeepGPClassifier, DeepGPRegressor

SMALL = {"steps": 200, "num_inducing": 20, "num_posterior_samples": 20, "random_state": 0}
REGRESSORS = [DeepGPRegressor(**SMALL), BNNRegressor((10,), **SMALL)]
CLASSIFIERS = [DeepGPClassifier(**SMALL), BNNClassifier((10,), **SMALL)]

regressors = pytest.mark.parametrize("estimator", REGRESSORS, ids=lambda e: type(e).__name__)
classifiers = pytest.mark.parametrize("estimator", CLASSIFIERS, ids=lambda e: type(e).__name__)


@pytest.fixture(scope="module")
def waves():
    """Inputs and targets that are far from standardised, with noise of deviation 20."""
    rng = np.random.default_rng(0)
    X = rng.uniform([0.0, 1000.0], [0.01, 5000.0], size=(120, 2))
    f = 500.0 + 200.0 * np.sin(600.0 * X[:, 0]) + 0.1 * X[:, 1]
    return X, f + 20.0 * rng.normal(size=len(f))


@pytest.fixture(scope="module")
def rings():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 2))
    ring = np.digitize(np.linalg.norm(X, axis=1), [0.8, 1.6])
    return X, np.array(["inner", "middle", "outer"])[ring]


def test_predictions_are_those_of_the_posterior_in_the_targets_unit(waves):
    X, y = waves
    model = BNNRegressor((3,), **{**SMALL, "steps": 2, "num_inducing": 10}).fit(X[:60], y[:60])
    Z = (X - X[:60].mean(axis=0)) / X[:60].std(axis=0)
    centre, unit = y[:60].mean(), y[:60].std()
    expected, variance = (moment.numpy()[:, 0] for moment in model.posterior_.predict_y(Z))
    mean, std = model.predict(X, return_std=True)
    np.testing.assert_allclose(mean, centre + unit * expected, rtol=1e-8)
    np.testing.assert_allclose(std, unit * np.sqrt(variance), rtol=1e-8)
    density = model.posterior_.predict_log_density((Z, (y[:, None] - centre) / unit))
    np.testing.assert_allclose(model.log_density(X, y), density - np.log(unit), rtol=1e-8)


@pytest.mark.slow
@regressors
def test_regression(estimator, waves):
    X, y = waves
    model = clone(estimator).fit(X[:100], y[:100])
    assert model.score(X[100:], y[100:]) > 0.8
    mean, std = model.predict(X[100:], return_std=True)
    assert mean.shape == std.shape == (20,)
    z = (y[100:] - mean) / std
    assert np.mean(np.abs(z) < 3) > 0.9 and np.all(std < 0.8 * np.std(y))
    np.testing.assert_array_equal(model.predict(X[100:]), mean)


@pytest.mark.slow
@regressors
def test_moments_draws_and_densities_are_of_one_distribution(estimator, waves):
    X, y = waves
    model = clone(estimator).fit(X, y)
    mean, std = model.predict(X[:5], return_std=True)
    draws = model.sample_y(X[:5], 4000, random_state=1)
    assert draws.shape == (5, 4000)
    # The kept draws are 20, whose mean and spread have errors of their own.
    error = 4 * std * (1 / np.sqrt(20) + 1 / np.sqrt(4000))
    assert np.all(np.abs(draws.mean(axis=1) - mean) < error)
    assert np.all(np.abs(draws.std(axis=1) / std - 1) < 4 / np.sqrt(2 * 20))
    # The density integrates to one, and is that of a mixture with these moments.
    grid = np.linspace(mean[0] - 8 * std[0], mean[0] + 8 * std[0], 401)
    density = np.exp(model.log_density(np.tile(X[:1], (401, 1)), grid))
    step = grid[1] - grid[0]
    np.testing.assert_allclose(step * density.sum(), 1.0, rtol=1e-3)
    np.testing.assert_allclose(step * (grid * density).sum(), mean[0], atol=1e-2 * std[0])
    gaussian = norm.logpdf(y[:5], mean, std)
    np.testing.assert_allclose(model.log_density(X[:5], y[:5]), gaussian, atol=0.5)


@pytest.mark.slow
@regressors
def test_scaling_of_inputs_and_targets_is_inside(estimator, waves):
    X, y = waves
    plain = clone(estimator).fit(X[:60], y[:60])
    # By powers of two, which rounding does not notice: training would enlarge what it does.
    scaled = clone(estimator).fit(X[:60] * [2**13, 2**-10], 2**-7 * y[:60])
    mean = scaled.predict(X[60:] * [2**13, 2**-10])
    np.testing.assert_array_equal(mean, 2**-7 * plain.predict(X[60:]))
    # Fitted on training rows only
    np.testing.assert_allclose(plain.input_scaling_.mean, X[:60].mean(axis=0))


@pytest.mark.slow
def test_several_targets(waves):
    X, y = waves
    Y = np.column_stack([y, -2.0 * y, np.full(len(y), 7.0)])
    model = DeepGPRegressor(**SMALL).fit(X, Y)
    mean, std = model.predict(X[:4], return_std=True)
    assert mean.shape == std.shape == (4, 3)
    np.testing.assert_allclose(mean[:, 2], 7.0, atol=0.2)
    assert model.sample_y(X[:4], 6).shape == (4, 3, 6)
    assert model.log_density(X[:4], Y[:4]).shape == (4,)
    with pytest.raises(ValueError, match="y has shape"):
        model.log_density(X[:4], y[:4])


@pytest.mark.slow
@classifiers
@pytest.mark.parametrize("num_classes", [2, 3])
def test_classification(estimator, num_classes, rings):
    X, y = rings
    if num_classes == 2:
        X, y = X[y != "middle"], y[y != "middle"]
    model = clone(estimator).fit(X, y)
    assert list(model.classes_) == sorted(set(y))
    assert model.score(X, y) > 0.85
    probability = model.predict_proba(X[:10])
    np.testing.assert_allclose(probability.sum(axis=1), 1.0)
    columns = [list(model.classes_).index(label) for label in y[:10]]
    expected = np.log(probability[np.arange(10), columns])
    np.testing.assert_allclose(model.log_density(X[:10], y[:10]), expected)
    with pytest.raises(ValueError, match="'nowhere', which is none of the classes"):
        model.log_density(X[:1], ["nowhere"])


def test_one_class_is_refused(rings):
    X, _ = rings
    with pytest.raises(ValueError, match="only one class"):
        BNNClassifier(**SMALL).fit(X, np.zeros(len(X)))


@pytest.mark.parametrize("others", [("a", "b"), (None,), (True, "a")])
def test_labels_of_mixed_types_are_refused(rings, others):
    X, labels = rings
    y = (labels == labels[-1]).astype(int).astype(object)
    y[: len(others)] = others
    y[-1] = "a"
    with pytest.raises(ValueError, match="y holds labels of mixed types, such as 'a' and"):
        BNNClassifier(**SMALL).fit(X, y)


def test_masked_rows_are_refused(waves, rings):
    X, y = waves
    masked = np.ma.masked_array(X, np.arange(X.size).reshape(X.shape) == 1)
    for call, name in (
        (lambda: DeepGPRegressor(**SMALL).fit(masked, y), "X"),
        (lambda: DeepGPRegressor(**SMALL).fit(X, np.ma.masked_array(y, y == y[0])), "y"),
        (lambda: DeepGPClassifier(**SMALL).fit(masked, rings[1][: len(X)]), "X"),
    ):
        with pytest.raises(ValueError, match=rf"{name} must be an array of numbers, but \d+ of th"):
            call()


def test_text_is_no_target(waves):
    X, y = waves
    with pytest.raises(ValueError, match="y must be an array of numbers, but holds text"):
        BNNRegressor(**SMALL).fit(X, np.where(y > 0, "high", "low"))


@pytest.mark.slow
@regressors
def test_the_same_seed_gives_the_same_and_files_keep_it(estimator, waves):
    X, y = waves
    one, other = clone(estimator).fit(X, y), clone(estimator).fit(X, y)
    np.testing.assert_array_equal(one.predict(X), other.predict(X))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(one)).predict(X), one.predict(X))
    again = clone(estimator).set_params(random_state=1).fit(X, y)
    assert not np.array_equal(again.predict(X), one.predict(X))
    # A row's prediction does not depend on the rows beside it.
    np.testing.assert_allclose(one.predict(X[:1]), one.predict(X)[:1], rtol=1e-9)


@pytest.mark.longest
@pytest.mark.slow
def test_in_pipelines_and_searches(waves):
    X, y = waves
    pipeline = make_pipeline(PolynomialFeatures(2), BNNRegressor((10,), **SMALL))
    search = GridSearchCV(pipeline, {"bnnregressor__steps": [5, 200]}, cv=2).fit(X, y)
    assert search.best_params_ == {"bnnregressor__steps": 200}
    # In processes of their own
    scores = cross_val_score(BNNRegressor((10,), **SMALL), X, y, cv=2, n_jobs=2)
    assert np.all(scores > 0.5)


QUICK = {"steps": 2, "num_inducing": 10, "num_posterior_samples": 2, "random_state": 0}


@pytest.mark.slow
def test_classifiers_take_forms(rings):
    X, labels = rings
    deep = DeepGPClassifier(**QUICK, shared_precision=False, own_share=0.5).fit(X, labels)
    network = BNNClassifier((3,), **QUICK, shared_precision=False).fit(X, labels)
    posteriors = [model.model_.layers[0].posterior for model in (deep, network)]
    assert not any(posterior.shared for posterior in posteriors) and posteriors[0].num_own == 5


@pytest.mark.slow
def test_forms_of_global_inducing_points_are_those_of_the_builders(waves):
    X, y = waves
    form = {"shared_precision": False, "whiten": True, "own_share": 0.4}
    estimator = DeepGPRegressor(**QUICK, **form).fit(X, y)
    posterior = estimator.model_.layers[0].posterior
    assert not posterior.shared and posterior.whiten and posterior.num_own == 4
    assert estimator.model_.layers[-1].posterior.num_own == 4
    rows = ((values - values.mean(axis=0)) / values.std(axis=0) for values in (X, y[:, None]))
    built = build_deep_gp(*rows, num_inducing=10, **form)
    assert [v.shape for v in estimator.model_.variables] == [v.shape for v in built.variables]
    network = BNNRegressor((3,), **QUICK, shared_precision=False).fit(X, y)
    assert not network.model_.layers[0].posterior.shared
    assert BNNRegressor((3,), **QUICK).fit(X, y).model_.layers[0].posterior.shared
    search = GridSearchCV(DeepGPRegressor(**QUICK), {"own_share": [0.0, 0.5]}, cv=2).fit(X, y)
    num_own = search.best_estimator_.model_.layers[0].posterior.num_own
    assert num_own == 10 * search.best_params_["own_share"]
    with pytest.raises(ValueError, match="own_share must be"):
        DeepGPRegressor(**QUICK, own_share=1.0).fit(X, y)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [DeepGPRegressor, BNNRegressor])
def test_estimators_that_know_no_forms_have_the_default_one(kind, waves):
    X, y = waves
    earlier = kind(**QUICK).fit(X, y)
    forms = {"shared_precision", "whiten", "own_share"} & set(earlier.get_params())
    for name in forms:  # as pickles of earlier versions are
        del earlier.__dict__[name], earlier._built_with[name]
    read = pickle.loads(pickle.dumps(earlier))
    assert read.get_params() == kind(**QUICK).get_params()
    np.testing.assert_array_equal(read.predict(X), earlier.predict(X))
    np.testing.assert_array_equal(clone(read).fit(X, y).predict(X), earlier.predict(X))
    assert read.set_params(warm_start=True).fit(X, y).n_iter_ == 2
    with pytest.raises(ValueError, match="With warm_start, shared_precision must be that of"):
        read.set_params(shared_precision=False).fit(X, y)


def test_tensorflow_is_imported_in_fit_and_not_before():
    code = (
        "import sys; from gpflow_gi.estimators import DeepGPRegressor as R; R().get_params(); "
        "assert 'tensorflow' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"num_posterior_samples": 0}, "num_posterior_samples must be an integer"),
        ({"num_inducing": "many"}, "num_inducing must be an integer"),
        ({"steps": 1e3}, "steps must be an integer"),
        ({"learning_rate": -0.1}, "learning_rate must be positive"),
        ({"learning_rate": "fast"}, "learning_rate must be a number"),
        ({"tol": -1.0}, "tol must be positive"),
        ({"tol": 1.0, "n_iter_no_change": 0}, "n_iter_no_change must be an integer"),
    ],
)
def test_settings_are_checked_before_training(setting, message, waves):
    estimator = DeepGPRegressor(**{**SMALL, "steps": 10**9, **setting})
    with pytest.raises(ValueError, match=message):
        estimator.fit(*waves)


@pytest.mark.slow
def test_training_stops_when_the_bound_no_longer_rises(waves):
    estimator = DeepGPRegressor(**{**SMALL, "steps": 1000}, tol=1e9, n_iter_no_change=20)
    # After a quarter of the steps for KL warm-up, two means of 20 steps.
    assert estimator.fit(*waves).n_iter_ == 300
    assert estimator.fit_record_.stopped == "converged"


@pytest.mark.slow
def test_a_whole_number_is_a_learning_rate(waves):
    X, y = waves
    one, other = (
        BNNRegressor((2,), **{**SMALL, "steps": 3, "learning_rate": rate}).fit(X, y)
        for rate in (1, 1.0)
    )
    np.testing.assert_array_equal(one.predict(X), other.predict(X))
    with pytest.raises(ValueError, match="n_samples must be an integer of at least 1"):
        one.sample_y(X, 0)
