"""The types that users' checkers see."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def checked(file, folder):
    """mypy's verdict on a file, without this project's configuration."""
    return subprocess.run(
        [
            sys.executable, "-m", "mypy", "--config-file=", "--strict", "--follow-imports=silent",
            "--ignore-missing-imports", f"--cache-dir={folder}", str(file),
        ],
        env={**os.environ, "MYPYPATH": str(ROOT)},
        cwd=folder,
        capture_output=True,
        text=True,
    )  # fmt: skip


@pytest.mark.slow
def test_what_users_write_is_checked(tmp_path):
    found = checked(HERE / "user_code.py", tmp_path)
    assert found.returncode == 0, found.stdout + found.stderr


def test_editable_installs_are_found_by_type_checkers():
    """A path that checkers can read, instead of a hook of the import that only Python runs."""
    assert (ROOT / "gpflow_gi" / "py.typed").exists()
    text = (ROOT / "pyproject.toml").read_text()
    assert '[tool.distutils.editable_wheel]\nmode = "compat"' in text
