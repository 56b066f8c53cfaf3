"""Adam in one operation per variable."""

from typing import Any

import tensorflow as tf
from gpflow.keras import tf_keras

from .once import once


class Adam(tf_keras.optimizers.Adam):
    """Keras' Adam, with the update of a variable in one of TensorFlow's own operations.

    Keras uses about a dozen operations. For small models, where the start of operations takes most
    of the time, that is a third of a step.
    """

    def update_step(self, gradient: Any, variable: tf.Variable) -> None:
        """Keras' hook: move one variable, by the same formula (Kingma & Ba 2015, section 2)."""
        if self.amsgrad or not tf.is_tensor(gradient):  # sparse gradients are IndexedSlices
            super().update_step(gradient, variable)
            return
        dtype = variable.dtype
        settings = once((id(self), dtype), lambda: self._settings(dtype))
        index = self._index_dict[self._var_key(variable)]
        tf.raw_ops.ResourceApplyAdam(
            var=variable.handle,
            m=self._momentums[index].handle,
            v=self._velocities[index].handle,
            **settings,
            grad=gradient,
        )

    def _settings(self, dtype: tf.DType) -> dict[str, tf.Tensor]:
        """The inputs of the operation that are the same for all variables of this type."""
        step = tf.cast(self.iterations + 1, dtype)
        beta_1, beta_2 = (tf.constant(beta, dtype) for beta in (self.beta_1, self.beta_2))
        return {
            "beta1_power": tf.pow(beta_1, step),
            "beta2_power": tf.pow(beta_2, step),
            "lr": tf.cast(self.learning_rate, dtype),
            "beta1": beta_1,
            "beta2": beta_2,
            "epsilon": tf.constant(self.epsilon, dtype),
        }
