"""Files of a Keras model's weights."""

from __future__ import annotations

import os
from typing import Any, NoReturn

import numpy as np
import tensorflow as tf
from gpflow.keras import tf_keras

from ..core.jitter import jitter_scales
from ..models import Predictive

WEIGHTS = ".weights.h5"
"""Ending of the names of weight files. Keras' other formats lose or mix up the variables that are
not in Keras layers."""

INSTEAD = (
    f'Keep weights with save_weights_only=True and a path that ends in "{WEIGHTS}", or the model '
    "with gpflow_gi.save."
)
"""Advice for errors: the alternative to a file of the whole model."""

_JITTER = "jitter scale "
"""Beginning of the names of jitter scales."""


class WeightFiles(tf_keras.Model):
    """A Keras model around ``deep_gp`` of which only the weights can be written to files."""

    deep_gp: Predictive

    def save_weights(
        self, filepath: Any, overwrite: bool = True, save_format: Any = None, options: Any = None
    ) -> None:
        """Write all weights, and the optimizer's state, to a file.

        :param filepath: must end in ".weights.h5".
        :param overwrite: True to replace an existing file without asking.
        :param save_format: "h5" or None, which mean the same.
        :param options: has no effect.
        :raises ValueError: if another format is requested.
        """
        check_path(filepath, save_format)
        super().save_weights(filepath, overwrite)

    def load_weights(self, filepath: Any, **options: Any) -> None:
        """Restore the variables that :meth:`save_weights` wrote, all or none.

        :param filepath: must end in ".weights.h5".
        :param options: Keras' other arguments, which must be omitted.
        :raises ValueError: if the path is wrong, if an option is given, or if the file cannot be
            read or does not fit the model.
        """
        check_path(filepath, None)
        if any(options.values()):
            raise ValueError(f"load_weights has no option {next(iter(options))}: it loads all.")
        try:
            super().load_weights(filepath)
        except FileNotFoundError:
            raise ValueError(f"{os.fspath(filepath)}: there is no such file.") from None
        except OSError as error:
            raise ValueError(f"{os.fspath(filepath)} cannot be read: {error}") from None

    def save_own_variables(self, store: Any) -> None:
        """Keras' hook: save the variables that Keras does not find in a Keras layer.

        :param store: a map from names to arrays.
        """
        for i, variable in enumerate(self.deep_gp.variables):
            store[str(i)] = variable.numpy()
        for i, scale in enumerate(jitter_scales(self.deep_gp)):
            store[f"{_JITTER}{i}"] = scale.numpy()

    def load_own_variables(self, store: Any) -> None:
        """Keras' hook: the inverse of :meth:`save_own_variables`.

        :param store: a map from names to arrays.
        :raises ValueError: if `store` does not hold the model's weights.
        """
        variables = self.deep_gp.variables
        jitters = [key for key in store.keys() if key.startswith(_JITTER)]
        keys = sorted(set(store.keys()) - set(jitters), key=int)
        values = [np.asarray(store[key]) for key in keys]
        saved, here = ([_shape_and_type(v) for v in vs] for vs in (values, variables))
        scales = jitter_scales(self.deep_gp)
        if saved != here or len(jitters) not in (0, len(scales)):
            raise ValueError(
                f"The file holds {len(saved)} weights and the model has {len(here)}, or they "
                "differ in shape or type: the file is of another model. Nothing was loaded."
            )
        for variable, value in zip(variables, values, strict=True):
            variable.assign(value)
        # Files of version 0.1.0 have none.
        for i, scale in enumerate(scales):
            scale.assign(np.asarray(store[f"{_JITTER}{i}"]) if jitters else 1.0)

    def save(self, filepath: Any, *arguments: Any, **options: Any) -> None:
        """Raise an error: Keras cannot write this model to a file.

        :param filepath: as Keras' argument, as are all others.
        :raises ValueError: always; the message gives the alternative.
        """
        raise ValueError(f"Keras cannot write this model to a file. {INSTEAD}")

    def get_config(self) -> dict[str, Any]:
        """Keras' hook, also called for weights: the name, since no more can be described."""
        return {"name": self.name}

    @classmethod
    def from_config(cls, config: Any, custom_objects: Any = None) -> NoReturn:
        """Raise an error: the model cannot be built from its name.

        :param config: as Keras' argument.
        :param custom_objects: as Keras' argument.
        :raises ValueError: always; the message gives the alternative.
        """
        raise ValueError(
            "Keras cannot copy this model, or make it from a description. Copy the model inside, "
            "as with copy.deepcopy, and hand it to gpflow_gi.interop.as_keras_model."
        )


def check_path(path: Any, save_format: Any) -> None:
    """Refuse a path or a format that is not for weights.

    :raises ValueError: if so.
    """
    if not str(path).endswith(WEIGHTS) or save_format not in (None, "h5"):
        raise ValueError(
            f"Weights are kept in files whose name ends in {WEIGHTS}, and in no other of Keras' "
            f"formats, but the path is {str(path)!r}."
        )


def _shape_and_type(value: Any) -> tuple[tuple[int, ...], str]:
    return tuple(value.shape), tf.as_dtype(value.dtype).name
