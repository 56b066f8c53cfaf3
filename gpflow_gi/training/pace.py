"""The number of steps in one compiled call."""

CALL_SECONDS = 1.0
FEWEST_CALLS = 50
"""Least number of points of a curve of the bound, however fast the steps are."""


class Pace:
    """The choice of the number of steps, so that a call takes about `CALL_SECONDS`.

    It starts at one step, since a step may take minutes, and grows at most tenfold from call to
    call, since the first steps are slower than later ones.

    :param steps: number of steps of the whole run.
    """

    def __init__(self, steps: int) -> None:
        self.num_steps = 1
        self._most = max(1, steps // FEWEST_CALLS)

    def measured(self, num_steps: int, seconds: float) -> None:
        """Update the estimate with a call of `num_steps` that took `seconds`."""
        fitting = int(CALL_SECONDS * num_steps / max(seconds, 1e-9))
        self.num_steps = max(1, min(fitting, 10 * num_steps, self._most))
