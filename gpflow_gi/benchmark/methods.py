"""The methods of the benchmark by name, with their settings and sources.

All train in float64 on standardised columns with a Gaussian likelihood with learned noise. Deep GPs
have squared exponential kernels with a lengthscale per input, and hidden layers as wide as the
inputs, but at most 30, with linear mean functions (Salimbeni & Deisenroth 2017); networks have two
hidden layers of 50 ReLU units. The budget sets inducing points, samples and training. Everything
else, such as the start of training, is the default of the function that builds the model. A change
of such a default requires a new version of the library, which is part of every trial's key.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

OBER = "Ober & Aitchison 2021, Global inducing point variational posteriors"
SALIMBENI = "Salimbeni & Deisenroth 2017, Doubly stochastic variational inference for deep GPs"
HENSMAN = "Hensman, Fusi & Lawrence 2013, Gaussian processes for big data; GPflow's SVGP"
RASMUSSEN = "Rasmussen & Williams 2006, Gaussian processes for machine learning, chapter 5"
TITSIAS = "Titsias 2009, Variational learning of inducing variables; GPflow's SGPR"
MACKAY = "MacKay 1992, Bayesian interpolation; scikit-learn's BayesianRidge"
BLUNDELL = "Blundell et al. 2015, Weight uncertainty in neural networks"
OURS = "settings of ours"

MODELS = ("linear", "gp", "svgp", "deep-gp", "bnn")
"""The kinds of models."""

MOST_EXACT_ROWS = 2000
"""Largest number of rows for an exact GP: time grows with its cube."""


@dataclass(frozen=True)
class Method:
    """A named configuration.

    :param name: name on the command line and in records.
    :param title: name in lists.
    :param model: kind of model: "linear", "gp", "svgp", "deep-gp" or "bnn".
    :param source: source of the method, and of its settings if they are not our own.
    :param settings: settings of the function that builds the model.
    :raises ValueError: if there is no such kind of model.
    """

    name: str
    title: str
    model: str
    source: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.model not in MODELS:
            raise ValueError(f"model must be one of {', '.join(MODELS)}, but is {self.model!r}.")


def _deep_gps() -> list[Method]:
    sources = {"local": SALIMBENI, "global": OBER}
    compared = {2: "compared in its section 3.3", 3: OURS, 5: "compared in its section 3.3"}
    return [
        Method(
            name=f"dgp-{inference}-{num_layers}",
            title=f"Deep GP, {inference}, {num_layers} layers",
            model="deep-gp",
            source=f"{source}; {compared[num_layers]}" if inference == "global" else source,
            settings={"inference": inference, "num_layers": num_layers},
        )
        for inference, source in sources.items()
        for num_layers in (2, 3, 5)
    ]


def _networks() -> list[Method]:
    """Two hidden layers of 50 ReLU units, as in the paper's section 3.1.

    Its section 3.3 compares "two-layer" networks with the standard and the scale prior.
    """
    sources = {
        "factorised": f"{BLUNDELL}; compared in {OBER}",
        "local": f"{OBER}, section 2.2",
        "global": OBER,
        "factorised -> global": f"{OBER}, section 3",
    }
    return [
        Method(
            name="-".join(
                ["bnn", inference.replace(" -> ", "-"), *([] if prior == "neal" else [prior])]
            ),
            title=f"BNN, {inference}" + ("" if prior == "neal" else f", {prior} prior"),
            model="bnn",
            source=source,
            settings={"inference": inference, "prior": prior, "widths": [50, 50]},
        )
        for prior in ("neal", "standard", "scale")
        for inference, source in sources.items()
    ]


METHODS: dict[str, Method] = {
    method.name: method
    for method in [
        Method("linear", "Linear regression", "linear", MACKAY, {"compute_score": True}),
        Method(
            "gp",
            "GP",
            "gp",
            f"{RASMUSSEN}; above {MOST_EXACT_ROWS} rows {TITSIAS}",
            {
                "max_exact_rows": MOST_EXACT_ROWS,
                "max_iterations": 100,
                "least_lengthscale": 0.01,
            },
        ),
        Method("svgp", "Sparse GP", "svgp", HENSMAN),
        *_deep_gps(),
        *_networks(),
    ]
}


def in_order(names: Iterable[str]) -> list[str]:
    """Names of methods in the order of :data:`METHODS`, then all others alphabetically."""
    places = {name: place for place, name in enumerate(METHODS)}
    return sorted(names, key=lambda name: (places.get(name, len(places)), name))


def settings_of(method: Method) -> dict[str, Any]:
    """The settings on which the method's results depend, ready for JSON."""
    return {"model": method.model, **method.settings}
