"""One run of training: a model, its data, and the calls of the training loop."""

import time
from collections.abc import Hashable
from typing import Any

import tensorflow as tf

from ..core.callables import name_of
from ..core.random import as_seed
from ..core.validation import check_data
from ..models.latent_rows import has_free_latents
from ..models.targets import check_targets, takes_any_number
from ..objectives import AugmentedBound, Elbo, TemperedBound
from ..objectives.augmented import check_augment
from ..posteriors.optimal import optimal_of
from . import dataset
from .checkpoints import Checkpoints, describe_data, describe_parameters
from .compiled_loop import kind_of
from .convergence import shortcoming_of
from .description import describe_function, describe_model
from .guard import Snapshots
from .learning_rate import Schedule, describe_optimizer, make_optimizer, plain_number
from .minibatches import Minibatches, check_kept_rows, check_num_data
from .narrow_rows import NarrowRows
from .pace import Pace
from .progress import Progress
from .record import FitRecord, Report, Stop
from .recovery import Recoveries
from .replicas import Replicas
from .settings import Settings
from .steps import Outcome, TrainingSteps, variables_of


class Run:
    """A run that is ready for its next step: the first, or the one after the latest checkpoint.

    :param model: the model, trained in place.
    :param data: X and Y, or a dataset of batches, as given by the caller.
    :param settings: settings, already checked.
    :raises TypeError: if model, data, optimizer or strategy are of the wrong type.
    :raises ValueError: if settings, model and data do not fit together, or if the folder of
        checkpoints holds another run.
    """

    def __init__(self, model: Any, data: Any, settings: Settings) -> None:
        self._settings = settings
        self._objective = objective = settings.objective
        self._replicas = replicas = Replicas(settings.strategy)
        objective.check(model, settings.num_samples)
        seed = as_seed(settings.seed)
        batch_size = settings.batch_size
        minibatches: Minibatches
        is_dataset = isinstance(data, tf.data.Dataset)
        narrow = data if isinstance(data, NarrowRows) else None
        if is_dataset:
            dataset.check_settings(model, settings)
            minibatches = dataset.DatasetBatches(data, model, seed)
            data, num_rows = minibatches.first, int(model.num_data)
        else:
            missing = getattr(model, "missing", None) == "ignore"
            data = check_data(data, missing=missing) if narrow is None else narrow.tensors
            num_rows = int(data[0].shape[0])
            if batch_size is not None and batch_size >= num_rows:
                batch_size = None
            replicas.check_settings(batch_size or num_rows, settings)
            check_num_data(model, num_rows, batch_size is not None or replicas.num > 1)
            if narrow is None:
                data = self._rows(model, *data)
                check_kept_rows(model, *data[:2])
            else:
                _check_narrow(narrow, model, objective)
            minibatches = Minibatches(
                data,
                batch_size,
                seed,
                settings.jit_compile,
                replicas.num,
                None if narrow is None else narrow.converted,
            )
        self._num_rows = num_rows
        if objective.augment is not None:
            check_augment(objective.augment, data[0][:batch_size])

        replicas.check_variables("model", model.variables)
        if objective.needs_box:
            objective.box = _box(objective, model, narrow or data[0], is_dataset)
        with replicas.scope():
            objective.build(model, data if narrow is None else narrow.first)
            if objective.auxiliary_optimizer is not None:
                objective.auxiliary_optimizer.build(list(objective.auxiliary_variables))
        replicas.check_variables("objective", variables_of(objective))
        variables = [*model.trainable_variables, *objective.trainable_variables]
        if not variables:
            raise ValueError("The model has no trainable parameters.")
        with replicas.scope():
            self._optimizer, schedule = make_optimizer(
                settings.optimizer, settings.learning_rate, variables, settings.steps
            )
        replicas.check_variables("optimizer", self._optimizer.variables)
        self._steps = TrainingSteps(
            model,
            objective,
            settings.num_samples,
            variables,
            self._optimizer,
            schedule,
            minibatches,
            replicas,
            kl_warmup=settings.kl_warmup,
            jit_compile=settings.jit_compile,
            kind=self._kind(model, minibatches, batch_size, schedule, variables, narrow),
        )
        S = settings.num_samples
        described = {
            "seed": seed.numpy().tolist(),
            "batch_size": len(data[0]) if is_dataset else batch_size,
            "num_samples": getattr(model, "num_samples", None) if S is None else S,
            "kl_warmup": settings.kl_warmup,
            "temperature": objective.temperature,
            "augment": None if objective.augment is None else name_of(objective.augment),
            "replicas": replicas.num,
            **describe_optimizer(self._optimizer, settings.learning_rate),
        }
        if type(objective) not in (Elbo, TemperedBound, AugmentedBound):
            described["objective"] = f"{type(objective).__module__}.{type(objective).__qualname__}"
        if getattr(objective, "divide_rows", False):
            described["divide_rows"] = True
        self.record = FitRecord(described)
        self._checkpoints = None
        if settings.checkpoint_dir is not None:
            described.update(describe_parameters(model), **describe_data(data[:2]))
            if narrow is not None:
                described["the standardisation's checksum"] = narrow.checksum()
            self._checkpoints = self._open_checkpoints(model, described)
            self.record = self._checkpoints.restore() or self.record
        if self.step > settings.steps:
            raise ValueError(
                f"checkpoint_dir {str(settings.checkpoint_dir)!r} holds a run of {self.step} steps "
                f"already, more than steps={settings.steps}."
            )
        self._seconds = self.record.seconds
        rule = settings.until_converged
        window = None if rule is None else rule.window
        self._pace = Pace(settings.steps, window, minibatches.most_steps)
        changing = [*model.variables, *variables_of(objective), *self._optimizer.variables]
        self._snapshots = Snapshots(self._steps, changing)
        self._recoveries = Recoveries(
            model,
            self._steps,
            self._snapshots,
            self._optimizer,
            is_scheduled=schedule is not None,
            num_samples=settings.num_samples,
            record=self.record,
            enabled=settings.recover,
        )

    def _rows(self, model: Any, X: tf.Tensor, Y: tf.Tensor) -> tuple[tf.Tensor, ...]:
        """X and Y as the model has them, and the weights of the rows if the objective has any."""
        if hasattr(model, "check_data"):
            Y = model.check_data((X, Y))[1]  # images stay images here, for `augment`
        if hasattr(model, "numbered"):
            Y = model.numbered(Y)
        weights = self._objective.weights
        if weights is None:
            return X, Y
        if weights.shape[0] != X.shape[0]:
            raise ValueError(
                f"The objective has weights of {weights.shape[0]} rows, but the data has "
                f"{X.shape[0]}."
            )
        return X, Y, weights

    def _kind(
        self,
        model: Any,
        minibatches: Minibatches,
        batch_size: int | None,
        schedule: Schedule | None,
        variables: list[tf.Variable],
        narrow: NarrowRows | None,
    ) -> Hashable | None:
        """The kind of compiled loop: see :func:`~gpflow_gi.training.compiled_loop.kind_of`."""
        settings = self._settings
        if settings.strategy is not None:
            return None
        parts = {
            "rows": [[spec.shape.as_list(), spec.dtype] for spec in minibatches.specs],
            "batch_size": batch_size,
            "num_samples": settings.num_samples,
            "kl_warmup": settings.kl_warmup,
            "jit_compile": settings.jit_compile,
            "objective": self._objective,
            "schedule": schedule,
            "scales": None if narrow is None else narrow.scales,
        }
        return kind_of(model, parts, self._optimizer, variables)

    @property
    def step(self) -> int:
        """Number of steps done."""
        return int(self._steps.step)

    @property
    def is_done(self) -> bool:
        """True after the last step, or where training has converged and that was to end it."""
        return self.step == self._settings.steps or self._has_converged()

    def train(self) -> None:
        """Take the missing steps.

        :raises NonFiniteError: if one is not finite and no recovery helps.
        :raises OSError: if a checkpoint cannot be written.
        :raises KeyboardInterrupt: if interrupted; the last complete step is saved.
        """
        settings = self._settings
        self.record.stopped = None
        with Progress(settings.steps, self.step, self._num_rows, settings.progress) as bar:
            try:
                started = time.perf_counter()
                self._steps.compile()
                self.record.compile_seconds += time.perf_counter() - started
                bar.compiled(self._seconds)
                while self.step < settings.steps and self.record.stopped is None:
                    report = self._next_report()
                    if report is None:
                        continue
                    bar.report(report)
                    if self._checkpoints is not None:
                        self._checkpoints.save_if_due(self.record)
                    if self._has_converged():
                        self.record.stopped = "converged"
                    self._call_back(report)
            except KeyboardInterrupt:
                self._snapshots.undo_failure()
                if self._settings.until_converged is not None:
                    # Its rule depends on the record, which has no report of the steps since.
                    self._snapshots.go_to(self.record.step)
                self._save()
                raise
        # A value that is estimated by a network in training moves with that network too.
        if not self._objective.auxiliary_variables:
            self.record.shortcoming = shortcoming_of(self.record, self._num_rows)
        self._save()

    def finish(self) -> None:
        """Take the averages of the parameters, where the optimizer keeps them (use_ema).

        A checkpoint has the parameters themselves, with which training goes on.
        """
        self._optimizer.finalize_variable_values(self._steps.variables)

    def _has_converged(self) -> bool:
        rule = self._settings.until_converged
        if rule is None or not self.record.reports:
            return False
        return rule.is_met(self.record, self._settings.kl_warmup, self._num_rows)

    def _call_back(self, report: Report) -> None:
        for callback in self._settings.callbacks:
            try:
                if callback(report) is True:
                    raise Stop
            except Stop:
                self.record.stopped = self.record.stopped or "callback"

    def _next_report(self) -> Report | None:
        """Take some steps. None if one was not finite and training recovered from it."""
        self._snapshots.take()
        num_steps = self._pace.next(self.step)
        started = time.perf_counter()
        outcome = self._steps.run(num_steps)
        elapsed = self._replicas.agree(time.perf_counter() - started)
        self._seconds += elapsed
        if not outcome.is_finite:
            self._recoveries.go_on(outcome)
            return None
        self._pace.measured(num_steps, elapsed)
        report = self._report(outcome)
        self.record.reports.append(report)
        return report

    def _report(self, outcome: Outcome) -> Report:
        weight = float(self._objective.kl_weight(outcome.step - 1, self._settings.kl_warmup))
        first, second = outcome.objective_terms
        expected_log_likelihood, kl = outcome.bound_terms
        return Report(
            step=outcome.step,
            seconds=self._seconds,
            expected_log_likelihood=expected_log_likelihood,
            kl=kl,
            kl_weight=weight,
            temperature=self._objective.temperature,
            value=None if self._steps.has_elbo_terms else first - weight * second,
            name=self._objective.name,
            learning_rate=plain_number(self._optimizer.learning_rate),
        )

    def _open_checkpoints(self, model: Any, described: dict[str, Any]) -> Checkpoints:
        settings, objective = self._settings, self._objective
        description = describe_model(model)
        functions = {"learning_rate": settings.learning_rate, "augment": objective.augment}
        for name, function in functions.items():
            if callable(function):
                description.update(describe_function(name, function))
        if "objective" in described:
            description.update(describe_function("objective", objective))
        parts = {"model": model, "optimizer": self._optimizer, "step": self._steps.step}
        for i, variable in enumerate(objective.trainable_variables):
            parts[f"objective/{i}"] = variable
        for i, variable in enumerate(objective.auxiliary_variables):
            parts[f"objective/auxiliary/{i}"] = variable
        if objective.auxiliary_optimizer is not None:
            parts["objective/optimizer"] = objective.auxiliary_optimizer
        assert settings.checkpoint_dir is not None
        return Checkpoints(settings.checkpoint_dir, parts, described, description)

    def _save(self) -> None:
        if self._checkpoints is not None:
            self._checkpoints.save(self.record)


def _box(
    objective: Any, model: Any, rows: tf.Tensor | NarrowRows, is_batch: bool
) -> tuple[Any, Any]:
    """The least and the largest training input in each column, two of [D].

    :raises ValueError: if there is only a batch of them.
    """
    if is_batch:
        raise ValueError(
            f"{type(objective).__name__} needs the least and the largest training input in each "
            "column, which batches of a dataset do not show: give it box=(least, most)."
        )
    if isinstance(rows, NarrowRows):
        return rows.box
    X = model.check_inputs(rows)
    return tf.reduce_min(X, axis=0).numpy(), tf.reduce_max(X, axis=0).numpy()


def _check_narrow(rows: NarrowRows, model: Any, objective: Any) -> None:
    """Check that a model takes such rows, by the first of them.

    :raises ValueError: if it does not, if it holds other rows, if the rows would be augmented, if
        labels or counts are standardised, or if rows have weights or free latent variables, which
        are found by the place of a row in the data.
    """
    if objective.weights is not None or has_free_latents(model):
        raise ValueError(
            "NarrowRows has neither weights of rows nor latent variables with free posteriors: "
            "give X and Y as arrays."
        )
    likelihood = getattr(model, "likelihood", None)  # a user's own model may have none
    if likelihood is not None and not takes_any_number(likelihood):
        if rows.standardise_targets:
            raise ValueError(
                f"A {type(likelihood).__name__} likelihood takes targets as they are: give "
                "NarrowRows(X, Y, standardise_targets=False)."
            )
        if hasattr(model, "check_data"):
            for Y in rows.blocks_of_targets():
                check_targets(likelihood, Y, model.output_dim)
    if hasattr(model, "check_data"):
        model.check_data(rows.converted(*(part[:1] for part in rows.tensors)))
    if optimal_of(model) is not None:
        check_kept_rows(model, *rows.converted(*rows.tensors))
    if objective.augment is not None:
        raise ValueError("augment is for images, which NarrowRows does not hold.")
