"""Augmentation of images: random mirroring and shifts."""

from typing import Any

import tensorflow as tf
from check_shapes import check_shapes

from ..core.random import Seed, as_seed, split
from ..core.validation import finite_tensor, non_negative_integer, true_or_false


@check_shapes("return: [batch, height, width, channels]")
def augmented(images: Any, seed: Seed, *, flip: bool = True, padding: int = 4) -> tf.Tensor:
    """Mirror and shift each image at random.

    An image is mirrored left to right with probability 1/2, padded with zeros, and cropped to its
    own size at a uniformly random place: He, Zhang, Ren & Sun, "Deep residual learning for image
    recognition", CVPR 2016, section 4.2.

    :func:`gpflow_gi.fit` applies it to the rows of every step::

        augment = functools.partial(augmented, flip=False, padding=1)
        fit(model, (X, Y), steps=5000, batch_size=100, augment=augment)

    It is a function of images and seed alone, in TensorFlow operations, so it can also be used in
    ``tf.data.Dataset.map``, for other training loops::

        batches = tf.data.Dataset.from_tensor_slices((X, Y)).shuffle(len(X)).batch(100).repeat()
        batches = batches.enumerate().map(lambda i, XY: (augmented(XY[0], i), XY[1]))

    :param images: [B, H, W, C], of any numeric type.
    :param seed: seed of the draws: an integer or a pair of integers; use another for every batch.
    :param flip: True to mirror images; mirrored digits are wrong, for example.
    :param padding: the largest shift in each direction, in pixels.
    :return: [B, H, W, C], of the same type.
    :raises ValueError: if `images` have another rank or are known to hold NaN or infinity, if
        `padding` is not a whole number of at least zero, or if `seed` is not a seed.
    :raises TypeError: if `flip` is neither True nor False.
    """
    images = finite_tensor("images", images, of_its_type=True)
    if images.shape.rank != 4:
        raise ValueError(
            "images must have shape [images, height, width, channels], but have shape "
            f"{images.shape}."
        )
    padding = non_negative_integer("padding", padding)
    flip = true_or_false("flip", flip)
    of_flip, of_shift = split(as_seed(seed), 2)
    batch, height, width, _ = tf.unstack(tf.shape(images))
    if flip:
        is_flipped = tf.random.stateless_uniform([batch, 1, 1, 1], of_flip) < 0.5
        images = tf.where(is_flipped, tf.reverse(images, axis=[2]), images)
    if padding:
        framed = tf.pad(images, [[0, 0], [padding, padding], [padding, padding], [0, 0]])
        corners = tf.random.stateless_uniform(
            [2, batch, 1], of_shift, maxval=2 * padding + 1, dtype=tf.int32
        )
        rows, columns = corners[0] + tf.range(height), corners[1] + tf.range(width)
        images = tf.gather(
            tf.gather(framed, rows, axis=1, batch_dims=1), columns, axis=2, batch_dims=1
        )
    return images
