"""Draws that are kept, so that predictions do not change between calls."""

from __future__ import annotations

from typing import Any

import gpflow
import tensorflow as tf
from check_shapes import check_shapes

from ..core import compiled
from ..core.random import RowSeed, fold_in, keys_of
from ..core.validation import data_pair
from . import prediction
from .classes import check_classes, probabilities
from .draws import Draws
from .finite import check_outputs


class FrozenPosterior:
    """S draws of a model; of a chain of layers, draws of all but the last, which is integrated.

    They are made once, in the first call. Later calls reuse every factorisation: a row takes time
    of S M^2 in each GP layer. The prediction at a row is a function of that row, up to rounding,
    whatever its batch and however often it is computed: residuals of GP layers come from a hash of
    the row (:class:`gpflow_gi.core.random.RowSeed`), independent between rows as in the model's own
    predictions. For draws of whole functions use
    :meth:`~gpflow_gi.models.Predictive.sample_functions`.

    Later training of the model does not change it. It can be used inside ``tf.function``, where all
    rows of a call are computed at once; elsewhere they are computed in chunks of bounded memory.
    """

    def __init__(self, model: Any, num_samples: int, seed: tf.Tensor) -> None:
        """Copy the model; use :meth:`gpflow_gi.models.Predictive.posterior` instead.

        :param model: a :class:`gpflow_gi.models.Predictive`.
        :param num_samples: S, the number of draws.
        :param seed: [2].
        """
        self._model = gpflow.utilities.deepcopy(model)
        self._num_samples = num_samples
        self._seed = seed
        self._draws: Draws | None = None

    @check_shapes("return[0]: [N, P]", "return[1]: [N, P]")
    def predict_f(self, X: Any) -> tuple[tf.Tensor, tf.Tensor]:
        """Mean and variance of f, as moments of the mixture over S samples.

        :param X: [N, D], or images [N, H, W, C].
        :return: two of [N, P], in the units of f and their square.
        :raises ValueError: if `X` does not fit the model or is not finite.
        """
        return self._predict(prediction.moments_of_f, X)

    @check_shapes("return[0]: [N, Q]", "return[1]: [N, Q]")
    def predict_y(self, X: Any) -> tuple[tf.Tensor, tf.Tensor]:
        """Mean and variance of new targets, as moments of the mixture over S samples.

        :param X: [N, D], or images [N, H, W, C].
        :return: two of [N, Q], in the units of the targets and their square.
        :raises ValueError: if `X` does not fit the model or is not finite.
        """
        return self._predict(prediction.moments_of_y, X)

    @check_shapes("return[0]: [S, N, P]", "return[1]: [S, N, P]")
    def predict_f_components(self, X: Any) -> tuple[tf.Tensor, tf.Tensor]:
        """Mean and variance of f for each draw: see :class:`Predictive`'s.

        :param X: [N, D], or images [N, H, W, C].
        :return: two of [S, N, P], in the units of f and their square.
        :raises ValueError: if `X` does not fit the model or is not finite.
        """
        components = self._predict(prediction.components_of_f, X)
        return prediction.by_sample(components, self._num_samples)

    @check_shapes("return[0]: [S, N, Q]", "return[1]: [S, N, Q]")
    def predict_y_components(self, X: Any) -> tuple[tf.Tensor, tf.Tensor]:
        """Mean and variance of new targets for each draw: see :class:`Predictive`'s.

        :param X: [N, D], or images [N, H, W, C].
        :return: two of [S, N, Q], in the units of the targets and their square.
        :raises ValueError: if `X` does not fit the model or is not finite.
        """
        components = self._predict(prediction.components_of_y, X)
        return prediction.by_sample(components, self._num_samples)

    @check_shapes("return: [N, C]")
    def predict_proba(self, X: Any) -> tf.Tensor:
        """The predictive probability of each class, a mean over S samples.

        :param X: [N, D], or images [N, H, W, C].
        :return: [N, C]; for a Bernoulli likelihood C is 2, for the labels 0 and 1.
        :raises ValueError: if `X` does not fit the model or is not finite, or if the likelihood is
            not one over classes.
        """
        check_classes(self._model.likelihood, self._model.output_dim)
        mean, _ = self.predict_y(X)
        return probabilities(self._model.likelihood, mean)

    @check_shapes("return: [N]")
    def predict_log_density(self, data: tuple[Any, Any]) -> tf.Tensor:
        """Log of the predictive mixture's density at the targets.

        :param data: X [N, D], or images [N, H, W, C], and Y [N, Q].
        :return: [N], in nats.
        :raises ValueError: if the data do not fit the model or are not finite.
        """
        (density,) = self._predict(prediction.log_density_for(self._model), *data_pair(data))
        return density

    def _predict(self, reduce: prediction.Reduce, *rows: Any) -> Any:
        model = self._model
        checked = [model.check_inputs(*rows)] if len(rows) == 1 else list(model.check_data(rows))
        if self._draws is None:
            with tf.init_scope():  # once, also while a function is being traced
                self._draws = self._start(checked[0].shape[-1])
        # TensorFlow has no gradient of a loop over values computed outside of the graph.
        numbers = model.numbers_per_row(self._num_samples) if tf.executing_eagerly() else None

        def predict(posterior: FrozenPosterior, *rows: tf.Tensor) -> Any:
            draws, seed = posterior._draws, fold_in(posterior._seed, 1)
            assert draws is not None, "made above"
            return prediction.predict_rows(
                draws,
                posterior._model.likelihood,
                list(rows),
                reduce,
                lambda i, X: RowSeed(seed, keys_of(X)),
                numbers,
            )

        values = compiled.call(self, reduce.__name__, predict, checked, module=model)
        what = "The prediction" if len(rows) == 1 else "The log density"
        check_outputs(
            checked, *prediction.finite_values(model.likelihood, reduce, values), what=what
        )
        return values

    def _start(self, input_dim: int) -> Draws:
        row = tf.zeros([1, input_dim], gpflow.default_float())
        draws = self._model.draw_for(row, self._num_samples, self._seed)
        draws.settle(input_dim)
        return draws
