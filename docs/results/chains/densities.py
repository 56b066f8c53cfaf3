"""Log densities of rows that a deep GP was not trained on, by either data term."""

import numpy as np

import gpflow_gi as gi
from gpflow_gi.benchmark.budgets import STANDARD
from gpflow_gi.benchmark.train import inducing_for, train_by

Rows = tuple[np.ndarray, np.ndarray]


def log_densities(
    train: Rows, test: Rows, *, alpha: float, inference: str = "local", num_layers: int = 2
) -> tuple[np.ndarray, float]:
    """Train at the budget `standard`, on standardised rows.

    :param train: X [N, D] and Y [N, 1].
    :param test: rows of the same columns.
    :param alpha: 0 for E log p(y | f), the ELBO; 1 for log E p(y | f).
    :return: log densities of the test rows, in the target's unit; the noise variance.
    """
    of_x, of_y = (gi.datasets.Standardiser.fit(rows) for rows in train)
    X, Y = of_x.transform(train[0]), of_y.transform(train[1])
    M = inducing_for(X, STANDARD.num_inducing)
    model = gi.architectures.build_deep_gp(
        X, Y, num_layers=num_layers, inference=inference, num_inducing=M
    )
    objective = gi.objectives.AlphaEnergy(alpha) if alpha else gi.objectives.Elbo()
    train_by(STANDARD, model, (X, Y), seed=0, objective=objective)
    rows = of_x.transform(test[0]), of_y.transform(test[1])
    densities = np.asarray(model.predict_log_density(rows, 100, seed=0)) - np.log(of_y.scale[0])
    return densities, float(model.likelihood.variance.numpy())
