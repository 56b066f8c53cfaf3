"""Bounds on the log evidence of a trained model, each with its standard error."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import tensorflow as tf

from ..core.estimate import Estimate
from ..core.random import Seed, as_seed, fold_in
from ..core.validation import check_data, positive_integer
from ..models.finite import check_outputs
from .elbo import Elbo
from .objective import refuse_objective

_SAMPLES_AT_ONCE = 10
_ROWS_AT_ONCE = 1000


def estimate_elbo(
    model: Any, data: tuple[Any, Any], num_samples: int | None = 100, *, seed: Seed = 0
) -> Estimate:
    """Estimate the evidence lower bound on all rows, as a mean over samples of the lower layers.

    The time is proportional to rows times samples; the memory depends on neither.

    :param model: a :class:`~gpflow_gi.models.Predictive`, or a :class:`gpflow.models.SVGP`.
    :param data: X [N, D], or images [N, H, W, C], and Y [N, Q]: all rows that the model is trained
        on.
    :param num_samples: number of samples, rounded up to whole groups of at most ten; None for a
        bound that is not sampled.
    :param seed: seed of the samples, an integer or a pair of integers.
    :return: the bound in nats, for all rows together. The standard error is 0 for a bound that is
        not sampled, NaN for one sample.
    :raises TypeError: if the model has no such bound, or is an objective.
    :raises ValueError: if `num_samples` is not positive, is given for an SVGP, or is None although
        the bound is sampled; if `seed` is not a seed; if the data do not fit the model or are not
        finite; or if the bound is NaN or minus infinity.

    >>> from gpflow_gi.architectures import build_deep_gp
    >>> X = np.linspace(-1.0, 1.0, 50)[:, None]
    >>> model = build_deep_gp(X, np.sign(X), num_inducing=10)
    >>> value, standard_error = estimate_elbo(model, (X, np.sign(X)), 20)
    >>> standard_error < 1.0
    True
    """
    refuse_objective(model)
    if num_samples is not None:
        num_samples = positive_integer("num_samples", num_samples)
    X, Y = check_data(data, missing=getattr(model, "missing", None) == "ignore")
    X, Y = X.numpy(), (model.numbered(Y) if hasattr(model, "numbered") else Y).numpy()
    seed = as_seed(seed)
    # At least two groups, if there are two samples: their spread gives the standard error.
    at_once = None if num_samples is None else min(max(num_samples // 2, 1), _SAMPLES_AT_ONCE)
    # Without samples, two estimates must agree.
    repeats = 2 if num_samples is None or at_once is None else -(-num_samples // at_once)
    elbo = Elbo()
    elbo.check(model, at_once)

    def terms(batch: Any, seed: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return elbo.terms(model, batch, at_once, seed)

    @cache
    def compiled(num_rows: int) -> Callable[..., tuple[tf.Tensor, tf.Tensor]]:
        # A concrete function: TensorFlow would take the traces of successive estimates for
        # retracing and warn. AutoGraph, which is not needed here, would take four times as long as
        # everything else.
        batch = tuple(tf.TensorSpec([num_rows, *rows.shape[1:]], rows.dtype) for rows in (X, Y))
        return tf.function(terms, autograph=False).get_concrete_function(
            batch, tf.TensorSpec([2], seed.dtype)
        )

    estimates = []
    for repeat in range(repeats):
        estimate = 0.0
        for start in range(0, len(X), _ROWS_AT_ONCE):
            rows = slice(start, start + _ROWS_AT_ONCE)
            batch = tf.constant(X[rows]), tf.constant(Y[rows])
            num_rows = len(batch[0])
            expected_log_likelihood, kl = compiled(num_rows)(batch, fold_in(seed, repeat))
            # The model scales the data term of a batch to all rows; it does not scale the KL term.
            share = num_rows / len(X)
            estimate += share * float(expected_log_likelihood - kl)
        estimates.append(estimate)
    arrays = [tf.constant(X), tf.constant(np.nan_to_num(Y))]
    check_outputs(arrays, tf.constant(estimates), what="The bound")
    if num_samples is None:
        if estimates[0] != estimates[1]:
            raise ValueError("num_samples is None, but the model's bound is sampled; say how many.")
        return Estimate(estimates[0], 0.0)
    return _mean(estimates)


def estimate_iwbo(
    model: Any,
    data: tuple[Any, Any],
    num_samples: int = 1000,
    *,
    num_repeats: int = 10,
    seed: Seed = 0,
) -> Estimate:
    """Estimate the importance weighted bound of `num_samples` samples, as a mean over repetitions.

    Burda, Grosse & Salakhutdinov 2016, eq. 8; see :meth:`gpflow_gi.models.Predictive.iwbo`.

    :param model: a :class:`~gpflow_gi.models.Predictive`.
    :param data: X [N, D] and Y [N, Q], all rows that the model is trained on.
    :param num_samples: S, the number of samples of each repetition.
    :param num_repeats: number of repetitions.
    :param seed: seed of the samples, an integer or a pair of integers.
    :return: the bound in nats, for all rows together. The standard error is NaN for one repetition.
    :raises TypeError: if the model has no importance weights, or is an objective.
    :raises ValueError: as :meth:`gpflow_gi.models.Predictive.iwbo`, if `num_repeats` is not
        positive, or if the bound is minus infinity.
    """
    refuse_objective(model)
    if not hasattr(model, "iwbo"):
        raise TypeError(
            "model must be one of this library's, such as gpflow_gi.models.DeepGP, but is a "
            f"{type(model).__name__}, which has no importance weights."
        )
    num_repeats = positive_integer("num_repeats", num_repeats)
    seed = as_seed(seed)
    return _mean(
        [float(model.iwbo(data, num_samples, seed=fold_in(seed, i))) for i in range(num_repeats)]
    )


def _mean(estimates: list[float]) -> Estimate:
    if not np.all(np.isfinite(estimates)):
        raise ValueError(
            "The bound is minus infinity: the data are so far from those in training that their "
            "density underflows. Standardise them as those in training."
        )
    n = len(estimates)
    error = float(np.std(estimates, ddof=1) / np.sqrt(n)) if n > 1 else np.nan
    return Estimate(float(np.mean(estimates)), error)
