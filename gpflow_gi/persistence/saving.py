"""Saving models, and loading them again: bitwise the same predictions."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gpflow
import numpy as np

from ..json_file import versions
from ..models import DeepGP
from ..validation import file_path
from . import archive
from .archive import LoadError
from .decoding import Decoder
from .encoding import CannotEncodeError, Encoder


class SaveError(ValueError):
    """A model that no file can hold, or a file that cannot be written. The message is one line."""


def save(model: DeepGP, path: str | os.PathLike[str]) -> None:
    """Write a model to a file, replacing what is there.

    The file is a ZIP file that holds the architecture as JSON, the parameters as NPZ, and the
    versions of the software. It has no code and no pickles in it: code is named, and must be there
    again when the file is loaded.

    :param model: a :class:`~gpflow_gi.models.DeepGP`.
    :param path: of the file; any ending will do.
    :raises SaveError: if a part of the model cannot be stored, as a lambda, or if the file cannot
        be written.
    :raises TypeError: if it is not a model of this library.

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
    if not isinstance(model, DeepGP):
        raise TypeError(
            f"model must be a gpflow_gi.models.DeepGP, but is a {type(model).__name__}."
        )
    path = file_path("path", path)
    encoder = Encoder()
    try:
        described = encoder.describe(model, "model")
    except CannotEncodeError as error:
        raise SaveError(f"The model cannot be saved: {error}.") from None
    architecture = {"versions": versions(), "config": _config(), "model": described}
    try:
        archive.write(path, architecture, encoder.arrays)
    except OSError as error:
        raise SaveError(f"{path} cannot be written: {error.strerror or error}.") from None


def load(
    path: str | os.PathLike[str], *, custom_objects: Mapping[str, Any] | None = None
) -> DeepGP:
    """Read a model from a file that :func:`save` has written.

    Predictions of the same seed are bitwise those of the model that was saved, where the same
    software runs on the same kind of machine.

    :param path: of the file.
    :param custom_objects: functions and classes of your own that the model uses, by name. Only code
        of GPflow, TensorFlow and this library is looked up by itself.
    :return: the model.
    :raises LoadError: if there is no such file, or it is damaged, of a newer version, saved with
        another default float type of GPflow's, or uses what is not here.
    :warns UserWarning: if it was saved with another default jitter.
    """
    path = file_path("path", path)
    architecture, arrays = archive.read(path)
    _check_config(path, architecture["config"])
    try:
        model = Decoder(arrays, custom_objects or {}).make(architecture["model"])
    except LookupError as error:
        reason = f"{error.args[0]}" if type(error) is LookupError else f"it lacks {error}"
    except Exception as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
    else:
        if isinstance(model, DeepGP):
            return model
        reason = f"it holds a {type(model).__name__}"
    saved = architecture["versions"]
    raise LoadError(
        f"{path} cannot be loaded: {reason}. (Saved with gpflow_gi {saved.get('gpflow_gi')}, "
        f"gpflow {saved.get('gpflow')}, tensorflow {saved.get('tensorflow')}.)"
    )


def _config() -> dict[str, Any]:
    """Settings of GPflow that a model's numbers depend on, and which are no part of it."""
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
            stacklevel=3,
        )
