"""The network of the toy experiments, trained on the cubic data: 2 hidden layers of 50 ReLU."""

from dataclasses import dataclass
from typing import Any

import gpflow

from gpflow_gi.architectures import build_bnn
from gpflow_gi.benchmark.train import train_by
from gpflow_gi.bounds import Estimate, estimate_elbo, estimate_iwbo
from gpflow_gi.experiments.cubic import Cubic
from gpflow_gi.models import DeepGP

WIDTHS = (50, 50)


@dataclass(frozen=True)
class Training:
    """Settings of training.

    The KL term's weight rises to 1 over the first fifth of the steps.

    :param steps: number of steps of Adam, each on all rows.
    :param learning_rate: learning rate of Adam.
    :param last_learning_rate: the same, in the second half of the steps.
    :param num_samples: number of samples of the layers below the last, in every step.
    """

    steps: int
    learning_rate: float = 0.03
    last_learning_rate: float = 0.003
    num_samples: int = 1

    @property
    def batch_size(self) -> None:
        """None: all rows."""

    @property
    def kl_warmup(self) -> int:
        """Length of the KL warm-up, in steps."""
        return self.steps // 5


@dataclass(frozen=True)
class Evaluation:
    """Settings for the estimates of the bounds.

    :param elbo_samples: total number of samples for the ELBO.
    :param iwbo_samples: number of samples for each repetition of the IWBO.
    :param iwbo_repeats: number of repetitions.
    """

    elbo_samples: int = 1000
    iwbo_samples: int = 1000
    iwbo_repeats: int = 10


def untrained_network(
    data: Cubic,
    *,
    inference: str = "global",
    num_inducing: int = 100,
    prior_scale: float = 1.0,
    seed: int = 0,
) -> DeepGP:
    """The network at its start, with the noise variance known and fixed.

    :param data: data for the start.
    :param inference: see :func:`gpflow_gi.architectures.build_bnn`.
    :param num_inducing: number of inducing points, evenly spaced over the range, gap included.
    :param prior_scale: factor on the standard deviation of NealPrior.
    :param seed: seed of the initial network.
    """
    likelihood = gpflow.likelihoods.Gaussian(data.noise_deviation**2)
    gpflow.set_trainable(likelihood, False)
    return build_bnn(
        data.X,
        data.Y,
        widths=WIDTHS,
        inference=inference,
        prior="neal",
        prior_scale=prior_scale,
        inducing_inputs=data.evenly(num_inducing),
        likelihood=likelihood,
        seed=seed,
    )


def trained_network(
    data: Cubic, training: Training, *, seed: int = 0, progress: bool = False, **arguments: Any
) -> DeepGP:
    """The network after training.

    :param data: training data.
    :param seed: seed of the start and of the bound's samples.
    :param progress: True to show a progress bar.
    :param arguments: arguments of :func:`untrained_network`.
    """
    model = untrained_network(data, seed=seed, **arguments)
    train_by(training, model, (data.X, data.Y), seed=seed, progress=progress)
    return model


def bounds(
    model: DeepGP, data: Cubic, evaluation: Evaluation, seed: int
) -> dict[str, dict[str, float]]:
    """ELBO and IWBO on all rows, in nats for standardised targets, ready for JSON."""
    rows = data.X, data.Y
    elbo = estimate_elbo(model, rows, evaluation.elbo_samples, seed=seed)
    iwbo = estimate_iwbo(
        model, rows, evaluation.iwbo_samples, num_repeats=evaluation.iwbo_repeats, seed=seed
    )
    return {"elbo": _as_dict(elbo), "iwbo": _as_dict(iwbo)}


def _as_dict(estimate: Estimate) -> dict[str, float]:
    return {"mean": estimate.value, "standard_error": estimate.standard_error}
