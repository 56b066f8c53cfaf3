"""The methods of the benchmark by name, with their settings and sources.

All train in float64 on standardised columns with a Gaussian likelihood with learned noise. Deep GPs
have squared exponential kernels with a lengthscale per input, and hidden layers as wide as the
inputs, but at most 30, with linear mean functions (Salimbeni & Deisenroth 2017); networks have two
hidden layers of 50 ReLU units. The budget sets inducing points, samples and training. Everything
else, such as the start of training, is the default of the function that builds the model. A change
of such a default requires a new version of the library, which is part of every trial's key.

The methods compared with sparse implicit processes take steps of 10 rows, whatever the budget's;
most of them maximise objectives of :mod:`gpflow_gi.objectives` that bound nothing.

Networks by a method for all weights at once have the noise variance under which left-out rows are
most likely; :mod:`gpflow_gi.benchmark.all_weights` says why.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

OBER = "Ober & Aitchison 2021, Global inducing point variational posteriors"
SALIMBENI = "Salimbeni & Deisenroth 2017, Doubly stochastic variational inference for deep GPs"
HENSMAN = "Hensman, Fusi & Lawrence 2013, Gaussian processes for big data; GPflow's SVGP"
RASMUSSEN = "Rasmussen & Williams 2006, Gaussian processes for machine learning, chapter 5"
TITSIAS = "Titsias 2009, Variational learning of inducing variables; GPflow's SGPR"
MACKAY = "MacKay 1992, Bayesian interpolation; scikit-learn's BayesianRidge"
BLUNDELL = "Blundell et al. 2015, Weight uncertainty in neural networks"
MACKAY_NETWORKS = "MacKay 1992, A practical Bayesian framework for backpropagation networks"
IMMER = "Immer, Korzepa & Bauer 2021, Improving predictions of BNNs via local linearization"
MADDOX = "Maddox et al. (2019), A simple baseline for Bayesian uncertainty in deep learning"
WILSON = "Wilson & Izmailov (2020), Bayesian deep learning and a probabilistic perspective"
GAL = "Gal & Ghahramani (2016), Dropout as a Bayesian approximation"
CHEN = "Chen, Fox & Guestrin (2014), Stochastic gradient Hamiltonian Monte Carlo"
HAVASI = "Havasi, Hernandez-Lobato & Murillo-Fuentes (2018), Inference in deep GPs using SGHMC"
PPGPR = "Jankowiak, Pleiss & Gardner (2020), Parametric Gaussian process regressors"
SIGMA_POINTS = "Jankowiak, Pleiss & Gardner (2020), Deep sigma point processes"
SNELSON = "Snelson & Ghahramani (2006), Sparse Gaussian processes using pseudo-inputs"
ONG = "Ong, Nott & Smith (2018), Gaussian variational approximation with a factor covariance"
FARQUHAR = "Farquhar, Osborne & Gal (2020), Radial Bayesian neural networks"
REZENDE = "Rezende & Mohamed (2015), Variational inference with normalizing flows"
LAKSHMINARAYANAN = (
    "Lakshminarayanan, Pritzel & Blundell 2017, Simple and scalable predictive uncertainty "
    "estimation using deep ensembles"
)
SALIMBENI_LATENT = "Salimbeni et al. 2019, Deep GPs with importance-weighted variational inference"
MESCHEDER = "Mescheder, Nowozin & Geiger (2017), Adversarial variational Bayes"
AADM = "Rodriguez Santana & Hernandez-Lobato (2020), Adversarial alpha-divergence minimization"
MA = "Ma, Li & Hernandez-Lobato (2019), Variational implicit processes"
ORTEGA = "Ortega, Rodriguez Santana & Hernandez-Lobato (2023), Deep variational implicit processes"
SUN = "Sun, Zhang, Shi & Grosse (2019), Functional variational Bayesian neural networks"
SANTANA = "Rodriguez Santana, Zaldivar & Hernandez-Lobato (2022), Sparse implicit processes"
WISHART = "Ober & Aitchison 2021, A variational approximate posterior for the deep Wishart process"
OURS = "settings of ours"

MODELS = ("linear", "gp", "svgp", "deep-gp", "bnn", "vip", "sip")
"""The kinds of models."""

MOST_EXACT_ROWS = 2000
"""Largest number of rows for an exact GP: time grows with its cube."""

MOST_FULL_WEIGHTS = 5000
"""Weights up to which the covariance of a Laplace approximation is full: a matrix of 200 MB."""

_RATES_OF_THEIR_OWN = ("swag", "multiswag", "sghmc")
"""Methods for all weights whose rates follow from the noise variance."""

_SWAG = {"rank": 20, "num_components": 100, "relative_rate": 0.05}

_BY_BOUND = {"noise_share": 0.0, "num_components": 100, "num_samples": 10, "start": "map"}
"""Settings of methods whose bound learns the noise variance too: no rows are left out. They start
at the most probable weights, with several draws of all weights in a step: see docs/benchmark.md."""

ALL_WEIGHTS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "laplace": ("Laplace", f"{MACKAY_NETWORKS}; {IMMER}", {"most_full_weights": MOST_FULL_WEIGHTS}),
    "ensemble": ("ensemble", LAKSHMINARAYANAN, {"num_members": 5}),
    "map": ("MAP", MACKAY_NETWORKS, {}),
    "swag": ("SWAG", MADDOX, {"num_members": 1, **_SWAG}),
    "multiswag": ("MultiSWAG", WILSON, {"num_members": 5, **_SWAG}),
    "dropout": ("dropout", GAL, {"dropout_rate": 0.1, "num_components": 100}),
    "sghmc": ("SGHMC", CHEN, {"num_draws": 100, "num_chains": 4, "relative_rate": 0.02}),
    "low-rank": ("low rank", ONG, {"family": "low-rank", **_BY_BOUND}),
    "radial": ("radial", FARQUHAR, {"family": "radial", **_BY_BOUND}),
    "flow": ("planar flow", REZENDE, {"family": "planar", "flow_steps": 8, **_BY_BOUND}),
}
"""Methods for all weights of a network at once: title, source, and settings of their own."""

OWN_HALF = "half of the inducing points of each layer its own"
"""The end of the titles of methods with `own_share=0.5`."""

NO_BOUND = "A posterior without a density has no bound."
"""Why a trial may be done and have no bound."""


@dataclass(frozen=True)
class Method:
    """A named configuration.

    :param name: name on the command line and in records.
    :param title: name in lists.
    :param model: kind of model: "linear", "gp", "svgp", "deep-gp", "bnn", "vip" or "sip".
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

    @property
    def is_over_all_weights(self) -> bool:
        """True for networks whose weights are found all at once, by `gpflow_gi.inference`."""
        inference = self.settings.get("inference")
        return isinstance(inference, str) and inference in ALL_WEIGHTS

    @property
    def takes_likelihoods(self) -> bool:
        """False if the method is for regression with Gaussian noise alone."""
        if self.model in ("linear", "gp") or "chains" in self.settings or self.is_over_all_weights:
            return False
        inference = self.settings.get("inference", "")
        last = inference if isinstance(inference, str) else inference[-1]
        return not last.endswith("optimal") and self.settings.get("hidden_start") != "targets"

    @property
    def has_rate(self) -> bool:
        """True if the budget's learning rate matters."""
        has_own = "learning_rate" in self.settings.get("train", {})
        by_noise = self.settings.get("inference") in _RATES_OF_THEIR_OWN
        return self.model not in ("linear", "gp") and not has_own and not by_noise


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


def _deep_gps_of_mean_zero() -> list[Method]:
    """Five layers without skip connections, as compared with the deep Wishart process."""
    starts = {"inputs": "", "targets": "-targets"}
    return [
        Method(
            name=f"dgp-{inference}-5-zero{suffix}",
            title=f"Deep GP, {inference}, 5 layers of mean zero"
            + (f" from {start}" if suffix else ""),
            model="deep-gp",
            source=f"{WISHART}; {OURS}",
            settings={
                "inference": inference,
                "num_layers": 5,
                "mean_function": "zero",
                "hidden_start": start,
            },
        )
        for start, suffix in starts.items()
        for inference in ("local", "global")
    ]


def _deep_gps_with_a_covariance_of_each_unit() -> list[Method]:
    """Hidden layers whose units have their own covariances, as those of local layers have.

    "whitened" and "full" ones also have the coordinates of local layers.
    """
    own: dict[str, Any] = {"shared_precision": False}
    return [
        replace(
            method,
            name=f"{method.name}-{suffix}",
            title=f"{method.title}, {title}",
            source=f"{method.source.split(';')[0]}; {OURS}",
            settings={**method.settings, **settings},
        )
        for method in (*_deep_gps(), *_deep_gps_of_mean_zero())
        if method.name in ("dgp-global-2", "dgp-global-3", "dgp-global-5-zero")
        for below in [["full"] * (method.settings["num_layers"] - 1)]
        for suffix, title, settings in (
            ("unshared", "a precision of each unit", own),
            ("whitened", "a precision of each unit, whitened", {**own, "whiten": True}),
            ("full", "free Gaussians in hidden layers", {"inference": [*below, "global"]}),
        )
    ]


def _deep_gps_with_own_inducing_points() -> list[Method]:
    """Half of each layer's inducing points are its own; the others go through all layers."""
    return [
        replace(
            method,
            name=f"{method.name}-own",
            title=f"{method.title}, {OWN_HALF}",
            settings={**method.settings, "own_share": 0.5},
        )
        for method in _deep_gps_with_a_covariance_of_each_unit()
        if not method.name.endswith("whitened")
    ]


def _with_divided_rows() -> list[Method]:
    """Global inducing points whose rows of a step are divided among four draws, not one.

    With one draw its noise moves all rows of a step; rows of local layers have noise of their own.
    """
    deep_gps = (*_deep_gps(), *_deep_gps_of_mean_zero())
    of_one_precision = [method for method in deep_gps if "global" in method.name]
    of_each_unit = _deep_gps_with_a_covariance_of_each_unit()
    with_own_points = _deep_gps_with_own_inducing_points()
    names = "bnn-global", "bnn-factorised-global"
    networks = [method for method in _networks() if method.name in names]
    return [
        replace(
            method,
            name=f"{method.name}-divided",
            title=f"{method.title}, divided rows",
            settings={
                **method.settings,
                "train": {"num_samples": 4},
                "objective": {"name": "Elbo", "divide_rows": True},
            },
        )
        for method in (*of_one_precision, *of_each_unit, *with_own_points, *networks)
    ]


def _deep_gps_with_an_optimal_last_layer() -> list[Method]:
    """Deep GPs whose last layer has its optimal posterior, given all rows and the layers below."""
    regression = TITSIAS.split(";")[0]
    of_each_unit = _deep_gps_with_a_covariance_of_each_unit()
    with_own_points = _deep_gps_with_own_inducing_points()
    below: dict[str, Mapping[str, Any]] = {
        method.name: method.settings for method in (*_deep_gps(), *of_each_unit, *with_own_points)
    }
    return [
        Method(
            name=f"dgp-{hidden}-optimal",
            title=f"Deep GP, {num_layers} layers, {title}, optimal last layer",
            model="deep-gp",
            source=f"{SALIMBENI if inference == 'local' else OBER}; {regression}; {OURS}",
            settings={
                **below[f"dgp-{hidden}"],
                "inference": [*[inference] * (num_layers - 1), "optimal"],
            },
        )
        for num_layers in (2, 3)
        for hidden, inference, title in (
            (f"local-{num_layers}", "local", "local"),
            (f"global-{num_layers}-unshared", "global", "a precision of each unit"),
            (f"global-{num_layers}-whitened", "global", "a precision of each unit, whitened"),
            (f"global-{num_layers}-full", "full", "free Gaussians in hidden layers"),
            (
                f"global-{num_layers}-full-own",
                "full",
                f"free Gaussians in hidden layers, {OWN_HALF}",
            ),
        )
    ]


def _by_chains() -> list[Method]:
    """A sparse GP and a deep GP as in dgp-local-2, from which the chains start, with a budget of
    steps each for the start, the burn-in and the draws.

    The bound trains the start; the density is the bound's, or that of the paper's program, which
    is FITC's in one layer.
    """
    program = f"{HAVASI}, their program; {SNELSON}"
    return [
        Method(
            name=f"{name}{suffix}",
            title=f"{title}{', alpha 1' if alpha else ''}",
            model="deep-gp",
            source=f"{source}; {OURS}",
            settings={
                "inference": "local",
                "num_layers": num_layers,
                "chains": {"num_draws": 25, "num_chains": 4, **alpha},
            },
        )
        for suffix, source, alpha in (("", HAVASI, {}), ("-alpha-1", program, {"alpha": 1.0}))
        for num_layers, name, title in (
            (1, "svgp-sghmc", "Sparse GP, SGHMC"),
            (2, "dgp-sghmc-2", "Deep GP, SGHMC, 2 layers"),
        )
    ]


def _with_log_densities_of_rows() -> list[Method]:
    """Methods that maximise sum_n log E p(y_n | f_n), minus the KL divergence: no bound."""
    sparse_gp = {"inference": "local", "num_layers": 1}
    methods = [
        Method("svgp", "Sparse GP", "deep-gp", PPGPR, sparse_gp),
        *(
            replace(method, source=f"{SIGMA_POINTS}; {OURS}")
            for method in _deep_gps()
            if method.settings["num_layers"] < 5
        ),
    ]
    return [
        replace(
            method,
            name=f"{method.name}-alpha-1",
            title=f"{method.title}, alpha 1",
            settings={**method.settings, "objective": {"name": "AlphaEnergy", "alpha": 1.0}},
        )
        for method in methods
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


def _networks_with_optimal_top() -> list[Method]:
    """Networks whose last layer has its exact posterior given the data and the layers below."""
    return [
        Method(
            name=f"bnn-{lower}-optimal",
            title=f"BNN, {lower} -> optimal",
            model="bnn",
            source=f"{source}; a last layer as in MacKay 1992, Bayesian interpolation",
            settings={"inference": f"{lower} -> optimal", "prior": "neal", "widths": [50, 50]},
        )
        for lower, source in (("factorised", BLUNDELL), ("global", OBER))
    ]


def _networks_with_a_precision_of_each_unit() -> list[Method]:
    """Hidden units with covariances of their own, which can be switched off one by one."""
    bases = {method.name: method for method in (*_networks(), *_networks_with_optimal_top())}
    variants = [("bnn-global", "neal"), ("bnn-global-optimal", "neal")]
    variants += [("bnn-global-optimal", "learned")]
    return [
        replace(
            bases[name],
            name=f"{name}-unshared" if prior == "neal" else f"{name}-{prior}-unshared",
            title=f"{bases[name].title}, a precision of each unit"
            + ("" if prior == "neal" else f", {prior} prior"),
            settings={**bases[name].settings, "prior": prior, "shared_precision": False},
        )
        for name, prior in variants
    ]


def _networks_of_other_scales_and_depths() -> list[Method]:
    """Exact last layers with a learned scale of each input and unit, or one hidden layer."""
    (base,) = (one for one in _networks_with_optimal_top() if one.name == "bnn-global-optimal")
    cases = (
        ("unshared-1", "neal", [50], "one hidden layer"),
        ("ard-unshared", "ard", [50, 50], "a learned scale of each input and unit"),
        ("ard-unshared-1", "ard", [50], "a learned scale of each input and unit, one hidden layer"),
    )
    return [
        replace(
            base,
            name=f"{base.name}-{ending}",
            title=f"{base.title}, a precision of each unit, {title}",
            settings={**base.settings, "prior": prior, "shared_precision": False, "widths": widths},
        )
        for ending, prior, widths, title in cases
    ]


def _networks_at_once() -> list[Method]:
    return [
        Method(
            name=f"bnn-{inference}",
            title=f"BNN, {title}",
            model="bnn",
            source=source,
            settings={
                "inference": inference,
                "prior": "neal",
                "widths": [50, 50],
                "noise_share": 0.2,
                "noise_searches": 7,
                **settings,
            },
        )
        for inference, (title, source, settings) in ALL_WEIGHTS.items()
    ]


SMALL_BATCHES: dict[str, Any] = {"batch_size": 10, "num_inducing": 100, "warmup_share": 0.2}
"""Training as in Rodriguez Santana et al. (2022), section 5: replacements of the budget's fields,
and the share of the steps over which the weight of the KL term rises."""

_CLASSIFIER = {"name": "DensityRatioKL", "classifier": [50, 50], "learning_rate": 1e-3}


def _compared_with_implicit_processes() -> list[Method]:
    """The methods of Rodriguez Santana et al. (2022), with networks of two layers of 50 units.

    Rates beside a classifier are ours, for the number of steps of a budget; neural samplers have
    the low-rank form, as the paper's have (its supplement, section 6); it does not say where its
    dropout is.
    """
    energy = {"name": "AlphaEnergy", "alpha": 0.5}
    avb = {**_CLASSIFIER, "alpha": 0.0, "num_draws": 20}
    aadm = {**avb, "alpha": 0.5}
    sip = {**aadm, "symmetrised": True, "num_draws": 100}
    fbnn = {"name": "FunctionalKL", "measurement_points": 20, "num_draws": 50}
    two_layers = {"num_layers": 2}
    network, weights = {"widths": [50, 50]}, {"num_samples": 10}
    rates = {"learning_rate": 1e-2, "last_learning_rate": 1e-3}
    by_noise, by_process = {**weights, **rates}, {"num_samples": 100, **rates}
    sampler = {"process": "low-rank-sampler"}
    rows: list[tuple[str, str, str, str, dict[str, Any], Any, dict[str, Any]]] = [
        ("bbb", "Bayes by backprop", "bnn", BLUNDELL, {"inference": "factorised"}, None, weights),
        ("avb", "AVB", "bnn", MESCHEDER, {"inference": "implicit"}, avb, by_noise),
        ("aadm-0.5", "AADM, alpha 0.5", "bnn", AADM, {"inference": "implicit"}, aadm, by_noise),
        ("fbnn", "Functional BNN", "bnn", SUN, {"inference": "factorised"}, fbnn, weights),
        ("vip", "VIP", "vip", MA, {"process": "network"}, energy, {"num_samples": 1}),
        ("dvip-2", "Deep VIP, 2 layers", "vip", ORTEGA, two_layers, None, {"num_samples": 1}),
        (
            "dvip-global-2",
            "Deep VIP, global, 2 layers",
            "vip",
            f"{ORTEGA}; q(z) as in {OBER}",
            {**two_layers, "inference": "global"},
            None,
            {"num_samples": 1},
        ),
        (
            "bnn-global-batch-10",
            "BNN, global, steps of 10 rows",
            "bnn",
            OBER,
            {"inference": "global"},
            None,
            {"num_samples": 1},
        ),
        (
            "dgp-global-2-batch-10",
            "Deep GP, global, 2 layers, steps of 10 rows",
            "deep-gp",
            OBER,
            {"inference": "global", **two_layers},
            None,
            {"num_samples": 1},
        ),
        ("sip-bnn", "SIP, prior network", "sip", SANTANA, {"process": "network"}, sip, by_process),
        ("sip-ns", "SIP, neural sampler", "sip", SANTANA, sampler, sip, by_process),
        (
            "sip-ns-dropout",
            "SIP, neural sampler with dropout",
            "sip",
            SANTANA,
            {"process": "low-rank-sampler-dropout"},
            sip,
            by_process,
        ),
    ]
    return [
        Method(
            name,
            title,
            model,
            source,
            {
                **settings,
                **(network if model == "bnn" else {}),
                "train": {**SMALL_BATCHES, **numbers},
                **({} if objective is None else {"objective": objective}),
            },
        )
        for name, title, model, source, settings, objective, numbers in rows
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
        *_deep_gps_of_mean_zero(),
        *_deep_gps_with_a_covariance_of_each_unit(),
        *_deep_gps_with_own_inducing_points(),
        *_with_divided_rows(),
        *_deep_gps_with_an_optimal_last_layer(),
        *_by_chains(),
        *_with_log_densities_of_rows(),
        Method(
            "dgp-global-2-latent",
            "Deep GP, global, 2 layers, latent variable",
            "deep-gp",
            f"{SALIMBENI_LATENT}; {OURS}",
            {"inference": "global", "num_layers": 2, "latent_dim": 1},
        ),
        *_networks(),
        *_networks_with_optimal_top(),
        *_networks_with_a_precision_of_each_unit(),
        *_networks_of_other_scales_and_depths(),
        *_networks_at_once(),
        *_compared_with_implicit_processes(),
    ]
}


def in_order(names: Iterable[str]) -> list[str]:
    """Names of methods in the order of :data:`METHODS`, then all others alphabetically."""
    places = {name: place for place, name in enumerate(METHODS)}
    return sorted(names, key=lambda name: (places.get(name, len(places)), name))


BOUND = "Elbo"
"""The objective of methods whose training maximises the bound that the benchmark reports."""


def objective_of(settings: Mapping[str, Any]) -> str:
    """The name of what training maximises.

    :param settings: of a method, as in :attr:`Method.settings` or in a record.
    :return: :data:`BOUND`, the name of another objective, or "log joint density" where training
        finds the most probable weights, around which there is a bound.
    """
    objective = settings.get("objective")
    if isinstance(objective, Mapping):
        return str(objective.get("name"))
    if settings.get("inference") in ("laplace", "swag", "multiswag"):
        return "log joint density"
    # As train_by says: with the bound the latent variables would not be used.
    return "ImportanceWeighted" if settings.get("latent_dim") else BOUND


def settings_of(method: Method) -> dict[str, Any]:
    """The settings on which the method's results depend, ready for JSON."""
    return {"model": method.model, **method.settings}
