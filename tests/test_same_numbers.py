"""Numbers of earlier versions: a seed gives the same bounds, draws and trained parameters.

``python -m tests.test_same_numbers`` prints them anew, for a version that changes them on purpose.
"""

import json
from pathlib import Path

import gpflow
import numpy as np
import pytest

import gpflow_gi as gi

PINNED = Path(__file__).with_name("same_numbers.json")

N, D = 20, 2


def _data():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(N, D))
    return X, np.sin(X[:, :1]) + 0.3 * rng.normal(size=(N, 1))


def _images():
    rng = np.random.default_rng(4)
    return rng.normal(size=(8, 6, 6, 1)), rng.integers(3, size=(8, 1)).astype(float)


def _global():
    X, Y = _data()
    return gi.architectures.build_deep_gp(X, Y, num_inducing=6, num_samples=3), (X, Y)


def _mixed():
    X, Y = _data()
    kinds = ["local", "prior", "global"]
    model = gi.architectures.build_deep_gp(X, Y, num_layers=3, inference=kinds, num_inducing=6)
    return model, (X, Y)


def _local():
    X, Y = _data()
    model = gi.architectures.build_deep_gp(
        X,
        np.sign(Y) / 2 + 0.5,
        inference="local",
        num_inducing=6,
        kernel=lambda dim: gpflow.kernels.Matern52(lengthscales=np.ones(dim)),
        likelihood=gpflow.likelihoods.Bernoulli(),
        num_samples=2,
    )
    return model, (X, np.sign(Y) / 2 + 0.5)


def _network():
    X, Y = _data()
    model = gi.architectures.build_bnn(X, Y, widths=(5, 4), num_inducing=6, prior="scale")
    return model, (X, Y)


def _factorised():
    X, Y = _data()
    model = gi.architectures.build_bnn(
        X, Y, widths=(5,), inference=["factorised", "local"], num_inducing=6, num_samples=3
    )
    return model, (X, Y)


def _convolutional():
    X, Y = _images()
    model = gi.architectures.build_resnet(
        X, Y, width=2, num_blocks=2, num_inducing=4, prior="spatial"
    )
    return model, (X, Y)


MODELS = {
    "global": _global,
    "mixed": _mixed,
    "local": _local,
    "network": _network,
    "factorised": _factorised,
    "convolutional": _convolutional,
}


def numbers(name):
    """Five numbers of a model: two bounds, a prediction, a draw, and what training makes of it."""
    model, (X, Y) = MODELS[name]()
    record = gi.fit(model, (X, Y), steps=20, batch_size=5, seed=7, progress=False, recover=False)
    draws = model.sample_functions(2, seed=5)
    return {
        "bound of the last step": float(record.reports[-1].bound),
        "log weights": float(np.sum(model.log_importance_weights((X, Y), 3, seed=2).numpy())),
        "log density": float(np.sum(model.predict_log_density((X, Y), 4, seed=3).numpy())),
        "draws": float(np.sum(draws(X[:5]).numpy())),
        "parameters": float(
            sum(np.sum(np.abs(value)) for value in gpflow.utilities.read_values(model).values())
        ),
    }


def marks(name):
    return {"global": (), "convolutional": pytest.mark.longest}.get(name, pytest.mark.slow)


@pytest.mark.parametrize("name", [pytest.param(name, marks=marks(name)) for name in MODELS])
def test_numbers_are_those_of_earlier_versions(name):
    pinned = json.loads(PINNED.read_text())[name]
    # Other processors round otherwise, and twenty steps of training magnify it.
    assert numbers(name) == pytest.approx(pinned, rel=1e-7)


if __name__ == "__main__":
    PINNED.write_text(json.dumps({name: numbers(name) for name in MODELS}, indent=2) + "\n")
    print(PINNED.read_text())
