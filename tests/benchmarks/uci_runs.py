"""Training runs on UCI sets that can be taken forward bit by bit, so that they can take turns."""

import time
from dataclasses import dataclass
from typing import Any

import gpflow
import numpy as np

import gpflow_gi as gi
from gpflow_gi.training.steps import TrainingSteps

from .programs import float_type, steps_of_fit, take

BATCH_SIZE, NUM_INDUCING, NUM_SAMPLES, NUM_TEST_SAMPLES = 250, 100, 1, 100
NUM_BOUND_SAMPLES = 10
"""Draws of which a bound is the mean."""

DESCRIPTION = (
    f"2 layers, as build_deep_gp makes them, M={NUM_INDUCING}, S={NUM_SAMPLES}, batches of "
    f"{BATCH_SIZE} rows or all, columns standardised, through the compiled loop of gi.fit. Log "
    f"densities are those of the mixture over {NUM_TEST_SAMPLES} samples, per held-out row, for "
    "the target in its own unit, in nats."
)


@dataclass
class Run:
    """A model in training."""

    model: Any
    steps: TrainingSteps
    data: tuple[np.ndarray, np.ndarray]
    test: tuple[np.ndarray, np.ndarray]
    targets: gi.datasets.Standardiser
    dtype: str
    cpu_seconds: float = 0.0
    """Spent in steps so far."""

    @property
    def num_steps(self) -> int:
        return int(self.steps.step)

    def train(self, num_steps: int) -> tuple[float, float]:
        """:return: wall and CPU time per step."""
        start, cpu_start = time.perf_counter(), time.process_time()
        take(self.steps, num_steps)
        wall, cpu = time.perf_counter() - start, time.process_time() - cpu_start
        self.cpu_seconds += cpu
        return wall / num_steps, cpu / num_steps

    def bound(self) -> float:
        """Per row, on all rows."""
        bound = self.model.elbo(self.data, NUM_BOUND_SAMPLES, seed=0)
        return float(bound) / len(self.data[0])

    def log_density(self) -> np.ndarray:
        """Log density of each held-out target, [n]."""
        with float_type(self.dtype):
            standardised = self.model.predict_log_density(self.test, NUM_TEST_SAMPLES, seed=0)
        return self.targets.inverse_log_density(standardised.numpy().astype(float))


def start(
    name: str,
    split: int,
    *,
    inference: str = "global",
    dtype: str = "float64",
    learning_rate: Any = None,
    kl_warmup: int = 0,
) -> Run:
    """A model ready to train on a published split.

    :param name: of the UCI set.
    """
    train, test = gi.datasets.uci(name, split)
    inputs = gi.datasets.Standardiser.fit(train.X)
    targets = gi.datasets.Standardiser.fit(train.Y)
    with float_type(dtype):
        X, Y, X_test, Y_test = (
            array.astype(gpflow.default_float())
            for table in (train, test)
            for array in (inputs.transform(table.X), targets.transform(table.Y))
        )
        model = gi.architectures.build_deep_gp(
            X, Y, inference=inference, num_inducing=NUM_INDUCING, seed=split
        )
        batch_size = BATCH_SIZE if len(X) > BATCH_SIZE else None
        steps = steps_of_fit(model, (X, Y), NUM_SAMPLES, batch_size, learning_rate, kl_warmup)
    return Run(model, steps, (X, Y), (X_test, Y_test), targets, dtype)
