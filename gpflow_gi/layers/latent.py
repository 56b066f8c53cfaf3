"""Latent variables: random numbers h_n of each row, appended to its inputs.

    f(x_n, h_n),    h_n ~ N(0, I),    q(h_n) = N(m_n, diag s_n^2)

Salimbeni, Dutordoir, Hensman & Deisenroth, "Deep Gaussian processes with importance-weighted
variational inference", ICML 2019. A row of the data has a q(h_n) of its own: free, or given by an
encoder of (x_n, y_n). The h of any other row comes from the prior.
"""

from __future__ import annotations

from collections.abc import Callable

import gpflow
import numpy as np
import tensorflow as tf
from check_shapes import check_shapes
from gpflow.base import Parameter

from ..core.validation import positive_integer
from .deterministic import Deterministic
from .row_latents import DataRows, RowLatents

_FIRST_SPREAD = 0.1
"""Standard deviation of the first means of free latent variables: equal ones would stay equal."""


class LatentVariableLayer(RowLatents):
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
        self.latent_dim = self.extra_columns = positive_integer("latent_dim", latent_dim)
        if (encoder is None) == (num_data is None):
            raise ValueError(
                "A LatentVariableLayer needs either an encoder, or num_data for a free posterior "
                f"of each row, but was given {'neither' if encoder is None else 'both'}."
            )
        self.encoder = None if encoder is None else Deterministic(encoder)
        self.q_mu = self.q_sqrt = None
        if num_data is not None:
            shape = positive_integer("num_data", num_data), self.latent_dim
            start = _FIRST_SPREAD * np.random.default_rng(0).standard_normal(shape)
            self.q_mu = Parameter(start)
            self.q_sqrt = Parameter(np.ones(shape), transform=gpflow.utilities.positive())
        self.inducing_latents = None

    @property
    def num_data(self) -> int | None:  # type: ignore[override]
        """The number of rows with a free q(h_n); None with an encoder."""
        return None if self.q_mu is None else int(self.q_mu.shape[0])

    def connect(self, input_dim: int, num_inducing: int | None) -> None:
        """Set the shapes; called by the model, which knows the layers below and above.

        :param input_dim: D, the number of columns of the rows.
        :param num_inducing: M, if a layer above uses the inducing points; else None.
        """
        super().connect(input_dim, num_inducing)
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
    def output_dim(self) -> int:  # type: ignore[override]
        if self.input_dim is None:
            raise ValueError(
                "The shape of the layer's outputs is not known before the layer is part of a model."
            )
        return self.input_dim + self.latent_dim

    def follow_prior(self) -> None:
        self.q_mu = self.q_sqrt = self.encoder = self.inducing_latents = None

    @check_shapes("return[0]: [B, L]", "return[1]: [B, L]")
    def q(self, rows: DataRows) -> tuple[tf.Tensor, tf.Tensor]:
        """The posterior's means m_n and standard deviations s_n.

        :param rows: rows of the data, B of them.
        :return: two of [B, L].
        """
        if self.encoder is not None:
            Y = tf.cast(rows.Y, rows.X.dtype)
            Y = tf.where(tf.math.is_nan(Y), tf.zeros_like(Y), Y)  # where it was not observed
            values = self.encoder(tf.concat([rows.X, Y], axis=-1))
            mean, log_sd = tf.split(values, 2, axis=-1)
            return mean, tf.exp(log_sd)
        if self.q_mu is None or self.q_sqrt is None:
            return super().q(rows)
        return tf.gather(self.q_mu, rows.index), tf.gather(self.q_sqrt, rows.index)

    def join(self, X: tf.Tensor, h: tf.Tensor) -> tf.Tensor:
        batch = tf.broadcast_dynamic_shape(tf.shape(X)[:-1], tf.shape(h)[:-1])
        both = [tf.broadcast_to(v, tf.concat([batch, v.shape[-1:]], axis=0)) for v in (X, h)]
        return tf.concat(both, axis=-1)

    def of_inducing(self, U: tf.Tensor) -> tf.Tensor:
        return self.join(U, tf.convert_to_tensor(self.inducing_latents))

    def moments(self, X: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        zeros = tf.zeros([tf.shape(X)[-2], self.latent_dim], X.dtype)
        return self.join(X, zeros), self.join(tf.zeros_like(X), zeros + 1.0)
