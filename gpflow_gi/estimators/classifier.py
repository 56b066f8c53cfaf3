"""Classification."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, column_or_1d

from ..core.validation import is_one_of, refuse_masked, shown
from .base import Array, Estimator, whole_or_not_at_all

C = TypeVar("C", bound="Classifier")


class Classifier(ClassifierMixin, Estimator):
    """Classification with a probit likelihood for two classes, a softmax for more."""

    classes_: Any

    @whole_or_not_at_all
    def fit(self: C, X: Any, y: Any, sample_weight: Any = None) -> C:
        """Train on rows.

        :param X: inputs, [N, D].
        :param y: labels of any kind, [N].
        :param sample_weight: [N], at least 0: a row of weight 2 counts as two, and one of weight 0
            is left out before all else, see
            :class:`gpflow_gi.objectives.WeightedBound`, and with latent variables
            :class:`gpflow_gi.objectives.ImportanceWeighted`; classes are those of rows with
            weight. None for equal weights of 1.
        :return: the estimator itself; if an error is raised, it stays as it was.
        :raises ValueError: if the inputs are not finite numbers, if the labels are of one class,
            of mixed types or continuous, if inputs and labels differ in number, if a parameter is
            invalid, or if a weight is negative or all are zero.
        :raises gpflow_gi.training.NonFiniteError: if the bound stops being finite in training.
        """
        refuse_masked("X", X)
        refuse_masked("y", y, "labels")
        if hasattr(y, "isna") and np.any(y.isna()):  # scikit-learn cannot compare pandas' NA
            raise ValueError("y holds missing labels: leave their rows out.")
        X, y, weights = self._weighted(X, y, sample_weight)
        X, y = self._checked(X, y, weights)
        _check_types(y)
        check_classification_targets(y)
        known = self.classes_ if self._goes_on() else None
        classes, labels = np.unique(y, return_inverse=True)
        if len(classes) == 1 and known is None:
            raise ValueError("y holds only one class; a classifier needs at least two.")
        if known is not None:
            if not np.isin(classes, known).all():
                raise ValueError(
                    "With warm_start, y must hold classes of the earlier training, but holds "
                    "others."
                )
            labels = np.searchsorted(known, y)
        self.classes_ = classes if known is None else known
        likelihood = self._likelihood(len(self.classes_))
        self._train(X, labels.astype(np.float64)[:, None], likelihood, weights)
        return self

    def _likelihood(self, num_classes: int) -> Any:
        import gpflow
        from gpflow.likelihoods import Bernoulli, Likelihood, Softmax

        wanted = self.likelihood
        if isinstance(wanted, Likelihood):
            known = 2 if isinstance(wanted, Bernoulli) else getattr(wanted, "num_classes", None)
            if known is None:
                raise ValueError(
                    "A classifier needs a likelihood over classes, Bernoulli, MultiClass or "
                    f"Softmax, but likelihood is {shown(wanted)}."
                )
            if known != num_classes:
                raise ValueError(
                    f"likelihood is a {type(wanted).__name__} of {known} classes, but y has "
                    f'{num_classes}. Give one of as many, or likelihood="auto".'
                )
            return gpflow.utilities.deepcopy(wanted)
        if not is_one_of(wanted, ("auto", "bernoulli")):
            raise ValueError(
                'likelihood must be "auto", "bernoulli" or a GPflow likelihood over classes, but '
                f"is {shown(wanted)}."
            )
        if wanted == "bernoulli" and num_classes != 2:
            raise ValueError(f"likelihood is bernoulli, for two classes, but y has {num_classes}.")
        if num_classes == 2:
            return Bernoulli()
        likelihood = Softmax(num_classes)
        likelihood.num_monte_carlo_points = 20
        return likelihood

    def predict_proba(self, X: Any) -> Array:
        """The predictive probability of each class.

        :param X: inputs, [N, D].
        :return: [N, number of classes], in the order of ``classes_``.
        :raises sklearn.exceptions.NotFittedError: before :meth:`fit`.
        :raises ValueError: if `X` does not have the columns of the training data, or is not finite.
        """
        X = self._scaled(X)
        return self.posterior_.predict_proba(X).numpy()

    def predict(self, X: Any) -> Any:
        """The most probable class of each row.

        :param X: inputs, [N, D].
        :return: labels, [N].
        :raises sklearn.exceptions.NotFittedError: before :meth:`fit`.
        :raises ValueError: if `X` does not have the columns of the training data, or is not finite.
        """
        most_probable = np.argmax(self.predict_proba(X), axis=1)
        return self.classes_[most_probable]

    def log_density(self, X: Any, y: Any) -> Array:
        """The log probability of labels.

        :param X: inputs, [N, D].
        :param y: labels, [N], among the classes in training.
        :return: [N], in nats.
        :raises sklearn.exceptions.NotFittedError: before :meth:`fit`.
        :raises ValueError: if `X` does not have the columns of the training data, or is not finite,
            if there is not one label for each row, or if a label is not one of the classes.
        """
        probability = self.predict_proba(X)
        refuse_masked("y", y, "labels")
        y = column_or_1d(y)
        check_consistent_length(probability, y)
        try:
            unknown = ~np.isin(y, self.classes_)
        except TypeError:  # types that cannot be compared, such as dates and numbers
            raise ValueError(
                f"y holds labels of type {np.asarray(y).dtype}, but the classes in training are "
                f"of type {self.classes_.dtype}."
            ) from None
        if np.any(unknown):
            raise ValueError(
                f"y holds {shown(y[unknown][0])}, which is none of the classes in training."
            )
        return np.log(probability[np.arange(len(y)), np.searchsorted(self.classes_, y)])


def _check_types(y: Any) -> None:
    """Refuse labels that cannot be sorted, such as a mixture of numbers and text."""
    if y.dtype != object:
        return
    is_text = np.array([isinstance(label, str) for label in y])
    if is_text.any() and not is_text.all():
        raise ValueError(
            f"y holds labels of mixed types, such as {shown(y[is_text][0])} and "
            f"{shown(y[~is_text][0])}: write all of them as text, or all as numbers."
        )
