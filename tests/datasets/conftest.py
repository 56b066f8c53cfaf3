import os
from pathlib import Path

import pytest


@pytest.fixture
def published() -> Path:
    """A folder of the published files, which are not part of the project."""
    folder = os.environ.get("GPFLOW_GI_DATA")
    if not folder:
        pytest.skip("GPFLOW_GI_DATA names no folder with the published files of the UCI sets")
    return Path(folder)


@pytest.fixture
def csv(tmp_path):
    """A function that writes a text to a file, and returns the path."""

    def write(text, name="table.csv"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write
