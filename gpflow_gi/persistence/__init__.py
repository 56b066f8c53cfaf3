"""Models as files."""

from .archive import LoadError
from .saving import SaveError, load, save

__all__ = ["LoadError", "SaveError", "load", "save"]
