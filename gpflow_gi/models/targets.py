"""Checks that targets and a likelihood fit together."""

from collections.abc import Callable
from typing import Any

import gpflow
import numpy as np
import tensorflow as tf
from gpflow.likelihoods import (
    Bernoulli,
    Beta,
    Exponential,
    Gamma,
    Likelihood,
    MonteCarloLikelihood,
    MultiClass,
    Ordinal,
    Poisson,
    ScalarLikelihood,
    Softmax,
    SwitchedLikelihood,
)

from ..core.validation import check_rank, finite_tensor, shown, tensor_with_missing


def check_likelihood(likelihood: Any) -> None:
    """Check that every integral of the likelihood can be computed, with noise from given seeds.

    :raises TypeError: if it is not a GPflow likelihood.
    :raises ValueError: if an integral cannot be computed.
    """
    if not isinstance(likelihood, Likelihood):
        raise TypeError(f"likelihood must be a GPflow likelihood, but is {shown(likelihood)}.")
    parts = [likelihood]
    if isinstance(likelihood, SwitchedLikelihood):
        parts = likelihood.likelihoods
        if any(isinstance(part, MonteCarloLikelihood) for part in parts):
            raise ValueError(
                "A SwitchedLikelihood of Monte Carlo likelihoods draws noise without a seed; use "
                "likelihoods with quadrature or in closed form."
            )
    infinity = tf.constant(np.inf, gpflow.default_float())
    if any(isinstance(part, Ordinal) for part in parts) and np.isnan(tf.math.erf(infinity)):
        raise ValueError(
            "GPflow's Ordinal likelihood is NaN with this version of TensorFlow, whose erf(inf) is "
            "NaN in float64. Use float32 or another TensorFlow."
        )


def check_targets(
    likelihood: Likelihood, Y: Any, output_dim: int, *, missing: bool = False
) -> tf.Tensor:
    """Convert `Y` to the type that the likelihood takes.

    :param Y: [N, Q].
    :param output_dim: P, the number of outputs of the model's last layer.
    :param missing: accept NaN.
    :return: [N, Q].
    :raises ValueError: if Y is not numeric, not finite, or has a wrong number of columns, or
        values that the likelihood does not take.
    """
    Y = tensor_with_missing("Y", Y) if missing else finite_tensor("Y", Y)
    check_rank("Y", Y)
    Q = target_columns(likelihood, output_dim)
    if Q not in (None, Y.shape[-1]):
        raise ValueError(
            f"Y has {Y.shape[-1]} columns, but the last layer's {output_dim} outputs and the "
            f"likelihood {type(likelihood).__name__} make it {Q}."
        )
    _check_labels(likelihood, Y)
    _check_values(likelihood, Y)
    # Softmax is the only likelihood of GPflow that needs its class labels as integers.
    return tf.cast(Y, gpflow.default_int()) if isinstance(likelihood, Softmax) else Y


def factors_over_outputs(likelihood: Likelihood) -> bool:
    """True if p(y | f) is a product over outputs, each of one column of f and one of y."""
    return isinstance(likelihood, ScalarLikelihood) and not isinstance(
        likelihood, SwitchedLikelihood
    )


def target_columns(likelihood: Likelihood, output_dim: int) -> int | None:
    """Q, the number of columns of the targets; None if only the likelihood knows it."""
    if isinstance(likelihood, SwitchedLikelihood):
        return output_dim + 1  # the last column is the index of the likelihood
    if isinstance(likelihood, ScalarLikelihood):
        return output_dim
    if isinstance(likelihood, MultiClass | Softmax):
        return 1
    return likelihood.observation_dim


def _check_labels(likelihood: Likelihood, Y: tf.Tensor) -> None:
    """Check labels, which are indices; TensorFlow ignores wrong ones or reports them unclearly."""
    if isinstance(likelihood, MultiClass | Softmax):
        num_labels, labels = likelihood.num_classes, Y
    elif isinstance(likelihood, Ordinal):
        num_labels, labels = likelihood.num_bins, Y
    elif isinstance(likelihood, SwitchedLikelihood):
        num_labels, labels = len(likelihood.likelihoods), Y[:, -1:]
    else:
        return
    if not tf.executing_eagerly():
        return  # values are not known yet
    values = labels.numpy()
    wrong = values[~np.isin(values, range(num_labels)) & ~np.isnan(values)]
    if wrong.size:
        raise ValueError(
            f"{type(likelihood).__name__} takes labels from 0 to {num_labels - 1} in the last "
            f"column of Y, but it holds {wrong[0]:g}."
        )


def _are_labels(Y: np.ndarray) -> bool:
    # GPflow takes 1 for one class, and every other number for the other one.
    known = np.isnan(Y)
    return all(
        np.all(np.isin(column, [0, 1]) | missing) or np.all(np.isin(column, [-1, 1]) | missing)
        for column, missing in zip(Y.T, known.T, strict=True)
    )


_VALUES: dict[type[Likelihood], tuple[str, Callable[[np.ndarray], bool]]] = {
    Bernoulli: ("0 and 1, or -1 and 1", _are_labels),
    Poisson: ("whole numbers of at least 0", lambda Y: not np.any((Y < 0) | (Y % 1 > 0))),
    Exponential: ("numbers of at least 0", lambda Y: not np.any(Y < 0)),
    Gamma: ("positive numbers", lambda Y: not np.any(Y <= 0)),
    Beta: ("numbers between 0 and 1, these left out", lambda Y: not np.any((Y <= 0) | (Y >= 1))),
}
"""Values that targets may have, in words and as a function of Y, in which NaN is missing. Densities
of GPflow are wrong, without an error, for other values. Densities of a user's own are not
checked."""


def _check_values(likelihood: Likelihood, Y: tf.Tensor) -> None:
    """Check that the likelihood is a density, or a probability, of such targets."""
    if not tf.executing_eagerly():
        return  # values are not known yet
    if isinstance(likelihood, SwitchedLikelihood):
        for i, part in enumerate(likelihood.likelihoods):
            rows = tf.boolean_mask(Y[:, :-1], Y[:, -1] == i)
            _check_labels(part, rows)
            _check_values(part, rows)
        return
    for kind, (words, fits) in _VALUES.items():
        if _has_density_of(likelihood, kind):
            values = Y.numpy()
            if values.size and not fits(values):
                raise ValueError(
                    f"{type(likelihood).__name__} takes {words} as targets, but Y holds values "
                    f"from {np.nanmin(values):g} to {np.nanmax(values):g}."
                )


def _has_density_of(likelihood: Likelihood, kind: Any) -> bool:
    """True for a class of GPflow, and for one derived from it with the same density."""
    own: Any = type(likelihood)
    return isinstance(likelihood, kind) and own._scalar_log_prob is kind._scalar_log_prob


def takes_any_number(likelihood: Likelihood) -> bool:
    """False if targets are labels, counts, or numbers in a range, which cannot be standardised."""
    if isinstance(likelihood, MultiClass | Softmax | Ordinal | SwitchedLikelihood):
        return False
    return not any(_has_density_of(likelihood, kind) for kind in _VALUES)
