"""Recovery of training from a bound or a gradient that is not finite.

Training goes back to the last good parameters. It adds jitter to this model's kernel matrices if
that makes the step finite, and otherwise halves the learning rate once. The change is a function of
the state in which the step failed, so runs repeat exactly.
"""

from __future__ import annotations

import warnings
from typing import Any

import tensorflow as tf

from ..core.jitter import LARGEST_JITTER, Jitter
from .guard import Snapshots, cause_of, give_up
from .learning_rate import halve, has_own_schedule, plain_number, restore_halved
from .record import FitRecord, Recovery, RecoveryWarning
from .steps import Outcome, TrainingSteps


class Recoveries:
    """The recoveries of one run.

    :param model: the model in training.
    :param steps: the run.
    :param snapshots: snapshots of its states.
    :param optimizer: its optimizer.
    :param is_scheduled: True if the run has its own schedule.
    :param num_samples: S of its bound; None for the model's own number.
    :param record: record to which recoveries are added.
    :param enabled: False for none: the first failure is an error.
    """

    def __init__(
        self,
        model: tf.Module,
        steps: TrainingSteps,
        snapshots: Snapshots,
        optimizer: Any,
        *,
        is_scheduled: bool,
        num_samples: int | None,
        record: FitRecord,
        enabled: bool,
    ) -> None:
        self._model = model
        self._steps = steps
        self._snapshots = snapshots
        self._optimizer = optimizer
        self._is_scheduled = is_scheduled
        self._num_samples = num_samples
        self._record = record
        self._enabled = enabled
        self._jitter = Jitter(model)
        # Recoveries before this run was resumed.
        if is_scheduled:
            for _ in range(self._num_halved):
                steps.scale_schedule(0.5)
        elif has_own_schedule(optimizer):
            restore_halved(optimizer, self._num_halved)

    def go_on(self, outcome: Outcome) -> None:
        """Make a change after which the failed step is finite.

        :param outcome: outcome of the call that failed.
        :raises NonFiniteError: if no change helps, or if recovery is not enabled. The model keeps
            the last good parameters.
        """
        rate = plain_number(self._optimizer.learning_rate)
        self._snapshots.keep_around(outcome.step)
        cause = cause_of(self._model, self._steps, outcome, self._num_samples)
        tried = ""
        if self._enabled:
            if self._raise_jitter(outcome.step, cause) or self._halve_rate(outcome.step, cause):
                return
            tried = self._tried()
        raise give_up(self._snapshots, outcome, cause, tried, rate, self._record)

    @property
    def _num_halved(self) -> int:
        return sum(one.learning_rate is not None for one in self._record.recoveries)

    def _raise_jitter(self, failed: int, cause: str) -> bool:
        before = self._jitter.get()
        while self._jitter.raise_tenfold():
            self._snapshots.go_to(failed)
            if self._steps.run(1).is_finite:
                self._note(Recovery(failed + 1, cause, jitter=self._jitter.value))
                # Earlier steps can be repeated only with the earlier jitter.
                self._snapshots.go_to(failed)
                self._snapshots.forget()
                return True
        self._jitter.set(before)
        return False

    def _halve_rate(self, failed: int, cause: str) -> bool:
        if self._num_halved or not self._snapshots.go_to(failed - 1):
            return False
        if self._is_scheduled:
            self._steps.scale_schedule(0.5)
        rate = halve(self._optimizer)
        if has_own_schedule(self._optimizer):
            self._steps.compile_anew()
        self._snapshots.forget()
        self._note(Recovery(failed + 1, cause, learning_rate=rate))
        return True

    def _note(self, recovery: Recovery) -> None:
        self._record.recoveries.append(recovery)
        warnings.warn(str(recovery), RecoveryWarning, stacklevel=7)

    def _tried(self) -> str:
        tried = []
        if self._jitter.value > 0.0:
            tried.append(f"a jitter of up to {LARGEST_JITTER:g}")
        if self._num_halved:
            tried.append("half the learning rate")
        return f"It was so with {' and with '.join(tried)} too. " if tried else ""


class EpochRecovery:
    """Recoveries of a run that can go back only to the start of an epoch.

    :param model: the model in training.
    :param optimizer: the optimizer, built.
    """

    def __init__(self, model: tf.Module, optimizer: Any) -> None:
        self._optimizer = optimizer
        self._jitter = Jitter(model)
        self._before = self._jitter.get()
        self.made: list[Recovery] = []
        """The changes so far."""

    def change(self, step: int, cause: str) -> bool:
        """Raise the jitter tenfold or, if that has not helped, halve the learning rate once.

        :param step: number of the step that failed, counting from 1.
        :param cause: the quantity that was not finite.
        :return: False, with nothing changed, if both were tried.
        """
        if any(one.learning_rate is not None for one in self.made):
            return False
        if self._jitter.raise_tenfold():
            made = Recovery(step, cause, jitter=self._jitter.value)
        else:
            self._jitter.set(self._before)
            made = Recovery(step, cause, learning_rate=halve(self._optimizer))
        self.made.append(made)
        warnings.warn(str(made), RecoveryWarning, stacklevel=3)
        return True
