"""The record of a training run."""

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np


class RecoveryWarning(UserWarning):
    """Warning: a bound or a gradient was not finite, and training changed something to go on."""


class Stop(Exception):  # noqa: N818, by analogy with StopIteration
    """Raised by a callback of :func:`gpflow_gi.fit` to end the run after the present report."""


class ConvergenceWarning(UserWarning):
    """Warning: training ended with a bound that still rises, or that is worse than at the start."""


@contextmanager
def notes_not_warnings() -> Iterator[None]:
    """Within this context, write training's warnings to the record's notes instead."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RecoveryWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


@dataclass(frozen=True)
class Report:
    """The state of training after `step` steps.

    The terms are means over the steps since the previous report (the steps of one compiled call):
    much less noisy than those of one minibatch and one sample. If the objective's terms are not the
    ELBO's, for example for augmented rows, then the terms here are the ELBO's for the unchanged
    rows of the last step, with the parameters after it, and the mean over the steps is `value`. The
    other fields are those of the last step.

    :param step: number of steps done.
    :param seconds: seconds in training steps so far, without compilation, callbacks and
        checkpoints.
    :param expected_log_likelihood: the ELBO's first term, scaled to all rows, in nats; NaN if
        the model has no ELBO.
    :param kl: the ELBO's second term, in nats.
    :param kl_weight: the weight of the second term from KL warm-up and temperature.
    :param learning_rate: learning rate of the optimizer.
    :param temperature: the weight of the second term after the warm-up.
    :param value: `objective`, if its terms are not those two, in nats; otherwise None.
    :param name: name of the objective.
    """

    step: int
    seconds: float
    expected_log_likelihood: float
    kl: float
    kl_weight: float
    learning_rate: float
    temperature: float = 1.0
    value: float | None = None
    name: str = "ELBO"

    @property
    def bound(self) -> float:
        """The ELBO, in nats: expected_log_likelihood - kl, whatever was maximised.

        If the rows have weights, it is the bound with these weights.
        """
        return self.expected_log_likelihood - self.kl

    @property
    def objective(self) -> float:
        """The maximised quantity, in nats: first term - kl_weight * second term of the objective.

        For :class:`~gpflow_gi.objectives.Elbo` it is the bound if the weight is 1.
        """
        if self.value is not None:
            return self.value
        return self.expected_log_likelihood - self.kl_weight * self.kl

    @property
    def objective_name(self) -> str:
        """The name of `objective`: its own name, or "objective" while the ELBO warms up.

        With a weight below 1 it may exceed the log evidence.
        """
        return "objective" if self.name == "ELBO" and self.kl_weight < 1.0 else self.name

    @property
    def augmented_bound(self) -> float | None:
        """`objective`, if it is an augmented bound, in nats; otherwise None."""
        return self.value if self.name.endswith("augmented bound") else None

    def to_dict(self) -> dict[str, Any]:
        """The fields, `bound`, `objective` and its name, ready for JSON."""
        return {
            **asdict(self),
            "bound": self.bound,
            "objective": self.objective,
            "objective_name": self.objective_name,
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Report":
        """The inverse of :meth:`to_dict`.

        :raises KeyError: if a field is missing.
        """
        if "name" not in values:  # from before objectives had names
            name = values["objective_name"]
            name = "ELBO" if name == "objective" else name
            values = {**values, "name": name, "value": values["augmented_bound"]}
        return cls(**{name: values[name] for name in cls.__dataclass_fields__})


@dataclass(frozen=True)
class Recovery:
    """A change with which training went on after a bound or a gradient was not finite.

    :param step: number of the step that failed, counting from 1.
    :param cause: the quantity that was not finite.
    :param jitter: the new jitter of the model's GP layers, relative to the kernel's variance; None
        if it was not changed.
    :param learning_rate: the new learning rate, half of the old; None if it was not changed.
    """

    step: int
    cause: str
    jitter: float | None = None
    learning_rate: float | None = None

    def __str__(self) -> str:
        change = (
            f"the learning rate was halved, to {self.learning_rate:.3g}"
            if self.jitter is None
            else f"the jitter of this model was raised to {self.jitter:.0e}"
        )
        return f"At step {self.step} {self.cause} was NaN or infinite: {change}."


@dataclass
class FitRecord:
    """The reports of a training run and the time that it took.

    :param settings: settings at the start of the run: seed, batch size, optimizer, ...
    :param reports: about one per second, the last one at the last step.
    :param compile_seconds: seconds of tracing and compiling.
    :param recoveries: changes after a bound or a gradient was not finite.
    :param shortcoming: a sentence, if the bound still rises at the end, or is worse than at the
        start; otherwise None.
    :param stopped: "converged" or "callback", if that ended the run; otherwise None.
    """

    settings: dict[str, Any] = field(default_factory=dict)
    reports: list[Report] = field(default_factory=list)
    compile_seconds: float = 0.0
    recoveries: list[Recovery] = field(default_factory=list)
    shortcoming: str | None = None
    stopped: str | None = None

    def __repr__(self) -> str:
        """One line for notebooks, whose cells often end with a call of gi.fit."""
        values = {}
        if self.reports:
            last = self.reports[-1]
            values = {"bound": last.bound}
            if last.name != "ELBO":
                elbo = {} if math.isnan(last.bound) else {"ELBO": last.bound}
                values = {last.objective_name: last.objective, **elbo}
        shown = "".join(f", {name} {value:.6g}" for name, value in values.items())
        return f"<FitRecord: {self.step} steps in {self.seconds:.1f} s{shown}>"

    @property
    def notes(self) -> list[str]:
        """A sentence for each recovery and for the shortcoming."""
        sentences = [str(recovery) for recovery in self.recoveries]
        return [*sentences, *([self.shortcoming] if self.shortcoming else [])]

    @property
    def step(self) -> int:
        """Number of steps done."""
        return self.reports[-1].step if self.reports else 0

    @property
    def seconds(self) -> float:
        """Seconds spent in training steps, without compilation, callbacks and checkpoints."""
        return self.reports[-1].seconds if self.reports else 0.0

    @property
    def seconds_per_step(self) -> float:
        """The median of the seconds per step over all steps, without compilation, or NaN."""
        if not self.reports:
            return float("nan")
        steps = np.diff([0, *(report.step for report in self.reports)])
        seconds = np.diff([0.0, *(report.seconds for report in self.reports)])
        # A report gives the mean time of its steps: the median counts each step.
        # Steps that a recovery repeated may end at the same number twice.
        seconds, steps = seconds[steps > 0], steps[steps > 0]
        per_step = seconds / steps
        order = np.argsort(per_step)
        middle = np.searchsorted(np.cumsum(steps[order]), steps.sum() / 2)
        return float(per_step[order][middle])

    def to_dict(self) -> dict[str, Any]:
        """The whole record, ready for JSON."""
        return {
            "settings": self.settings,
            "step": self.step,
            "seconds": self.seconds,
            "compile_seconds": self.compile_seconds,
            "seconds_per_step": self.seconds_per_step if self.reports else None,
            "reports": [report.to_dict() for report in self.reports],
            "recoveries": [asdict(recovery) for recovery in self.recoveries],
            "shortcoming": self.shortcoming,
            "stopped": self.stopped,
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "FitRecord":
        """The inverse of :meth:`to_dict`.

        :param values: the result of :meth:`to_dict`, also after JSON.
        :return: the record.
        :raises KeyError: if a field is missing.
        """
        return cls(
            settings=values["settings"],
            reports=[Report.from_dict(report) for report in values["reports"]],
            compile_seconds=values["compile_seconds"],
            # Records of version 0.1.0 do not have them.
            recoveries=[Recovery(**recovery) for recovery in values.get("recoveries", [])],
            shortcoming=values.get("shortcoming"),
            stopped=values.get("stopped"),
        )
