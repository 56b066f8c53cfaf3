"""One checkpoint as one file, which is written completely or not at all.

It is a ZIP file that holds JSON and, as NPY, the value of each variable: ``numpy.load`` reads it.
ZIP has a checksum of all its contents, so a later change of the file is detected.
"""

from __future__ import annotations

import json
import platform
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import gpflow
import numpy as np
import tensorflow as tf

from gpflow_gi._version import __version__

from ..core.whole_file import write_whole

FORMAT = 1
"""Version of the format. It increases when older versions can no longer read a file."""

UNFINISHED = "gpflow_gi-unfinished"
"""Name of a file while it is written."""

_NAME = re.compile(r"gpflow_gi-checkpoint-(\d+)\.npz")
_ABOUT = "about.json"


class DamagedError(Exception):
    """Error: a checkpoint cannot be read. The message gives the reason, without a full stop."""


class NewerFormatError(Exception):
    """Error: a checkpoint is of a newer version. The message is that version."""


@dataclass(frozen=True)
class Saved:
    """The contents of a checkpoint.

    :param record: record of the run, from ``FitRecord.to_dict``.
    :param description: description of model and functions; None if it was written without one.
    :param versions: versions of the software that wrote it.
    :param values: values of the variables, by name.
    """

    record: dict[str, Any]
    description: dict[str, str] | None
    versions: dict[str, str]
    values: dict[str, np.ndarray]


def name_of_step(step: int) -> str:
    """The name of a checkpoint's file."""
    return f"gpflow_gi-checkpoint-{step}.npz"


def step_of_name(name: str) -> int | None:
    """The step in a file's name; None for other files."""
    match = _NAME.fullmatch(name)
    return int(match[1]) if match else None


def versions() -> dict[str, str]:
    """Versions of the software that defines the attributes of classes and the code of functions."""
    return {
        "gpflow_gi": __version__,
        "gpflow": gpflow.__version__,
        "tensorflow": tf.__version__,
        "python": platform.python_version(),
    }


def write(path: Path, saved: Saved) -> None:
    """Write a checkpoint.

    :raises OSError: if it cannot be written. Nothing of it is then left.
    """
    about = {
        "format": FORMAT,
        "versions": saved.versions,
        "record": saved.record,
        "variables": list(saved.values),
        "description": saved.description,
    }

    def write_to(file: IO[bytes]) -> None:
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr(_ABOUT, json.dumps(about))
            for name, value in saved.values.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, value, allow_pickle=False)

    write_whole(path, UNFINISHED, write_to)


def read(path: Path, dtypes: Mapping[str, Any]) -> Saved:
    """Read a file if it is exactly as it was written.

    :param dtypes: NumPy's types by the variables' names: a file does not store types that are not
        NumPy's own.
    :raises DamagedError: if the file is damaged.
    :raises NewerFormatError: if the format is newer than this version.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            # All checksums first: nothing of a damaged file is interpreted.
            damaged = archive.testzip()
            if damaged is not None:
                raise DamagedError(f"it is damaged, at {damaged}")
            about = json.loads(archive.read(_ABOUT))
            if about["format"] > FORMAT:
                raise NewerFormatError(about["versions"]["gpflow_gi"])
            values = {}
            for member in archive.namelist():
                name = member.removesuffix(".npy")
                if name != member:
                    with archive.open(member) as file:
                        values[name] = np.lib.format.read_array(file, allow_pickle=False)
                    if values[name].dtype.kind == "V" and name in dtypes:
                        values[name] = values[name].view(dtypes[name])
            # The file's own list of its contents has no checksum.
            if list(values) != about["variables"]:
                raise DamagedError("it is damaged: it lacks some of its variables")
            return Saved(about["record"], about["description"], about["versions"], values)
    except (DamagedError, NewerFormatError):
        raise
    except FileNotFoundError:
        raise DamagedError("it is gone") from None
    except OSError as error:
        raise DamagedError(error.strerror or "it cannot be read") from None
    except Exception:  # a damaged ZIP file fails in many ways
        raise DamagedError("it is damaged or not whole") from None
