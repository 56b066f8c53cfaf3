"""Convolutional layers of a Bayesian neural network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from ..core.convolution import Convolution, Padding
from ..core.gaussians import integrate
from ..core.validation import is_one_of, positive_integer, shown
from ..core.weight_root import WeightRoot
from ..posteriors import Posterior
from ..priors import WeightPrior
from .base import LayerFunction, check_posterior
from .weights import ConditionedWeights, WeightBasis, WeightLayer, check_prior


class Conv2DLayer(WeightLayer):
    """P filters: outputs f_p(x, location) = patch(x, location)^T w_p, at all locations of an image.

    It is the linear model of :class:`DenseLayer` with patches as rows (Ober & Aitchison 2021,
    section 2.2): weights w = R z have a prior and an approximate posterior, and all locations share
    them. The K weights of an output are ordered by the kernel's places, row by row, then by channel
    (TensorFlow's filters, [height, width, C, P], flattened to [K, P]). There is no bias, and
    nonlinearities are separate layers.

    Between layers images are stored as rows of H W C numbers; `input_dim` and `output_dim` count
    these numbers.

    The outputs at the locations of one image are correlated through the weights. Therefore, if
    there is more than one location, z is drawn, not integrated row by row, and the layer cannot be
    the last layer of a model.
    """

    def __init__(
        self,
        input_shape: Sequence[int],
        filters: int,
        kernel_size: int | Sequence[int],
        posterior: Posterior,
        *,
        strides: int = 1,
        padding: Padding = "same",
        prior: WeightPrior | None = None,
    ) -> None:
        """Set the prior and the posterior.

        :param input_shape: (H, W, C), of the images below.
        :param filters: P, the number of filters.
        :param kernel_size: height and width, in pixels, or one number for both.
        :param posterior: a choice of q(z). With pseudo-data, its `output_dim` is the shape of the
            layer's output images, :attr:`output_shape`.
        :param strides: stride along both dimensions, in pixels.
        :param padding: "same", zeros around the image for ceil(H / strides) by ceil(W / strides)
            locations; or "valid", only the locations at which the kernel is inside the image.
        :param prior: prior over the weights; :class:`gpflow_gi.priors.NealPrior` by default.
        :raises ValueError: if a size is not a positive integer, if `padding` is unknown, if the
            kernel does not fit into the image, if the posterior is for other outputs or not for a
            layer of weights, or if the prior is for another `kernel_size`.
        :raises TypeError: if `posterior` is not a posterior, or `prior` is not a prior.
        """
        super().__init__()
        self.filters = positive_integer("filters", filters)
        if not is_one_of(padding, ("same", "valid")):
            raise ValueError(f'padding must be "same" or "valid", but is {shown(padding)}.')
        if isinstance(kernel_size, int | np.integer):
            kernel_size = (kernel_size, kernel_size)
        height, width, channels = _sizes("input_shape", input_shape, 3)
        kernel_height, kernel_width = _sizes("kernel_size", kernel_size, 2)
        self.convolution = Convolution(
            (height, width, channels),
            (kernel_height, kernel_width),
            positive_integer("strides", strides),
            padding,
        )
        if min(self.convolution.output_size) < 1:
            raise ValueError(
                f"A kernel of {kernel_height} x {kernel_width} does not fit into images of "
                f'{height} x {width}. Use padding="same" or a smaller kernel_size.'
            )
        self.output_dim = self.convolution.num_locations * self.filters
        check_posterior(posterior, self.output_shape)
        self.prior = check_prior(prior, self.convolution.kernel_size, self.convolution.num_weights)
        posterior.bind(self.num_weights, self.filters)
        self.posterior = posterior

    @property
    def input_shape(self) -> tuple[int, int, int]:
        """Shape (H, W, C)."""
        return self.convolution.input_shape

    @property
    def input_dim(self) -> int:
        height, width, channels = self.input_shape
        return height * width * channels

    @property
    def output_shape(self) -> tuple[int, int, int]:
        """Shape (H', W', P)."""
        return (*self.convolution.output_size, self.filters)

    @property
    def num_weights(self) -> int:
        """K, the number of weights to each output: the fan-in N of the priors."""
        return self.convolution.num_weights

    @property
    def has_independent_outputs(self) -> bool:
        return self.convolution.num_locations == 1

    def check_inputs(self, *input_shape: int) -> None:
        if input_shape not in (self.input_shape, (self.input_dim,)):
            got = f"{input_shape[0]} columns" if len(input_shape) == 1 else f"{input_shape}"
            raise ValueError(f"The layer has input_shape={self.input_shape}, but gets {got}.")

    def condition(
        self, U: tf.Tensor, num_samples: int | None = None, seed: tf.Tensor | None = None
    ) -> ConditionedConv2DLayer:
        scale = self._scale(num_samples, seed)
        basis = PatchBasis(self.posterior.basis_inputs(U), scale.root, self.convolution)
        q = self.posterior.q(basis, slice(0, self.filters), num_samples)
        return ConditionedConv2DLayer(basis, q, scale)

    def draw_of(self, weights: tf.Tensor) -> LayerFunction:
        return Conv2DDraw(weights, self.convolution, tf.zeros([], weights.dtype))


class PatchBasis(WeightBasis):
    """The basis a(patch) = R^T patch: one function for each weight, pseudo-data at all patches.

    Its rows are patches, [N L, K] or [S, N L, K]; its inputs are images.
    """

    has_small_design = False

    def __init__(self, inputs: tf.Tensor, root: WeightRoot, convolution: Convolution) -> None:
        """Take patches as basis functions; see :class:`WeightBasis`."""
        super().__init__(inputs, root)
        self.convolution = convolution

    @property
    def design(self) -> tf.Tensor:
        return self._units(self.convolution.patches(self.inputs))

    def zero(self, num_outputs: int) -> tf.Tensor:
        samples = tf.shape(self.inputs)[:-2]
        shape = tf.concat([samples, [self.convolution.num_weights, num_outputs]], axis=0)
        return tf.zeros(shape, self.inputs.dtype)

    def moments(self, precision: tf.Tensor, V: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        # The moments of the patches, with R^T a(p) instead of a(p).
        second, first = self.convolution.moments(self.inputs, precision, V)
        return self.root.congruent(second), self.root.transposed_times(first)


class ConditionedConv2DLayer(ConditionedWeights):
    """A convolutional layer, given the inducing activations and its prior's scale."""

    basis: PatchBasis

    def predict(self, X: tf.Tensor, full_cov: bool = False) -> tuple[tf.Tensor, tf.Tensor]:
        patches = self.basis.convolution.patches(X)
        mean, variance = integrate(self.q, self.basis, patches, full_cov)
        N, L = tf.shape(X)[-2], self.basis.convolution.num_locations
        P = mean.shape[-1]
        mean = tf.reshape(mean, tf.concat([tf.shape(mean)[:-2], [N, L * P]], axis=0))
        if not full_cov:
            return mean, tf.reshape(variance, tf.shape(mean))
        samples = tf.shape(variance)[:-3]
        variance = tf.reshape(variance, tf.concat([samples, [P, N, L, N, L]], axis=0))
        variance = tf.einsum("...pnlml->...lpnm", variance)
        return mean, tf.reshape(variance, tf.concat([samples, [L * P, N, N]], axis=0))

    def _function_of(self, weights: tf.Tensor, log_p_minus_log_q: tf.Tensor) -> Conv2DDraw:
        return Conv2DDraw(weights, self.basis.convolution, log_p_minus_log_q)


class Conv2DDraw(LayerFunction):
    """Drawn filters."""

    def __init__(
        self, weights: tf.Tensor, convolution: Convolution, log_p_minus_log_q: tf.Tensor
    ) -> None:
        """Keep the filters.

        :param weights: [K, P] or [S, K, P].
        :param log_p_minus_log_q: [] or [S].
        """
        self.weights = weights
        self._convolution = convolution
        self.log_p_minus_log_q = log_p_minus_log_q

    def __call__(self, X: tf.Tensor) -> tf.Tensor:
        return self._convolution(X, self.weights)


def _sizes(name: str, values: Any, count: int) -> list[int]:
    if not isinstance(values, Sequence) or len(values) != count:
        meant = "(H, W, C)" if count == 3 else "one integer or two"
        raise ValueError(f"{name} must be {meant}, but is {shown(values)}.")
    return [positive_integer(f"{name}[{i}]", value) for i, value in enumerate(values)]
