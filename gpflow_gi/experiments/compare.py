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
from gpflow_gi.held_out import HeldOut, predictive_components
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
        held_out = HeldOut(test.Y, *components, targets)
        lower, upper = held_out.interval(INTERVAL)
        results.append(
            Result(
                name=name,
                record=record,
                elbo=elbo.value / len(X),
                elbo_standard_error=elbo.standard_error / len(X),
                log_density=held_out.log_density,
                crps=held_out.crps,
                rmse=held_out.rmse,
                coverage=metrics.coverage(test.Y[:, 0], lower, upper),
                mean=held_out.mean,
                lower=lower,
                upper=upper,
            )
        )
    return Comparison(settings, train, test, targets, results)


def _models(X: Array, Y: Array, settings: Settings) -> Iterator[tuple[str, Any]]:
    yield (
        "Sparse GP",
        architectures.build_sparse_gp(X, Y, settings.num_inducing, seed=settings.seed),
    )
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
