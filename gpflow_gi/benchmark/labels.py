"""Classes and counts: their likelihoods, and predictions of held-out rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from gpflow.likelihoods import Bernoulli, Poisson, Softmax

from gpflow_gi.datasets.targets import CLASSIFICATION, REGRESSION
from gpflow_gi.metrics.held_out_labels import HeldOutClasses, HeldOutCounts
from gpflow_gi.persistence.table_model import draw_counts

if TYPE_CHECKING:
    from .train import Array, Trained

MONTE_CARLO_POINTS = 20
"""Draws of f in an integral of the softmax, as in the estimators."""


def likelihood_of(task: str, num_classes: int) -> Any:
    """The likelihood of targets: probit or softmax of classes, Poisson of counts, or None.

    :param task: one of :data:`gpflow_gi.datasets.targets.TASKS`.
    :param num_classes: the number of classes, if there are any.
    """
    if task == REGRESSION:
        return None
    if task != CLASSIFICATION:
        return Poisson()
    if num_classes == 2:
        return Bernoulli()
    likelihood = Softmax(num_classes)
    likelihood.num_monte_carlo_points = MONTE_CARLO_POINTS
    return likelihood


def predict_labels(
    trained: Trained, task: str, X: Array, Y: Array
) -> HeldOutClasses | HeldOutCounts:
    """Predict held-out rows.

    :param trained: a model with the likelihood of :func:`likelihood_of`.
    :param task: "classification" or "counts".
    :param X: [n, D], standardised.
    :param Y: [n, 1].
    """
    assert trained.model is not None
    posterior = trained.model().posterior(trained.num_samples, seed=0)
    if task == CLASSIFICATION:
        return HeldOutClasses(Y, posterior.predict_proba(X).numpy())
    mean = posterior.predict_y(X)[0].numpy()[:, 0]
    density = posterior.predict_log_density((X, Y)).numpy()
    draws = draw_counts(posterior, X)
    if not np.isfinite(density).all():
        raise ArithmeticError("predictions of held-out rows are not finite.")
    return HeldOutCounts(Y, mean, density, draws)
