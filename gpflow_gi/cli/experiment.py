"""``gpflow-gi experiment NAME``."""

from typing import Any


def add_to(commands: Any) -> None:
    """Add the command to a parser's commands."""
