"""Numbers of a run in TensorBoard, MLflow and Weights & Biases, in local files."""

import json
import math
import struct
import sys
import types

import pytest

from gpflow_gi.training.record import Report
from gpflow_gi.training.trackers import MLflow, TensorBoard, WeightsAndBiases, numbers_of

REPORTS = [
    Report(1, 0.1, -10.0, 2.0, 0.5, 0.01),
    Report(50, 0.9, -7.0, 3.0, 1.0, 0.005),
    Report(60, 1.0, math.nan, math.nan, 1.0, 0.005, value=-8.5, name="weighted bound"),
]
EXPECTED = {
    "objective": [(1, -11.0), (50, -10.0), (60, -8.5)],
    "bound": [(1, -12.0), (50, -10.0)],
    "expected_log_likelihood": [(1, -10.0), (50, -7.0)],
    "kl": [(1, 2.0), (50, 3.0)],
    "kl_weight": [(1, 0.5), (50, 1.0), (60, 1.0)],
    "learning_rate": [(1, 0.01), (50, 0.005), (60, 0.005)],
}


def test_numbers():
    found = {
        name: [(r.step, numbers_of(r)[name]) for r in REPORTS if name in numbers_of(r)]
        for name in EXPECTED
    }
    assert found == EXPECTED


def test_tensorboard(tmp_path):
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    import tensorflow as tf

    tracker = TensorBoard(tmp_path / "logs")
    for report in REPORTS:
        tracker(report)
    events = accumulator.EventAccumulator(str(tmp_path / "logs")).Reload()
    for name, points in EXPECTED.items():
        found = [(e.step, float(tf.make_ndarray(e.tensor_proto))) for e in events.Tensors(name)]
        assert found == [(step, pytest.approx(number, rel=1e-6)) for step, number in points]


def test_mlflow(tmp_path):
    mlflow = pytest.importorskip("mlflow", reason="MLflow is not installed")
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path / 'mlflow.db'}")
    with mlflow.start_run() as run:
        tracker = MLflow()
        for report in REPORTS:
            tracker(report)
    with mlflow.start_run() as other:
        MLflow(run.info.run_id)(Report(70, 2.0, -1.0, 1.0, 1.0, 0.1))
    client = mlflow.MlflowClient()
    for name, points in EXPECTED.items():
        history = client.get_metric_history(run.info.run_id, name)
        assert [(one.step, one.value) for one in history][: len(points)] == points
        assert history[-1].step == 70 and not client.get_metric_history(other.info.run_id, name)


def test_weights_and_biases(tmp_path, monkeypatch):
    wandb = pytest.importorskip("wandb", reason="Weights & Biases is not installed")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    with wandb.init(project="test", dir=str(tmp_path)) as run:
        tracker = WeightsAndBiases(run)
        for report in REPORTS:
            tracker(report)
    assert _in_offline_file(next(tmp_path.glob("wandb/offline-run-*/*.wandb"))) == EXPECTED


def _in_offline_file(path):
    """Names, steps and values in the file that ``wandb sync`` would send."""
    from wandb.proto import wandb_internal_pb2

    found = {name: [] for name in EXPECTED}
    for data in _records(path.read_bytes()):
        record = wandb_internal_pb2.Record()
        record.ParseFromString(data)
        values = {
            item.key or item.nested_key[0]: json.loads(item.value_json)
            for item in record.history.item
        }
        for name in found:
            if name in values:
                found[name].append((record.history.step.num, values[name]))
    return found


def _records(data):
    """The records of a LevelDB log: blocks of 32 KB, of parts with checksum, size and type."""
    place, whole = 7, b""
    while place + 7 <= len(data):
        if place % 32768 > 32768 - 7:
            place += 32768 - place % 32768
            continue
        size, kind = struct.unpack_from("<HB", data, place + 4)
        whole += data[place + 7 : place + 7 + size]
        place += 7 + size
        if kind in (1, 4):  # a whole record, or its last part
            yield whole
            whole = b""


def test_a_run_calls_them():
    import numpy as np

    import gpflow_gi as gi

    from .models import LinearModel, linear_data

    logged = []
    run = types.SimpleNamespace(log=lambda numbers, step: logged.append((step, numbers)))
    record = gi.fit(LinearModel(20), linear_data(), steps=3, progress=False,
                    callbacks=[WeightsAndBiases(run)])  # fmt: skip
    assert [step for step, _ in logged] == [report.step for report in record.reports]
    np.testing.assert_allclose(logged[-1][1]["bound"], record.reports[-1].bound)


def test_what_is_no_run(monkeypatch):
    for make, error, said in (
        (lambda: TensorBoard(3), TypeError, "log_dir must be the path of a folder, but is 3"),
        (lambda: TensorBoard(""), ValueError, "log_dir is an empty string"),
        (lambda: MLflow(3), TypeError, "run_id must be the id of a run"),
        (lambda: WeightsAndBiases("a run"), TypeError, r"run must be what wandb\.init\(\) returns"),
    ):
        with pytest.raises(error, match=said):
            make()
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(ImportError, match="MLflow is not installed: pip install mlflow"):
        MLflow()
