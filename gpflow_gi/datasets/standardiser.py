"""Maps of columns to mean zero and standard deviation one, and their inverses."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.validation import finite_floats
from .table import Array


@dataclass(frozen=True, eq=False)
class Standardiser:
    """The map of every column to mean zero and standard deviation one.

    Fit it on the training rows only. A column that is constant there, up to rounding, maps to zero,
    also in a row with another value: the training rows do not give a scale for that value. The
    inverse gives the constant. Targets need :meth:`of_targets`: otherwise the value of a constant
    one in other rows would appear to be predicted exactly.

    >>> scaling = Standardiser.fit(np.array([[1.0, 5.0], [3.0, 5.0]]))
    >>> scaling.transform(np.array([[4.0, 6.0]]))
    array([[2., 0.]])

    :param mean: [D].
    :param scale: [D], positive: the standard deviations, and 1 for constant columns.
    :param constant: [D], True for constant columns; or False if none is.
    """

    mean: Array
    scale: Array
    constant: NDArray[np.bool_] | bool = False

    @classmethod
    def fit(cls, values: Array, weights: Array | None = None) -> "Standardiser":
        """Take mean and (population) standard deviation of the columns.

        :param values: [N, D], finite, with N >= 1. The differences within a column must be finite
            too; for values from -1e308 to 1e308 they are not.
        :param weights: [N], at least zero: rows count so many times; None for once.
        :return: the map, of D columns.
        :raises ValueError: if there are no rows or no columns, if a value is not finite, or if a
            difference is not; if weights are not [N], if one is negative, or if all are zero.
        """
        values = finite_floats("values", values)
        if values.ndim == 0:
            raise ValueError("values must have shape [N, D], but is one number.")
        if weights is not None:
            weights = _checked_weights(weights, len(values))
            values, weights = values[weights > 0], weights[weights > 0]
        # Via [0, 1], where no square overflows or underflows, and where a constant column is
        # exactly constant: the mean of many 0.1 is not 0.1.
        with np.errstate(over="ignore"):
            low, span = values.min(axis=0), np.ptp(values, axis=0)
        if not np.all(np.isfinite(span)):
            raise ValueError(
                f"The differences within a column overflow in {values.dtype.name}: its values "
                f"range from {values.min():g} to {values.max():g}. Use another unit."
            )
        # Such as 0.3 and 0.1 + 0.2. Values of a narrower type are taken as they are.
        eps = np.finfo(np.float64).eps if values.dtype == np.float64 else 0.0
        constant = np.asarray(span <= 10 * eps * np.abs(values).max(axis=0))
        unit = (values - low) / np.where(span == 0, 1.0, span)
        if weights is None:
            mean, deviation = unit.mean(axis=0), unit.std(axis=0)
        else:
            mean = np.average(unit, axis=0, weights=weights)
            deviation = np.sqrt(np.average(np.square(unit - mean), axis=0, weights=weights))
        return cls(low + span * mean, np.where(constant, 1.0, span * deviation), constant)

    @classmethod
    def of_targets(cls, values: Array, weights: Array | None = None) -> "Standardiser":
        """Take mean and deviation as :meth:`fit`, with a scale of 1 for what is constant.

        A target that is constant in the training rows keeps its distance from them in other rows,
        as its density there depends on it.

        :param values: as for :meth:`fit`.
        :param weights: as for :meth:`fit`.
        :raises ValueError: as :meth:`fit`.
        """
        fitted = cls.fit(values, weights)
        return cls(fitted.mean, fitted.scale)

    def transform(self, values: Array) -> Array:
        """The standardised values, which have no unit.

        :param values: [..., D].
        :return: [..., D].
        :raises ValueError: if the number of columns differs, or if a value is not finite.
        """
        values = self._checked("values", values)
        return np.where(self.constant, 0.0, (values - self.mean) / self.scale)

    def inverse(self, standardised: Array) -> Array:
        """The values whose :meth:`transform` is `standardised`.

        :param standardised: [..., D].
        :return: [..., D], in the columns' units.
        :raises ValueError: if the number of columns differs, or if a value is NaN.
        """
        standardised = self._checked("standardised", standardised, infinite=True)
        return standardised * self.scale + self.mean

    def inverse_variance(self, standardised: Array) -> Array:
        """Variances of the values, from those of the standardised values.

        :param standardised: [..., D].
        :return: [..., D], in the squares of the columns' units.
        :raises ValueError: if the number of columns differs, or if a value is NaN.
        """
        standardised = self._checked("standardised", standardised, infinite=True)
        return standardised * np.square(self.scale)

    def inverse_log_density(self, standardised: Array) -> Array:
        """Log densities of rows of values, from those of the standardised rows.

        p(y) = p(standardised y) / prod_d scale_d.

        :param standardised: [...], in nats.
        :return: [...], in nats.
        :raises ValueError: if a value is NaN.
        """
        standardised = finite_floats("standardised", standardised, infinite=True, empty=True)
        return standardised - np.log(self.scale).sum()

    def _checked(self, name: str, values: Any, infinite: bool = False) -> Array:
        values = finite_floats(name, values, infinite=infinite, empty=True)
        columns = np.shape(self.mean)
        if columns not in ((), (1,)) and values.shape[values.ndim - len(columns) :] != columns:
            raise ValueError(
                f"{name} must have the {columns[0]} columns that the scaling was made for, but has "
                f"shape {list(values.shape)}."
            )
        return values


def _checked_weights(weights: Any, num_rows: int) -> Array:
    weights = finite_floats("weights", weights)
    if weights.shape != (num_rows,):
        raise ValueError(
            f"weights must have shape [{num_rows}], one for each row, but has shape "
            f"{list(weights.shape)}."
        )
    if weights.min() < 0 or weights.max() == 0:
        raise ValueError("weights must be at least zero, and not all of them zero.")
    return weights
