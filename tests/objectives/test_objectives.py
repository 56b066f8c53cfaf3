"""The objectives of fit, and their names."""

import math

import numpy as np
import pytest
import tensorflow as tf

import gpflow_gi as gi
from gpflow_gi.core.random import as_seed
from gpflow_gi.objectives import AugmentedBound, Elbo, Objective, TemperedBound
from gpflow_gi.training.progress import describe

from ..training.models import LinearModel, assert_same, linear_data, noisy, svgp, train

pytestmark = pytest.mark.compiled
DATA = linear_data()
SETTINGS = {"batch_size": 6, "kl_warmup": 3, "learning_rate": 0.05, "seed": 4}


class Shifted(Objective):
    """The bound less (shift - 3)^2, for a shift of its own, which must become 3."""

    name = "shifted bound"

    def __init__(self, scale=1.0, **attributes):
        self.shift = tf.Variable(0.0, dtype=tf.float64)
        self.trainable_variables = (self.shift,)
        self.scale = scale
        vars(self).update(attributes)

    def terms(self, model, batch, num_samples, seed):
        first, kl = model.bound_terms(batch, num_samples, seed)
        return first - self.scale * (self.shift - 3.0) ** 2, kl


class OwnElbo(Elbo):
    def terms(self, model, batch, num_samples, seed):
        first, kl = super().terms(model, batch, num_samples, seed)
        return 2.0 * first, kl


def test_the_terms_of_the_elbo_are_the_models():
    batch, seed = tuple(map(tf.constant, DATA)), as_seed(3)
    model, sparse = LinearModel(20), svgp(20)
    for objective in (Elbo(), TemperedBound(0.1), AugmentedBound(noisy)):
        assert objective.terms(model, batch, 5, seed) == model.bound_terms(batch, 5, seed)
        first, kl = objective.terms(sparse, batch, None, seed)
        np.testing.assert_allclose(first - kl, sparse.elbo(batch), rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "objective", "name"),
    [
        ({}, Elbo(), "ELBO"),
        ({"temperature": 0.3}, TemperedBound(0.3), "tempered bound"),
        ({"augment": noisy}, AugmentedBound(noisy), "augmented bound"),
        (
            {"augment": noisy, "temperature": 0.3},
            AugmentedBound(noisy, temperature=0.3),
            "tempered augmented bound",
        ),
    ],
)
def test_arguments_are_short_for_objectives(arguments, objective, name):
    model, same = LinearModel(20), LinearModel(20)
    record = train(model, DATA, steps=5, **SETTINGS, **arguments)
    expected = train(same, DATA, steps=5, **SETTINGS, objective=objective)
    assert_same(model, same)
    assert record.settings == expected.settings
    assert [r.objective for r in record.reports] == [r.objective for r in expected.reports]
    assert record.reports[-1].name == record.reports[-1].objective_name == objective.name == name


def test_an_objective_of_the_users_trains_its_own_variables():
    """And leaves the model what it is under the bound: the shift enters by itself alone."""
    model, same, mine = LinearModel(20), LinearModel(20), Shifted()
    record = train(model, DATA, steps=400, **SETTINGS, objective=mine)
    expected = train(same, DATA, steps=400, **SETTINGS)
    np.testing.assert_allclose(mine.shift, 3.0, atol=1e-3)
    assert_same(model, same, 1e-12)
    first, last = record.reports[0], record.reports[-1]
    np.testing.assert_allclose(first.objective, expected.reports[0].objective - 9.0, rtol=1e-12)
    assert last.objective_name == "shifted bound" and last.augmented_bound is None
    # Beside it stands the ELBO, of the last step's rows and the parameters after it.
    assert math.isfinite(last.bound) and last.bound != expected.reports[-1].bound
    assert ", ELBO per row" in describe(last, 20)
    assert record.shortcoming is None or "shifted bound" in record.shortcoming


def test_temperature_and_augment_are_attributes_of_any_objective():
    model, same = LinearModel(20), LinearModel(20)
    mine = Shifted(temperature=0.3, augment=noisy)
    record = train(model, DATA, steps=5, **SETTINGS, objective=mine)
    train(same, DATA, steps=5, **SETTINGS, objective=AugmentedBound(noisy, temperature=0.3))
    assert_same(model, same, 1e-12)
    assert record.reports[-1].kl_weight == pytest.approx(0.3)
    assert record.settings["augment"] == "noisy" and record.settings["temperature"] == 0.3


class WithoutElbo(LinearModel):
    def energy(self, *arguments):
        return super().bound_terms(*arguments)

    bound_terms = property()  # raises AttributeError


class Energy(Objective):
    name = "energy"
    shows_elbo = False

    def terms(self, model, batch, num_samples, seed):
        return model.energy(batch, num_samples, seed)


def test_a_model_without_an_elbo():
    model, same = WithoutElbo(20), LinearModel(20)
    record = train(model, DATA, steps=5, **SETTINGS, objective=Energy())
    expected = train(same, DATA, steps=5, **SETTINGS)
    assert_same(model, same)
    report = record.reports[-1]
    assert report.objective == expected.reports[-1].objective
    assert math.isnan(report.bound) and math.isnan(report.kl)
    assert describe(report, 20) == f"energy per row {report.objective / 20:.4f}"
    with pytest.raises(TypeError, match="fit needs a model with bound_terms"):
        train(model, DATA, steps=5)


@pytest.mark.slow
def test_a_resumed_run_has_the_variables_of_its_objective(tmp_path):
    settings = {**SETTINGS, "checkpoint_dir": tmp_path}
    model, mine, same, expected = LinearModel(20), Shifted(), LinearModel(20), Shifted()
    train(same, DATA, steps=9, **SETTINGS, objective=expected)
    train(LinearModel(20), DATA, steps=4, **settings, objective=Shifted())
    record = train(model, DATA, steps=9, **settings, objective=mine)
    assert_same(model, same)
    assert mine.shift.numpy() == expected.shift.numpy() != 0.0
    assert record.step == 9 and record.reports[0].name == "shifted bound"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("objective", "place"),
    [
        (None, "objective = .*test_objectives.Shifted"),
        (TemperedBound(0.5), "objective = .*test_objectives.Shifted"),
        (Energy(), "objective = .*test_objectives.Shifted"),
        (Shifted(2.0), "objective.scale is 1.0 there, and 2.0 here"),
        (Shifted(temperature=0.5), "temperature = 1.0"),
    ],
    ids=["none", "tempered", "another", "another constant", "another temperature"],
)
def test_a_resumed_run_notices_another_objective(objective, place, tmp_path):
    settings = {**SETTINGS, "checkpoint_dir": tmp_path}
    train(LinearModel(20), DATA, steps=2, **settings, objective=Shifted())
    with pytest.raises(ValueError, match=place):
        train(LinearModel(20), DATA, steps=4, **settings, objective=objective)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"objective": "ELBO"}, TypeError, "objective must be a .*Objective.*, but is 'ELBO'"),
        ({"objective": Elbo}, TypeError, "objective must be a .*Objective, such as Elbo()"),
        ({"objective": Elbo(), "temperature": 0.5}, ValueError, "belong to the objective"),
        ({"objective": Elbo(), "augment": noisy}, ValueError, "belong to the objective"),
        ({"objective": OwnElbo()}, ValueError, "OwnElbo needs a name of its own.* has 'ELBO'"),
        ({"objective": Shifted(name=None)}, ValueError, "needs a name of its own.* has None"),
        ({"objective": Shifted(temperature=0)}, ValueError, "temperature .* must be positive"),
    ],
)
def test_errors(arguments, error, message):
    with pytest.raises(error, match=message):
        gi.fit(LinearModel(20), DATA, steps=1, progress=False, **arguments)


def test_errors_of_constructors():
    with pytest.raises(ValueError, match="temperature must be positive"):
        TemperedBound(-1.0)
    with pytest.raises(TypeError, match="augment must be a callable"):
        AugmentedBound("flip")
    with pytest.raises(TypeError, match="abstract"):
        Objective()
