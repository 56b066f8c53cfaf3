"""Convolutions as linear maps of patches, and moments of patches computed without the patches.

A convolution's output at a location is a linear map of the patch of the image there. With a(p) the
patch at location p, a row of K = height * width * C numbers (places of the kernel and channels;
channels vary fastest, as in TensorFlow's filters), the output is a(p)^T w. Regression on outputs at
all locations of all images needs two moments of the patches,

    sum_p lambda(p) a(p) a(p)^T    and    sum_p lambda(p) a(p) v(p)^T

(Ober & Aitchison 2021, section 2.2). Both are gradients of convolutions with respect to their
filters; the first is that of the image convolved with itself. The patches, which have K / C times
as many numbers as the image, are never formed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Literal, TypeAlias

import numpy as np
import tensorflow as tf
from check_shapes import check_shapes

from .linalg import Gradient, once_only

Padding: TypeAlias = Literal["same", "valid"]

_MANY = 20
"""Smallest number of samples for which compiling the loop of an eager call pays."""


@dataclass(frozen=True)
class Convolution:
    """The geometry of a convolution, and linear functions of its patches.

    Images are stored as rows: an image of height H, width W and C channels is a row of H W C
    numbers, and its L = H' W' outputs to each of P filters are a row of L P numbers. Batches have
    an axis of images and, in front of it, an axis of samples if something was sampled.
    """

    input_shape: tuple[int, int, int]
    """Height, width and channels (H, W, C)."""

    kernel_size: tuple[int, int]
    """Height and width."""

    stride: int
    """Stride along both dimensions."""

    padding: Padding
    """Padding: "same" adds zeros to keep the image size at stride 1; "valid" adds none."""

    @property
    def num_weights(self) -> int:
        """K, the number of weights of one filter."""
        return math.prod(self.kernel_size) * self.input_shape[2]

    @property
    def output_size(self) -> tuple[int, int]:
        """(H', W'); zero or less if the kernel does not fit into the image."""
        (height, _), (width, _) = self._along(0), self._along(1)
        return height, width

    @property
    def num_locations(self) -> int:
        """L, the number of positions of the kernel in an image."""
        height, width = self.output_size
        return height * width

    @check_shapes("X: [..., N, D]", "weights: [..., K, P]", "return: [..., N, LP]")
    def __call__(self, X: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
        """The convolution of images with filters.

        :param X: [N, D] or [S, N, D].
        :param weights: [K, P] or [S, K, P].
        :return: [N, L P], or [S, N, L P] if either has a sample axis.
        """
        P = weights.shape[-1]
        if weights.shape.rank == 2:
            values = self._convolved(X, weights)
            return tf.reshape(values, tf.concat([tf.shape(X)[:-1], [self.num_locations * P]], 0))
        if X.shape.rank == 3:
            values = self._loop(Convolution._convolved_samples, X, weights)
            N = tf.shape(X)[1]
        else:
            # One convolution with the filters of all samples together.
            S, N = tf.shape(weights)[0], tf.shape(X)[0]
            filters = tf.reshape(tf.transpose(weights, [1, 0, 2]), [self.num_weights, S * P])
            values = self._convolved(X, filters)
            values = tf.reshape(values, [N, self.num_locations, S, P])
            values = tf.transpose(values, [2, 0, 1, 3])
        return tf.reshape(values, [tf.shape(weights)[0], N, self.num_locations * P])

    @check_shapes("X: [batch..., N, D]", "return: [batch..., NL, K]")
    def patches(self, X: tf.Tensor) -> tf.Tensor:
        """The patches, location by location; they have K / C times as many numbers as `X`.

        :param X: [N, D] or [S, N, D].
        :return: [N L, K] or [S, N L, K].
        """
        images = self._padded(X)
        patches = tf.concat([self._window(images, *place) for place in self._places], axis=-1)
        rows = tf.shape(X)[-2] * self.num_locations
        return tf.reshape(patches, tf.concat([tf.shape(X)[:-2], [rows, self.num_weights]], 0))

    @check_shapes(
        "X: [batch..., M, D]",
        "precision: [M, ...]",
        "V: [M, height, width, P]",
        "return[0]: [batch..., K, K]",
        "return[1]: [batch..., K, P]",
    )
    def moments(
        self, X: tf.Tensor, precision: tf.Tensor, V: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """The sums of lambda(p) a(p) a(p)^T and of lambda(p) a(p) v(p)^T over all patches.

        :param X: [M, D] or [S, M, D].
        :param precision: lambda, one for each image [M], or for each location [M, H', W'].
        :param V: [M, H', W', P].
        :return: [K, K] and [K, P], or [S, K, K] and [S, K, P].
        """
        precision, V = self._over_locations(precision), tf.convert_to_tensor(V)
        if X.shape.rank == 2:
            return self._moments(X, precision, V)
        second, first = self._loop(Convolution._moments_of_samples, X, precision, V)
        return second, first

    def _loop(self, loop: Callable[..., Any], X: tf.Tensor, *arguments: tf.Tensor) -> Any:
        """Call `loop`, which loops over the samples of X [S, N, D].

        In an eager call a long loop is compiled: op by op it takes three times as long.
        """
        if not tf.executing_eagerly() or X.shape[0] < _MANY:
            return loop(self, X, *arguments)
        signature = tuple(
            tf.TensorSpec([None] * (value.shape.rank - 1) + [value.shape[-1]], value.dtype)
            for value in (X, *arguments)
        )
        return _compiled(loop, self, signature)(X, *arguments)

    def _convolved_samples(self, X: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
        """X [S, N, D] and weights [S, K, P] -> [S, N, H', W', P]"""
        return tf.map_fn(
            lambda one: self._convolved(*one), (X, weights), fn_output_signature=X.dtype
        )

    def _moments_of_samples(
        self, X: tf.Tensor, precision: tf.Tensor, V: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """:meth:`_moments` for X of [S, M, D]."""
        second, first = tf.map_fn(
            lambda one: self._moments(one, precision, V),
            X,
            fn_output_signature=(X.dtype, X.dtype),
        )
        return second, first

    def _moments(
        self, X: tf.Tensor, precision: tf.Tensor, V: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """:meth:`moments` for X of [M, D] and lambda of [M, H', W', 1]."""
        (height, width), C, P = self.kernel_size, self.input_shape[2], V.shape[-1]
        # Rows of the kernel give blocks. The blocks on and below the diagonal are computed; those
        # below are mirrored.
        block = np.arange(self.num_weights) // (width * C)
        below = tf.constant(block[:, None] > block[None, :], X.dtype)

        # Only the arguments are kept for the gradient; they are in memory anyway. Arrays as large
        # as the images are made one at a time, which needs control over the order of the work.
        @tf.custom_gradient
        def moments(
            X: tf.Tensor, precision: tf.Tensor, V: tf.Tensor
        ) -> tuple[tuple[tf.Tensor, tf.Tensor], Gradient]:
            images = self._padded(X)
            first = self._correlate(images, precision * V, height)
            columns = [first]
            for row, column in self._places:
                with tf.control_dependencies(columns[-1:]):
                    window = precision * self._window(images, row, column)
                    part = self._correlate(images[:, row:], window, height - row)
                    columns.append(tf.pad(part, [[row * width * C, 0], [0, 0]]))
            lower = tf.concat(columns[1:], axis=1)
            second = lower + tf.linalg.matrix_transpose(below * lower)

            def gradient(d_second: tf.Tensor, d_first: tf.Tensor) -> tuple[tf.Tensor, ...]:
                # With D = d_second + d_second^T and d = d_first:
                #     da(p) = lambda(p) [D a(p) + d v(p)],    dv(p) = lambda(p) d^T a(p),
                #     dlambda(p) = a(p)^T [1/2 D a(p) + d v(p)],
                # for one place of the kernel at a time.
                D = tf.split(d_second + tf.linalg.matrix_transpose(d_second), height * width, 1)
                d = tf.split(d_first, height * width)
                with tf.control_dependencies([d_second, d_first]):
                    images = self._padded(X)
                    d_images, d_precision = tf.zeros_like(images), tf.zeros_like(precision)
                for place, D_place, d_place in zip(self._places, D, d, strict=True):
                    with tf.control_dependencies([d_images, d_precision]):
                        Da = self._convolved(X, D_place)
                        dv = tf.matmul(tf.reshape(V, [-1, P]), d_place, transpose_b=True)
                        dv = tf.reshape(dv, tf.shape(Da))
                        both = (0.5 * Da + dv) * self._window(images, *place)
                        d_precision += tf.reduce_sum(both, axis=-1, keepdims=True)
                        both = precision * (Da + dv)
                        d_images += self._placed(both, tf.shape(images), *place)
                with tf.control_dependencies([d_images, d_precision]):
                    dV = precision * self._convolved(X, d_first)
                dX = tf.reshape(self._cropped(d_images), tf.shape(X))
                return once_only((dX, d_precision, dV), X, precision, V)

            return (second, first), gradient

        second, first = moments(X, precision, V)
        return second, first

    def _along(self, axis: int) -> tuple[int, tuple[int, int]]:
        """The number of locations along an axis, and the number of zeros before and after."""
        size, kernel = self.input_shape[axis], self.kernel_size[axis]
        if self.padding == "valid":
            return (size - kernel) // self.stride + 1, (0, 0)
        locations = -(-size // self.stride)
        zeros = max((locations - 1) * self.stride + kernel - size, 0)
        return locations, (zeros // 2, zeros - zeros // 2)

    def _padded(self, X: tf.Tensor) -> tf.Tensor:
        """Rows [..., N, D] as images with zeros around them, [..., N, H + zeros, W + zeros, C]."""
        images = tf.reshape(X, tf.concat([tf.shape(X)[:-1], self.input_shape], axis=0))
        if self.padding == "valid":
            return images
        rest = [[0, 0]] * (X.shape.rank - 1)
        return tf.pad(images, [*rest, self._along(0)[1], self._along(1)[1], [0, 0]])

    @property
    def _places(self) -> list[tuple[int, int]]:
        """The places of the kernel, row by row."""
        height, width = self.kernel_size
        return [(row, column) for row in range(height) for column in range(width)]

    def _last(self, row: int, column: int) -> tuple[int, int]:
        """One more than the last row and column of the padded image that a place reaches."""
        height, width = self.output_size
        return row + (height - 1) * self.stride + 1, column + (width - 1) * self.stride + 1

    def _window(self, images: tf.Tensor, row: int, column: int) -> tf.Tensor:
        """The pixels that one place of the kernel meets at all locations, [..., H', W', C]."""
        end_row, end_column = self._last(row, column)
        return images[..., row : end_row : self.stride, column : end_column : self.stride, :]

    def _placed(self, window: tf.Tensor, shape: tf.Tensor, row: int, column: int) -> tf.Tensor:
        """The transpose of :meth:`_window`: the window in an array of zeros of this shape."""
        end_row, end_column = self._last(row, column)
        return tf.raw_ops.StridedSliceGrad(
            shape=shape,
            begin=[0, row, column, 0],
            end=[0, end_row, end_column, 0],
            strides=[1, self.stride, self.stride, 1],
            dy=window,
            begin_mask=0b1001,
            end_mask=0b1001,
        )

    def _cropped(self, images: tf.Tensor) -> tf.Tensor:
        """The transpose of :meth:`_padded`: images without the zeros around them."""
        (_, (top, _)), (_, (left, _)) = self._along(0), self._along(1)
        height, width, _ = self.input_shape
        return images[:, top : top + height, left : left + width]

    def _filters(self, weights: tf.Tensor) -> tf.Tensor:
        """Reshape [K, P] -> [height, width, C, P]."""
        return tf.reshape(weights, [*self.kernel_size, self.input_shape[2], -1])

    def _convolved(self, X: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
        """Convolve [..., D] with [K, P] -> [N, H', W', P], with one axis for all images."""
        images = tf.reshape(X, [-1, *self.input_shape])
        return tf.nn.conv2d(images, self._filters(weights), self.stride, self.padding.upper())

    def _correlate(self, images: tf.Tensor, outputs: tf.Tensor, height: int) -> tf.Tensor:
        """The gradient of sum(outputs * conv(images, filter)) with respect to the filter.

        :param images: padded, [M, H, W, C].
        :param outputs: [M, H', W', P].
        :param height: rows of the filter: those of the kernel, or fewer if image rows are left out.
        :return: [height * width * C, P].
        """
        size = [height, self.kernel_size[1], self.input_shape[2]]
        moment = tf.raw_ops.Conv2DBackpropFilter(
            input=images,
            filter_sizes=[*size, outputs.shape[-1]],
            out_backprop=outputs,
            strides=[1, self.stride, self.stride, 1],
            padding="VALID",
        )
        return tf.reshape(moment, [math.prod(size), outputs.shape[-1]])

    def _over_locations(self, precision: tf.Tensor) -> tf.Tensor:
        """Reshape [M] or [M, H', W'] -> [M, H', W', 1]."""
        if precision.shape.rank == 1:
            precision = precision[:, None, None]
        shape = tf.concat([tf.shape(precision)[:1], self.output_size], axis=0)
        return tf.broadcast_to(precision, shape)[..., None]


@lru_cache(maxsize=100)
def _compiled(
    loop: Callable[..., Any], convolution: Convolution, signature: tuple[tf.TensorSpec, ...]
) -> Callable[..., Any]:
    """A compiled loop over any number of samples and of images."""
    compiled: Callable[..., Any] = tf.function(
        partial(loop, convolution), input_signature=signature, autograph=False
    )
    return compiled
