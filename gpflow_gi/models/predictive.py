"""Bounds and predictions of every model that can draw functions from its posterior."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import tensorflow as tf
from check_shapes import check_shapes

from ..core import compiled
from ..core.random import Seed, as_seed, fold_in
from ..core.validation import check_same_rows, data_pair, positive_integer, true_or_false
from ..layers import Deterministic
from . import mixture, prediction
from .bounds import Bounds
from .classes import check_classes, probabilities
from .draws import Draws
from .finite import check_outputs
from .frozen_posterior import FrozenPosterior
from .function_draws import FunctionDraws
from .targets import check_targets

DEFAULT_PREDICTION_SAMPLES = 100
DEFAULT_FEATURES = 500


class Predictive(Bounds):
    """A model with an approximate posterior that can be drawn from; all else is built on draws.

    A subclass defines :meth:`draw`, the inputs that it takes (:meth:`check_inputs`), and the
    attributes ``likelihood``, ``num_data`` and ``num_samples``. Bounds and predictions
    are implemented here, once for all methods.

    Shapes: S samples, N rows, B rows of a minibatch, D inputs, P outputs of f, Q columns of the
    targets. Images, [N, H, W, C] in place of X [N, D], become rows of their D = H W C numbers.

    Every stochastic method takes a `seed`: an integer or a pair of integers, which makes it a
    deterministic function; or None, for new noise in every call.

    Every method raises ValueError if its data do not fit the model or hold NaN or infinity, if
    `num_samples` is not a positive integer, or if `seed` is none of these; also if the result would
    be NaN although the data are finite, as with numbers like 1e200. Inside ``tf.function`` values
    are not known: there NaN gives NaN, as in any TensorFlow code. ``parameters``,
    ``log_prior_density`` and similar attributes are GPflow's.
    """

    @property
    def trainable_variables(self) -> tuple[tf.Variable, ...]:
        """All variables except those set to be fixed, also by ``layer.trainable = False``."""
        frozen = {
            variable.ref()
            for part in self.submodules
            if isinstance(part, Deterministic)
            for variable in part.frozen_variables
        }
        variables = super().trainable_variables
        return tuple(variable for variable in variables if variable.ref() not in frozen)

    @property
    @abstractmethod
    def output_dim(self) -> int:
        """P, the number of outputs of f."""

    @abstractmethod
    def draw(self, num_samples: int, seed: Seed = None, *, joint: bool = False) -> Draws:
        """Draw S functions.

        :param num_samples: the number of samples, S.
        :param seed: see the class. Its stream 0 (and 2, for joint draws) is used here.
        :param joint: True if the rows of a call of the draws belong to one function; otherwise only
            the distribution of each single row is right.
        :return: the functions, with their KL divergence or log p - log q if these exist.
        :raises ValueError: see the class.
        """

    @abstractmethod
    def check_inputs(self, X: Any) -> tf.Tensor:
        """X as a tensor of the model's type, with images as rows.

        :param X: [N, D] or [N, H, W, C].
        :return: [N, D].
        :raises ValueError: if it does not fit, or is known to hold NaN or infinity.
        """

    @property
    def has_correlated_outputs(self) -> bool:
        """True if outputs of f are correlated within a sample, as those of a mixing layer."""
        return False

    @abstractmethod
    def width(self) -> int:
        """Number of numbers per row and sample in the largest array of a prediction."""

    def numbers_per_row(self, num_samples: int) -> int:
        """Number of numbers per row in the largest array of a prediction.

        :param num_samples: the number of samples, S.
        """
        return num_samples * self.width()

    def numbers_per_sample(self, num_rows: int) -> int:
        """Number of numbers in the largest array of one joint draw at this number of rows.

        :param num_rows: the number of rows, N.
        """
        return num_rows * self.width()

    # -------------------------------------------------------------------------------- prediction

    @check_shapes(
        "return[0]: [N, P]",
        "return[1]: [P, N, N] if full_cov",
        "return[1]: [N, P, P] if full_output_cov",
        "return[1]: [N, P] if not full_cov and not full_output_cov",
    )
    def predict_f(
        self,
        X: Any,
        num_samples: int = DEFAULT_PREDICTION_SAMPLES,
        full_cov: bool = False,
        seed: Seed = None,
        *,
        full_output_cov: bool = False,
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Mean and (co)variance of f, as moments of the mixture over S samples.

        :param X: [N, D], or images [N, H, W, C].
        :param num_samples: S, the samples of everything that is not integrated, such as the layers
            below the last.
        :param full_cov: True for the covariance between rows instead of each row's variance. Takes
            memory of S N^2 and time of S N^3.
        :param seed: see the class.
        :param full_output_cov: True for the covariance between outputs, row by row.
        :return: the mean, [N, P], and the variance, [N, P], or covariance, [P, N, N] or [N, P, P],
            in the units of f and their square.
        :raises ValueError: see the class; or if both covariances are asked for.
        """
        if true_or_false("full_output_cov", full_output_cov):
            if true_or_false("full_cov", full_cov):
                raise ValueError(
                    "full_cov and full_output_cov together are not implemented: the covariance "
                    "between rows, or that between outputs."
                )
            return self._predict(prediction.moments_of_outputs, num_samples, seed, X)
        if not true_or_false("full_cov", full_cov):
            return self._predict(prediction.moments_of_f, num_samples, seed, X)
        X, seed = self.check_inputs(X), as_seed(seed)
        draws = self.draw_for(X, num_samples, seed, joint=True)
        moments = draws.moments(X, fold_in(seed, 1), full_cov=True)
        if moments[0].shape.rank == 3:
            moments = mixture.moments_jointly(*moments)
        check_outputs([X], *moments)
        return moments

    @check_shapes("return[0]: [N, Q]", "return[1]: [N, Q]")
    def predict_y(
        self, X: Any, num_samples: int = DEFAULT_PREDICTION_SAMPLES, seed: Seed = None
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Mean and variance of new targets, as moments of the mixture over S samples.

        :param X: [N, D], or images [N, H, W, C].
        :param num_samples: S, as in :meth:`predict_f`.
        :param seed: see the class.
        :return: two of [N, Q], in the units of the targets and their square.
        :raises ValueError: see the class.
        """
        return self._predict(prediction.moments_of_y, num_samples, seed, X)

    @check_shapes("return: [N, C]")
    def predict_proba(
        self, X: Any, num_samples: int = DEFAULT_PREDICTION_SAMPLES, seed: Seed = None
    ) -> tf.Tensor:
        """The predictive probability of each class, a mean over S samples.

        :param X: [N, D], or images [N, H, W, C].
        :param num_samples: S, as in :meth:`predict_f`.
        :param seed: see the class.
        :return: [N, C]; for a Bernoulli likelihood C is 2, for the labels 0 and 1.
        :raises ValueError: if the likelihood is not one over classes (Bernoulli with one output,
            MultiClass or Softmax); and see the class.
        """
        check_classes(self.likelihood, self.output_dim)
        mean, _ = self.predict_y(X, num_samples, seed)
        return probabilities(self.likelihood, mean)

    @check_shapes("return[0]: [S, N, P]", "return[1]: [S, N, P]")
    def predict_f_components(
        self, X: Any, num_samples: int = DEFAULT_PREDICTION_SAMPLES, seed: Seed = None
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Mean and variance of f for each sample: the predictive mixture of Gaussians.

        :param X: [N, D], or images [N, H, W, C].
        :param num_samples: the number of samples, S.
        :param seed: see the class.
        :return: two of [S, N, P], in the units of f and their square.
        :raises ValueError: see the class.
        """
        components = self._predict(prediction.components_of_f, num_samples, seed, X)
        return prediction.by_sample(components, num_samples)

    @check_shapes("return[0]: [S, N, Q]", "return[1]: [S, N, Q]")
    def predict_y_components(
        self, X: Any, num_samples: int = DEFAULT_PREDICTION_SAMPLES, seed: Seed = None
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Mean and variance of new targets for each sample.

        The predictive distribution is the mixture of these S components with equal weights; with a
        Gaussian likelihood each component is Gaussian. Use them for quantiles, scores and plots
        that need more than moments.

        :param X: [N, D], or images [N, H, W, C].
        :param num_samples: the number of samples, S.
        :param seed: see the class.
        :return: two of [S, N, Q], in the units of the targets and their square.
        :raises ValueError: see the class.
        """
        components = self._predict(prediction.components_of_y, num_samples, seed, X)
        return prediction.by_sample(components, num_samples)

    @check_shapes("return: [N]")
    def predict_log_density(
        self,
        data: tuple[Any, Any],
        num_samples: int = DEFAULT_PREDICTION_SAMPLES,
        seed: Seed = None,
    ) -> tf.Tensor:
        """Log of the predictive mixture's density at the targets.

        This is the density of the mixture itself, log 1/S sum_s p(y | sample s), not that of a
        Gaussian with the mixture's moments.

        :param data: X [N, D] and Y [N, Q].
        :param num_samples: S, as in :meth:`predict_f`.
        :param seed: see the class.
        :return: [N], in nats.
        :raises ValueError: see the class.
        """
        reduce = prediction.log_density_for(self)
        (density,) = self._predict(reduce, num_samples, seed, *data_pair(data))
        return density

    @check_shapes("return: [S, N, P]")
    def predict_f_samples(
        self, X: Any, num_samples: int, full_cov: bool = True, seed: Seed = None
    ) -> tf.Tensor:
        """Samples of f at `X`.

        :param X: [N, D], or images [N, H, W, C].
        :param num_samples: the number of samples, S.
        :param full_cov: True to draw the rows of a sample jointly, as values of one function; takes
            memory of S N^2 and time of S N^3 in Gaussian processes. Otherwise only the distribution
            of each single row is right.
        :param seed: see the class.
        :return: [S, N, P], in the units of f.
        :raises ValueError: see the class.
        """
        joint = true_or_false("full_cov", full_cov)
        X, seed = self.check_inputs(X), as_seed(seed)
        S = positive_integer("num_samples", num_samples)
        draws = self.draw_for(X, S, seed, joint=joint)
        if joint:
            samples = draws(X, seed)
        else:
            samples = prediction.sample_rows(draws, X, self.numbers_per_row(S), fold_in(seed, 1))
        check_outputs([X], samples)
        return samples if samples.shape.rank == 3 else samples[None]

    def sample_functions(
        self, num_samples: int, seed: Seed = None, *, num_features: int | None = DEFAULT_FEATURES
    ) -> FunctionDraws:
        """Draw S functions f from the posterior, which can be evaluated repeatedly.

        The method is decoupled sampling (Wilson et al. 2020, arXiv:2002.09309) if kernels have
        features; see :class:`FunctionDraws` for these kernels and for the others. Draws of networks
        are exact.

        :param num_samples: the number of samples, S.
        :param seed: see the class.
        :param num_features: F, the number of random frequencies, each with a cosine and a sine, in
            each function's residuals; their covariance is right on average over draws for any F,
            and for each draw within about 1 / sqrt(F) of the variance. None for draws that are
            exact for every kernel, eager and not differentiable.
        :return: a callable from X [N, D] to [S, N, P], the same functions in every call.
        :raises ValueError: if `num_samples` or `num_features` is not a positive integer.
        """
        S = positive_integer("num_samples", num_samples)
        F = None if num_features is None else positive_integer("num_features", num_features)
        return FunctionDraws(self, S, as_seed(seed), F)

    def posterior(self, num_samples: int, seed: Seed = None) -> FrozenPosterior:
        """Draw S times, and keep the draws for predictions.

        :param num_samples: the number of samples, S.
        :param seed: see the class.
        :return: an object that predicts like the model, with the same numbers in every call.
        :raises ValueError: see the class.
        """
        S = positive_integer("num_samples", num_samples)
        return FrozenPosterior(self, S, as_seed(seed))

    # ------------------------------------------------------------------------------------ inside

    @property
    def input_shape(self) -> tuple[int, ...] | None:
        """Shape (D,), or (H, W, C) of images, if the model determines it."""
        return None

    def check_data(self, data: tuple[Any, Any]) -> tuple[tf.Tensor, tf.Tensor]:
        """X and Y as tensors of the model's types.

        :param data: X [N, D], or images [N, H, W, C], and Y [N, Q].
        :return: X [N, D] and Y [N, Q].
        :raises ValueError: if they do not fit each other, the model or the likelihood, or are
            known to hold NaN or infinity.
        """
        X, Y = data_pair(data)
        X = self.check_inputs(X)
        missing = self.missing == "ignore"
        Y = check_targets(self.likelihood, Y, self.output_dim, missing=missing)
        check_same_rows(X, Y)
        return X, Y

    def functions(
        self, num_samples: int, seed: tf.Tensor, num_features: int | None
    ) -> Callable[[tf.Tensor], tf.Tensor]:
        """Draws that are the same functions in every call, for :class:`FunctionDraws`.

        :param num_samples: the number of samples, S.
        :param seed: [2].
        :param num_features: F, or None; see :meth:`~gpflow_gi.models.Predictive.sample_functions`.
        :return: a function from X [N, D] to [S, N, P]; its ``is_pathwise`` as in FunctionDraws.
        :raises NotImplementedError: if the model's draws are not known at all inputs.
        """
        return prediction.Functions(
            self.draw(num_samples, seed, joint=True), seed, self.numbers_per_row(num_samples)
        )

    def draw_for(
        self, X: tf.Tensor, num_samples: int, seed: tf.Tensor, *, joint: bool = False
    ) -> Draws:
        """Draw as :meth:`draw` does, for rows with a known number of columns.

        Bounds and predictions use it. The sample axis may be omitted if S is 1 or if all samples
        share a value.

        :param X: [N, D], of which only D is used.
        :param num_samples: the number of samples, S.
        :param seed: [2].
        :param joint: see :meth:`draw`.
        :return: the draws.
        """
        return self.draw(num_samples, seed, joint=joint)

    def _predict(self, reduce: prediction.Reduce, num_samples: int, seed: Seed, *rows: Any) -> Any:
        """Draw once, then compute the rows, X or X and Y, in chunks of bounded size."""
        checked = [self.check_inputs(*rows)] if len(rows) == 1 else list(self.check_data(rows))
        S = positive_integer("num_samples", num_samples)

        def predict(model: Any, seed: tf.Tensor, *rows: tf.Tensor) -> Any:
            draws = model.draw_for(rows[0], S, seed)
            return prediction.predict_rows(
                draws,
                model.likelihood,
                list(rows),
                reduce,
                lambda i, X: fold_in(fold_in(seed, 1), i),
                model.numbers_per_row(S),
            )

        values = compiled.call(self, (reduce.__name__, S), predict, [as_seed(seed), *checked])
        what = "The prediction" if len(rows) == 1 else "The log density"
        check_outputs(
            checked, *prediction.finite_values(self.likelihood, reduce, values), what=what
        )
        return values


def check_predictive(model: Any) -> None:
    """Check that a model is one of this library.

    :raises TypeError: if it is not.
    """
    if not isinstance(model, Predictive):
        raise TypeError(
            "model must be one of this library's, such as gpflow_gi.models.DeepGP, but is a "
            f"{type(model).__name__}."
        )
