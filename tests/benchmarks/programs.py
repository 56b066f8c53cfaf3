"""Training as programs to be timed: a step per Python call, or the compiled loop of `gi.fit`."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import gpflow
import numpy as np
import tensorflow as tf
from gpflow.keras import tf_keras

from gpflow_gi.core.random import as_seed
from gpflow_gi.objectives import Elbo
from gpflow_gi.training.adam import Adam
from gpflow_gi.training.compiled_loop import kind_of
from gpflow_gi.training.learning_rate import make_optimizer
from gpflow_gi.training.minibatches import Minibatches
from gpflow_gi.training.replicas import Replicas
from gpflow_gi.training.steps import TrainingSteps

from .interleaved import Program

tf.get_logger().setLevel("ERROR")  # it warns of many functions that are traced once each

JITTER = {"float64": 1e-6, "float32": 1e-4}


@contextmanager
def float_type(name: str) -> Iterator[None]:
    """GPflow's and Keras' default type. What is compiled within keeps it.

    :param name: "float64" or "float32"; the latter with the jitter of docs/numerics.md.
    """
    before = tf_keras.backend.floatx()
    tf_keras.backend.set_floatx(name)
    try:
        config = gpflow.config.Config(float=getattr(np, name), jitter=JITTER[name])
        with gpflow.config.as_context(config):
            yield
    finally:
        tf_keras.backend.set_floatx(before)


def adam() -> Adam:
    """The optimizer of all competitors, ours and others."""
    return Adam(0.01, jit_compile=False)


def step_by_step(model: tf.Module, bound: Callable[[], tf.Tensor]) -> Program:
    """One compiled step (bound, gradient, Adam) per Python call.

    :param bound: of the model, one draw per call.
    """
    variables = model.trainable_variables
    optimizer = adam()
    optimizer.build(variables)

    @tf.function
    def step() -> tf.Tensor:
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(variables)
            loss = -bound()
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss

    def run(steps: int) -> None:
        for _ in range(steps):
            loss = step()
        if not np.isfinite(loss.numpy()):
            raise RuntimeError("A competitor's bound is not finite.")

    run(3)
    return run


def through_fit(
    model: Any,
    data: tuple[Any, Any],
    num_samples: int,
    jit_compile: bool = False,
    learning_rate: Any = None,
) -> Program:
    """All steps in the compiled loop that `gi.fit` calls again and again."""
    steps = steps_of_fit(
        model, data, num_samples, learning_rate=learning_rate, jit_compile=jit_compile
    )

    def run(num_steps: int) -> None:
        take(steps, num_steps)

    run(3)
    return run


def steps_of_fit(
    model: Any,
    data: tuple[Any, Any],
    num_samples: int,
    batch_size: int | None = None,
    learning_rate: Any = None,
    kl_warmup: int = 0,
    jit_compile: bool = False,
) -> TrainingSteps:
    """The compiled training steps of `gi.fit` for these arguments."""
    X, Y = (tf.constant(array) for array in data)
    variables = list(model.trainable_variables)
    optimizer, schedule = make_optimizer(None, learning_rate, variables)
    minibatches = Minibatches((X, Y), batch_size, as_seed(0), jit_compile)
    # gi.fit transforms parameters once a step only where it knows the kind of loop.
    parts = {
        "rows": [[spec.shape.as_list(), spec.dtype] for spec in minibatches.specs],
        "batch_size": batch_size,
        "num_samples": num_samples,
        "kl_warmup": kl_warmup,
        "jit_compile": jit_compile,
        "objective": Elbo(),
        "schedule": schedule,
    }
    steps = TrainingSteps(
        model,
        Elbo(),
        num_samples,
        variables,
        optimizer,
        schedule,
        minibatches,
        Replicas(),
        kl_warmup=kl_warmup,
        jit_compile=jit_compile,
        kind=kind_of(model, parts, optimizer, variables),
    )
    steps.compile()
    return steps


def take(steps: TrainingSteps, num_steps: int) -> None:
    """:raises RuntimeError: if a bound or a gradient is not finite."""
    if not steps.run(num_steps).is_finite:
        raise RuntimeError("A competitor's bound is not finite.")
