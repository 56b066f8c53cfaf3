"""Measures of predicted class probabilities, and of the detection of unknown inputs, in numpy.

A prediction is a row of probabilities of C classes; for a deep model it is the mean over samples.
Labels are integers from 0 to C - 1, of shape [N], or [N, 1] as in GPflow.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from ..core.validation import finite_floats, positive_integer, real_array

Array = NDArray[np.float64]


def accuracy(labels: Any, probabilities: Any) -> float:
    """The share of rows whose most probable class is the label, from 0 to 1.

    :param labels: [N] or [N, 1].
    :param probabilities: [N, C].
    :raises ValueError: if a label is not a class, if a row is not a distribution, or if shapes
        differ.
    """
    labels, probabilities = _checked(labels, probabilities)
    return float(np.mean(probabilities.argmax(axis=1) == labels))


def log_density(labels: Any, probabilities: Any) -> Array:
    """The log probability of the label, in nats; minus infinity if its probability is zero.

    :param labels: [N] or [N, 1].
    :param probabilities: [N, C].
    :return: [N].
    :raises ValueError: as :func:`accuracy`.
    """
    labels, probabilities = _checked(labels, probabilities)
    with np.errstate(divide="ignore"):
        return np.log(probabilities[np.arange(len(labels)), labels])


def brier_score(labels: Any, probabilities: Any) -> Array:
    """The squared distance between probabilities and label, summed over classes; lower is better.

    From 0 to 2: Brier, "Verification of forecasts expressed in terms of probability", Monthly
    Weather Review 1950, eq. 2. For two classes, some authors use half of it.

    :param labels: [N] or [N, 1].
    :param probabilities: [N, C].
    :return: [N].
    :raises ValueError: as :func:`accuracy`.
    """
    labels, probabilities = _checked(labels, probabilities)
    observed = np.eye(probabilities.shape[1])[labels]
    return np.sum(np.square(probabilities - observed), axis=1)


def predictive_entropy(probabilities: Any) -> Array:
    """The entropy of the predicted class, in nats: from 0 (certain) to log C.

    :param probabilities: [N, C].
    :return: [N].
    :raises ValueError: if a row is not a distribution.
    """
    probabilities = _checked_probabilities(probabilities)
    # The limit of -p log p at zero is zero.
    logarithms = np.log(probabilities, out=np.zeros_like(probabilities), where=probabilities > 0)
    return -np.sum(probabilities * logarithms, axis=1)


class Reliability(NamedTuple):
    """The accuracy of predictions at each confidence: the bins of a reliability diagram."""

    edges: Array
    """Edges of the bins, [B + 1], from 0 to 1: bin b is above edge b and up to edge b + 1."""

    size: NDArray[np.int64]
    """Number of predictions in each bin, [B]."""

    confidence: Array
    """Mean confidence in each bin, [B]; NaN in an empty bin."""

    accuracy: Array
    """Share of right predictions in each bin, [B]; NaN in an empty bin."""


def reliability(labels: Any, probabilities: Any, num_bins: int = 15) -> Reliability:
    """Sort predictions into bins by confidence, the probability of the most probable class.

    :param labels: [N] or [N, 1].
    :param probabilities: [N, C].
    :param num_bins: B, the number of bins, of equal widths.
    :return: the bins.
    :raises ValueError: as :func:`accuracy`, and if `num_bins` is not positive.
    """
    num_bins = positive_integer("num_bins", num_bins)
    labels, probabilities = _checked(labels, probabilities)
    confidence = probabilities.max(axis=1)
    is_right = probabilities.argmax(axis=1) == labels
    edges = np.linspace(0, 1, num_bins + 1)
    place = np.searchsorted(edges[1:-1], confidence)
    size = np.bincount(place, minlength=num_bins)

    def mean(values: NDArray[Any]) -> Array:
        sums = np.bincount(place, weights=values, minlength=num_bins)
        return np.divide(sums, size, out=np.full(num_bins, np.nan), where=size > 0)

    return Reliability(edges, size, mean(confidence), mean(is_right))


def expected_calibration_error(labels: Any, probabilities: Any, num_bins: int = 15) -> float:
    """The mean absolute difference between a bin's confidence and accuracy, from 0 to 1.

    The mean is over predictions: Naeini, Cooper & Hauskrecht, "Obtaining well calibrated
    probabilities using Bayesian binning", AAAI 2015; with 15 bins, Guo, Pleiss, Sun & Weinberger,
    "On calibration of modern neural networks", ICML 2017, eq. 3. For finitely many predictions the
    error is above zero even if they are calibrated, and it grows with the number of bins.

    :param labels: [N] or [N, 1].
    :param probabilities: [N, C].
    :param num_bins: number of bins, of equal widths.
    :raises ValueError: as :func:`reliability`.
    """
    bins = reliability(labels, probabilities, num_bins)
    gaps = np.nan_to_num(np.abs(bins.accuracy - bins.confidence))
    return float(np.sum(bins.size * gaps) / np.sum(bins.size))


def auroc(inside: Any, outside: Any) -> float:
    """The area under the ROC curve for separating two sets by a score.

    It is the probability that a score from outside exceeds one from inside; ties count half:
    1 if all do, 1/2 if the score has no information. Infinite scores are allowed.

    For out-of-distribution detection, use a score that increases with uncertainty, such as
    :func:`predictive_entropy`.

    :param inside: [N], scores of the training distribution.
    :param outside: [M], scores of another distribution.
    :raises ValueError: if a set is empty, if a score is NaN, or if a shape is wrong.
    """
    scores = []
    for name, values in (("inside", inside), ("outside", outside)):
        values = finite_floats(name, values, infinite=True)
        if values.ndim != 1:
            raise ValueError(
                f"{name} must hold one score for each row, [N] with N >= 1 and none of them NaN, "
                f"but has shape {values.shape}."
            )
        scores.append(values)
    num_inside, num_outside = map(len, scores)
    # The sum of the ranks of the outside scores, minus its smallest value, counts the ordered
    # pairs.
    ranks = rankdata(np.concatenate(scores))[num_inside:]
    pairs = ranks.sum() - num_outside * (num_outside + 1) / 2
    return float(pairs / (num_inside * num_outside))


def _checked(labels: Any, probabilities: Any) -> tuple[NDArray[np.int64], Array]:
    """Labels [N] and probabilities [N, C]."""
    probabilities = _checked_probabilities(probabilities)
    num_rows, num_classes = probabilities.shape
    given = real_array("labels", labels)
    if given.shape not in ((num_rows,), (num_rows, 1)):
        raise ValueError(
            f"labels must have one entry for each of the {num_rows} rows of probabilities, but "
            f"have shape {given.shape}."
        )
    given = given.reshape(num_rows)
    is_class = np.isin(given, np.arange(num_classes))
    if not is_class.all():
        raise ValueError(
            f"labels must be whole numbers from 0 to {num_classes - 1}, but one is "
            f"{given[~is_class][0]!r}."
        )
    return given.astype(np.int64), probabilities


def _checked_probabilities(probabilities: Any) -> Array:
    """Probabilities after the checks, [N, C]."""
    rows = finite_floats("probabilities", probabilities).astype(np.float64)
    if rows.ndim != 2:
        raise ValueError(
            f"probabilities must have shape [N, C], and at least one row, but have {rows.shape}."
        )
    # In single precision rows sum to one within about 1e-6.
    is_distribution = (rows.min(axis=1) >= 0) & (np.abs(rows.sum(axis=1) - 1) < 1e-4)
    if not is_distribution.all():
        row = int(np.argmin(is_distribution))
        raise ValueError(
            "Each row of probabilities must be non-negative and sum to one, but row "
            f"{row} sums to {rows[row].sum():g} and its least entry is {rows[row].min():g}."
        )
    return rows
