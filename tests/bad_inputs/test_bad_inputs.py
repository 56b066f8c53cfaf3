"""Public names with bad inputs; see the other modules of this package."""

import random

import numpy as np
import pytest
import tensorflow as tf

import gpflow_gi as gi
from gpflow_gi.core import validation
from gpflow_gi.core.random import as_seed

from . import running
from .judging import ANSWER, LONG, NAN, RAW, WORDS, judge
from .page import PAGE, page
from .targets import TARGETS, Target, cases

GOOD = (WORDS, ANSWER)

# Training, and what compiles, takes seconds where it is taken.
QUICK = ("architectures", "classification_metrics", "datasets", "implicit", "kernels", "layers",
         "metrics", "models", "plotting", "posteriors", "priors")  # fmt: skip


def sample(size: int) -> list[tuple[str, Target, object]]:
    """Cases of each area, as many of one as of another, the same ones every time."""
    by_area: dict[str, list[tuple[str, Target, object]]] = {area: [] for area in QUICK}
    for name, _, target, _, call in cases():
        if target.area in by_area:
            by_area[target.area].append((name, target, call))
    chooser = random.Random(0)
    return [case for area in QUICK for case in chooser.sample(by_area[area], size // len(QUICK))]


def test_a_sample_of_bad_inputs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # text that is taken for the name of a folder makes one
    wrong = []
    for name, target, call in sample(150):
        verdict = judge(call, target.of_estimator)
        if verdict.outcome not in GOOD:
            wrong.append(f"{verdict.outcome}: {name}: {verdict.detail}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.longest
def test_all_bad_inputs():
    results = running.run(seconds=300.0)
    print(running.summary(results))
    wrong = [result for result in results if result[3] not in GOOD]
    assert not wrong, "\n".join(f"{outcome}: {name}: {why}" for name, _, _, outcome, why in wrong)
    assert len(results) == len(cases()) > 10_000


@pytest.mark.slow
def test_the_table_of_the_page_is_what_comes_of_the_inputs():
    assert PAGE.read_text() == page(), "write it anew: python -m tests.bad_inputs --page"


# --------------------------------------------------------------------------------- what judges them


def raising(error):
    def call():
        raise error

    return call


def test_an_error_of_another_library_is_found():
    for call in (
        lambda: np.linalg.cholesky(-np.eye(2)),
        lambda: tf.constant([[1.0], [2.0, 3.0]]),
        lambda: None + 1,
        lambda: gi.metrics.mixture_moments(),  # Python's own, of arguments that are missing
        raising(ValueError("X must be finite.")),
    ):
        assert judge(call).outcome == RAW


def test_an_error_that_python_raises_in_our_code_is_found(monkeypatch):
    monkeypatch.setattr(gi.metrics.mixtures, "finite_floats", None)
    assert judge(lambda: gi.metrics.rmse([1.0], [1.0])).outcome == RAW


def test_words_and_answers_are_told_apart():
    assert judge(lambda: gi.metrics.rmse([1.0], [np.nan])).outcome == WORDS
    assert judge(lambda: gi.metrics.rmse([1.0], [2.0])).outcome == ANSWER
    assert judge(lambda: {"rmse": [1.0, (2.0, np.nan)]}).outcome == NAN
    assert judge(lambda: tf.constant([np.nan])).outcome == NAN
    assert judge(lambda: tf.Module()).outcome == ANSWER


def test_a_long_message_is_found(monkeypatch):
    monkeypatch.setattr(validation, "shown", lambda value: "very long " * 100)
    assert judge(lambda: as_seed(1)).outcome == ANSWER
    assert judge(lambda: validation.positive_integer("steps", -1)).outcome == LONG


def test_every_public_function_has_cases():
    tried = {target.name.split(".")[0].split(" ")[0].split("(")[0] for target in TARGETS}
    left_out = {
        # Records of results, base classes and what layers are made of: nobody calls these.
        "ConditionedLayer", "FitRecord", "FrozenPosterior", "FunctionDraws", "Images",
        "KerasDeepGP", "KernelBasis", "Layer", "LayerDraw", "LayerFunction", "LoadError",
        "NonFiniteError", "NutsResult", "Posterior", "Prior", "Report", "SaveError", "UCISet",
        "WeightPrior", "WeightScale", "DataError", "Array", "Recovery", "RecoveryWarning",
        "ConvergenceWarning", "Objective", "Elbo", "Draws", "Predictive", "NoDensityError",
        "DensityPosterior", "Ensemble", "Laplace", "LayerCoordinates", "MapEstimate",
        "WeightDraws", "WeightPosterior", "Stop", "Variational", "Swag", "MinibatchChains",
        "InducingChains",
        "FlowStep", "Planar", "RadialStep", "InverseAutoregressive", "NeuralAutoregressive",
        "DataRows", "Process", "RowLatents", "TriesteModel",
        # In an environment of its own; see tests/interop/test_trieste.py.
        "as_trieste_model",
        # Without arguments.
        "diabetes", "flights",
    }  # fmt: skip
    for module in (
        gi.architectures, gi.datasets, gi.design, gi.estimators, gi.implicit, gi.inference,
        gi.interop, gi.kernels, gi.layers, gi.models, gi.objectives, gi.persistence, gi.plotting,
        gi.posteriors, gi.priors, gi.training,
    ):  # fmt: skip
        for name in module.__all__:
            if callable(getattr(module, name)):
                assert name in tried | left_out, f"{module.__name__}.{name} has no cases"
