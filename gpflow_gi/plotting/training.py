"""Figures of training runs."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..core.validation import shown
from .style import COLOURS, Array, axes_or_current, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Report(Protocol):
    """One line of the record of a training run."""

    @property
    def step(self) -> int:
        """The number of steps so far: the last step that the report covers."""

    @property
    def bound(self) -> float:
        """The mean over the steps since the previous report, summed over all rows, in nats."""

    @property
    def expected_log_likelihood(self) -> float:
        """The first term of the bound, the same mean."""


class Record(Protocol):
    """The part of :func:`gpflow_gi.fit`'s result that this module uses."""

    @property
    def reports(self) -> Sequence[Report]:
        """Reports in the order of the steps."""


def training_curves(
    records: Mapping[str, Record], ax: "Axes | None" = None, num_data: int = 1
) -> "Axes":
    """Draw the bound against the step, a line for each run.

    A report is drawn in the middle of the steps that it is the mean of. The bound of the first
    steps is so low that it would flatten the rest of the curve: values far below the settled part
    are cut off.

    :param records: the runs, by the name to show.
    :param ax: where to draw; None means the current axes.
    :param num_data: the number of rows of data, to show the bound per row.
    :return: the axes.
    :raises TypeError: if `records` is not a mapping to runs.
    """
    if not isinstance(records, Mapping):
        raise TypeError(
            'records must be a mapping from names to runs, as {"global": record} is for one run, '
            f"but is a {type(records).__name__}."
        )
    ax = axes_or_current(ax)
    settled = []
    for record in records.values():
        _check_record(record)
    for i, (name, record) in enumerate(records.items()):
        bounds = np.array([report.bound for report in record.reports]) / num_data
        colour = COLOURS[i % len(COLOURS)]
        ax.plot(_middles(record), bounds, label=name, color=colour, linewidth=1.6)
        settled.append(_settled(record, bounds))
    _show(ax, settled)
    ax.set_xlabel("Step")
    ax.set_ylabel("Bound per row (nats)" if num_data != 1 else "Bound (nats)")
    if records:
        ax.legend(frameon=False, loc="lower right")
    return tidy(ax)


def bound_terms(record: Record, ax: "Axes | None" = None, num_data: int = 1) -> "Axes":
    """Draw a run's bound and its expected log likelihood; their difference is the KL divergence.

    :param record: the run. The bound itself is shown, without KL warm-up.
    :param ax: where to draw; None means the current axes.
    :param num_data: the number of rows of data, to show both terms per row.
    :return: the axes.
    :raises TypeError: if `record` is not a run.
    """
    _check_record(record)
    ax = axes_or_current(ax)
    steps = _middles(record)
    bounds = np.array([report.bound for report in record.reports]) / num_data
    first = np.array([report.expected_log_likelihood for report in record.reports]) / num_data
    ax.fill_between(
        steps, bounds, first, color=COLOURS[1], alpha=0.3, linewidth=0, label="KL divergence"
    )
    ax.plot(steps, first, color=COLOURS[1], linewidth=1.6, label="expected log likelihood")
    ax.plot(steps, bounds, color=COLOURS[0], linewidth=1.6, label="bound")
    _show(ax, [_settled(record, bounds), _settled(record, first)])
    ax.set_xlabel("Step")
    ax.set_ylabel("Nats per row" if num_data != 1 else "Nats")
    handles, labels = ax.get_legend_handles_labels()
    order = [labels.index(name) for name in ("expected log likelihood", "KL divergence", "bound")]
    ax.legend(
        [handles[i] for i in order], [labels[i] for i in order], loc="lower right", edgecolor="none"
    )
    return tidy(ax)


def _check_record(record: Any) -> None:
    if not hasattr(record, "reports"):
        raise TypeError(
            f"A run must be what gpflow_gi.fit returns, with its reports, but is {shown(record)}."
        )


def _ends(record: Record) -> Array:
    return np.array([0, *(report.step for report in record.reports)], float)


def _middles(record: Record) -> Array:
    ends = _ends(record)
    return (1 + ends[:-1] + ends[1:]) / 2


def _settled(record: Record, values: Array) -> Array:
    """The finite values after the first steps."""
    ends = _ends(record)
    return values[np.isfinite(values) & (ends[1:] > 0.05 * ends[-1])]


def _show(ax: "Axes", settled: Iterable[Array]) -> None:
    """Show the range in which the lines have settled, and everything above."""
    values = np.concatenate([np.zeros(0), *settled])
    if len(values) and np.ptp(values) > 0:
        low, high = np.quantile(values, 0.05), values.max()
        ax.set_ylim(low - 0.05 * (high - low), high + 0.05 * (high - low))
