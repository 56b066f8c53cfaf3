"""Models side by side on one table: a sparse GP, and deep GPs or Bayesian neural networks.

The deep GPs have local and global inducing points, the networks factorised, local and global
posteriors. Within each kind all have the same prior, and those with inducing points the same number
of them; all are trained and measured on the same rows. The sparse GP is there to tell whether depth
helps at all.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, cast

import gpflow
import numpy as np
from numpy.typing import NDArray

from gpflow_gi import architectures, metrics
from gpflow_gi.bounds import estimate_elbo
from gpflow_gi.datasets import Standardiser, Table
from gpflow_gi.experiments.settings import Settings
from gpflow_gi.training import FitRecord, fit

Array = NDArray[np.float64]

INTERVAL = 0.95
"""The probability that the predictive intervals claim."""


@dataclass(frozen=True, eq=False)
class Result:
    """What became of one model.

    :param name: what the model is called in reports.
    :param record: of its training.
    :param elbo: the bound on the training rows, per row, for the standardised target, in nats.
    :param elbo_standard_error: of `elbo`, a mean over samples; 0 if that is exact, NaN if it is of
        one sample.
    :param log_density: [n], of the held-out targets on their original scale, in nats.
    :param crps: [n], in the unit of the target.
    :param rmse: in the unit of the target.
    :param coverage: the share of held-out targets inside their intervals.
    :param mean: [n], predictions in the unit of the target.
    :param lower: [n], where the predictions' central intervals of probability `INTERVAL` begin.
    :param upper: [n], where they end.
    """

    name: str
    record: FitRecord
    elbo: float
    elbo_standard_error: float
    log_density: Array
    crps: Array
    rmse: float
    coverage: float
    mean: Array
    lower: Array
    upper: Array


@dataclass(frozen=True, eq=False)
class Comparison:
    """Several models on the same rows.

    :param settings: as they were used: `num_inducing` and `batch_size` fit the data.
    :param train: the rows that the models were trained on, on their original scale.
    :param test: the rows held out.
    :param standardiser: of the target.
    :param results: one for each model.
    """

    settings: Settings
    train: Table
    test: Table
    standardiser: Standardiser
    results: list[Result]


def compare(
    train: Table,
    test: Table,
    settings: Settings,
    *,
    progress: bool = True,
    announce: Callable[[str], None] = lambda name: None,
) -> Comparison:
    """Train and measure all models.

    :param train: rows to train on; they alone decide how inputs and target are standardised.
    :param test: rows to measure on.
    :param settings: with no more inducing points, and no larger batches, than `train` has rows.
    :param progress: whether to show a progress bar.
    :param announce: called with the name of every model before it is trained.
    """
    inputs, targets = Standardiser.fit(train.X), Standardiser.fit(train.Y)
    dtype = gpflow.default_float()
    X, Y = inputs.transform(train.X).astype(dtype), targets.transform(train.Y).astype(dtype)
    X_test = inputs.transform(test.X).astype(dtype)
    results = []
    for name, model in _models(X, Y, settings):
        announce(name)
        sampled = not isinstance(model, gpflow.models.SVGP)
        record = fit(
            model,
            (X, Y),
            steps=settings.steps,
            batch_size=None if settings.batch_size == len(X) else settings.batch_size,
            learning_rate=settings.learning_rate,
            kl_warmup=settings.kl_warmup,
            num_samples=settings.num_samples if sampled else None,
            progress=progress,
            seed=settings.seed,
        )
        num_samples = settings.num_test_samples if sampled else None
        elbo = estimate_elbo(model, (X, Y), num_samples, seed=settings.seed)
        components = predictive_components(model, X_test, num_samples, seed=settings.seed)
        results.append(
            Result(
                name=name,
                record=record,
                elbo=elbo.value / len(X),
                elbo_standard_error=elbo.standard_error / len(X),
                **_measures(test.Y, *components, targets),
            )
        )
    return Comparison(settings, train, test, targets, results)


def _models(X: Array, Y: Array, settings: Settings) -> Iterator[tuple[str, Any]]:
    yield "Sparse GP", build_sparse_gp(X, Y, settings.num_inducing, settings.seed)
    shared: dict[str, Any] = {
        "num_inducing": settings.num_inducing,
        "num_samples": settings.num_samples,
        "seed": settings.seed,
    }
    if settings.model == "bnn":
        for inference in ("factorised", "local", "global"):
            yield (
                f"BNN, {inference}",
                architectures.build_bnn(
                    X,
                    Y,
                    widths=settings.widths,
                    prior=settings.prior,
                    inference=inference,
                    **shared,
                ),
            )
        return
    for method in ("local", "global"):
        yield (
            f"Deep GP, {method}",
            architectures.build_deep_gp(
                X, Y, num_layers=settings.num_layers, inference=cast(Any, method), **shared
            ),
        )


def build_sparse_gp(X: Array, Y: Array, num_inducing: int, seed: int = 0) -> Any:
    """GPflow's SVGP with a squared exponential kernel, one lengthscale per input.

    It starts where a deep GP's last layer starts, so that no model has a better start than another.

    :param X: [N, D], standardised.
    :param Y: [N, 1], standardised.
    :param num_inducing: M, at most the number of different rows of `X`.
    :param seed: of the inducing inputs.
    :return: a :class:`gpflow.models.SVGP`.
    """
    start = architectures.build_deep_gp(
        X, Y, num_layers=1, inference="local", num_inducing=num_inducing, seed=seed
    )
    (layer,) = start.layers
    return gpflow.models.SVGP(
        layer.kernel,
        start.likelihood,
        layer.posterior.inducing_inputs.numpy(),
        q_mu=layer.posterior.q_mu.numpy(),
        q_sqrt=layer.posterior.q_sqrt.numpy(),
        num_data=len(X),
    )


def predictive_components(
    model: Any, X: Array, num_samples: int | None, seed: int = 0
) -> tuple[Array, Array]:
    """The Gaussians whose mixture predicts the targets at `X`.

    :param model: with a Gaussian likelihood.
    :param X: [N, D].
    :param num_samples: S; None for a model whose prediction is one Gaussian.
    :return: mean and variance of p(y | x, sample), each [S, N, P].
    """
    if num_samples is None:
        mean, variance = model.predict_y(X)
        return mean.numpy()[None], variance.numpy()[None]
    mean, variance = model.predict_y_components(X, num_samples=num_samples, seed=seed)
    return mean.numpy(), variance.numpy()


def _measures(Y: Array, mean: Array, variance: Array, targets: Standardiser) -> dict[str, Any]:
    """The fields of :class:`Result` that compare predictions with what was observed.

    Taken on the standardised scale, where no square overflows, and brought to the original one.

    :param Y: [n, 1], on the original scale.
    :param mean: [S, n, 1], for the standardised target.
    :param variance: [S, n, 1], for the standardised target.
    """
    y = targets.transform(Y)
    tail = (1 - INTERVAL) / 2
    lower = metrics.mixture_quantile(tail, mean, variance)
    upper = metrics.mixture_quantile(1 - tail, mean, variance)
    mixture_mean, _ = metrics.mixture_moments(mean, variance)
    log_density = metrics.mixture_log_density(y, mean, variance)[:, 0]
    scale = targets.scale[0]
    return {
        "log_density": targets.inverse_log_density(log_density),
        "crps": scale * metrics.mixture_crps(y, mean, variance)[:, 0],
        "rmse": scale * metrics.rmse(y, mixture_mean),
        "coverage": metrics.coverage(y, lower, upper),
        "mean": targets.inverse(mixture_mean)[:, 0],
        "lower": targets.inverse(lower)[:, 0],
        "upper": targets.inverse(upper)[:, 0],
    }
