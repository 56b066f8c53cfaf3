"""Regression with Gaussian noise."""

from __future__ import annotations

from typing import Any, Literal, TypeVar, overload

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array, check_consistent_length

from ..core.validation import is_one_of, positive_integer, real_array, refuse_masked
from ..datasets import Standardiser
from . import likelihoods
from .base import Array, Estimator, whole_or_not_at_all

R = TypeVar("R", bound="Regressor")


class Regressor(MultiOutputMixin, RegressorMixin, Estimator):
    """Regression; targets are standardised inside, like inputs, if their noise has a scale.

    Several targets (y of [N, Q]) share all layers except the last, and one noise variance for the
    standardised targets.
    """

    target_shape_: tuple[int, ...]
    target_scaling_: Standardiser

    @whole_or_not_at_all
    def fit(self: R, X: Any, y: Any, sample_weight: Any = None) -> R:
        """Train on rows.

        :param X: inputs, [N, D]; or a data frame, see `preprocess`.
        :param y: targets, [N] or [N, Q].
        :param sample_weight: [N], at least 0: a row of weight 2 counts as two, and one of weight 0
            is left out before all else, see
            :class:`gpflow_gi.objectives.WeightedBound`, and with latent variables
            :class:`gpflow_gi.objectives.ImportanceWeighted`. None for equal weights of 1.
        :return: the estimator itself; if an error is raised, it stays as it was.
        :raises ValueError: if they are not finite numbers, if they differ in number, if a
            parameter is invalid, or if a weight is negative or all are zero.
        :raises gpflow_gi.training.NonFiniteError: if the bound stops being finite in training.
        """
        going_on = self._goes_on()
        refuse_masked("X", X)
        refuse_masked("y", y)
        X, y, weights = self._weighted(X, y, sample_weight)
        X, y = self._checked(X, y, weights, multi_output=True, y_numeric=True)
        Y = real_array("y", y).astype(np.float64).reshape(len(X), -1)
        if going_on and y.shape[1:] != self.target_shape_:
            raise ValueError(
                "With warm_start, y must have the shape of the earlier targets, "
                f"{self.target_shape_} after the rows, but has shape {y.shape}."
            )
        wanted = "gaussian" if is_one_of(self.likelihood, ["auto"]) else self.likelihood
        likelihood, scaling = likelihoods.of_targets(wanted, Y, weights)
        if not going_on:
            self.target_shape_, self.target_scaling_ = y.shape[1:], scaling
        self._train(X, self.target_scaling_.transform(Y), likelihood, weights)
        return self

    @overload
    def predict(self, X: Any, return_std: Literal[False] = False) -> Array: ...
    @overload
    def predict(self, X: Any, return_std: Literal[True]) -> tuple[Array, Array]: ...
    def predict(self, X: Any, return_std: bool = False) -> Array | tuple[Array, Array]:
        """The predictive mean of new targets.

        :param X: inputs, [N, D].
        :param return_std: also return the predictive standard deviation, noise included.
        :return: [N] or [N, Q], as the targets in training; or two of these, in the targets' unit.
        :raises sklearn.exceptions.NotFittedError: before :meth:`fit`.
        :raises ValueError: if `X` does not have the columns of the training data, or is not finite.
        """
        X = self._scaled(X)
        mean, variance = (m.numpy() for m in self.posterior_.predict_y(X))
        shape = (len(mean), *self.target_shape_)
        mean = self.target_scaling_.inverse(mean).reshape(shape)
        if not return_std:
            return mean
        # Not via the variance in the targets' unit, whose square may overflow.
        return mean, (np.sqrt(variance) * self.target_scaling_.scale).reshape(shape)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The coefficient of determination, R^2, as for every regressor of scikit-learn.

        :param X: inputs, [N, D].
        :param y: targets, [N] or [N, Q], as in training.
        :param sample_weight: [N].
        :return: at most 1, which is perfect.
        :raises sklearn.exceptions.NotFittedError: before :meth:`fit`.
        :raises ValueError: if `X` does not have the columns of the training data, if a value is not
            finite, or if squares of `y` overflow.
        """
        refuse_masked("y", y)
        with np.errstate(over="ignore", invalid="ignore"):
            score = super().score(X, y, sample_weight)
        if np.isnan(score) and len(np.asarray(y)) > 1:
            raise ValueError(
                f"R^2 is NaN: y holds numbers as large as {np.max(np.abs(y)):.3g}, whose squares "
                "overflow. Take it in another unit."
            )
        return float(score)

    def log_density(self, X: Any, y: Any) -> Array:
        """The log density of targets under the predictive distribution, a mixture.

        :param X: inputs, [N, D].
        :param y: targets, [N] or [N, Q], as in training.
        :return: [N], in nats, for targets in their own unit; for all targets of a row jointly.
        :raises sklearn.exceptions.NotFittedError: before :meth:`fit`.
        :raises ValueError: if `X` does not have the columns of the training data, if a value is not
            finite, or if `y` has the wrong number of rows or columns.
        """
        X = self._scaled(X)
        refuse_masked("y", y)
        Y = check_array(y, dtype=np.float64, ensure_2d=False)
        check_consistent_length(X, Y)
        if Y.shape[1:] != self.target_shape_:
            raise ValueError(
                f"y has shape {Y.shape}, but the targets in training had {self.target_shape_} "
                "after the rows."
            )
        Y = self.target_scaling_.transform(Y.reshape(len(X), -1))
        standardised = self.posterior_.predict_log_density((X, Y)).numpy()
        return self.target_scaling_.inverse_log_density(standardised)

    def sample_y(self, X: Any, n_samples: int = 1, random_state: Any = 0) -> Array:
        """Draws of new targets: values of functions drawn from the posterior, plus noise.

        The rows of a draw belong to one function. For deep GPs this takes memory of n_samples N^2
        and time of n_samples N^3.

        :param X: inputs, [N, D].
        :param n_samples: number of draws.
        :param random_state: as in scikit-learn.
        :return: [N, n_samples] or [N, Q, n_samples], in the targets' unit.
        :raises sklearn.exceptions.NotFittedError: before :meth:`fit`.
        :raises ValueError: if `X` does not have the columns of the training data, or is not finite,
            if `n_samples` is not a positive integer, or if the likelihood is one of GPflow's whose
            noise is not known here.
        """
        X = self._scaled(X)
        n_samples = positive_integer("n_samples", n_samples)
        rng = check_random_state(random_state)
        draws = self.model_.predict_f_samples(X, n_samples, seed=int(rng.randint(2**31))).numpy()
        Y = self.target_scaling_.inverse(likelihoods.draw(self.model_.likelihood, X, draws, rng))
        return np.moveaxis(Y.reshape(n_samples, len(X), *self.target_shape_), 0, -1)
