"""A public name, with good arguments and what each of them is."""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .values import ARRAYS, CHOICES, COUNTS, FLAGS, LABELS, NAMES, NUMBERS, OBJECTS, PATHS, SEEDS


@dataclass(frozen=True)
class Target:
    """A public name."""

    area: str
    name: str
    call: Callable[..., Any]
    good: Mapping[str, Any]
    """Arguments that it takes."""

    bad: Mapping[str, Any]
    """For some of them what they are: one of the tables of values, or "array"."""

    few: bool = False
    """True if a call is so slow that only some bad arrays are tried."""

    of_estimator: bool = False
    left_out: tuple[str, ...] = field(default=())
    """Values that say something else here."""


TARGETS: list[Target] = []

FEW = (
    "NaN in the last entry",
    "infinity",
    "complex",
    "masked in one entry",
    "dates",
    "None",
    "sparse matrix of SciPy",
    "rank 1",
    "one row less",
    "zero rows",
    "a data frame",
    "1e200",
    "1e308",
    "text",
    "rows of unequal lengths",
    "one column more",
    "one row",
)
"""Bad arrays for what takes long where they are taken."""


def cases() -> list[tuple[str, str, Target, str, Callable[[], Any]]]:
    """Every case: its name, what kind it is, the target, the argument, and a call."""
    found = []
    for target in TARGETS:
        for argument, role in target.bad.items():
            if role == "array":
                good = np.asarray(target.good[argument])
                for kind, makers in ARRAYS.items():
                    for value, make in makers.items():
                        if target.few and value not in FEW:
                            continue
                        call = functools.partial(_call, target, argument, make, good)
                        found.append((value, kind, target, argument, call))
                continue
            for value, bad in role.items():
                if value in target.left_out:
                    continue
                call = functools.partial(_call, target, argument, None, bad)
                found.append((value, _KINDS[id(role)], target, argument, call))
    return [
        (f"{target.name}({argument}: {value})", kind, target, argument, call)
        for value, kind, target, argument, call in found
    ]


def _call(target: Target, argument: str, make: Any, value: Any) -> Any:
    arguments = {
        name: good() if isinstance(good, Fresh) else good for name, good in target.good.items()
    }
    arguments[argument] = value if make is None else make(value)
    return target.call(**arguments)


_KINDS = {
    id(COUNTS): "counts",
    id(NUMBERS): "numbers",
    id(CHOICES): "choices",
    id(FLAGS): "flags",
    id(SEEDS): "seeds",
    id(OBJECTS): "objects",
    id(PATHS): "paths",
    id(NAMES): "names",
    id(LABELS): "labels",
}


class Fresh:
    """An argument that each call makes anew."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make

    def __call__(self) -> Any:
        return self._make()


def add(
    area: str, name: str, call: Any, good: Mapping[str, Any], bad: Mapping[str, Any], **options: Any
) -> None:
    TARGETS.append(Target(area, name, call, good, bad, **options))
