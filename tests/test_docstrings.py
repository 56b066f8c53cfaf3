"""Examples in docstrings run and give the results shown; the main names have one."""

import ast
import doctest
import re
from importlib import import_module
from pathlib import Path

import pytest

import gpflow_gi as gi

PACKAGE = Path(gi.__file__).parent
MODULES = [
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
    for path in sorted(PACKAGE.rglob("*.py"))
    if ">>> " in path.read_text("utf-8")
]


@pytest.mark.slow
@pytest.mark.parametrize("module", MODULES)
def test_examples(module):
    results = doctest.testmod(import_module(module))
    assert results.attempted > 0
    assert results.failed == 0


@pytest.mark.parametrize(
    "name",
    [
        "fit",
        "save",
        "architectures.build_deep_gp",
        "architectures.build_bnn",
        "models.DeepGP",
        "layers.GPLayer",
        "layers.DenseLayer",
        "posteriors.GlobalInducing",
        "posteriors.LocalInducing",
        "posteriors.Factorised",
        "kernels.BNNKernel",
        "bounds.estimate_elbo",
        "estimators.DeepGPRegressor",
    ],
)
def test_main_names_have_an_example(name):
    value = gi
    for part in name.split("."):
        value = getattr(value, part)
    assert ">>> " in value.__doc__


def test_no_field_is_one_letter_with_a_dot():
    """Sphinx would read it as the number of a list, and show nothing."""
    field = re.compile(r":(?:param \w+|return|raises [\w.]+): \(?[A-Za-z][.)](?: |$)", re.MULTILINE)
    found = {
        str(path.relative_to(PACKAGE)): field.findall(path.read_text("utf-8"))
        for path in PACKAGE.rglob("*.py")
    }
    assert {path: fields for path, fields in found.items() if fields} == {}


def test_docstrings_begin_with_a_verb_or_a_noun():
    """Docstrings of modules, classes, functions and attributes name their subject first."""
    question = re.compile(r"\s*(What|Whether|How|Where|Who|Which|When|That|If)\b")
    found = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
        and question.match(node.value.value)
    ]
    assert found == []
