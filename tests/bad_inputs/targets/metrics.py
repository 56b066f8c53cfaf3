"""Metrics."""

from gpflow_gi import classification_metrics, metrics
from tests.bad_inputs.examples import LABEL_LIST, MEAN, PIT, PROBABILITIES, VARIANCE, Y
from tests.bad_inputs.target import add
from tests.bad_inputs.values import COUNTS, NUMBERS

_COMPONENTS = {"mean": MEAN, "variance": VARIANCE}


for _name in ("mixture_log_density", "mixture_crps", "mixture_pit"):
    add(
        "metrics",
        _name,
        getattr(metrics, _name),
        {"y": Y, **_COMPONENTS},
        dict.fromkeys(("y", "mean", "variance"), "array"),
    )
add(
    "metrics",
    "mixture_moments",
    metrics.mixture_moments,
    _COMPONENTS,
    dict.fromkeys(_COMPONENTS, "array"),
)
add(
    "metrics",
    "mixture_quantile",
    metrics.mixture_quantile,
    {"probability": 0.3, **_COMPONENTS},
    {**dict.fromkeys(_COMPONENTS, "array"), "probability": NUMBERS},
)
add(
    "metrics",
    "rmse",
    metrics.rmse,
    {"y": Y, "mean": MEAN[0]},
    dict.fromkeys(("y", "mean"), "array"),
)
add(
    "metrics",
    "coverage",
    metrics.coverage,
    {"y": Y, "lower": Y - 1, "upper": Y + 1},
    dict.fromkeys(("y", "lower", "upper"), "array"),
)
add("metrics", "calibration_error", metrics.calibration_error, {"pit": PIT}, {"pit": "array"})


for _name in (
    "accuracy",
    "log_density",
    "brier_score",
    "expected_calibration_error",
):
    add(
        "classification_metrics",
        _name,
        getattr(classification_metrics, _name),
        {"labels": LABEL_LIST, "probabilities": PROBABILITIES},
        {"labels": "array", "probabilities": "array"},
    )
# Its bins without a prediction hold NaN.
add(
    "classification_metrics",
    "reliability",
    lambda **arguments: classification_metrics.reliability(**arguments).size,
    {"labels": LABEL_LIST, "probabilities": PROBABILITIES},
    {"labels": "array", "probabilities": "array", "num_bins": COUNTS},
)


add(
    "classification_metrics",
    "predictive_entropy",
    classification_metrics.predictive_entropy,
    {"probabilities": PROBABILITIES},
    {"probabilities": "array"},
)
add(
    "classification_metrics",
    "auroc",
    classification_metrics.auroc,
    {"inside": PIT, "outside": PIT + 1},
    dict.fromkeys(("inside", "outside"), "array"),
)
