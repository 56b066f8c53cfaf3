import pytest

from .kills import MODELS, kill


@pytest.mark.slow
def test_a_run_that_is_killed_ends_where_an_undisturbed_one_ends(tmp_path):
    kill("network", 2, 1, tmp_path)


@pytest.mark.longest
@pytest.mark.parametrize("model", MODELS)
def test_fifty_kills(model, tmp_path):
    met, _ = kill(model, 50, 0, tmp_path)
    assert met["while it wrote a file"] >= 5
    assert met["before its first checkpoint"] >= 1
