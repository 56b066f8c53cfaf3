"""Training steps, many in one compiled call."""

import math
import re
from collections.abc import Callable, Hashable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from ..core.jitter import jitter_scales
from ..core.once import parameters_once, values_once
from ..core.random import fold_in
from ..objectives.elbo import Elbo, _OfTheBound
from ..objectives.objective import Objective
from ..objectives.weighted import WeightedBound
from .compiled_loop import CompiledLoop
from .learning_rate import Schedule
from .minibatches import Held, Minibatches
from .replicas import Part, Replicas

FAILED = -1
AUXILIARY = -1
"""The stream of a step's seed that the objective's auxiliary loss has."""

NON_FINITE = re.compile(r"\b(NaN|Inf|Cholesky decomposition was not successful)\b")
_NUMBERED = re.compile(r"^\(\d+\) \w+: +")
"""TensorFlow's prefix of an error if several devices have errors."""


@dataclass(frozen=True)
class Outcome:
    """The result of a call of :meth:`TrainingSteps.run`.

    :param step: number of steps done; without the last step if it was not finite.
    :param bound_is_finite: False if that step's bound was not finite.
    :param gradient_is_finite: False if its gradient was not.
    :param objective_terms: expected log likelihood and KL, as means over the steps of the call.
    :param bound_terms: the same or, if the objective's terms are not the ELBO's, the ELBO's for the
        unchanged rows of the last step, after it; NaN if the model has none.
    :param message: TensorFlow's message, if an operation raised an error.
    """

    step: int
    bound_is_finite: bool
    gradient_is_finite: bool
    objective_terms: tuple[float, float] = (math.nan, math.nan)
    bound_terms: tuple[float, float] = (math.nan, math.nan)
    message: str = ""

    @property
    def is_finite(self) -> bool:
        """True if all steps were taken."""
        return self.bound_is_finite and self.gradient_is_finite


class TrainingSteps:
    """The steps of one run.

    Step number t (counting from 0) is a function of the parameters, the optimizer's state, the seed
    and t alone. So the result depends neither on the division of steps into calls nor on the place
    where a run is resumed, and steps can be repeated exactly.

    :param model: a GPflow model.
    :param objective: objective of training.
    :param num_samples: S; None for the model's own number.
    :param variables: variables to train.
    :param optimizer: optimizer, built for `variables`.
    :param schedule: sets the optimizer's learning rate at each step; None keeps the rate.
    :param minibatches: the rows of each step.
    :param replicas: the replicas that share the rows.
    :param kl_warmup: length of the KL warm-up, in steps.
    :param jit_compile: True to compile with XLA.
    :param kind: the kind of compiled loop, see
        :func:`~gpflow_gi.training.compiled_loop.kind_of`.
    """

    def __init__(
        self,
        model: Any,
        objective: Objective,
        num_samples: int | None,
        variables: list[tf.Variable],
        optimizer: Any,
        schedule: Schedule | None,
        minibatches: Minibatches,
        replicas: Replicas,
        *,
        kl_warmup: int,
        jit_compile: bool,
        kind: Hashable | None = None,
    ) -> None:
        self._model = model
        self._objective = objective
        self._num_samples = num_samples
        self.variables = variables
        self._optimizer = optimizer
        self._schedule = schedule
        self._minibatches = minibatches
        self._replicas = replicas
        self._kl_warmup = kl_warmup
        of_the_bound = type(objective).terms is _OfTheBound.terms
        of_rows = of_the_bound or type(objective).terms is WeightedBound.terms
        self.has_elbo_terms = of_rows and objective.augment is None
        """True if the steps' terms are those of the ELBO, or of its form for weighted rows."""
        self._elbo = objective if of_the_bound else Elbo() if objective.shows_elbo else None
        self._held = minibatches.initially()
        # A variable, assigned in the graph together with the parameters, so that the two still
        # agree after an interrupt. FAILED after a step that was not finite.
        self.step = tf.Variable(0, dtype=tf.int64, trainable=False, name="step")
        self._rate_factor = tf.Variable(1.0, dtype=tf.float64, trainable=False, name="rate_factor")
        self._jit_compile = jit_compile
        self._kind = kind
        self._is_of_libraries = kind is not None
        self._compiled: Callable[..., Any] | None = None

    def compile(self) -> None:
        """Trace and compile, without taking a step."""
        changing = [
            *self._model.variables,
            *jitter_scales(self._model),
            *variables_of(self._objective),
            *self._optimizer.variables,
            self.step,
            self._rate_factor,
        ]
        for optimizer in (self._optimizer, self._objective.auxiliary_optimizer):
            rate = getattr(optimizer, "learning_rate", None)
            if isinstance(rate, tf.Variable):
                changing.append(rate)
        inputs = (
            self.step.read_value(),
            self._held,
            self._minibatches.specs,
            self._minibatches.seed,
        )
        self._compiled = CompiledLoop.of(
            self._kind, self._run, inputs, changing, jit_compile=self._jit_compile
        )
        self.run(0)

    def compile_anew(self) -> None:
        """Compile after a change of the optimizer that a compiled loop does not read."""
        self._kind = None
        self.compile()

    def run(self, num_steps: int) -> Outcome:
        """Take `num_steps` steps, or stop at the first whose bound or gradient is not finite.

        After such a stop the parameters are useless: they include that step.
        """
        assert self._compiled is not None, "compile comes first"
        start = int(self.step)
        self._held = self._minibatches.ready(start, start + num_steps, self._held)
        try:
            # The number of steps is a tensor: one trace serves every number.
            with tf.init_scope():  # which pauses the caller's gradient tapes
                step, finite, sums, bound_terms, self._held = self._compiled(
                    tf.constant(start + num_steps, tf.int64),
                    self._held,
                    self._minibatches.data,
                    self._minibatches.seed,
                )
        except tf.errors.InvalidArgumentError as error:
            # Some Cholesky kernels and tf.debugging raise errors where others return NaN.
            about = [line for line in error.message.splitlines() if NON_FINITE.search(line)]
            if not about:
                raise
            message = _NUMBERED.sub("", about[-1].strip())
            return Outcome(int(self.step), False, True, message=message)
        bound_is_finite, gradient_is_finite = finite.numpy()
        done = max(int(step) - start, 1)
        means = sums / done
        return Outcome(
            step=int(step),
            bound_is_finite=bool(bound_is_finite),
            gradient_is_finite=bool(gradient_is_finite),
            objective_terms=_pair(means),
            bound_terms=_pair(means if self.has_elbo_terms else bound_terms),
        )

    def scale_schedule(self, factor: float) -> None:
        """Multiply the schedule's rates from now on."""
        self._rate_factor.assign(self._rate_factor * factor)

    def parts_of(self, step: int) -> list[Part]:
        """The rows and the seed of a step, for each replica."""
        held = self._minibatches.ready(step, step + 1, self._minibatches.initially())
        parts, _ = self._parts(self._minibatches, tf.constant(step, tf.int64), held)
        return parts

    def evaluate(self, step: int) -> tuple[tf.Tensor, list[tf.Tensor | None], tf.Tensor]:
        """The result of a step with the present parameters: see :meth:`objective`."""
        loss, gradients, terms = self.objective(tf.constant(step, tf.int64), self.parts_of(step))
        return loss, [None if g is None else self._replicas.own(g) for g in gradients], terms

    def objective(
        self, step: tf.Tensor, parts: list[Part]
    ) -> tuple[tf.Tensor, list[Any | None], tf.Tensor]:
        """One step's loss [], its gradients (every replica has a copy), and the terms [2].

        The loss is -(expected log likelihood - KL weight * KL + log prior of the parameters); the
        terms are the objective's two.
        """

        def of_part(part: Part) -> list[tf.Tensor | None]:
            with tf.GradientTape(watch_accessed_variables=False) as tape, values_once():
                tape.watch(self.variables)
                expected_log_likelihood, kl = self._terms(self._objective, part)
                weight = tf.cast(self._objective.kl_weight(step, self._kl_warmup), kl.dtype)
                log_prior = tf.cast(self._model.log_prior_density(), kl.dtype)
                loss = part.of(-(expected_log_likelihood - weight * kl + log_prior))
            gradients = [
                None if gradient is None else tf.convert_to_tensor(gradient)
                for gradient in tape.gradient(loss, self.variables)
            ]
            terms = tf.stack([expected_log_likelihood, kl])
            return [loss, tf.cast(part.of(terms), tf.float64), *gradients]

        # A user's code may read parameters where one value for all reads has no gradient.
        with parameters_once(self._model) if self._is_of_libraries else nullcontext():
            loss, terms, *gradients = self._replicas.sum(of_part, parts)
        return self._replicas.own(loss), gradients, self._replicas.own(terms)

    def _terms(self, objective: Objective, part: Part) -> tuple[tf.Tensor, tf.Tensor]:
        return objective.terms(self._model, part.batch, self._num_samples, part.seed)

    def _parts(
        self, minibatches: Minibatches, step: tf.Tensor, held: Held
    ) -> tuple[list[Part], Held]:
        batch, held = minibatches.batch(step, held)
        if self._objective.augment is not None:
            X, *others = batch
            augmented = self._objective.augment(X, minibatches.streams.augmented_rows(step))
            batch = tf.ensure_shape(augmented, X.shape), *others
        return self._replicas.parts(batch, minibatches.streams.samples(step)), held

    def _elbo_terms(
        self, elbo: Objective, minibatches: Minibatches, step: tf.Tensor, held: Held
    ) -> tf.Tensor:
        """The ELBO's terms, [2], for the unchanged rows of a step, with the present parameters."""
        batch, _ = minibatches.batch(step, held)

        def of_part(part: Part) -> list[tf.Tensor]:
            return [tf.cast(part.of(tf.stack(self._terms(elbo, part))), tf.float64)]

        parts = self._replicas.parts(batch[:2], minibatches.streams.samples(step))
        return self._replicas.own(self._replicas.sum(of_part, parts)[0])

    def _update(self, gradients: list[tf.Tensor | None]) -> tf.Tensor:
        """Apply the gradients. Return True if they are finite, as a tensor []."""
        # A variable that does not affect the bound is not changed.
        pairs = [
            (gradient, variable)
            for gradient, variable in zip(gradients, self.variables, strict=True)
            if gradient is not None
        ]
        if not pairs:
            raise ValueError("The bound does not depend on any of the trainable variables.")
        # Applied even if not finite: a branch here would cost every step, while the rare
        # failure has to repeat steps from a snapshot anyway (see guard.py).
        with values_once():
            self._optimizer.apply_gradients(pairs, skip_gradients_aggregation=True)
        return tf.reduce_all(
            tf.stack([tf.reduce_all(tf.math.is_finite(gradient)) for gradient, _ in pairs])
        )

    def _auxiliary_step(self, parts: list[Part]) -> tf.Tensor:
        """Take a step of the objective's auxiliary variables. Return True if it is finite, []."""
        objective = self._objective
        variables = list(objective.auxiliary_variables)

        def of_part(part: Part) -> list[tf.Tensor]:
            with tf.GradientTape(watch_accessed_variables=False) as tape:
                tape.watch(variables)
                seed = fold_in(part.seed, AUXILIARY)
                loss = part.of(
                    objective.auxiliary_loss(self._model, part.batch, self._num_samples, seed)
                )
            return list(map(tf.convert_to_tensor, tape.gradient(loss, variables)))

        def update(gradients: list[tf.Tensor]) -> tf.Tensor:
            pairs = list(zip(gradients, variables, strict=True))
            objective.auxiliary_optimizer.apply_gradients(pairs, skip_gradients_aggregation=True)
            finite = [tf.reduce_all(tf.math.is_finite(gradient)) for gradient in gradients]
            return tf.reduce_all(tf.stack(finite))

        return self._replicas.each(update, self._replicas.sum(of_part, parts))

    def _run(
        self, stop: tf.Tensor, held: Held, data: tuple[tf.Tensor, ...], seed: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor | None, Held]:
        minibatches = self._minibatches.of(data, seed)

        def go_on(step: tf.Tensor, finite: tf.Tensor, sums: tf.Tensor, held: Held) -> tf.Tensor:
            return (step < stop) & tf.reduce_all(finite)

        def take_step(
            step: tf.Tensor, finite: tf.Tensor, sums: tf.Tensor, held: Held
        ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor, Held]:
            parts, held = self._parts(minibatches, step, held)
            loss, gradients, terms = self.objective(step, parts)
            if self._schedule is not None:
                rate = self._optimizer.learning_rate
                factor = tf.cast(self._rate_factor, rate.dtype)
                rate.assign(factor * tf.cast(self._schedule(step), rate.dtype))
            gradient_is_finite = self._replicas.each(self._update, gradients)
            if self._objective.auxiliary_variables:
                gradient_is_finite &= self._auxiliary_step(parts)
            finite = tf.stack([tf.math.is_finite(loss), gradient_is_finite])
            went_well = tf.reduce_all(finite)
            self.step.assign(tf.where(went_well, step + 1, FAILED))
            return tf.where(went_well, step + 1, step), finite, sums + terms, held

        step, finite, sums, held = tf.while_loop(
            go_on,
            take_step,
            (self.step.read_value(), tf.constant([True, True]), tf.zeros([2], tf.float64), held),
        )
        # One more pass in each call, and none in its steps.
        last = tf.maximum(step - 1, 0)
        if self.has_elbo_terms:
            bound_terms = None
        elif self._elbo is None:
            bound_terms = tf.fill([2], tf.constant(math.nan, tf.float64))
        else:
            bound_terms = self._elbo_terms(self._elbo, minibatches, last, held)
        return step, finite, sums, bound_terms, held


def variables_of(objective: Objective) -> list[tf.Variable]:
    """All variables of an objective that a step may change, its own optimizer's included."""
    own = objective.auxiliary_optimizer
    return [
        *objective.trainable_variables,
        *objective.auxiliary_variables,
        *([] if own is None else own.variables),
    ]


def _pair(values: tf.Tensor) -> tuple[float, float]:
    first, second = values.numpy()
    return float(first), float(second)
