"""The published experiments by name, readable without importing TensorFlow."""

from collections.abc import Mapping
from dataclasses import dataclass, field

FILES = ("results.json", "figure.png")
"""Files that an experiment writes."""


@dataclass(frozen=True)
class Experiment:
    """One entry of the catalogue.

    :param name: name on the command line.
    :param description: one line.
    :param module: the module with ``run``, ``plot`` and ``summary``; see
        :mod:`gpflow_gi.experiments.study`.
    :param has_full: True if it has a version that is longer than the usual one.
    :param data: the data sets that it can use, if there is a choice; the first is the default.
    :param is_resumable: True if its ``run`` takes a folder for unfinished work, ``checkpoints``.
    :param runs_trials: True if its ``run`` takes ``workers`` for parts that may run at the same
        time.
    :param arguments: arguments of the module's ``run``, if other experiments use the same module.
    """

    name: str
    description: str
    module: str
    has_full: bool = False
    data: tuple[str, ...] = ()
    is_resumable: bool = False
    runs_trials: bool = False
    arguments: Mapping[str, str] = field(default_factory=dict)


EXPERIMENTS = {
    experiment.name: experiment
    for experiment in (
        Experiment(
            "toy",
            "1-D regression with a gap: three posteriors beside NUTS (Figure 1)",
            "gpflow_gi.experiments.toy",
        ),
        Experiment(
            "toy-iwbo",
            "how tight the global posterior's bound is: ELBO and IWBO",
            "gpflow_gi.experiments.toy_iwbo",
        ),
        Experiment(
            "prior-scale",
            "ELBO and IWBO against the scale of the weights' prior",
            "gpflow_gi.experiments.sweep",
            arguments={"parameter": "prior_scale"},
        ),
        Experiment(
            "num-inducing",
            "ELBO and IWBO against the number of inducing points",
            "gpflow_gi.experiments.sweep",
            arguments={"parameter": "num_inducing"},
        ),
        Experiment(
            "deep-linear",
            "bounds of deep linear networks against depth and width (Figure 2)",
            "gpflow_gi.experiments.deep_linear",
            has_full=True,
        ),
        Experiment(
            "global-local",
            "global against local inducing points at equal CPU time",
            "gpflow_gi.experiments.global_local",
        ),
        Experiment(
            "posteriors",
            "every posterior over a network's weights beside NUTS",
            "gpflow_gi.experiments.posteriors",
            data=("cubic", "digits"),
        ),
        Experiment(
            "compositional",
            "both layers of a deep GP, and their composition (Appendix J)",
            "gpflow_gi.experiments.compositional",
        ),
        Experiment(
            "eight-schools",
            "bounds and k-hat of families of densities on the eight schools",
            "gpflow_gi.experiments.eight_schools",
            has_full=True,
        ),
        Experiment(
            "implicit",
            "implicit processes on data with two modes or varying noise",
            "gpflow_gi.experiments.implicit",
            data=("bimodal", "heteroscedastic"),
        ),
        Experiment(
            "inducing-inputs",
            "movement of the inducing inputs of a sparse implicit process",
            "gpflow_gi.experiments.inducing_inputs",
            data=("together", "piecewise"),
        ),
        Experiment(
            "densities",
            "deep GPs with latent inputs on two modes, a step and two moons",
            "gpflow_gi.experiments.densities",
        ),
        Experiment(
            "shift",
            "calibration of posteriors on digits, also rotated and noised",
            "gpflow_gi.experiments.shift",
        ),
        Experiment(
            "images",
            "classification of images, calibration, what is unknown (Table 1)",
            "gpflow_gi.experiments.images",
            data=("digits", "mnist5k", "mnist", "cifar10", "cifar10-scale", "cifar10-resnet18"),
            is_resumable=True,
        ),
        Experiment(
            "large",
            "held-out measures against CPU time, for millions of rows",
            "gpflow_gi.experiments.large",
            data=("airline", "flights"),
            is_resumable=True,
            runs_trials=True,
        ),
    )
}
"""The experiments by name, in the order of the list of them."""
