"""Runs that once ended in NaN, to their end, with the default jitter."""

import json
from pathlib import Path

import gpflow
import numpy as np
import pandas as pd
import pytest

import gpflow_gi as gi
from gpflow_gi.cli import main

pytestmark = [pytest.mark.compiled, pytest.mark.longest]
ENDS_EARLY = pytest.mark.filterwarnings("ignore::gpflow_gi.training.ConvergenceWarning")


def standardised(array):
    return (array - array.mean(0)) / array.std(0)


def five_layers(X, Y, Lambda, num_inducing=50):
    """Zero mean functions, full precisions, and pseudo-outputs at random: no start to speak of."""
    rng = np.random.default_rng(0)
    D, N = X.shape[1], len(X)
    layers = [
        gi.layers.GPLayer(
            gpflow.kernels.SquaredExponential(lengthscales=np.ones(D)),
            width,
            gi.posteriors.GlobalInducing(
                num_inducing,
                width,
                pseudo_outputs=rng.normal(size=(num_inducing, width)),
                pseudo_precision=Lambda,
                precision="full",
            ),
        )
        for width in [D, D, D, D, 1]
    ]
    likelihood = gpflow.likelihoods.Gaussian(0.1)
    Z = X[rng.choice(N, num_inducing, replace=False)]
    return gi.models.DeepGP(layers, likelihood, num_data=N, inducing_inputs=Z)


@ENDS_EARLY
@pytest.mark.reference
def test_five_layers_with_full_precisions_train_from_the_start_of_the_methods_authors():
    train, _ = gi.datasets.uci("energy", 0)
    X, Y = standardised(train.X), standardised(train.Y)
    model = five_layers(X, Y, np.exp(-4.0))
    record = gi.fit(model, (X, Y), steps=6000, learning_rate=0.01, progress=False)
    assert record.step == 6000 and record.recoveries == []
    assert record.reports[-1].bound / len(X) > 0.3  # from -9.8


def arc_cosine_deep_gp(toy, num_inducing=40, width=10):
    def layer(output_dim, precision):
        kernel = gpflow.kernels.ArcCosine(order=1, weight_variances=0.25, bias_variance=0.25)
        posterior = gi.posteriors.GlobalInducing(num_inducing, output_dim, precision=precision)
        return gi.layers.GPLayer(kernel, output_dim, posterior)

    likelihood = gpflow.likelihoods.Gaussian((3.0 / toy["scale"]) ** 2)
    gpflow.set_trainable(likelihood, False)
    return gi.models.DeepGP(
        [layer(width, "diagonal"), layer(1, "full")],
        likelihood,
        num_data=len(toy["X"]),
        inducing_inputs=np.linspace(-5, 5, num_inducing)[:, None],
    )


@ENDS_EARLY
@pytest.mark.reference
def test_an_arc_cosine_deep_gp_trains_on_the_cubic_toy_data(reference):
    toy = np.load(reference / "toy_cubic.npz")
    X, Y = toy["X"], toy["Y"]
    record = gi.fit(
        arc_cosine_deep_gp(toy),
        (X, Y),
        steps=2500,
        learning_rate=0.05,
        kl_warmup=500,
        num_samples=10,
        progress=False,
    )
    assert record.step == 2500 and record.recoveries == []


@ENDS_EARLY
def test_the_motorcycle_data_at_the_settings_of_the_comparison(tmp_path):
    statsmodels = pytest.importorskip("statsmodels")
    results = Path(statsmodels.__file__).parent / "gam" / "tests" / "results"
    table = pd.read_csv(results / "motorcycle.csv")
    assert len(table) == 133
    table.to_csv(tmp_path / "motorcycle.csv", index=False)
    data = ["--data", str(tmp_path / "motorcycle.csv"), "--target", "accel"]
    main(["compare", *data, "--out", str(tmp_path / "out")])
    models = json.loads((tmp_path / "out" / "results.json").read_text())["models"]
    assert len(models) == 3 and all(np.isfinite(model["elbo_per_row"]) for model in models)
