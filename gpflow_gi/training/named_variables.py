"""The variables of a run, by name."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

import tensorflow as tf


def named_variables(parts: Mapping[str, Any]) -> dict[str, tf.Variable]:
    """All variables that TensorFlow's checkpoints hold, by their names there.

    A name is the shortest path to a variable, attribute by attribute.

    :param parts: models, optimizers and variables, by the first part of their variables' names.
    """
    found: dict[str, tf.Variable] = {}
    waiting = deque(parts.items())
    seen = {id(part) for part in parts.values()}
    while waiting:
        name, part = waiting.popleft()
        if isinstance(part, tf.Variable):
            found[name] = part
            continue
        for attribute, child in tf.train.TrackableView.children(part).items():
            if id(child) not in seen:
                seen.add(id(child))
                escaped = attribute.replace(".", "..").replace("/", ".S")
                waiting.append((f"{name}/{escaped}", child))
    return found
