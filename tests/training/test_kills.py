import subprocess
import sys
from pathlib import Path

import pytest

from .kills import MODELS


def run(*arguments):
    """In a process that has not computed anything with TensorFlow yet, as a fork needs it."""
    command = [sys.executable, "-m", "tests.training.kills", *arguments]
    folder = Path(__file__).parents[2]
    return subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE, text=True).stdout


@pytest.mark.slow
def test_a_run_that_is_killed_ends_where_an_undisturbed_one_ends():
    assert "equal in every bit" in run("--kills", "2", "--models", "network")


@pytest.mark.longest
@pytest.mark.parametrize("model", MODELS)
def test_fifty_kills(model):
    printed = run("--kills", "50", "--models", model)
    assert printed.count("while it wrote a file\n") >= 5
    assert printed.count("before its first checkpoint\n") >= 1
    assert "equal in every bit" in printed
