"""Conversion of models from other libraries, and to Keras; each library is imported when needed."""

from .gpflux import from_gpflux
from .keras import KerasDeepGP, as_keras_model

__all__ = ["KerasDeepGP", "as_keras_model", "from_gpflux"]
