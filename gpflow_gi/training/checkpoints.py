"""Checkpoints, and the comparison of a resumed run with the original."""

from __future__ import annotations

import json
import math
import os
import time
import warnings
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gpflow
import numpy as np
import tensorflow as tf

from ..core.whole_file import write_whole
from ..posteriors.precision import has_row_units
from . import checkpoint_file, description, earlier_checkpoints
from .checkpoint_file import UNFINISHED, DamagedError, NewerFormatError, Saved
from .named_variables import named_variables
from .record import FitRecord

EVERY_SECONDS = 60.0
INDEX = "gpflow_gi-checkpoints.json"
KEPT = 2


class Checkpoints:
    """The state of a run on disk: its variables and its record.

    The two latest are kept, each in its own file. If the process is killed at any time, the folder
    holds at least one complete checkpoint: a file gets its name when all of it is on the disk. An
    index names the files of this run, and only these are ever deleted. It is not needed to find
    them.

    :param directory: the folder; it is made if it does not exist, and may hold other files.
    :param parts: model, optimizer and all other objects with variables that a step may change, by
        name. ``step``, the number of steps done, is one of them.
    :param settings: settings that must be the same in a resumed run.
    :param description: description of model and functions, also the same: see :mod:`.description`.
    :raises ValueError: if `directory` cannot be written to.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        parts: Mapping[str, Any],
        settings: dict[str, Any],
        description: dict[str, str],
    ) -> None:
        self._directory = Path(directory)
        self._settings = settings
        self._description = description
        self._variables = named_variables(parts)
        self._step = parts["step"]
        self._saved_at = time.monotonic()
        self._saved_step = 0
        self._files: list[str] = []
        """Names of the files of this run; the first ones are deleted first."""
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
        except (OSError, ValueError) as error:
            raise ValueError(f"checkpoint_dir cannot be made: {error}") from None
        if not os.access(self._directory, os.W_OK):
            raise ValueError(f"checkpoint_dir {str(directory)!r} cannot be written to.")

    def restore(self) -> FitRecord | None:
        """Restore the latest state that can be read. None if there is none.

        :return: the record up to there.
        :raises ValueError: if there are checkpoints, but none that can be read, or if the latest is
            of a run with other settings, of another model or of a newer version. Neither the folder
            nor the model has then changed.
        :warns UserWarning: if it is not the latest checkpoint that was written.
        """
        named, problem = self._read_index()
        problems = [problem] if problem else []
        files = {*named, *(path.name for path in self._directory.iterdir())}
        candidates = [
            *((step, 0, "") for step in earlier_checkpoints.steps_in(self._directory)),
            *((step, 1, name) for name in files if (step := checkpoint_file.step_of_name(name))),
        ]
        unreadable = []
        for step, _, name in sorted(candidates, reverse=True):
            try:
                saved = self._read(step, name)
            except DamagedError as error:
                problems.append(f"{name or f'ckpt-{step}'}: {error}")
                unreadable.append(name)
                continue
            record = self._take(saved)
            if problems:
                warnings.warn(
                    f"{self._where}: {'; '.join(problems)}. The run goes on from the latest "
                    f"checkpoint that is whole, of step {step}.",
                    UserWarning,
                    stacklevel=4,
                )
            older = [one for one in named if one not in unreadable and one != name]
            bad = [one for one in named if one in unreadable]
            self._files = [*bad, *older, *([name] if name else [])]
            self._saved_step = step
            return record
        if problems:
            raise ValueError(
                f"{self._where} holds a run of which no checkpoint can be read: "
                f"{'; '.join(problems)}. Nothing there was changed. If there is a copy, put it "
                "back; to start anew, take another directory."
            )
        return None

    def save(self, record: FitRecord) -> None:
        """Write the present state, unless it is already written.

        :raises OSError: if it cannot be written. Earlier checkpoints are unchanged.
        """
        step = int(self._step)
        if step == self._saved_step:
            return
        name = checkpoint_file.name_of_step(step)
        saved = Saved(
            record.to_dict(),
            self._description,
            checkpoint_file.versions(),
            {of: variable.numpy() for of, variable in self._variables.items()},
        )
        files = [*(one for one in self._files if one != name), name]
        try:
            checkpoint_file.write(self._directory / name, saved)
            # The index also names the files to be deleted, until they are.
            index = json.dumps({"checkpoints": files}, indent=1).encode()
            write_whole(self._directory / INDEX, UNFINISHED, lambda file: file.write(index))
            for old in files[:-KEPT]:
                (self._directory / old).unlink(missing_ok=True)
        except OSError as error:
            raise OSError(
                f"The checkpoint of step {step} cannot be written to {str(self._directory)!r}: "
                f"{error.strerror or error}. The model has the parameters of that step, and "
                "earlier checkpoints are as they were: the same call resumes from the latest."
            ) from None
        self._files = files[-KEPT:]
        self._saved_step = step
        self._saved_at = time.monotonic()

    def save_if_due(self, record: FitRecord) -> None:
        """Write the present state if the last checkpoint is old enough.

        :raises OSError: as :meth:`save`.
        """
        if time.monotonic() - self._saved_at >= EVERY_SECONDS:
            self.save(record)

    @property
    def _where(self) -> str:
        return f"checkpoint_dir {str(self._directory)!r}"

    def _read_index(self) -> tuple[list[str], str]:
        """The names of the run's files, and a description of the index's error, if any."""
        try:
            names = json.loads((self._directory / INDEX).read_bytes())["checkpoints"]
            # No other names, even if the index has them: these files will be deleted.
            if all(checkpoint_file.step_of_name(name) is not None for name in names):
                # Files that were to be deleted may be gone.
                old = [name for name in names[:-KEPT] if (self._directory / name).exists()]
                return [*old, *names[-KEPT:]], ""
        except FileNotFoundError:
            return [], ""
        except (OSError, ValueError, KeyError, TypeError):
            pass
        return [], f"the index {INDEX} is damaged"

    def _read(self, step: int, name: str) -> Saved:
        """One checkpoint; without a name it is one of an earlier version."""
        if not name:
            return earlier_checkpoints.read(self._directory, step, self._variables)
        dtypes = {of: v.dtype.as_numpy_dtype for of, v in self._variables.items()}
        try:
            return checkpoint_file.read(self._directory / name, dtypes)
        except NewerFormatError as newer:
            raise ValueError(
                f"{self._where}: {name} was written by gpflow_gi {newer}, in a format that this "
                "version cannot read. Resume it with that version."
            ) from None

    def _take(self, saved: Saved) -> FitRecord:
        """Restore a saved state, if it is of this run."""
        self._compare(saved)
        values = {}
        for name, variable in self._variables.items():
            value = saved.values.get(name)
            if value is None and saved.description is None and not variable.trainable:
                continue  # a variable that earlier versions did not have
            if (
                value is None
                or value.dtype != variable.dtype.as_numpy_dtype
                or not variable.shape.is_compatible_with(value.shape)
            ):
                held = "nothing" if value is None else f"{value.dtype}, shape {list(value.shape)}"
                raise ValueError(
                    f"{self._where} holds {held} for the variable {name} of "
                    f"{variable.dtype.name}, shape {variable.shape.as_list()}: it is of another "
                    "model. Resume that one, or start this one in another directory."
                )
            values[name] = value
        try:
            record = FitRecord.from_dict(saved.record)
        except (KeyError, TypeError) as error:
            raise ValueError(
                f"{self._where} holds a record that this version cannot read: it lacks {error}. "
                "Resume it with the version that wrote it."
            ) from None
        for name, value in values.items():
            self._variables[name].assign(value)
        return record

    def _compare(self, saved: Saved) -> None:
        before = saved.record["settings"]
        for name in sorted({*before, *self._settings}):
            old, new = before.get(name), self._settings.get(name)
            if old != new:
                raise ValueError(
                    f"{self._where} holds a run with {name} = {old}, but "
                    f"this one has {name} = {new}. Resume it with the same settings, or start this "
                    "one in another directory."
                )
        if saved.description is None:
            return
        remark = ""
        old_places, new_places = saved.description, self._description
        if saved.versions != (versions := checkpoint_file.versions()):
            # Attributes of a class, and the code of a function, can differ between versions.
            both = {one for one in old_places if one in new_places}
            both = {one for one in both if not one.endswith(description.CODE)}
            old_places, new_places = (
                {place: places[place] for place in places if place in both}
                for places in (old_places, new_places)
            )
            wrote, runs = (
                ", ".join(f"{name} {version}" for name, version in some.items())
                for some in (saved.versions, versions)
            )
            remark = f" (It was written with {wrote}; this is {runs}.)"
        for place in {**new_places, **old_places}:
            old, new = old_places.get(place, "not there"), new_places.get(place, "not there")
            if old != new:
                raise ValueError(
                    f"{self._where} holds another run: {place} is {old} there, and {new} here."
                    f"{remark} Resume it with the same functions and the same model, built anew, "
                    "or start this one in another directory."
                )


def describe_parameters(model: Any) -> dict[str, Any]:
    """The parameters' shapes and the numerical settings, by name."""
    settings: dict[str, Any] = {
        "default_float": np.dtype(gpflow.default_float()).name,
        "default_jitter": float(gpflow.default_jitter()),
    }
    for path, parameter in gpflow.utilities.parameter_dict(model).items():
        kind = "trainable" if parameter.trainable else "fixed"
        # Version 0.1.0 had other units of full precisions, and no description of models.
        units = ", in row units" if has_row_units(parameter) else ""
        settings[f"parameter {path}"] = f"{kind}, shape {list(parameter.shape)}{units}"
    return settings


def describe_data(data: tuple[tf.Tensor, tf.Tensor]) -> dict[str, Any]:
    """The data's shapes and a checksum, by name."""
    X, Y = data
    checksum = zlib.crc32(Y.numpy().tobytes(), zlib.crc32(X.numpy().tobytes()))
    return {
        "number of rows": int(X.shape[0]),
        "columns of X": math.prod(X.shape[1:]),
        "columns of Y": int(Y.shape[1]),
        # Last in alphabetical order, so that a clearer difference is reported first.
        "the data's checksum": checksum,
    }
