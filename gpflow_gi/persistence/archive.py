"""The file of a model: a ZIP file with its architecture as JSON and its numbers as NPZ."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

from . import sizes
from .npz import read_arrays
from .replacing import replace

ARCHITECTURE, PARAMETERS = "model.json", "parameters.npz"

FORMAT = 1
"""Version of the file's format. It increases when older versions can no longer read a file."""

_VERSION = re.compile(r"\d{1,9}(\.\d{1,9}){0,4}((a|b|rc)\d{1,9})?(\.post\d{1,9})?(\.dev\d{1,9})?")
"""Versions in the form of PEP 440, so that a version cannot hold a shell command."""


class LoadError(ValueError):
    """Error: a file is not a model, or the model cannot be built here. The message is one line."""


def write(path: Path, architecture: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Write a file completely or not at all.

    :raises OSError: if it cannot be written.
    :raises TooLargeError: if :func:`read` would refuse it as too large.
    """
    text = json.dumps({"format": FORMAT, **architecture}, indent=1).encode()
    sizes.check_text(text)
    if len(arrays) > sizes.MOST_ARRAYS:
        raise sizes.TooLargeError(f"it has more than {sizes.MOST_ARRAYS} arrays")
    numbers = io.BytesIO()
    np.savez(numbers, **arrays)

    def write_all(file: IO[bytes]) -> None:
        # Zeros compress to almost nothing, and a small file may not unpack to a large one.
        is_large = numbers.getbuffer().nbytes > sizes.LEAST_BYTES
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(ARCHITECTURE, text)
            archive.writestr(
                PARAMETERS, numbers.getbuffer(), zipfile.ZIP_STORED if is_large else None
            )

    replace(path, write_all)


def read(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read a file: the architecture, and the arrays by name.

    :raises LoadError: if there is no such file, if it is damaged, or if it is of a newer format.
    """
    try:
        text, numbers, largest = _members(path)
        architecture = json.loads(text)
        file_format, writer = int(architecture["format"]), architecture["versions"]["gpflow_gi"]
        arrays = {}
        if file_format <= FORMAT:
            arrays = read_arrays(numbers, largest)
            config = architecture["config"]
            config.update(
                default_float=np.dtype(config["default_float"]).name,
                default_jitter=float(config["default_jitter"]),
            )
    except FileNotFoundError:
        raise LoadError(f"{path}: there is no such file.") from None
    except OSError as error:
        raise LoadError(f"{path} cannot be read: {error.strerror or error}.") from None
    except sizes.TooLargeError as error:
        raise LoadError(f"{path} is not read: {error}.") from None
    except Exception:  # a damaged ZIP file fails in many ways
        raise LoadError(
            f"{path} is damaged, or is not a model that gpflow_gi.save has written."
        ) from None
    if file_format > FORMAT:
        writer = version(writer)
        advice = f"pip install 'gpflow-gi>={writer}'" if writer else "install a newer one"
        raise LoadError(
            f"{path} was written by gpflow_gi {writer or 'of a newer version'}, in a format that "
            f"this version cannot read: {advice}."
        )
    return architecture, arrays


def version(text: Any) -> str | None:
    """The version in a file if it has the form of a version; else None.

    :param text: a value from the file.
    """
    return text if isinstance(text, str) and _VERSION.fullmatch(text) else None


def _members(path: Path) -> tuple[bytes, bytes, int]:
    """The two parts of a file, and the largest number of bytes of numbers that it may hold."""
    with path.open("rb") as file:
        file_size = path.stat().st_size
        largest = sizes.largest_content(file_size)
        with zipfile.ZipFile(file) as archive:
            members = {info.filename: info for info in archive.infolist()}
            if len(archive.infolist()) != 2 or members.keys() != {ARCHITECTURE, PARAMETERS}:
                raise ValueError("it does not hold exactly the two files of a model")
            text = _content(archive, members[ARCHITECTURE], sizes.LARGEST_TEXT)
            sizes.check_text(text)
            return text, _content(archive, members[PARAMETERS], largest), largest


def _content(archive: zipfile.ZipFile, member: zipfile.ZipInfo, largest: int) -> bytes:
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError("it uses a compression that gpflow_gi.save does not write")
    if member.file_size > largest:
        raise sizes.TooLargeError(
            f"{member.filename} in it would take {member.file_size} bytes, and at most {largest} "
            "are allowed for a file of its size"
        )
    with archive.open(member) as content:
        return content.read(largest + 1)
