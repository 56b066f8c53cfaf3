"""Convolutions as linear maps of patches, and the moments of patches without the patches.

A convolution's output at a location is a linear map of the patch of the image there: with a(p) the
patch at location p, a row of K = height * width * C numbers (the kernel's places and the channels,
channels fastest, as in TensorFlow's filters), it is a(p)^T w. Regression on outputs at all
locations of all images needs two moments of the patches,

    sum_p lambda(p) a(p) a(p)^T    and    sum_p lambda(p) a(p) v(p)^T

(Ober & Aitchison 2021, section 2.2). Both are gradients of convolutions with respect to their
filters, the first one of the image with itself: patches, K / C times the numbers of the image, are
not formed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import tensorflow as tf
from check_shapes import check_shapes

from .once_only import Gradient, once_only

Padding: TypeAlias = Literal["same", "valid"]


@dataclass(frozen=True)
class Convolution:
    """The geometry of a convolution, and what is linear in its patches.

    Images travel as rows: an image of height H, width W and C channels is a row of H W C numbers,
    and its L = H' W' outputs to each of P filters are one of L P. Batches have an axis of images
    and in front of it, once something was sampled, one of samples.
    """

    input_shape: tuple[int, int, int]
    """(H, W, C)."""

    kernel_size: tuple[int, int]
    """Height and width."""

    stride: int
    """Of both dimensions."""

    padding: Padding
    """TensorFlow's: with zeros so that a stride of one keeps the image's size, or without."""

    @property
    def num_weights(self) -> int:
        """K, of one filter."""
        return int(np.prod(self.kernel_size)) * self.input_shape[2]

    @property
    def output_size(self) -> tuple[int, int]:
        """(H', W'); zero or less where a kernel does not fit into the image."""
        (height, _), (width, _) = self._along(0), self._along(1)
        return height, width

    @property
    def num_locations(self) -> int:
        """L."""
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
            values = self._convolve(self._padded(X), weights)
            return tf.reshape(values, tf.concat([tf.shape(X)[:-1], [self.num_locations * P]], 0))
        if X.shape.rank == 3:
            each = lambda one: self._convolve(self._padded(one[0]), one[1])  # noqa: E731
            values = tf.map_fn(each, (X, weights), fn_output_signature=X.dtype)
            N = tf.shape(X)[1]
        else:
            # One convolution with the filters of all samples.
            S, N = tf.shape(weights)[0], tf.shape(X)[0]
            filters = tf.reshape(tf.transpose(weights, [1, 0, 2]), [self.num_weights, S * P])
            values = self._convolve(self._padded(X), filters)
            values = tf.reshape(values, [N, self.num_locations, S, P])
            values = tf.transpose(values, [2, 0, 1, 3])
        return tf.reshape(values, [tf.shape(weights)[0], N, self.num_locations * P])

    @check_shapes("X: [batch..., N, D]", "return: [batch..., NL, K]")
    def patches(self, X: tf.Tensor) -> tf.Tensor:
        """The patches themselves, location by location: K / C times the numbers of `X`.

        :param X: [N, D] or [S, N, D].
        :return: [N L, K] or [S, N L, K].
        """
        images = self._padded(X)
        patches = tf.concat([self._window(images, *place) for place in self._places], axis=-1)
        rows = tf.shape(X)[-2] * self.num_locations
        return tf.reshape(patches, tf.concat([tf.shape(X)[:-2], [rows, self.num_weights]], 0))

    @check_shapes("X: [batch..., M, D]", "precision: [M, ...]", "return: [batch..., K, K]")
    def second_moment(self, X: tf.Tensor, precision: tf.Tensor) -> tf.Tensor:
        """sum_p lambda(p) a(p) a(p)^T over all locations of all images.

        :param X: [M, D] or [S, M, D].
        :param precision: lambda, one for each image [M], or for each location [M, H', W'].
        :return: [K, K] or [S, K, K].
        """
        precision = self._over_locations(precision)

        def moment(X: tf.Tensor) -> tf.Tensor:
            return self._autocorrelation(self._padded(X), precision)

        return _for_each_sample(moment, X)

    @check_shapes(
        "X: [batch..., M, D]",
        "precision: [M, ...]",
        "V: [M, height, width, P]",
        "return: [batch..., K, P]",
    )
    def first_moment(self, X: tf.Tensor, precision: tf.Tensor, V: tf.Tensor) -> tf.Tensor:
        """sum_p lambda(p) a(p) v(p)^T over all locations of all images.

        :param X: [M, D] or [S, M, D].
        :param precision: as in :meth:`second_moment`.
        :param V: [M, H', W', P].
        :return: [K, P] or [S, K, P].
        """
        weighted = self._over_locations(precision) * V

        def moment(X: tf.Tensor) -> tf.Tensor:
            moment = self._correlate(self._padded(X), weighted)
            return tf.reshape(moment, [self.num_weights, V.shape[-1]])

        return _for_each_sample(moment, X)

    def _autocorrelation(self, images: tf.Tensor, precision: tf.Tensor) -> tf.Tensor:
        """:meth:`second_moment` of padded images, for lambda of [M, H', W', 1]."""
        (height, width), C = self.kernel_size, self.input_shape[2]
        # Rows of the kernel count as blocks: those on and below the diagonal are computed, and
        # those below are reflected.
        block = np.arange(self.num_weights) // (width * C)
        below = tf.constant(block[:, None] > block[None, :], images.dtype)

        @tf.custom_gradient
        def autocorrelation(images: tf.Tensor, precision: tf.Tensor) -> tuple[tf.Tensor, Gradient]:
            columns: list[tf.Tensor] = []
            for row, column in self._places:
                with tf.control_dependencies(columns[-1:]):  # one window in memory at a time
                    window = precision * self._window(images, row, column)
                    column = self._correlate(images[:, row:], window, height - row)
                    column = tf.reshape(column, [(height - row) * width * C, C])
                    columns.append(tf.pad(column, [[row * width * C, 0], [0, 0]]))
            lower = tf.concat(columns, axis=1)
            moment = lower + tf.linalg.matrix_transpose(below * lower)

            def gradient(d: tf.Tensor) -> tuple[tf.Tensor, ...]:
                # With D = d + d^T:  da(p) = lambda(p) D a(p),  dlambda(p) = 1/2 a(p)^T D a(p).
                filters = tf.split(d + tf.linalg.matrix_transpose(d), len(self._places), axis=1)
                d_images, d_precision = tf.zeros_like(images), tf.zeros_like(precision)
                for place, D in zip(self._places, filters, strict=True):
                    with tf.control_dependencies([d_images]):
                        Da = self._convolve(images, D)
                        window = self._window(images, *place)
                        d_precision += 0.5 * tf.reduce_sum(window * Da, axis=-1, keepdims=True)
                        d_images += self._placed(precision * Da, tf.shape(images), *place)
                return once_only((d_images, d_precision), images, precision)

            return moment, gradient

        return autocorrelation(images, precision)

    def _along(self, axis: int) -> tuple[int, tuple[int, int]]:
        """The number of locations along an axis, and the zeros before and after."""
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
        """Of the kernel, row by row."""
        height, width = self.kernel_size
        return [(row, column) for row in range(height) for column in range(width)]

    def _last(self, row: int, column: int) -> tuple[int, int]:
        """One more than the row and column of the padded image that a place reaches last."""
        height, width = self.output_size
        return row + (height - 1) * self.stride + 1, column + (width - 1) * self.stride + 1

    def _window(self, images: tf.Tensor, row: int, column: int) -> tf.Tensor:
        """What one place of the kernel sees at all locations, [..., H', W', C]."""
        end_row, end_column = self._last(row, column)
        return images[..., row : end_row : self.stride, column : end_column : self.stride, :]

    def _placed(self, window: tf.Tensor, shape: tf.Tensor, row: int, column: int) -> tf.Tensor:
        """The transpose of :meth:`_window`: zeros of `shape` but for the window."""
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

    def _convolve(self, images: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
        """Padded images [..., H, W, C] and filters [K, P] -> [N, H', W', P], of all images."""
        images = tf.reshape(images, tf.concat([[-1], tf.shape(images)[-3:]], axis=0))
        filters = tf.reshape(weights, [*self.kernel_size, self.input_shape[2], weights.shape[-1]])
        return tf.nn.conv2d(images, filters, self.stride, "VALID")

    def _correlate(
        self, images: tf.Tensor, outputs: tf.Tensor, height: int | None = None
    ) -> tf.Tensor:
        """The gradient of sum(outputs * conv(images, filter)) with respect to the filter.

        :param images: padded, [M, H, W, C]. :param outputs: [M, H', W', P].
        :param height: of the kernel, if it is another than the convolution's.
        :return: [height, width, C, P].
        """
        size = [height or self.kernel_size[0], self.kernel_size[1], self.input_shape[2]]
        return tf.raw_ops.Conv2DBackpropFilter(
            input=images,
            filter_sizes=[*size, outputs.shape[-1]],
            out_backprop=outputs,
            strides=[1, self.stride, self.stride, 1],
            padding="VALID",
        )

    def _over_locations(self, precision: tf.Tensor) -> tf.Tensor:
        """[M] or [M, H', W'] -> [M, H', W', 1]"""
        if precision.shape.rank == 1:
            precision = precision[:, None, None]
        shape = tf.concat([tf.shape(precision)[:1], self.output_size], axis=0)
        return tf.broadcast_to(precision, shape)[..., None]


def _for_each_sample(moment, X: tf.Tensor) -> tf.Tensor:  # type: ignore[no-untyped-def]
    return moment(X) if X.shape.rank == 2 else tf.map_fn(moment, X)
