"""The comparison of all posteriors: a tiny run, its table and its figure."""

import numpy as np
import pytest

from gpflow_gi.experiments import posteriors, study
from gpflow_gi.experiments.cubic_network import Training
from gpflow_gi.experiments.posteriors import LAYERWISE, NOT_A_LAYER, Settings


@pytest.mark.longest
@pytest.mark.slow
def test_a_tiny_run(monkeypatch):
    tiny = Settings(
        num_rows=10,
        num_inducing=5,
        layerwise=Training(steps=2),
        steps=20,
        num_members=2,
        num_predictive=20,
        num_weights=30,
        num_inputs=7,
        nuts={
            "num_chains": 2,
            "num_draws": 5,
            "num_adaptation_steps": 3,
            "max_tree_depth": 1,
            "jit_compile": False,
        },
    )
    monkeypatch.setattr(posteriors, "FAST", tiny)
    monkeypatch.setattr("gpflow_gi.experiments.cubic_network.WIDTHS", (4, 4))
    with pytest.warns(UserWarning):  # of NUTS: these chains say nothing
        results = study.run("posteriors", fast=True, announce=lambda line: None, progress=False)
    names = [one["name"] for one in results["methods"]]
    assert names == ["NUTS", *LAYERWISE, *NOT_A_LAYER]
    with_density = {one["name"] for one in results["methods"] if "k_hat" in one}
    assert with_density == {*LAYERWISE, *NOT_A_LAYER} - {
        "MAP", "ensemble", "random priors", "dropout", "SGHMC"
    }  # fmt: skip
    lines = study.summary(results).splitlines()
    assert max(map(len, lines)) <= 88
    distances = [float(line.split()[-6]) for line in lines[3 : 2 + len(names)]]
    assert distances == sorted(distances) and np.all(np.isfinite(distances))
    figure = posteriors.plot(results)
    assert sum(ax.get_visible() for ax in figure.axes) == len(names)
