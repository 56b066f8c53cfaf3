"""The jitter of a model's layers.

GPflow's default jitter is the same for all models of a process. Each layer multiplies it by its own
scale, which is 1 until training has to raise it.
"""

import gpflow
import tensorflow as tf

LARGEST_JITTER = 0.01
"""Largest jitter that training may set, relative to the kernel's variance."""


def new_jitter_scale() -> tf.Variable:
    """Make a layer's `jitter_scale`: a variable, [], whose changes reach compiled functions."""
    return tf.Variable(1.0, trainable=False, dtype=gpflow.default_float(), name="jitter_scale")


def jitter_scales(model: tf.Module) -> list[tf.Variable]:
    """The scales of all layers of a model that have jitter.

    :param model: any module.
    :return: each [].
    """
    modules = (model, *model.submodules)
    return [module.jitter_scale for module in modules if hasattr(module, "jitter_scale")]


class Jitter:
    """The jitter of all layers of a model, relative to their kernels' variances.

    :param model: any module; it may have no jitter.
    """

    def __init__(self, model: tf.Module) -> None:
        self._scales = jitter_scales(model)

    @property
    def value(self) -> float:
        """The largest jitter of any layer; 0 if no layer has any."""
        return gpflow.default_jitter() * max((float(s) for s in self._scales), default=0.0)

    def get(self) -> list[float]:
        """Scales of the layers, for :meth:`set`."""
        return [float(scale) for scale in self._scales]

    def set(self, scales: list[float]) -> None:
        """Set the layers' scales to values from :meth:`get`."""
        for scale, value in zip(self._scales, scales, strict=True):
            scale.assign(value)

    def raise_tenfold(self) -> bool:
        """Multiply the jitter of every layer by ten.

        :return: False, with nothing changed, if that would exceed :data:`LARGEST_JITTER`, or if no
            layer has any jitter.
        """
        if not self._scales or 10.0 * self.value > LARGEST_JITTER * (1.0 + 1e-6):
            return False
        for scale in self._scales:
            scale.assign(10.0 * scale)
        return True
