"""Models from other libraries, which are imported only when a model is converted."""

from .gpflux import from_gpflux

__all__ = ["from_gpflux"]
