"""The comparison of all posteriors: measures of its tasks, tiny runs, their tables and figures."""

import numpy as np
import pytest
from scipy.special import ndtr

from gpflow_gi.experiments import posteriors, study
from gpflow_gi.experiments.cubic_network import Training
from gpflow_gi.experiments.posterior_methods import LAYERWISE, NOT_A_LAYER, methods_of
from gpflow_gi.experiments.posterior_tasks import TASKS, CubicTask, DigitsTask

CUBIC = CubicTask(num_rows=40, num_inducing=5, num_inputs=21, num_test=400, seed=0)
DIGITS = DigitsTask(num_rows=50, num_inducing=5, num_inputs=13, num_test=100, seed=0)


@pytest.mark.slow
def test_measures_of_the_true_cubic():
    # f itself, with a normal error of standard deviation 0.1 that all inputs of a draw share.
    x = CUBIC._data.inputs.inverse(CUBIC.inputs)
    f = CUBIC._data.targets.transform(x**3)
    eps = np.linspace(-3, 3, 301)
    eps = np.interp(np.linspace(0.0005, 0.9995, 1000), ndtr(eps), eps)[:, None, None]
    draws = f + 0.1 * eps
    found = CUBIC.measures([draws + 0.05], [draws])
    assert found["distance"] == pytest.approx(0.05) == found["distance_outside"]
    assert found["deviation_outside"] == pytest.approx(0.1, rel=0.01)
    mean, lowest, low, high, highest = np.array(found["bands"][0])
    np.testing.assert_allclose(mean - 0.05, f[:21, 0], atol=1e-3)
    np.testing.assert_allclose(highest - mean, 0.196, atol=0.003)
    np.testing.assert_allclose(high - low, 0.199, atol=0.003)
    assert np.all(lowest < low)
    exact = CUBIC.measures([f[None]], [draws])
    # Without the shift only the noise is left, for which test rows are calibrated.
    assert exact["calibration_error"] < 3 * 0.31 / np.sqrt(400)
    sd = CUBIC._data.noise_deviation
    entropy = 0.5 * np.log(2 * np.pi * np.e * sd**2)
    assert exact["log_density"] == pytest.approx(-entropy, abs=4 * np.sqrt(0.5 / 400))
    assert CUBIC.measures([f[None] + 1], [draws])["log_density"] < exact["log_density"] - 1
    # The mean CRPS of the true Gaussian is its standard deviation / sqrt(pi).
    assert exact["score"] == pytest.approx(sd / np.sqrt(np.pi), rel=4 / np.sqrt(400))
    levels, shares = np.array(exact["calibration"])
    assert levels[[0, -1]].tolist() == [0.05, 0.95]
    assert np.all(np.abs(shares - levels) < 4 * np.sqrt(levels * (1 - levels) / 400))


def test_a_chain_is_compared_with_the_others():
    f = np.zeros((10, len(CUBIC.inputs), 1))
    chains = [f, f + 1, f + 2]
    # 0 from 1 and 2: 1.5; 1 from 0 and 2: 1; 2 from 0 and 1: 1.5.
    found = CUBIC.measures(chains, chains)
    assert found["distance"] == pytest.approx(4 / 3)
    assert CUBIC.measures([f + 1], chains)["distance"] == pytest.approx(2 / 3)


def test_measures_of_digits():
    labels = DIGITS._test_Y[:, 0]
    f = np.full((7, 13 + 100, 10), 0.0)
    f[:, 13:][:, np.arange(100), labels] = np.log(9 * 9.0)  # 0.9 for the right class
    found = DIGITS.measures([f], [f.copy()])
    assert found["accuracy"] == 1.0 and found["distance"] == 0.0
    assert found["log_density"] == pytest.approx(np.log(0.9))
    assert found["confidence"] == pytest.approx(0.9)
    assert found["calibration_error"] == pytest.approx(0.1)
    confidence, accuracy = np.array(found["calibration"])
    np.testing.assert_allclose(confidence, 0.9)
    np.testing.assert_allclose(accuracy, 1)
    # (1 - 0.9)^2 for the right class, and 0.1 / 9 for each of the others.
    assert found["score"] == pytest.approx(0.1**2 + 9 * (0.1 / 9) ** 2)
    np.testing.assert_allclose(found["bands"], 0.1)
    uniform = np.zeros_like(f)
    other = DIGITS.measures([uniform], [f])
    assert other["distance"] == pytest.approx(0.8) and other["distance_outside"] == 0.0
    six = uniform.copy()
    six[:, :13, 6] = np.log(9 * 9.0)
    outside = DIGITS.measures([six], [uniform])
    np.testing.assert_allclose(np.array(outside["bands"])[:, 0, 0], [0.9, 0.1 / 9])
    assert outside["distance_outside"] == pytest.approx((0.8 + 0.1 - 0.1 / 9) / 2)


def test_the_six_becomes_a_nine():
    images = np.array(DIGITS.line["images"])
    np.testing.assert_allclose(images[-1], np.rot90(images[0], 2), atol=1e-6)
    assert DIGITS.inputs.shape == (113, 16)
    X, labels = DIGITS.rows
    assert (
        abs(X.mean()) < 1e-6 and X.std() == pytest.approx(1) and set(labels[:, 0]) == set(range(10))
    )


TINY = posteriors.Settings(
    num_rows=30,
    num_inducing=5,
    num_inputs=7,
    num_test=20,
    layerwise=Training(steps=2),
    steps=20,
    num_members=2,
    num_predictive=20,
    num_weights=30,
    nuts={
        "num_chains": 2,
        "num_draws": 5,
        "num_adaptation_steps": 3,
        "max_tree_depth": 1,
        "jit_compile": False,
    },
    annealed={"num_temperatures": 2, "num_chains": 2},
)


@pytest.mark.longest
@pytest.mark.slow
@pytest.mark.parametrize("data", TASKS)
def test_a_tiny_run(data, monkeypatch):
    monkeypatch.setitem(posteriors.FAST, data, TINY)
    monkeypatch.setattr("gpflow_gi.experiments.cubic_network.WIDTHS", (4, 4))
    monkeypatch.setattr(DigitsTask, "WIDTH", 3)
    with pytest.warns(UserWarning):  # of NUTS: these chains say nothing
        results = study.run(
            "posteriors", data=data, fast=True, announce=lambda line: None, progress=False
        )
    names = [one["name"] for one in results["methods"]]
    assert names == ["NUTS", *methods_of(TASKS[data])]
    assert set(LAYERWISE + NOT_A_LAYER) - set(names) == set(TASKS[data].without)
    with_density = {one["name"] for one in results["methods"] if "k_hat" in one}
    assert with_density == set(names) - {
        "NUTS", "MAP", "ensemble", "random priors", "dropout", "SGHMC"
    }  # fmt: skip
    assert all(one["elbo"] < one["iwbo"] for one in results["methods"] if "k_hat" in one)
    assert np.isfinite(results["evidence"]["value"])
    table, _ = study.summary(results).split("\n\n")
    assert max(map(len, study.summary(results).splitlines())) <= 112
    distances = [float(line.split()[-10]) for line in table.splitlines()[4:]]
    assert len(distances) == len(names) - 1
    assert distances == sorted(distances) and np.all(np.isfinite(distances))
    figure = posteriors.plot(results)
    assert sum(ax.get_visible() for ax in figure.axes) == len(names)
