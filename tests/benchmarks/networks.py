"""The Bayesian neural networks that are compared."""

import numpy as np

import gpflow_gi as gi

from . import plain_bnn
from .equal_means import check_equal
from .interleaved import Program

NUM_ROWS, INPUT_DIM, WIDTHS, NOISE = 100, 1, (50, 50), 0.1

DESCRIPTION = (
    f"{NUM_ROWS} rows x {INPUT_DIM}, hidden layers of {' and '.join(map(str, WIDTHS))} ReLU "
    'units, NealPrior, Gaussian likelihood, Adam, float32. "plain" is the way one would write such '
    "a network down (tests/benchmarks/plain_bnn.py): the precision of each layer's weights, its "
    "explicit inverse and two Cholesky factors, one compiled call per step or importance weight; "
    'with TensorFlow Probability\'s densities, and "by hand" with leaner ones.'
)


def toy_data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = np.sort(rng.uniform(-2, 2, size=(NUM_ROWS, INPUT_DIM)), axis=0)
    Y = X**3 / 4 + np.sqrt(NOISE) * rng.normal(size=X.shape)
    return X.astype(np.float32), Y.astype(np.float32)


def network(inference: str, num_inducing: int, precision: str | None = None) -> gi.models.DeepGP:
    """:param precision: of a global network's last layer; build_bnn's own choice by default."""
    X, Y = toy_data()
    model = gi.architectures.build_bnn(
        X, Y, widths=WIDTHS, inference=inference, num_inducing=num_inducing
    )
    if precision == "diagonal":
        last = model.layers[-1]
        last.posterior = gi.posteriors.GlobalInducing(
            num_inducing,
            1,
            pseudo_outputs=last.posterior.pseudo_outputs.numpy(),
            pseudo_precision=np.diag(last.posterior.pseudo_precision.numpy()),
        )
    return model


def plain_step(num_inducing: int, num_samples: int, by_hand: bool = False) -> Program:
    model = network("global", num_inducing, "diagonal")
    step = plain_bnn.training_step(
        plain_bnn.parameters_of(model), toy_data(), NOISE, num_samples, by_hand
    )

    def run(steps: int) -> None:
        for _ in range(steps):
            loss = step()
        if not np.isfinite(loss.numpy()):
            raise RuntimeError("The plain network's bound is not finite.")

    run(3)
    return run


def check_equal_bounds(num_inducing: int, draws: int) -> str:
    """The plain networks must have our bound.

    :param draws: of 1000 samples each.
    :raises RuntimeError: if they have not.
    """
    model = network("global", num_inducing, "diagonal")
    parameters = plain_bnn.parameters_of(model)
    data = toy_data()
    samples = 1000
    plain, by_hand = (
        plain_bnn.bound(parameters, data, NOISE, samples, by_hand) for by_hand in (False, True)
    )
    return check_equal(
        {"plain": plain, "plain by hand": by_hand, "ours": lambda: model.elbo(data, samples)},
        draws,
    )
