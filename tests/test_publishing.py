"""Uploads: links that work outside of the repository, and the files of the sdist."""

import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
URL = "https://github.com/owner/name"

pytestmark = pytest.mark.skipif(
    not (ROOT / "setup.py").exists(), reason="needs the files of the repository"
)


def with_addresses(text):
    spec = spec_from_file_location("setup_of_gpflow_gi", ROOT / "setup.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.with_addresses(text, URL)


@pytest.mark.parametrize(
    "text, expected",
    [
        ("[a](docs/b.md#c)", f"[a]({URL}/blob/main/docs/b.md#c)"),
        ("![a](docs/b.png)", f"![a]({URL}/raw/main/docs/b.png)"),
        ("[a](https://b.org) [c](#d)", "[a](https://b.org) [c](#d)"),
        ("[two\nlines](LICENSE)", f"[two\nlines]({URL}/blob/main/LICENSE)"),
    ],
)
def test_paths_become_addresses(text, expected):
    assert with_addresses(text) == expected


def test_no_link_of_the_readme_is_left_out():
    readme = (ROOT / "README.md").read_text("utf-8")
    targets = re.findall(r"\]\(([^)\s]+)\)", with_addresses(readme))
    assert len(targets) > 20
    assert all(target.startswith(("https://", "#")) for target in targets)


def test_the_dockerfile_copies_what_the_package_is_built_from():
    copied = re.findall(r"^COPY (.*) \S+$", (ROOT / "Dockerfile").read_text("utf-8"), re.MULTILINE)
    names = " ".join(copied).split()
    assert all((ROOT / name).exists() for name in names)
    assert {"pyproject.toml", "setup.py", "README.md", "LICENSE", "gpflow_gi"} <= set(names)
