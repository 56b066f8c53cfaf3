"""Deep Gaussian processes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .base import Array, Estimator
from .classifier import Classifier
from .regressor import Regressor

if TYPE_CHECKING:
    from gpflow.likelihoods import Likelihood

    from ..models import DeepGP


class _DeepGPEstimator(Estimator):
    # Estimators that earlier versions have pickled have no values of their own.
    shared_precision: bool = True
    whiten: bool = False
    own_share: float = 0.0

    def __init__(
        self,
        num_layers: int = 2,
        *,
        inference: Any = "global",
        shared_precision: bool = True,
        whiten: bool = False,
        own_share: float = 0.0,
        num_inducing: int = 100,
        kernel: Any = None,
        latent_dim: int = 0,
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

        :param num_layers: number of GP layers.
        :param inference: "global", "local", "full", "prior", or a list of these with one per layer,
            of which the last may be "optimal": see :func:`gpflow_gi.architectures.build_deep_gp`.
        :param shared_precision: False for a pseudo-precision of each unit of hidden layers with
            global inducing points, in place of one that all share; see there.
        :param whiten: True for whitened pseudo-outputs in these layers.
        :param own_share: the share of the inducing points that each layer with global ones has for
            itself, from 0 to less than 1; the last layer and "full" ones, too.
        :param num_inducing: largest number of inducing points; at most one per different row.
        :param kernel: see :func:`gpflow_gi.architectures.build_deep_gp`; by default a squared
            exponential with one lengthscale per input.
        :param latent_dim: number of latent variables of each row, for noise that is not Gaussian;
            training then maximises the importance weighted bound, which takes longer. See
            :class:`gpflow_gi.layers.LatentVariableLayer`.
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
        self.num_layers = num_layers
        self.inference = inference
        self.shared_precision = shared_precision
        self.whiten = whiten
        self.own_share = own_share
        self.num_inducing = num_inducing
        self.kernel = kernel
        self.latent_dim = latent_dim
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
        from ..architectures import build_deep_gp

        return build_deep_gp(
            X,
            Y,
            num_layers=self.num_layers,
            inference=self.inference,
            shared_precision=self.shared_precision,
            whiten=self.whiten,
            own_share=self.own_share,
            kernel=self.kernel,
            latent_dim=self.latent_dim,
            likelihood=likelihood,
            **settings,
        )


class DeepGPRegressor(Regressor, _DeepGPEstimator):
    """A deep Gaussian process for regression.

    >>> import numpy as np
    >>> X = np.linspace(0.0, 9.0, 30)[:, None]
    >>> model = DeepGPRegressor(num_inducing=10, steps=50, random_state=0).fit(X, np.sin(X[:, 0]))
    >>> mean, std = model.predict(X, return_std=True)
    >>> mean.shape, std.shape
    ((30,), (30,))
    """


class DeepGPClassifier(Classifier, _DeepGPEstimator):
    """A deep Gaussian process for classification."""
