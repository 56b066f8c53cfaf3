"""Models from other libraries, which are imported only when a model is converted, and for Keras."""

from .gpflux import from_gpflux
from .keras import KerasDeepGP, as_keras_model

__all__ = ["KerasDeepGP", "as_keras_model", "from_gpflux"]
