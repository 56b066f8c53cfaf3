"""Deep Gaussian processes and networks: layers, each with its q(z), and a likelihood."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import gpflow
import numpy as np
import tensorflow as tf
from check_shapes import check_shapes
from gpflow.base import Parameter
from gpflow.likelihoods import Likelihood

from ..core.linalg import flat_rows
from ..core.random import Seed, as_seed, fold_in
from ..core.validation import (
    check_float_type,
    check_rank,
    finite_array,
    finite_tensor,
    numpy_seed,
    positive_integer,
    shown,
)
from ..layers import Deterministic, GPLayer, Layer
from ..layers.deterministic import as_layers
from ..layers.residual import every_layer
from . import diagnostics, integration
from .architecture import architecture
from .connections import check_connections, check_inputs, check_last_layer, uses_global_inducing
from .function_draws import FunctionDraws
from .latent_bounds import LatentBounds
from .latent_rows import check_latents
from .layer_draws import LayerDraws
from .missing import Missing, check_missing
from .no_density import NoDensityError
from .pathwise_functions import PathwiseFunctions
from .predictive import DEFAULT_FEATURES
from .propagation import Propagated, learns_from_inducing, propagate_inducing
from .remembered_functions import RememberedFunctions
from .streaming import Memory, add_inducing_points, check_can_update, memory_term
from .targets import check_likelihood


class DeepGP(LatentBounds):
    """A chain of layers and a likelihood, with any mix of posteriors.

    The bound is that of Ober & Aitchison (2021), eq. 13 and 24, with the KL terms of each layer in
    closed form given the layers below, and with the last layer integrated instead of sampled::

        L = E_q [ sum_n E_{q(f_n | F)} log p(y_n | f_n) - sum_l KL(q(z_l | U_{l-1}) || p(z_l)) ]

    The outer expectation, over the layers below the last, is estimated with S samples. With local
    layers only this is the doubly stochastic bound of Salimbeni & Deisenroth (2017); with one local
    layer it is GPflow's SVGP.

    Bounds and predictions are those of every :class:`Predictive`; see there for shapes, seeds and
    errors. M is the number of inducing points.

    An example with layers built by hand, averaged over new noise:

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
        missing: Missing = "error",
    ) -> None:
        """Build a model from layers.

        :param layers: layers from the inputs up: layers of :mod:`gpflow_gi.layers`, and callables
            or Keras layers (GPflow's Keras, ``gpflow.keras.tf_keras``) as deterministic ones in
            between.
        :param likelihood: any GPflow likelihood.
        :param num_data: the number of rows that the model is trained on. The expected log
            likelihood of a minibatch is scaled by num_data / B; nothing else is scaled.
        :param inducing_inputs: global inducing inputs, [M, D] or images [M, H, W, C], in the units
            of X. Required if a layer has a global posterior.
        :param num_samples: S, the default number of samples of the bound.
        :param missing: "ignore" if NaN in Y stands for an output that was not observed: bounds and
            densities are then those of the other outputs. Only for likelihoods that are products
            over outputs. By default NaN is an error.
        :raises ValueError: if the parts do not fit together (the message names the layer), or if a
            number is not a positive integer.
        :raises TypeError: if `layers` is not a list of layers, or `likelihood` is not GPflow's.
        :warns UserWarning: if there are inducing inputs, but no layer has a global posterior; or if
            a layer with a posterior stands in two places, where it draws two functions.
        """
        super().__init__()
        check_likelihood(likelihood)
        if not isinstance(layers, Sequence):
            raise TypeError(f"layers must be a list of layers, but is {shown(layers)}.")
        self.layers = as_layers(layers)
        self.likelihood = likelihood
        self.num_data = positive_integer("num_data", num_data)
        self.num_samples = positive_integer("num_samples", num_samples)
        self.missing = check_missing(missing, likelihood)
        check_last_layer(self.layers, likelihood, self.num_data)
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
        check_latents(self, None if U is None else math.prod(U.shape[1:]))
        with_posterior = list(every_layer(self.layers))
        if len(set(map(id, with_posterior))) < len(with_posterior):
            warnings.warn(
                "A layer stands in two places. It draws a function for each of them, from one "
                "prior and one q(z): the weights are not shared. Give a copy to each place, unless "
                "this is what you want.",
                stacklevel=2,
            )
        self.inducing_inputs = None if U is None else Parameter(U)

    def __repr__(self) -> str:
        return architecture(self)

    @property
    def trainable_variables(self) -> tuple[tf.Variable, ...]:
        """All variables except those set to be fixed, and those of :attr:`memory`."""
        frozen = () if self.memory is None else {one.ref() for one in self.memory.variables}
        return tuple(one for one in super().trainable_variables if one.ref() not in frozen)

    @property
    def trainable_parameters(self) -> tuple[Parameter, ...]:
        """All parameters except those set to be fixed, and those of :attr:`memory`."""
        frozen = () if self.memory is None else {id(one) for one in self.memory.parameters}
        return tuple(one for one in super().trainable_parameters if id(one) not in frozen)

    # --------------------------------------------------------------------------------------- draws

    def draw(self, num_samples: int, seed: Seed = None, *, joint: bool = False) -> LayerDraws:
        if self.input_dim is None:
            raise ValueError(
                "Functions cannot be drawn yet, since the number of inputs of the model is not "
                "known: it has neither inducing inputs nor a dense first layer. Predict at some X "
                "first, as by predict_f(X)."
            )
        return self._draw(self.input_dim, num_samples, as_seed(seed), joint, sample_axis=True)

    def draw_for(
        self, X: tf.Tensor, num_samples: int, seed: tf.Tensor, *, joint: bool = False
    ) -> LayerDraws:
        return self._draw(X.shape[-1], num_samples, seed, joint, sample_axis=False)

    def _draw(
        self, input_dim: int, num_samples: int, seed: tf.Tensor, joint: bool, sample_axis: bool
    ) -> LayerDraws:
        S = positive_integer("num_samples", num_samples)
        propagated = self.propagate(input_dim, S, fold_in(seed, 0), draw_all=joint)
        return LayerDraws(propagated, S, seed, joint=joint, sample_axis=sample_axis)

    def propagate(
        self,
        X: tf.Tensor | int,
        num_samples: int,
        seed: tf.Tensor,
        *,
        draw_all: bool = False,
        num_features: int | None = None,
    ) -> Propagated:
        """Push the inducing points through the network.

        :param X: rows of the data, [N, D], of which only D is used; or D itself.
        :param num_samples: the number of samples, S.
        :param seed: [2].
        :param draw_all: see :func:`gpflow_gi.models.propagation.propagate_inducing`.
        :param num_features: see there.
        :return: the layers, ready for rows.
        :raises ValueError: if GPflow's default float type has changed since the model was built.
        """
        check_float_type(self)
        return propagate_inducing(
            self.layers,
            self.inducing_inputs,
            X if isinstance(X, int) else X.shape[-1],
            positive_integer("num_samples", num_samples),
            seed,
            draw_all=draw_all,
            num_features=num_features,
        )

    def functions(
        self, num_samples: int, seed: tf.Tensor, num_features: int | None
    ) -> Callable[[tf.Tensor], tf.Tensor]:
        layers = [layer for layer in self.layers if isinstance(layer, Layer)]
        has_features = all(layer.has_features for layer in layers)
        if num_features is not None and has_features and not learns_from_inducing(self.layers):
            return PathwiseFunctions(self, num_samples, seed, num_features)
        return RememberedFunctions(self, num_samples, seed)

    def sample_prior(
        self, num_samples: int, seed: Seed = None, *, num_features: int | None = DEFAULT_FEATURES
    ) -> FunctionDraws:
        """Draw S functions f from the model's present prior.

        The present kernels, mean functions, prior scales and other parameters of the prior are
        used; the learned posterior is not.

        :param num_samples: the number of samples, S.
        :param seed: see the class.
        :param num_features: F, as in :meth:`~gpflow_gi.models.Predictive.sample_functions`.
        :return: a callable from X [N, D] to [S, N, P], the same functions in every call.
        :raises ValueError: if `num_samples` or `num_features` is not a positive integer.
        """
        return self.prior_model().sample_functions(num_samples, seed, num_features=num_features)

    def prior_model(self) -> DeepGP:
        """Return a copy with the prior as its approximate posterior.

        :return: a model with copies of the prior's and the likelihood's parameters, and no others.
        """
        prior = gpflow.utilities.deepcopy(self)
        for layer in prior.layers:
            if isinstance(layer, Layer):
                layer.follow_prior()
        prior.inducing_inputs = None
        prior.memory = None
        return prior

    @check_shapes("return[all]: [S, M, .]")
    def inducing_activations(self, num_samples: int = 1, seed: Seed = None) -> list[tf.Tensor]:
        """Draw the global inducing points' values in every layer.

        :param num_samples: the number of samples, S.
        :param seed: see the class.
        :return: the inducing inputs, then the inputs of each further layer that uses them or passes
            them on (deterministic layers are skipped), then, if the last layer is global, its
            outputs: each [S, M, .].
        :raises ValueError: if the model has no global inducing inputs.
        """
        if self.inducing_inputs is None:
            raise ValueError("The model has no global inducing inputs: no layer is global.")
        S = positive_integer("num_samples", num_samples)
        return diagnostics.inducing_activations(self, S, as_seed(seed))

    def first_non_finite(
        self, data: tuple[Any, Any], num_samples: int | None = None, seed: Seed = None
    ) -> str | None:
        """Find the first part of the network at which the bound of `data` is not finite.

        :param data: as in :meth:`~gpflow_gi.models.Predictive.elbo`.
        :param num_samples: S; the model's own by default.
        :param seed: see the class: the seed of the bound that was not finite.
        :return: a phrase that names the layer and the quantity, or None if all is finite.
        :raises ValueError: see the class.
        """
        S = self.num_samples if num_samples is None else num_samples
        S = positive_integer("num_samples", S)
        if not all(layer.has_density for layer in every_layer(self.layers)):
            raise NoDensityError(self.why_no_density())
        rows = self.data_rows(data)
        return diagnostics.first_non_finite(self, rows.X, rows.Y, S, as_seed(seed))

    def why_no_density(self) -> str:
        q = next(lay.posterior for lay in every_layer(self.layers) if not lay.has_density)
        how = "train it with gpflow_gi.objectives.DensityRatioKL, and " if q.samples_outputs else ""
        advice = (
            f"{how}compare the model with others by predict_log_density of held-out rows, or give "
            "the layer another posterior."
        )
        return (
            f"A layer has the posterior {type(q).__name__}, draws without a density. "
            f"{advice[0].upper()}{advice[1:]}"
        )

    # ----------------------------------------------------------------------------------- streaming

    memory: Memory | None = None
    """The pseudo-observations that stand for rows of earlier updates; None if there were none."""

    def update(self, data: tuple[Any, Any], *, num_inducing: int = 10, seed: int = 0) -> DeepGP:
        """A model for rows that have arrived since this one was trained, to be trained on these.

        Its bound is one on the log evidence of the new rows, given the earlier ones, for which the
        pseudo-data of this posterior stand (Bui, Nguyen & Turner 2017): they are not needed again.
        Train it by ``gi.fit(later, data, ...)``, and update it in turn.

        :param data: X [N', D], or images [N', H, W, C], and Y [N', Q], the new rows.
        :param num_inducing: the number of inducing points to add, at different random rows of X.
        :param seed: of these rows, an integer from 0 to 2^32 - 1.
        :return: a copy of the model, with more inducing points, and ``num_data`` N'. What is not
            trained stays so, and parameters keep their priors.
        :raises ValueError: if the data do not fit, if a prior is for the earlier number of inducing
            points, if a layer is not a Gaussian process without mixing and with a GlobalInducing
            posterior of one precision, pseudo-outputs that are not whitened and no inducing inputs
            of its own, or if a number is not a positive integer.
        """
        check_can_update(self)
        X, _ = self.check_data(data)
        number = positive_integer("num_inducing", num_inducing)
        rng = np.random.default_rng(numpy_seed("seed", seed))
        rows = rng.permutation(np.unique(X.numpy(), axis=0))[:number]
        later = gpflow.utilities.deepcopy(self)
        later.memory = None
        memory = Memory(later)
        add_inducing_points(later, rows)
        later.memory = memory
        later.num_data = int(X.shape[0])
        return later

    def bound_terms(
        self, data: tuple[Any, Any], num_samples: int | None = None, seed: Seed = None
    ) -> tuple[tf.Tensor, tf.Tensor]:
        if self.memory is None:
            return super().bound_terms(data, num_samples, seed)
        seed = as_seed(seed)
        first, kl = super().bound_terms(data, num_samples, seed)
        return first + memory_term(self, num_samples, seed), kl

    def log_importance_weights(
        self, data: tuple[Any, Any], num_samples: int, seed: Seed = None
    ) -> tf.Tensor:
        if self.memory is not None:
            raise ValueError(
                "A model that was updated has no importance weights, since it keeps only "
                "pseudo-data of earlier rows. Use its elbo, a bound for the new rows given these."
            )
        return super().log_importance_weights(data, num_samples, seed)

    # ------------------------------------------------------------------------------------ inside

    @property
    def implicit_layers(self) -> list[Layer]:
        """The layers whose q draws values at inducing inputs without a density.

        They have the methods of :class:`gpflow_gi.layers.inducing_samples.InducingSamples`.
        """
        return [lay for lay in every_layer(self.layers) if lay.posterior.samples_outputs]

    @property
    def output_dim(self) -> int:
        """P, the number of outputs of the last layer."""
        return self.layers[-1].output_dim

    @property
    def has_correlated_outputs(self) -> bool:
        return not self.layers[-1].has_independent_outputs

    @property
    def input_shape(self) -> tuple[int, ...] | None:
        """Shape (D,), or (H, W, C) of images, if the layers or the inducing inputs determine it."""
        first = self.layers[0]
        shape = first.input_shape if isinstance(first, Layer) else None
        if shape is None and self.inducing_inputs is not None:
            shape = tuple(self.inducing_inputs.shape[1:])
        Z = getattr(getattr(first, "posterior", None), "inducing_inputs", None)
        if shape is None and Z is not None:
            shape = tuple(Z.shape[1:])
        return first.input_shape if shape is None else shape

    @property
    def input_dim(self) -> int | None:
        """D, if the layers or the inducing inputs determine it."""
        return None if self.input_shape is None else math.prod(self.input_shape)

    def width(self) -> int:
        widths = [1]
        for layer in every_layer(self.layers):
            own = layer.posterior.num_inducing or 0
            shared = 0 if self.inducing_inputs is None else self.inducing_inputs.shape[0]
            widths += [layer.output_dim, own + shared, (layer.input_dim or 0) + 1]
        likelihood = self.layers[-1].output_dim * integration.points_per_row(self.likelihood)
        return max(*widths, likelihood)

    def numbers_per_sample(self, num_rows: int) -> int:
        numbers = 1
        M = 0 if self.inducing_inputs is None else int(self.inducing_inputs.shape[0])
        for layer in every_layer(self.layers):
            if isinstance(layer, GPLayer):
                size = (num_rows + M + (layer.posterior.num_inducing or 0)) ** 2
            else:
                width = max(layer.output_dim, layer.input_dim or 1)
                size = (num_rows + M + width) * width
            numbers = max(numbers, size)
        return numbers

    def check_inputs(self, X: Any) -> tf.Tensor:
        check_float_type(self)
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
