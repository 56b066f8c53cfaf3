"""Adam in one operation per variable."""

from ..core.adam import Adam

__all__ = ["Adam"]
