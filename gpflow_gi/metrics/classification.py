"""How good are predicted probabilities of classes, and do they tell what is unknown? In numpy.

A prediction is a row of probabilities of C classes, which for a deep model is the mean over its
samples. Labels are whole numbers from 0 to C - 1, of shape [N], or [N, 1] as GPflow has them.
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
    :raises ValueError: if a label is no class, if a row is no distribution, or if shapes differ.
    """
    labels, probabilities = _checked(labels, probabilities)
    return float(np.mean(probabilities.argmax(axis=1) == labels))


def log_density(labels: Any, probabilities: Any) -> Array:
    """The log probability of the label, in nats; minus infinity if that was held impossible.

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
    Weather Review 1950, eq. 2. Of two classes, others give half of it.

    :param labels: [N] or [N, 1].
    :param probabilities: [N, C].
    :return: [N].
    :raises ValueError: as :func:`accuracy`.
    """
    labels, probabilities = _checked(labels, probabilities)
    observed = np.eye(probabilities.shape[1])[labels]
    return np.sum(np.square(probabilities - observed), axis=1)


def predictive_entropy(probabilities: Any) -> Array:
    """The entropy of the predicted class, in nats: from 0, if it is certain, to log C.

    :param probabilities: [N, C].
    :return: [N].
    :raises ValueError: if a row is no distribution.
    """
    probabilities = _checked_probabilities(probabilities)
    # The limit of -p log p at zero is zero.
    logarithms = np.log(probabilities, out=np.zeros_like(probabilities), where=probabilities > 0)
    return -np.sum(probabilities * logarithms, axis=1)


class Reliability(NamedTuple):
    """How often predictions of each confidence were right: the bins of a reliability diagram."""

    edges: Array
    """[B + 1], from 0 to 1: bin b holds confidences above edge b and up to edge b + 1."""

    size: NDArray[np.int64]
    """[B], the number of predictions in each bin."""

    confidence: Array
    """[B], their mean confidence; NaN in an empty bin."""

    accuracy: Array
    """[B], the share of them that were right; NaN in an empty bin."""


def reliability(labels: Any, probabilities: Any, num_bins: int = 15) -> Reliability:
    """Sort predictions into bins by their confidence, the probability of the most probable class.

    :param labels: [N] or [N, 1].
    :param probabilities: [N, C].
    :param num_bins: B, of equal widths.
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
    """The mean over predictions of what their bin's confidence and accuracy differ by, from 0 to 1.

    Naeini, Cooper & Hauskrecht, "Obtaining well calibrated probabilities using Bayesian binning",
    AAAI 2015; with 15 bins, Guo, Pleiss, Sun & Weinberger, "On calibration of modern neural
    networks", ICML 2017, eq. 3. A finite number of predictions has an error above zero even if
    they are calibrated, and the more so the more bins there are.

    :param labels: [N] or [N, 1].
    :param probabilities: [N, C].
    :param num_bins: of equal widths.
    :raises ValueError: as :func:`reliability`.
    """
    bins = reliability(labels, probabilities, num_bins)
    gaps = np.nan_to_num(np.abs(bins.accuracy - bins.confidence))
    return float(np.sum(bins.size * gaps) / np.sum(bins.size))


def auroc(inside: Any, outside: Any) -> float:
    """The area under the ROC curve of telling two sets apart by a score.

    That is the probability that a score from outside exceeds one from inside, ties counting half:
    1 if all do, 1/2 if the score tells nothing. Infinite scores are fine.

    For out-of-distribution detection, a score is what rises with doubt, such as
    :func:`predictive_entropy`.

    :param inside: [N], scores of the distribution that was trained on.
    :param outside: [M], scores of another.
    :raises ValueError: if there are none of one kind, if one is NaN, or if a shape is another.
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
    # The sum of the ranks from outside, less its least possible value, counts the pairs in order.
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
    """[N, C]"""
    rows = finite_floats("probabilities", probabilities).astype(np.float64)
    if rows.ndim != 2:
        raise ValueError(
            f"probabilities must have shape [N, C], and at least one row, but have {rows.shape}."
        )
    # Single precision sums to one within 1e-6 or so.
    is_distribution = (rows.min(axis=1) >= 0) & (np.abs(rows.sum(axis=1) - 1) < 1e-4)
    if not is_distribution.all():
        row = int(np.argmin(is_distribution))
        raise ValueError(
            "Each row of probabilities must be non-negative and sum to one, but row "
            f"{row} sums to {rows[row].sum():g} and its least entry is {rows[row].min():g}."
        )
    return rows
