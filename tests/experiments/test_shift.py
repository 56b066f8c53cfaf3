"""Calibration under shifts of the digits: the shifts, a tiny run, its table and its figure."""

import numpy as np
import pytest

from gpflow_gi.experiments import shift, study

TINY = shift.Settings(
    num_train=60, width=3, steps=40, num_inducing=5, num_members=2, num_test_samples=3
)


def test_a_quarter_turn_and_none():
    X = np.random.default_rng(0).uniform(size=(3, 8, 8))
    np.testing.assert_allclose(shift.rotated(X, 90), np.rot90(X, 1, axes=(1, 2)), atol=1e-12)
    np.testing.assert_allclose(shift.rotated(X, 0), X, atol=1e-12)
    assert shift.rotated(np.ones((1, 8, 8)), 45)[0, 0, 0] == 0.0  # black corners
    np.testing.assert_array_equal(shift.shifted(X, "test", None, 0), X)


def test_noise_has_its_deviation():
    X = np.zeros((500, 8, 8))
    noise = shift.shifted(X, "noised", 0.3, 1)
    assert noise.std() == pytest.approx(0.3, rel=5 / np.sqrt(2 * X.size))
    np.testing.assert_array_equal(noise, shift.shifted(X, "noised", 0.3, 1))


def results_of(names):
    """Made-up results, with all predictions in one bin."""
    levels = [("test", None), *((name, one) for name, all_ in shift.SHIFTS.items() for one in all_)]
    P = np.full((20, 10), 0.02)
    P[:, 3] = 0.82
    labels = np.where(np.arange(20) < 15, 3, 1)[:, None]
    measured = [{"shift": a, "level": b, **shift._measured(labels, P)} for a, b in levels]
    return {
        "experiment": "shift",
        "num_test": 20,
        "methods": [{"name": name, "seconds": 1.0, "measured": measured} for name in names],
    }


def test_measures_table_and_figure():
    results = results_of(shift.METHODS)
    one = results["methods"][0]["measured"][0]
    assert one["accuracy"] == 0.75 and one["confidence"] == pytest.approx(0.82)
    assert one["ece"] == pytest.approx(0.07)
    assert one["log_density"] == pytest.approx(0.75 * np.log(0.82) + 0.25 * np.log(0.02))
    lines = study.summary(results).splitlines()
    assert max(map(len, lines)) <= 80 and len(lines) == 3 + len(shift.METHODS) + 3
    assert lines[3].split() == ["MAP", *3 * ["75.0"], *3 * [f"{one['log_density']:.2f}"],
                                *3 * ["0.070"], "1"]  # fmt: skip
    figure = shift.plot(results)
    visible = [ax for ax in figure.axes if ax.get_visible()]
    assert len(visible) == 3 + len(shift.METHODS)
    assert [len(line.get_xdata()) for line in visible[0].lines] == 13 * [6]


@pytest.mark.longest
def test_a_tiny_run(monkeypatch):
    monkeypatch.setattr(shift, "FAST", TINY)
    monkeypatch.setattr(shift, "SHIFTS", {"rotated": (45,), "noised": (0.3,)})
    results = study.run("shift", fast=True, announce=lambda line: None, progress=False)
    assert [one["name"] for one in results["methods"]] == list(shift.METHODS)
    for method in results["methods"]:
        levels = [(one["shift"], one["level"]) for one in method["measured"]]
        assert levels == [("test", None), ("rotated", 45), ("noised", 0.3)]
        for one in method["measured"]:
            bins = one["reliability"]
            right = np.nansum(np.array(bins["size"]) * np.array(bins["accuracy"], float))
            assert right / results["num_test"] == pytest.approx(one["accuracy"])
    assert shift.plot(results).axes
