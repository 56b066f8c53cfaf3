"""Every tutorial's notebook has the cells of its source, and has been executed."""

import runpy
import subprocess
import sys
from pathlib import Path

import gpflow
import jupytext
import matplotlib
import matplotlib.pyplot as plt
import nbformat
import pytest
from gpflow.keras import tf_keras

FOLDER = Path(__file__).resolve().parents[1] / "tutorials"
SOURCES = sorted(FOLDER.glob("*.pct.py"))
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def name_of(path):
    return path.name.split(".")[0]


def differences(source, notebook):
    """Differences between a source and its notebook."""
    written = jupytext.read(source, fmt="py:percent").cells
    kept = nbformat.read(notebook, as_version=4).cells
    if [(c.cell_type, c.source) for c in written] != [(c.cell_type, c.source) for c in kept]:
        yield "the cells are not those of the source"
    code = [cell for cell in kept if cell.cell_type == "code"]
    if [cell.execution_count for cell in code] != list(range(1, len(code) + 1)):
        yield "it was not executed from the first cell to the last"
    if any(output.output_type == "error" for cell in code for output in cell.outputs):
        yield "a cell ended with an error"


def test_every_tutorial_is_a_pair():
    assert [name_of(path) for path in SOURCES] == [name_of(path) for path in NOTEBOOKS]


@pytest.mark.parametrize("source", SOURCES, ids=name_of)
def test_notebooks_are_in_step(source):
    notebook = FOLDER / f"{name_of(source)}.ipynb"
    assert not list(differences(source, notebook)), f"run: make tutorials/{notebook.name}"


# Those that train or start so much that they take most of a minute even when they are shortened.
LONGEST = {
    "bayesian_neural_networks",
    "classification_and_images",
    "conditional_densities",
    "deep_gps_global_and_local",
    "depth",
    "looking_at_a_model",
    "moving_from_gpflow_and_gpflux",
    "processes",
    "sequential_design",
    "thompson_sampling",
    "uci_from_the_command_line",
    "which_posterior",
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:FigureCanvasAgg is non-interactive")
@pytest.mark.parametrize(
    "source",
    [
        pytest.param(path, marks=[pytest.mark.longest] if name_of(path) in LONGEST else [])
        for path in SOURCES
    ],
    ids=name_of,
)
def test_sources_run(source, monkeypatch):
    # Shortened: where CI is set and DOCS is not, GPflow's reduce_in_tests takes the smaller number.
    monkeypatch.setenv("CI", "1")
    monkeypatch.delenv("DOCS", raising=False)
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "3")
    monkeypatch.chdir(FOLDER)
    matplotlib.use("Agg")
    # What a tutorial sets for its reader must not be set for the tests after it.
    floatx = tf_keras.backend.floatx()
    try:
        with gpflow.config.as_context():
            runpy.run_path(str(source))
    finally:
        tf_keras.backend.set_floatx(floatx)
        plt.close("all")


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """A tutorial of two cells, and the notebook that the program makes of it."""
    source = tmp_path_factory.mktemp("tutorials") / "small.pct.py"
    source.write_text("# %% [markdown]\n# # A title\n\n# %%\nprint(6 * 7)\n", "utf-8")
    program = FOLDER / "execute.py"
    subprocess.run([sys.executable, program, source], check=True, capture_output=True)
    return source, source.with_name("small.ipynb")


@pytest.mark.slow
def test_a_notebook_holds_what_its_source_prints(pair):
    _, notebook = pair
    (output,) = nbformat.read(notebook, as_version=4).cells[1].outputs
    assert output.text == "42\n"
    assert not list(differences(*pair))


@pytest.mark.slow
def test_the_same_source_makes_the_same_file(pair):
    source, notebook = pair
    before = notebook.read_text("utf-8")
    program = FOLDER / "execute.py"
    subprocess.run([sys.executable, program, source], check=True, capture_output=True)
    assert notebook.read_text("utf-8") == before


def test_a_changed_source_is_noticed(pair, tmp_path):
    source, notebook = pair
    changed = tmp_path / source.name
    changed.write_text(source.read_text("utf-8").replace("6 * 7", "6 * 8"), "utf-8")
    assert list(differences(changed, notebook)) == ["the cells are not those of the source"]


def test_a_notebook_without_outputs_is_noticed(pair, tmp_path):
    source, _ = pair
    bare = tmp_path / "bare.ipynb"
    nbformat.write(jupytext.read(source, fmt="py:percent"), bare)
    assert list(differences(source, bare)) == [
        "it was not executed from the first cell to the last"
    ]


@pytest.mark.slow
def test_a_cell_that_fails_leaves_no_notebook(tmp_path):
    source = tmp_path / "broken.pct.py"
    source.write_text("# %%\n1 / 0\n", "utf-8")
    program = FOLDER / "execute.py"
    done = subprocess.run([sys.executable, program, source], capture_output=True, text=True)
    assert done.returncode != 0
    assert "ZeroDivisionError" in done.stderr
    assert not source.with_name("broken.ipynb").exists()
