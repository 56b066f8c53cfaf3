"""Make executed notebooks of tutorials: ``python execute.py NAME.pct.py ...``."""

import argparse
import os
from pathlib import Path

import jupytext
import nbformat
from nbclient import NotebookClient

SECONDS_FOR_A_CELL = 1800


def execute(source: Path) -> Path:
    """Run a tutorial in its own folder, and write the notebook beside it.

    :param source: ``NAME.pct.py``.
    :return: ``NAME.ipynb``, which is written only if every cell has run.
    """
    notebook = jupytext.read(source, fmt="py:percent")
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    for i, cell in enumerate(notebook.cells):
        cell.id = f"cell-{i}"  # the same at every run
    client = NotebookClient(
        notebook,
        timeout=SECONDS_FOR_A_CELL,
        kernel_name="python3",
        record_timing=False,
        coalesce_streams=True,  # what a cell prints is one text, however slowly it came
        resources={"metadata": {"path": str(source.parent)}},
        # TensorFlow writes its first messages past Python; they are no part of a tutorial.
        extra_arguments=["--IPKernelApp.capture_fd_output=False"],
    )
    client.execute()
    target = source.with_name(source.name.removesuffix(".pct.py") + ".ipynb")
    nbformat.write(notebook, target)
    return target


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sources", nargs="+", type=Path)
    # What is kept is the whole tutorial, not what GPflow's reduce_in_tests makes of it.
    os.environ["DOCS"] = "1"
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    for source in parser.parse_args().sources:
        print(execute(source.resolve()))
