"""Models side by side on one table: a sparse GP, and deep GPs or Bayesian neural networks.

The deep GPs have local and global inducing points, the networks factorised, local and global
posteriors. Within each kind all have the same prior, and those with inducing points the same number
of them; all are trained and measured on the same rows. The sparse GP is there to tell whether depth
helps at all.
"""

import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import gpflow
import numpy as np
from numpy.typing import NDArray

from gpflow_gi import architectures, metrics
from gpflow_gi.bounds import estimate_elbo
from gpflow_gi.datasets import Standardiser, Table
from gpflow_gi.experiments.settings import Settings
from gpflow_gi.metrics.held_out import HeldOut, predictive_components
from gpflow_gi.training import FitRecord, NonFiniteError, fit
from gpflow_gi.training.record import notes_not_warnings

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
class Failure:
    """A model that could not be trained or measured.

    :param name: what the model is called in reports.
    :param kind: the class of the exception.
    :param reason: one line.
    :param traceback: where it happened.
    :param record: of its training, as far as it came; None if it had not begun.
    """

    name: str
    kind: str
    reason: str
    traceback: str
    record: FitRecord | None = None


@dataclass(frozen=True, eq=False)
class Comparison:
    """Several models on the same rows.

    :param settings: as they were used: `num_inducing` and `batch_size` fit the data.
    :param train: the rows that the models were trained on, on their original scale.
    :param test: the rows held out.
    :param standardiser: of the target.
    :param outcomes: one for each model that has ended, in the order of their training.
    :param left: the names of the models that have not ended.
    """

    settings: Settings
    train: Table
    test: Table
    standardiser: Standardiser
    outcomes: list[Result | Failure]
    left: tuple[str, ...] = ()

    @property
    def results(self) -> list[Result]:
        """Of the models that did not fail."""
        return [outcome for outcome in self.outcomes if isinstance(outcome, Result)]

    @property
    def failures(self) -> list[Failure]:
        """Of the models that did."""
        return [outcome for outcome in self.outcomes if isinstance(outcome, Failure)]


def compare(
    train: Table,
    test: Table,
    settings: Settings,
    *,
    progress: bool = True,
    announce: Callable[[str], None] = lambda name: None,
    ended: Callable[[Comparison], None] = lambda comparison: None,
) -> Comparison:
    """Train and measure all models. One that fails is a :class:`Failure`; the others are trained.

    :param train: rows to train on; they alone decide how inputs and target are standardised.
    :param test: rows to measure on.
    :param settings: with no more inducing points, and no larger batches, than `train` has rows.
    :param progress: whether to show a progress bar.
    :param announce: called with the name of every model before it is trained.
    :param ended: called with all there is so far whenever a model has ended.
    """
    inputs, targets = Standardiser.fit(train.X), Standardiser.fit(train.Y)
    dtype = gpflow.default_float()
    X, Y = inputs.transform(train.X).astype(dtype), targets.transform(train.Y).astype(dtype)
    X_test = inputs.transform(test.X).astype(dtype)
    models = dict(_models(X, Y, settings))
    outcomes: list[Result | Failure] = []
    for name, build in models.items():
        announce(name)
        record = None
        try:
            model = build()
            with notes_not_warnings():
                record = _trained(model, X, Y, settings, progress)
            outcomes.append(_measured(name, model, record, (X, Y), X_test, test, targets, settings))
        except Exception as error:
            outcomes.append(_failure(name, error, record))
        left = tuple(models)[len(outcomes) :]
        comparison = Comparison(settings, train, test, targets, list(outcomes), left)
        ended(comparison)
    return comparison


def _trained(model: Any, X: Array, Y: Array, settings: Settings, progress: bool) -> FitRecord:
    return fit(
        model,
        (X, Y),
        steps=settings.steps,
        batch_size=None if settings.batch_size == len(X) else settings.batch_size,
        learning_rate=settings.learning_rate,
        kl_warmup=settings.kl_warmup,
        num_samples=settings.num_samples if _is_sampled(model) else None,
        progress=progress,
        seed=settings.seed,
    )


def _measured(
    name: str,
    model: Any,
    record: FitRecord,
    data: tuple[Array, Array],
    X_test: Array,
    test: Table,
    targets: Standardiser,
    settings: Settings,
) -> Result:
    num_samples = settings.num_test_samples if _is_sampled(model) else None
    elbo = estimate_elbo(model, data, num_samples, seed=settings.seed)
    components = predictive_components(model, X_test, num_samples, seed=settings.seed)
    if not all(np.isfinite(values).all() for values in components):
        raise ArithmeticError("predictions of held-out rows are not finite.")
    held_out = HeldOut(test.Y, *components, targets)
    lower, upper = held_out.interval(INTERVAL)
    return Result(
        name=name,
        record=record,
        elbo=elbo.value / len(data[0]),
        elbo_standard_error=elbo.standard_error / len(data[0]),
        log_density=held_out.log_density,
        crps=held_out.crps,
        rmse=held_out.rmse,
        coverage=metrics.coverage(test.Y[:, 0], lower, upper),
        mean=held_out.mean,
        lower=lower,
        upper=upper,
    )


def _failure(name: str, error: Exception, record: FitRecord | None) -> Failure:
    return Failure(
        name=name,
        kind=type(error).__name__,
        reason=" ".join(str(error).split()),
        traceback="".join(traceback.format_exception(error)),
        record=error.record if isinstance(error, NonFiniteError) else record,
    )


def _is_sampled(model: Any) -> bool:
    return not isinstance(model, gpflow.models.SVGP)


def _models(
    X: Array, Y: Array, settings: Settings
) -> Iterator[tuple[str, Callable[[], gpflow.models.BayesianModel]]]:
    """The models' names, and how to build them: that can fail too."""
    yield (
        "Sparse GP",
        partial(architectures.build_sparse_gp, X, Y, settings.num_inducing, seed=settings.seed),
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
                partial(
                    architectures.build_bnn,
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
            partial(
                architectures.build_deep_gp,
                X,
                Y,
                num_layers=settings.num_layers,
                inference=cast(Any, method),
                **shared,
            ),
        )
