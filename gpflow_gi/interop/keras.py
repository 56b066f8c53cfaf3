"""Models of this library as Keras models, for Keras' ``fit`` and its callbacks."""

from __future__ import annotations

from collections.abc import Mapping
from operator import is_
from typing import Any

import gpflow
import tensorflow as tf
from gpflow.keras import tf_keras

from ..core.random import Seed, as_seed, fold_in
from ..core.structure import Structure
from ..core.validation import positive_integer, shown
from ..models import NoDensityError, Predictive
from ..models.bounds import kl_of
from ..models.predictive import DEFAULT_PREDICTION_SAMPLES, check_predictive
from ..posteriors.optimal import optimal_of
from ..training import FitRecord, NonFiniteError
from ..training.guard import advice
from ..training.learning_rate import make_optimizer, plain_number
from ..training.minibatches import KeptRows, check_kept_rows, check_num_data
from ..training.recovery import EpochRecovery
from ..training.steps import NON_FINITE
from .keras_callbacks import EpochStart, History, check_callback
from .keras_files import WeightFiles
from .keras_rows import STREAMS, check_validation, checked


def as_keras_model(
    model: Predictive,
    *,
    num_samples: int | None = None,
    prediction_samples: int = DEFAULT_PREDICTION_SAMPLES,
    seed: Seed = 0,
) -> KerasDeepGP:
    """A Keras model around `model`, which is trained in place.

    :param model: a :class:`~gpflow_gi.models.Predictive`.
    :param num_samples: S, for the bound; None for the model's own number.
    :param prediction_samples: S, for predictions.
    :param seed: seed of the samples. Keras shuffles the rows itself, with the seed set by
        ``tf_keras.utils.set_random_seed``.
    :return: a model of GPflow's Keras, ``gpflow.keras.tf_keras``.
    :raises TypeError: if `model` is not one of these.
    :raises ValueError: if a number of samples is not positive, if `seed` is not a seed, or inside
        the scope of a strategy with several replicas.
    """
    check_predictive(model)
    if tf.distribute.get_strategy().num_replicas_in_sync > 1:
        raise ValueError(
            "The Keras model is trained on one device. On several, train the model itself with "
            "gpflow_gi.fit(model, data, strategy=...)."
        )
    S = model.num_samples if num_samples is None else positive_integer("num_samples", num_samples)
    prediction_samples = positive_integer("prediction_samples", prediction_samples)
    return KerasDeepGP(model, S, prediction_samples, as_seed(seed))


class KerasDeepGP(WeightFiles):
    """The class of :func:`as_keras_model`'s result; ``deep_gp`` is the model inside.

    Training minimises the negative bound per row, reported as "loss": for a batch of B of the N
    rows::

        - 1/B sum_n E log p(y_n | f_n) + 1/N sum_l KL(q(z_l) || p(z_l)),

    minus the log prior density of the parameters divided by N, if parameters have priors. Its two
    terms per row, "expected_log_likelihood" and "kl", are reported too; all are in nats. The
    numbers of an epoch are means over its rows: a last batch of fewer rows has less weight.

    The numbers of the validation data ("val_loss" and so on) are the same formula at its rows, with
    the same samples after every epoch. "val_expected_log_likelihood" does not contain the KL
    divergence, which does not depend on those rows.

    A step is a function of the batch, the parameters, the seed and the optimizer's number of
    iterations. It draws the same samples as :func:`gpflow_gi.fit` at its step of that number.
    """

    def __init__(
        self, model: Predictive, num_samples: int, prediction_samples: int, seed: tf.Tensor
    ) -> None:
        """Wrap a model; use :func:`as_keras_model` instead.

        :param model: the model to train, in place.
        :param num_samples: S, for the bound.
        :param prediction_samples: S, for predictions.
        :param seed: [2].
        """
        dtype = gpflow.default_float().__name__
        super().__init__(name="deep_gp", dtype=dtype)
        self.deep_gp = model
        self._num_samples = num_samples
        self._prediction_samples = prediction_samples
        self._sample_seed = seed
        means = [tf_keras.metrics.Mean(name, dtype) for name in _REPORTED]
        # Set without Keras, which would count the variables of the means among the model's weights.
        object.__setattr__(self, "_means", means)
        self._traced = _Traced(model)
        self.built = True

    # ---------------------------------------------------------------------------------- training

    def compile(
        self,
        optimizer: Any,
        loss: Any = None,
        *,
        run_eagerly: bool | None = None,
        steps_per_execution: int | None = None,
        **refused: Any,
    ) -> None:
        """Set the optimizer.

        :param optimizer: from ``gpflow.keras.tf_keras.optimizers``, or the name of one.
        :param loss: must be omitted: the model has its own loss.
        :param run_eagerly: as Keras' argument.
        :param steps_per_execution: as Keras' argument.
        :raises TypeError: if `optimizer` is not from there.
        :raises ValueError: if `optimizer` is not the name of one, if another argument is given, or
            if the optimizer was used for another model before.
        """
        given = [name for name, value in {"loss": loss, **refused}.items() if value is not None]
        if given:
            raise ValueError(
                f"compile takes an optimizer, run_eagerly and steps_per_execution alone, but got "
                f"{given[0]}: the loss is the model's negative bound per row."
            )
        if optimizer is None:
            raise TypeError("optimizer must be one of gpflow.keras.tf_keras.optimizers, not None.")
        if isinstance(optimizer, str):
            try:
                optimizer = tf_keras.optimizers.get(optimizer)
            except ValueError:
                raise ValueError(
                    f"optimizer must be the name of one of Keras, but is {shown(optimizer)}."
                ) from None
        # Built now, so that load_weights finds the optimizer's state.
        make_optimizer(optimizer, None, list(self.deep_gp.trainable_variables))
        super().compile(optimizer, run_eagerly=run_eagerly, steps_per_execution=steps_per_execution)

    def fit(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: int | None = None,
        epochs: int = 1,
        verbose: Any = "auto",
        callbacks: Any = None,
        validation_split: float = 0.0,
        validation_data: Any = None,
        *,
        recover: bool = True,
        **options: Any,
    ) -> tf_keras.callbacks.History:
        """Train, as Keras' ``fit`` does.

        :param x: X [N, D], all rows that the model was built for (its num_data); or
            ``{"inputs": X, "targets": Y}``; or a ``tf.data.Dataset`` or Keras ``Sequence`` of
            batches of that form or of pairs of X and Y. For a model with free latent variables of
            rows, the targets of such batches have the row's index as a last column, as
            ``model.numbered(Y)`` adds it.
        :param y: Y [N, Q], if `x` is X alone.
        :param batch_size: B; Keras' default is 32.
        :param epochs: as Keras' argument.
        :param verbose: as Keras' argument.
        :param callbacks: as Keras' argument; callbacks that save whole models, or draw histograms
            of Keras layers, are refused.
        :param validation_split: as Keras' argument: the share of the rows, the last ones, that are
            not for training. The others must be as many as the model was built for.
        :param validation_data: X and Y as a pair, or in the form of `x`.
        :param recover: as in :func:`gpflow_gi.fit`, but training goes back to the start of the
            epoch: Keras cannot start within one. Callbacks see the start of the epoch again.
        :param options: Keras' other arguments. Weights of rows and classes are refused.
        :return: Keras' history; its ``recoveries`` list the changes made by `recover`.
        :raises RuntimeError: if the model was not compiled.
        :raises ValueError: if the data do not fit the model, or if a callback needs something that
            this model cannot do.
        :raises NoDensityError: if the posterior has no density.
        :raises NonFiniteError: if the bound or a gradient is NaN or infinite, and `recover` is
            False or did not help. The model is then in its state from the start of that epoch.
        :warns RecoveryWarning: for every change that `recover` makes.
        """
        self._refuse_weights(options)
        self._assert_compile_was_called()
        self._refuse_without_density()
        callbacks = tf.nest.flatten(callbacks) if callbacks is not None else []
        for callback in callbacks:
            check_callback(callback)
        if validation_split:
            check_validation(self.deep_gp)
        data = checked(self.deep_gp, x, y)
        if isinstance(data, dict):
            num_rows = len(data["inputs"])
            training_rows = int(num_rows * (1 - validation_split))
            check_num_data(self.deep_gp, training_rows, in_parts=True)
            check_kept_rows(self.deep_gp, *(part[:training_rows] for part in data.values()))
        elif optimal_of(self.deep_gp) is not None:
            first = next(iter(data)) if isinstance(data, tf.data.Dataset) else data[0]
            KeptRows(self.deep_gp).check(*_pair(first))
        if validation_data is not None:
            is_pair = isinstance(validation_data, list | tuple) and len(validation_data) == 2
            check_validation(self.deep_gp)
            pair = validation_data if is_pair else [validation_data]
            validation_data = checked(self.deep_gp, *pair)
        variables = list(self.deep_gp.trainable_variables)
        make_optimizer(self.optimizer, None, variables)
        self._forget_traces_of_others()
        start = EpochStart([*self.deep_gp.variables, *self.optimizer.variables])
        recovery = EpochRecovery(self.deep_gp, self.optimizer)
        history = History()
        first_epoch = options.pop("initial_epoch", 0)
        while True:
            try:
                super().fit(
                    data,
                    None,
                    batch_size,
                    epochs,
                    verbose,
                    [*callbacks, start, history],
                    validation_split,
                    validation_data,
                    initial_epoch=first_epoch,
                    **options,
                )
            except tf.errors.InvalidArgumentError as error:
                if not NON_FINITE.search(error.message):
                    raise
                step, cause = int(self.optimizer.iterations) + 1, self._cause(data)
                start.go_back()
                if not (recover and recovery.change(step, cause)):
                    raise self._error(step, cause, start.epoch) from None
                self.train_function = None  # it may hold the optimizer's schedule
                first_epoch = start.epoch - 1
            else:
                history.recoveries = recovery.made
                return history

    @tf.autograph.experimental.do_not_convert
    def train_step(self, data: Any) -> dict[str, tf.Tensor]:
        """Keras' hook: one step on a batch.

        :param data: Keras' form of the data of :meth:`fit`.
        :return: the means so far, [], by name, in nats.
        :raises ValueError: if the bound does not depend on any trained variable.
        """
        batch = _pair(data)
        variables = list(self.deep_gp.trainable_variables)
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(variables)
            terms = self._terms(batch, self._step_seed())
        gradients = tape.gradient(terms[0], variables)
        pairs = [pair for pair in zip(gradients, variables, strict=True) if pair[0] is not None]
        if not pairs:
            raise ValueError("The bound does not depend on any of the trainable variables.")
        values = [terms[0], *(gradient for gradient, _ in pairs)]
        finite = tf.stack([tf.reduce_all(tf.math.is_finite(value)) for value in values])
        assertion = tf.debugging.Assert(tf.reduce_all(finite), ["The bound or a gradient is NaN"])
        with tf.control_dependencies([] if assertion is None else [assertion]):
            pairs = [(tf.identity(gradient), variable) for gradient, variable in pairs]
        self.optimizer.apply_gradients(pairs)
        return self._update_means(terms, batch)

    # -------------------------------------------------------------------------------- evaluation

    def evaluate(
        self, x: Any = None, y: Any = None, batch_size: int | None = None, **options: Any
    ) -> Any:
        """Compute the loss and its terms, as Keras' ``evaluate`` does.

        :param x: as in :meth:`fit`, with any number of rows.
        :param y: as in :meth:`fit`.
        :param batch_size: B; Keras' default is 32.
        :param options: Keras' other arguments.
        :return: as Keras': the loss and its two terms per row, in nats.
        :raises RuntimeError: if the model was not compiled.
        :raises ValueError: if the data do not fit the model.
        :raises NoDensityError: if the posterior has no density.
        """
        self._refuse_weights(options)
        self._refuse_without_density()
        self._forget_traces_of_others()
        return super().evaluate(checked(self.deep_gp, x, y), None, batch_size, **options)

    @tf.autograph.experimental.do_not_convert
    def test_step(self, data: Any) -> dict[str, tf.Tensor]:
        """Keras' hook: the loss of a batch.

        :param data: Keras' form of the data of :meth:`evaluate`.
        :return: the means so far, [], by name, in nats.
        """
        batch = _pair(data)
        # Training folds 0, 1, 2, ... into the seed.
        seed = fold_in(fold_in(self._sample_seed, -1), self._test_counter)
        return self._update_means(self._terms(batch, seed), batch)

    @property
    def metrics(self) -> list[Any]:
        """The means that Keras reports and resets at every epoch."""
        return self._means

    def predict(self, x: Any, batch_size: int | None = None, **options: Any) -> Any:
        """Compute mean and variance of new targets with the model's ``predict_y``.

        :param x: X [N, D], or images [N, H, W, C], or a ``tf.data.Dataset`` or Keras ``Sequence``
            of batches of it.
        :param batch_size: None for all rows at once, in bounded memory. With batches, the noise of
            a row depends on its position in its batch.
        :param options: Keras' other arguments.
        :return: two arrays [N, Q], in the units of the targets and their square; the same in every
            call.
        :raises ValueError: if `x` does not fit the model, is not finite or has no rows.
        """
        if not isinstance(x, STREAMS):
            x = self.deep_gp.check_inputs(x)  # Keras would round arrays to float32
            if len(x) == 0:
                raise ValueError("x must have at least one row for Keras, but has none.")
            batch_size = batch_size or len(x)
        self._forget_traces_of_others()
        return super().predict(x, batch_size, **options)

    @tf.autograph.experimental.do_not_convert
    def call(self, inputs: Any, training: Any = None) -> tuple[tf.Tensor, tf.Tensor]:
        """Mean and variance of new targets; the same in training.

        :param inputs: X [N, D], or images [N, H, W, C].
        :param training: has no effect.
        :return: two of [N, Q], in the units of the targets and their square.
        """
        mean, variance = self.deep_gp.predict_y(
            inputs, self._prediction_samples, seed=fold_in(self._sample_seed, -2)
        )
        return mean, variance

    # ------------------------------------------------------------------------------------ inside

    def _forget_traces_of_others(self) -> None:
        """Let Keras trace its functions anew, if the model is not the one that they are of."""
        if not self._traced.is_of(self.deep_gp):
            self._traced = _Traced(self.deep_gp)
            self.train_function = self.test_function = self.predict_function = None

    def _refuse_weights(self, options: Mapping[str, Any]) -> None:
        for name in ("sample_weight", "class_weight"):
            if options.get(name) is not None:
                raise ValueError(f"The bound has no {name}: every row counts once. Leave it out.")

    def _refuse_without_density(self) -> None:
        """Raise the error of the bound now: of one raised while it traces, Keras makes its own."""
        if kl_of(self.deep_gp.draw(1, self._sample_seed)) is None:
            raise NoDensityError(self.deep_gp.why_no_density())

    def _step_seed(self) -> tf.Tensor:
        return fold_in(self._sample_seed, self.optimizer.iterations)

    def _terms(self, batch: tuple[tf.Tensor, tf.Tensor], seed: tf.Tensor) -> tuple[tf.Tensor, ...]:
        """The loss and the bound's two terms, per row: three of []."""
        terms = self.deep_gp.bound_terms(batch, self._num_samples, seed)
        log_prior = tf.cast(self.deep_gp.log_prior_density(), terms[0].dtype)
        N = float(self.deep_gp.num_data)
        expected_log_likelihood, kl = terms[0] / N, terms[1] / N
        return kl - expected_log_likelihood - log_prior / N, expected_log_likelihood, kl

    def _update_means(
        self, values: tuple[tf.Tensor, ...], batch: tuple[tf.Tensor, tf.Tensor]
    ) -> dict[str, tf.Tensor]:
        for mean, value in zip(self._means, values, strict=True):
            mean.update_state(value, sample_weight=tf.shape(batch[0])[0])
        return {mean.name: mean.result() for mean in self._means}

    def _cause(self, data: Any) -> str:
        """The name of the part that is not finite with the present parameters."""
        found = None
        if isinstance(data, dict) and hasattr(self.deep_gp, "first_non_finite"):
            batch = data["inputs"], data["targets"]
            found = self.deep_gp.first_non_finite(batch, self._num_samples, self._step_seed())
        return found or "the bound or a gradient"

    def _error(self, step: int, cause: str, epoch: int) -> NonFiniteError:
        return NonFiniteError(
            f"The bound or a gradient is not finite at step {step}, in epoch {epoch}: {cause} is "
            "NaN or infinite. The model is what it was when that epoch began. Things to try: "
            f"{advice(plain_number(self.optimizer.learning_rate))}.",
            step,
            FitRecord(),
        )


def _pair(data: Any) -> tuple[tf.Tensor, tf.Tensor]:
    """X and Y from the data that Keras passes to a step."""
    x, y, _ = tf_keras.utils.unpack_x_y_sample_weight(data)
    return (x["inputs"], x["targets"]) if y is None else (x, y)


_REPORTED = ("loss", "expected_log_likelihood", "kl")


class _Traced:
    """Everything in a model that a traced function keeps, beside the values of variables."""

    def __init__(self, model: Predictive) -> None:
        self._structure = Structure(model)
        self._others = self._others_of(model)

    def is_of(self, model: Predictive) -> bool:
        """True if functions that were traced then are those of this model now."""
        others = self._others_of(model)
        same = len(others) == len(self._others) and all(map(is_, others, self._others))
        return same and self._structure.is_unchanged()

    def _others_of(self, model: Predictive) -> list[Any]:
        """Parts that :class:`Structure` does not look at."""
        parts: list[Any] = [model, gpflow.config.config(), *model.trainable_variables]
        for parameter in model.parameters:
            parts += [parameter.prior, parameter.prior_on]
        return parts
