"""Models as files."""

from .archive import LoadError
from .exporting import export
from .saving import SaveError, load, save

__all__ = ["LoadError", "SaveError", "export", "load", "save"]
