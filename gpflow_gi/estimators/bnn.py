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
    # Estimators that earlier versions have pickled have no value of their own.
    shared_precision: bool = True

    def __init__(
        self,
        widths: Sequence[int] = (50, 50),
        *,
        inference: Any = "global",
        shared_precision: bool = True,
        prior: Any = "neal",
        prior_scale: float = 2.0,
        nonlinearity: Any = "relu",
        num_inducing: int = 100,
        steps: int = 1000,
        batch_size: int = 256,
        learning_rate: float = 0.03,
        tol: float | None = None,
        n_iter_no_change: int = 200,
        num_posterior_samples: int = 100,
        likelihood: Any = "auto",
        preprocess: str | None = "auto",
        warm_start: bool = False,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        """Set the parameters; they are not used before :meth:`fit`.

        :param widths: widths of the hidden layers.
        :param inference: "global", "local", "factorised", "factorised -> global" and more: see
            :func:`gpflow_gi.architectures.build_bnn`.
        :param shared_precision: False for a pseudo-precision of each unit of hidden layers with
            global inducing points, in place of one that all share; see there.
        :param prior: "neal", "standard", "scale", "learned" or "ard", or a function that makes one.
        :param prior_scale: factor on the weights' standard deviation, if `prior` is a name.
        :param nonlinearity: after each hidden layer, a name or an elementwise function.
        :param num_inducing: largest number of inducing points; at most one per different row.
        :param steps: number of steps of Adam.
        :param batch_size: largest number of rows of a step.
        :param learning_rate: learning rate of Adam in the first half of the steps; in the second
            it falls linearly to zero.
        :param tol: the smallest rise of the objective that counts, in nats per row. Training ends
            when the mean of `n_iter_no_change` steps is not higher by more than that than the mean
            of as many steps before; `steps` is then the limit. None for all steps.
        :param n_iter_no_change: see `tol`; in steps.
        :param num_posterior_samples: number of draws of the layers below the last; predictions are
            averages over them.
        :param likelihood: "auto" for Gaussian noise in regression, and a probit (two classes) or a
            softmax in classification; "gaussian", "student-t", "heteroskedastic" (the noise depends
            on the inputs), "poisson" (counts), "bernoulli" (0 and 1); or a GPflow likelihood.
        :param preprocess: "auto" for data frames with columns that are not numbers: truth values
            become 1 and 0, dates days, and each category an input, as
            :func:`gpflow_gi.datasets.read_csv` has them. "median" also replaces missing values of
            data frames. None takes numbers alone. A frame of numbers whose columns have no names
            that are texts is an array, as in scikit-learn.
        :param warm_start: True to go on, in a further :meth:`fit`, with the model of the last one
            and its scaling and preprocessing, instead of a new one. Parameters of the model and its
            likelihood must stay as they were.
        :param random_state: as in scikit-learn; an integer makes everything repeatable.
        :param verbose: show the progress of training.
        """
        self.widths = widths
        self.inference = inference
        self.shared_precision = shared_precision
        self.prior = prior
        self.prior_scale = prior_scale
        self.nonlinearity = nonlinearity
        self.num_inducing = num_inducing
        self.steps = steps
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.num_posterior_samples = num_posterior_samples
        self.likelihood = likelihood
        self.preprocess = preprocess
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    def _build(self, X: Array, Y: Array, likelihood: Likelihood, **settings: Any) -> DeepGP:
        from ..architectures import build_bnn

        return build_bnn(
            X,
            Y,
            widths=self.widths,
            inference=self.inference,
            shared_precision=self.shared_precision,
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
