"""docs/bad_inputs.md: bad inputs, and what each gets."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import gpflow
import numpy as np
import scipy.sparse

import gpflow_gi as gi

from .examples import LABEL_LIST, N, X, Y, deep_gp, model, posterior
from .judging import ANSWER, WORDS, judge
from .values import replaced_last, second

PAGE = Path(__file__).parents[2] / "docs" / "bad_inputs.md"

COMMAND = "python -m tests.bad_inputs --page"

_HEAD = """\
# Bad inputs

A wrong argument raises a `ValueError` or `TypeError` (or one of the library's subclasses) with a
clear message, before anything is computed from it. X and Y are checked everywhere: in `gi.fit`,
builders, bounds, predictions, densities, samples, metrics and estimators. Results are checked
too: a prediction or a bound that is NaN although the data are finite is an error.

Inside `tf.function` values are not known. There types and shapes are checked while the function is
traced, and NaN in the data gives NaN, as in any TensorFlow code. The same is true for models from
`gi.export`, and for data sets and sequences that are passed to Keras.

Estimators check X and y like all of scikit-learn's, with scikit-learn's messages.

"""


def rows() -> list[tuple[str, Callable[[], Any]]]:
    """Bad inputs in users' words, with their calls."""
    masked = np.ma.masked_array(X, second(X))
    steps = {"steps": 2, "progress": False}
    fit = gi.fit
    build = gi.architectures.build_deep_gp
    metrics, classes = gi.metrics, gi.classification_metrics
    mean, variance = np.zeros((2, N, 1)), np.ones((2, N, 1))
    estimator = gi.estimators.DeepGPClassifier(num_inducing=3, steps=2)
    predict = model().predict_y
    return [
        ("NaN in X of `fit`", lambda: fit(deep_gp(), (replaced_last(np.nan)(X), Y), **steps)),
        ("NaN in X of a prediction", lambda: predict(replaced_last(np.nan)(X))),
        ("infinity in Y of a density",
         lambda: posterior().predict_log_density((X, replaced_last(np.inf)(Y)))),
        ("a masked array", lambda: predict(masked)),
        ("complex numbers", lambda: predict(X + 0j)),
        ("dates", lambda: predict(np.full(X.shape, np.datetime64("2020-01-01")))),
        ("text", lambda: predict(X.astype(str))),
        ("`None` among objects", lambda: predict(np.where(X > 1, None, X))),
        ("objects that are numbers", lambda: predict(X.astype(object))),
        ("rows of unequal lengths", lambda: predict([[1.0, 2.0], [3.0]])),
        ("a sparse matrix", lambda: predict(scipy.sparse.csr_matrix(X))),
        ("`None`", lambda: predict(None)),
        ("one row as a vector", lambda: predict(X[0])),
        ("a wrong number of columns", lambda: predict(X[:, :1])),
        ("no rows to predict", lambda: predict(X[:0])),
        ("no rows to train on", lambda: fit(deep_gp(), (X[:0], Y[:0]), **steps)),
        ("X and Y of different lengths", lambda: fit(deep_gp(), (X, Y[:4]), **steps)),
        ("numbers too large for float32", lambda: _in_float32(lambda: build(X * 1e200, Y))),
        ("numbers of 1e9", lambda: build(X * 1e9, Y, num_inducing=3).predict_y(X * 1e9)),
        ("numbers of 1e200, to build from", lambda: build(X * 1e200, Y, num_inducing=3)),
        ("numbers of 1e308, to draw at",
         lambda: model().predict_f_samples(np.sign(X) * 1e308, 2, seed=0)),
        ("targets of 1e200", lambda: model().predict_log_density((X, Y * 1e200), 2, seed=0)),
        ("more inducing points than rows", lambda: build(X, Y, num_inducing=100)),
        ("zero steps", lambda: fit(deep_gp(), (X, Y), steps=0)),
        ("a negative number", lambda: predict(X, num_samples=-1)),
        ("a number as text", lambda: build(X, Y, num_layers="3")),
        ("`callbacks=None`",
         lambda: fit(deep_gp(num_layers=1), (X, Y), callbacks=None, **steps)),
        ("a callback by itself", lambda: fit(deep_gp(), (X, Y), callbacks=print, **steps)),
        ("a name that is none", lambda: build(X, Y, inference="vi")),
        ("a kernel's class", lambda: build(X, Y, kernel=[gpflow.kernels.RBF] * 2)),
        ("a seed that is no integer", lambda: predict(X, seed=1.5)),
        ("labels of mixed types",
         lambda: estimator.fit(X, np.array([0, "a", 1, "b", 0, "a"], dtype=object))),
        ("a negative variance", lambda: metrics.mixture_crps(Y, mean, -variance)),
        ("nothing to measure", lambda: metrics.rmse([], [])),
        ("no probabilities", lambda: classes.accuracy(LABEL_LIST, np.ones((N, 2)))),
        ("NaN among probabilities", lambda: classes.accuracy([0], [[np.nan, 1.0]])),
        ("a table to standardise, with NaN",
         lambda: gi.datasets.Standardiser.fit(replaced_last(np.nan)(X))),
        ("a path that is none", lambda: gi.load(3)),
    ]  # fmt: skip


_ANSWERS = {
    "no rows to predict": "an answer without rows",
    "numbers of 1e9": "a warning, and the right answer",
    "targets of 1e200": "the right answer, minus infinity",
    "more inducing points than rows": "a warning, and as many inducing points as different rows",
    "`callbacks=None`": "an answer, as without callbacks",
}


def _in_float32(call: Callable[[], Any]) -> Any:
    with gpflow.config.as_context(gpflow.config.Config(float=np.float32)):
        return call()


def page() -> str:
    """The page, from what the inputs get now."""
    lines = ["| Input | Result |", "|---|---|"]
    for what, call in rows():
        verdict = judge(call, of_estimator=True)
        if verdict.outcome not in (ANSWER, WORDS):
            raise AssertionError(f"{what} gets a {verdict.outcome}: {verdict.detail}")
        gets = f"`{verdict.detail}`"
        if verdict.outcome == ANSWER:
            gets = _ANSWERS.get(what, "an answer")
        lines.append(f"| {what} | {gets.replace('|', chr(92) + '|')} |")
    table = "\n".join(lines)
    return f"{_HEAD}{table}\n\nThe table is written by `{COMMAND}`, and a test checks it.\n"
