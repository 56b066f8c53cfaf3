"""A number with its standard error."""

from typing import NamedTuple


class Estimate(NamedTuple):
    """An estimate and its standard error."""

    value: float
    """The estimate, in nats, summed over rows."""

    standard_error: float
    """Standard error: 0 if the value is exact, NaN for one sample."""

    def __str__(self) -> str:
        """Format as "148.4 ± 0.4"."""
        return f"{self.value:.1f} ± {self.standard_error:.1f}"
