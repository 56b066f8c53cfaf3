"""Detection of runs that have converged, ended too early, or ended worse than they began."""

import numpy as np

from .record import FitRecord, Report

FEWEST_REPORTS = 12
"""Least number of reports to assess a run: with fewer, slope and noise cannot be separated."""

SMALLEST_RISE = 1.0
"""Smallest rise in nats that is reported."""

WINDOW = 25
"""Steps of which the mean is compared with those of others, to tell if a run has converged."""

FEWEST_WINDOWS = 8
"""In the last third of the steps."""


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
    start, end = values[0], values[late].mean()
    if start - end > min(3 * noise * np.sqrt(steps_in_a_report), num_rows):
        return (
            f"The {name} is {end:.6g} nats at the end and was {start:.6g} at the start: training "
            "made the model worse. Try a lower learning rate."
        )
    rise = slope * steps[-1] / 10
    if rise > max(noise, SMALLEST_RISE):
        return (
            f"The {name} still rises: by {rise:.3g} nats in the last tenth of the steps, with a "
            f"noise of {noise:.3g}. Train for more steps, or at a higher learning rate."
        )
    return None


def has_converged(record: FitRecord, kl_warmup: int) -> bool:
    """True if the objective has not risen by more than its noise in the last third of the steps.

    A line through the means of windows of `WINDOW` steps tells the rise, and how they scatter about
    it its standard error; a rise of less than a nat counts as none. The third grows with the run:
    slow training is watched for longer. The answer does not depend on how steps were divided into
    reports, if each window ends with one.

    :param record: up to the last report.
    :param kl_warmup: the number of steps that are left out, since their objective is another.
    """
    last = record.step
    if last % WINDOW or last * 2 / 3 < kl_warmup:
        return False
    ends, means = _windows(record)
    late = ends - WINDOW >= last * 2 / 3
    if late.sum() < FEWEST_WINDOWS:
        return False
    since, values = ends[late] - last, means[late]
    slope, level = np.polyfit(since, values, 1)
    residuals = values - level - slope * since
    span = since[-1] - since[0]
    variance = np.sum(residuals**2) / (late.sum() - 2) / np.sum((since - since.mean()) ** 2)
    return bool(slope * span <= max(np.sqrt(variance) * span, SMALLEST_RISE))


def _windows(record: FitRecord) -> tuple[np.ndarray, np.ndarray]:
    """The last steps of the whole windows of a record, and the mean objectives of each."""
    ends = np.array([report.step for report in record.reports])
    values = np.array([_value(report, record.reports[-1]) for report in record.reports])
    sums = np.cumsum(values * np.diff([0, *ends]))
    at = np.flatnonzero(ends % WINDOW == 0)
    whole = np.diff([0, *ends[at]]) == WINDOW
    return ends[at][whole], (np.diff([0.0, *sums[at]]) / WINDOW)[whole]


def _value(report: Report, last: Report) -> float:
    """A report's objective with the weight of the last one, in nats."""
    if report.value is not None:
        return report.value
    return report.expected_log_likelihood - last.kl_weight * report.kl
