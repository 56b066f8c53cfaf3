"""The optimizer and its learning rate."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import gpflow
import numpy as np
import tensorflow as tf
from gpflow.keras import tf_keras

from ..core.adam import Adam
from ..core.callables import name_of, reason_of
from ..core.validation import positive_integer, positive_number, shown

Schedule: TypeAlias = Callable[[tf.Tensor], tf.Tensor]
"""A function from the step, [] int64, counting from 0, to the learning rate []."""

DEFAULT_LEARNING_RATE = 0.01

_TRIED_STEPS = 11
"""Number of steps for which a schedule is tried before training."""


def make_optimizer(
    optimizer: Any, learning_rate: Any, variables: list[tf.Variable], steps: int = 1
) -> tuple[Any, Schedule | None]:
    """Return the optimizer, ready for `variables`, and the schedule for its rate, if any.

    :param optimizer: an optimizer from ``gpflow.keras.tf_keras.optimizers``; None for Adam.
    :param learning_rate: a number, a Keras LearningRateSchedule or a callable step -> rate. None
        keeps the rate of the optimizer (0.01 if `optimizer` is None too).
    :param steps: number of steps of the run, for some of which a callable is tried.
    :raises TypeError: if one of them is of another type, or is GPflow's NaturalGradient.
    :raises ValueError: if `learning_rate` is not positive, if the optimizer already has its own
        schedule, or if it was used for other variables before.
    """
    if optimizer is None:
        # XLA for a single update has only costs: the whole loop is compiled already.
        optimizer = Adam(DEFAULT_LEARNING_RATE, jit_compile=False)
    elif not isinstance(optimizer, tf_keras.optimizers.Optimizer):
        module = type(optimizer).__module__
        raise TypeError(
            "optimizer must come from gpflow.keras.tf_keras.optimizers, but is "
            f"{module}.{type(optimizer).__name__}."
        )
    if isinstance(optimizer, gpflow.optimizers.NaturalGradient):
        raise TypeError(
            "optimizer is a NaturalGradient, whose steps only its own minimize() takes: fit cannot,"
            " and replicas of a strategy would each take another one. Leave it out for Adam."
        )
    optimizer.build(variables)
    known = getattr(optimizer, "_index_dict", None)
    if known is not None and any(v._unique_id not in known for v in variables):
        raise ValueError(
            "The optimizer was used before for other variables. Pass a new one, or None for Adam."
        )

    if learning_rate is None:
        return optimizer, None
    if has_own_schedule(optimizer):
        raise ValueError(
            "learning_rate was given, but the optimizer has a schedule of its own. "
            "Give one or the other."
        )
    if callable(learning_rate):
        _check_schedule(learning_rate, steps)
        return optimizer, learning_rate
    if isinstance(learning_rate, bool) or not isinstance(
        learning_rate, (int, float, np.integer, np.floating)
    ):
        raise TypeError(
            "learning_rate must be a number, a Keras LearningRateSchedule or a callable "
            f"step -> rate, but is {shown(learning_rate)}."
        )
    if not 0 < learning_rate <= float(np.finfo(float).max):
        raise ValueError(
            f"learning_rate must be positive and finite, but is {shown(learning_rate)}."
        )
    optimizer.learning_rate = float(learning_rate)
    return optimizer, None


@dataclass(frozen=True)
class LinearTail:
    """A learning rate that is constant at first and then falls linearly to zero.

    For ``gi.fit(..., steps=1500, learning_rate=LinearTail(0.05, 1500))``. The noise of the
    parameters goes with the rate, so that the rate can be higher at first than a constant one.

    >>> schedule = LinearTail(0.05, 1000)
    >>> [round(float(schedule(tf.constant(step, tf.int64))), 5) for step in (0, 500, 750, 999)]
    [0.05, 0.05, 0.025, 0.0001]

    :param rate: learning rate of the first steps.
    :param steps: number of steps of the run.
    :param share: share of the steps in which the rate falls, in (0, 1].
    :raises ValueError: if a number is not positive or not finite, if `steps` is not an integer, or
        if `share` is above 1.
    :raises TypeError: if one of them is not a number.
    """

    rate: float
    steps: int
    share: float = 0.5

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", positive_number("rate", self.rate))
        object.__setattr__(self, "steps", positive_integer("steps", self.steps))
        object.__setattr__(self, "share", positive_number("share", self.share))
        if self.share > 1.0:
            raise ValueError(f"share must be at most 1, but is {self.share:g}.")

    def __call__(self, step: tf.Tensor) -> tf.Tensor:
        """The learning rate of a step.

        :param step: [], int64, counting from 0.
        :return: [], float32.
        """
        left = tf.maximum(1.0 - tf.cast(step, tf.float32) / self.steps, 0.0)
        return self.rate * tf.minimum(left / self.share, 1.0)


def falling_rate(
    first: float, last: float, steps: int, *, smoothly: bool = False
) -> Schedule | float:
    """A rate that is lower in the second half of the steps, to average out noise.

    :param first: rate in the first half.
    :param last: rate in the second half.
    :param steps: number of steps of the run.
    :param smoothly: True for a geometric decrease over the second half instead of one step.
    :return: the argument for ``fit(learning_rate=...)``.
    """
    if first == last:
        return first
    if smoothly:
        return lambda step: (
            first * (last / first) ** tf.maximum(2 * (tf.cast(step, tf.float32) / steps) - 1, 0.0)
        )
    half = steps // 2
    return lambda step: tf.where(step < half, first, last)


def describe_optimizer(optimizer: Any, learning_rate: Any) -> dict[str, Any]:
    """Settings that a resumed run must share with the first, by name.

    Callables are distinguished by their names only.
    """
    config = dict(optimizer.get_config())
    own_rate = config.pop("learning_rate", None)
    config.pop("is_legacy_optimizer", None)
    config.pop("name", None)
    # The place where an update is compiled does not change its result.
    config.pop("jit_compile", None)
    settings = {"optimizer": type(optimizer).__name__, **_prefixed("optimizer", config)}
    rate = own_rate if learning_rate is None else learning_rate
    while isinstance(rate, dict) and rate["class_name"] == Halved.__name__:  # by a recovery
        rate = rate["config"]["schedule"]
    if isinstance(rate, tf_keras.optimizers.schedules.LearningRateSchedule):
        settings["learning_rate"] = type(rate).__name__
        settings.update(_prefixed("learning_rate", rate.get_config()))
    elif isinstance(rate, dict):  # Keras' form of the optimizer's own schedule
        settings["learning_rate"] = rate["class_name"]
        settings.update(_prefixed("learning_rate", rate["config"]))
    elif callable(rate):
        settings["learning_rate"] = name_of(rate)
    else:
        settings["learning_rate"] = plain_number(rate)
    return settings


def plain_number(rate: Any) -> float:
    """The number that was meant: 0.01, not the nearest float32, which Keras stores."""
    return float(str(np.asarray(rate)))


def has_own_schedule(optimizer: Any) -> bool:
    """Return True if the optimizer was made with a schedule as its rate."""
    # The public attribute gives only the present value, for a schedule too.
    rate = getattr(optimizer, "_learning_rate", None)
    return isinstance(rate, tf_keras.optimizers.schedules.LearningRateSchedule)


class Halved(tf_keras.optimizers.schedules.LearningRateSchedule):
    """Half of a schedule's rates."""

    def __init__(self, schedule: Any) -> None:
        self.schedule = schedule

    def __call__(self, step: Any) -> Any:
        return 0.5 * self.schedule(step)

    def get_config(self) -> dict[str, Any]:
        return {"schedule": tf_keras.optimizers.schedules.serialize(self.schedule)}


def halve(optimizer: Any) -> float:
    """Halve an optimizer's rate; its own schedule is a constant of a compiled step.

    :return: the rate from now on.
    """
    rate = 0.5 * plain_number(optimizer.learning_rate)
    if has_own_schedule(optimizer):
        optimizer._learning_rate = Halved(optimizer._learning_rate)
    else:
        optimizer.learning_rate.assign(rate)
    return rate


def restore_halved(optimizer: Any, times: int) -> None:
    """Halve a schedule of the optimizer's own as often as the run before it was resumed."""
    schedule = optimizer._learning_rate
    while isinstance(schedule, Halved):  # the optimizer of that run itself
        schedule, times = schedule.schedule, times - 1
    for _ in range(times):
        halve(optimizer)


def _check_schedule(schedule: Schedule, steps: int) -> None:
    name = name_of(schedule)
    # A negative rate in the course of the run would climb the loss. The last step is among these.
    tried = np.unique(np.linspace(0, steps - 1, _TRIED_STEPS, dtype=np.int64))
    try:
        traced = tf.function(schedule, autograph=False).get_concrete_function(
            tf.TensorSpec([], tf.int64)
        )
        rates = [np.asarray(traced(tf.constant(step, tf.int64))) for step in tried]
    except Exception as error:
        raise ValueError(
            f"learning_rate={name} failed on a step that is an int64 tensor of shape []; it must "
            f"be written in TensorFlow operations. The error says: {reason_of(error)}"
        ) from None
    for step, rate in zip(tried, rates, strict=True):
        if rate.shape != () or rate.dtype.kind != "f" or not np.isfinite(rate) or rate < 0:
            raise ValueError(
                f"learning_rate={name} must return one finite number, not negative, of a floating "
                f"type, but returned {rate} for step {step}."
            )


def _prefixed(prefix: str, config: dict[str, Any]) -> dict[str, Any]:
    return {f"{prefix} {key}": _plain(value) for key, value in config.items()}


def _plain(value: Any) -> Any:
    """A value that survives JSON unchanged."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return str(value)
