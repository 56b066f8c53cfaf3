"""Code shared by all estimators: scaling, training, and the posterior for predictions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils import _safe_indexing, check_random_state, check_X_y
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    check_is_fitted,
    validate_data,
)

from ..core.validation import is_one_of, refuse_masked, shown, true_or_false
from ..datasets import Standardiser
from ..datasets.new_rows import typed_rows
from . import frames

if TYPE_CHECKING:
    from gpflow.likelihoods import Likelihood

    from ..datasets.preprocessing import Preprocessing
    from ..models import DeepGP
    from ..objectives import Objective

Array = NDArray[np.float64]

OF_TRAINING = frozenset(
    "steps batch_size learning_rate tol n_iter_no_change num_posterior_samples preprocess "
    "warm_start random_state verbose".split()
)
"""Names of parameters that may change from one `fit` to the next with `warm_start`."""

Fit = TypeVar("Fit", bound=Callable[..., Any])


def whole_or_not_at_all(fit: Fit) -> Fit:
    """Let an estimator be as before if `fit` fails: never a new scaling beside an old model.

    With `warm_start` the model is trained in place: its variables get their values back.
    """

    @wraps(fit)
    def fitted(self: Estimator, *args: Any, **kwargs: Any) -> Any:
        before = dict(vars(self))
        model = before.get("model_") if self.warm_start else None
        if model is not None:
            from ..core.jitter import jitter_scales

            num_data, variables = model.num_data, [*model.variables, *jitter_scales(model)]
            values = [variable.numpy() for variable in variables]
        try:
            return fit(self, *args, **kwargs)
        except BaseException:
            self.__dict__ = before
            if model is not None:
                model.num_data = num_data
                for variable, value in zip(variables, values, strict=True):
                    variable.assign(value)
            raise

    return cast(Fit, fitted)


class Estimator(BaseEstimator):
    """A model of this library behind scikit-learn's interface.

    Inputs are standardised inside, with the mean and scale of the training rows. Predictions use
    draws that are kept (:meth:`gpflow_gi.models.Predictive.posterior`): they are the same in every
    call, and the prediction for a row does not depend on the other rows.

    After ``fit``: ``model_`` is the :class:`gpflow_gi.models.DeepGP`, ``posterior_`` makes the
    predictions, and ``fit_record_`` is the record of training, of ``n_iter_`` steps.

    Subclasses set the parameters that this class reads: ``num_inducing``, ``steps``,
    ``batch_size``, ``learning_rate``, ``tol``, ``n_iter_no_change``, ``num_posterior_samples``,
    ``likelihood``, ``preprocess``, ``warm_start``, ``random_state`` and ``verbose``.
    """

    num_inducing: int
    steps: int
    batch_size: int
    learning_rate: float
    tol: float | None
    n_iter_no_change: int
    num_posterior_samples: int
    likelihood: Any
    preprocess: str | None
    warm_start: bool
    random_state: Any
    verbose: bool
    model_: DeepGP
    preprocessing_: Preprocessing | None

    @abstractmethod
    def _build(self, X: Array, Y: Array, likelihood: Likelihood, **settings: Any) -> DeepGP:
        """Build the model; `settings` are the number of inducing points and a seed."""

    def _train(
        self, X: Array, Y: Array, likelihood: Likelihood, weights: Array | None = None
    ) -> None:
        """Fit the inputs' scaling and the model.

        :param X: [N, D], as given by the user.
        :param Y: [N, Q], as the likelihood takes them.
        :param weights: [N], of the rows, positive; None for equal ones.
        :raises ValueError: if a parameter has an invalid value.
        """
        from ..benchmark.budgets import Budget
        from ..benchmark.train import inducing_for, train_by
        from ..core.validation import positive_integer, positive_number
        from ..posteriors.optimal import optimal_of
        from ..training import NoRise

        learning_rate = positive_number("learning_rate", self.learning_rate)
        # Needed only after training: an error is better raised before it.
        S = positive_integer("num_posterior_samples", self.num_posterior_samples)
        steps = positive_integer("steps", self.steps)
        num_inducing = positive_integer("num_inducing", self.num_inducing)
        wait = positive_integer("n_iter_no_change", self.n_iter_no_change)
        rule = False if self.tol is None else NoRise(self.tol, wait)
        seed = int(check_random_state(self.random_state).randint(2**31))
        going_on = self._goes_on()
        if not going_on:
            self.input_scaling_ = Standardiser.fit(X, weights)
        X = self.input_scaling_.transform(X)
        if going_on:
            self._check_unchanged()
            model = self.model_
            if model.latents and model.num_data != len(X):
                raise ValueError(
                    f"With warm_start, X must have the {model.num_data} rows of the earlier "
                    f"training, whose latent variables the model has, but has {len(X)}."
                )
            if model.num_data != len(X) and optimal_of(model) is not None:
                raise ValueError(
                    f"With warm_start, X must be the {model.num_data} rows of the earlier "
                    f"training, which the optimal last layer holds, but has {len(X)}."
                )
            model.num_data = len(X)
        else:
            number = inducing_for(X, num_inducing)
            model = self._build(X, Y, likelihood, num_inducing=number, seed=seed)
            self._built_with = self._architecture()
        budget = Budget(
            name=type(self).__name__,
            steps=steps,
            learning_rate=learning_rate,
            last_learning_rate=0.0,
            kl_warmup=0 if going_on else steps // 4,
            batch_size=self.batch_size,
            num_inducing=num_inducing,
            num_samples=1,
            num_test_samples=S,
            num_elbo_samples=S,
        )
        self.fit_record_ = train_by(
            budget,
            model,
            (X, Y),
            seed=seed,
            progress=self.verbose,
            until_converged=rule,
            objective=None if weights is None else _weighted_objective(model, weights),
        )
        self.n_iter_ = self.fit_record_.step
        self.model_ = model
        self.posterior_ = model.posterior(S, seed=seed)

    def _goes_on(self) -> bool:
        """True if `fit` goes on with the model of the last one."""
        return true_or_false("warm_start", self.warm_start) and hasattr(self, "model_")

    def _architecture(self) -> dict[str, Any]:
        """The parameters from which the model is built."""
        parameters = self.get_params(deep=False)
        return {
            name: [*value] if isinstance(value, list) else value
            for name, value in parameters.items()
            if name not in OF_TRAINING
        }

    def _check_unchanged(self) -> None:
        """Check that the model is still what the parameters say.

        :raises ValueError: if one of them has changed since it was built.
        """
        if not hasattr(self, "_built_with"):  # of version 0.1.0
            return
        for name, value in self._architecture().items():
            # A parameter that was added after the model was built had its default.
            default = getattr(type(self), name, None)
            built = self._built_with.get(name, default)
            if not _is_same(value, built):
                raise ValueError(
                    f"With warm_start, {name} must be that of the earlier training, "
                    f"{shown(built)}, but is {shown(value)}. With warm_start=False fit builds a "
                    "new model."
                )

    def _numbers(self, X: Any, weights: Array | None) -> Any:
        """Training inputs without columns of other kinds than numbers, if these are preprocessed.

        :param weights: [N], of the rows; None for equal ones.
        :raises ValueError: if a column cannot be used, or if `preprocess` has an invalid value.
        """
        refuse_masked("X", X)
        if self.preprocess is not None and not is_one_of(self.preprocess, ["auto", "median"]):
            raise ValueError(
                f'preprocess must be "auto", "median" or None, but is {shown(self.preprocess)}.'
            )
        if self._goes_on():
            return self._preprocessed(X)
        self.preprocessing_ = None
        if self.preprocess is None or not frames.needs_preprocessing(X, self.preprocess):
            return X
        X, self.preprocessing_ = frames.learn(X, self.preprocess == "median", weights)
        return X

    def _preprocessed(self, X: Any) -> Any:
        refuse_masked("X", X)
        preprocessing = self.preprocessing_
        return X if preprocessing is None else preprocessing.transform(typed_rows(X, preprocessing))

    def _checked(self, given: Any, y: Any, weights: Array | None, **checks: Any) -> tuple[Any, Any]:
        """Training rows, checked by scikit-learn; names and number of columns are kept.

        :param given: X as the user gave it.
        :param y: targets.
        :param weights: [N], of the rows; None for equal ones.
        :param checks: of :func:`sklearn.utils.check_X_y`.
        """
        going_on = self._goes_on()
        X = self._numbers(given, weights)
        if self.preprocessing_ is None:
            return validate_data(self, X, y, reset=not going_on, dtype=np.float64, **checks)
        if not going_on:
            self.feature_names_in_ = np.array(given.columns, dtype=object)
            self.n_features_in_ = len(given.columns)
        return check_X_y(X, y, dtype=np.float64, **checks)

    def _weighted(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Array | None]:
        """Rows without those of weight zero, and the weights of the others.

        :param X: inputs, as the user gave them, like `y`.
        :param sample_weight: [N], or None.
        :raises ValueError: if they are not finite numbers of at least zero, one for each row, or if
            all are zero.
        """
        if sample_weight is None:
            return X, y, None
        refuse_masked("sample_weight", sample_weight)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        there = weights > 0
        if not there.any():
            raise ValueError("sample_weight is zero for every row: there is nothing to train on.")
        if there.all() or y is None or issparse(X):  # what is wrong, scikit-learn says
            return X, y, weights
        check_consistent_length(X, y)
        rows = np.flatnonzero(there)
        return _safe_indexing(X, rows), _safe_indexing(y, rows), weights[there]

    def _scaled(self, X: Any) -> Array:
        """Scale inputs for predictions: [N, D]."""
        check_is_fitted(self, "posterior_")
        if self.preprocessing_ is not None:
            return self.input_scaling_.transform(self._preprocessed(X))
        refuse_masked("X", X)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return self.input_scaling_.transform(X)


def _is_same(value: Any, earlier: Any) -> bool:
    """True for equal numbers, texts, arrays or sequences of them, and for the same object."""
    if isinstance(value, list | tuple) and isinstance(earlier, list | tuple):
        return len(value) == len(earlier) and all(map(_is_same, value, earlier))
    is_plain = isinstance(value, str | np.generic | int | float | np.ndarray)
    return value is earlier or (is_plain and np.array_equal(value, earlier))


def _weighted_objective(model: DeepGP, weights: Array) -> Objective:
    """The objective of a model without weights, with weights."""
    from ..benchmark.train import NUM_LATENT_SAMPLES
    from ..objectives import ImportanceWeighted, WeightedBound

    if model.latents:
        return ImportanceWeighted(NUM_LATENT_SAMPLES, weights)
    return WeightedBound(weights)
