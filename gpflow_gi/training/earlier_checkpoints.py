"""Checkpoints in TensorFlow's format, which earlier versions of this library wrote.

For step n there are ``ckpt-n.index``, ``ckpt-n.data-00000-of-00001`` and ``ckpt-n.json``, the
record. They are read and never changed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path

import tensorflow as tf

from .checkpoint_file import DamagedError, Saved
from .record import FitRecord


def steps_in(directory: Path) -> list[int]:
    """Steps with such a checkpoint, complete or not."""
    steps = [re.fullmatch(r"ckpt-(\d+)\.json", path.name) for path in directory.iterdir()]
    return [int(step[1]) for step in steps if step and any(directory.glob(f"ckpt-{step[1]}.[id]*"))]


def read(directory: Path, step: int, names: Iterable[str]) -> Saved:
    """The checkpoint of a step.

    :param names: names of the variables to look for.
    :raises DamagedError: if it cannot be read.
    """
    path = directory / f"ckpt-{step}"
    try:
        record = json.loads(Path(f"{path}.json").read_text("utf-8"))
        FitRecord.from_dict(record)
    except Exception as error:  # of many types, if another program wrote it
        raise DamagedError(f"its record {path.name}.json is damaged: {error}") from None
    try:
        reader = tf.train.load_checkpoint(str(path))
        keys = {name: f"{name}/.ATTRIBUTES/VARIABLE_VALUE" for name in names}
        # TensorFlow verifies checksums when it reads.
        values = {name: reader.get_tensor(k) for name, k in keys.items() if reader.has_tensor(k)}
    except Exception:  # of several types, with TensorFlow's messages
        raise DamagedError("its numbers are damaged or not whole") from None
    return Saved(record, None, {}, values)
