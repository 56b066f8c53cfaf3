"""Models as files."""

from .archive import LoadError
from .exporting import export
from .saving import SaveError, load, save
from .table_model import TableModel

__all__ = ["LoadError", "SaveError", "TableModel", "export", "load", "save"]
