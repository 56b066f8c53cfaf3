"""Measure by how much the memory of a process grows with each call of gi.fit.

    python -m tests.training.memory --calls 30

It grows by what is left of a run when all that it returned is gone. For comparison, "tensorflow"
compiles a loop of training steps of about as many operations, without this library.
"""

import argparse
import gc

import numpy as np
import psutil
import tensorflow as tf

from gpflow_gi.architectures import build_deep_gp
from gpflow_gi.training import fit

X = np.linspace(-1.0, 1.0, 20)[:, None]
Y = np.sin(3.0 * X)
FIRST = 5
"""Calls in which TensorFlow sets itself up."""


def deep_gp():
    model = build_deep_gp(X, Y, num_layers=2, num_inducing=5)
    fit(model, (X, Y), steps=3, progress=False)


def tensorflow():
    weights = tf.Variable(0.1 * np.ones((20, 20)))

    def loss():
        y = tf.constant(np.ones((20, 20)))
        for _ in range(150):
            y = tf.tanh(y @ weights + 0.1)
        return tf.reduce_sum(y)

    def step(i):
        with tf.GradientTape() as tape:
            value = loss()
        (gradient,) = tape.gradient(value, [weights])
        weights.assign_sub(1e-3 * gradient)
        return i + 1

    def run(steps):
        return tf.while_loop(lambda i: i < steps, step, (0,))

    scalar = tf.TensorSpec([], tf.int32)
    tf.function(run, autograph=False).get_concrete_function(scalar)(tf.constant(3))


def memory():
    gc.collect()
    return psutil.Process().memory_info().rss / 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--calls", type=int, default=30)
    calls = parser.parse_args().calls
    for subject in (tensorflow, deep_gp):
        for _ in range(FIRST):
            subject()
        before = memory()
        for _ in range(calls):
            subject()
        print(f"{subject.__name__}: {(memory() - before) / calls:.2f} MB a call", flush=True)


if __name__ == "__main__":
    main()
