"""What a model asks of a layer.

    layer.condition(U)      q(z | U): everything that does not depend on the data, computed once
        .kl()               KL(q || p)
        .predict(X)         mean and variance of f at X, z integrated out
        .draw(S)            a draw of the function f
            .rows(X)        its values at X, row by row: the right marginals, residuals independent
            .extend(X)      its values at X jointly, and the draw that remembers them
            .extend_inducing(U)     the same at the U that the layer was conditioned on
            .function(F)    the draw as a function that is known everywhere, by F random features

Shapes: S samples, M inducing points, N rows, D inputs, P outputs. What comes from below has a
sample axis, [S, M, D] and [S, N, D], once something was sampled there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import gpflow
import tensorflow as tf

from ..core.validation import shown
from ..posteriors import Posterior, Prior


class Layer(gpflow.Module, ABC):
    """A random function with an approximate posterior."""

    output_dim: int
    """P, or H W P of a convolution."""

    posterior: Posterior
    """The choice of q(z)."""

    @property
    def input_shape(self) -> tuple[int, ...] | None:
        """(D,) or (H, W, C), or None where any number of columns might do."""
        return None if self.input_dim is None else (self.input_dim,)

    @property
    def output_shape(self) -> tuple[int, ...]:
        """(P,), or (H, W, P) of a convolution's images, whose rows are of output_dim = H W P."""
        return (self.output_dim,)

    @property
    def input_dim(self) -> int | None:
        """D, or None where any number of columns might do."""
        return None

    @property
    def has_features(self) -> bool:
        """True if draws can become functions: :class:`~gpflow_gi.layers.LayerFunction`."""
        return False

    @property
    def uses_global_inducing(self) -> bool:
        """Whether q(z) depends on the inducing activations that come up from the layer below."""
        return self.posterior.uses_global_inducing

    @property
    def has_density(self) -> bool:
        """True if q(z) has a density, and so a KL divergence."""
        return self.posterior.has_density

    @property
    def has_independent_outputs(self) -> bool:
        """Whether the outputs at one row are independent, given the input.

        Only then does integrating z output by output say all about a row.
        """
        return True

    @abstractmethod
    def check_inputs(self, *input_shape: int) -> None:
        """Raise an error that users understand if the layer cannot take rows of that shape.

        :param input_shape: D, or H, W and C of images.
        :raises ValueError: if so.
        """

    @abstractmethod
    def condition(
        self, U: tf.Tensor, num_samples: int | None = None, seed: tf.Tensor | None = None
    ) -> ConditionedLayer:
        """The layer's posterior, given what comes from below.

        :param U: the inducing activations, [M, D] or [S, M, D]; [0, D] where neither this layer nor
            one above it uses them.
        :param num_samples: S, of what the layer cannot integrate out even where it is the last one;
            None for one sample without a sample axis.
        :param seed: [2], of those samples; None for a fresh one.
        :return: q(z | U), with all that does not depend on the data.
        """

    def follow_prior(self) -> None:
        """Put the prior in the posterior's place."""
        self.posterior = Prior()


def check_posterior(posterior: Posterior, output_dim: int | tuple[int, ...]) -> None:
    """Check that a posterior is one, and for so many outputs.

    :param output_dim: P, or (H, W, P) of a convolution.

    :raises TypeError: if it is not.
    :raises ValueError: if it has another number of outputs.
    """
    if not isinstance(posterior, Posterior):
        raise TypeError(
            f"posterior must be one of gpflow_gi.posteriors, but is {shown(posterior)}. GPflow's "
            "q_mu and q_sqrt are in gpflow_gi.posteriors.LocalInducing."
        )
    if posterior.output_dim not in (None, output_dim):
        raise ValueError(
            f"The layer has output_dim={output_dim}, but its posterior has "
            f"output_dim={posterior.output_dim}; they must be equal."
        )


class ConditionedLayer(ABC):
    """A layer's posterior given the inducing activations from below."""

    @abstractmethod
    def kl(self) -> tf.Tensor:
        """KL(q(z | U) || p(z)), summed over outputs: [] or [S], in nats."""

    @abstractmethod
    def predict(self, X: tf.Tensor, full_cov: bool = False) -> tuple[tf.Tensor, tf.Tensor]:
        """Moments of f at `X`, with z integrated out.

        :param X: [N, D] or [S, N, D].
        :param full_cov: give the covariance over rows.
        :return: the mean, [N, P] or [S, N, P], and the variance of the same shape, or with
            `full_cov` the covariance over rows, [P, N, N] or [S, P, N, N].
        :raises NotImplementedError: of a block, which has no moments.
        """

    @abstractmethod
    def diagnostics(self) -> list[tuple[str, tf.Tensor]]:
        """What can stop being finite, in the order of computation, with a name for users."""

    @abstractmethod
    def draw(self, num_samples: int | None, seed: tf.Tensor) -> LayerDraw:
        """Draw functions f.

        :param num_samples: S; None for one draw without a sample axis.
        :param seed: [2].
        :return: the functions, with their log p - log q.
        """

    def draw_with_kl(self, num_samples: int | None, seed: tf.Tensor) -> tuple[LayerDraw, tf.Tensor]:
        """Both :meth:`draw` and :meth:`kl`, for what they have in common to be computed once."""
        return self.draw(num_samples, seed), self.kl()


class LayerDraw(ABC):
    """A draw of a layer's function (or S draws), conditioned on all values it has given so far."""

    log_p_minus_log_q: tf.Tensor
    """[] or [S]: log p(z) - log q(z), in nats."""

    @abstractmethod
    def rows(self, X: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        """Values at `X` with the right distribution for each row, and rows independent given z.

        :param X: [N, D] or [S, N, D].
        :param seed: [2], or a :class:`~gpflow_gi.core.random.RowSeed`: of what z leaves open.
        :return: [N, P] or [S, N, P].
        """

    @abstractmethod
    def extend(self, X: tf.Tensor, seed: tf.Tensor) -> tuple[tf.Tensor, LayerDraw]:
        """Values at `X` jointly over rows, and the draw that is conditioned on them as well.

        :param X: [N, D] or [S, N, D].
        :param seed: [2], of what the draw leaves open.
        :return: [N, P] or [S, N, P], and a draw.
        """

    def extend_inducing(self, U: tf.Tensor, seed: tf.Tensor) -> tuple[tf.Tensor, LayerDraw]:
        """Values at the inducing activations, and the draw that is conditioned on them as well.

        A draw that knows its values there gives them, as a GP layer's u = m + L z.

        :param U: what the layer was conditioned on, [M, D] or [S, M, D].
        :param seed: [2], of what the draw leaves open.
        :return: [M, P] or [S, M, P], and a draw.
        """
        return self.extend(U, seed)

    def function(self, num_features: int, seed: tf.Tensor) -> LayerFunction:
        """The draw, before any extension, as a function; of a layer that has features only.

        :param num_features: F, for each draw, where the features are random.
        :param seed: [2], of what the draw leaves open.
        :return: the function.
        :raises NotImplementedError: if the layer has no features.
        """
        raise NotImplementedError(f"{type(self).__name__} is of a layer without features.")


class LayerFunction(LayerDraw):
    """A draw of a layer's function (or S draws) that is known everywhere."""

    @abstractmethod
    def __call__(self, X: tf.Tensor) -> tf.Tensor:
        """The function's values.

        :param X: [N, D] or [S, N, D].
        :return: [N, P] or [S, N, P].
        """

    def rows(self, X: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        return self(X)

    def extend(self, X: tf.Tensor, seed: tf.Tensor) -> tuple[tf.Tensor, LayerDraw]:
        return self(X), self

    def function(self, num_features: int, seed: tf.Tensor) -> LayerFunction:
        return self
