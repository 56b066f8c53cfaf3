"""GPyTorch in an environment and a process of its own."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import gpflow_gi as gi

from . import THREADS

SCRIPT = Path(__file__).with_name("gpytorch_deep_gp.py")


def environment(folder: Path) -> Path:
    """The Python of an environment with PyTorch and GPyTorch, which is made if it is missing.

    :raises RuntimeError: if pip cannot install them.
    """
    python = folder / "bin" / "python"
    complete = folder / "complete"
    if not complete.is_file():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        install = [str(python), "-m", "pip", "install", "--quiet", "torch", "gpytorch"]
        run = subprocess.run(install, capture_output=True, text=True, check=False)
        if run.returncode != 0:
            raise RuntimeError(f"{' '.join(install)} failed:\n{run.stderr[-2000:]}")
        complete.touch()
    return python


def start_of(
    model: gi.models.DeepGP,
    data: tuple[np.ndarray, np.ndarray],
    test: tuple[np.ndarray, np.ndarray],
) -> dict[str, Any]:
    """The start of GPyTorch's model: that of local layers, with the data, as arrays."""
    (X, Y), (X_test, Y_test) = data, test
    arrays = {"X": X, "Y": Y, "X_test": X_test, "Y_test": Y_test}
    arrays |= {"noise": model.likelihood.variance.numpy(), "num_layers": len(model.layers)}
    for i, layer in enumerate(model.layers):
        ((kernel, _),) = layer.kernels
        posterior = layer.posterior
        arrays[f"Z{i}"] = posterior.inducing_inputs.numpy()
        arrays[f"lengthscales{i}"] = kernel.lengthscales.numpy() * np.ones(X.shape[1])
        arrays[f"variance{i}"] = kernel.variance.numpy()
        arrays[f"q_mu{i}"] = posterior.q_mu.numpy()
        arrays[f"q_sqrt{i}"] = posterior.q_sqrt.numpy()
    return arrays


class Gpytorch:
    """A deep GP of GPyTorch's that waits for commands.

    :param python: of its environment.
    :param start: :func:`start_of`.
    :param num_samples: S, in training.
    :param batch_size: None for all rows.
    """

    def __init__(
        self,
        python: Path,
        start: Mapping[str, Any],
        num_samples: int,
        batch_size: int | None = None,
    ) -> None:
        command = [str(python), "-I", str(SCRIPT), "--samples", str(num_samples)]
        command += ["--threads", THREADS]
        if batch_size is not None:
            command += ["--batch", str(batch_size)]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "start.npz"
            np.savez(path, **start)
            self._process = subprocess.Popen(
                [*command, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
            self.versions = self._read()

    def train(self, steps: int) -> float:
        """:return: the seconds of CPU that the steps took.

        :raises RuntimeError: if the bound is not finite.
        """
        bound, seconds = self._ask("steps", steps)
        if not np.isfinite(bound):
            raise RuntimeError("GPyTorch's bound is not finite.")
        return seconds

    def bounds(self, draws: int) -> np.ndarray:
        """Estimates of the bound per row, of one sample each."""
        return np.array(self._ask("bounds", draws)[0])

    def log_density(self, num_samples: int) -> float:
        """The mean log density of the standardised held-out targets."""
        return float(self._ask("log_density", num_samples)[0])

    def close(self) -> None:
        self._process.communicate()

    def _ask(self, command: str, number: int) -> tuple[Any, float]:
        self._process.stdin.write(f"{command} {number}\n")
        self._process.stdin.flush()
        answer = self._read()
        return answer["result"], answer["cpu"]

    def _read(self) -> dict[str, Any]:
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("GPyTorch's process ended; what it said is above.")
        return dict(json.loads(line))
