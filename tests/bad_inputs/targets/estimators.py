"""Estimators."""

import functools
from collections.abc import Callable
from typing import Any

from gpflow_gi.estimators import BNNClassifier, BNNRegressor, DeepGPClassifier, DeepGPRegressor
from tests.bad_inputs.examples import LABEL_LIST, X, Y
from tests.bad_inputs.target import add
from tests.bad_inputs.values import CHOICES, COUNTS, FLAGS, LABELS, NUMBERS, OBJECTS, SEEDS

_QUICK = {"num_inducing": 3, "steps": 2, "num_posterior_samples": 2, "random_state": 0}


@functools.cache
def fitted(kind: Any) -> Any:
    y = Y[:, 0] if "Regressor" in kind.__name__ else LABEL_LIST
    return kind(**_QUICK).fit(X, y)


def _fit_of(kind: Any) -> Callable[..., Any]:
    def fit(X: Any = X, y: Any = None, **parameters: Any) -> Any:
        if y is None:
            y = Y[:, 0] if "Regressor" in kind.__name__ else LABEL_LIST
        estimator = kind(**{**_QUICK, **parameters}).fit(X, y)
        return estimator.predict(X)

    return fit


for _kind in (DeepGPRegressor, BNNRegressor, DeepGPClassifier, BNNClassifier):
    _is_regressor = "Regressor" in _kind.__name__
    _name, _y = _kind.__name__, Y[:, 0] if _is_regressor else LABEL_LIST
    add(
        "estimators",
        f"{_name}.fit",
        _fit_of(_kind),
        {"X": X},
        {"X": "array"},
        few=True,
        of_estimator=True,
    )
    add(
        "estimators",
        f"{_name}.fit",
        _fit_of(_kind),
        {"y": _y},
        {"y": "array"},
        few=True,
        of_estimator=True,
        left_out=("None",),
    )
    if not _is_regressor:
        add("estimators", f"{_name}.fit", _fit_of(_kind), {}, {"y": LABELS}, of_estimator=True)
    add(
        "estimators",
        f"{_name}.predict",
        lambda X, kind=_kind: fitted(kind).predict(X),
        {"X": X},
        {"X": "array"},
        of_estimator=True,
    )
    add(
        "estimators",
        f"{_name}.score",
        lambda X, y, kind=_kind: fitted(kind).score(X, y),
        {"X": X, "y": _y},
        {"X": "array", "y": "array"},
        few=True,
        of_estimator=True,
    )
    add(
        "estimators",
        f"{_name}.log_density",
        lambda X, y, kind=_kind: fitted(kind).log_density(X, y),
        {"X": X, "y": _y},
        {"X": "array", "y": "array"},
        of_estimator=True,
    )
    add(
        "estimators",
        f"{_name}.predict before fit",
        lambda X, kind=_kind: kind().predict(X),
        {"X": X},
        {"X": "array"},
        few=True,
        of_estimator=True,
    )
add(
    "estimators",
    "DeepGPRegressor.sample_y",
    lambda n_samples=2, random_state=0: fitted(DeepGPRegressor).sample_y(
        X, n_samples, random_state
    ),
    {},
    {"n_samples": COUNTS, "random_state": SEEDS},
    of_estimator=True,
)
add(
    "estimators",
    "DeepGPRegressor",
    _fit_of(DeepGPRegressor),
    {},
    {
        "num_layers": COUNTS,
        "inference": CHOICES,
        "num_inducing": COUNTS,
        "kernel": OBJECTS,
        "steps": COUNTS,
        "batch_size": COUNTS,
        "learning_rate": NUMBERS,
        "num_posterior_samples": COUNTS,
        "likelihood": CHOICES,
        "preprocess": CHOICES,
        "warm_start": FLAGS,
        "random_state": SEEDS,
    },
    of_estimator=True,
)
add(
    "estimators",
    "BNNClassifier",
    _fit_of(BNNClassifier),
    {},
    {
        "widths": OBJECTS,
        "inference": CHOICES,
        "prior": CHOICES,
        "prior_scale": NUMBERS,
        "nonlinearity": CHOICES,
    },
    of_estimator=True,
)
