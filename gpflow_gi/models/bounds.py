"""Bounds of every model that can draw functions from its posterior."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import tensorflow as tf
from check_shapes import check_shapes
from gpflow.likelihoods import Likelihood

from ..core.pareto import k_hat
from ..core.random import Seed, as_seed, fold_in
from ..core.validation import positive_integer
from ..layers import DataRows
from . import importance, integration, mixture
from .draws import Draws
from .finite import check_outputs
from .no_density import NoDensityError
from .training_loss import TrainingLoss


class Bounds(TrainingLoss):
    """Bounds of the log evidence, and the importance weights behind them.

    Errors, seeds and shapes are those of :class:`~gpflow_gi.models.Predictive`.
    """

    likelihood: Likelihood
    """The likelihood p(y | f)."""

    num_data: int
    """The number of rows that the model is trained on. The expected log likelihood of a minibatch
    is scaled by num_data / B; nothing else is scaled."""

    num_samples: int
    """S, the default number of samples of the bound."""

    missing: str = "error"
    """"ignore" if NaN in Y stands for an output that was not observed."""

    def data_rows(self, data: tuple[Any, Any]) -> DataRows:
        """Rows of the data for a bound, checked.

        :param data: X [B, D] and Y [B, Q], or Y [B, Q + 1] with the index of :meth:`numbered`.
        :return: the rows.
        :raises ValueError: if they do not fit the model.
        """
        return DataRows(*self.check_data(data))

    def arrays_of(self, data: tuple[Any, Any]) -> list[tf.Tensor]:
        """The arrays of the data of a bound, checked.

        :param data: as for a bound.
        :return: X and Y, or none.
        """
        return list(self.check_data(data))

    def numbered(self, Y: tf.Tensor) -> tf.Tensor:
        """Targets with the index of each row as a last column, if a layer needs it; else as given.

        A :class:`~gpflow_gi.layers.LatentVariableLayer` with free posteriors needs it, to find the
        rows of a minibatch.

        :param Y: [N, Q], of all rows of the data.
        :return: [N, Q], or [N, Q + 1].
        """
        return Y

    @abstractmethod
    def draw_for(
        self, X: tf.Tensor, num_samples: int, seed: tf.Tensor, *, joint: bool = False
    ) -> Draws:
        """Draw functions for rows with a known number of columns."""

    def why_no_density(self) -> str:
        """The reason why there is no density q, and an alternative, in sentences for an error."""
        return (
            f"The posterior {type(self).__name__} has no density. Compare it with others by "
            "predict_log_density of held-out rows."
        )

    @check_shapes("return: []")
    def elbo(
        self, data: tuple[Any, Any], num_samples: int | None = None, seed: Seed = None
    ) -> tf.Tensor:
        """An unbiased estimate of the evidence lower bound of all `num_data` rows.

        :param data: X [B, D] and Y [B, Q]: all rows, or a minibatch.
        :param num_samples: S; the model's own by default.
        :param seed: see the class.
        :return: [], in nats.
        :raises ValueError: if the data do not fit the model.
        :raises NoDensityError: if the posterior has no density.
        """
        expected_log_likelihood, kl = self.bound_terms(data, num_samples, seed)
        elbo = expected_log_likelihood - kl
        if tf.executing_eagerly():
            check_outputs(self.arrays_of(data), elbo, what="The bound")
        return elbo

    @check_shapes("return[0]: []", "return[1]: []")
    def bound_terms(
        self, data: tuple[Any, Any], num_samples: int | None = None, seed: Seed = None
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """The two terms of the bound.

        The first minus the second is :meth:`~gpflow_gi.models.Predictive.elbo`.

        The second is the KL divergence in closed form if the draws have one, otherwise its
        estimate, the mean of log q - log p. They may be NaN although the data are finite: training
        checks for that.

        :param data: X [B, D] and Y [B, Q]: all rows, or a minibatch.
        :param num_samples: S; the model's own by default.
        :param seed: see the class.
        :return: the expected log likelihood of all `num_data` rows, and the sum of all
            KL(q || p); two of [], in nats.
        :raises ValueError: if the data do not fit the model, or have no rows.
        :raises NoDensityError: if the posterior has no density.
        """
        log_likelihoods, row_kl, kl = self.row_terms(data, num_samples, seed)
        if row_kl is not None:
            kl += float(self.num_data) * tf.reduce_mean(row_kl)
        # N/B sum_n 1/S sum_s E log p(y_n | f_n)
        return float(self.num_data) * tf.reduce_mean(log_likelihoods), kl

    def row_terms(
        self, data: tuple[Any, Any], num_samples: int | None = None, seed: Seed = None
    ) -> tuple[tf.Tensor, tf.Tensor | None, tf.Tensor]:
        """The terms of the bound that belong to one row each, and the others.

        :param data: X [B, D] and Y [B, Q].
        :param num_samples: S; the model's own by default.
        :param seed: see the class.
        :return: the expected log likelihood of each row, [B], or [S, B] for each of S draws of the
            layers below the last, not scaled; the KL divergence of each row's latent variables,
            [B], or None without any; and all other KL divergences, [], in nats.
        :raises ValueError: if the data do not fit the model, or have no rows.
        :raises NoDensityError: if the posterior has no density.
        """
        rows = self.data_rows(data)
        if rows.X.shape[0] == 0:
            raise ValueError("The bound needs at least one row of data, but X has none.")
        seed = as_seed(seed)
        S = self.num_samples if num_samples is None else num_samples
        draws = self.draw_for(rows.X, S, seed)
        kl = kl_of(draws)
        if kl is None:
            raise NoDensityError(self.why_no_density())
        mean, variance, row_kl = draws.moments_of_data(rows, fold_in(seed, 1))
        log_likelihoods = integration.variational_expectations(
            self.likelihood,
            rows.X,
            mean,
            variance,
            rows.Y,
            fold_in(seed, 2),
            missing=self.missing == "ignore",
        )
        return log_likelihoods, row_kl, kl

    @check_shapes("return: []")
    def iwbo(self, data: tuple[Any, Any], num_samples: int, seed: Seed = None) -> tf.Tensor:
        """An estimate of the importance weighted bound, log 1/S sum_s w_s.

        Its expectation lies between the ELBO and the log evidence and rises with S (Burda, Grosse &
        Salakhutdinov 2016, eq. 8); with S = 1 it is the ELBO.
        :func:`gpflow_gi.bounds.estimate_iwbo` also gives a standard error. Samples are computed in
        compiled chunks; memory does not grow with S. Gaussian process layers draw all rows
        jointly, which takes time of N^3 per sample.

        :param data: X [N, D] and Y [N, Q], all rows that the model is trained on.
        :param num_samples: the number of samples, S.
        :param seed: see the class.
        :return: [], in nats.
        :raises ValueError: if the data do not fit the model, or are not all of its rows.
        :raises NoDensityError: if the posterior has no density.
        """
        log_weights = self.log_importance_weights(data, num_samples, seed)
        return mixture.log_density(log_weights[:, None])[0]

    @check_shapes("return: [S]")
    def log_importance_weights(
        self, data: tuple[Any, Any], num_samples: int, seed: Seed = None
    ) -> tf.Tensor:
        """Compute log p(Y, z) - log q(z) for S draws of all random variables, z ~ q.

        :param data: X [N, D] and Y [N, Q], all rows that the model is trained on.
        :param num_samples: the number of samples, S.
        :param seed: see the class.
        :return: [S], in nats.
        :raises ValueError: if the data do not fit the model, or are not all of its rows.
        :raises NoDensityError: if the posterior has no density.
        """
        X, Y = self.check_data(data)
        if X.shape[0] != self.num_data:
            raise ValueError(
                f"Importance weights need all {self.num_data} rows that the model was built for "
                f"(num_data), but X has {X.shape[0]}: weights of a minibatch give no bound."
            )
        S = positive_integer("num_samples", num_samples)
        seed = as_seed(seed)
        if tf.executing_eagerly():
            log_weights = importance.compiled(self)(X, Y, S, seed)
            check_outputs([X, Y], log_weights, what="A log weight")
            return log_weights
        return importance.log_weights(self, X, Y, S, seed)

    def k_hat(self, data: tuple[Any, Any], num_samples: int = 1000, seed: Seed = None) -> float:
        """The shape k of the importance weights' tail, a measure of the posterior's error.

        Below 0.7 the weights have a usable variance and can correct the posterior; above, bounds
        and predictions can be far off (Vehtari, Simpson, Gelman, Yao & Gabry 2024; Yao et al.
        2018).

        :param data: X [N, D] and Y [N, Q], all rows that the model is trained on.
        :param num_samples: S, at least 25.
        :param seed: see the class.
        :return: the shape k.
        :raises ValueError: as :meth:`log_importance_weights`, or if there are too few samples.
        :raises NoDensityError: if the posterior has no density.
        """
        return k_hat(self.log_importance_weights(data, num_samples, seed).numpy())


def kl_of(draws: Draws) -> tf.Tensor | None:
    """KL(q || p), or its estimate: []; None if there is no density."""
    if draws.kl is not None:
        return tf.reduce_mean(draws.kl)
    ratio = draws.log_p_minus_log_q
    return None if ratio is None else -tf.reduce_mean(ratio)
