"""How many steps to take in one compiled call."""

CALL_SECONDS = 1.0
FEWEST_CALLS = 50
"""So many points make a curve of the bound, however fast the steps are."""


class Pace:
    """Chooses the number of steps so that a call takes about `CALL_SECONDS`.

    It starts at one step, since nothing is known yet and a step may take minutes, and grows at most
    tenfold from call to call, since the first steps are slower than those that follow.

    :param steps: of the whole run.
    :param window: calls end at its multiples, too; None for calls that end anywhere.
    """

    def __init__(self, steps: int, window: int | None = None) -> None:
        self.num_steps = 1
        self._most = max(1, steps // FEWEST_CALLS)
        self._steps = steps
        self._window = window

    def next(self, step: int) -> int:
        """Steps of the call after `step` of them."""
        left = self._steps - step
        if self._window is not None:
            left = min(left, self._window - step % self._window)
        return min(self.num_steps, left)

    def measured(self, num_steps: int, seconds: float) -> None:
        """Learn from a call of `num_steps` that took `seconds`."""
        fitting = int(CALL_SECONDS * num_steps / max(seconds, 1e-9))
        self.num_steps = max(1, min(fitting, 10 * num_steps, self._most))
