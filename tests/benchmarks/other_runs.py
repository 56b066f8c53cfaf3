"""Training runs of GPflux and GPyTorch, to take turns with :class:`.uci_runs.Run`."""

import time
from pathlib import Path

import gpflow
import gpflux
import numpy as np
import tensorflow as tf
from gpflux.architectures import Config, build_constant_input_dim_deep_gp

from .deep_gps import gpflux_deep_gp
from .gpytorch_process import Gpytorch, start_of
from .programs import adam
from .uci_runs import (
    BATCH_SIZE,
    NUM_BOUND_SAMPLES,
    NUM_INDUCING,
    NUM_SAMPLES,
    NUM_TEST_SAMPLES,
    Run,
)


class GpfluxRun:
    """A model of GPflux in training.

    :param rows: the run whose rows it has.
    """

    def __init__(self, model: gpflux.models.DeepGP, rows: Run) -> None:
        self.model, self.rows = model, rows
        self.cpu_seconds, self.num_steps = 0.0, 0
        X, Y = (tf.constant(array) for array in rows.data)
        test_X, test_Y = (tf.constant(array) for array in rows.test)
        variables = model.trainable_variables
        optimizer = adam()
        optimizer.build(variables)
        num_rows = len(rows.data[0])

        @tf.function
        def step() -> tf.Tensor:
            some = tf.random.shuffle(tf.range(num_rows))[:BATCH_SIZE]
            batch = tf.gather(X, some), tf.gather(Y, some)
            with tf.GradientTape(watch_accessed_variables=False) as tape:
                tape.watch(variables)
                loss = -model.elbo(batch)
            gradients = tape.gradient(loss, variables)
            optimizer.apply_gradients(zip(gradients, variables, strict=True))
            return loss

        @tf.function
        def log_density() -> tf.Tensor:
            outputs = model.call(test_X)
            normal = gpflow.logdensities.gaussian(test_Y, outputs.y_mean, outputs.y_var)
            return tf.squeeze(normal, axis=-1)

        self._step, self._log_density = step, log_density
        self._bound = tf.function(lambda: model.elbo((X, Y)))

    @classmethod
    def from_start_of(cls, local: Run) -> "GpfluxRun":
        """With the kernels, noise, inducing inputs and q(z) of our local layers."""
        model = gpflux_deep_gp(local.data[0])
        for layer, start in zip(model.f_layers, local.model.layers, strict=True):
            ((kernel, _),) = start.kernels
            posterior = start.posterior
            layer.kernel.kernel.variance.assign(kernel.variance)
            layer.kernel.kernel.lengthscales.assign(kernel.lengthscales)
            layer.inducing_variable.inducing_variable.Z.assign(posterior.inducing_inputs)
            layer.q_mu.assign(posterior.q_mu)
            layer.q_sqrt.assign(posterior.q_sqrt)
        model.likelihood_layer.likelihood.variance.assign(local.model.likelihood.variance)
        return cls(model, local)

    @classmethod
    def from_its_own_start(cls, rows: Run) -> "GpfluxRun":
        np.random.seed(0)  # its k-means
        config = Config(
            num_inducing=NUM_INDUCING, inner_layer_qsqrt_factor=1e-5, likelihood_noise_variance=0.01
        )
        return cls(build_constant_input_dim_deep_gp(rows.data[0], 2, config), rows)

    def train(self, num_steps: int) -> tuple[float, float]:
        """:return: wall and CPU time per step."""
        start, cpu_start = time.perf_counter(), time.process_time()
        for _ in range(num_steps):
            loss = self._step()
        if not np.isfinite(loss.numpy()):
            raise RuntimeError("GPflux's bound is not finite.")
        wall, cpu = time.perf_counter() - start, time.process_time() - cpu_start
        self.cpu_seconds += cpu
        self.num_steps += num_steps
        return wall / num_steps, cpu / num_steps

    def bound(self) -> float:
        """Per row, on all rows."""
        draws = [self._bound().numpy() for _ in range(NUM_BOUND_SAMPLES)]
        return float(np.mean(draws)) / len(self.rows.data[0])

    def log_density(self) -> np.ndarray:
        """Log density of each held-out target, [n]."""
        draws = np.array([self._log_density().numpy() for _ in range(NUM_TEST_SAMPLES)])
        mixture = np.logaddexp.reduce(draws, axis=0) - np.log(len(draws))
        return self.rows.targets.inverse_log_density(mixture)


class GpytorchRun:
    """A model of GPyTorch in training, from the start of our local layers.

    :param python: of its environment.
    """

    def __init__(self, python: Path, local: Run) -> None:
        self.rows = local
        start = start_of(local.model, local.data, local.test)
        self.process = Gpytorch(python, start, NUM_SAMPLES, BATCH_SIZE)
        self.cpu_seconds, self.num_steps = 0.0, 0

    def train(self, num_steps: int) -> tuple[float, float]:
        """:return: wall and CPU time per step."""
        start = time.perf_counter()
        cpu = self.process.train(num_steps)
        wall = time.perf_counter() - start
        self.cpu_seconds += cpu
        self.num_steps += num_steps
        return wall / num_steps, cpu / num_steps

    def bound(self) -> float:
        """Per row, on all rows."""
        return float(self.process.bounds(NUM_BOUND_SAMPLES).mean())

    def log_density(self) -> np.ndarray:
        """The mean log density of the held-out targets, []."""
        standardised = np.array(self.process.log_density(NUM_TEST_SAMPLES))
        return self.rows.targets.inverse_log_density(standardised)

    def close(self) -> str:
        """End the process.

        :return: its packages' versions.
        """
        self.process.close()
        return "".join(f", {name} {version}" for name, version in self.process.versions.items())
