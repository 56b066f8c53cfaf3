"""What all estimators have in common: scaling, training, and the posterior that predicts."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from ..core.validation import refuse_masked
from ..datasets import Standardiser

if TYPE_CHECKING:
    from gpflow.likelihoods import Likelihood

    from ..models import DeepGP

Array = NDArray[np.float64]


class Estimator(BaseEstimator):
    """A model of this library behind scikit-learn's interface.

    Inputs are standardised inside, by the rows that the estimator is fitted to. Predictions come
    from draws that are kept (:meth:`gpflow_gi.models.Predictive.posterior`): they are the same at
    every call, and of a row whatever the rows beside it.

    After ``fit``: ``model_`` is the :class:`gpflow_gi.models.DeepGP`, ``posterior_`` what predicts,
    and ``fit_record_`` the course of training.

    Subclasses set the parameters that are read here: ``num_inducing``, ``steps``, ``batch_size``,
    ``learning_rate``, ``num_posterior_samples``, ``random_state`` and ``verbose``.
    """

    num_inducing: int
    steps: int
    batch_size: int
    learning_rate: float
    num_posterior_samples: int
    random_state: Any
    verbose: bool

    @abstractmethod
    def _build(self, X: Array, Y: Array, likelihood: Likelihood, **settings: Any) -> DeepGP:
        """The model before training; `settings` are the number of inducing points and a seed."""

    def _train(self, X: Array, Y: Array, likelihood: Likelihood) -> None:
        """Fit the inputs' scaling and the model.

        :param X: [N, D], as the user gave them.
        :param Y: [N, Q], as the likelihood takes them.
        :raises ValueError: if a parameter has a value that makes no sense.
        """
        from ..benchmark.budgets import Budget
        from ..benchmark.train import inducing_for, train_by
        from ..core.validation import positive_integer, positive_number

        learning_rate = positive_number("learning_rate", self.learning_rate)
        # Needed when training is done: a mistake is better found before.
        S = positive_integer("num_posterior_samples", self.num_posterior_samples)
        steps = positive_integer("steps", self.steps)
        num_inducing = positive_integer("num_inducing", self.num_inducing)
        seed = int(check_random_state(self.random_state).randint(2**31))
        self.input_scaling_ = Standardiser.fit(X)
        X = self.input_scaling_.transform(X)
        model = self._build(X, Y, likelihood, num_inducing=inducing_for(X, num_inducing), seed=seed)
        budget = Budget(
            name=type(self).__name__,
            steps=steps,
            learning_rate=learning_rate,
            last_learning_rate=0.1 * learning_rate,
            kl_warmup=steps // 4,
            batch_size=self.batch_size,
            num_inducing=num_inducing,
            num_samples=1,
            num_test_samples=S,
            num_elbo_samples=S,
        )
        self.fit_record_ = train_by(budget, model, (X, Y), seed=seed, progress=self.verbose)
        self.model_ = model
        self.posterior_ = model.posterior(S, seed=seed)

    def _scaled(self, X: Any) -> Array:
        """Inputs for predictions, as the model takes them: [N, D]."""
        check_is_fitted(self)
        refuse_masked("X", X)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return self.input_scaling_.transform(X)
