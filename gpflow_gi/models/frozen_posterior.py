"""Draws of the layers below the last, kept for predictions that do not change from call to call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gpflow
import tensorflow as tf
from check_shapes import check_shapes

from ..core.random import RowSeed, fold_in, keys_of
from .classes import check_classes, probabilities
from .finite import check_outputs
from .propagation import Propagated

if TYPE_CHECKING:
    from .deep_gp import DeepGP


class FrozenPosterior:
    """S draws of everything below the last layer, and the last layer integrated.

    The inducing points go through the network once, when the first rows come. From then on every
    factorisation is at hand: a row takes time of S M^2 in each GP layer. What is predicted at a row
    is a function of that row, whatever the batch that it comes in and however often it is asked,
    up to rounding: residuals of GP layers are drawn by a hash of the row
    (:class:`gpflow_gi.core.random.RowSeed`), independently from row to row as in the model's own
    predictions. For draws of whole functions there is
    :meth:`~gpflow_gi.models.DeepGP.sample_functions`.

    It is of the model as it was when it was made; later training does not change it. It can be used
    inside ``tf.function``, where all rows of a call are taken at once; elsewhere they are taken in
    chunks of bounded memory.
    """

    def __init__(self, model: DeepGP, num_samples: int, seed: tf.Tensor) -> None:
        """Copy the model; :meth:`gpflow_gi.models.DeepGP.posterior` is how to make one.

        :param model: what it is of.
        :param num_samples: S, the number of draws.
        :param seed: [2].
        """
        self._model = gpflow.utilities.deepcopy(model)
        self._num_samples = num_samples
        self._seed = seed
        self._propagated: Propagated | None = None

    @check_shapes("return[0]: [N, P]", "return[1]: [N, P]")
    def predict_f(self, X: Any) -> tuple[tf.Tensor, tf.Tensor]:
        """Mean and variance of f, as moments of the mixture over S samples.

        :param X: [N, D], or images [N, H, W, C].
        :return: two of [N, P], in the units of the last layer's outputs and their square.
        :raises ValueError: if `X` does not fit the model or is not finite.
        """
        return self._moments(X, self._model.moments_of_f)

    @check_shapes("return[0]: [N, Q]", "return[1]: [N, Q]")
    def predict_y(self, X: Any) -> tuple[tf.Tensor, tf.Tensor]:
        """Mean and variance of new targets, as moments of the mixture over S samples.

        :param X: [N, D], or images [N, H, W, C].
        :return: two of [N, Q], in the units of the targets and their square.
        :raises ValueError: if `X` does not fit the model or is not finite.
        """
        return self._moments(X, self._model.moments_of_y)

    @check_shapes("return: [N, C]")
    def predict_proba(self, X: Any) -> tf.Tensor:
        """The predictive probability of each class, a mean over S samples.

        :param X: [N, D], or images [N, H, W, C].
        :return: [N, C]; of a Bernoulli likelihood C is 2, for the labels 0 and 1.
        :raises ValueError: if `X` does not fit the model or is not finite, or if the likelihood is
            none over classes.
        """
        check_classes(self._model.likelihood, self._model.layers[-1].output_dim)
        mean, _ = self.predict_y(X)
        return probabilities(self._model.likelihood, mean)

    @check_shapes("return: [N]")
    def predict_log_density(self, data: tuple[Any, Any]) -> tf.Tensor:
        """Log of the predictive mixture's density at the targets.

        :param data: X [N, D], or images [N, H, W, C], and Y [N, Q].
        :return: [N], in nats.
        :raises ValueError: if the data do not fit the model or are not finite.
        """
        X, Y = self._model.check_data(data)
        (density,) = self._predict([X, Y], self._model.log_density_of_y)
        check_outputs([X, Y], density, what="The log density")
        return density

    def _moments(self, X: Any, moments: Any) -> tuple[tf.Tensor, tf.Tensor]:
        X = self._model.check_inputs(X)
        mean, variance = self._predict([X], moments)
        check_outputs([X], mean, variance)
        return mean, variance

    def _predict(self, rows: list[tf.Tensor], reduce: Any) -> Any:
        if self._propagated is None:
            with tf.init_scope():  # once and for all, also where a function is being traced
                self._propagated = self._start(rows[0].shape[-1])
        seed = fold_in(self._seed, 1)
        return self._model.predict_rows(
            self._propagated,
            rows,
            self._num_samples,
            lambda i, X: RowSeed(seed, keys_of(X)),
            reduce,
            # TensorFlow has no gradient of a loop over what was computed outside of the graph.
            at_once=not tf.executing_eagerly(),
        )

    def _start(self, input_dim: int) -> Propagated:
        row = tf.zeros([1, input_dim], gpflow.default_float())
        propagated = self._model.propagate(row, self._num_samples, fold_in(self._seed, 0))
        # Factorisations are made when they are first needed. That must not be inside a graph.
        propagated.predict(row, fold_in(self._seed, 1))
        return propagated
