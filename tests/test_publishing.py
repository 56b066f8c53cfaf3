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


def dependencies_of(lines):
    """Names and the sets of their bounds: "numpy>=1.24,<2" -> {"numpy": {">=1.24", "<2"}}."""
    found = [re.fullmatch(r"([\w-]+)(?:\[\w+\])?\s*(\S*)", line) for line in lines]
    return {one[1]: set(one[2].split(",")) - {""} for one in found}


def test_the_conda_recipe_has_the_dependencies_of_pyproject():
    tomllib = pytest.importorskip("tomllib")
    yaml = pytest.importorskip("yaml")
    jinja2 = pytest.importorskip("jinja2")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    text = (ROOT / "conda" / "meta.yaml").read_text("utf-8")
    recipe = yaml.safe_load(jinja2.Template(text).render(PYTHON="python"))

    wanted = dependencies_of(project["project"]["dependencies"])
    wanted["matplotlib-base"] = wanted.pop("matplotlib")  # conda-forge's name without a display
    wanted["tf-keras"] = wanted["tensorflow"]  # what tensorflow-probability[tf] asks for
    wanted["python"] = set(project["project"]["requires-python"].split(","))
    assert dependencies_of(recipe["requirements"]["run"]) == wanted
    host = dependencies_of(recipe["requirements"]["host"])
    assert host["setuptools"] == {project["build-system"]["requires"][0].removeprefix("setuptools")}
    assert recipe["package"]["name"] == project["project"]["name"]
    assert recipe["about"]["summary"] == project["project"]["description"]
    assert recipe["about"]["license"] == project["project"]["license"]
    [command] = recipe["build"]["entry_points"]
    assert command.split(" = ")[1] == project["project"]["scripts"][command.split(" = ")[0]]
    from gpflow_gi import __version__

    assert recipe["package"]["version"] == __version__


def test_the_citation_is_of_this_version():
    yaml = pytest.importorskip("yaml")
    from gpflow_gi import __version__

    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert citation["cff-version"] == "1.2.0" and citation["type"] == "software"
    assert citation["version"] == __version__ and citation["license"] == "Apache-2.0"
    assert citation["message"] and citation["title"] and citation["authors"]
    for reference in citation["references"]:
        assert {"type", "title", "authors", "year", "url"} <= set(reference)
        assert all({"family-names", "given-names"} == set(one) for one in reference["authors"])


def extension(name):
    spec = spec_from_file_location(name, ROOT / "docs" / "_extensions" / f"{name}.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_tutorials_open_in_colab_and_binder(tmp_path):
    nbformat = pytest.importorskip("nbformat")
    notebook_links = extension("notebook_links")
    for notebook in sorted((ROOT / "tutorials").glob("*.ipynb")):
        notebook_links.copy_with_links(notebook, tmp_path, URL)
        before, after = (
            nbformat.read(folder / notebook.name, as_version=4).cells
            for folder in (notebook.parent, tmp_path)
        )
        title, _, line, *_ = after[0].source.split("\n")
        assert title == before[0].source.split("\n")[0] and title.startswith("# ")
        targets = re.findall(r"\]\((\S+?)\)", line)
        name = notebook.name
        assert targets == [
            f"https://colab.research.google.com/github/owner/name/blob/main/tutorials/{name}",
            f"https://mybinder.org/v2/gh/owner/name/main?labpath=tutorials%2F{name}",
        ]
        assert "%pip install git+https://github.com/owner/name" in line
        assert after[1:] == before[1:]
    notebook_links.copy_with_links(notebook, tmp_path, "")
    assert nbformat.read(tmp_path / name, as_version=4) == nbformat.read(notebook, as_version=4)
    assert notebook_links.links(name, "https://gitlab.com/owner/name") == ""
    # Binder installs the package itself, with a Python that it supports.
    assert (ROOT / ".binder" / "requirements.txt").read_text().split() == ["."]
    assert (ROOT / ".binder" / "runtime.txt").read_text().split() == ["python-3.11"]


@pytest.mark.slow
@pytest.mark.parametrize("address", ["", "../versions.json", "https://docs.org/versions.json"])
def test_the_menu_of_versions_is_off_unless_asked_for(address, tmp_path, monkeypatch):
    application = pytest.importorskip("sphinx.application")
    pytest.importorskip("furo")
    (tmp_path / "index.md").write_text("# A page\n\n```{toctree}\ninner/page\n```\n")
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "page.md").write_text("# Another\n")
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "_extensions"))
    monkeypatch.setenv("GPFLOW_GI_DOCS_VERSIONS", address)
    settings = {
        "extensions": ["myst_parser", "versions"], "html_theme": "furo", "release": "0.2.0",
    }  # fmt: skip
    out = tmp_path / "out"
    application.Sphinx(
        tmp_path, None, out, tmp_path / "trees", "html", settings, status=None, warning=None
    ).build()
    top, inner = (out / name for name in ("index.html", "inner/page.html"))
    if not address:
        assert "versions" not in top.read_text() and not (out / "_static/versions.js").exists()
        return
    assert 'data-current="0.2.0"' in top.read_text() and (out / "_static/versions.js").exists()
    prefix = "" if "://" in address else "../"
    assert f'data-versions="{address}"' in top.read_text().replace('"./', '"')
    assert f'data-versions="{prefix}{address}"' in inner.read_text()
    assert top.read_text().index('class="versions"') < top.read_text().index("sidebar-tree")
