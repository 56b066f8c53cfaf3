"""Models of this library in Trieste's Bayesian optimisation."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

import gpflow
import tensorflow as tf
from check_shapes import check_shapes

from ..core.noise import constant_variance
from ..core.random import Seed, as_seed, fold_in
from ..core.validation import positive_integer, shown
from ..models import Predictive, prediction
from ..models.predictive import DEFAULT_FEATURES, DEFAULT_PREDICTION_SAMPLES
from ..training import ConvergenceWarning, FitRecord, fit
from .trieste_samplers import (
    FunctionSampler,
    RepeatableSampler,
    equal_noise,
    jointly_in_batches,
    rows_of,
    split_batches,
)


def as_trieste_model(
    model: Predictive,
    *,
    steps: int = 500,
    num_samples: int = DEFAULT_PREDICTION_SAMPLES,
    num_features: int | None = DEFAULT_FEATURES,
    seed: Seed = 0,
    **options: Any,
) -> TriesteModel:
    """A model for Trieste's ``BayesianOptimizer`` around `model`, which is trained in place.

    With rows X, Y, an observer and a box of Trieste's::

        model = gi.architectures.build_deep_gp(X, Y)
        optimizer = trieste.bayesian_optimizer.BayesianOptimizer(observer, box)
        optimizer.optimize(20, trieste.data.Dataset(X, Y), as_trieste_model(model))

    For several objectives, put such models in one of Trieste's stacks, for example
    ``TrainablePredictJointReparamModelStack((first, 1), (second, 1))``.

    Trieste needs TensorFlow below 2.19, and so an environment of its own.

    :param model: a :class:`~gpflow_gi.models.Predictive` without free latent variables of rows: in
        an optimisation rows are added.
    :param steps: number of training steps of each ``optimize``, which goes on from the present
        parameters.
    :param num_samples: S of predictions.
    :param num_features: F of drawn functions; see
        :meth:`~gpflow_gi.models.Predictive.sample_functions`.
    :param seed: of predictions, drawn functions and training: an integer or a pair of integers.
    :param options: further arguments of :func:`gpflow_gi.fit`, such as `learning_rate`.
    :return: the model, with Trieste's protocols.
    :raises ImportError: if Trieste is not installed.
    :raises TypeError: if `model` is none of this library.
    :raises ValueError: if a number is not positive, `seed` is not a seed, or the posterior is
        one of a fixed number of rows.
    """
    _import_trieste()
    if not isinstance(model, Predictive):
        raise TypeError(
            "model must be one of this library's, as gpflow_gi.models.DeepGP is, but is "
            f"{shown(model)}."
        )
    _check_takes_more_rows(model)
    if getattr(options.get("objective"), "weights", None) is not None:
        raise ValueError(
            "The objective has weights of a fixed number of rows, but an optimisation adds rows: "
            "give an objective without weights."
        )
    if num_features is not None:
        num_features = positive_integer("num_features", num_features)
    return TriesteModel(
        model,
        positive_integer("steps", steps),
        positive_integer("num_samples", num_samples),
        num_features,
        as_seed(seed),
        options,
    )


def _import_trieste() -> Any:
    try:
        import trieste
    except ModuleNotFoundError as error:
        if error.name != "trieste":
            raise
        raise ImportError(
            "A model for Trieste needs Trieste, which is not installed. It needs TensorFlow below "
            "2.19: install it in an environment of its own, with: pip install 'gpflow-gi[trieste]'"
        ) from None
    return trieste


def _check_takes_more_rows(model: Any) -> None:
    for i, layer in enumerate(getattr(model, "layers", ()), start=1):
        for part in (layer, getattr(layer, "posterior", None)):
            name = type(part).__name__
            if name == "Optimal" or getattr(part, "num_data", None) is not None:
                raise ValueError(
                    f"Layer {i} ({name}) has a posterior for a fixed number of rows, but an "
                    "optimisation adds rows. Use an encoder, or another posterior."
                )


class TriesteModel:
    """A model with Trieste's protocols; :func:`as_trieste_model` makes one.

    They are ``TrainableProbabilisticModel``, ``SupportsPredictJoint``, ``SupportsPredictY``,
    ``SupportsGetObservationNoise``, ``HasTrajectorySampler`` and ``HasReparamSampler``. Moments are
    those of the mixture over S samples. The seed of predictions is fixed, and the noise of hidden
    layers is equal for all rows of a sample: a prediction is a smooth function of the row, whatever
    its batch, which acquisition functions and their gradients need. Inside ``tf.function`` it
    follows the parameters, as training changes them.

    ``copy.deepcopy`` makes an independent copy; an optimizer of your own starts anew in it.

    Shapes: as Trieste's, ``...`` any batch, D inputs, L outputs.
    """

    def __init__(
        self,
        model: Predictive,
        steps: int,
        num_samples: int,
        num_features: int | None,
        seed: tf.Tensor,
        options: dict[str, Any],
    ) -> None:
        self.model = model
        self.record: FitRecord | None = None
        """Of the last ``optimize``."""
        self._steps = steps
        self._num_samples = num_samples
        self._num_features = num_features
        self._seed = seed
        self._options = options
        self._num_calls = 0

    def __repr__(self) -> str:
        return f"TriesteModel({type(self.model).__name__}, num_data={self.model.num_data})"

    def __deepcopy__(self, memo: dict[int, Any]) -> TriesteModel:
        other = copy.copy(self)
        memo[id(self)] = other
        other.model = gpflow.utilities.deepcopy(self.model, memo)
        other._options = dict(self._options)
        objective = self._options.get("objective")
        if objective is not None:  # it may have parameters of its own
            other._options["objective"] = gpflow.utilities.deepcopy(objective, memo)
        optimizer: Any = self._options.get("optimizer")
        if hasattr(optimizer, "get_config"):
            # Its state is of the variables of the other model: the copy starts without.
            other._options["optimizer"] = type(optimizer).from_config(optimizer.get_config())
        return other

    # -------------------------------------------------------------------------------- prediction

    @tf.autograph.experimental.do_not_convert
    @check_shapes(
        "query_points: [batch..., D]", "return[0]: [batch..., L]", "return[1]: [batch..., L]"
    )
    def predict(self, query_points: Any) -> tuple[tf.Tensor, tf.Tensor]:
        """Mean and variance of f, as moments of the mixture.

        :param query_points: [..., D].
        :return: two of [..., L].
        """
        return self._moments(prediction.moments_of_f, query_points)

    @tf.autograph.experimental.do_not_convert
    @check_shapes(
        "query_points: [batch..., D]", "return[0]: [batch..., Q]", "return[1]: [batch..., Q]"
    )
    def predict_y(self, query_points: Any) -> tuple[tf.Tensor, tf.Tensor]:
        """Mean and variance of new observations, as moments of the mixture.

        :param query_points: [..., D].
        :return: two of [..., Q].
        """
        return self._moments(prediction.moments_of_y, query_points)

    @tf.autograph.experimental.do_not_convert
    @check_shapes(
        "query_points: [batch..., B, D]",
        "return[0]: [batch..., B, L]",
        "return[1]: [batch..., L, B, B]",
    )
    def predict_joint(self, query_points: Any) -> tuple[tf.Tensor, tf.Tensor]:
        """Mean and covariance between the B rows of each batch, as moments of the mixture.

        :param query_points: [..., B, D].
        :return: the mean, [..., B, L], and the covariance, [..., L, B, B].
        """
        return jointly_in_batches(self.model, query_points, self._num_samples, self._seed)

    @tf.autograph.experimental.do_not_convert
    @check_shapes("query_points: [batch..., N, D]", "return: [batch..., S, N, L]")
    def sample(self, query_points: Any, num_samples: int) -> tf.Tensor:
        """Values of S functions drawn from the posterior; all batches share them.

        :param query_points: [..., N, D].
        :param num_samples: the number of functions, S.
        :return: [..., S, N, L].
        """
        X = rows_of(query_points)
        if tf.executing_eagerly():
            values = self.draw_functions(num_samples)(X)
        else:
            values = self.model.predict_f_samples(X, num_samples, seed=self._new_seed())
        return split_batches(values, tf.shape(query_points)[:-2], tf.shape(query_points)[-2])

    def get_observation_noise(self) -> tf.Tensor:
        """The variance of Gaussian noise, [].

        :raises NotImplementedError: if the likelihood is another, or if its noise is a function of
            the inputs or differs between outputs.
        """
        likelihood = self.model.likelihood
        variance = constant_variance(likelihood)
        if variance is None or variance.shape.num_elements() != 1:
            raise NotImplementedError(
                "There is one observation noise for a Gaussian likelihood whose variance is one "
                f"number, not for this {type(likelihood).__name__}."
            )
        return tf.reshape(variance, [])

    def trajectory_sampler(self) -> FunctionSampler:
        """A sampler of functions from the posterior, for Thompson sampling."""
        return FunctionSampler(self)

    def reparam_sampler(self, num_samples: int) -> RepeatableSampler:
        """A sampler of values that are the same in every call, for Monte Carlo acquisition.

        :param num_samples: the number of samples, S.
        """
        return RepeatableSampler(num_samples, self)

    def draw_functions(self, num_samples: int) -> Callable[[Any], tf.Tensor]:
        """Draw functions, other ones in each call.

        :param num_samples: the number of functions, S.
        :return: a :class:`~gpflow_gi.models.FunctionDraws`.
        """
        return self.model.sample_functions(
            num_samples, self._new_seed(), num_features=self._num_features
        )

    # ---------------------------------------------------------------------------------- training

    def update(self, dataset: Any) -> None:
        """Prepare the model for all rows so far, without training.

        :param dataset: Trieste's ``Dataset`` with query points [N, D] and observations [N, Q].
        :raises ValueError: if they do not fit the model.
        """
        X, _ = self.model.check_data((dataset.query_points, dataset.observations))
        self.model.num_data = int(X.shape[0])

    def optimize(self, dataset: Any) -> FitRecord:
        """Train the model by :func:`gpflow_gi.fit`, from its present parameters.

        :param dataset: Trieste's ``Dataset`` with query points [N, D] and observations [N, Q].
        :return: the record of the run.
        :raises ValueError: if the data do not fit the model.
        """
        self.update(dataset)
        options = {"steps": self._steps, "progress": False, "seed": self._new_seed().numpy()}
        with warnings.catch_warnings():
            # The next call goes on from where this one ends; the record says the same.
            warnings.simplefilter("ignore", ConvergenceWarning)
            data = (dataset.query_points, dataset.observations)
            self.record = fit(self.model, data, **{**options, **self._options})
        return self.record

    def log(self, dataset: Any = None) -> None:
        """Write the objective after training to Trieste's TensorBoard summary, if there is one."""
        logging = _import_trieste().logging
        writer = logging.get_tensorboard_writer()
        if writer and self.record is not None:
            last = self.record.reports[-1]
            with writer.as_default(step=logging.get_step_number()):
                logging.scalar(last.name, last.objective)

    # ------------------------------------------------------------------------------------ inside

    def _new_seed(self) -> tf.Tensor:
        self._num_calls += 1
        return fold_in(self._seed, self._num_calls)

    def _moments(self, reduce: prediction.Reduce, points: Any) -> tuple[tf.Tensor, tf.Tensor]:
        X = self.model.check_inputs(rows_of(points))
        draws = self.model.draw_for(X, self._num_samples, self._seed)
        mean, variance = prediction.predict_rows(
            draws,
            self.model.likelihood,
            [X],
            reduce,
            lambda i, rows: equal_noise(fold_in(self._seed, 1), rows),
            self.model.numbers_per_row(self._num_samples),
        )
        shape = tf.concat([tf.shape(points)[:-1], tf.shape(mean)[-1:]], axis=0)
        return tf.reshape(mean, shape), tf.reshape(variance, shape)
