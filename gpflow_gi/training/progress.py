"""The progress bar."""

import math
import sys
from types import TracebackType

from tqdm import tqdm

from .record import Report


class Progress:
    """A display of step, bound per row, steps per second and time left, on standard error.

    A terminal or a notebook gets a bar. Elsewhere, for example in a log file, each state of a bar
    would be a line: there the display is a line for each quarter of the steps.

    :param steps: total number of steps.
    :param initial: number of steps done before.
    :param num_rows: N, the number of rows of the data.
    :param show: False for no output.
    """

    _NUM_LINES = 4

    def __init__(self, steps: int, initial: int, num_rows: int, show: bool = True) -> None:
        interactive = sys.stderr.isatty() or "ipykernel" in sys.modules
        self._num_rows = num_rows
        self._lines = show and not interactive
        self._started = (initial, 0.0)
        self._bar = tqdm(
            total=steps,
            initial=initial,
            desc="compiling",
            unit="step",
            dynamic_ncols=True,
            miniters=1,
            mininterval=0.0,
            disable=not (show and interactive),
        )
        self._steps = steps
        self._step = initial

    def __enter__(self) -> "Progress":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._bar.close()

    def compiled(self, seconds: float) -> None:
        """Start the clock, so that the displayed rate is that of training.

        :param seconds: seconds of training in the runs that this one resumes.
        """
        self._started = (self._step, seconds)
        self._bar.set_description("training", refresh=False)
        self._bar.unpause()

    def report(self, report: Report) -> None:
        """Show the state of training."""
        text = describe(report, self._num_rows)
        before, self._step = self._step, report.step
        self._bar.set_postfix_str(text, refresh=False)
        self._bar.update(report.step - before)
        quarter = self._NUM_LINES * report.step // self._steps
        if self._lines and quarter > self._NUM_LINES * before // self._steps:
            step, seconds = self._started
            rate = (report.step - step) / max(report.seconds - seconds, 1e-9)
            left = tqdm.format_interval((self._steps - report.step) / rate)
            print(
                f"step {report.step}/{self._steps}, {text}, {rate:.1f} steps/s, {left} left",
                file=sys.stderr,
                flush=True,
            )


def describe(report: Report, num_rows: int) -> str:
    """The objective per row, with its name.

    For objectives other than the ELBO, the ELBO is shown too, if the model has one.
    """
    name = report.objective_name
    weight = "" if report.kl_weight == 1.0 else f" (KL x {report.kl_weight:#.2g})"
    text = f"{name}{weight} per row {report.objective / num_rows:.4f}"
    if report.name not in ("ELBO", "weighted bound") and not math.isnan(report.bound):
        text += f", ELBO per row {report.bound / num_rows:.4f}"
    return text
