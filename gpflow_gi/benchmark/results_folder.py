"""Folders of results: one written completely or not at all, and one that grows file by file."""

import os
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from gpflow_gi.core.whole_file import write_whole


class ResultsFolderError(OSError):
    """Error: results cannot be written there. The message is one line with the reason."""


def check_results_folder(path: Path, files: Collection[str]) -> None:
    """Check, before hours of work, that results can be written there.

    :param path: the future folder. It need not exist, nor its parents.
    :param files: the names of the files that will be in it. A folder that holds only such files
        is taken for earlier results, which may be replaced.
    :raises ResultsFolderError: if there is something else at `path`, or no permission to write.
    """
    if path.is_symlink() and not path.exists():
        raise ResultsFolderError(f"{path} is a link to nothing: choose another folder with --out.")
    path = path.resolve()
    if path.is_dir():
        ours = {*files, *map(_part, files)}
        others = sorted({entry.name for entry in path.iterdir()} - ours)
        if others:
            raise ResultsFolderError(
                f"{path} exists and is not a folder of results (it holds {others[0]!r}): "
                "choose another with --out."
            )
    elif path.exists():
        raise ResultsFolderError(f"{path} is a file: choose another folder with --out.")
    above = next(folder for folder in path.parents if folder.exists())
    try:
        # Checking permissions is not enough: file systems can be full or read-only.
        with tempfile.TemporaryDirectory(prefix=f".{path.name}-", dir=above):
            pass
    except OSError as error:
        raise ResultsFolderError(
            f"{path} cannot be written ({above}: {error.strerror}): choose another with --out."
        ) from None


def check_writable(path: Path) -> None:
    """Make a folder, unless it exists, and check that files can be written there.

    :raises ResultsFolderError: if they cannot.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        raise ResultsFolderError(
            f"{path} is no folder that can be written to ({error.strerror}): choose another."
        ) from None


@contextmanager
def results_folder(path: Path, files: Collection[str]) -> Iterator[Path]:
    """Make a new folder, which replaces `path` once it is complete.

    If the body raises, or is interrupted, then the new folder is removed and `path` is not changed.

    :param path: as for :func:`check_results_folder`.
    :param files: as for :func:`check_results_folder`.
    :return: a context manager that returns the folder to write to.
    :raises ResultsFolderError: as :func:`check_results_folder`, and if writing fails.
    """
    check_results_folder(path, files)
    path = path.resolve()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Beside the target, so that the last step is a rename within one file system.
        with tempfile.TemporaryDirectory(prefix=f".{path.name}-", dir=path.parent) as temporary:
            new, old = Path(temporary, "new"), Path(temporary, "old")
            new.mkdir()
            yield new
            if _is_stood_in(path):
                old.mkdir()
                _exchange(path, new, old)
                return
            if path.exists():
                path.rename(old)
            try:
                new.rename(path)
            except BaseException:
                if old.exists():
                    os.rename(old, path)
                raise
    except ResultsFolderError:
        raise
    except OSError as error:
        raise ResultsFolderError(f"{path} cannot be written: {error}.") from error


def _is_stood_in(path: Path) -> bool:
    """True if the working directory is this folder, or below it: it would be lost with it."""
    try:
        return Path.cwd().is_relative_to(path)
    except FileNotFoundError:
        return False


def _exchange(path: Path, new: Path, old: Path) -> None:
    """Move the content of a folder to `old`, and that of `new` into it; all of it or nothing."""
    try:
        _move(path, old)
        try:
            _move(new, path)
        except BaseException:
            _move(path, new)
            raise
    except BaseException:
        _move(old, path)
        raise


def _move(source: Path, target: Path) -> None:
    for entry in list(source.iterdir()):
        entry.rename(target / entry.name)


def put_file(path: Path, content: bytes) -> None:
    """Write a file in a folder of results; an earlier file stays until all of it is written.

    :param path: path of the file. Its folder is made if necessary.
    :param content: content of the file.
    :raises ResultsFolderError: if it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, _part(path.name), lambda file: file.write(content))
    except OSError as error:
        raise ResultsFolderError(f"{path} cannot be written: {error.strerror}.") from None


def remove_file(path: Path) -> None:
    """Remove a file of earlier results, if there is one.

    :raises ResultsFolderError: if it cannot be removed.
    """
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise ResultsFolderError(f"{path} cannot be removed: {error.strerror}.") from None


def _part(name: str) -> str:
    """The name of a file until it is complete. A remain of a killed run is overwritten."""
    return f".{name}.part"
