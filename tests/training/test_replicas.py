"""Training shared by devices is training on one; see on_replicas.py for what runs there."""

import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]


def run(folder, *names):
    command = [sys.executable, "-m", "tests.training.on_replicas", str(folder), *names]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    return json.loads((folder / "answers.json").read_text("utf-8"))


# One process answers all, which needs as long to start as to answer.
pytestmark = pytest.mark.xdist_group("replicas")


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    names = ("same_parameters", "objective", "draws", "failures", "resumption", "fixed_parameters")
    names += ("saved_model", "augmentation", "refusals", "single_precision")
    return run(tmp_path_factory.mktemp("runs"), *names)


def assert_close(a, b, tolerance):
    assert a.keys() == b.keys()
    for path in a:
        np.testing.assert_allclose(a[path], b[path], tolerance, tolerance, err_msg=path)


@pytest.mark.slow
def test_parameters_are_those_of_one_device(runs):
    answers = runs["same_parameters"]
    assert len(answers) == 4
    for alone, shared in zip(answers[::2], answers[1::2], strict=True):
        assert alone["case"] == shared["case"]
        assert_close(alone["parameters"], shared["parameters"], 1e-6)
        np.testing.assert_allclose(alone["bound"], shared["bound"], rtol=1e-8)
        assert shared["steps"][-1] == 50 and shared["rates"][-1] == alone["rates"][-1]
    # The cases are not all one.
    assert len({alone["bound"] for alone in answers[::2]}) == 2


@pytest.mark.slow
def test_replicas_objectives_add_up_to_that_of_one_device(runs):
    """The KL divergence and the log prior among it, with its weight, whatever the shares."""
    answers = runs["objective"]
    for alone, two, three in zip(answers[::3], answers[1::3], answers[2::3], strict=True):
        assert alone["sizes"] == [sum(two["sizes"])] == [sum(three["sizes"])]
        for shared, num in ((two, 2), (three, 3)):
            assert len(shared["sizes"]) == num
            assert max(shared["sizes"]) - min(shared["sizes"]) <= 1
            assert sum(shared["fractions"]) == pytest.approx(1.0, rel=1e-15)
            assert shared["rows"] == alone["rows"] and shared["targets"] == alone["targets"]
            np.testing.assert_allclose(shared["loss"], alone["loss"], rtol=1e-12)
            np.testing.assert_allclose(shared["terms"], alone["terms"], rtol=1e-12)
            for a, b in zip(shared["gradients"], alone["gradients"], strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)
    assert [a["sizes"][0] for a in answers[::3]] == [21, 20, 7, 5, 3]


@pytest.mark.slow
def test_replicas_draw_independently(runs):
    (answer,) = runs["draws"]
    first, second = np.array(answer["hidden"])  # [S, N, P] at the same rows
    assert not np.any(first == second)
    noise = [(h - h.mean(axis=0)).ravel() for h in (first, second)]
    assert abs(np.corrcoef(noise)[0, 1]) < 4 / np.sqrt(50)
    # The step has used these seeds, and the first is that of one device.
    mean = np.array(answer["fractions"]) @ np.array(answer["of each"])
    np.testing.assert_allclose(answer["terms"], mean, rtol=1e-10)
    assert answer["seeds"][0] == answer["one device's"] != answer["seeds"][1]


@pytest.mark.longest
def test_a_deep_gp_trains_as_on_one_device(tmp_path):
    answers = run(tmp_path, "deep")["deep"]
    ends = np.array([np.mean(answer["end"]) for answer in answers]).reshape(2, 3)
    # The spread over seeds holds the noise of training and that of the estimates.
    standard_error = np.sqrt(np.sum(ends.var(axis=1, ddof=1)) / 3)
    alone, shared = ends.mean(axis=1)
    assert abs(alone - shared) < 4 * standard_error
    assert shared - np.mean(answers[0]["start"]) > 100 * standard_error


@pytest.mark.slow
def test_failures_are_found_and_undone(runs):
    answers = runs["failures"]
    for alone, shared in zip(answers[::2], answers[1::2], strict=True):
        assert shared["kind"] == "NonFiniteError"
        assert shared == alone
    assert [a["parameters"][".level"] for a in answers[::2]] == [0.5, 0.0, 0.5]


@pytest.mark.slow
def test_interrupt_and_resumption(runs):
    (answer,) = runs["resumption"]
    assert answer["saved"] == ["gpflow_gi-checkpoint-12.npz"] and answer["step"] == 30
    assert answer["resumed"] == answer["whole"] != answer["first"]
    kind, text = answer["on one device"]
    assert kind == "ValueError" and "replicas = 2, but this one has replicas = 1" in text


@pytest.mark.slow
def test_fixed_parameters_stay(runs):
    (answer,) = runs["fixed_parameters"]
    assert answer["fitted"][".noise"] == 1.0 and not answer["noise"]
    assert answer["fitted"][".scale"][0] != 1.0 and answer["scale"]


@pytest.mark.slow
def test_a_saved_model_is_like_any_other(runs):
    (answer,) = runs["saved_model"]
    assert answer["saved"] == answer["loaded"]


@pytest.mark.slow
def test_replicas_share_rows_that_are_augmented_already(runs):
    alone, shared = runs["augmentation"]
    assert_close(alone["parameters"], shared["parameters"], 1e-6)
    np.testing.assert_allclose(shared["bounds"], alone["bounds"], rtol=1e-8)
    assert all(bound != objective for bound, objective in alone["bounds"])


@pytest.mark.slow
def test_single_precision(runs):
    alone, shared = runs["single_precision"]
    assert_close(alone, shared, 1e-6)


@pytest.mark.slow
def test_refusals(runs):
    (answer,) = runs["refusals"]
    expected = {
        "in scope": "call fit outside of it, with strategy=",
        "outside": "with strategy.scope(): model = ...",
        "other": "with strategy.scope(): model = ...",
        "none": "Pass that to fit: strategy=...",
        "optimizer": "with strategy.scope(): optimizer = ...",
        "few rows": "has 2 replicas, but a step has only 1 rows",
        "jit": "jit_compile=True cannot be used with a strategy",
        "num_data": "Build the model with num_data=21",
        "natural": "optimizer is a NaturalGradient",
        "workers' seed": "needs a seed, the same for all workers",
        "workers' checkpoints": "checkpoint_dir cannot be used with a MultiWorkerMirroredStrategy",
    }
    assert answer.pop("still good") is None
    assert answer.keys() == expected.keys()
    for name, text in expected.items():
        kind, message = answer[name]
        assert kind == ("TypeError" if name == "natural" else "ValueError")
        assert text in message and "\n" not in message


@pytest.mark.longest
def test_two_workers_are_one_device(tmp_path):
    """The program of the documentation, in two processes and in one."""
    page = (ROOT / "docs" / "distributed.md").read_text("utf-8")
    (program,) = re.findall(r"```python\n(import json.*?)```", page, re.DOTALL)
    program += 'np.savez(f"{worker}.npz", *(v.numpy() for v in model.trainable_variables))\n'
    for port in ("34501", "34502"):
        assert port in program
        program = program.replace(port, str(free_port()))
    alone = program
    for before, after in (
        ("strategy = tf.distribute.MultiWorkerMirroredStrategy()", "strategy = None"),
        ("with strategy.scope():", "if True:"),
    ):
        assert before in alone
        alone = alone.replace(before, after)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}

    def start(program, worker):
        command = [sys.executable, "-c", program, str(worker)]
        return subprocess.Popen(command, cwd=tmp_path, env=environment)

    for processes in ([start(program, worker) for worker in (0, 1)], [start(alone, 2)]):
        try:
            assert [process.wait(timeout=400) for process in processes] == [0] * len(processes)
        finally:
            for process in processes:
                process.kill()
    first, second, expected = (list(np.load(tmp_path / f"{i}.npz").values()) for i in range(3))
    assert len(expected) == 6
    for a, b, c in zip(first, second, expected, strict=True):
        np.testing.assert_array_equal(a, b)
        np.testing.assert_allclose(a, c, rtol=1e-6, atol=1e-6)
    assert (tmp_path / "model").exists()


def free_port():
    with socket.socket() as listener:
        listener.bind(("localhost", 0))
        return listener.getsockname()[1]
