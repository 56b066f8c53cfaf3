"""Estimators on data frames as they are, with other likelihoods, going on after a fit."""

import copy

import gpflow
import numpy as np
import pandas as pd
import pytest
import tensorflow_probability as tfp
from gpflow.functions import Linear
from gpflow.likelihoods import (
    Bernoulli,
    Gaussian,
    HeteroskedasticTFPConditional,
    MultiClass,
    Softmax,
    StudentT,
)
from scipy.stats import norm
from sklearn.exceptions import NotFittedError

from gpflow_gi.benchmark import train as training
from gpflow_gi.estimators import (
    BNNClassifier,
    BNNRegressor,
    DeepGPClassifier,
    DeepGPRegressor,
    likelihoods,
)

SMALL = {"steps": 4, "num_inducing": 5, "num_posterior_samples": 3, "random_state": 0}
N = 24


@pytest.fixture(scope="module")
def mixed():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "area": rng.uniform(50, 200, N),
            "garden": np.resize([True, False, False], N),
            "colour": np.resize(["red", "green", "blue", "red"], N),
            "sold": pd.date_range("2024-01-01", periods=N),
            "district": pd.Categorical(np.resize([3, 1], N)),
        }
    )


@pytest.fixture(scope="module")
def price(mixed):
    return 1000 * mixed["area"] + 5000 * (mixed["colour"] == "red")


@pytest.fixture(scope="module")
def fitted(mixed, price):
    return BNNRegressor((4,), **SMALL).fit(mixed, price)


def test_a_data_frame_is_the_same_as_its_inputs(mixed, price, fitted):
    columns = [mixed["area"], mixed["garden"]]
    columns += [mixed["colour"] == colour for colour in ("blue", "green", "red")]
    columns += [(mixed["sold"] - pd.Timestamp(0)).dt.days]
    columns += [mixed["district"] == number for number in (1, 3)]
    X = np.transpose(np.array(columns, dtype=float))
    plain = BNNRegressor((4,), **SMALL).fit(X, price)
    np.testing.assert_allclose(fitted.predict(mixed), plain.predict(X), rtol=1e-10)
    assert list(fitted.feature_names_in_) == list(mixed.columns)
    assert fitted.n_features_in_ == 5
    shuffled = mixed[mixed.columns[::-1]].assign(more=1)
    np.testing.assert_array_equal(fitted.predict(shuffled), fitted.predict(mixed))
    assert fitted.score(mixed, price) <= 1 and fitted.log_density(mixed, price).shape == (N,)


def test_names_of_columns_of_numbers(mixed, price):
    numbers = mixed[["area"]].assign(more=np.arange(N))
    model = BNNRegressor((4,), **SMALL).fit(numbers, price)
    assert list(model.feature_names_in_) == ["area", "more"] and model.preprocessing_ is None


def test_rows_that_do_not_fit(mixed, fitted):
    other = mixed.copy()
    other.loc[7, "colour"] = "mauve"
    other.loc[[3, 4], "area"] = np.nan
    with pytest.raises(ValueError) as error:
        fitted.predict(other)
    said = str(error.value)
    assert "row 3, column 'area': the value is missing, and so are 1 more of 24" in said
    assert "row 7, column 'colour': 'mauve' is not one of the categories in training" in said
    with pytest.raises(ValueError, match=r"X lacks the columns 'garden'.*, 'sold' of the training"):
        fitted.predict(mixed.drop(columns=["garden", "sold"]))
    with pytest.raises(ValueError, match="X must be a data frame with the columns"):
        fitted.predict(np.zeros((2, 5)))


def test_what_cannot_be_an_input(mixed, price):
    wrong = mixed.assign(name=[f"n{i}" for i in range(N)])
    wrong.loc[2, "colour"] = None
    with pytest.raises(ValueError) as error:
        BNNRegressor((4,), **SMALL).fit(wrong, price)
    assert "X has 2 columns that cannot be used" in str(error.value)
    assert "column 'name': 24 different texts" in str(error.value)
    wrong = mixed[["area"]].assign(floor=pd.Series([1, 2.5, "top"] * (N // 3), dtype=object))
    with pytest.raises(ValueError, match="X, row 2, column 'floor': 'top' is not a number"):
        BNNRegressor((4,), **SMALL).fit(wrong, price)
    with pytest.raises(ValueError, match="could not convert string to float"):
        BNNRegressor((4,), **SMALL, preprocess=None).fit(mixed[["colour"]], price)
    with pytest.raises(ValueError, match='preprocess must be "auto", "median" or None'):
        BNNRegressor((4,), **SMALL, preprocess="mean").fit(mixed, price)


@pytest.mark.slow
def test_missing_values_replaced_by_the_median(price):
    area = np.arange(N, dtype=float)
    X = pd.DataFrame({"area": np.where(np.arange(N) == 5, np.nan, area)})
    model = BNNRegressor((4,), **SMALL, preprocess="median").fit(X, price)
    filled = np.where(np.arange(N) == 5, np.nanmedian(X["area"]), area)
    inputs = np.column_stack([filled, np.arange(N) == 5])
    plain = BNNRegressor((4,), **SMALL).fit(inputs, price)
    np.testing.assert_array_equal(model.predict(X), plain.predict(inputs))


def test_classes_of_data_frames(mixed):
    y = np.where(mixed["garden"], "a", "b")
    model = DeepGPClassifier(1, **SMALL).fit(mixed, y)
    assert set(model.predict(mixed)) <= {"a", "b"}


@pytest.mark.parametrize(
    "likelihood",
    [
        "poisson",
        "bernoulli",
        pytest.param("student-t", marks=pytest.mark.slow),
        pytest.param("heteroskedastic", marks=pytest.mark.slow),
    ],
)
def test_likelihoods(likelihood):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(N, 1))
    y = {
        "poisson": rng.poisson(np.exp(1 + X[:, 0])),
        "bernoulli": (X[:, 0] > 0).astype(int),
    }.get(likelihood, 100 + 20 * X[:, 0])
    model = DeepGPRegressor(1, **SMALL, likelihood=likelihood).fit(X, y)
    mean, std = model.predict(X, return_std=True)
    scale = model.target_scaling_.scale[0]
    expected, variance = model.posterior_.predict_y(model.input_scaling_.transform(X))
    np.testing.assert_allclose(std, np.sqrt(variance[:, 0]) * scale)
    if likelihood in ("poisson", "bernoulli"):
        np.testing.assert_allclose(mean, expected[:, 0])  # counts and labels have no other scale
    draws = model.sample_y(X, 3000, random_state=1)
    # Draws have the moments of predictions, as far as the three kept draws are those of all.
    error = 5 * std * (1 / np.sqrt(3000) + 0.15)
    assert np.all(np.abs(draws.mean(axis=1) - mean) < error)
    density = model.log_density(X, y)
    assert density.shape == (N,) and np.isfinite(density).all()
    if likelihood == "bernoulli":
        np.testing.assert_allclose(density, np.log(np.where(y == 1, mean, 1 - mean)), rtol=1e-6)


@pytest.mark.slow
def test_the_density_of_a_constant_target_depends_on_the_value():
    X = np.arange(12.0)[:, None]
    constant = np.full(12, 3.0)
    model = DeepGPRegressor(1, **SMALL).fit(X, constant)
    mean, std = model.predict(X[:3], return_std=True)
    y = np.array([3.0, 4.0, 1e4])
    np.testing.assert_allclose(model.log_density(X[:3], y), norm.logpdf(y, mean, std))
    both = np.column_stack([constant, np.arange(12.0)])
    model = DeepGPRegressor(1, **SMALL).fit(X, both)
    mean, std = model.predict(X[:3], return_std=True)
    y = np.array([[4.0, 0.0], [4.0, 1.0], [2.0, 2.0]])
    expected = norm.logpdf(y, mean, std).sum(axis=1)
    np.testing.assert_allclose(model.log_density(X[:3], y), expected)


@pytest.mark.slow
def test_a_likelihood_of_gpflow(mixed, price):
    import gpflow

    X = mixed[["area"]].to_numpy()
    given = gpflow.likelihoods.Gaussian(0.1)
    one = BNNRegressor((4,), **SMALL, likelihood=given).fit(X, price)
    other = BNNRegressor((4,), **SMALL).fit(X, price)
    np.testing.assert_array_equal(one.predict(X), other.predict(X))
    assert given.variance.numpy() == pytest.approx(0.1)  # it was copied
    labels = np.arange(N) % 3
    model = BNNClassifier((4,), **SMALL, likelihood=gpflow.likelihoods.MultiClass(3))
    assert model.fit(X, labels).predict_proba(X).shape == (N, 3)


@pytest.mark.parametrize(
    ("likelihood", "y", "said"),
    [
        ("cauchy", np.arange(N), "likelihood must be one of gaussian, student-t"),
        (3, np.arange(N), "likelihood must be one of"),
        ("poisson", np.arange(N) - 1, "takes counts"),
        ("poisson", np.arange(N) / 2, "takes counts"),
        ("bernoulli", np.arange(N), "takes 0 and 1"),
        ("heteroskedastic", np.ones((N, 2)) * np.arange(N)[:, None], "takes one target"),
    ],
)
def test_targets_that_a_likelihood_does_not_take(likelihood, y, said):
    with pytest.raises(ValueError, match=said):
        DeepGPRegressor(1, **SMALL, likelihood=likelihood).fit(np.arange(N)[:, None], y)


def test_a_likelihood_that_is_not_one_over_classes():
    X, y = np.arange(N)[:, None], np.arange(N) % 3
    for likelihood, said in (("poisson", "likelihood must be"), ("bernoulli", "y has 3")):
        with pytest.raises(ValueError, match=said):
            BNNClassifier((4,), **SMALL, likelihood=likelihood).fit(X, y)


@pytest.mark.longest
def test_going_on_with_the_model_of_the_last_fit(mixed, price):
    model = BNNRegressor((4,), **{**SMALL, "steps": 30}, warm_start=True).fit(mixed, price)
    first, scaling = model.model_, model.input_scaling_
    before = first.elbo((model.input_scaling_.transform(model._preprocessed(mixed)),
                         model.target_scaling_.transform(price.to_numpy()[:, None])),
                        50, seed=0)  # fmt: skip
    model.set_params(steps=60).fit(mixed, price)
    assert model.model_ is first and model.input_scaling_ is scaling
    after = first.elbo((model.input_scaling_.transform(model._preprocessed(mixed)),
                        model.target_scaling_.transform(price.to_numpy()[:, None])),
                       50, seed=0)  # fmt: skip
    assert after > before
    model.fit(mixed[:10], price[:10])
    assert first.num_data == 10
    with pytest.raises(ValueError, match="but has shape"):
        model.fit(mixed, np.column_stack([price, price]))
    assert model.set_params(warm_start=False, steps=2).fit(mixed, price).model_ is not first


@pytest.mark.slow
def test_going_on_with_known_classes():
    X = np.random.default_rng(0).normal(size=(N, 2))
    model = BNNClassifier((4,), **SMALL, warm_start=True).fit(X, np.resize(list("abc"), N))
    model.fit(X, np.resize(list("ca"), N))
    assert list(model.classes_) == ["a", "b", "c"]
    with pytest.raises(ValueError, match="y must hold classes of the earlier training"):
        model.fit(X, np.resize(list("abd"), N))
    with pytest.raises(ValueError, match="3 features, but BNNClassifier is expecting 2"):
        model.fit(np.ones((N, 3)), np.resize(list("abc"), N))


@pytest.mark.slow
def test_several_targets_have_densities_of_their_own():
    X = np.linspace(-1, 1, N)[:, None]
    Y = np.hstack([10 * X, 3 - X])
    model = DeepGPRegressor(1, **{**SMALL, "num_posterior_samples": 1}).fit(X, Y)
    mean, std = model.predict(X, return_std=True)
    assert mean.shape == std.shape == (N, 2)
    expected = norm.logpdf(Y, mean, std).sum(axis=1)  # one layer: one Gaussian
    np.testing.assert_allclose(model.log_density(X, Y), expected)


# Noise of draws


X_DRAWN = np.linspace(-1.0, 1.0, 4)[:, None]


def spread_of(likelihood, f_dim=1, num_draws=200_000):
    """Standard deviations of draws at f = 0, [4], and a bound of six standard errors of them."""
    f = np.zeros((num_draws, 4, f_dim))
    drawn = likelihoods.draw(likelihood, X_DRAWN, f, np.random.RandomState(0))[..., 0]
    squares = drawn**2
    error = squares.std(axis=0) / np.sqrt(num_draws)
    return drawn.std(axis=0), 6 * error / (2 * drawn.std(axis=0))


@pytest.mark.parametrize(
    "likelihood",
    [
        Gaussian(0.09),
        Gaussian(scale=0.3),
        Gaussian(scale=Linear([[0.1]], [0.5])),
        Gaussian(variance=Linear([[0.1]], [0.5])),
        StudentT(scale=0.3, df=9.0),
        StudentT(scale=Linear([[0.1]], [0.5]), df=9.0),
    ],
    ids=lambda one: type(one).__name__,
)
def test_draws_have_the_variance_of_the_likelihood(likelihood):
    found, bound = spread_of(likelihood)
    expected = np.sqrt(likelihood.conditional_variance(X_DRAWN, np.zeros((4, 1)))[:, 0])
    assert np.all(np.abs(found - expected) < bound)


@pytest.mark.parametrize("family", ["Normal", "Laplace", "Gumbel"])
def test_draws_are_of_the_distribution_of_a_heteroskedastic_likelihood(family):
    exp = gpflow.utilities.positive(base="exp")
    of = getattr(tfp.distributions, family)
    found, bound = spread_of(HeteroskedasticTFPConditional(of, scale_transform=exp), f_dim=2)
    loc, scale = np.float64(0.0), np.float64(1.0)  # of exp(0)
    assert np.all(np.abs(found - of(loc, scale).stddev()) < bound)


def test_a_regressor_refuses_classes():
    with pytest.raises(ValueError, match="Softmax, over classes: a classifier takes it"):
        BNNRegressor((4,), likelihood=Softmax(3), **SMALL).fit(np.eye(3), [1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    ("likelihood", "said"),
    [
        (Bernoulli(), "Bernoulli of 2 classes, but y has 3"),
        (Softmax(5), "Softmax of 5 classes, but y has 3"),
        (MultiClass(2), "MultiClass of 2 classes, but y has 3"),
        (Gaussian(), "needs a likelihood over classes"),
    ],
)
def test_a_classifier_refuses_other_numbers_of_classes(likelihood, said):
    with pytest.raises(ValueError, match=said):
        BNNClassifier((4,), likelihood=likelihood, **SMALL).fit(np.eye(3), [0, 1, 2])


# Fits that fail


@pytest.mark.slow
def test_a_fit_that_fails_changes_nothing():
    X, y = np.linspace(-1.0, 1.0, N)[:, None], np.linspace(-1.0, 1.0, N) ** 3
    model = DeepGPRegressor(num_layers=1, **SMALL).fit(X, y)
    before = model.predict(X)
    with pytest.raises(ValueError, match="nonsense"):
        model.set_params(inference="nonsense").fit(1000 * np.c_[X, X], 5 * y + 100)
    np.testing.assert_array_equal(model.predict(X), before)
    labels = np.where(y > 0, "yes", "no")
    model = DeepGPClassifier(num_layers=1, **SMALL).fit(X, labels)
    before = model.predict(X)
    with pytest.raises(ValueError, match="nonsense"):
        model.set_params(inference="nonsense").fit(X, np.where(y > 0, "b", "a"))
    np.testing.assert_array_equal(model.predict(X), before)
    with pytest.raises(NotFittedError):
        new = DeepGPRegressor(inference="nonsense", **SMALL)
        with pytest.raises(ValueError, match="nonsense"):
            new.fit(X, y)
        new.predict(X)


# Frames without names


def test_a_frame_without_names_is_preprocessed_by_none():
    frame = pd.DataFrame(np.c_[np.arange(N), np.arange(N) ** 2].astype(float))
    y = np.arange(N)
    model = BNNRegressor((4,), preprocess="median", **SMALL).fit(frame, y)
    assert model.preprocessing_ is None
    frame.iloc[0, 0] = np.nan
    for wrong in (frame, pd.DataFrame({0: np.arange(N), 1: np.resize(["a", "b"], N)})):
        with pytest.raises(ValueError, match="takes names that are texts"):
            BNNRegressor((4,), preprocess="median", **SMALL).fit(wrong, y)


class OtherFrame:
    """A data frame as polars has them: its columns are a list, and it is an array of numbers."""

    def __init__(self, columns):
        self.columns, self._values = list(columns), np.column_stack(list(columns.values()))
        self.shape = self._values.shape
        self.dtypes = [np.asarray(column).dtype for column in columns.values()]

    def __len__(self):
        return len(self._values)

    def __array__(self, dtype=None, copy=None):
        return self._values.astype(dtype or self._values.dtype)


def test_a_frame_that_is_not_of_pandas():
    y = np.arange(N)
    numbers = OtherFrame({"a": np.linspace(-1.0, 1.0, N), "b": np.linspace(0.0, 1.0, N) ** 2})
    model = BNNRegressor((4,), **SMALL).fit(numbers, y)
    expected = BNNRegressor((4,), **SMALL).fit(np.asarray(numbers), y)
    np.testing.assert_array_equal(model.predict(numbers), expected.predict(np.asarray(numbers)))
    texts = OtherFrame({"a": y.astype(object), "b": np.resize(["u", "v"], N)})
    for frame, preprocess in ((numbers, "median"), (texts, "auto")):
        with pytest.raises(ValueError, match=r"takes a data frame of pandas: X.to_pandas\(\)"):
            BNNRegressor((4,), preprocess=preprocess, **SMALL).fit(frame, y)


def test_missing_labels_are_refused():
    y = pd.Series([None, *np.resize(["a", "b"], N - 1)], dtype="string")
    with pytest.raises(ValueError, match="y holds missing labels: leave their rows out"):
        DeepGPClassifier(1, **SMALL).fit(np.linspace(-1.0, 1.0, N)[:, None], y)


@pytest.mark.slow
def test_a_warm_start_refuses_what_the_model_is_not_built_with():
    X, y = np.linspace(-1.0, 1.0, N)[:, None], np.linspace(-1.0, 1.0, N) ** 3
    model = DeepGPRegressor(1, inference="global", warm_start=True, **SMALL).fit(X, y)
    for name, value in (("num_layers", 2), ("likelihood", Gaussian()), ("num_inducing", 7)):
        usual = getattr(model, name)
        with pytest.raises(ValueError, match=f"With warm_start, {name} must be that"):
            model.set_params(**{name: value}).fit(X, y)
        model.set_params(**{name: usual})
    first = model.model_
    assert copy.deepcopy(model).set_params(steps=1, learning_rate=0.01).fit(X, y).n_iter_ == 1
    model.set_params(inference="".join(["glo", "bal"]), batch_size=5).fit(X, y)
    assert model.model_ is first
    network = BNNRegressor((4,), warm_start=True, **SMALL).fit(X, y)
    assert network.set_params(widths=[4]).fit(X, y).model_ is network.model_
    with pytest.raises(ValueError, match=r"widths must be that .*, \(4,\), but is \(4, 4\)"):
        network.set_params(widths=(4, 4)).fit(X, y)
    widths = [4]
    network = BNNRegressor(widths, warm_start=True, **SMALL).fit(X, y)
    widths.append(4)
    with pytest.raises(ValueError, match="widths must be that"):
        network.fit(X, y)


@pytest.mark.slow
def test_a_warm_start_that_is_interrupted_changes_nothing(monkeypatch):
    X, y = np.linspace(-1.0, 1.0, N)[:, None], np.linspace(-1.0, 1.0, N) ** 3
    model = DeepGPRegressor(num_layers=1, warm_start=True, **SMALL).fit(X, y)
    before = [one.numpy() for one in model.model_.variables]
    sampled = model.sample_y(X, 2)
    usual = training.train_by

    def interrupted(*arguments, **options):
        usual(*arguments, **options)
        raise KeyboardInterrupt

    monkeypatch.setattr(training, "train_by", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:10], y[:10])
    assert model.model_.num_data == N
    for one, value in zip(model.model_.variables, before, strict=True):
        np.testing.assert_array_equal(one, value)
    np.testing.assert_array_equal(model.sample_y(X, 2), sampled)


@pytest.mark.slow
@pytest.mark.parametrize("preprocess", ["auto", "median"])
def test_dates_as_objects_durations_and_complex_numbers(preprocess):
    frame = pd.DataFrame({"a": np.arange(float(N)), "when": pd.date_range("2024-01-01", periods=N)})
    y = np.arange(float(N))

    def fitted(column):
        model = BNNRegressor((4,), preprocess=preprocess, **SMALL)
        return model.fit(frame.assign(when=column), y)

    X = fitted(frame["when"]).predict(frame)
    np.testing.assert_array_equal(fitted(frame["when"].dt.date).predict(frame), X)
    with pytest.raises(ValueError, match="durations; convert them to numbers"):
        fitted(pd.to_timedelta(np.arange(N), unit="D"))
    with pytest.raises(ValueError, match=r"complex|Complex"):
        fitted(np.arange(N) + 1j)
