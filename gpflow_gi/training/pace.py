"""The number of steps in one compiled call."""

CALL_SECONDS = 1.0
FEWEST_CALLS = 50
"""Least number of points of a curve of the bound, however fast the steps are."""


class Pace:
    """The choice of the number of steps, so that a call takes about `CALL_SECONDS`.

    It starts at one step, since a step may take minutes, and grows at most tenfold from call to
    call, since the first steps are slower than later ones.

    :param steps: number of steps of the whole run.
    :param window: steps; a call ends at each multiple of it. None for no such ends.
    :param most: largest number of steps of a call; None for no other limit than the above.
    """

    def __init__(self, steps: int, window: int | None = None, most: int | None = None) -> None:
        self.num_steps = 1
        self._most = max(1, steps // FEWEST_CALLS)
        if most is not None:
            self._most = min(self._most, most)
        self._steps = steps
        self._window = window

    def next(self, step: int) -> int:
        """Steps of the call after `step` of them."""
        left = self._steps - step
        if self._window is not None:
            left = min(left, self._window - step % self._window)
        return min(self.num_steps, left)

    def measured(self, num_steps: int, seconds: float) -> None:
        """Update the estimate with a call of `num_steps` that took `seconds`."""
        fitting = int(CALL_SECONDS * num_steps / max(seconds, 1e-9))
        self.num_steps = max(1, min(fitting, 10 * num_steps, self._most))
