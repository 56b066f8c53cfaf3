"""Functions drawn from a model's posterior or prior."""

from __future__ import annotations

from typing import Any

import gpflow
import tensorflow as tf
from check_shapes import check_shapes

from .finite import check_outputs


class FunctionDraws:
    """S functions from a model: X [N, D] -> [S, N, P], the same in every call.

    If every layer has features, the functions are known at all inputs as soon as they are drawn
    (``is_pathwise`` is True). They are differentiable in X, as often as the kernels are, can be
    called inside ``tf.function``, and take time that is linear in the rows. Dense layers are drawn
    exactly, by their weights. GP layers are drawn by decoupled sampling (Wilson et al. 2020,
    arXiv:2002.09309), with random features for the prior: squared exponential, Matern, exponential,
    rational quadratic, constant and linear kernels and :class:`~gpflow_gi.kernels.BNNKernel` have
    features; so have their sums, and products of the first five.

    Other kernels, such as periodic, arc-cosine and white ones, and models with a
    :class:`~gpflow_gi.posteriors.Optimal` last layer at global inducing inputs above a local layer,
    use an exact method, eager and not
    differentiable, which conditions on all values returned so far: for each sample, time grows with
    the cube and memory with the square of the number of different rows seen so far.

    Draws of a posterior over all weights of a network are already functions.

    Later training of the model does not change the draws. They can be copied and pickled.
    """

    is_pathwise: bool
    """True if the functions are sums of features; False if they are exact and stored row by row."""

    def __init__(
        self, model: Any, num_samples: int, seed: tf.Tensor, num_features: int | None
    ) -> None:
        """Copy the model; :meth:`gpflow_gi.models.Predictive.sample_functions` makes one.

        :param model: a :class:`gpflow_gi.models.Predictive`.
        :param num_samples: S, the number of functions.
        :param seed: [2].
        :param num_features: F, of each function in each layer; None for the exact route.
        """
        self._model = gpflow.utilities.deepcopy(model)
        self._functions: Any = self._model.functions(num_samples, seed, num_features)
        self.is_pathwise = self._functions.is_pathwise

    @check_shapes("return: [S, N, P]")
    def __call__(self, X: Any) -> tf.Tensor:
        """The functions' values at `X`.

        :param X: [N, D], or images [N, H, W, C].
        :return: [S, N, P], in the units of the last layer's outputs.
        :raises ValueError: if `X` does not fit the model or is not finite.
        :raises RuntimeError: inside ``tf.function``, if the draws are not pathwise.
        """
        X = self._model.check_inputs(X)
        values = self._functions(X)
        check_outputs([X], values)
        return values
