"""Export of a model as a SavedModel, for servers that have only TensorFlow."""

from __future__ import annotations

import os

import gpflow
import tensorflow as tf

from ..core.jitter import jitter_scales
from ..core.random import Seed, as_seed
from ..core.validation import file_path, positive_integer
from ..models import Predictive
from ..models.predictive import DEFAULT_PREDICTION_SAMPLES, check_predictive
from .saving import SaveError


def export(
    model: Predictive,
    path: str | os.PathLike[str],
    *,
    num_samples: int = DEFAULT_PREDICTION_SAMPLES,
    seed: Seed = 0,
) -> None:
    """Write the model's predictions of f as a TensorFlow SavedModel.

    Its signature "serving_default" takes x of GPflow's default float type, [N, D], or [N, H, W, C]
    for a model of images, and returns "mean" and "variance" of f, both [N, P]. They are the values
    of ``model.predict_f(x, num_samples, seed=seed)``, the same in every call. Load it with
    ``tf.saved_model.load``; neither this library nor GPflow is needed.

    :param model: a :class:`~gpflow_gi.models.Predictive`. Its parameters are copied; later changes
        of the model do not change the export.
    :param path: a folder, which must not exist or must be empty.
    :param num_samples: S, the number of samples of the layers below the last.
    :param seed: seed of the samples: an integer or a pair of integers; None draws one.
    :raises TypeError: if it is not a model of this library.
    :raises ValueError: if the model does not determine the number of inputs, if `num_samples` is
        not positive, or if `seed` is not a seed.
    :raises SaveError: if the folder is not empty or cannot be written.
    """
    check_predictive(model)
    num_samples = positive_integer("num_samples", num_samples)
    input_shape = model.input_shape
    if input_shape is None:
        raise ValueError(
            "The model cannot be exported, since its number of inputs is not known: it has "
            "neither inducing inputs nor a dense first layer."
        )
    path = file_path("path", path)
    if path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise SaveError(f"{path} exists and is not an empty folder: choose another.")
    seed = as_seed(seed)

    served = tf.Module()
    # TensorFlow saves the variables of an object, so attach those of the graph to it.
    served.parameters = [*model.variables, *jitter_scales(model)]
    inputs = tf.TensorSpec([None, *input_shape], gpflow.default_float(), name="x")

    @tf.function(input_signature=[inputs], autograph=False)
    def predict_f(x: tf.Tensor) -> dict[str, tf.Tensor]:
        mean, variance = model.predict_f(x, num_samples, seed=seed)
        return {"mean": mean, "variance": variance}

    served.predict_f = predict_f
    options = tf.saved_model.SaveOptions(experimental_custom_gradients=False)
    try:
        tf.saved_model.save(
            served, str(path), signatures={"serving_default": predict_f}, options=options
        )
    except (OSError, tf.errors.OpError) as error:
        reason = " ".join(f"{getattr(error, 'message', error)}".split())
        raise SaveError(f"{path} cannot be written: {reason}") from None
