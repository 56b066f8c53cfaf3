"""Laplace approximations of a small network by laplace-torch, for test_laplace_torch.py.

Needs an environment of its own, and writes laplace_torch.json beside itself::

    python -m venv laplace
    laplace/bin/pip install torch --index-url https://download.pytorch.org/whl/cpu
    laplace/bin/pip install laplace-torch
    laplace/bin/python tests/inference/laplace_torch.py
"""

import json
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
from laplace import Laplace
from scipy.optimize import minimize
from torch.utils.data import DataLoader, TensorDataset

PRIOR_PRECISION = (1.5, 0.7)  # of the layers
NOISE = 0.3  # standard deviation
STRUCTURES = ("full", "kron", "diag")


def regression():
    torch.manual_seed(0)
    X = torch.randn(30, 2)
    return X, torch.sin(2 * X[:, :1]) * X[:, 1:] + NOISE * torch.randn(30, 1)


def classes():
    X, _ = regression()
    return X, (X[:, 0] > 0).long() + (X[:, 1] > 0.5).long()


def network(outputs):
    """Without biases: laplace-torch has blocks of their own for them, gpflow_gi has not."""
    return torch.nn.Sequential(
        torch.nn.Linear(2, 5, bias=False), torch.nn.Tanh(), torch.nn.Linear(5, outputs, bias=False)
    )


def trained(model, X, Y, likelihood):
    precision = torch.tensor(PRIOR_PRECISION)
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=2000, tolerance_change=1e-12)

    def loss():
        optimizer.zero_grad()
        f = model(X)
        if likelihood == "regression":
            value = 0.5 * ((f - Y) ** 2).sum() / NOISE**2
        else:
            value = torch.nn.functional.cross_entropy(f, Y, reduction="sum")
        squares = [(parameter**2).sum() for parameter in model.parameters()]
        value = value + 0.5 * (precision * torch.stack(squares)).sum()
        value.backward()
        return value

    optimizer.step(loss)
    return model


def approximations(likelihood):
    X, Y = regression() if likelihood == "regression" else classes()
    model = trained(network(1 if likelihood == "regression" else 3), X, Y, likelihood)
    rows = DataLoader(TensorDataset(X, Y), batch_size=len(X))
    grid = torch.cartesian_prod(torch.linspace(-3, 3, 4), torch.linspace(-2, 2, 3))
    found = {}
    for structure in STRUCTURES:
        settings = {"sigma_noise": NOISE} if likelihood == "regression" else {}
        laplace = Laplace(
            model,
            likelihood,
            subset_of_weights="all",
            hessian_structure=structure,
            prior_precision=torch.tensor(PRIOR_PRECISION),
            **settings,
        )
        laplace.fit(rows)
        evidence = float(laplace.log_marginal_likelihood())
        mean, covariance = laplace._glm_predictive_distribution(grid)
        found[structure] = {
            "log_evidence": evidence,
            "mean": mean.tolist(),
            "variance": torch.diagonal(covariance, dim1=1, dim2=2).tolist(),
            "chosen": chosen(laplace, likelihood),
        }
    layers = [model[0], model[2]]
    return {
        "X": X.tolist(),
        "Y": Y.reshape(len(X), -1).tolist(),
        "grid": grid.tolist(),
        "weights": [one.weight.T.tolist() for one in layers],
        "structures": found,
    }


def chosen(laplace, likelihood):
    """Prior precisions of the layers, and noise, of the largest evidence at these weights.

    Without gradients: those of the Kronecker-factored evidence lack the part of the noise.
    """
    has_noise = likelihood == "regression"

    def evidence(logarithms):
        values = torch.exp(torch.tensor(logarithms))
        noise = {"sigma_noise": values[2]} if has_noise else {}
        with torch.no_grad():
            return laplace.log_marginal_likelihood(values[:2], **noise).item()

    start = np.log([*PRIOR_PRECISION, *([NOISE] if has_noise else [])])
    options = {"xatol": 1e-7, "fatol": 1e-10, "maxiter": 5000, "maxfev": 5000}
    found = minimize(lambda x: -evidence(x), start, method="Nelder-Mead", options=options)
    return {
        "prior_precision": np.exp(found.x[:2]).tolist(),
        "noise_variance": float(np.exp(2 * found.x[2])) if has_noise else None,
        "log_evidence": -found.fun,
    }


if __name__ == "__main__":
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    results = {
        "versions": {name: version(name) for name in ("torch", "laplace-torch")},
        "prior_precision": PRIOR_PRECISION,
        "noise": NOISE,
        **{
            likelihood: approximations(likelihood)
            for likelihood in ("regression", "classification")
        },
    }
    path = Path(__file__).with_suffix(".json")
    path.write_text(json.dumps(results, indent=1) + "\n")
