"""The floor under a training step: the operations that it cannot do without, and their time alone.

Counted for deep GPs of global layers in the space of the pseudo-outputs, with squared exponential
kernels and diagonal precisions, as gpflow_gi/regression/function_space.py, gpflow_gi/cholesky.py
and gpflow_gi/kernels/stationary.py compute them: every Cholesky factor, matrix product, triangular
solve and kernel evaluation (a product and an exponential) of the bound and of its gradient. Not
counted is all the rest: sums, squares and copies of the same arrays, random numbers, the
likelihood, Adam, and starting the operations of a graph.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import tensorflow as tf

from .interleaved import Program

Shape = tuple[int, ...]

_RUN: dict[str, Callable[..., tf.Tensor]] = {
    "A B": tf.matmul,
    "A^T B": lambda A, B: tf.matmul(A, B, transpose_a=True),
    "A B^T": lambda A, B: tf.matmul(A, B, transpose_b=True),
    "exp(A B^T)": lambda A, B: tf.exp(tf.matmul(A, B, transpose_b=True)),
    "chol A": tf.linalg.cholesky,
    "A^-1 B": tf.linalg.triangular_solve,
    "A^-T B": lambda A, B: tf.linalg.triangular_solve(A, B, adjoint=True),
}


@dataclass(frozen=True)
class Operation:
    """One of TensorFlow's, at arrays of some shapes.

    :param formula: one of those above; A is lower triangular in the solves.
    :param shapes: of A, and of B.
    """

    formula: str
    shapes: tuple[Shape, ...]

    def __str__(self) -> str:
        return f"{self.formula} of {' and '.join(map(str, self.shapes))}"


def floor_of_step(
    *, num_inducing: int, num_samples: int, num_rows: int, input_dim: int, num_layers: int
) -> Counter[Operation]:
    """The operations of a step, and how often it takes each."""
    M, N, D, S = num_inducing, num_rows, input_dim, num_samples
    operations: Counter[Operation] = Counter()
    for i in range(num_layers):
        # Above the first layer all arrays have a sample axis, if there are several samples. In the
        # first layer only the draws of z have it, whose columns stand side by side.
        axis = (S,) if i > 0 and S > 1 else ()
        last = i + 1 == num_layers
        P = 1 if last else D
        operations += _regression(axis, M, D, P)
        if last:
            operations += _integrated_rows(axis, M, N, D, P)
        else:
            columns = S * P if i == 0 else P
            operations += _drawn_rows(axis, M, N, D, columns)
    return operations


def _regression(s: Shape, M: int, D: int, P: int) -> Counter[Operation]:
    """S = k(U, U) + Lambda^-1, chol S, and the KL divergence."""
    square, V = (*s, M, M), (*s, M, P)
    both = (*s, M, M + P)
    return Counter(
        [
            *_kernel(s, M, M, D),
            Operation("chol A", (square,)),
            Operation("A^-1 B", (square, both)),  # C^-1 [V, I]
            Operation("A^T B", (square, square)),  # S^-1
            Operation("A^-T B", (square, V)),  # S^-1 V
            # backward
            Operation("A B", (square, V)),  # S^-1 Lambda^-1 S^-1 V
            Operation("A B^T", (both, both)),  # S^-1 Lambda^-1 S^-1, and terms of V
        ]
    )


def _integrated_rows(s: Shape, M: int, N: int, D: int, P: int) -> Counter[Operation]:
    """The last layer's mean and variance at the rows, from k = k(U, X)."""
    square, k, V, rows = (*s, M, M), (*s, M, N), (*s, M, P), (*s, N, P)
    return Counter(
        [
            *_kernel(s, M, N, D),
            Operation("A^-1 B", (square, k)),  # C^-1 k
            Operation("A^-1 B", (square, V)),  # C^-1 V
            Operation("A^T B", (k, V)),  # the mean
            # backward
            Operation("A^-T B", (square, k)),  # S^-1 k
            Operation("A^-T B", (square, V)),  # S^-1 V
            Operation("A B^T", (V, rows)),  # into k, from the mean
            Operation("A B^T", (k, k)),  # into S
            Operation("A B", (k, rows)),  # into V
        ]
    )


def _drawn_rows(s: Shape, M: int, N: int, D: int, P: int) -> Counter[Operation]:
    """A hidden layer's draw of z by Matheron's rule, and its values at U and at the rows."""
    square, k, z, rows = (*s, M, M), (*s, M, N), (*s, M, P), (*s, N, P)
    draw = [
        Operation("chol A", (square,)),  # L
        Operation("A B", (square, z)),  # L z0
        Operation("A^-1 B", (square, z)),  # S^-1 (V - L z0 - e)
        Operation("A^-T B", (square, z)),
        Operation("A^T B", (square, z)),  # L^T of that
        Operation("A B", (square, z)),  # the values at U, L z
        # backward: of each product with L its two factors, of L only once for the last step
        Operation("A^T B", (square, z)),
        Operation("A B", (square, z)),
        Operation("A^-1 B", (square, z)),
        Operation("A^-T B", (square, z)),
        Operation("A^T B", (square, z)),
        *4 * [Operation("A B^T", (z, z))],
        *2 * [Operation("A^-T B", (square, square))],  # into k(U, U), of all that used L
    ]
    at_rows = [
        *_kernel(s, M, N, D),
        Operation("A^-1 B", (square, k)),  # A = L^-1 k
        Operation("A^T B", (k, z)),  # A^T z
        # backward
        Operation("A B", (k, rows)),  # into z
        Operation("A B^T", (z, rows)),  # into A
        Operation("A^-T B", (square, k)),  # into k
        Operation("A B^T", (k, k)),  # into L
    ]
    return Counter([*draw, *at_rows])


def _kernel(s: Shape, M: int, N: int, D: int) -> list[Operation]:
    """A kernel matrix, and its gradients in both inputs, which have two columns more."""
    left, right, k = (*s, M, D + 2), (*s, N, D + 2), (*s, M, N)
    return [
        Operation("exp(A B^T)", (left, right)),
        Operation("A B", (k, right)),
        Operation("A^T B", (k, left)),
    ]


def program(operation: Operation) -> Program:
    """The operation again and again, in a compiled loop."""
    formula, shapes = operation.formula, operation.shapes
    return _loop(_RUN[formula], [_array(formula, i, shape) for i, shape in enumerate(shapes)])


def empty_loop() -> Program:
    """The overhead of every operation."""
    return _loop(lambda A: A, [tf.zeros([])])


def _loop(run: Callable[..., tf.Tensor], arrays: list[tf.Tensor]) -> Program:
    # Arguments, not constants, which TensorFlow would compute with ahead of time.
    @tf.function(autograph=False)
    def loop(steps: tf.Tensor, *arrays: tf.Tensor) -> tf.Tensor:
        def body(i: tf.Tensor, _: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            return i + 1, run(*arrays)

        # What the last step computed is returned, or nothing would be.
        start = (tf.constant(1), run(*arrays))
        return tf.while_loop(lambda i, _: i < steps, body, start, parallel_iterations=1)[1]

    def take(steps: int) -> None:
        loop(tf.constant(steps), *arrays)

    take(1)
    return take


def _array(formula: str, place: int, shape: Shape) -> tf.Tensor:
    rng = np.random.default_rng(place)
    values = rng.normal(size=shape) / np.sqrt(shape[-1])
    if place == 0 and formula == "chol A":
        values = 2 * np.eye(shape[-1]) + (values + np.swapaxes(values, -1, -2)) / 4
    if place == 0 and "^-" in formula:
        values = np.eye(shape[-1]) + np.tril(values) / 4
    return tf.constant(values)
