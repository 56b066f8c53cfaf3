"""What training maximises: two terms, the second weighted, plus the log prior."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import gpflow
import tensorflow as tf

Terms: TypeAlias = tuple[tf.Tensor, tf.Tensor]
"""Expected log likelihood [], scaled to all rows, and KL divergence [], in nats."""

Batch: TypeAlias = tuple[tf.Tensor, tf.Tensor]
"""X [B, D], or images [B, H, W, C], and Y [B, Q]."""


class Objective(ABC):
    """What :func:`gpflow_gi.fit` maximises: first term - weight * second term + log prior.

    A subclass has a `name` and `terms`. The name is shown in progress, records and warnings; no
    other than :class:`Elbo` is called ELBO there. For instance, to fit the data and nothing else::

        class ExpectedLogLikelihood(gi.objectives.Objective):
            name = "expected log likelihood"

            def terms(self, model, batch, num_samples, seed):
                first, kl = model.bound_terms(batch, num_samples, seed)
                return first, tf.zeros_like(kl)

        gi.fit(model, data, steps=1000, objective=ExpectedLogLikelihood())
    """

    name: str
    """By which it is shown."""

    temperature: float = 1.0
    """The weight of the second term after KL warm-up."""

    augment: Callable[[tf.Tensor, tf.Tensor], Any] | None = None
    """Gives the rows that a step sees, from its rows X [B, ...] and a seed [2]; None for them."""

    shows_elbo: bool = True
    """Whether progress and record show the ELBO too, which takes one pass for each report. False
    for models that have none."""

    trainable_variables: Sequence[tf.Variable] = ()
    """Variables of its own, trained and saved in checkpoints with those of the model."""

    @abstractmethod
    def terms(self, model: Any, batch: Batch, num_samples: int | None, seed: tf.Tensor) -> Terms:
        """Compute the two terms, in TensorFlow operations.

        :param model: what is trained.
        :param batch: X [B, D] and Y [B, Q]: rows of a step, augmented already.
        :param num_samples: S; None for the model's own number.
        :param seed: [2], of the samples.
        :return: expected log likelihood [], scaled to all rows, and KL divergence [], in nats.
        """

    def check(self, model: Any, num_samples: int | None) -> None:  # noqa: B027
        """Refuse a model that the objective is not defined for; the default takes any.

        :raises TypeError: for such a model.
        :raises ValueError: if `num_samples` has no meaning for it.
        """

    def kl_weight(self, step: Any, warmup: int) -> tf.Tensor:
        """The second term's weight: temperature * min((step + 1) / warmup, 1).

        The first step has weight 1 / warmup, not 0, so that every step's objective sees the KL term
        (and shows it when it is not finite).

        :param step: [], counting from 0.
        :param warmup: in steps; 0 for none.
        :return: [], GPflow's default float.
        """
        weight = tf.constant(self.temperature, gpflow.default_float())
        if warmup == 0:
            return weight
        return weight * tf.minimum(tf.cast(step + 1, weight.dtype) / warmup, 1.0)
