"""One trial of every method on a small table."""

import json
import os
from dataclasses import replace

import gpflow
import numpy as np
import pytest
from scipy import stats

import gpflow_gi as gi
from gpflow_gi.benchmark import BUDGETS, METHODS, Budget, run_trial, train
from gpflow_gi.benchmark.labels import likelihood_of
from gpflow_gi.benchmark.trial import Rows
from gpflow_gi.core.json_file import with_none_for_non_finite
from gpflow_gi.datasets import DataError, Standardiser, Table, standard_split
from gpflow_gi.metrics.held_out import HeldOut
from gpflow_gi.training import FitRecord, LinearTail, Recovery
from gpflow_gi.training.convergence import MADE_WORSE

TINY = Budget(
    name="tiny",
    steps=30,
    learning_rate=0.02,
    last_learning_rate=0.002,
    kl_warmup=5,
    batch_size=20,
    num_inducing=8,
    num_samples=2,
    num_test_samples=10,
    num_elbo_samples=10,
)
METRICS = {
    "elbo",
    "log_density",
    "rmse",
    "crps",
    "pit_error",
    "coverage_50",
    "coverage_90",
    "coverage_95",
}


def sine(num_rows=60, unit=1.0):
    rng = np.random.default_rng(0)
    X = np.hstack([rng.uniform(-2, 2, size=(num_rows, 2)), np.ones((num_rows, 1))])
    Y = unit * (5 + np.sin(2 * X[:, :1]) + 0.05 * rng.normal(size=(num_rows, 1)))
    return Table("sine", X, Y, ("x", "not used", "constant"), "y")


@pytest.fixture(scope="module")
def exact_gp():
    """The record of a trial that several tests look at."""
    return run_trial(sine(), 0, "gp", TINY, seed=1)


QUICK = {"linear", "bnn-factorised-global"}
# Each kind of model; in the longest runs the other posteriors, depths and priors too.
SLOW = {"gp", "dgp-global-2", "dgp-local-2", "bnn-factorised", "bnn-global"}
# Without a density. Small ones of these are in test_all_weights.py.
UNBOUNDED = {"bnn-ensemble", "bnn-map", "bnn-dropout", "bnn-sghmc"}
UNBOUNDED |= {f"{name}{end}" for name in ("svgp-sghmc", "dgp-sghmc-2") for end in ("", "-alpha-1")}
UNBOUNDED |= {"avb", "aadm-0.5", "sip-bnn", "sip-ns", "sip-ns-dropout"}


def marks_of(name):
    if name in QUICK:
        return []
    return [pytest.mark.slow if name in SLOW else pytest.mark.longest]


@pytest.mark.compiled
@pytest.mark.parametrize("method", [pytest.param(name, marks=marks_of(name)) for name in METHODS])
def test_every_method_gives_a_whole_record(method, request):
    # Each of the chains of SGHMC gives 25 draws, from the second half of a cycle.
    budget = replace(TINY, steps=80) if method == "bnn-sghmc" else TINY
    if method == "gp":
        record = request.getfixturevalue("exact_gp")
    else:
        record = run_trial(sine(), 0, method, budget, seed=1)
    assert set(record["metrics"]) == METRICS
    for name, value in record["metrics"].items():
        if name == "elbo" and method in UNBOUNDED:
            assert value is None
        else:
            assert np.isfinite(value), name
    assert record["trial"]["settings"]["model"] == METHODS[method].model
    assert record["trial"]["budget"]["steps"] == budget.steps
    assert record["data"]["num_train"] == 54 and record["data"]["num_test"] == 6
    assert record["cost"]["peak_memory_mb"] > 50 and record["cost"]["num_parameters"] > 2
    assert record["cost"]["seconds"] > record["cost"]["compile_seconds"] >= 0
    threads = os.cpu_count() or 1
    assert 0 < record["cost"]["cpu_seconds"] < (threads + 1) * record["cost"]["seconds"]
    hyperparameters = record["hyperparameters"]
    assert any("variance" in name for name in hyperparameters)
    assert record["versions"]["processor"] and record["version"] == gi.__version__
    json.dumps(with_none_for_non_finite(record), allow_nan=False)


@pytest.mark.longest
def test_chains_learn_kernels_where_the_rate_of_training_ends_at_zero():
    budget = replace(TINY, learning_rate=0.03, last_learning_rate=0.0)
    assert budget.last_learning_rate == BUDGETS["standard"].last_learning_rate
    start, chains = (
        run_trial(sine(), 0, name, budget, seed=1)["hyperparameters"]
        for name in ("dgp-local-2", "dgp-sghmc-2")
    )
    kernels = [name for name in start if "kernel" in name]
    assert len(kernels) == 4
    for name in kernels:
        moved = np.abs(np.log(chains[name]) - np.log(start[name]))
        assert np.max(moved) > 1e-3, name


@pytest.mark.slow
@pytest.mark.compiled
def test_the_same_trial_has_the_same_numbers_and_leaves_no_setting_behind():
    gpflow.config.set_default_float(np.float32)
    first, second, other = (
        run_trial(sine(), 0, "bnn-factorised", TINY, seed) for seed in (1, 1, 2)
    )
    assert first["metrics"] == second["metrics"] != other["metrics"]
    assert first["hyperparameters"] == second["hyperparameters"]
    assert gpflow.default_float() == np.float32


@pytest.mark.slow
def test_an_exact_gp_is_gpflows():
    """Every number that a trial has for it, from GPR and the definitions."""
    table = sine(unit=100.0)
    record = run_trial(table, 1, "gp", TINY)
    train, test = standard_split(table, 1)
    inputs, targets = Standardiser.fit(train.X), Standardiser.fit(train.Y)
    X, Y = inputs.transform(train.X), targets.transform(train.Y)
    found = record["hyperparameters"]
    kernel = gpflow.kernels.SquaredExponential(
        found["kernel.variance"], found["kernel.lengthscales"]
    )
    model = gpflow.models.GPR((X, Y), kernel, noise_variance=found["likelihood.variance"])
    assert record["metrics"]["elbo"] == pytest.approx(
        model.log_marginal_likelihood().numpy() / len(X)
    )
    y = targets.transform(test.Y)
    mean, variance = model.predict_y(inputs.transform(test.X))
    log_density = model.predict_log_density((inputs.transform(test.X), y)).numpy()
    scale = targets.scale[0]
    assert record["metrics"]["log_density"] == pytest.approx(log_density.mean() - np.log(scale))
    error = scale * (y - mean)[:, 0].numpy()
    assert record["metrics"]["rmse"] == pytest.approx(np.sqrt(np.mean(error**2)))
    z = ((y - mean) / np.sqrt(variance))[:, 0].numpy()
    for level, width in ((50, 0.6744897501960817), (90, 1.6448536), (95, 1.959964)):
        assert record["metrics"][f"coverage_{level}"] == np.mean(abs(z) <= width)
    # Both are maxima, up to the optimiser's tolerance.
    assert record["cost"]["num_parameters"] == 5


@pytest.mark.slow
@pytest.mark.compiled
def test_a_gp_on_many_rows_is_a_sparse_one(exact_gp):
    few = dict(METHODS["gp"].settings, max_exact_rows=50)
    method = gi.benchmark.Method("gp-25", "GP", "gp", "here", few)
    budget = replace(TINY, num_inducing=25)
    sparse, exact = run_trial(sine(), 0, method, budget), exact_gp
    # SGPR's bound is below the evidence that it bounds, at the exact GP's optimum or anywhere.
    assert sparse["metrics"]["elbo"] < exact["metrics"]["elbo"] + 1e-6
    assert sparse["metrics"]["elbo"] > exact["metrics"]["elbo"] - 0.5
    assert sparse["trial"]["method"] == "gp-25"


def test_what_training_had_to_change_is_noted(monkeypatch):
    record, plain = FitRecord(), FitRecord()
    record.recoveries = [Recovery(7, "layer 1", jitter=1e-5)]
    for returned, notes in ((record, [str(record.recoveries[0])]), (plain, None)):
        monkeypatch.setattr(train, "fit", lambda *_, returned=returned, **__: returned)
        assert run_trial(sine(), 0, "svgp", TINY).get("notes") == notes


@pytest.mark.parametrize("sentence", [f"The ELBO is -9: {MADE_WORSE}.", "The ELBO still rises."])
def test_a_bound_that_is_worse_than_at_the_start_is_noted(monkeypatch, sentence):
    record = FitRecord(shortcoming=sentence)
    monkeypatch.setattr(train, "fit", lambda *_, **__: record)
    notes = run_trial(sine(), 0, "svgp", TINY).get("notes", [])
    assert notes == [sentence] * (MADE_WORSE in sentence)


def test_texts_that_no_training_row_has_are_noted(tmp_path):
    path = tmp_path / "colours.csv"
    tested = np.random.RandomState(1).permutation(20)[18:]  # of split 0
    colours = ["mauve" if row == tested[0] else "red" if row % 2 else "blue" for row in range(20)]
    path.write_text("colour,y\n" + "".join(f"{c},{i}\n" for i, c in enumerate(colours)))
    table = gi.datasets.read_csv(path, "y")
    (note,) = run_trial(table, 0, "linear", TINY)["notes"]
    said = "1 of 2 held-out rows have a text in 'colour' that no training row has, such as 'mauve'"
    assert note == f"{said}: it is 0 in all inputs."


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["classes", "counts"])
def test_classes_and_counts_have_their_likelihoods(kind):
    table = sine()
    rng = np.random.default_rng(0)
    if kind == "classes":
        labels = (table.X[:, :1] > 0).astype(float)
        table = replace(table, Y=labels, task="classification", classes=("a", "b"))
    else:
        table = replace(table, Y=rng.poisson(np.exp(1 + table.X[:, :1])) * 1.0, task="counts")
    record = run_trial(table, 0, "svgp", TINY)
    metrics = record["metrics"]
    # Log probabilities of labels, which a Gaussian density need not be.
    assert metrics["log_density"] < 0 and ("accuracy" in metrics) == (kind == "classes")
    assert not [name for name in record["hyperparameters"] if "likelihood" in name]
    for method in METHODS.values():
        if "optimal" in method.name or "targets" in method.name:
            assert not method.takes_likelihoods
    for method in ("linear", "gp", "bnn-laplace", "dgp-sghmc-2", "dgp-global-2-full-optimal"):
        with pytest.raises(ValueError, match=f"Gaussian noise, and the target 'y' .* {kind}"):
            run_trial(table, 0, method, TINY)


def test_numbers_of_numpy_are_written_as_json():
    record = run_trial(sine(), np.int32(1), "linear", TINY, seed=np.int64(3))
    trial = json.loads(json.dumps(record))["trial"]
    assert (trial["split"], trial["seed"]) == (1, 3)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("num_classes", [2, 3])
def test_likelihoods_of_classes_are_saved_without_a_warning(num_classes, tmp_path):
    likelihood = likelihood_of("classification", num_classes)
    outputs = 1 if num_classes == 2 else num_classes
    layer = gi.layers.GPLayer(gpflow.kernels.Matern52(), outputs, gi.posteriors.FullGaussian(2))
    model = gi.models.DeepGP([layer], likelihood, num_data=6, inducing_inputs=[[0.0], [1.0]])
    gi.save(model, tmp_path / "model.gi")


def test_rows_to_test_on_play_no_part_in_training():
    table = sine()
    tested = np.random.RandomState(1).permutation(60)[54:]
    X, Y = table.X.copy(), table.Y.copy()
    X[tested] += 3.0
    Y[tested] *= 2.0
    one, other = (run_trial(each, 0, "linear", TINY) for each in (table, replace(table, X=X, Y=Y)))
    assert one["metrics"]["elbo"] == other["metrics"]["elbo"]
    assert one["hyperparameters"] == other["hyperparameters"]
    assert one["metrics"]["rmse"] != other["metrics"]["rmse"]


def test_the_value_of_a_target_that_is_constant_in_training_counts():
    x = np.arange(6.0)[:, None]
    train_rows = Table("t", x, np.full((6, 1), 3.0), ("a",), "y")
    rows = Rows(train_rows, Table("t", x, x, ("a",), "y"))
    np.testing.assert_array_equal(rows.Y, 0)
    one, zero = np.ones((1, 6, 1)), np.zeros((1, 6, 1))
    density = HeldOut(rows.Y_test, zero, one, rows.targets).log_density
    np.testing.assert_allclose(density, stats.norm.logpdf(x[:, 0], 3.0, 1.0))


def test_linear_regression_predicts_lines():
    table = sine()
    line = Table("line", table.X, 3 * table.X[:, :1] - 1, table.input_names, "y")
    record = run_trial(line, 0, "linear", TINY)
    assert record["metrics"]["rmse"] < 1e-6


def test_the_evidence_of_linear_regression_is_that_of_its_kernel():
    """N(y; 0, X X^T weight variance + noise variance I) on centred rows."""
    table = sine()
    record = run_trial(table, 0, "linear", TINY)
    train, _ = standard_split(table, 0)
    X, Y = (Standardiser.fit(values).transform(values) for values in (train.X, train.Y))
    found = record["hyperparameters"]
    covariance = found["weight_variance"] * X @ X.T + found["noise_variance"] * np.eye(len(X))
    evidence = stats.multivariate_normal(np.zeros(len(X)), covariance).logpdf(Y[:, 0])
    assert record["metrics"]["elbo"] == pytest.approx(evidence / len(X), abs=1e-4)


@pytest.mark.slow
@pytest.mark.skipif("GPFLOW_GI_DATA" not in os.environ, reason="GPFLOW_GI_DATA is not set")
@pytest.mark.parametrize(
    ("name", "split", "at_least"),
    [("yacht", 2, 1.5), pytest.param("energy", 0, 1.3, marks=pytest.mark.longest)],
)
def test_exact_gps_where_one_start_is_not_enough(name, split, at_least):
    assert run_trial(name, split, "gp")["metrics"]["elbo"] > at_least


@pytest.mark.slow
def test_the_unit_of_the_target_moves_metrics_as_it_should(exact_gp):
    one, hundred = exact_gp["metrics"], run_trial(sine(unit=100.0), 0, "gp", TINY)["metrics"]
    for name in METRICS:
        expected = {"rmse": 100 * one[name], "crps": 100 * one[name]}.get(name, one[name])
        if name == "log_density":
            expected -= np.log(100)
        assert hundred[name] == pytest.approx(expected, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        (("yotch", 0, "gp"), gi.datasets.DataError, "yacht"),
        (("yacht", 20, "gp"), gi.datasets.DataError, "the numbers 0 to 19"),
        (("yacht", "0", "gp"), DataError, "no split '0'"),
        (("yacht", 0, "gpp"), ValueError, "method must be one of linear, gp"),
        (("yacht", 0, "gp", "cheap"), ValueError, "budget must be one of quick, standard, paper"),
    ],
)
def test_what_there_is_not_is_refused(arguments, error, said):
    with pytest.raises(error, match=said):
        run_trial(*arguments)


def test_a_last_rate_of_zero_is_reached_linearly(monkeypatch):
    given = {}
    monkeypatch.setattr(train, "fit", lambda *_, **arguments: given.update(arguments))
    train.train_by(
        replace(TINY, learning_rate=0.05, last_learning_rate=0.0), None, (None, None), seed=0
    )
    assert given["learning_rate"] == LinearTail(0.05, TINY.steps)
    assert given["optimizer"].beta_2 == 0.99


def test_settings_of_the_methods_compared_with_implicit_processes():
    """Those of Rodriguez Santana et al. (2022), section 5: 2 x 50 units, steps of 10 rows."""
    names = "bbb, avb, aadm-0.5, fbnn, vip, dvip-2, sip-bnn, sip-ns".split(", ")
    alphas = {}
    for name in names:
        settings = METHODS[name].settings
        budget = train.with_own_numbers(BUDGETS["quick"], settings["train"])
        assert (budget.batch_size, budget.num_inducing) == (10, 100)
        assert budget.kl_warmup == 0.2 * budget.steps == 600
        objective = settings.get("objective", {})
        alphas[name] = objective.get("alpha")
        assert objective.get("classifier", [50, 50]) == [50, 50]
        if METHODS[name].model == "bnn":
            assert settings["widths"] == [50, 50]
    assert alphas == {**dict.fromkeys(names), "avb": 0.0} | dict.fromkeys(
        ("aadm-0.5", "vip", "sip-bnn", "sip-ns"), 0.5
    )
    X = np.random.default_rng(0).normal(size=(20, 2))
    for name in ("vip", "sip-bnn", "sip-ns"):
        model = train.build(METHODS[name], X, X[:, :1], 5, seed=0)
        process = model.layers[0].process
        if name == "sip-ns":
            widths = [weights.shape[-1] for weights in process.network.weights[:-1]]
        else:
            widths = [layer.output_dim for layer in process.layers[:-1]]
        assert widths == [50, 50]


def test_names_fit_shells_and_files():
    for name, method in METHODS.items():
        assert name == method.name and name.replace("-", "").replace(".", "").isalnum()
        assert method.title and method.source
    assert len({method.title for method in METHODS.values()}) == len(METHODS)
    assert set(BUDGETS) == {"quick", "standard", "paper"}


def test_divided_rows_change_only_the_training_of_a_method():
    divided = {"num_samples": 4}, {"name": "Elbo", "divide_rows": True}
    names = [name for name in METHODS if name.endswith("-divided")]
    for name in names:
        settings = dict(METHODS[name].settings)
        assert (settings.pop("train"), settings.pop("objective")) == divided
        assert settings == METHODS[name.removesuffix("-divided")].settings
    for depth in ("2", "3", "5-zero"):
        for form in ("", "-unshared", "-whitened", "-full"):
            assert f"dgp-global-{depth}{form}-divided" in names


def test_a_method_of_an_unknown_model_is_refused():
    with pytest.raises(ValueError, match=r"model must be one of linear, gp, .* but is 'tree'"):
        gi.benchmark.Method("forest", "Trees", "tree", "here")
