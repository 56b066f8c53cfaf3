"""Classes and counts: their likelihoods, and predictions of held-out rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from gpflow.likelihoods import Bernoulli, Poisson, Softmax

from gpflow_gi.datasets.targets import CLASSIFICATION, REGRESSION
from gpflow_gi.metrics.held_out_labels import HeldOutClasses, HeldOutCounts
from gpflow_gi.persistence.table_model import draw_counts

if TYPE_CHECKING:
    from .train import Trained
    from .trial import Rows

MONTE_CARLO_POINTS = 20
"""Draws of f in an integral of the softmax, as in the estimators."""


def likelihood_of(rows: Rows) -> Any:
    """The likelihood of targets: probit or softmax of classes, Poisson of counts, or None.

    :param rows: the training rows.
    """
    if rows.task == REGRESSION:
        return None
    if rows.task != CLASSIFICATION:
        return Poisson()
    likelihood = Bernoulli() if len(rows.classes) == 2 else Softmax(len(rows.classes))
    likelihood.num_monte_carlo_points = MONTE_CARLO_POINTS
    return likelihood


def predict_labels(trained: Trained, rows: Rows) -> HeldOutClasses | HeldOutCounts:
    """Predict the held-out rows.

    :param trained: a model with the likelihood of :func:`likelihood_of`.
    :param rows: rows of classes or counts.
    """
    assert trained.model is not None
    posterior = trained.model().posterior(trained.num_samples, seed=0)
    if rows.task == CLASSIFICATION:
        return HeldOutClasses(rows.Y_test, posterior.predict_proba(rows.X_test).numpy())
    mean = posterior.predict_y(rows.X_test)[0].numpy()[:, 0]
    density = posterior.predict_log_density((rows.X_test, rows.Y_test)).numpy()
    draws = draw_counts(posterior, rows.X_test)
    if not np.isfinite(density).all():
        raise ArithmeticError("predictions of held-out rows are not finite.")
    return HeldOutCounts(rows.Y_test, mean, density, draws)
