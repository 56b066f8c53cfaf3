"""Layers with latent variables of each row: what they are to the forward pass, and their draws."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any

import gpflow
import tensorflow as tf
from gpflow.base import Parameter

from ..core.random import standard_normal
from ..posteriors import Prior
from .base import ConditionedLayer, Layer, LayerDraw, LayerFunction
from .deterministic import Deterministic


@dataclass(frozen=True)
class DataRows:
    """Rows of the data, for a bound: the forward pass knows their targets.

    :param X: [B, D].
    :param Y: [B, Q].
    :param index: the place of each row in the data, [B], integers; None if no layer needs it.
    """

    X: tf.Tensor
    Y: tf.Tensor
    index: tf.Tensor | None = None

    def part(self, rows: slice) -> DataRows:
        """Some of the rows."""
        index = None if self.index is None else self.index[rows]
        return replace(self, X=self.X[rows], Y=self.Y[rows], index=index)


class RowLatents(Layer):
    """A layer with latent variables h_n ~ N(0, I) of each row, and a posterior q(h_n) in bounds."""

    latent_dim: int
    """L, the number of latent variables of a row."""

    encoder: Deterministic | None = None
    """The function that gives q(h_n); None if q(h_n) is free, or the prior."""

    num_data: int | None = None
    """The number of rows with a free q(h_n); None if there are none."""

    inducing_latents: Parameter | None = None
    """The latent inputs of the inducing points, [M, L]; None if they have none."""

    extra_columns: int = 0
    """The number of columns that the layer adds."""

    is_noise: bool = False
    """True if drawn functions are functions of rows without h."""

    def __init__(self) -> None:
        super().__init__()
        self.posterior = Prior()
        self._input_shape: tuple[int, ...] | None = None

    @abstractmethod
    def join(self, X: tf.Tensor, h: tf.Tensor) -> tf.Tensor:
        """The layer's values.

        :param X: [..., N, D].
        :param h: [..., N, L], where one of the two may lack leading axes.
        :return: [..., N, P].
        """

    @abstractmethod
    def of_inducing(self, U: tf.Tensor) -> tf.Tensor:
        """The layer's values at inducing points: [M, D] or [S, M, D] to [M, P] or [S, M, P]."""

    @abstractmethod
    def moments(self, X: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Mean and variance of the values at X, with h from the prior: two of [..., N, P]."""

    def q(self, rows: DataRows) -> tuple[tf.Tensor, tf.Tensor]:
        """The posterior's means m_n and standard deviations s_n; by default those of the prior.

        :param rows: rows of the data, B of them.
        :return: two of [B, L].
        """
        shape = [tf.shape(rows.X)[0], self.latent_dim]
        return tf.zeros(shape, rows.X.dtype), tf.ones(shape, rows.X.dtype)

    def kl(self, rows: DataRows) -> tf.Tensor:
        """KL(q(h_n) || N(0, I)) of each row: [B], in nats."""
        mean, sd = self.q(rows)
        return tf.reduce_sum(0.5 * (tf.square(mean) + tf.square(sd) - 1.0) - tf.math.log(sd), -1)

    def connect(self, input_dim: int, num_inducing: int | None) -> None:
        """Set the shapes; called by the model, which knows the layers below and above.

        :param input_dim: D, the number of columns of the rows.
        :param num_inducing: M, if a layer above uses the inducing points; else None.
        """
        self._input_shape = (input_dim,)

    @property
    def input_shape(self) -> tuple[int, ...] | None:
        return self._input_shape

    @property
    def input_dim(self) -> int | None:
        return None if self._input_shape is None else self._input_shape[0]

    @property
    def has_features(self) -> bool:
        return True

    def check_inputs(self, *input_shape: int) -> None:
        if len(input_shape) != 1:
            raise ValueError(
                "Latent variables belong to rows, not to images. Put a Flatten layer below."
            )
        if self.input_dim not in (None, *input_shape):
            raise ValueError(
                f"The layer belongs to a model in which its inputs have {self.input_dim} columns, "
                f"but here they have {input_shape[0]}."
            )

    def follow_prior(self) -> None:
        self.inducing_latents = None

    def condition(
        self, U: tf.Tensor, num_samples: int | None = None, seed: tf.Tensor | None = None
    ) -> ConditionedLatentLayer:
        return ConditionedLatentLayer(self, num_samples)


class LatentDraw(LayerDraw):
    """A latent variable layer: h of new rows from the prior, h of data rows from q(h_n)."""

    def __init__(self, layer: RowLatents, num_samples: int | None) -> None:
        """Keep the layer.

        :param num_samples: S, or None for one sample without a sample axis.
        """
        self.layer = layer
        self.num_samples = num_samples
        self.log_p_minus_log_q = tf.zeros([], gpflow.default_float())

    def rows(self, X: tf.Tensor, seed: Any) -> tf.Tensor:
        return self.layer.join(X, self.noise(tf.shape(X)[-2], seed, X.dtype))

    def extend(self, X: tf.Tensor, seed: tf.Tensor) -> tuple[tf.Tensor, LayerDraw]:
        # Rows are different observations, each with an h of its own.
        return self.rows(X, seed), self

    def extend_inducing(self, U: tf.Tensor, seed: tf.Tensor) -> tuple[tf.Tensor, LayerDraw]:
        return self.layer.of_inducing(U), self

    def function(self, num_features: int, seed: tf.Tensor) -> LatentFunction:
        h = self.noise(1, seed, gpflow.default_float())
        # A function of the exact inputs, if the noise is one of the inputs.
        return LatentFunction(self.layer, 0.0 * h if self.layer.is_noise else h)

    def of_data(self, F: tf.Tensor, rows: DataRows, seed: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Append h_n ~ q(h_n).

        :param F: values from below at the rows, [B, D'] or [S, B, D'].
        :param seed: [2].
        :return: [B, D' + L] or [S, B, D' + L]; and log p(h_n) - log q(h_n), [B] or [S, B].
        """
        mean, sd = self.layer.q(rows)
        eps = self.noise(tf.shape(mean)[0], seed, mean.dtype)
        h = mean + sd * eps
        return self.layer.join(F, h), log_ratio(h, mean, sd)

    def noise(self, num_rows: Any, seed: Any, dtype: Any) -> tf.Tensor:
        """N(0, 1), [N, L] or [S, N, L]."""
        samples = [] if self.num_samples is None else [self.num_samples]
        return standard_normal([*samples, num_rows, self.layer.latent_dim], seed, dtype)


class ConditionedLatentLayer(ConditionedLayer, LatentDraw):
    """A latent variable layer among layers that are integrated."""

    def kl(self) -> tf.Tensor:
        # That of the rows is part of the data term.
        return tf.zeros([], gpflow.default_float())

    def predict(self, X: tf.Tensor, full_cov: bool = False) -> tuple[tf.Tensor, tf.Tensor]:
        mean, variance = self.layer.moments(X)
        if full_cov:
            return mean, tf.linalg.diag(tf.linalg.matrix_transpose(variance))
        return mean, variance

    def diagnostics(self) -> list[tuple[str, tf.Tensor]]:
        layer = self.layer
        named = {
            "the means of its latent variables": getattr(layer, "q_mu", None),
            "the standard deviations of its latent variables": getattr(layer, "q_sqrt", None),
            "the latent inputs of its inducing points": layer.inducing_latents,
        }
        return [(name, tf.convert_to_tensor(v)) for name, v in named.items() if v is not None]

    def draw(self, num_samples: int | None, seed: tf.Tensor) -> LatentDraw:
        return LatentDraw(self.layer, num_samples)


class LatentFunction(LayerFunction):
    """Draws of h that all rows share, so that what is drawn is a function of the inputs."""

    def __init__(self, layer: RowLatents, h: tf.Tensor) -> None:
        """Keep the draws.

        :param h: [1, L] or [S, 1, L].
        """
        self._layer = layer
        self._h = h
        self.log_p_minus_log_q = tf.zeros([], h.dtype)

    def __call__(self, X: tf.Tensor) -> tf.Tensor:
        return self._layer.join(X, self._h)

    def extend_inducing(self, U: tf.Tensor, seed: tf.Tensor) -> tuple[tf.Tensor, LayerDraw]:
        return LatentDraw(self._layer, None).extend_inducing(U, seed)[0], self


def log_ratio(h: tf.Tensor, mean: tf.Tensor, sd: tf.Tensor) -> tf.Tensor:
    """Log N(h; 0, I) - log N(h; mean, diag sd^2), over the last axis."""
    squares = tf.square((h - mean) / sd) - tf.square(h)
    return tf.reduce_sum(0.5 * squares + tf.math.log(sd), axis=-1)
