"""How many steps to take in one compiled call."""

CALL_SECONDS = 1.0


class Pace:
    """Chooses the number of steps so that a call takes about `CALL_SECONDS`.

    It starts at one step, since nothing is known yet and a step may take minutes, and grows at most
    tenfold from call to call, since the first steps are slower than those that follow.
    """

    def __init__(self) -> None:
        self.num_steps = 1

    def measured(self, num_steps: int, seconds: float) -> None:
        """Learn from a call of `num_steps` that took `seconds`."""
        fitting = int(CALL_SECONDS * num_steps / max(seconds, 1e-9))
        self.num_steps = max(1, min(fitting, 10 * num_steps))
