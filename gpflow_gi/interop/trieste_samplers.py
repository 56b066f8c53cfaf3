"""Draws in the shapes of Trieste, whose rows come in batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gpflow
import tensorflow as tf
from check_shapes import check_shapes

from ..core.random import RowSeed, fold_in
from ..core.validation import positive_integer
from ..models import mixture


class FunctionSampler:
    """Trieste's ``TrajectorySampler``: functions drawn from a model's posterior.

    :param model: a :class:`~gpflow_gi.interop.TriesteModel`.
    """

    def __init__(self, model: Any) -> None:
        self._model = model

    def get_trajectory(self) -> Callable[[Any], tf.Tensor]:
        """B functions, the same in every call; the first call says how many, and draws them.

        All functions are evaluated at the points of each: time grows with B^2.

        :return: a callable from [N, B, D] to [N, B, L], with function b at column b.
        :raises NotImplementedError: in the first call, if a kernel has no features, so that its
            functions cannot be compiled; Trieste compiles them.
        """
        functions: list[Any] = []

        @tf.autograph.experimental.do_not_convert
        def trajectory(points: Any) -> tf.Tensor:
            points = tf.convert_to_tensor(points)
            N, B = tf.shape(points)[0], int(points.shape[1])
            if not functions:
                with tf.init_scope():  # once, also while an acquisition function is being traced
                    functions.append(self._model.draw_functions(B))
                if not functions[0].is_pathwise:
                    functions.clear()
                    raise NotImplementedError(
                        "Trieste compiles trajectories, which needs kernels with features in every "
                        "layer, as gpflow_gi.models.FunctionDraws lists them. Use "
                        "DiscreteThompsonSampling with sample(), which takes any kernel."
                    )
            rows = tf.reshape(points, [N * B, points.shape[2]])
            values = tf.reshape(functions[0](rows), [B, N, B, -1])
            return tf.einsum("bnbl->nbl", values)

        return trajectory

    def update_trajectory(self, trajectory: Any) -> Callable[[Any], tf.Tensor]:
        """New functions, of the model as it is now."""
        return self.get_trajectory()

    def resample_trajectory(self, trajectory: Any) -> Callable[[Any], tf.Tensor]:
        """New functions, of the model as it is now."""
        return self.get_trajectory()


class RepeatableSampler:
    """Trieste's ``ReparametrizationSampler``: samples that are the same in every call.

    They are smooth functions of the points, and follow the model's parameters.

    :param sample_size: the number of samples, S.
    :param model: a :class:`~gpflow_gi.interop.TriesteModel`, or one of Trieste's stacks of them,
        whose outputs are then independent.
    """

    def __init__(self, sample_size: int, model: Any) -> None:
        self._sample_size = positive_integer("sample_size", sample_size)
        # Trieste makes the sampler of a stack from the class of those of its parts.
        self._models = getattr(model, "_models", (model,))
        self._seed = tf.Variable(tf.zeros([2], tf.int32), trainable=False)
        self.reset_sampler()

    @tf.autograph.experimental.do_not_convert
    @check_shapes("at: [batch..., B, D]", "return: [batch..., S, B, L]")
    def sample(self, at: Any, *, jitter: float = 0.0) -> tf.Tensor:
        """Values at the B points of each batch, drawn jointly.

        :param at: [..., B, D].
        :param jitter: not used: the layers have their own.
        :return: [..., S, B, L].
        """
        seed = tf.identity(self._seed)
        parts = [
            _values_in_batches(model.model, at, self._sample_size, fold_in(seed, i))
            for i, model in enumerate(self._models)
        ]
        return tf.concat(parts, axis=-1)

    def reset_sampler(self) -> None:
        """Let the next call draw other samples."""
        self._seed.assign(self._models[0]._new_seed())


def equal_noise(seed: tf.Tensor, rows: tf.Tensor) -> RowSeed:
    """A seed of noise that is the same for all rows.

    :param seed: [2].
    :param rows: [N, D].
    """
    return RowSeed(seed, tf.zeros([tf.shape(rows)[0]], tf.uint64))


def rows_of(points: Any) -> tf.Tensor:
    """All points as rows, [..., D] -> [N, D]."""
    points = tf.convert_to_tensor(points, gpflow.default_float())
    return tf.reshape(points, [-1, points.shape[-1]])


def split_batches(values: tf.Tensor, batch: tf.Tensor, N: tf.Tensor) -> tf.Tensor:
    """Values at the rows of all batches, [S, batch N, L] -> [..., S, N, L]."""
    S, L = tf.shape(values)[0], values.shape[-1]
    values = tf.transpose(tf.reshape(values, [S, -1, N, L]), [1, 0, 2, 3])
    return tf.reshape(values, tf.concat([batch, [S, N, L]], axis=0))


def jointly_in_batches(
    model: Any, points: Any, num_samples: int, seed: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """Moments of the mixture of S samples over the rows of each batch.

    :param points: [..., B, D].
    :return: mean [..., B, L] and covariance [..., L, B, B].
    """

    def moments(draws: Any, X: tf.Tensor) -> tuple[tf.Tensor, ...]:
        mean, covariance = draws.moments(X, fold_in(seed, 1), full_cov=True)
        if mean.shape.rank == 2:
            return mean, covariance
        return mixture.moments_jointly(mean, covariance)

    return _in_batches(model, points, num_samples, seed, moments, 2)


def _values_in_batches(model: Any, points: Any, num_samples: int, seed: tf.Tensor) -> tf.Tensor:
    def values(draws: Any, X: tf.Tensor) -> tuple[tf.Tensor, ...]:
        values = draws(X, fold_in(seed, 1))
        shape = tf.concat([[num_samples], tf.shape(values)[-2:]], axis=0)
        return (tf.broadcast_to(values, shape),)

    return _in_batches(model, points, num_samples, seed, values, 1)[0]


def _in_batches(
    model: Any,
    points: Any,
    num_samples: int,
    seed: tf.Tensor,
    function: Callable[[Any, tf.Tensor], tuple[tf.Tensor, ...]],
    num_results: int,
) -> Any:
    """A function of joint draws at each batch of points [..., B, D], all with the same draws."""
    points = tf.convert_to_tensor(points, gpflow.default_float())
    batch, B, D = tf.shape(points)[:-2], points.shape[-2], points.shape[-1]
    flat = tf.reshape(points, [-1, tf.shape(points)[-2] if B is None else B, D])
    model.check_inputs(tf.reshape(flat, [-1, D]))
    draws = model.draw_for(flat[0], num_samples, seed, joint=True)
    draws.settle(D)
    results = tf.map_fn(
        lambda X: function(draws, X), flat, fn_output_signature=(flat.dtype,) * num_results
    )
    return tuple(
        tf.reshape(result, tf.concat([batch, tf.shape(result)[1:]], axis=0)) for result in results
    )
