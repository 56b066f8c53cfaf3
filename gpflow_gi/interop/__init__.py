"""Models from other libraries, and for Keras and Trieste; each library is imported when needed."""

from .gpflux import from_gpflux
from .keras import KerasDeepGP, as_keras_model
from .trieste import TriesteModel, as_trieste_model

__all__ = ["KerasDeepGP", "TriesteModel", "as_keras_model", "as_trieste_model", "from_gpflux"]
