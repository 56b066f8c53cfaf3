"""The arguments of :func:`gpflow_gi.fit`, checked before anything is compiled."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from ..core.random import Seed
from ..core.validation import non_negative_integer, positive_integer, positive_number, shown
from ..objectives import AugmentedBound, Elbo, Objective, TemperedBound
from .convergence import StopRule
from .record import Report


@dataclass(frozen=True)
class Settings:
    """The arguments of :func:`gpflow_gi.fit` except model and data, by the same names.

    Model and data, and their agreement with these settings, are checked by
    :class:`~gpflow_gi.training.run.Run`.

    :raises TypeError: if one is of the wrong type.
    :raises ValueError: if one has an invalid value.
    """

    steps: int
    batch_size: int | None
    optimizer: Any
    learning_rate: Any
    num_samples: int | None
    kl_warmup: int
    until_converged: StopRule | None
    objective: Objective
    callbacks: Sequence[Callable[[Report], Any]]
    progress: bool
    checkpoint_dir: str | os.PathLike[str] | None
    jit_compile: bool
    strategy: Any
    seed: Seed
    recover: bool

    def __post_init__(self) -> None:
        positive_or_none = _unless_none(positive_integer)
        checks: dict[str, Callable[[str, Any], Any]] = {
            "steps": positive_integer,
            "batch_size": positive_or_none,
            "num_samples": positive_or_none,
            "kl_warmup": non_negative_integer,
            "callbacks": _callbacks,
            "checkpoint_dir": _unless_none(_directory),
        }
        for name, checked in checks.items():
            object.__setattr__(self, name, checked(name, getattr(self, name)))
        if not isinstance(self.recover, bool):
            raise TypeError(f"recover must be True or False, but is {self.recover!r}.")
        if self.seed is None and self.checkpoint_dir is not None:
            raise ValueError(
                "A run with a checkpoint_dir needs a seed, to be the same when resumed."
            )


def objective_of(
    objective: Any,
    temperature: float,
    augment: Callable[[tf.Tensor, tf.Tensor], Any] | None,
) -> Objective:
    """The objective that three of the arguments define together.

    :raises TypeError: if `objective` is not one, or if `augment` is not callable.
    :raises ValueError: if `temperature` is not positive, if `objective` is given with another one
        of them, or if an objective other than the ELBO has that name.
    """
    tempered = TemperedBound(temperature)
    if objective is None:
        if augment is not None:
            return AugmentedBound(augment, temperature=temperature)
        return Elbo() if tempered.temperature == 1.0 else tempered
    if not isinstance(objective, Objective):
        raise TypeError(
            "objective must be a gpflow_gi.objectives.Objective, such as Elbo(), but is "
            f"{shown(objective)}."
        )
    if augment is not None or tempered.temperature != 1.0:
        raise ValueError(
            "temperature and augment belong to the objective where one is given: write "
            "objective=AugmentedBound(augment, temperature=...), or set the attributes of that "
            "name."
        )
    positive_number("The temperature of the objective", objective.temperature)
    name = getattr(objective, "name", None)
    if not isinstance(name, str) or (name == Elbo.name and type(objective) is not Elbo):
        raise ValueError(
            f"{type(objective).__name__} needs a name of its own, as name = 'tempered bound' in "
            f"its class, but has {shown(name)}. ELBO is the name of gpflow_gi.objectives.Elbo "
            "alone."
        )
    return objective


def _unless_none(check: Callable[[str, Any], Any]) -> Callable[[str, Any], Any]:
    return lambda name, value: None if value is None else check(name, value)


def _callbacks(name: str, callbacks: Any) -> tuple[Any, ...]:
    if callbacks is None:
        return ()
    if callable(callbacks):
        raise TypeError(f"{name} must be a sequence: write {name}=[callback].")
    try:
        callbacks = tuple(callbacks)
    except TypeError:
        raise TypeError(
            f"{name} must be a sequence of callables, not {shown(callbacks)}."
        ) from None
    for callback in callbacks:
        if not callable(callback):
            raise TypeError(f"{name} must be callables that take a Report, not {shown(callback)}.")
    return callbacks


def _directory(name: str, directory: Any) -> str | os.PathLike[str]:
    if not isinstance(directory, str | os.PathLike) or isinstance(os.fspath(directory), bytes):
        raise TypeError(f"{name} must be the path of a folder, but is {directory!r}.")
    if not os.fspath(directory):
        raise ValueError(
            f"{name} is an empty string. Name a folder, such as 'checkpoints', or leave it out to "
            "go without."
        )
    return directory
