"""Models."""

import functools
from typing import Any

import gpflow

from gpflow_gi.models import DeepGP
from tests.bad_inputs.examples import (
    CLASSES,
    PIXELS,
    M,
    N,
    S,
    X,
    Y,
    binary_classifier,
    classifier,
    gp_layer,
    image_model,
    model,
    network_model,
    posterior,
)
from tests.bad_inputs.target import add
from tests.bad_inputs.values import COUNTS, FLAGS, OBJECTS, SEEDS


def _model(**arguments: Any) -> DeepGP:
    good = {
        "layers": [gp_layer()],
        "likelihood": gpflow.likelihoods.Gaussian(),
        "num_data": N,
        "inducing_inputs": X[:M],
    }
    return DeepGP(**{**good, **arguments})


add(
    "models",
    "DeepGP",
    _model,
    {"inducing_inputs": X[:M]},
    {
        "layers": OBJECTS,
        "likelihood": OBJECTS,
        "num_data": COUNTS,
        "num_samples": COUNTS,
        "inducing_inputs": "array",
    },
)


_OF_DATA: dict[str, Any] = {
    "DeepGP.elbo": lambda X, Y: model().elbo((X, Y), seed=0),
    "DeepGP.training_loss": lambda X, Y: model().training_loss((X, Y), seed=0),
    "DeepGP.predict_log_density": lambda X, Y: model().predict_log_density((X, Y), S, seed=0),
    "DeepGP.first_non_finite": lambda X, Y: model().first_non_finite((X, Y), seed=0),
    "DeepGP.check_data": lambda X, Y: model().check_data((X, Y)),
    "posterior.predict_log_density": lambda X, Y: posterior().predict_log_density((X, Y)),
    "DeepGP.elbo of a network": lambda X, Y: network_model().elbo((X, Y), seed=0),
    "DeepGP.iwbo": lambda X, Y: model().iwbo((X, Y), S, seed=0),
    "DeepGP.log_importance_weights": lambda X, Y: model().log_importance_weights((X, Y), S, seed=0),
    "DeepGP.training_loss_closure": lambda X, Y: model().training_loss_closure(
        (X, Y), compile=False, seed=0
    )(),
}
_IN_FULL = (
    "DeepGP.elbo",
    "DeepGP.predict_log_density",
    "DeepGP.predict_f",
    "DeepGP.check_inputs",
    "DeepGP.check_data",
    "sample_functions()",
)
"""Those of them that get all bad arrays. The others check their arguments as these do."""


for _name, _method in _OF_DATA.items():
    add(
        "models",
        _name,
        _method,
        {"X": X, "Y": Y},
        {"X": "array", "Y": "array"},
        few=_name not in _IN_FULL,
    )
add(
    "models",
    "DeepGP.elbo of labels",
    lambda Y: classifier().elbo((X, Y), seed=0),
    {"Y": CLASSES},
    {"Y": "array"},
)
add(
    "models",
    "DeepGP.predict_log_density of labels",
    lambda Y: classifier().predict_log_density((X, Y), S, seed=0),
    {"Y": CLASSES},
    {"Y": "array"},
)
add(
    "models",
    "DeepGP.predict_log_density of two labels",
    lambda Y: binary_classifier().predict_log_density((X, Y), S, seed=0),
    {"Y": CLASSES % 2},
    {"Y": "array"},
)


_OF_INPUTS: dict[str, Any] = {
    "DeepGP.predict_f": lambda X: model().predict_f(X, S, seed=0),
    "DeepGP.predict_f of full_cov": lambda X: model().predict_f(X, S, True, seed=0),
    "DeepGP.predict_y": lambda X: model().predict_y(X, S, seed=0),
    "DeepGP.predict_y_components": lambda X: model().predict_y_components(X, S, seed=0),
    "DeepGP.predict_proba": lambda X: classifier().predict_proba(X, S, seed=0),
    "DeepGP.predict_f_samples": lambda X: model().predict_f_samples(X, S, seed=0),
    "DeepGP.predict_f_samples by rows": lambda X: model().predict_f_samples(X, S, False, seed=0),
    "DeepGP.check_inputs": lambda X: model().check_inputs(X),
    "sample_functions()": lambda X: functions()(X),
    "sample_functions(num_features=None)": lambda X: model().sample_functions(
        S, seed=0, num_features=None
    )(X),
    "sample_prior()": lambda X: model().sample_prior(S, seed=0)(X),
    "posterior.predict_f": lambda X: posterior().predict_f(X),
    "posterior.predict_y": lambda X: posterior().predict_y(X),
    "posterior.predict_y_components": lambda X: posterior().predict_y_components(X),
    "posterior.predict_proba": lambda X: classifier_posterior().predict_proba(X),
    "DeepGP.predict_y of a network": lambda X: network_model().predict_y(X, S, seed=0),
}


for _name, _method in _OF_INPUTS.items():
    add("models", _name, _method, {"X": X}, {"X": "array"}, few=_name not in _IN_FULL)
add(
    "models",
    "DeepGP.predict_y of images",
    lambda X: image_model().predict_y(X, S, seed=0),
    {"X": PIXELS},
    {"X": "array"},
)


@functools.cache
def classifier_posterior() -> Any:
    return classifier().posterior(S, seed=0)


@functools.cache
def functions() -> Any:
    return model().sample_functions(S, seed=0)


for _name in ("predict_f", "predict_y", "predict_y_components", "predict_f_samples"):
    add(
        "models",
        f"DeepGP.{_name}",
        lambda num_samples=S, seed=0, name=_name: getattr(model(), name)(
            X, num_samples=num_samples, seed=seed
        ),
        {},
        {"num_samples": COUNTS, "seed": SEEDS},
    )


for _name in ("elbo", "bound_terms", "row_terms", "predict_log_density", "first_non_finite"):
    add(
        "models",
        f"DeepGP.{_name}",
        lambda num_samples=S, seed=0, name=_name: getattr(model(), name)(
            (X, Y), num_samples=num_samples, seed=seed
        ),
        {},
        {"num_samples": COUNTS, "seed": SEEDS},
    )
    add(
        "models",
        f"DeepGP.{_name}",
        lambda data, name=_name: getattr(model(), name)(data),
        {},
        {"data": OBJECTS},
    )
add(
    "models",
    "DeepGP.predict_f",
    lambda full_cov: model().predict_f(X, S, full_cov),
    {},
    {"full_cov": FLAGS},
)


for _name in ("sample_functions", "sample_prior"):
    add(
        "models",
        f"DeepGP.{_name}",
        lambda num_samples=S, seed=0, num_features=5, name=_name: getattr(model(), name)(
            num_samples, seed, num_features=num_features
        )(X),
        {},
        {"num_samples": COUNTS, "seed": SEEDS, "num_features": COUNTS},
    )


for _name in ("posterior", "inducing_activations"):
    add(
        "models",
        f"DeepGP.{_name}",
        lambda num_samples=S, seed=0, name=_name: getattr(model(), name)(num_samples, seed),
        {},
        {"num_samples": COUNTS, "seed": SEEDS},
    )
