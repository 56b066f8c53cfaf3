"""A first session, as a script in a fresh clone and environment."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("newcomer.sh")


@pytest.mark.longest
@pytest.mark.skipif(
    not (SCRIPT.parents[1] / ".git").exists(), reason="needs a clone of the repository"
)
def test_a_first_session():
    done = subprocess.run(
        [str(SCRIPT), sys.executable], capture_output=True, text=True, timeout=3000
    )
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
