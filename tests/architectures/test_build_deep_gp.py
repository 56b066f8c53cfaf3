"""Whole models from data and a few words."""

import warnings

import gpflow
import numpy as np
import pytest
import tensorflow as tf
from gpflow.kernels import Matern52, SquaredExponential

import gpflow_gi as gi
from gpflow_gi.kernels import KernelBasis

from ..builders import bounds, mean_and_standard_error


def table(rng, N=60, D=3, P=1):
    X = rng.normal(size=(N, D))
    Y = np.sin(X[:, :3].sum(1, keepdims=True)) + 0.1 * rng.normal(size=(N, P))
    return X, (Y - Y.mean(0)) / Y.std(0)


@pytest.mark.parametrize("inference", ["global", "local"])
def test_one_layer_starts_at_the_best_sparse_gp(inference, rng):
    """Titsias' collapsed bound is what the start reaches without a step of training."""
    X, Y = table(rng)
    model = gi.architectures.build_deep_gp(X, Y, num_layers=1, inference=inference, num_inducing=20)
    if inference == "global":
        Z = model.inducing_inputs.numpy()
    else:
        Z = model.layers[0].posterior.inducing_inputs.numpy()
    noise = float(model.likelihood.variance.numpy())
    sgpr = gpflow.models.SGPR((X, Y), model.layers[0].kernel, Z, noise_variance=noise)
    best = sgpr.elbo()
    # 0.01 observations at each point too many, to keep the precision positive definite.
    np.testing.assert_allclose(model.elbo((X, Y)), best, rtol=1e-3)
    assert model.elbo((X, Y)) < best


@pytest.mark.slow
@pytest.mark.parametrize(
    "other",
    ["local", "full", pytest.param(["full", "global"], marks=pytest.mark.longest)],
    ids=str,
)
def test_models_start_as_the_same_function(other, rng):
    X, Y = table(rng)
    models = [
        gi.architectures.build_deep_gp(X, Y, inference=inference, num_inducing=20)
        for inference in ("global", other)
    ]
    bounds_of = [
        mean_and_standard_error(bounds(model, (X, Y), 20, repeats=100)) for model in models
    ]
    (one, one_error), (other, other_error) = bounds_of
    # The layers have the same q(z) each; the last one's inputs are U1 and not Z1, which the small
    # hidden noise keeps close.
    assert np.abs(one - other) < 0.15 * len(X)
    assert max(one_error, other_error) < 0.02 * len(X)


@pytest.mark.slow
@pytest.mark.parametrize(
    "inference, D",
    [
        ("global", 8),
        ("local", 8),
        (["local", "global"], 1),
        pytest.param("full", 8, marks=pytest.mark.longest),
        pytest.param(["local", "global"], 8, marks=pytest.mark.longest),
        pytest.param(["local", "global"], 90, marks=pytest.mark.longest),
    ],
)
def test_training_gains_from_the_first_steps_on(inference, D, rng):
    X, Y = table(rng, N=80, D=D)
    model = gi.architectures.build_deep_gp(X, Y, inference=inference, num_inducing=25)
    width = min(D, 30)
    assert model.layers[0].output_dim == width

    def bound():
        return model.elbo((X, Y), num_samples=50, seed=0).numpy() / len(X)

    before = bound()
    record = gi.fit(model, (X, Y), steps=30, progress=False)
    after = bound()
    assert after > before + 0.02
    assert record.reports[-1].step == 30


def test_hidden_layers_start_near_their_means(rng):
    X, Y = table(rng, D=4)
    for hidden_dim in (2, 4, 6):
        model = gi.architectures.build_deep_gp(
            X, Y, num_layers=3, hidden_dim=hidden_dim, num_inducing=15
        )
        for layer in model.layers[:-1]:
            mean_function = layer.mean_function
            assert not any(variable.trainable for variable in mean_function.variables)
            np.testing.assert_array_equal(layer.posterior.pseudo_outputs, 0.0)
        W = np.asarray(model.layers[0].mean_function(np.eye(4)))
        assert W.shape == (4, hidden_dim)
        if hidden_dim == 2:  # the leading principal components, which are orthonormal
            np.testing.assert_allclose(W.T @ W, np.eye(2), atol=1e-12)
            projected = (X - X.mean(0)) @ W
            largest = np.linalg.eigvalsh(np.cov(X.T, bias=True))[::-1][:2]
            np.testing.assert_allclose(np.var(projected, axis=0), largest)
        else:
            np.testing.assert_array_equal(W, np.eye(4, hidden_dim))


@pytest.mark.parametrize("inference", ["global", "local"])
@pytest.mark.parametrize("hidden_dim", [2, 4, 6])
def test_without_skip_connections_it_starts_near_the_same_function(inference, hidden_dim, rng):
    X, Y = table(rng, D=4)
    settings = {"num_layers": 3, "hidden_dim": hidden_dim, "inference": inference}
    with_skips, without = (
        gi.architectures.build_deep_gp(X, Y, num_inducing=30, mean_function=mean, **settings)
        for mean in ("linear", "zero")
    )
    assert all(layer.mean_function is None for layer in without.layers)
    assert [layer.kernel.variance.numpy() for layer in without.layers] == pytest.approx([1, 1, 1])
    means = [model.predict_f(X, num_samples=50, seed=0)[0] for model in (with_skips, without)]
    other, mean = np.asarray(means)
    assert np.mean((mean - other) ** 2) < 0.1 * np.var(other)


@pytest.mark.parametrize(
    ("inference", "num_outputs"), [("global", 1), pytest.param("local", 2, marks=pytest.mark.slow)]
)
def test_hidden_layers_start_as_one_layer_on_the_targets(inference, num_outputs, rng):
    X, _ = table(rng, D=4)
    Y = np.sin(2 * X[:, :num_outputs]) + 0.1 * rng.normal(size=[len(X), num_outputs])
    settings = {"num_inducing": 30, "inference": inference}
    one = gi.architectures.build_deep_gp(X, Y, num_layers=1, **settings)
    deep = gi.architectures.build_deep_gp(
        X, Y, num_layers=4, mean_function="zero", hidden_start="targets", **settings
    )
    assert [layer.output_dim for layer in deep.layers] == [num_outputs] * 4
    assert all(layer.mean_function is None for layer in deep.layers)
    mean, _ = deep.predict_f(X, num_samples=50, seed=0)
    expected, _ = one.predict_f(X, num_samples=1)
    assert np.mean((mean - expected) ** 2) < 0.1 * np.var(expected)
    # Each layer above the first passes on one line for each output: a few nats.
    bounds = [gi.bounds.estimate_elbo(model, (X, Y), 50, seed=0).value for model in (one, deep)]
    assert abs(bounds[1] - bounds[0]) < 15 * 3 * num_outputs


def test_hidden_layers_start_from_labels_and_latent_variables_too(rng):
    X, Y = table(rng, D=3)
    labels = np.argmax(X, axis=1)[:, None]
    model = gi.architectures.build_deep_gp(
        X,
        labels,
        num_layers=3,
        likelihood=gpflow.likelihoods.Softmax(3),
        mean_function="zero",
        hidden_start="targets",
        num_inducing=20,
    )
    assert [layer.output_dim for layer in model.layers] == [3, 3, 3]
    probabilities, _ = model.predict_y(X, num_samples=50, seed=0)
    assert np.mean(np.argmax(probabilities, axis=1) == labels[:, 0]) > 0.8
    model = gi.architectures.build_deep_gp(
        X, Y, mean_function="zero", hidden_start="targets", latent_dim=1, num_inducing=20
    )
    assert np.isfinite(model.elbo((X, Y), seed=0))


@pytest.mark.longest
def test_the_start_from_targets_trains_better_where_inputs_are_many(rng):
    X = rng.normal(size=[150, 8])
    Y = np.sin(X[:, :1] + X[:, 1:2]) + 0.1 * rng.normal(size=[150, 1])
    bounds = []
    for start in ("inputs", "targets"):
        model = gi.architectures.build_deep_gp(
            X, Y, num_layers=4, mean_function="zero", hidden_start=start, num_inducing=20
        )
        gi.fit(model, (X, Y), steps=300, learning_rate=0.03, progress=False)
        bounds.append(gi.bounds.estimate_elbo(model, (X, Y), 30, seed=0))
    inputs, targets = bounds
    error = np.hypot(inputs.standard_error, targets.standard_error)
    assert targets.value > inputs.value + 5 * error


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"hidden_start": "outputs"}, 'must be "inputs" or "targets"'),
        ({"hidden_start": "targets"}, 'is for mean_function="zero"'),
        (
            {"hidden_start": "targets", "mean_function": "zero", "hidden_dim": 2},
            "hidden_dim must be 1, .* but is 2",
        ),
        (
            {
                "hidden_start": "targets",
                "mean_function": "zero",
                "likelihood": gpflow.likelihoods.Poisson(),
            },
            "targets of a Poisson likelihood are no noisy values",
        ),
    ],
)
def test_starts_that_do_not_fit_are_refused(arguments, message, rng):
    X, Y = table(rng, D=3)
    if "likelihood" in arguments:
        Y = np.round(np.abs(Y))
    with pytest.raises(ValueError, match=message):
        gi.architectures.build_deep_gp(X, Y, num_inducing=10, **arguments)


@pytest.mark.parametrize("start", ["linear", "inputs", "targets"])
def test_a_precision_of_each_unit_starts_as_the_same_distribution(start, rng):
    X, Y = table(rng, D=4, P=2)
    settings = {} if start == "linear" else {"mean_function": "zero", "hidden_start": start}
    shared, own = (
        gi.architectures.build_deep_gp(
            X, Y, num_layers=3, num_inducing=15, shared_precision=is_shared, **settings
        )
        for is_shared in (True, False)
    )
    Z, rows = tf.convert_to_tensor(shared.inducing_inputs), tf.constant(X)
    for one, other in zip(shared.layers, own.layers, strict=True):
        P = one.output_dim
        assert one.posterior.shared
        assert other.posterior.shared == (other is own.layers[-1])
        basis = KernelBasis(one.kernel, Z)
        of_one, of_other = (
            layer.posterior.q(basis, slice(0, P)).predict(basis, rows) for layer in (one, other)
        )
        np.testing.assert_allclose(of_one[0], of_other[0], rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(
            np.broadcast_to(of_one[1], [len(X), P]),
            np.broadcast_to(of_other[1], [len(X), P]),
            rtol=1e-5,
            atol=1e-9,
        )
        # inputs of the next layer, at the means
        Z, rows = (
            one.posterior.q(basis, slice(0, P)).predict(basis, points)[0]
            + (0.0 if one.mean_function is None else one.mean_function(points))
            for points in (Z, rows)
        )


def test_forms_of_pseudo_data_have_no_effect_on_free_gaussians(rng):
    X, Y = table(rng)
    forms = {"shared_precision": False, "whiten": True}
    one, other = (
        gi.architectures.build_deep_gp(X, Y, inference=["full", "global"], num_inducing=9, **form)
        for form in ({}, forms)
    )
    for mine, its in zip(one.trainable_variables, other.trainable_variables, strict=True):
        np.testing.assert_array_equal(mine, its)


def test_whether_a_precision_is_shared_is_true_or_false(rng):
    X, Y = table(rng)
    with pytest.raises(TypeError, match="shared_precision must be True or False, but is 'unit'"):
        gi.architectures.build_deep_gp(X, Y, num_inducing=10, shared_precision="unit")


def test_inducing_points_are_never_more_than_different_rows(rng):
    X, Y = table(rng, N=12)
    X[6:] = X[:6]
    with pytest.warns(UserWarning, match="only 6 different rows"):
        model = gi.architectures.build_deep_gp(X, Y, num_inducing=50)
    assert model.inducing_inputs.shape == (6, 3)
    assert np.isfinite(model.elbo((X, Y), seed=0))


@pytest.mark.parametrize("inference", ["global", "local"])
def test_given_inducing_inputs_start_at_the_best_sparse_gp_there(inference, rng):
    X, Y = table(rng)
    Z = np.vstack([X[::2], X[:3] + 1.0])
    model = gi.architectures.build_deep_gp(
        X, Y, num_layers=1, inference=inference, inducing_inputs=Z.tolist()
    )
    held = model if inference == "global" else model.layers[0].posterior
    np.testing.assert_array_equal(held.inducing_inputs, Z)
    noise = float(model.likelihood.variance.numpy())
    sgpr = gpflow.models.SGPR((X, Y), model.layers[0].kernel, Z, noise_variance=noise)
    np.testing.assert_allclose(model.elbo((X, Y)), sgpr.elbo(), rtol=1e-3)


@pytest.mark.parametrize(
    "form",
    [
        {},
        {"inference": "local"},
        {"inference": ["local", "optimal"]},
        {"inference": ["full", "optimal"], "own_share": 0.5},
        {"latent_dim": 1, "whiten": True},
        {"mean_function": "zero", "hidden_start": "targets"},
    ],
    ids=str,
)
def test_inducing_inputs_in_place_of_the_centres(form, rng):
    """The centres themselves give the model that k-means gives."""
    X, Y = table(rng, N=200)
    build = gi.architectures.build_deep_gp
    Z = build(X, Y, num_inducing=10).inducing_inputs.numpy()
    theirs, ours = build(X, Y, num_inducing=10, **form), build(X, Y, inducing_inputs=Z, **form)
    kept, given = (gpflow.utilities.parameter_dict(model) for model in (theirs, ours))
    assert list(kept) == list(given)
    for name in kept:
        np.testing.assert_array_equal(kept[name], given[name])


def test_own_points_of_sorted_inducing_inputs_lie_everywhere(rng):
    X = np.linspace(-1.0, 1.0, 40)[:, None]
    Z = np.sort(np.r_[0.0, np.linspace(-1.0, 1.0, 19)])[:, None]  # one of them twice
    model = gi.architectures.build_deep_gp(X, np.sin(X), inducing_inputs=Z, own_share=0.5)
    left = model.inducing_inputs.numpy()
    assert len(left) == 10 and left.min() < 0 < left.max()
    own = model.layers[0].posterior.inducing_inputs.numpy()
    np.testing.assert_array_equal(np.sort(np.vstack([left, own]), axis=0), Z)


def test_there_may_be_more_inducing_inputs_than_rows(rng):
    X, Y = table(rng, N=5)
    Z = rng.normal(size=(12, 3))
    model = gi.architectures.build_deep_gp(X, Y, inducing_inputs=Z)
    np.testing.assert_array_equal(model.inducing_inputs, Z)
    assert np.isfinite(model.elbo((X, Y), seed=0))


def test_layers_of_the_prior_do_nothing_with_inducing_inputs(rng):
    X, Y = table(rng)
    Z = np.vstack([np.zeros(3), np.full((3, 3), 1e200)])  # no factor of the kernel matrix
    model = gi.architectures.build_deep_gp(X, Y, inference="prior", inducing_inputs=Z)
    assert model.inducing_inputs is None and np.isfinite(model.elbo((X, Y), seed=0))


@pytest.mark.parametrize(
    "Z, said",
    [
        (np.zeros((4, 2)), r"inducing_inputs must have shape \[any, 3\]"),
        (np.full((4, 3), np.nan), "inducing_inputs"),
        ("centres", "inducing_inputs"),
        (np.zeros((0, 3)), "inducing_inputs"),
    ],
    ids=["columns", "nan", "words", "empty"],
)
def test_wrong_inducing_inputs_are_refused(Z, said, rng):
    with pytest.raises(ValueError, match=said):
        gi.architectures.build_deep_gp(*table(rng), inducing_inputs=Z)


def test_the_same_seed_gives_the_same_model_and_no_global_state_is_touched(rng):
    X, Y = table(rng, N=200)
    np.random.seed(3)
    tf.random.set_seed(3)
    expected = np.random.uniform(), tf.random.uniform([]).numpy()
    np.random.seed(3)
    tf.random.set_seed(3)
    models = [gi.architectures.build_deep_gp(X, Y, num_inducing=10, seed=s) for s in (1, 1, 2)]
    assert (np.random.uniform(), tf.random.uniform([]).numpy()) == expected
    one, other, different = (model.inducing_inputs.numpy() for model in models)
    np.testing.assert_array_equal(one, other)
    assert not np.allclose(one, different)


def test_kernels_are_copied_made_or_taken(rng):
    X, Y = table(rng)

    def build(kernel, **settings):
        return gi.architectures.build_deep_gp(
            X, Y, num_inducing=10, kernel=kernel, **settings
        ).layers

    shared = Matern52()
    copies = [layer.kernel for layer in build(shared)]
    assert shared not in copies and copies[0] is not copies[1]
    made = build(lambda D: SquaredExponential(lengthscales=np.ones(D)), hidden_dim=2)
    assert [layer.kernel.lengthscales.shape[0] for layer in made] == [3, 2]
    own = [Matern52(), SquaredExponential()]
    assert [layer.kernel for layer in build(own)] == own


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"inference": "dsvi"}, "inference must be"),
        ({"inference": ["global"]}, "inference names 1 layers"),
        ({"num_layers": 0}, "num_layers"),
        ({"num_inducing": 0}, "num_inducing"),
        ({"hidden_dim": 0}, "hidden_dim"),
        ({"kernel": [Matern52()]}, "kernel holds 1"),
        ({"kernel": [Matern52(), "rbf"]}, "kernel of layer 2"),
        (
            {"kernel": SquaredExponential(lengthscales=[1.0, 1.0, 1.0]), "hidden_dim": 2},
            "kernel of layer 2 has 3 lengthscales",
        ),
        ({"kernel": "rbf"}, "kernel must be"),
        ({"kernel": gpflow.kernels.SharedIndependent(Matern52(), 1)}, "kernel of one output"),
        ({"inference": None}, "inference must be"),
        ({"seed": -1}, "seed must be"),
        ({"seed": "a"}, "seed must be"),
        ({"X": np.ones(5)}, "X must have shape"),
        ({"X": np.array([[1.0, np.nan, 1.0]] * 60)}, r"X\[0, 1\] is nan"),
        ({"Y": np.ones((5, 1))}, "Y must have shape"),
    ],
)
def test_what_is_wrong_is_named(settings, message, rng):
    X, Y = table(rng)
    arguments = {"X": X, "Y": Y, **settings}
    with pytest.raises(ValueError, match=message):
        gi.architectures.build_deep_gp(arguments.pop("X"), arguments.pop("Y"), **arguments)


def test_a_likelihood_that_is_none_is_refused(rng):
    X, Y = table(rng)
    with pytest.raises(TypeError, match="likelihood must be a GPflow likelihood"):
        gi.architectures.build_deep_gp(X, Y, likelihood="gaussian")


def test_kernels_of_some_columns_and_kernels_that_vanish_at_the_centre(rng):
    X, Y = table(rng)
    kernel = SquaredExponential(lengthscales=[1.0, 2.0], active_dims=[0, 2])
    model = gi.architectures.build_deep_gp(X, Y, kernel=kernel, num_inducing=10)
    assert np.isfinite(model.elbo((X, Y), seed=0))
    for inference in ("global", "local"):
        model = gi.architectures.build_deep_gp(
            X - X.mean(0), Y, kernel=gpflow.kernels.Linear(), num_inducing=1, inference=inference
        )
        assert np.isfinite(model.elbo((X, Y), seed=0))


@pytest.mark.parametrize("P", [1, 2])
def test_the_sparse_gp_is_a_deep_gp_of_one_local_layer(P, rng):
    X, Y = table(rng, P=P)
    svgp = gi.architectures.build_sparse_gp(X, Y, 7, seed=1)
    assert isinstance(svgp, gpflow.models.SVGP)
    deep = gi.architectures.build_deep_gp(
        X, Y, num_layers=1, inference="local", num_inducing=7, seed=1
    )
    np.testing.assert_allclose(svgp.elbo((X, Y)), deep.elbo((X, Y), seed=0), rtol=1e-6)


@pytest.mark.parametrize("build", ["build_deep_gp", "build_bnn"])
@pytest.mark.parametrize("num_classes", [2, 3])
def test_classifiers_start_at_the_labels(build, num_classes, rng):
    X = rng.normal(size=(90, 2))
    Y = np.digitize(X[:, :1], [0.0] if num_classes == 2 else [-0.5, 0.5]).astype(float)
    likelihood = gpflow.likelihoods.Bernoulli()
    if num_classes > 2:
        likelihood = gpflow.likelihoods.Softmax(num_classes)
    model = getattr(gi.architectures, build)(X, Y, num_inducing=20, likelihood=likelihood)
    probability = model.predict_y(X, num_samples=20, seed=0)[0].numpy()
    label = probability > 0.5 if num_classes == 2 else np.argmax(probability, 1)[:, None]
    assert np.mean(label == Y) > 0.8


@pytest.mark.slow
@pytest.mark.parametrize("name", ["build_deep_gp", "build_sparse_gp", "build_bnn"])
def test_columns_that_are_not_standardised_are_warned_of(name, rng):
    build = getattr(gi.architectures, name)
    X, Y = rng.normal(size=(30, 3)), rng.normal(size=(30, 1))
    X[:, 0] = 7.0  # which no scale would change
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        build(X, Y, num_inducing=5)
        build(X, Y - 2.0, num_inducing=5)
    for X_, Y_, said in (
        (X * [1.0, 1.0, 100.0], Y, r"X\[:, 2\] has mean .* and standard deviation \d+"),
        (X + np.array([0.0, 48.0, 0.0]), Y, r"X\[:, 1\] has mean 4\d"),
        (X, 0.01 * Y, r"Y\[:, 0\] .*gpflow_gi\.datasets\.Standardiser"),
    ):
        with pytest.warns(UserWarning, match=said):
            build(X_, Y_, num_inducing=5)


def test_labels_and_counts_have_no_scale(rng):
    X = rng.normal(size=(30, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        counts = rng.poisson(200.0, size=(30, 1))
        gi.architectures.build_deep_gp(
            X, counts, num_inducing=5, likelihood=gpflow.likelihoods.Poisson()
        )
        labels = rng.integers(30, size=(30, 1))
        gi.architectures.build_bnn(
            X, labels, num_inducing=5, likelihood=gpflow.likelihoods.Softmax(30)
        )


def test_the_start_is_that_of_the_noise_however_it_is_given(rng):
    X, Y = rng.normal(size=(12, 1)), rng.normal(size=(12, 1))
    bounds = [
        gi.architectures.build_deep_gp(
            X, Y, num_layers=1, num_inducing=12, likelihood=likelihood
        ).elbo((X, Y))
        for likelihood in (
            gpflow.likelihoods.Gaussian(0.2),
            gpflow.likelihoods.Gaussian(scale=0.2**0.5),
            gpflow.likelihoods.Gaussian([0.2]),
        )
    ]
    np.testing.assert_allclose(bounds, bounds[0], rtol=1e-9)


def test_it_takes_a_noise_for_each_output(rng):
    X, Y = rng.normal(size=(12, 1)), rng.normal(size=(12, 2))
    likelihood = gpflow.likelihoods.Gaussian([0.1, 0.5])
    model = gi.architectures.build_deep_gp(
        X, Y, num_layers=2, num_inducing=5, likelihood=likelihood
    )
    assert np.isfinite(model.elbo((X, Y)))
