"""The bound for rows that every step augments."""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from ..core.callables import name_of, reason_of
from ..core.validation import positive_number, shown
from .elbo import _OfTheBound


class AugmentedBound(_OfTheBound):
    """The bound for augmented rows, new at every step; it bounds the log evidence of no data set.

    The inducing points do not depend on them.

    :param augment: a function from the rows of a step, in the shape of the data ([B, D] or
        [B, H, W, C]), and a seed [2] to rows of the same shape, in TensorFlow operations:
        :func:`gpflow_gi.training.augmented`, or ``functools.partial(augmented, padding=2)``.
    :param temperature: T, a weight on the KL term: see :class:`TemperedBound`.
    :raises TypeError: if `augment` is not callable, or `temperature` is not a number.
    :raises ValueError: if `temperature` is not positive or not finite.
    """

    def __init__(
        self, augment: Callable[[tf.Tensor, tf.Tensor], Any], *, temperature: float = 1.0
    ) -> None:
        if not callable(augment):
            raise TypeError(
                f"augment must be a callable that takes X and a seed, not {shown(augment)}."
            )
        self.augment = augment
        self.temperature = positive_number("temperature", temperature)

    @property
    def name(self) -> str:  # type: ignore[override]
        return "augmented bound" if self.temperature == 1.0 else "tempered augmented bound"


def check_augment(augment: Callable[[tf.Tensor, tf.Tensor], Any], X: tf.Tensor) -> None:
    """Check that a function maps the rows of a step to rows of the same shape and type.

    :param augment: function of rows and a seed [2].
    :param X: rows of a step, [B, D] or [B, H, W, C].
    :raises ValueError: if it fails on such rows in a graph, or changes their shape or type.
    """
    wanted = f"shape {X.shape.as_list()} and type {X.dtype.name}"
    try:
        made = tf.function(lambda X, seed: tf.convert_to_tensor(augment(X, seed)), autograph=False)(
            X, tf.zeros([2], tf.int32)
        )
    except Exception as error:
        raise ValueError(
            f"augment={name_of(augment)} failed on rows of {wanted} and an int32 seed of shape "
            f"[2]; it must be written in TensorFlow operations. The error says: {reason_of(error)}"
        ) from None
    if made.shape != X.shape or made.dtype != X.dtype:
        raise ValueError(
            f"augment={name_of(augment)} must return rows like those that it takes, of {wanted}, "
            f"but returned shape {made.shape.as_list()} and type {made.dtype.name}."
        )
