"""The file of a model: a ZIP file that holds its architecture as JSON and its numbers as NPZ."""

from __future__ import annotations

import io
import json
import os
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

ARCHITECTURE, PARAMETERS = "model.json", "parameters.npz"

FORMAT = 1
"""The version of what is in the file. It rises when older versions cannot read a file any more."""


class LoadError(ValueError):
    """A file that is no model, or none that can be had here. The message is one line."""


def write(path: Path, architecture: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Write a file, which appears whole or not at all.

    :raises OSError: if it cannot be written.
    """
    numbers = io.BytesIO()
    np.savez(numbers, **arrays)
    text = json.dumps({"format": FORMAT, **architecture}, indent=1)
    descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr(ARCHITECTURE, text)
                archive.writestr(PARAMETERS, numbers.getvalue())
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def read(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What is in a file: the architecture, and the arrays by name.

    :raises LoadError: if there is no such file, if it is damaged, or if it is of a newer format.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            architecture = json.loads(archive.read(ARCHITECTURE))
            with np.load(io.BytesIO(archive.read(PARAMETERS)), allow_pickle=False) as numbers:
                arrays = {name: numbers[name] for name in numbers.files}
        file_format, writer = int(architecture["format"]), architecture["versions"]["gpflow_gi"]
        if file_format <= FORMAT:
            config = architecture["config"]
            config.update(
                default_float=np.dtype(config["default_float"]).name,
                default_jitter=float(config["default_jitter"]),
            )
    except FileNotFoundError:
        raise LoadError(f"{path}: there is no such file.") from None
    except OSError as error:
        raise LoadError(f"{path} cannot be read: {error.strerror or error}.") from None
    except Exception:  # a damaged ZIP file fails in many ways
        raise LoadError(
            f"{path} is damaged, or is not a model that gpflow_gi.save has written."
        ) from None
    if file_format > FORMAT:
        raise LoadError(
            f"{path} was written by gpflow_gi {writer}, in a format that this version cannot read: "
            f"pip install 'gpflow-gi>={writer}'."
        )
    return architecture, arrays
