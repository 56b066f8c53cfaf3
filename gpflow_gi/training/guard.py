"""Snapshots and errors for a bound or a gradient that is not finite."""

from collections import deque
from typing import Any

import gpflow
import numpy as np
import tensorflow as tf

from .record import FitRecord
from .steps import FAILED, Outcome, TrainingSteps


class NonFiniteError(ArithmeticError):
    """Error: a bound or a gradient is NaN or infinite in training.

    The model has the last good parameters: those with which the last finite bound was computed.

    :param message: the quantity that is not finite, its place, and remedies.
    :param step: number of the step that failed, counting from 1.
    :param record: the record up to the last report.
    """

    def __init__(self, message: str, step: int, record: FitRecord) -> None:
        super().__init__(message)
        self.step = step
        self.record = record


class Snapshots:
    """The variables at the start of the last two calls.

    Two, since the parameters needed are those *before* the step that produced the failing ones,
    and that step may be in the previous call. Repeating steps, which is exact, gives every state in
    between. A snapshot costs almost nothing until training changes the variables.

    :param steps: the run.
    :param variables: all variables that a step may change.
    """

    def __init__(self, steps: TrainingSteps, variables: list[tf.Variable]) -> None:
        self._steps = steps
        self._variables = variables
        self._taken: deque[tuple[int, list[tf.Tensor]]] = deque(maxlen=2)

    def take(self) -> None:
        """Record the present state."""
        values = [variable.read_value() for variable in self._variables]
        self._taken.append((int(self._steps.step), values))

    def go_to(self, step: int) -> bool:
        """Restore the state after `step` steps. False, with nothing changed, if it is too old."""
        for taken_at, values in reversed(self._taken):
            if taken_at <= step:
                for variable, value in zip(self._variables, values, strict=True):
                    variable.assign(value)
                self._steps.step.assign(taken_at)
                if step > taken_at:
                    self._steps.run(step - taken_at)
                return True
        return False

    def keep_around(self, step: int) -> None:
        """Go to the state after `step` steps; keep its snapshot and the one before it only.

        Earlier steps need not be repeated any more.
        """
        if self.go_to(step - 1):
            self.forget()
            self.take()
            self._steps.run(1)
        else:
            self.go_to(step)
            self.forget()
        self.take()

    def forget(self) -> None:
        """Drop all snapshots."""
        self._taken.clear()

    def undo_failure(self) -> None:
        """Go back to the last snapshot if a step failed unnoticed because of an interrupt."""
        if int(self._steps.step) == FAILED:
            self.go_to(self._taken[-1][0])


def cause_of(model: Any, steps: TrainingSteps, outcome: Outcome, num_samples: int | None) -> str:
    """Find the quantity that is not finite, with the model in the state before the failed step.

    :param outcome: outcome of the call that failed.
    """
    if outcome.bound_is_finite:
        return f"the gradient of {_non_finite_gradient(model, steps, outcome.step)}"
    try:
        return _non_finite_quantity(model, steps, outcome.step, num_samples)
    except tf.errors.InvalidArgumentError:
        return f"{outcome.message!r}, that is, something"


def give_up(
    snapshots: Snapshots,
    outcome: Outcome,
    cause: str,
    tried: str,
    learning_rate: float,
    record: FitRecord,
) -> NonFiniteError:
    """Restore the last good parameters, and raise the error.

    :param outcome: outcome of the call that failed.
    :param cause: the quantity that was not finite.
    :param tried: a sentence on the recoveries that did not help, or "".
    """
    failed = outcome.step
    good = failed if outcome.bound_is_finite else failed - 1
    if failed == 0:
        snapshots.go_to(failed)
        kept = "These are the parameters that training started from"
    elif snapshots.go_to(good):
        kept = f"The model keeps the parameters that it had after {good} steps, the last good ones"
    else:
        snapshots.go_to(failed)
        kept = f"The model keeps the parameters that training resumed from, after {failed} steps"

    quantity = "gradient" if outcome.bound_is_finite else "bound"
    message = (
        f"The {quantity} is not finite at step {failed + 1}: {cause} is NaN or infinite. "
        f"{tried}{kept}. Things to try: {advice(learning_rate)}."
    )
    return NonFiniteError(message, failed + 1, record)


def advice(learning_rate: float) -> str:
    """Remedies for a bound that was not finite, most promising first."""
    jitter = gpflow.default_jitter()
    things = [
        f"a larger jitter, gpflow.config.set_default_jitter({100 * jitter:.0e}) (it is "
        f"{jitter:.0e})"
    ]
    if gpflow.default_float() != np.float64:
        things.append("double precision, gpflow.config.set_default_float(numpy.float64)")
    things.append(f"a lower learning rate (it is {learning_rate:.3g})")
    return "; ".join(things)


def _non_finite_quantity(
    model: Any, steps: TrainingSteps, step: int, num_samples: int | None
) -> str:
    path = _first_path(model, _is_finite)
    if path is not None:
        return f"the parameter {path}"
    if hasattr(model, "first_non_finite"):
        for part in steps.parts_of(step):
            # Of draws that share the rows this is another draw: it names a layer all the same.
            # Weights of rows, if any, are left out.
            rows = part.batch[:2]
            found = model.first_non_finite(rows, num_samples=num_samples, seed=part.seed)
            if found is not None:
                return str(found)
    _, _, (expected_log_likelihood, kl) = steps.evaluate(step)
    if not _is_finite(kl):
        return "the KL divergence"
    if not _is_finite(expected_log_likelihood):
        return "the expected log likelihood"
    return "the log prior density of the parameters"


def _non_finite_gradient(model: Any, steps: TrainingSteps, step: int) -> str:
    _, gradients, _ = steps.evaluate(step)
    bad = {
        variable.ref(): variable.name
        for gradient, variable in zip(gradients, steps.variables, strict=True)
        if gradient is not None and not _is_finite(gradient)
    }
    path = _first_path(model, lambda p: p.unconstrained_variable.ref() not in bad)
    # Variables of Keras layers do not belong to a GPflow parameter.
    return path or next(iter(bad.values()), "a parameter")


def _first_path(model: Any, is_good: Any) -> str | None:
    """The path of the first parameter that is not good, such as `.kernel.variance`."""
    for path, parameter in gpflow.utilities.parameter_dict(model).items():
        if not is_good(parameter):
            return str(path)
    return None


def _is_finite(values: Any) -> bool:
    values = tf.convert_to_tensor(values)
    return not values.dtype.is_floating or bool(tf.reduce_all(tf.math.is_finite(values)))
