"""Draws of a chain of layers."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import tensorflow as tf

from ..core import linalg
from ..core.random import fold_in, standard_normal
from ..layers import DataRows, LayerDraw
from .draws import Draws
from .propagation import Propagated


class LayerDraws(Draws):
    """Layers below the last, drawn or integrated row by row, and the last layer, integrated.

    In joint draws every layer is drawn in a call, the last one too.
    """

    def __init__(
        self,
        propagated: Propagated,
        num_samples: int,
        seed: tf.Tensor,
        *,
        joint: bool,
        sample_axis: bool,
    ) -> None:
        """Keep the layers.

        :param propagated: the layers after the pass of the inducing points.
        :param num_samples: S of that pass.
        :param seed: [2], of the draws; its streams 1 and 3 are for calls.
        :param joint: True if the rows of a call belong to one function.
        :param sample_axis: True for a sample axis in every result. Otherwise values that all
            samples share have none, which saves the work of S samples in the bound.
        """
        self._propagated = propagated
        self._num_samples = num_samples
        self._seed = seed
        self._joint = joint
        self._sample_axis = sample_axis
        self.kl = propagated.kl
        if joint and tf.executing_eagerly():
            self._last  # noqa: B018  (a first call may be in a graph, which keeps what it makes)

    def moments(
        self, X: tf.Tensor, seed: Any, *, full_cov: bool = False
    ) -> tuple[tf.Tensor, tf.Tensor]:
        X = tf.convert_to_tensor(X)
        if full_cov:
            F = self._propagated.rows_jointly(X, seed)
            mean, covariance = self._propagated.last.predict(F, full_cov=True)
            return self._for_each(mean, 2), self._for_each(covariance, 3)
        mean, variance = self._propagated.predict(X, seed)
        return self._for_each(mean, 2), self._for_each(variance, 2)

    def moments_of_outputs(self, X: tf.Tensor, seed: Any) -> tuple[tf.Tensor, tf.Tensor]:
        F = self._propagated.rows(tf.convert_to_tensor(X), seed)
        mean, covariance = self._propagated.last.predict_outputs(F)
        return self._for_each(mean, 2), self._for_each(covariance, 3)

    def moments_of_data(
        self, rows: DataRows, seed: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor | None]:
        if not self._propagated.has_latents:
            return super().moments_of_data(rows, seed)
        F, kl = self._propagated.data_rows(rows, seed)
        mean, variance = self._propagated.last.predict(F)
        return self._for_each(mean, 2), self._for_each(variance, 2), kl

    def values_of_data(
        self, rows: DataRows, seed: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor | float]:
        if not self._propagated.has_latents:
            return super().values_of_data(rows, seed)
        F, ratio = self._propagated.data_rows_jointly(rows, fold_in(seed, 1))
        values, _ = self._last.extend(F, fold_in(seed, 3))
        return self._for_each(values, 2), ratio

    def settle(self, input_dim: int) -> None:
        # Factorisations of the layers are computed for the first row.
        dtype = self._propagated.inducing.dtype
        self.moments(tf.zeros([1, input_dim], dtype), fold_in(self._seed, 1))

    def __call__(self, X: tf.Tensor, seed: Any) -> tf.Tensor:
        X = tf.convert_to_tensor(X)
        if self._joint:
            F = self._propagated.rows_jointly(X, fold_in(seed, 1))
            values, _ = self._last.extend(F, fold_in(seed, 3))
            return self._for_each(values, 2)
        if not self._propagated.last.has_independent_outputs:
            mean, covariance = self.moments_of_outputs(X, fold_in(seed, 0))
            return self._correlated(mean, covariance, fold_in(seed, 1))
        mean, variance = self.moments(X, fold_in(seed, 0))
        # If nothing below the last layer is sampled, one mean serves all samples.
        shape = tf.concat([[self._num_samples], tf.shape(mean)[-2:]], axis=0)
        return mean + tf.sqrt(variance) * standard_normal(shape, fold_in(seed, 1), mean.dtype)

    @property
    def log_p_minus_log_q(self) -> tf.Tensor | None:  # type: ignore[override]
        """The sum over all layers, for joint draws whose layers have densities; else None."""
        if not self._joint or self.kl is None:
            return None
        drawn = [layer for layer in self._propagated.hidden if isinstance(layer, LayerDraw)]
        # Not all of them have a sample axis.
        ratio = sum(layer.log_p_minus_log_q for layer in [*drawn, self._last])
        return self._for_each(ratio, 0)

    def _correlated(self, mean: tf.Tensor, covariance: tf.Tensor, seed: Any) -> tf.Tensor:
        """Draw S times from N(mean, covariance), row by row: [S, N, P]."""
        # Mixed processes may be fewer than outputs: the covariance is then singular.
        root = linalg.root_of_any(covariance)
        shape = tf.concat([[self._num_samples], tf.shape(mean)[-2:]], axis=0)
        return mean + tf.linalg.matvec(root, standard_normal(shape, seed, mean.dtype))

    @cached_property
    def _last(self) -> LayerDraw:
        last = self._propagated.last
        return last.draw(self._propagated.num_samples, fold_in(self._seed, 2))

    def _for_each(self, value: tf.Tensor, rank: int) -> tf.Tensor:
        """Add a sample axis, if required, in front of the other `rank` axes."""
        if not self._sample_axis or value.shape.rank > rank:
            return value
        return tf.broadcast_to(value, tf.concat([[self._num_samples], tf.shape(value)], axis=0))
