"""A mistake is said in words that name the argument, and never in TensorFlow's."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import gpflow
import numpy as np
import pandas as pd
import pytest
import tensorflow as tf
from gpflow.kernels import SquaredExponential
from gpflow.likelihoods import Gaussian, HeteroskedasticTFPConditional, MultiClass

import gpflow_gi as gi
from gpflow_gi.architectures import build_deep_gp
from gpflow_gi.layers import Deterministic, GPLayer
from gpflow_gi.models import DeepGP
from gpflow_gi.posteriors import GlobalInducing, LocalInducing, Prior

from ..builders import random_data, random_deep_gp

M, N, D = 3, 4, 2
Z = np.arange(2.0 * M).reshape(M, D)


@contextmanager
def raises(error: type[Exception] | tuple[type[Exception], ...], message: str) -> Iterator[None]:
    """An error of a user's kind, whose own first lines say `message`."""
    with pytest.raises(error) as caught:
        yield
    assert re.search(message, re.sub(r"\s+", " ", str(caught.value))), caught.value
    assert not isinstance(caught.value, tf.errors.OpError)
    assert "Traceback" not in str(caught.value)


def check(cases: list[tuple[Callable[..., Any], str]]) -> Any:
    """Parametrize by (call, message)."""
    return pytest.mark.parametrize(("call", "message"), cases, ids=[m[:50] for _, m in cases])


# ---------------------------------------------------------------------------------- posteriors


def global_inducing(M=M, P=1, **kwargs) -> GlobalInducing:
    return GlobalInducing(M, P, **kwargs)


@check(
    [
        (lambda: global_inducing(M=0), "num_inducing must be an integer of at least 1, but is 0"),
        (lambda: global_inducing(M=3.0), r"num_inducing must be an integer .* is 3\.0"),
        (lambda: global_inducing(M=True), "num_inducing must be an integer .* is True"),
        (lambda: global_inducing(P=-1), "output_dim must be an integer .* is -1"),
        (
            lambda: global_inducing(pseudo_outputs=np.zeros(M)),
            r"pseudo_outputs must have shape \[3, 1\], but has shape \[3\]",
        ),
        (
            lambda: global_inducing(pseudo_outputs=[[0.0], [1.0], [np.nan]]),
            r"pseudo_outputs must be finite, but pseudo_outputs\[2, 0\] is nan",
        ),
        (
            lambda: global_inducing(pseudo_outputs=[["a"]] * M),
            "pseudo_outputs must be an array of numbers",
        ),
        (lambda: global_inducing(pseudo_precision=-1), "pseudo_precision must lie between"),
        (lambda: global_inducing(pseudo_precision=1e30), r"between .*the bounds for float64"),
        (
            lambda: global_inducing(pseudo_precision=np.inf),
            "pseudo_precision must be finite",
        ),
        (
            lambda: global_inducing(pseudo_precision=[[1], [1, 2]]),
            "pseudo_precision must be an array of numbers",
        ),
        (
            lambda: global_inducing(pseudo_precision=np.ones(M + 1)),
            r"pseudo_precision must have shape \[3\], but has shape \[4\]",
        ),
        (
            lambda: global_inducing(pseudo_precision=np.eye(M)),
            r"pseudo_precision must have shape \[3\], but has shape \[3, 3\]",
        ),
        (
            lambda: global_inducing(pseudo_precision=np.eye(2), precision="full"),
            r"pseudo_precision must have shape \[3, 3\], but has shape \[2, 2\]",
        ),
        (
            lambda: global_inducing(pseudo_precision=np.tri(M), precision="full"),
            "pseudo_precision must be symmetric",
        ),
        (
            lambda: global_inducing(pseudo_precision=np.diag([1, 1, -1]), precision="full"),
            "pseudo_precision must be positive definite, but has an eigenvalue of -1",
        ),
        (
            lambda: global_inducing(pseudo_precision=np.diag([1, 1, 1e30]), precision="full"),
            "pseudo_precision must lie between",
        ),
        (lambda: global_inducing(precision="band"), 'precision must be "diagonal" or "full"'),
    ]
)
def test_global_inducing(call, message):
    with raises(ValueError, message):
        call()


@check(
    [
        (
            lambda: LocalInducing(Z[0], 1),
            r"inducing_inputs must have shape \[any, any\], but has shape \[2\]",
        ),
        (lambda: LocalInducing(Z[:0], 1), r"inducing_inputs must not be empty.* shape \[0, 2\]"),
        (lambda: LocalInducing(Z[:, :0], 1), r"inducing_inputs must not be empty.* \[3, 0\]"),
        (lambda: LocalInducing(Z * np.nan, 1), "inducing_inputs must be finite"),
        (lambda: LocalInducing(Z, 0), "output_dim must be an integer"),
        (lambda: LocalInducing(Z, 1, q_mu=np.zeros(M)), r"q_mu must have shape \[3, 1\]"),
        (lambda: LocalInducing(Z, 1, q_sqrt=np.eye(M)), r"q_sqrt must have shape \[1, 3, 3\]"),
        (lambda: LocalInducing(Z, 1, q_sqrt=np.ones((1, M, M))), "q_sqrt must be lower triang"),
    ]
)
def test_local_inducing(call, message):
    with raises(ValueError, message):
        call()


# -------------------------------------------------------------------------------------- layers


def gp_layer(P=1, posterior=None, kernel=None, **kwargs) -> GPLayer:
    posterior = posterior or global_inducing(P=P)
    return GPLayer(kernel or SquaredExponential(), P, posterior, **kwargs)


@check(
    [
        (lambda: gp_layer(0, Prior()), "output_dim must be an integer"),
        (lambda: gp_layer(2, global_inducing(P=1)), "output_dim=2, but its posterior has .*=1"),
    ]
)
def test_gp_layer(call, message):
    with raises(ValueError, message):
        call()


@check(
    [
        (lambda: gp_layer(posterior="global"), "posterior must be one of .*, but is 'global'"),
        (lambda: gp_layer(posterior=Prior), "posterior must be one of"),
        (lambda: gp_layer(kernel="rbf"), "kernel must be a GPflow kernel .*, but is 'rbf'"),
        (lambda: gp_layer(mean_function="zero"), "mean_function must be .*, but is 'zero'"),
        (lambda: Deterministic("tanh"), "A layer must be one of .*, but is 'tanh'"),
        (lambda: Deterministic(GPLayer), "A layer must be one of .*GPLayer"),
    ]
)
def test_layers_of_wrong_types(call, message):
    with raises(TypeError, message):
        call()


# -------------------------------------------------------------------------------------- models


def deep_gp(layers=None, likelihood=None, num_data=N, inducing_inputs=Z, **kwargs) -> DeepGP:
    layers = [gp_layer(2), gp_layer()] if layers is None else layers
    likelihood = Gaussian() if likelihood is None else likelihood
    return DeepGP(layers, likelihood, num_data=num_data, inducing_inputs=inducing_inputs, **kwargs)


three = SquaredExponential(lengthscales=[1.0, 1.0, 1.0])


@pytest.mark.filterwarnings("ignore:divide by zero")
@pytest.mark.filterwarnings("ignore:invalid value")
@check(
    [
        (lambda: deep_gp([]), "layers must hold at least one layer"),
        (lambda: deep_gp(num_data=0), "num_data must be an integer of at least 1, but is 0"),
        (lambda: deep_gp(num_data=4.0), r"num_data must be an integer .* is 4\.0"),
        (lambda: deep_gp(num_samples=0), "num_samples must be an integer"),
        (lambda: deep_gp(inducing_inputs=None), "Layer 1 .* needs the model's inducing_inputs"),
        (
            lambda: deep_gp(inducing_inputs=Z[:2]),
            "Layer 1 .* num_inducing=3, but the model's inducing_inputs have 2 rows",
        ),
        (lambda: deep_gp(inducing_inputs=Z[0]), r"inducing_inputs must have shape \[any, any\]"),
        (lambda: deep_gp(inducing_inputs=Z / 0), "inducing_inputs must be finite"),
        (lambda: deep_gp([gp_layer(), tf.tanh]), "The last layer must be one of gpflow_gi.layers"),
        (
            lambda: deep_gp([gp_layer(3), gp_layer(1, LocalInducing(Z, 1))]),
            "Layer 2 .* has inducing inputs of 2 columns, but gets 3 columns from below",
        ),
        (
            lambda: deep_gp([tf.tanh, gp_layer(1, LocalInducing(Z[:, :1], 1)), gp_layer()]),
            "Layer 2 .* has inducing inputs of 1 columns, but gets 2 columns from below",
        ),
        (lambda: deep_gp(likelihood=MultiClass(3)), "MultiClass takes 3 .* has output_dim=1"),
        (
            lambda: deep_gp(likelihood=HeteroskedasticTFPConditional()),
            "HeteroskedasticTFPConditional takes 2 .* has output_dim=1",
        ),
        (
            lambda: deep_gp([gp_layer(kernel=three)]),
            "Layer 1 .*: The kernel SquaredExponential cannot take inputs of 2 columns",
        ),
        (
            lambda: deep_gp([gp_layer(3), gp_layer(kernel=SquaredExponential(active_dims=[3]))]),
            "Layer 2 .*: The kernel SquaredExponential cannot take inputs of 3 columns",
        ),
        (
            lambda: deep_gp([gp_layer(1, LocalInducing(Z, 1), three)], inducing_inputs=None),
            "Layer 1 .*: The kernel SquaredExponential cannot take inputs of 2 columns",
        ),
        (
            lambda: deep_gp([gp_layer(1, mean_function=gpflow.functions.Identity()), gp_layer()]),
            "Layer 1 .*: The mean function turns 2 columns into 2, but .* output_dim=1",
        ),
        (
            lambda: deep_gp([gp_layer(mean_function=lambda X: X[:, 0])]),
            r"Layer 1 .*: The mean function must turn \[N, 2\] into .*, but gives shape \[1\]",
        ),
        (
            lambda: deep_gp([gp_layer(mean_function=gpflow.functions.Linear(np.ones((3, 1))))]),
            "Layer 1 .*: The mean function cannot take inputs of 2 columns",
        ),
        (lambda: deep_gp([lambda F: F[:1], gp_layer()]), "must return one row for each row"),
        (lambda: deep_gp([lambda F: F[:, 0], gp_layer()]), "must return one row for each row"),
    ]
)
def test_deep_gp(call, message):
    with raises(ValueError, message):
        call()


@check(
    [
        (lambda: deep_gp(gp_layer()), "layers must be a list of layers"),
        (lambda: deep_gp(["gp"]), "A layer must be one of .*, but is 'gp'"),
        (lambda: deep_gp(likelihood="gaussian"), "likelihood must be .*, but is 'gaussian'"),
        (lambda: deep_gp(likelihood=Gaussian), "likelihood must be"),
        (lambda: deep_gp([np.tanh, gp_layer()]), "tanh.* returned a ndarray; it must return a te"),
        (lambda: deep_gp([lambda F: None, gp_layer()]), "returned a NoneType"),
        (
            lambda: deep_gp([lambda F: tf.cast(F, tf.float32), gp_layer()]),
            "turned float64 into float32; it must keep the type",
        ),
    ]
)
def test_deep_gp_of_wrong_types(call, message):
    with raises(TypeError, message):
        call()


@pytest.mark.parametrize("hidden", [False, True])
def test_an_index_is_read_from_a_column_of_x_alone(hidden):
    """Coregion rounds its column to integers, which outputs of a layer are not."""
    plain, index = SquaredExponential(), gpflow.kernels.Coregion(2, 1, active_dims=[1])
    plain.active_dims = [0]
    kernels = [SquaredExponential(), plain * index] if hidden else [plain * index, plain]
    layers = [GPLayer(kernel, D, Prior()) for kernel in kernels]
    build = lambda: DeepGP([tf.identity, *layers], Gaussian(), num_data=N)  # noqa: E731
    if hidden:
        with raises(ValueError, "GPLayer with Prior has a Coregion kernel, which reads an index"):
            build()
    else:
        build()


def test_inducing_inputs_without_use():
    with pytest.warns(UserWarning, match="no layer has a global posterior"):
        model = deep_gp([gp_layer(1, LocalInducing(Z, 1))])
    assert model.inducing_inputs is None


@pytest.mark.filterwarnings("error")
def test_a_layer_in_two_places():
    layer = gi.layers.DenseLayer(D, D, Prior())
    last = gp_layer(1, GlobalInducing(M, 1))
    with pytest.warns(UserWarning, match="the weights are not shared"):
        deep_gp([layer, layer, last])
    with pytest.warns(UserWarning, match="the weights are not shared"):
        deep_gp([gi.layers.Residual([layer]), layer, last])
    deep_gp(
        [tf.tanh, layer, tf.tanh, gi.layers.DenseLayer(D, D, Prior()), last]
    )  # functions may be repeated


# --------------------------------------------------------------------------------- build_deep_gp

X, Y = random_data(np.random.default_rng(0), N=6, D=D)


def built(X=X, Y=Y, num_inducing=M, **kwargs) -> DeepGP:
    return build_deep_gp(X, Y, num_inducing=num_inducing, **kwargs)


@check(
    [
        (lambda: built(X[:, 0]), r"X must have shape \[any, any\], but has shape \[6\]"),
        (lambda: built(X[:0], Y[:0]), "X must"),
        (lambda: built(X[:, :0]), "X must"),
        (lambda: built(X * np.nan), r"X must be finite, but X\[0, 0\] is nan"),
        (lambda: built("X"), "X must be an array of numbers"),
        (
            lambda: built(Y=Y[:, 0]),
            r"Y must have shape \[6, any\], but .* \[6\]. Write Y\[:, None\]",
        ),
        (lambda: built(Y=Y[:3]), r"Y must have shape \[6, any\], but has shape \[3, 1\]"),
        (lambda: built(Y=Y / 0), "Y must be finite"),
        (lambda: built(likelihood=MultiClass(3)), "MultiClass takes labels from 0 to 2"),
        (lambda: built(num_layers=0), "num_layers must be an integer"),
        (lambda: built(inference="vi"), "inference must be .*, but holds 'vi'"),
        (lambda: built(inference=["global"]), "inference names 1 layers, but num_layers is 2"),
        (lambda: built(num_inducing=0), "num_inducing must be an integer"),
        (lambda: built(hidden_dim=0), "hidden_dim must be an integer"),
        (lambda: built(kernel=[SquaredExponential()]), "kernel holds 1 kernels, but .* 2 layers"),
        (lambda: built(kernel=["rbf", "rbf"]), "The kernel of layer 1 must be a GPflow kernel"),
        (lambda: built(kernel=lambda D: None), "The kernel of layer 1 must be a GPflow kernel"),
        (lambda: built(kernel=three), "The kernel of layer 1 has 3 lengthscales, .* 2 inputs"),
        (lambda: built(num_samples=0), "num_samples must be an integer"),
    ]
)
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_build_deep_gp(call, message):
    with raises(ValueError, message):
        call()


# ------------------------------------------------------------------------------------- methods

MODEL = random_deep_gp(np.random.default_rng(0), ("local", "global"))

# All that take data, and all that take inputs.
OF_DATA = {
    "elbo": MODEL.elbo,
    "bound_terms": MODEL.bound_terms,
    "training_loss": MODEL.training_loss,
    "training_loss_closure": MODEL.training_loss_closure,
    "predict_log_density": MODEL.predict_log_density,
    "first_non_finite": MODEL.first_non_finite,
}
OF_INPUTS = {
    "predict_f": MODEL.predict_f,
    "predict_y": MODEL.predict_y,
    "predict_y_components": MODEL.predict_y_components,
    "predict_f_samples": lambda X: MODEL.predict_f_samples(X, 2),
    "sample_functions": lambda X: MODEL.sample_functions(2)(X),
}
WRONG_INPUTS = [
    (X[:, :1], "X has 1 columns, but the model takes 2"),
    (np.tile(X, 2), "X has 4 columns, but the model takes 2"),
    (X[:, 0], r"X.*\[[BN], D\].*6|X must have shape"),
    (X[None], r"X|data"),
    (None, "X must be an array of numbers"),
    (np.array([["a", "b"]] * 6), "X must be an array of numbers"),
    (tf.constant([["a", "b"]] * 6), "X must be an array of numbers"),
]
WRONG_TARGETS = [
    (np.tile(Y, 2), "Y has 2 columns, .* Gaussian make it 1"),
    (Y[:3], "Y|data"),
    (Y[:, 0], "Y|data"),
    (Y[None], "Y|data"),
    (None, "Y must be an array of numbers"),
    (np.full((6, 1), "a"), "Y must be an array of numbers"),
]


@pytest.mark.parametrize("method", OF_DATA.values(), ids=OF_DATA)
def test_wrong_data(method):
    for wrong, message in WRONG_INPUTS:
        with raises(ValueError, f"{message}|data"):
            method((wrong, Y))
    for wrong, message in WRONG_TARGETS:
        with raises(ValueError, message):
            method((X, wrong))
    for wrong in (X, (X,), (X, Y, Y)):
        with raises(ValueError, "data"):
            method(wrong)


@pytest.mark.parametrize("method", OF_INPUTS.values(), ids=OF_INPUTS)
def test_wrong_inputs(method):
    for wrong, message in WRONG_INPUTS:
        with raises(ValueError, message):
            method(wrong)


def test_a_dataset_is_no_iterator():
    dataset = tf.data.Dataset.from_tensor_slices((X, Y)).batch(2)
    with raises(
        ValueError, r"iterator over such pairs as iter\(dataset\) is, but is _BatchDataset"
    ):
        MODEL.training_loss_closure(dataset)


@pytest.mark.parametrize("num_samples", [0, -1, 1.5, "2", True])
def test_wrong_numbers_of_samples(num_samples):
    data = (X, Y)
    for call in (
        lambda S: MODEL.elbo(data, num_samples=S),
        lambda S: MODEL.bound_terms(data, num_samples=S),
        lambda S: MODEL.first_non_finite(data, num_samples=S),
        lambda S: MODEL.predict_f(X, num_samples=S),
        lambda S: MODEL.predict_f(X, num_samples=S, full_cov=True),
        lambda S: MODEL.predict_y(X, num_samples=S),
        lambda S: MODEL.predict_y_components(X, num_samples=S),
        lambda S: MODEL.predict_log_density(data, num_samples=S),
        lambda S: MODEL.predict_f_samples(X, S),
        lambda S: MODEL.sample_functions(S),
    ):
        with raises(
            ValueError, f"num_samples must be an integer of at least 1, .* {num_samples!r}"
        ):
            call(num_samples)


def test_no_rows():
    with raises(ValueError, "The bound needs at least one row"):
        MODEL.elbo((X[:0], Y[:0]))


def test_exact_functions_are_not_called_inside_a_compiled_function():
    functions = MODEL.sample_functions(2, num_features=None)
    with raises(RuntimeError, r"cannot be called inside tf\.function"):
        tf.function(functions, autograph=False)(X)


@pytest.mark.slow
@pytest.mark.longest
def test_numbers_of_any_kind_are_taken():
    calls = (
        lambda data: MODEL.elbo(data, seed=1),
        lambda data: MODEL.predict_f(data[0], 2, seed=1)[0],
        lambda data: build_deep_gp(*data, num_layers=1, num_inducing=M).elbo(data),
    )
    conversions = (
        lambda values: values.tolist(),
        lambda values: values.astype(object),
        pd.DataFrame,
        tf.constant,
    )
    expected = [call((X, Y)) for call in calls]
    for convert in conversions:
        for call, value in zip(calls, expected, strict=True):
            np.testing.assert_allclose(call((convert(X), convert(Y))), value, rtol=1e-12)

    X32, Y32 = X.astype(np.float32), Y.astype(np.float32)
    for call in calls:
        value = call((X32.astype(np.float64), Y32.astype(np.float64)))
        for data in [(X32, Y32), (tf.constant(X32), tf.constant(Y32))]:
            assert call(data).dtype == tf.float64
            np.testing.assert_allclose(call(data), value, rtol=1e-12)


# ---------------------------------------------------------------------------------- float types


def test_a_model_of_another_float_type_than_the_default(tmp_path):
    X, Y = random_data(np.random.default_rng(0), 4, D, 1)
    model = build_deep_gp(X, Y, num_inducing=M)
    message = r"The model is in float64, and GPflow's default is float32: call .*\(np\.float64\)"
    before = model.predict_f(X, seed=0)[0]
    with gpflow.config.as_context():
        gpflow.config.set_default_float(np.float32)
        for call in (
            lambda: model.predict_f(X),
            lambda: model.elbo((X, Y)),
            lambda: gi.fit(model, (X, Y), steps=1),
            lambda: model.posterior(2).predict_f(X),
            lambda: model.sample_functions(2)(X),
            lambda: model.sample_prior(2)(X),
            lambda: gi.save(model, tmp_path / "model"),
        ):
            with raises(ValueError, message):
                call()
    assert not list(tmp_path.iterdir())
    np.testing.assert_array_equal(model.predict_f(X, seed=0)[0], before)


def test_float_types_are_those_of_floats_and_means_may_be_arrays():
    kernel = SquaredExponential()
    kernel.a_number = gpflow.Parameter(2, dtype=tf.int32)
    ones = gp_layer(1, Prior(), kernel, mean_function=lambda X: np.ones((X.shape[0], 1)))
    model = DeepGP([ones], Gaussian(), num_data=N)
    np.testing.assert_array_equal(model.predict_f(Z[:2])[0], np.ones((2, 1)))
