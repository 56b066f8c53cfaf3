"""The training loss for GPflow's and Keras' optimizers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

import tensorflow as tf
from gpflow.models import BayesianModel, ExternalDataTrainingLossMixin

from ..core.random import Seed
from ..layers.row_latents import DataRows


class TrainingLoss(BayesianModel, ExternalDataTrainingLossMixin):
    """A model whose training loss is stochastic, with a seed."""

    @abstractmethod
    def elbo(
        self, data: tuple[Any, Any], num_samples: int | None = None, seed: Seed = None
    ) -> tf.Tensor:
        """An unbiased estimate of the evidence lower bound, [], in nats."""

    @abstractmethod
    def data_rows(self, data: tuple[Any, Any]) -> DataRows:
        """Rows of the data for a bound, checked."""

    def maximum_log_likelihood_objective(
        self, data: tuple[Any, Any], seed: Seed = None
    ) -> tf.Tensor:
        """The bound, under the name that GPflow's training utilities use.

        :param data: as in :meth:`elbo`.
        :param seed: see the class.
        :return: [], in nats.
        """
        return self.elbo(data, seed=seed)

    def training_loss(self, data: tuple[Any, Any], seed: Seed = None) -> tf.Tensor:
        """The negative sum of the bound and the log density of the parameters' priors.

        :param data: as in :meth:`elbo`.
        :param seed: see the class.
        :return: [], in nats.
        """
        return self._training_loss(data, seed=seed)

    def training_loss_closure(
        self, data: Any, *, compile: bool = True, seed: Seed = None
    ) -> Callable[[], tf.Tensor]:
        """The training loss as a function without arguments, for GPflow's and Keras' optimizers.

        :param data: as in :meth:`elbo`, or an iterator over a ``tf.data.Dataset`` of
            minibatches.
        :param compile: True to wrap the loss into ``tf.function``.
        :param seed: with a seed the closure is a deterministic function of the parameters (and of
            the batch), as L-BFGS needs; without, each call has new noise.
        :return: a function that returns [], in nats, and takes the next minibatch from an iterator.
        :raises ValueError: if the data do not fit the model, or if `data` is neither.
        """

        def loss(*batch: tf.Tensor) -> tf.Tensor:
            return self.training_loss(batch, seed=seed)

        if isinstance(data, Iterator):
            compiled = (
                tf.function(loss, reduce_retracing=True, autograph=False) if compile else loss
            )
            return lambda: compiled(*next(data))
        if isinstance(data, tf.data.Dataset):
            raise ValueError(
                "data must be a pair (X, Y), or an iterator over such pairs as iter(dataset) is, "
                f"but is {type(data).__name__}."
            )
        rows = self.data_rows(data)
        X, Y = rows.X, rows.Y
        if rows.index is not None:
            Y = tf.concat([Y, tf.cast(rows.index, Y.dtype)[:, None]], axis=1)
        compiled = tf.function(loss, autograph=False) if compile else loss
        return lambda: compiled(X, Y)
