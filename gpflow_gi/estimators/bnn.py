"""Bayesian neural networks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .base import Array, Estimator
from .classifier import Classifier
from .regressor import Regressor

if TYPE_CHECKING:
    from gpflow.likelihoods import Likelihood

    from ..models import DeepGP


class _BNNEstimator(Estimator):
    def __init__(
        self,
        widths: Sequence[int] = (50, 50),
        *,
        inference: Any = "global",
        prior: Any = "neal",
        prior_scale: float = 2.0,
        nonlinearity: Any = "relu",
        num_inducing: int = 100,
        steps: int = 2000,
        batch_size: int = 256,
        learning_rate: float = 0.02,
        num_posterior_samples: int = 100,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        """Set the parameters; nothing is done with them before :meth:`fit`.

        :param widths: of the hidden layers.
        :param inference: "global", "local", "factorised", "factorised -> global" and more: see
            :func:`gpflow_gi.architectures.build_bnn`.
        :param prior: "neal", "standard" or "scale", or a function that makes one.
        :param prior_scale: the factor on the weights' standard deviation, where `prior` is a name.
        :param nonlinearity: after each hidden layer, a name or an elementwise function.
        :param num_inducing: inducing points, at most; no more than there are different rows.
        :param steps: of Adam.
        :param batch_size: rows of a step, at most.
        :param learning_rate: of the first half of the steps; the second has a tenth.
        :param num_posterior_samples: draws of the layers below the last that predictions average.
        :param random_state: as scikit-learn takes it; an integer makes everything repeatable.
        :param verbose: show the progress of training.
        """
        self.widths = widths
        self.inference = inference
        self.prior = prior
        self.prior_scale = prior_scale
        self.nonlinearity = nonlinearity
        self.num_inducing = num_inducing
        self.steps = steps
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.num_posterior_samples = num_posterior_samples
        self.random_state = random_state
        self.verbose = verbose

    def _build(self, X: Array, Y: Array, likelihood: Likelihood, **settings: Any) -> DeepGP:
        from ..architectures import build_bnn

        return build_bnn(
            X,
            Y,
            widths=self.widths,
            inference=self.inference,
            prior=self.prior,
            prior_scale=self.prior_scale,
            nonlinearity=self.nonlinearity,
            likelihood=likelihood,
            **settings,
        )


class BNNRegressor(Regressor, _BNNEstimator):
    """A Bayesian neural network for regression."""


class BNNClassifier(Classifier, _BNNEstimator):
    """A Bayesian neural network for classification."""
