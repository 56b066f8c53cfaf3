"""Detection of runs that have converged, ended too early, or ended worse than they began."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from ..core.validation import positive_integer, positive_number, shown
from .record import FitRecord, Report

FEWEST_REPORTS = 12
"""Least number of reports to assess a run: with fewer, slope and noise cannot be separated."""

SMALLEST_RISE = 1.0
"""Smallest rise in nats that is reported."""

WINDOW = 25
"""Steps of which the mean is compared with those of others, to tell if a run has converged."""

FEWEST_WINDOWS = 8
"""In the last third of the steps."""

MADE_WORSE = "training made the model worse"
"""Words of the shortcoming of a run that ends below its start."""


def shortcoming_of(record: FitRecord, num_rows: int) -> str | None:
    """Compare the end of a run with its start, and assess its convergence.

    A line is fitted to the reported bounds of the last third of the steps. It gives level and
    slope; the standard deviation of the reports around it is their noise. With a KL warm-up, all
    bounds are computed with the KL weight of the end.

    :param record: record of the whole run.
    :param num_rows: N, the number of rows of the data.
    :return: a sentence, if the bound is worse at the end than at the start, or if it rises in the
        last tenth of the steps by more than its noise and by more than a nat; otherwise None.
    """
    reports = record.reports
    steps = np.array([report.step for report in reports])
    if len(steps) < FEWEST_REPORTS:
        return None
    values = np.array([_value(report, reports[-1]) for report in reports])
    late = steps > steps[-1] * 2 / 3
    if late.sum() < 4:
        return None
    since = steps[late] - steps[-1]
    slope, level = np.polyfit(since, values[late], 1)
    noise = float(np.std(values[late] - level - slope * since, ddof=2))
    name = reports[-1].objective_name
    # The first report is of one step; later reports are means of many.
    steps_in_a_report = steps[-1] / 3 / late.sum()
    # A value of its own, other than a bound, has the KL weight of its step.
    comparable = [one.value is None or one.kl_weight == reports[-1].kl_weight for one in reports]
    start, end = values[np.argmax(comparable)], values[late].mean()
    if start - end > min(3 * noise * np.sqrt(steps_in_a_report), num_rows):
        return (
            f"The {name} is {end:.6g} nats at the end and was {start:.6g} at the start: "
            f"{MADE_WORSE}. Try a lower learning rate."
        )
    rise = slope * steps[-1] / 10
    if rise > max(noise, SMALLEST_RISE):
        return (
            f"The {name} still rises: by {rise:.3g} nats in the last tenth of the steps, with a "
            f"noise of {noise:.3g}. Train for more steps, or at a higher learning rate."
        )
    return None


class LevelLastThird:
    """The rule that, in the last third of the steps, the objective rose by no more than its noise.

    A line through the means of windows of `WINDOW` steps gives the rise, and the scatter around it
    the rise's standard error. A rise of less than a nat is ignored. The third grows with the run:
    slow training is observed for longer.
    """

    window = WINDOW

    def is_met(self, record: FitRecord, kl_warmup: int, num_rows: int) -> bool:
        """True if the run can end. The division of steps into reports does not matter.

        :param record: record up to the last report.
        :param kl_warmup: number of the first steps, which are left out.
        :param num_rows: N, the number of rows of the data.
        """
        last = record.step
        if last % self.window or last * 2 / 3 < kl_warmup:
            return False
        ends, means = _windows(record, self.window)
        late = ends - self.window >= last * 2 / 3
        if late.sum() < FEWEST_WINDOWS:
            return False
        since, values = ends[late] - last, means[late]
        slope, level = np.polyfit(since, values, 1)
        residuals = values - level - slope * since
        span = since[-1] - since[0]
        variance = np.sum(residuals**2) / (late.sum() - 2) / np.sum((since - since.mean()) ** 2)
        return bool(slope * span <= max(np.sqrt(variance) * span, SMALLEST_RISE))


@dataclass(frozen=True)
class NoRise:
    """The rule that the mean objective of some steps is not above that of as many steps before.

    For ``gi.fit(..., until_converged=NoRise(tol, steps))``; scikit-learn calls the two numbers
    ``tol`` and ``n_iter_no_change``. KL warm-up is left out.

    :param tol: the smallest rise that counts, in nats per row.
    :param steps: number of steps of each mean.
    :raises ValueError: if `tol` is negative or not finite, or `steps` is not a positive integer.
    :raises TypeError: if one of them is not a number.
    """

    tol: float
    steps: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", positive_integer("steps", self.steps))
        is_zero = isinstance(self.tol, int | float | np.number) and self.tol == 0
        if isinstance(self.tol, bool) or not is_zero:
            object.__setattr__(self, "tol", positive_number("tol", self.tol))

    @property
    def window(self) -> int:
        """The number of steps of each mean."""
        return self.steps

    def is_met(self, record: FitRecord, kl_warmup: int, num_rows: int) -> bool:
        """True if the run can end.

        :param record: record up to the last report.
        :param kl_warmup: number of the first steps, which are left out.
        :param num_rows: N, the number of rows of the data.
        """
        if record.step % self.steps or record.step - 2 * self.steps < kl_warmup:
            return False
        ends, means = _windows(record, self.steps)
        if list(ends[-2:]) != [record.step - self.steps, record.step]:
            return False  # the record has not been kept with this rule for so long
        return bool(means[-1] - means[-2] <= self.tol * num_rows)


StopRule: TypeAlias = LevelLastThird | NoRise


def stop_rule(until_converged: bool | NoRise) -> StopRule | None:
    """The rule for an argument of :func:`gpflow_gi.fit`; None if a run takes all its steps.

    :raises TypeError: if it is neither True, False nor a :class:`NoRise`.
    """
    if isinstance(until_converged, NoRise):
        return until_converged
    if not isinstance(until_converged, bool):
        raise TypeError(
            "until_converged must be True, False or a gpflow_gi.training.NoRise(tol, steps), but "
            f"is {shown(until_converged)}."
        )
    return LevelLastThird() if until_converged else None


def _windows(record: FitRecord, window: int) -> tuple[np.ndarray, np.ndarray]:
    """The last steps of the whole windows of a record, and the mean objective of each."""
    ends = np.array([report.step for report in record.reports])
    values = np.array([_value(report, record.reports[-1]) for report in record.reports])
    sums = np.cumsum(values * np.diff([0, *ends]))
    at = np.flatnonzero(ends % window == 0)
    whole = np.diff([0, *ends[at]]) == window
    return ends[at][whole], (np.diff([0.0, *sums[at]]) / window)[whole]


def _value(report: Report, last: Report) -> float:
    """A report's objective with the weight of the last one, in nats."""
    if report.value is not None:
        return report.value
    return report.expected_log_likelihood - last.kl_weight * report.kl
