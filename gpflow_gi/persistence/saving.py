"""Saving and loading of models: predictions are the same bit by bit."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import gpflow
import numpy as np

from ..core.json_file import versions
from ..core.validation import check_float_type, file_path
from ..inference import Mixture
from ..models import Predictive
from ..models.predictive import check_predictive
from . import archive
from .archive import LoadError
from .checking import check_model
from .decoding import Decoder
from .encoding import CannotEncodeError, Encoder
from .names import Names, last_part
from .sizes import TooLargeError


class SaveError(ValueError):
    """Error: a file cannot hold the model, or cannot be written. The message is one line."""


def save(model: Predictive, path: str | os.PathLike[str]) -> None:
    """Write a model to a file; an existing file is replaced.

    The file is a ZIP file with the architecture as JSON, the parameters as NPZ, and the versions
    of the software. It contains no code and no pickles: it refers to code by name, and the code
    must exist when the file is loaded.

    The file is written completely or not at all, with the mode that the umask gives. Temporary
    files of killed processes are removed from the folder.

    :param model: a :class:`~gpflow_gi.models.Predictive`.
    :param path: path of the file, with any ending.
    :raises SaveError: if a part of the model cannot be stored, such as a lambda, or if the file
        cannot be written, or would be too large for :func:`load`.
    :raises TypeError: if it is not a model of this library.
    :warns UserWarning: if loading the file requires trust in your own code; or if the model has
        attributes that its classes do not define, which are left out.

    >>> import tempfile
    >>> from gpflow_gi.architectures import build_bnn
    >>> X = np.linspace(-1.0, 1.0, 20)[:, None]
    >>> model = build_bnn(X, X, widths=(5,), num_inducing=4)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, f"{folder}/model")
    ...     same = load(f"{folder}/model")
    >>> np.array_equal(model.predict_f(X, seed=0)[0], same.predict_f(X, seed=0)[0])
    True
    """
    write(model, file_path("path", path), {})


def write(model: Predictive, path: Path, more: Mapping[str, Any], stacklevel: int = 3) -> None:
    """Write a model with plain values beside it; see :func:`save`.

    :param more: values that JSON can hold, by names that the format does not use.
    :param stacklevel: of warnings.
    """
    check_predictive(model)
    try:
        check_float_type(model)
    except ValueError as error:
        raise SaveError(f"The model cannot be saved: {error}") from None
    encoder = Encoder()
    try:
        described = encoder.describe(model, "model")
    except CannotEncodeError as error:
        raise SaveError(f"The model cannot be saved: {error}.") from None
    architecture = {"versions": versions(), "config": _config(), "model": described, **more}
    try:
        archive.write(path, architecture, encoder.arrays)
    except OSError as error:
        raise SaveError(f"{path} cannot be written: {error.strerror or error}.") from None
    except TooLargeError as error:
        raise SaveError(f"The model cannot be saved: {error}.") from None
    if encoder.to_trust:
        names = ", ".join(encoder.to_trust)
        trusted = ", ".join(dict.fromkeys(last_part(name) for name in encoder.to_trust))
        warnings.warn(
            f"{path} uses {names}, which a file may not name by itself. Load it with "
            f"gpflow_gi.load(path, trusted=[{trusted}]).",
            stacklevel=stacklevel,
        )
    if encoder.left_out:
        warnings.warn(
            f"{path} does not hold {', '.join(encoder.left_out)}: the classes of the model have no "
            "such attributes.",
            stacklevel=stacklevel,
        )
    if encoder.untied:
        warnings.warn(
            f"{path} holds copies of weights that {', '.join(encoder.untied)} shares with another "
            "Keras layer: they are trained apart after loading.",
            stacklevel=stacklevel,
        )


def load(
    path: str | os.PathLike[str],
    *,
    trusted: Iterable[Any] = (),
    custom_objects: Mapping[str, Any] | None = None,
) -> Predictive:
    """Read a model from a file that :func:`save` has written.

    Predictions with the same seed are the same bit by bit as those of the saved model, if the
    software and the kind of machine are the same.

    A file can name classes and functions that are on the lists of this library, and those given
    here; nothing else is called, and nothing is imported, whatever the file says. Its numbers
    cannot take more than 256 MiB, or 20 times the size of the file if that is more. See the
    documentation page on loading.

    :param path: path of the file.
    :param trusted: your own classes and functions that the model uses, such as ``[MyLayer]``. The
        file may make objects of these classes and give them attributes of any value that a file
        can hold.
    :param custom_objects: the same by the last part of their names, for objects that now have
        another name or are in another module: ``{"MyLayer": MyNewLayer}``.
    :return: the model.
    :raises LoadError: if there is no such file; if it is damaged, of a newer version, saved with
        another default float type of GPflow, or uses code that does not exist here; if its parts
        do not fit together; or if it would take too much memory.
    :raises TypeError: if `trusted` is not a list of classes and functions, or `custom_objects` is
        not a dictionary.
    :warns UserWarning: if it was saved with another default jitter.
    """
    return read(file_path("path", path), trusted, custom_objects)[0]


def read(
    path: Path,
    trusted: Iterable[Any] = (),
    custom_objects: Mapping[str, Any] | None = None,
) -> tuple[Predictive, dict[str, Any]]:
    """Read a model as :func:`load` does.

    :return: the model, and everything that is in the description beside it, unchecked.
    """
    names = Names(trusted, custom_objects)
    architecture, arrays = archive.read(path)
    _check_config(path, architecture["config"])
    try:
        model = Decoder(arrays, names).make(architecture["model"])
        if not isinstance(model, Predictive):
            raise LookupError(f"it holds a {type(model).__name__}")
        check_model(model)
        if isinstance(model, Mixture):  # in files of earlier versions each part has a copy
            model.share_network()
        return model, architecture
    except TooLargeError as error:
        raise LoadError(f"{path} is not read: {error}.") from None
    except LookupError as error:
        reason = f"{error.args[0]}" if type(error) is LookupError else f"it lacks {error}"
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
    reason = " ".join(reason.split())
    saved = architecture["versions"]
    made_with = ", ".join(
        f"{name} {archive.version(saved.get(name)) or 'of an unknown version'}"
        for name in ("gpflow_gi", "gpflow", "tensorflow")
    )
    raise LoadError(f"{path} cannot be loaded: {reason.rstrip('.')}. (Saved with {made_with}.)")


def jitter_of(path: Path) -> float:
    """GPflow's default jitter when a model was saved; with another one its predictions differ.

    :raises LoadError: as :func:`load`.
    """
    jitter = float(archive.read(path)[0]["config"]["default_jitter"])
    if not 0 <= jitter < 1:
        raise LoadError(f"{path} cannot be loaded: its jitter is {jitter:g}.")
    return jitter


def _config() -> dict[str, Any]:
    """Settings of GPflow on which a model's numbers depend, and which are not part of the model."""
    return {
        "default_float": np.dtype(gpflow.default_float()).name,
        "default_jitter": gpflow.default_jitter(),
    }


def _check_config(path: Path, saved: Mapping[str, Any]) -> None:
    here = _config()
    if saved["default_float"] != here["default_float"]:
        name = saved["default_float"]
        raise LoadError(
            f"{path} was saved in {name}, and GPflow's default is {here['default_float']}: call "
            f"gpflow.config.set_default_float(np.{name}) first."
        )
    if saved["default_jitter"] != here["default_jitter"]:
        warnings.warn(
            f"{path} was saved with GPflow's default jitter at {saved['default_jitter']:g}; "
            f"with {here['default_jitter']:g} predictions differ.",
            stacklevel=4,
        )
