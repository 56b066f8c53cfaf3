"""Models from other libraries, which are imported only when a model is converted, and for Keras."""

from .gpflux import from_gpflux
from .keras import as_keras_model

__all__ = ["as_keras_model", "from_gpflux"]
