"""Experiment trackers, as callbacks of :func:`gpflow_gi.fit`.

Each writes, at every report, the numbers of :func:`numbers_of` under the report's step.
"""

from __future__ import annotations

import math
import os
from types import ModuleType
from typing import Any

import tensorflow as tf

from ..core.validation import shown
from .record import Report


def numbers_of(report: Report) -> dict[str, float]:
    """The numbers of a report: "objective", "bound" and its two terms, the KL weight, the rate.

    :param report: from a callback, or of a record.
    :return: by name, in nats where they are terms of the bound; without those that are not finite,
        such as the bound of a model that has none.
    """
    numbers = {
        "objective": report.objective,
        "bound": report.bound,
        "expected_log_likelihood": report.expected_log_likelihood,
        "kl": report.kl,
        "kl_weight": report.kl_weight,
        "learning_rate": report.learning_rate,
    }
    return {name: float(number) for name, number in numbers.items() if math.isfinite(number)}


class TensorBoard:
    """Write scalars for TensorBoard: ``gi.fit(..., callbacks=[TensorBoard("logs")])``.

    See them with ``tensorboard --logdir logs``. For images, or parameters, use
    :mod:`gpflow.monitor`: see :func:`gpflow_gi.fit`.

    :param log_dir: a folder, made if there is none; another for each run.
    :raises TypeError: if it is not a path.
    :raises ValueError: if it is an empty string, or no folder can be there.
    """

    def __init__(self, log_dir: str | os.PathLike[str]) -> None:
        if not isinstance(log_dir, str | os.PathLike) or isinstance(os.fspath(log_dir), bytes):
            raise TypeError(f"log_dir must be the path of a folder, but is {shown(log_dir)}.")
        if not os.fspath(log_dir):
            raise ValueError("log_dir is an empty string. Name a folder, such as 'logs'.")
        try:
            self._writer = tf.summary.create_file_writer(os.fspath(log_dir))
        except (tf.errors.OpError, ValueError):
            raise ValueError(f"log_dir {shown(log_dir)} cannot be used as a folder.") from None

    def __call__(self, report: Report) -> None:
        with self._writer.as_default(step=report.step):
            for name, number in numbers_of(report).items():
                tf.summary.scalar(name, number)
        self._writer.flush()


class MLflow:
    """Log metrics to an MLflow run: ``pip install mlflow``.

    ::

        with mlflow.start_run():
            record = gi.fit(model, data, steps=1000, callbacks=[MLflow()])
            mlflow.log_params(record.settings)

    :param run_id: the run; None for the active one, which MLflow begins if there is none.
    :raises TypeError: if it is neither text nor None.
    :raises ImportError: if MLflow is not installed.
    """

    def __init__(self, run_id: str | None = None) -> None:
        if run_id is not None and not isinstance(run_id, str):
            raise TypeError(f"run_id must be the id of a run, as text, but is {shown(run_id)}.")
        self._mlflow = _imported_mlflow()
        self._run_id = run_id

    def __call__(self, report: Report) -> None:
        self._mlflow.log_metrics(numbers_of(report), step=report.step, run_id=self._run_id)


class WeightsAndBiases:
    """Log to a run of Weights & Biases: ``pip install wandb``.

    ::

        with wandb.init(project="energy", mode="offline") as run:
            gi.fit(model, data, steps=1000, callbacks=[WeightsAndBiases(run)])

    :param run: what ``wandb.init`` returns.
    :raises TypeError: if it has no method ``log``.
    """

    def __init__(self, run: Any) -> None:
        if isinstance(run, type) or not callable(getattr(run, "log", None)):
            raise TypeError(f"run must be what wandb.init() returns, but is {shown(run)}.")
        self._run = run

    def __call__(self, report: Report) -> None:
        self._run.log(numbers_of(report), step=report.step)


def _imported_mlflow() -> ModuleType:
    try:
        import mlflow
    except ImportError as error:
        raise ImportError(
            "MLflow is not installed: pip install mlflow. If pip would replace packages that "
            "TensorFlow needs, use a separate environment."
        ) from error
    return mlflow
