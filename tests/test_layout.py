"""Code layout: an import runs down the list of packages, never up, and never in a circle.

Imports inside functions and those for type checkers alone count as well.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import gpflow_gi

ROOT = Path(gpflow_gi.__file__).parent

HOUSE = (
    "__init__", "__main__", "cli", "experiments", "estimators",
    "benchmark", "interop", "architectures",
    "training", "persistence",
    "bounds", "objectives", "implicit", "inference", "models",
    "layers", "posteriors", "priors", "nonlinearities", "kernels",
    "plotting", "classification_metrics", "metrics", "datasets",
    "core", "_version",
)  # fmt: skip
"""Packages and modules of gpflow_gi, from the top down."""


def modules() -> dict[str, Path]:
    """Files by their modules' names within gpflow_gi; packages stand for their __init__.py."""
    found = {}
    for path in ROOT.rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts) or "__init__"] = path
    return found


MODULES = modules()


def imported_by(module: str, source: str) -> Iterator[str]:
    """The modules of gpflow_gi that one imports, wherever in its file it does."""
    is_package = MODULES[module].name == "__init__.py"
    inside = [] if module == "__init__" else module.split(".")
    package = inside if is_package else inside[:-1]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            start = ["gpflow_gi", *package[: len(package) + 1 - node.level]] if node.level else []
            base = ".".join([*start, *([node.module] if node.module else [])])
            names = [f"{base}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            first, _, rest = name.partition(".")
            if first != "gpflow_gi":
                continue
            while rest and rest not in MODULES:  # a function of a module
                rest = rest.rpartition(".")[0]
            yield rest or "__init__"


def imports() -> dict[str, set[str]]:
    return {
        module: set(imported_by(module, path.read_text())) - {module}
        for module, path in MODULES.items()
    }


IMPORTS = imports()


def package_of(module: str) -> str:
    return module.split(".")[0]


def storey(module: str) -> int:
    return HOUSE.index(package_of(module))


def circles(graph: dict[str, set[str]]) -> set[frozenset[str]]:
    """Sets of modules of which each leads to each other one."""
    reached: dict[str, set[str]] = {}
    for start in graph:
        seen: set[str] = set()
        waiting = [start]
        while waiting:
            for module in graph[waiting.pop()] - seen:
                seen.add(module)
                waiting.append(module)
        reached[start] = seen
    return {
        frozenset(one for one in reached[module] if module in reached[one])
        for module in graph
        if module in reached[module]
    }


def test_every_package_has_its_place():
    assert {package_of(module) for module in MODULES} == set(HOUSE)


def test_imports_run_down():
    pairs = [(module, name) for module, names in IMPORTS.items() for name in names]
    up = [(module, name) for module, name in pairs if storey(name) < storey(module)]
    assert not up


def test_no_import_runs_in_a_circle():
    assert not circles(IMPORTS)


def test_imports_of_every_kind_are_found():
    source = """
from typing import TYPE_CHECKING
import numpy, gpflow_gi.metrics.mixtures as m
from . import dense
from .base import Layer
from ..core import linalg, random as r
if TYPE_CHECKING:
    from ..models import DeepGP
def function():
    from gpflow_gi import _version
    from gpflow_gi.core.linalg import fold
"""
    assert set(imported_by("layers.gp", source)) == {
        "metrics.mixtures", "layers.dense", "layers.base", "core.linalg", "core.random", "models",
        "_version",
    }  # fmt: skip
    assert set(imported_by("layers", "from .gp import GPLayer\nfrom ..core import linalg")) == {
        "layers.gp", "core.linalg",
    }  # fmt: skip


def test_circles_are_found():
    graph = {"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set(), "e": {"e"}}
    assert circles(graph) == {frozenset("bc"), frozenset("e")}
