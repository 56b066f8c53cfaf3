"""Latent variables: random numbers h_n of each row, appended to its inputs.

    f(x_n, h_n),    h_n ~ N(0, I),    q(h_n) = N(m_n, diag s_n^2)

Salimbeni, Dutordoir, Hensman & Deisenroth, "Deep Gaussian processes with importance-weighted
variational inference", ICML 2019. A row of the data has a q(h_n) of its own: free, or given by an
encoder of (x_n, y_n). The h of any other row comes from the prior.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import gpflow
import numpy as np
import tensorflow as tf
from check_shapes import check_shapes
from gpflow.base import Parameter

from ..core.random import standard_normal
from ..core.validation import positive_integer
from ..posteriors import Prior
from .base import ConditionedLayer, Layer, LayerDraw, LayerFunction
from .deterministic import Deterministic

_FIRST_SPREAD = 0.1
"""Standard deviation of the first means of free latent variables: equal ones would stay equal."""


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


class LatentVariableLayer(Layer):
    """Appends h_n ~ N(0, I) to row n: noise of any shape, and inputs that nobody has measured.

    In the bound h_n has the posterior q(h_n) = N(m_n, diag s_n^2), with a KL divergence for each
    row that is scaled with the data term. Elsewhere, as in predictions, h comes from the prior,
    also for rows that the model was trained on. Inducing points get learned latent inputs.

    With free q(h_n) (`num_data`), a bound needs to know which rows of the data it is given: all of
    them, in their order, or rows of which Y has the index as one more column;
    :func:`gpflow_gi.fit` adds that column.

    >>> from gpflow_gi.layers import GPLayer
    >>> from gpflow_gi.models import DeepGP
    >>> from gpflow_gi.posteriors import GlobalInducing
    >>> last = GPLayer(gpflow.kernels.SquaredExponential(), 1, GlobalInducing(3, 1))
    >>> layers = [LatentVariableLayer(1, num_data=100), last]
    >>> U = [[0.0], [0.5], [1.0]]
    >>> model = DeepGP(layers, gpflow.likelihoods.Gaussian(), num_data=100, inducing_inputs=U)
    >>> model.layers[0].q_mu.shape, model.layers[0].inducing_latents.shape
    (TensorShape([100, 1]), TensorShape([3, 1]))
    """

    q_mu: Parameter | None
    """Free means m_n, [N, L]; None with an encoder."""

    q_sqrt: Parameter | None
    """Free standard deviations s_n, [N, L]; None with an encoder."""

    inducing_latents: Parameter | None
    """The latent inputs of the inducing points, [M, L]; None if no layer above is global."""

    def __init__(
        self,
        latent_dim: int,
        *,
        encoder: Callable[[tf.Tensor], tf.Tensor] | None = None,
        num_data: int | None = None,
    ) -> None:
        """Make either free q(h_n) or amortised ones.

        :param latent_dim: L, the number of latent variables of a row.
        :param encoder: a callable or Keras layer (of ``gpflow.keras.tf_keras``) from rows [x, y],
            [B, D + Q], to [B, 2 L]: the means and the logarithms of the standard deviations. x is a
            row of X, also if the layer is not the first.
        :param num_data: the number of rows of the data, for a free mean and standard deviation of
            each.
        :raises ValueError: if `latent_dim` or `num_data` is not a positive integer, or unless
            exactly one of `encoder` and `num_data` is given.
        :raises TypeError: if `encoder` cannot be a layer.
        """
        super().__init__()
        self.latent_dim = positive_integer("latent_dim", latent_dim)
        if (encoder is None) == (num_data is None):
            raise ValueError(
                "A LatentVariableLayer needs either an encoder, or num_data for a free posterior "
                f"of each row, but was given {'neither' if encoder is None else 'both'}."
            )
        self.posterior = Prior()
        self.encoder = None if encoder is None else Deterministic(encoder)
        self.q_mu = self.q_sqrt = None
        if num_data is not None:
            shape = positive_integer("num_data", num_data), self.latent_dim
            start = _FIRST_SPREAD * np.random.default_rng(0).standard_normal(shape)
            self.q_mu = Parameter(start)
            self.q_sqrt = Parameter(np.ones(shape), transform=gpflow.utilities.positive())
        self.inducing_latents = None
        self._input_shape: tuple[int, ...] | None = None

    @property
    def num_data(self) -> int | None:
        """The number of rows with a free q(h_n); None with an encoder."""
        return None if self.q_mu is None else int(self.q_mu.shape[0])

    def connect(self, input_dim: int, num_inducing: int | None) -> None:
        """Set the shapes; called by the model, which knows the layers below and above.

        :param input_dim: D, the number of columns of the rows.
        :param num_inducing: M, if a layer above uses the inducing points; else None.
        """
        self._input_shape = (input_dim,)
        if num_inducing is None:
            self.inducing_latents = None
        elif self.inducing_latents is None or self.inducing_latents.shape[0] != num_inducing:
            rng = np.random.default_rng([1, num_inducing])
            self.inducing_latents = Parameter(rng.standard_normal((num_inducing, self.latent_dim)))

    def connect_encoder(self, input_dim: int, num_targets: int | None) -> None:
        """Check the encoder, and create its weights.

        :param input_dim: D, the number of columns of X.
        :param num_targets: Q, or None if it is not known.
        :raises ValueError: if it does not return two numbers for each latent variable.
        """
        if self.encoder is None or num_targets is None:
            return
        made = self.encoder.connect(input_dim + num_targets)
        if made != (2 * self.latent_dim,):
            raise ValueError(
                f"The encoder must return {2 * self.latent_dim} numbers for a row, the means of "
                f"{self.latent_dim} latent variables and the logarithms of their standard "
                f"deviations, but returns rows of shape {made}."
            )

    @property
    def input_shape(self) -> tuple[int, ...] | None:
        return self._input_shape

    @property
    def input_dim(self) -> int | None:
        return None if self._input_shape is None else self._input_shape[0]

    @property
    def output_dim(self) -> int:  # type: ignore[override]
        if self.input_dim is None:
            raise ValueError("The shape of the outputs is not known outside of a model.")
        return self.input_dim + self.latent_dim

    @property
    def has_features(self) -> bool:
        return True

    def check_inputs(self, *input_shape: int) -> None:
        if len(input_shape) != 1:
            raise ValueError(
                "Latent variables are appended to rows, not to images. Put a Flatten layer below."
            )
        if self.input_dim not in (None, *input_shape):
            raise ValueError(
                f"It is part of a model whose rows have {self.input_dim} columns here, but gets "
                f"{input_shape[0]}."
            )

    def follow_prior(self) -> None:
        self.q_mu = self.q_sqrt = self.encoder = self.inducing_latents = None

    def condition(
        self, U: tf.Tensor, num_samples: int | None = None, seed: tf.Tensor | None = None
    ) -> ConditionedLatentLayer:
        return ConditionedLatentLayer(self, num_samples)

    @check_shapes("return[0]: [B, L]", "return[1]: [B, L]")
    def q(self, rows: DataRows) -> tuple[tf.Tensor, tf.Tensor]:
        """The posterior's means m_n and standard deviations s_n.

        :param rows: rows of the data, B of them.
        :return: two of [B, L].
        """
        if self.encoder is not None:
            values = self.encoder(tf.concat([rows.X, tf.cast(rows.Y, rows.X.dtype)], axis=-1))
            mean, log_sd = tf.split(values, 2, axis=-1)
            return mean, tf.exp(log_sd)
        if self.q_mu is None or self.q_sqrt is None:
            shape = [tf.shape(rows.X)[0], self.latent_dim]
            return tf.zeros(shape, rows.X.dtype), tf.ones(shape, rows.X.dtype)
        return tf.gather(self.q_mu, rows.index), tf.gather(self.q_sqrt, rows.index)

    def kl(self, rows: DataRows) -> tf.Tensor:
        """KL(q(h_n) || N(0, I)) of each row: [B], in nats."""
        mean, sd = self.q(rows)
        return tf.reduce_sum(0.5 * (tf.square(mean) + tf.square(sd) - 1.0) - tf.math.log(sd), -1)

    def append(self, X: tf.Tensor, h: tf.Tensor) -> tf.Tensor:
        """Append latent inputs to rows.

        :param X: [..., N, D].
        :param h: [..., N, L], where one of the two may lack leading axes.
        :return: [..., N, D + L].
        """
        batch = tf.broadcast_dynamic_shape(tf.shape(X)[:-1], tf.shape(h)[:-1])
        both = [tf.broadcast_to(v, tf.concat([batch, v.shape[-1:]], axis=0)) for v in (X, h)]
        return tf.concat(both, axis=-1)


class LatentDraw(LayerDraw):
    """A latent variable layer: h of new rows from the prior, h of data rows from q(h_n)."""

    def __init__(self, layer: LatentVariableLayer, num_samples: int | None) -> None:
        """Keep the layer.

        :param num_samples: S, or None for one sample without a sample axis.
        """
        self.layer = layer
        self.num_samples = num_samples
        self.log_p_minus_log_q = tf.zeros([], gpflow.default_float())

    def rows(self, X: tf.Tensor, seed: Any) -> tf.Tensor:
        return self.layer.append(X, self.noise(tf.shape(X)[-2], seed, X.dtype))

    def extend(self, X: tf.Tensor, seed: tf.Tensor) -> tuple[tf.Tensor, LayerDraw]:
        # Rows are different observations, each with an h of its own.
        return self.rows(X, seed), self

    def extend_inducing(self, U: tf.Tensor, seed: tf.Tensor) -> tuple[tf.Tensor, LayerDraw]:
        return self.layer.append(U, tf.convert_to_tensor(self.layer.inducing_latents)), self

    def function(self, num_features: int, seed: tf.Tensor) -> LatentFunction:
        return LatentFunction(self.layer, self.noise(1, seed, gpflow.default_float()))

    def of_data(self, F: tf.Tensor, rows: DataRows, seed: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Append h_n ~ q(h_n).

        :param F: values from below at the rows, [B, D'] or [S, B, D'].
        :param seed: [2].
        :return: [B, D' + L] or [S, B, D' + L]; and log p(h_n) - log q(h_n), [B] or [S, B].
        """
        mean, sd = self.layer.q(rows)
        eps = self.noise(tf.shape(mean)[0], seed, mean.dtype)
        h = mean + sd * eps
        return self.layer.append(F, h), log_ratio(h, mean, sd)

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
        zeros = tf.zeros([tf.shape(X)[-2], self.layer.latent_dim], X.dtype)
        mean, variance = (self.layer.append(*p) for p in ((X, zeros), (0.0 * X, zeros + 1.0)))
        if full_cov:
            return mean, tf.linalg.diag(tf.linalg.matrix_transpose(variance))
        return mean, variance

    def diagnostics(self) -> list[tuple[str, tf.Tensor]]:
        layer = self.layer
        named = {
            "the means of its latent variables": layer.q_mu,
            "the standard deviations of its latent variables": layer.q_sqrt,
            "the latent inputs of its inducing points": layer.inducing_latents,
        }
        return [(name, tf.convert_to_tensor(v)) for name, v in named.items() if v is not None]

    def draw(self, num_samples: int | None, seed: tf.Tensor) -> LatentDraw:
        return LatentDraw(self.layer, num_samples)


class LatentFunction(LayerFunction):
    """Draws of h that all rows share, so that what is drawn is a function of the inputs."""

    def __init__(self, layer: LatentVariableLayer, h: tf.Tensor) -> None:
        """Keep the draws.

        :param h: [1, L] or [S, 1, L].
        """
        self._layer = layer
        self._h = h
        self.log_p_minus_log_q = tf.zeros([], h.dtype)

    def __call__(self, X: tf.Tensor) -> tf.Tensor:
        return self._layer.append(X, self._h)

    def extend_inducing(self, U: tf.Tensor, seed: tf.Tensor) -> tuple[tf.Tensor, LayerDraw]:
        return LatentDraw(self._layer, None).extend_inducing(U, seed)[0], self


def log_ratio(h: tf.Tensor, mean: tf.Tensor, sd: tf.Tensor) -> tf.Tensor:
    """Log N(h; 0, I) - log N(h; mean, diag sd^2), over the last axis."""
    squares = tf.square((h - mean) / sd) - tf.square(h)
    return tf.reduce_sum(0.5 * squares + tf.math.log(sd), axis=-1)
