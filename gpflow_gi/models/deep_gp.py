"""Deep Gaussian processes: the bound, and prediction as a mixture."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import gpflow
import tensorflow as tf
from check_shapes import check_shapes
from gpflow.base import Parameter
from gpflow.likelihoods import Likelihood
from gpflow.models import BayesianModel, ExternalDataTrainingLossMixin

from ..core.linalg import flat_rows
from ..core.random import Seed, as_seed, fold_in, standard_normal
from ..core.validation import (
    check_rank,
    check_same_rows,
    data_pair,
    finite_array,
    finite_tensor,
    positive_integer,
    shown,
    true_or_false,
)
from ..layers import Deterministic, Layer
from ..layers.deterministic import as_layers
from ..layers.residual import every_deterministic, every_layer
from ..posteriors import LocalInducing
from . import importance, integration, mixture
from .chunks import in_chunks, rows_per_chunk
from .classes import check_classes, probabilities
from .connections import (
    check_connections,
    check_inputs,
    check_last_layer,
    describe,
    uses_global_inducing,
)
from .finite import check_outputs
from .frozen_posterior import FrozenPosterior
from .function_draws import FunctionDraws
from .propagation import Propagated, propagate_inducing
from .targets import check_likelihood, check_targets

DEFAULT_PREDICTION_SAMPLES = 100
DEFAULT_FEATURES = 500


class DeepGP(BayesianModel, ExternalDataTrainingLossMixin):
    """A chain of layers and a likelihood, with any mix of posteriors.

    The bound is that of Ober & Aitchison (2021), eq. 13 and 24, with the KL terms of each layer in
    closed form given the layers below, and with the last layer integrated instead of sampled::

        L = E_q [ sum_n E_{q(f_n | F)} log p(y_n | f_n) - sum_l KL(q(z_l | U_{l-1}) || p(z_l)) ]

    The outer expectation, over the layers below the last, is estimated with S samples. With local
    layers only this is the doubly stochastic bound of Salimbeni & Deisenroth (2017); with one local
    layer it is GPflow's SVGP.

    Shapes: S samples, M inducing points, N rows, B rows of a minibatch, D inputs, P outputs of the
    last layer, Q columns of the targets. Images, [N, H, W, C] wherever there is X [N, D], become
    rows of their D = H W C numbers.

    Every stochastic method takes a `seed`: an integer or a pair of integers, with which it is a
    deterministic function; or None, for fresh noise at every call.

    Every method raises ValueError where its data do not fit the model or hold NaN or infinity,
    where `num_samples` is no positive integer or `seed` none of these; and where the answer would
    be NaN although the data are finite, as numbers like 1e200 can make it. Inside ``tf.function``
    values are not known: there NaN gives NaN, as in any TensorFlow code. ``parameters``,
    ``log_prior_density`` and their like are GPflow's.

    Of layers put together by hand, and with fresh noise averaged over:

    >>> from gpflow_gi.layers import DenseLayer, GPLayer
    >>> from gpflow_gi.posteriors import Factorised, GlobalInducing
    >>> hidden = DenseLayer(2, 5, Factorised())
    >>> last = GPLayer(gpflow.kernels.SquaredExponential(), 1, GlobalInducing(4, 1))
    >>> U = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
    >>> likelihood = gpflow.likelihoods.Gaussian(0.1)
    >>> model = DeepGP([hidden, last], likelihood, num_data=100, inducing_inputs=U)
    >>> mean, variance = model.predict_f([[0.5, 0.5]], num_samples=10)
    >>> mean.shape
    TensorShape([1, 1])
    """

    def __init__(
        self,
        layers: Sequence[Any],
        likelihood: Likelihood,
        *,
        num_data: int,
        inducing_inputs: Any = None,
        num_samples: int = 1,
    ) -> None:
        """Put layers together.

        :param layers: from the inputs up: layers of :mod:`gpflow_gi.layers`, and callables or Keras
            layers (GPflow's Keras, ``gpflow.keras.tf_keras``) as deterministic ones in between.
        :param likelihood: any GPflow likelihood.
        :param num_data: the number of rows that the model is trained on. The expected log
            likelihood of a minibatch is scaled by num_data over the batch's rows; nothing else is.
        :param inducing_inputs: global inducing inputs, [M, D] or images [M, H, W, C], in the units
            of X. Needed where a layer has a global posterior.
        :param num_samples: S for the bound, where a call does not say otherwise.
        :raises ValueError: if the parts do not fit together, in which case the message names the
            layer, or if a number is not a positive integer.
        :raises TypeError: if `layers` is no list of layers, or `likelihood` none of GPflow's.
        :warns UserWarning: if there are inducing inputs, but no layer has a global posterior.
        """
        super().__init__()
        check_likelihood(likelihood)
        if not isinstance(layers, Sequence):
            raise TypeError(f"layers must be a list of layers, but is {shown(layers)}.")
        self.layers = as_layers(layers)
        self.likelihood = likelihood
        self.num_data = positive_integer("num_data", num_data)
        self.num_samples = positive_integer("num_samples", num_samples)
        check_last_layer(self.layers, likelihood)
        U = None
        if inducing_inputs is not None:
            U = finite_array("inducing_inputs", inducing_inputs, (None, None), images=True)
            if not any(uses_global_inducing(layer) for layer in self.layers):
                warnings.warn(
                    "inducing_inputs were given, but no layer has a global posterior; they are "
                    "left out of the model.",
                    stacklevel=2,
                )
                U = None
        check_connections(self.layers, U)
        self.inducing_inputs = None if U is None else Parameter(U)

    @property
    def trainable_variables(self) -> tuple[tf.Variable, ...]:
        """What is trained: all but what was set to be not, also by ``layer.trainable = False``."""
        frozen = {
            variable.ref()
            for layer in every_deterministic(self.layers)
            for variable in layer.frozen_variables
        }
        variables = super().trainable_variables
        return tuple(variable for variable in variables if variable.ref() not in frozen)

    # ------------------------------------------------------------------------------------- bound

    @check_shapes("return: []")
    def elbo(
        self, data: tuple[Any, Any], num_samples: int | None = None, seed: Seed = None
    ) -> tf.Tensor:
        """An unbiased estimate of the evidence lower bound, of all `num_data` rows.

        :param data: X [B, D] and Y [B, Q]: all rows, or a minibatch.
        :param num_samples: S; the model's own by default.
        :param seed: see the class.
        :return: [], in nats.
        :raises ValueError: if the data do not fit the model.
        """
        expected_log_likelihood, kl = self.bound_terms(data, num_samples, seed)
        elbo = expected_log_likelihood - kl
        if tf.executing_eagerly():
            check_outputs(self.check_data(data), elbo, what="The bound")
        return elbo

    def maximum_log_likelihood_objective(
        self, data: tuple[Any, Any], seed: Seed = None
    ) -> tf.Tensor:
        """The bound, under the name by which GPflow's training utilities call it.

        :param data: as in :meth:`elbo`.
        :param seed: see the class.
        :return: [], in nats.
        """
        return self.elbo(data, seed=seed)

    @check_shapes("return[0]: []", "return[1]: []")
    def bound_terms(
        self, data: tuple[Any, Any], num_samples: int | None = None, seed: Seed = None
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """The two terms of the bound, whose difference is :meth:`elbo`.

        They may be NaN where the data are finite: training wants to see that.

        :param data: X [B, D] and Y [B, Q]: all rows, or a minibatch.
        :param num_samples: S; the model's own by default.
        :param seed: see the class.
        :return: the expected log likelihood of all `num_data` rows, and the sum over layers of
            KL(q || p); two of [], in nats.
        :raises ValueError: if the data do not fit the model, or have no rows.
        """
        X, Y = self.check_data(data)
        if X.shape[0] == 0:
            raise ValueError("The bound needs at least one row of data, but X has none.")
        seed = as_seed(seed)
        S = self.num_samples if num_samples is None else num_samples
        propagated = self.propagate(X, S, fold_in(seed, 0))
        mean, variance = propagated.predict(X, fold_in(seed, 1))
        # N/B sum_n 1/S sum_s E log p(y_n | f_n)
        log_likelihoods = integration.variational_expectations(
            self.likelihood, X, mean, variance, Y, fold_in(seed, 2)
        )
        per_row = tf.reduce_mean(log_likelihoods)
        return float(self.num_data) * per_row, propagated.kl

    @check_shapes("return: []")
    def iwbo(self, data: tuple[Any, Any], num_samples: int, seed: Seed = None) -> tf.Tensor:
        """An estimate of the importance weighted bound, log 1/S sum_s w_s.

        Its expectation lies between the ELBO and the log evidence and rises with S (Burda, Grosse &
        Salakhutdinov 2016, eq. 8); with S = 1 it is the ELBO.
        :func:`gpflow_gi.bounds.estimate_iwbo` gives a standard error beside it. Samples are taken
        in chunks, compiled; memory does not grow with S. Gaussian process layers draw all rows
        jointly, which takes time of N^3 a sample.

        :param data: X [N, D] and Y [N, Q], all rows that the model is trained on.
        :param num_samples: S, how many.
        :param seed: see the class.
        :return: [], in nats.
        :raises ValueError: if the data do not fit the model, or are not all of its rows.
        """
        log_weights = self.log_importance_weights(data, num_samples, seed)
        return mixture.log_density(log_weights[:, None])[0]

    @check_shapes("return: [S]")
    def log_importance_weights(
        self, data: tuple[Any, Any], num_samples: int, seed: Seed = None
    ) -> tf.Tensor:
        """Log p(Y, z) / q(z) for S draws of all layers' z ~ q.

        :param data: X [N, D] and Y [N, Q], all rows that the model is trained on.
        :param num_samples: S, how many.
        :param seed: see the class.
        :return: [S], in nats.
        :raises ValueError: if the data do not fit the model, or are not all of its rows.
        """
        X, Y = self.check_data(data)
        if X.shape[0] != self.num_data:
            raise ValueError(
                f"Importance weights need all {self.num_data} rows that the model was built for "
                f"(num_data), but X has {X.shape[0]}: those of a minibatch bound nothing."
            )
        S = positive_integer("num_samples", num_samples)
        seed = as_seed(seed)
        if tf.executing_eagerly():
            log_weights = importance.compiled(self)(X, Y, S, seed)
            check_outputs([X, Y], log_weights, what="A log weight")
            return log_weights
        return importance.log_weights(self, X, Y, S, seed)

    def training_loss(self, data: tuple[Any, Any], seed: Seed = None) -> tf.Tensor:
        """Minus the sum of the bound and the log density of the parameters' priors.

        :param data: as in :meth:`elbo`.
        :param seed: see the class.
        :return: [], in nats.
        """
        return self._training_loss(data, seed=seed)

    def training_loss_closure(
        self, data: Any, *, compile: bool = True, seed: Seed = None
    ) -> Callable[[], tf.Tensor]:
        """The training loss as a function without arguments, for GPflow's and Keras' optimizers.

        :param data: X [N, D] and Y [N, Q], or an iterator over a ``tf.data.Dataset`` of
            minibatches.
        :param compile: wrap the loss into ``tf.function``.
        :param seed: with a seed the closure is a deterministic function of the parameters (and of
            the batch), as L-BFGS needs it; without, each call has fresh noise.
        :return: a function that gives [], in nats, and takes the next minibatch if there are such.
        :raises ValueError: if the data do not fit the model, or if `data` is neither.
        """

        def loss(*batch: tf.Tensor) -> tf.Tensor:
            return self.training_loss(batch, seed=seed)

        if isinstance(data, Iterator):
            compiled = (
                tf.function(loss, reduce_retracing=True, autograph=False) if compile else loss
            )
            return lambda: compiled(*next(data))
        if isinstance(data, tf.data.Dataset):
            raise ValueError(
                "data must be a pair (X, Y), or an iterator over such pairs as iter(dataset) is, "
                f"but is {type(data).__name__}."
            )
        X, Y = self.check_data(data)
        compiled = tf.function(loss, autograph=False) if compile else loss
        return lambda: compiled(X, Y)

    # -------------------------------------------------------------------------------- prediction

    @check_shapes(
        "return[0]: [N, P]",
        "return[1]: [P, N, N] if full_cov",
        "return[1]: [N, P] if not full_cov",
    )
    def predict_f(
        self,
        X: Any,
        num_samples: int = DEFAULT_PREDICTION_SAMPLES,
        full_cov: bool = False,
        seed: Seed = None,
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Mean and (co)variance of f, as moments of the mixture over S samples.

        :param X: [N, D], or images [N, H, W, C].
        :param num_samples: S, of the layers below the last.
        :param full_cov: give the covariance between rows instead of each row's variance. Takes
            memory of S N^2 and time of S N^3.
        :param seed: see the class.
        :return: the mean, [N, P], and the variance, [N, P], or covariance, [P, N, N], in the units
            of the last layer's outputs and their square.
        :raises ValueError: see the class.
        """
        X = self.check_inputs(X)
        seed = as_seed(seed)
        if true_or_false("full_cov", full_cov):
            draws = self.propagate(X, num_samples, fold_in(seed, 0), draw_all=True)
            F = draws.rows_jointly(X, fold_in(seed, 1))
            moments = draws.last.predict(F, full_cov=True)
            if moments[0].shape.rank == 3:
                moments = mixture.moments_jointly(*moments)
        else:
            moments = self._predict([X], num_samples, seed, self.moments_of_f)
        check_outputs([X], *moments)
        return moments

    @check_shapes("return[0]: [N, Q]", "return[1]: [N, Q]")
    def predict_y(
        self, X: Any, num_samples: int = DEFAULT_PREDICTION_SAMPLES, seed: Seed = None
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Mean and variance of new targets, as moments of the mixture over S samples.

        :param X: [N, D], or images [N, H, W, C].
        :param num_samples: S, of the layers below the last.
        :param seed: see the class.
        :return: two of [N, Q], in the units of the targets and their square.
        :raises ValueError: see the class.
        """
        X = self.check_inputs(X)
        moments = self._predict([X], num_samples, as_seed(seed), self.moments_of_y)
        check_outputs([X], *moments)
        return moments

    @check_shapes("return: [N, C]")
    def predict_proba(
        self, X: Any, num_samples: int = DEFAULT_PREDICTION_SAMPLES, seed: Seed = None
    ) -> tf.Tensor:
        """The predictive probability of each class, a mean over S samples.

        :param X: [N, D], or images [N, H, W, C].
        :param num_samples: S, of the layers below the last.
        :param seed: see the class.
        :return: [N, C]; of a Bernoulli likelihood C is 2, for the labels 0 and 1.
        :raises ValueError: if the likelihood is none over classes, which are Bernoulli of one
            output, MultiClass and Softmax; and see the class.
        """
        check_classes(self.likelihood, self.layers[-1].output_dim)
        mean, _ = self.predict_y(X, num_samples, seed)
        return probabilities(self.likelihood, mean)

    @check_shapes("return[0]: [S, N, Q]", "return[1]: [S, N, Q]")
    def predict_y_components(
        self, X: Any, num_samples: int = DEFAULT_PREDICTION_SAMPLES, seed: Seed = None
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Mean and variance of new targets for each sample of the layers below the last.

        The predictive distribution is the mixture of these S components with equal weights; with a
        Gaussian likelihood each component is Gaussian. Quantiles, scores and plots that moments are
        too little for start from here.

        :param X: [N, D], or images [N, H, W, C].
        :param num_samples: S, how many.
        :param seed: see the class.
        :return: two of [S, N, Q], in the units of the targets and their square.
        :raises ValueError: see the class.
        """

        def reduce(*component: tf.Tensor) -> tuple[tf.Tensor, ...]:
            return tuple(tf.transpose(m, [1, 0, 2]) for m in self._components_of_y(*component))

        X = self.check_inputs(X)
        components = self._predict([X], num_samples, as_seed(seed), reduce)
        check_outputs([X], *components)
        mean, variance = (tf.transpose(component, [1, 0, 2]) for component in components)
        # Where nothing below the last layer is sampled, all components are one.
        shape = tf.concat([[num_samples], tf.shape(mean)[1:]], axis=0)
        return tf.broadcast_to(mean, shape), tf.broadcast_to(variance, shape)

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
        :param num_samples: S, of the layers below the last.
        :param seed: see the class.
        :return: [N], in nats.
        :raises ValueError: see the class.
        """
        X, Y = self.check_data(data)
        (density,) = self._predict([X, Y], num_samples, as_seed(seed), self.log_density_of_y)
        check_outputs([X, Y], density, what="The log density")
        return density

    @check_shapes("return: [S, N, P]")
    def predict_f_samples(
        self, X: Any, num_samples: int, full_cov: bool = True, seed: Seed = None
    ) -> tf.Tensor:
        """Samples of f at `X`.

        :param X: [N, D], or images [N, H, W, C].
        :param num_samples: S, how many.
        :param full_cov: draw the rows of a sample jointly, as values of one function; takes memory
            of S N^2 and time of S N^3. Without, each row has the right distribution by itself.
        :param seed: see the class.
        :return: [S, N, P], in the units of the last layer's outputs.
        :raises ValueError: see the class.
        """
        X = self.check_inputs(X)
        seed = as_seed(seed)
        S = positive_integer("num_samples", num_samples)
        if not true_or_false("full_cov", full_cov):

            def reduce(
                seed: tf.Tensor, mean: tf.Tensor, variance: tf.Tensor, X: tf.Tensor
            ) -> tuple[tf.Tensor]:
                shape = tf.concat([[S], tf.shape(mean)[1:]], axis=0)
                noise = standard_normal(shape, seed, mean.dtype)
                return (tf.transpose(mean + tf.sqrt(variance) * noise, [1, 0, 2]),)

            (samples,) = self._predict([X], S, seed, reduce)
            check_outputs([X], samples)
            return tf.transpose(samples, [1, 0, 2])
        propagated = self.propagate(X, S, fold_in(seed, 0), draw_all=True)
        F = propagated.rows_jointly(X, fold_in(seed, 1))
        draw = propagated.last.draw(propagated.num_samples, fold_in(seed, 2))
        samples, _ = draw.extend(F, fold_in(seed, 3))
        check_outputs([X], samples)
        return samples if samples.shape.rank == 3 else samples[None]

    def sample_functions(
        self, num_samples: int, seed: Seed = None, *, num_features: int | None = DEFAULT_FEATURES
    ) -> FunctionDraws:
        """Draw S functions f from the posterior, to be evaluated again and again.

        Decoupled sampling (Wilson et al. 2020, arXiv:2002.09309) where the kernels have features.
        They are differentiable and can be called inside ``tf.function`` where the kernels have
        features; :class:`FunctionDraws` says which have, and what the others do.

        :param num_samples: S, how many.
        :param seed: see the class.
        :param num_features: F, the number of random frequencies, each with a cosine and a sine, in
            each function's residuals; their covariance is right on average over draws for any F,
            and for each draw within about 1 / sqrt(F) of the variance. None for draws that are
            exact for every kernel, eager and not differentiable.
        :return: a callable from X [N, D] to [S, N, P], the same functions at every call.
        :raises ValueError: if `num_samples` or `num_features` is not a positive integer.
        """
        return _draws(self, num_samples, seed, num_features)

    def sample_prior(
        self, num_samples: int, seed: Seed = None, *, num_features: int | None = DEFAULT_FEATURES
    ) -> FunctionDraws:
        """Draw S functions f from the prior that the model has now.

        The kernels, mean functions, prior scales and other parameters of the prior are taken as
        they are; what was learned of the posterior plays no part.

        :param num_samples: S, how many.
        :param seed: see the class.
        :param num_features: F, as in :meth:`sample_functions`.
        :return: a callable from X [N, D] to [S, N, P], the same functions at every call.
        :raises ValueError: if `num_samples` or `num_features` is not a positive integer.
        """
        prior = gpflow.utilities.deepcopy(self)
        for layer in prior.layers:
            if isinstance(layer, Layer):
                layer.follow_prior()
        prior.inducing_inputs = None
        return _draws(prior, num_samples, seed, num_features)

    def posterior(self, num_samples: int, seed: Seed = None) -> FrozenPosterior:
        """Draw the layers below the last S times, and keep them for predictions.

        :param num_samples: S, how many.
        :param seed: see the class.
        :return: what predicts as the model does, with the same numbers at every call.
        :raises ValueError: see the class.
        """
        S = positive_integer("num_samples", num_samples)
        return FrozenPosterior(self, S, as_seed(seed))

    # ------------------------------------------------------------------------------- diagnostics

    @check_shapes("return[all]: [S, M, .]")
    def inducing_activations(self, num_samples: int = 1, seed: Seed = None) -> list[tf.Tensor]:
        """Draw the global inducing points' ways through the layers.

        :param num_samples: S, how many.
        :param seed: see the class.
        :return: the inducing inputs, then what comes in at each further layer that uses them or
            hands them on (deterministic layers are passed), then, if the last layer is global, its
            outputs: each [S, M, .].
        :raises ValueError: if the model has no global inducing inputs.
        """
        if self.inducing_inputs is None:
            raise ValueError("The model has no global inducing inputs: no layer is global.")
        S, seed = positive_integer("num_samples", num_samples), as_seed(seed)
        U = flat_rows(tf.convert_to_tensor(self.inducing_inputs))
        levels = [U]
        used = [uses_global_inducing(layer) for layer in self.layers]
        for end, layer in enumerate(self.layers, start=1):
            if isinstance(layer, Deterministic) or not any(used[end - 1 :]):
                continue
            below = propagate_inducing(self.layers, U, U.shape[-1], S, fold_in(seed, 0), stop=end)
            if end > 1:
                levels.append(below.inducing)
            if end == len(self.layers):
                draw = below.last.draw(below.num_samples, fold_in(seed, 1))
                levels.append(draw.extend_inducing(below.inducing, fold_in(seed, 2))[0])
        return [tf.broadcast_to(level, [S, *level.shape[-2:]]) for level in levels]

    def first_non_finite(
        self, data: tuple[Any, Any], num_samples: int | None = None, seed: Seed = None
    ) -> str | None:
        """Say where the bound of `data` first stops being finite, going through the network.

        :param data: as in :meth:`elbo`.
        :param num_samples: S; the model's own by default.
        :param seed: see the class: that of the bound which was not finite.
        :return: a phrase that names the layer and the quantity, or None if all is finite.
        :raises ValueError: see the class.
        """
        X, Y = self.check_data(data)
        seed = as_seed(seed)
        S = positive_integer(
            "num_samples", self.num_samples if num_samples is None else num_samples
        )
        for end in range(1, len(self.layers) + 1):
            name = f"layer {end} of {len(self.layers)} ({describe(self.layers[end - 1])})"
            if isinstance(self.layers[end - 1], Deterministic):
                continue
            propagated = propagate_inducing(
                self.layers, self.inducing_inputs, X.shape[-1], S, fold_in(seed, 0), stop=end
            )
            for quantity, value in propagated.last.diagnostics():
                if not _is_finite(value):
                    return f"{name}: {quantity}"
            if not self.layers[end - 1].has_independent_outputs:
                continue  # nothing to integrate; the next layer says whether its inputs are finite
            mean, variance = propagated.predict(X, fold_in(seed, 1))
            if not (_is_finite(mean) and _is_finite(variance)):
                return f"{name}: its outputs at the data"
        likelihoods = integration.variational_expectations(
            self.likelihood, X, mean, variance, Y, fold_in(seed, 2)
        )
        return None if _is_finite(likelihoods) else "the likelihood's expectation"

    # ------------------------------------------------------------------------------------ inside

    @property
    def input_shape(self) -> tuple[int, ...] | None:
        """(D,), or (H, W, C) of images, where the layers or the inducing inputs tell."""
        first = self.layers[0]
        shape = first.input_shape if isinstance(first, Layer) else None
        if shape is None and self.inducing_inputs is not None:
            shape = tuple(self.inducing_inputs.shape[1:])
        if shape is None and isinstance(getattr(first, "posterior", None), LocalInducing):
            shape = tuple(first.posterior.inducing_inputs.shape[1:])
        return first.input_shape if shape is None else shape

    @property
    def input_dim(self) -> int | None:
        """D, where the layers or the inducing inputs tell."""
        return None if self.input_shape is None else math.prod(self.input_shape)

    def propagate(
        self,
        X: tf.Tensor,
        num_samples: int,
        seed: tf.Tensor,
        *,
        draw_all: bool = False,
        num_features: int | None = None,
    ) -> Propagated:
        """Push the inducing points through the network, for rows like those of X to follow.

        :param X: [N, D], of which only D counts.
        :param num_samples: S, how many.
        :param seed: [2].
        :param draw_all: see :func:`gpflow_gi.models.propagation.propagate_inducing`.
        :param num_features: see there.
        :return: the layers, ready for rows.
        """
        return propagate_inducing(
            self.layers,
            self.inducing_inputs,
            X.shape[-1],
            positive_integer("num_samples", num_samples),
            seed,
            draw_all=draw_all,
            num_features=num_features,
        )

    def _predict(
        self,
        rows: list[tf.Tensor],
        num_samples: int,
        seed: tf.Tensor,
        reduce: Callable[..., tuple[tf.Tensor, ...]],
    ) -> Any:
        """One pass of the inducing points, then the rows in chunks of bounded size.

        :param rows: X, or X and Y.
        :param reduce: from a seed, the components' mean and variance [S, N, P], and `rows`, to
            tensors whose first axis is the rows.
        """
        propagated = self.propagate(rows[0], num_samples, fold_in(seed, 0))
        return self.predict_rows(
            propagated, rows, num_samples, lambda i, _: fold_in(fold_in(seed, 1), i), reduce
        )

    def predict_rows(
        self,
        propagated: Propagated,
        rows: list[tf.Tensor],
        num_samples: int,
        seed_of: Callable[[tf.Tensor, tf.Tensor], Any],
        reduce: Callable[..., tuple[tf.Tensor, ...]],
        at_once: bool = False,
    ) -> Any:
        """What is predicted at rows, in chunks of bounded size.

        :param propagated: the layers after the pass of the inducing points.
        :param rows: X [N, D], or X and Y [N, Q].
        :param num_samples: S, with which that pass was made.
        :param seed_of: from a chunk's number and its rows X to its seed.
        :param reduce: such as :meth:`moments_of_f`.
        :param at_once: take all rows as one chunk.
        :return: what `reduce` returns, of all rows.
        """

        def chunk(i: tf.Tensor, *rows: tf.Tensor) -> tuple[tf.Tensor, ...]:
            seed = seed_of(i, rows[0])
            mean, variance = propagated.predict(rows[0], fold_in(seed, 0))
            if mean.shape.rank == 2:
                mean, variance = mean[None], variance[None]
            return reduce(fold_in(seed, 1), mean, variance, *rows)

        if at_once:
            return chunk(tf.constant(0), *rows)
        return in_chunks(chunk, rows, rows_per_chunk(num_samples * self.width()))

    # From components [S, N, P] of f at some rows to what is predicted there.

    def moments_of_f(
        self, seed: Any, mean: tf.Tensor, variance: tf.Tensor, X: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Mean and variance of f, as moments of the mixture.

        :param seed: has no use: nothing is drawn.
        :param mean: of f, for each sample of the layers below the last, [S, N, P].
        :param variance: as the mean.
        :param X: [N, D].
        :return: two of [N, P].
        """
        return mixture.moments(mean, variance)

    def moments_of_y(
        self, seed: Any, mean: tf.Tensor, variance: tf.Tensor, X: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Mean and variance of new targets, as moments of the mixture.

        :param seed: [2], or a :class:`~gpflow_gi.core.random.RowSeed`: of the points at which a
            Monte Carlo likelihood is evaluated.
        :param mean: as in :meth:`moments_of_f`.
        :param variance: as the mean.
        :param X: [N, D].
        :return: two of [N, Q], in the units of the targets and their square.
        """
        return mixture.moments(*self._components_of_y(seed, mean, variance, X))

    def log_density_of_y(
        self, seed: Any, mean: tf.Tensor, variance: tf.Tensor, X: tf.Tensor, Y: tf.Tensor
    ) -> tuple[tf.Tensor]:
        """Log of the mixture's density at the targets.

        :param seed: as in :meth:`moments_of_y`.
        :param mean: as in :meth:`moments_of_f`.
        :param variance: as the mean.
        :param X: [N, D].
        :param Y: [N, Q].
        :return: a tuple of one, [N], in nats.
        """
        components = integration.predict_log_density(self.likelihood, X, mean, variance, Y, seed)
        return (mixture.log_density(components),)

    def _components_of_y(
        self, seed: Any, mean: tf.Tensor, variance: tf.Tensor, X: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        return integration.predict_mean_and_var(self.likelihood, X, mean, variance, seed)

    def width(self) -> int:
        """Numbers per row and sample in the largest array of a layer."""
        widths = [1]
        for layer in every_layer(self.layers):
            own = layer.posterior.num_inducing or 0
            shared = 0 if self.inducing_inputs is None else self.inducing_inputs.shape[0]
            widths += [layer.output_dim, own + shared, (layer.input_dim or 0) + 1]
        likelihood = self.layers[-1].output_dim * integration.points_per_row(self.likelihood)
        return max(*widths, likelihood)

    def check_inputs(self, X: Any) -> tf.Tensor:
        """X as a tensor of the type that the model takes, images as rows.

        :param X: [N, D] or [N, H, W, C].
        :return: [N, D].
        :raises ValueError: if it does not fit the layers, or is known to hold NaN or infinity.
        """
        X = finite_tensor("X", X)
        check_rank("X", X, images=True)
        shape, takes = tuple(X.shape[1:]), self.input_shape
        X = flat_rows(X)
        if takes is not None and len(takes) == len(shape) == 3 and takes != shape:
            raise ValueError(f"X has images of shape {shape}, but the model takes {takes}.")
        if self.input_dim not in (None, X.shape[-1]):
            raise ValueError(f"X has {X.shape[-1]} columns, but the model takes {self.input_dim}.")
        if isinstance(self.layers[0], Deterministic) and tf.executing_eagerly():
            rows_of_images = takes is not None and len(takes) > len(shape)
            check_inputs(self.layers, *(takes or ()) if rows_of_images else shape)
        return X

    def check_data(self, data: tuple[Any, Any]) -> tuple[tf.Tensor, tf.Tensor]:
        """X and Y as tensors of the types that the model takes.

        :param data: X [N, D], or images [N, H, W, C], and Y [N, Q].
        :return: X [N, D] and Y [N, Q].
        :raises ValueError: if they do not fit each other, the layers or the likelihood, or are
            known to hold NaN or infinity.
        """
        X, Y = data_pair(data)
        X = self.check_inputs(X)
        Y = check_targets(self.likelihood, Y, self.layers[-1].output_dim)
        check_same_rows(X, Y)
        return X, Y


def _draws(model: DeepGP, num_samples: int, seed: Seed, num_features: int | None) -> FunctionDraws:
    S = positive_integer("num_samples", num_samples)
    F = None if num_features is None else positive_integer("num_features", num_features)
    return FunctionDraws(model, S, as_seed(seed), F)


def _is_finite(value: Any) -> bool:
    return bool(tf.reduce_all(tf.math.is_finite(value)))
