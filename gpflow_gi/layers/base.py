"""The interface between models and layers.

    layer.condition(U)      q(z | U): everything that does not depend on the data, computed once
        .kl()               KL(q || p)
        .predict(X)         mean and variance of f at X, z integrated out
        .draw(S)            a draw of the function f
            .rows(X)        its values at X, row by row: exact marginals, independent residuals
            .extend(X)      its values at X jointly, and the draw conditioned on them
            .extend_inducing(U)     the same at the U of `condition`
            .function(F)    the draw as a function on all inputs, with F random features

Shapes: S samples, M inducing points, N rows, D inputs, P outputs. Values from the layer below have
a sample axis, [S, M, D] and [S, N, D], once something was sampled there.
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
    """P, the number of outputs; H W P for a convolution."""

    posterior: Posterior
    """The choice of q(z)."""

    @property
    def input_shape(self) -> tuple[int, ...] | None:
        """Shape (D,) or (H, W, C), or None if any number of columns may be right."""
        return None if self.input_dim is None else (self.input_dim,)

    @property
    def output_shape(self) -> tuple[int, ...]:
        """Shape (P,), or (H, W, P) of a convolution's images, stored as rows of H W P."""
        return (self.output_dim,)

    @property
    def input_dim(self) -> int | None:
        """D, or None if any number of columns may be right."""
        return None

    @property
    def has_features(self) -> bool:
        """True if draws can become a :class:`~gpflow_gi.layers.LayerFunction`."""
        return False

    @property
    def uses_global_inducing(self) -> bool:
        """True if q(z) depends on the inducing activations from the layer below."""
        return self.posterior.uses_global_inducing

    @property
    def has_density(self) -> bool:
        """True if q(z) has a density, and therefore a KL divergence."""
        return self.posterior.has_density

    @property
    def has_independent_outputs(self) -> bool:
        """True if the outputs at one row are independent, given the input.

        Only then is it enough to integrate z output by output.
        """
        return True

    @abstractmethod
    def check_inputs(self, *input_shape: int) -> None:
        """Check that the layer can take rows of this shape.

        :param input_shape: D, or H, W and C of images.
        :raises ValueError: if it cannot; the message is for users.
        """

    @abstractmethod
    def condition(
        self, U: tf.Tensor, num_samples: int | None = None, seed: tf.Tensor | None = None
    ) -> ConditionedLayer:
        """The layer's posterior, given the inducing activations from the layer below.

        :param U: the inducing activations, [M, D] or [S, M, D]; [0, D] if neither this layer nor a
            layer above it uses them.
        :param num_samples: S, for variables that the layer has to sample even if it is the last
            one; None for one sample without a sample axis.
        :param seed: [2], seed of those samples; None for a new one.
        :return: q(z | U), with everything that does not depend on the data.
        """

    def condition_on_rows(
        self,
        U: tf.Tensor,
        F: tf.Tensor,
        num_samples: int | None = None,
        seed: tf.Tensor | None = None,
    ) -> ConditionedLayer:
        """The layer's posterior, given the activations of the data's rows too.

        For posteriors with ``rows``, as :class:`~gpflow_gi.posteriors.Optimal` has.

        :param U: as in :meth:`condition`.
        :param F: the mean activations of these rows, given the layers below, [N, D] or [S, N, D].
        :param num_samples: as in :meth:`condition`.
        :param seed: as in :meth:`condition`.
        :return: q(z | U, F). A layer of weights has no need of U: its pseudo-data are at F.
        """
        return self.condition(F, num_samples, seed)

    def follow_prior(self) -> None:
        """Replace the posterior by the prior."""
        self.posterior = Prior()


def check_posterior(
    posterior: Posterior, output_dim: int | tuple[int, ...], *, can_sample_outputs: bool = False
) -> None:
    """Check that a posterior is one, fits the layer, and has the right number of outputs.

    :param output_dim: P, or (H, W, P) of a convolution.
    :param can_sample_outputs: True if the layer takes posteriors that draw its outputs.

    :raises TypeError: if it is not a posterior.
    :raises ValueError: if its number of outputs differs, or if it is not for such a layer.
    """
    if not isinstance(posterior, Posterior):
        raise TypeError(
            f"posterior must be one of gpflow_gi.posteriors, but is {shown(posterior)}. Names are "
            "for builders: a layer takes an object, such as FullGaussian(), or LocalInducing(...) "
            "for GPflow's q_mu and q_sqrt."
        )
    if posterior.samples_outputs and not can_sample_outputs:
        raise ValueError(
            f"posterior is {type(posterior).__name__}, which draws the values of a process at "
            "inducing inputs: it is for a GPLayer without mixing, or an ImplicitLayer."
        )
    if posterior.output_dim not in (None, output_dim):
        raise ValueError(
            f"The layer has output_dim={output_dim}, but its posterior has "
            f"output_dim={posterior.output_dim}; they must be equal."
        )


class ConditionedLayer(ABC):
    """A layer's posterior, given the inducing activations from the layer below."""

    has_independent_outputs: bool = True
    """False if the outputs at one row are correlated, given its input, and `predict_outputs` says
    how."""

    @abstractmethod
    def kl(self) -> tf.Tensor:
        """KL(q(z | U) || p(z)), summed over outputs: [] or [S], in nats."""

    @abstractmethod
    def predict(self, X: tf.Tensor, full_cov: bool = False) -> tuple[tf.Tensor, tf.Tensor]:
        """Moments of f at `X`, with z integrated out.

        :param X: [N, D] or [S, N, D].
        :param full_cov: True for the covariance over rows.
        :return: the mean, [N, P] or [S, N, P], and the variance of the same shape, or with
            `full_cov` the covariance over rows, [P, N, N] or [S, P, N, N].
        :raises NotImplementedError: for a block, which has no moments.
        """

    def predict_outputs(self, X: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Moments of f at `X`, with the covariance between outputs.

        :param X: [N, D] or [S, N, D].
        :return: the mean, [N, P] or [S, N, P], and the covariance, [N, P, P] or [S, N, P, P].
        """
        mean, variance = self.predict(X)
        return mean, tf.linalg.diag(variance)

    @abstractmethod
    def diagnostics(self) -> list[tuple[str, tf.Tensor]]:
        """Values that may stop being finite, in the order of computation, with names for users."""

    @abstractmethod
    def draw(self, num_samples: int | None, seed: tf.Tensor) -> LayerDraw:
        """Draw functions f.

        :param num_samples: S; None for one draw without a sample axis.
        :param seed: [2].
        :return: the functions, with their log p - log q.
        """

    def draw_with_kl(self, num_samples: int | None, seed: tf.Tensor) -> tuple[LayerDraw, tf.Tensor]:
        """Return :meth:`draw` and :meth:`kl`; what they share is computed once."""
        return self.draw(num_samples, seed), self.kl()


class LayerDraw(ABC):
    """A draw of a layer's function (or S draws), conditioned on all values returned so far."""

    log_p_minus_log_q: tf.Tensor
    """Log p(z) - log q(z), [] or [S], in nats."""

    @abstractmethod
    def rows(self, X: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        """Values at `X` with the right distribution for each row; rows are independent given z.

        :param X: [N, D] or [S, N, D].
        :param seed: [2], or a :class:`~gpflow_gi.core.random.RowSeed`, for what z does not
            determine.
        :return: [N, P] or [S, N, P].
        """

    def means(self, X: tf.Tensor) -> tf.Tensor:
        """The means of :meth:`rows`: what z leaves open is integrated out.

        :param X: [N, D] or [S, N, D].
        :return: [N, P] or [S, N, P].
        :raises NotImplementedError: if the draw has none, as for latent variables of each row.
        """
        raise NotImplementedError(f"{type(self).__name__} has no means of rows.")

    @abstractmethod
    def extend(self, X: tf.Tensor, seed: tf.Tensor) -> tuple[tf.Tensor, LayerDraw]:
        """Values at `X` jointly over rows, and the draw conditioned on them.

        :param X: [N, D] or [S, N, D].
        :param seed: [2], for what the draw does not determine.
        :return: [N, P] or [S, N, P], and a draw.
        """

    def groups(self, X: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        """Values at groups of rows, for one draw: jointly over the rows of each group.

        :param X: [G, N, D].
        :param seed: [2], for what the draw does not determine.
        :return: [G, N, P]. What groups share given the draw is not specified.
        """
        return self.extend(X, seed)[0]

    def extend_inducing(self, U: tf.Tensor, seed: tf.Tensor) -> tuple[tf.Tensor, LayerDraw]:
        """Values at the inducing activations, and the draw conditioned on them.

        A draw that knows its values there returns them, such as u = m + L z in a GP layer.

        :param U: the argument of `condition`, [M, D] or [S, M, D].
        :param seed: [2], for what the draw does not determine.
        :return: [M, P] or [S, M, P], and a draw.
        """
        return self.extend(U, seed)

    def function(self, num_features: int, seed: tf.Tensor) -> LayerFunction:
        """The draw, before any extension, as a function; only for layers with features.

        :param num_features: F, the number of features of each draw if they are random.
        :param seed: [2], for what the draw does not determine.
        :return: the function.
        :raises NotImplementedError: if the layer has no features.
        """
        raise NotImplementedError(
            f"{type(self).__name__} has no function: its layer has a kernel without features."
        )


class LayerFunction(LayerDraw):
    """A draw of a layer's function (or S draws) that is known at all inputs."""

    @abstractmethod
    def __call__(self, X: tf.Tensor) -> tf.Tensor:
        """The function's values.

        :param X: [N, D] or [S, N, D].
        :return: [N, P] or [S, N, P].
        """

    def rows(self, X: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        return self(X)

    def means(self, X: tf.Tensor) -> tf.Tensor:
        return self(X)

    def extend(self, X: tf.Tensor, seed: tf.Tensor) -> tuple[tf.Tensor, LayerDraw]:
        return self(X), self

    def function(self, num_features: int, seed: tf.Tensor) -> LayerFunction:
        return self
