"""Scripts that several pages have their numbers from."""

import pytest

from tests.results.pages import script


@pytest.fixture(scope="session")
def figures():
    """The script that compares the trials at the budget `standard`."""
    return script("standard", "figures.py")


@pytest.fixture(scope="session")
def forms():
    return script("standard", "all_forms.py")


@pytest.fixture(scope="session")
def variants():
    return script("standard", "variants.py")


@pytest.fixture(scope="session")
def networks():
    return script("standard", "networks.py")


@pytest.fixture(scope="session")
def twenty():
    return script("twenty", "table.py")
