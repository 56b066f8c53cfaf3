"""The objective of training: two terms, the second weighted, plus the log prior."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import gpflow
import tensorflow as tf

Terms: TypeAlias = tuple[tf.Tensor, tf.Tensor]
"""Expected log likelihood [], scaled to all rows, and KL divergence [], in nats."""

Batch: TypeAlias = tuple[tf.Tensor, ...]
"""Inputs X [B, D], or images [B, H, W, C], and targets Y [B, Q]; with the weights of rows, [B], if
the objective has any."""


class Objective(ABC):
    """The objective of :func:`gpflow_gi.fit`: first term - weight * second term + log prior.

    A subclass has a `name` and `terms`. The name is shown in progress, records and warnings; only
    :class:`Elbo` is called ELBO there. For example, to fit the data and nothing else::

        class ExpectedLogLikelihood(gi.objectives.Objective):
            name = "expected log likelihood"

            def terms(self, model, batch, num_samples, seed):
                first, kl = model.bound_terms(batch, num_samples, seed)
                return first, tf.zeros_like(kl)

        gi.fit(model, data, steps=1000, objective=ExpectedLogLikelihood())
    """

    name: str
    """Name in progress, records and warnings."""

    temperature: float = 1.0
    """The weight of the second term after KL warm-up."""

    augment: Callable[[tf.Tensor, tf.Tensor], Any] | None = None
    """Function from a step's rows X [B, ...] and a seed [2] to the rows used, or None."""

    weights: tf.Tensor | None = None
    """Weights of the rows of the data, [N]; None for none. Those of a step's rows are the third
    part of its batch."""

    shows_elbo: bool = True
    """True if progress and record also show the ELBO, which takes one pass for each report; False
    for models without an ELBO."""

    trainable_variables: Sequence[tf.Variable] = ()
    """Variables of the objective, trained and saved in checkpoints with those of the model."""

    auxiliary_variables: Sequence[tf.Variable] = ()
    """Variables that :meth:`auxiliary_loss` trains, such as those of a classifier: one step of
    `auxiliary_optimizer` after each step of the model. They are saved in checkpoints."""

    box: tuple[Any, Any] | None = None
    """The least and the largest training input in each column, two of [D]; found before
    :meth:`build` if :attr:`needs_box` is True."""

    needs_box: bool = False
    """True for an objective that needs :attr:`box`."""

    auxiliary_optimizer: Any = None
    """The Keras optimizer of `auxiliary_variables`, of ``gpflow.keras.tf_keras.optimizers``."""

    @abstractmethod
    def terms(self, model: Any, batch: Batch, num_samples: int | None, seed: tf.Tensor) -> Terms:
        """Compute the two terms, in TensorFlow operations.

        :param model: the model in training.
        :param batch: X [B, D] and Y [B, Q]: rows of a step, after augmentation.
        :param num_samples: S; None for the model's own number.
        :param seed: [2], seed of the samples.
        :return: expected log likelihood [], scaled to all rows, and KL divergence [], in nats.
        """

    def check(self, model: Any, num_samples: int | None) -> None:  # noqa: B027
        """Refuse a model for which the objective is not defined; by default accept all.

        :raises TypeError: for such a model.
        :raises ValueError: if `num_samples` has no meaning for the model.
        """

    def build(self, model: Any, data: Batch) -> None:  # noqa: B027
        """Make what depends on the model or its data; by default nothing.

        It is called once before training, after :meth:`check`.

        :param model: the model to be trained.
        :param data: X and Y: all rows of arrays, the first batch of a ``tf.data.Dataset``, the
            first thousand rows of :class:`gpflow_gi.training.NarrowRows`.
        :raises ValueError: if the objective was built for another kind of model before.
        """

    def auxiliary_loss(
        self, model: Any, batch: Batch, num_samples: int | None, seed: tf.Tensor
    ) -> tf.Tensor:
        """The loss of `auxiliary_variables`, in TensorFlow operations.

        :param model: the model, after its step.
        :param batch: X [B, D] and Y [B, Q]: the rows of the step.
        :param num_samples: S; None for the model's own number.
        :param seed: [2], another one than that of :meth:`terms`.
        :return: [], to be minimised.
        """
        raise NotImplementedError(f"{type(self).__name__} has no auxiliary variables.")

    def kl_weight(self, step: Any, warmup: int) -> tf.Tensor:
        """The second term's weight: temperature * min((step + 1) / warmup, 1).

        The first step has weight 1 / warmup, not 0, so the objective of every step contains the KL
        term (and shows that it is not finite).

        :param step: [], counting from 0.
        :param warmup: number of steps; 0 for none.
        :return: [], GPflow's default float.
        """
        weight = tf.constant(self.temperature, gpflow.default_float())
        if warmup == 0:
            return weight
        return weight * tf.minimum(tf.cast(step + 1, weight.dtype) / warmup, 1.0)


def refuse_objective(model: Any) -> None:
    """Refuse an objective in the place of a model whose evidence is to be bounded.

    :raises TypeError: if it is one.
    """
    if isinstance(model, Objective):
        raise TypeError(
            f"{type(model).__name__} is an objective of training, which need not be a bound on the "
            "evidence; its values are in the record of gpflow_gi.fit. For a bound, give the model."
        )
