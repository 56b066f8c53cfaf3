"""Checks that the parts of a model from a file fit together, like the checks of constructors."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import gpflow
import tensorflow as tf
from gpflow.likelihoods import ScalarLikelihood, SwitchedLikelihood

from ..core.noise import constant_variance
from ..core.process import Process
from ..core.random import as_seed
from ..core.validation import (
    numpy_seed,
    output_shape,
    positive_integer,
    positive_number,
    share_below_one,
    true_or_false,
)
from ..implicit.neural_sampler import NeuralSampler
from ..inference import (
    Gaussian,
    Implicit,
    KroneckerGaussian,
    Linearised,
    Mixture,
    Samples,
    WeightPosterior,
)
from ..kernels.empirical import check_draws
from ..layers import DenseLayer, Deterministic, GPLayer, ImplicitLayer, Layer
from ..layers.base import check_posterior
from ..layers.conv import Conv2DLayer
from ..layers.inducing_samples import InducingSamples
from ..layers.residual import every_deterministic, every_layer
from ..layers.weights import WeightLayer, check_prior
from ..models import DeepGP, Predictive, integration
from ..models.connections import check_connections, check_last_layer
from ..models.missing import check_missing
from ..models.streaming import Memory, check_can_update
from ..models.targets import check_likelihood
from ..posteriors import (
    Factorised,
    FullGaussian,
    LocalInducing,
    Optimal,
    Recorded,
    RecordedInducing,
)
from ..posteriors.pseudo_data import PseudoData, check_kind
from ..priors import ARDPrior, ScalePrior, SpatialIWPrior
from ..priors.gaussian import _GaussianPrior


def check_model(model: Predictive) -> None:
    """Check that a model can be evaluated, without evaluating it.

    :raises ValueError: if it cannot be evaluated.
    :raises AttributeError: if something is missing.
    :raises TypeError: if something is of the wrong type.
    """
    if isinstance(model, DeepGP):
        _check_deep_gp(model)
    elif isinstance(model, Linearised):
        if not isinstance(model.posterior_of_weights, Gaussian):
            raise TypeError("the posterior over the linearised weights is not a Gaussian")
        check_model(model.posterior_of_weights)
    elif isinstance(model, WeightPosterior):
        if not isinstance(model.network, DeepGP):
            raise TypeError("a posterior over weights has no network")
        _check_deep_gp(model.network)
        positive_integer("num_samples", model.num_samples)
        _check_weight_posterior(model, model.space.size)


def _check_weight_posterior(model: WeightPosterior, L: int) -> None:
    if isinstance(model, Samples):
        _check_shape("theta", model.theta, (None, L))
    elif isinstance(model, KroneckerGaussian):
        _check_shape("mean", model.mean, (L,))
        shapes = [layer.shape for layer in model.space.coordinates.values()]
        for name in ("inputs", "outputs", "scales"):
            parts = getattr(model, name)
            if not isinstance(parts, list) or len(parts) != len(shapes):
                raise ValueError(
                    f"{name} of a Gaussian must be a list with one entry for each layer"
                )
            for part, (K, P) in zip(parts, shapes, strict=True):
                shape = {"inputs": (K, K), "outputs": (P, P), "scales": (K, P)}[name]
                _check_shape(name, part, shape)
    elif isinstance(model, Gaussian):
        _check_shape("mean", model.mean, (L,))
        if model.root is not None:
            _check_shape("root", model.root, (L, None))
        if model.diagonal is not None:
            _check_shape("diagonal", model.diagonal, (L,))
        if model.root is None and model.diagonal is None:
            raise ValueError("a Gaussian has no covariance")
    elif isinstance(model, Implicit):
        _check_sampler(model, L)
    elif isinstance(model, Mixture):
        if not isinstance(model.components, list) or not model.components:
            raise TypeError("a mixture has no components")
        for component in model.components:
            if not isinstance(component, WeightPosterior) or component.space.size != L:
                raise ValueError("the components of a mixture belong to different networks")
            check_model(component)


def _check_sampler(model: Implicit, L: int) -> None:
    def symbolically() -> tf.Tensor:
        return tf.convert_to_tensor(model.sampler(2, as_seed(0)))

    shape = tf.function(symbolically, autograph=False).get_concrete_function().output_shapes
    if shape != [2, L]:
        raise ValueError(f"a sampler makes samples of shape {shape} instead of [2, {L}]")


def _check_deep_gp(model: DeepGP) -> None:
    """Check a model of layers as :func:`check_model` does.

    TensorFlow only computes shapes: no memory is used for the images and outputs that a file
    describes, however large.

    :raises ValueError: if it cannot be evaluated.
    :raises AttributeError: if something is missing.
    :raises TypeError: if something is of the wrong type.
    """
    if not isinstance(model.layers, list):
        raise TypeError("the layers are not a list")
    for layer in model.layers:
        if not isinstance(layer, Layer | Deterministic):
            raise TypeError(f"a {type(layer).__name__} stands where a layer should be")
    positive_integer("num_data", model.num_data)
    positive_integer("num_samples", model.num_samples)
    check_likelihood(model.likelihood)
    check_missing(model.missing, model.likelihood)
    check_last_layer(model.layers, model.likelihood, model.num_data)
    memory: Any = model.memory
    if memory is not None:
        if not isinstance(memory, Memory):
            raise TypeError("the memory of earlier rows is of the wrong type")
        check_can_update(memory)
        _check_inducing_inputs(memory.inducing_inputs)
    if model.inducing_inputs is not None:
        _check_inducing_inputs(model.inducing_inputs)
    for layer in every_layer(model.layers):
        _check_layer(layer)
    for function in every_deterministic(model.layers):
        if not callable(function.function):
            raise TypeError("a deterministic layer has no function")
        image_shape: Any = function.image_shape
        if image_shape is not None and len(output_shape(tuple(image_shape))) != 3:
            raise ValueError("the images of a deterministic layer do not have three dimensions")

    def symbolically() -> tf.Tensor:
        for part in model.submodules:
            if isinstance(part, Process):
                _check_process(part)
        for layer in model.implicit_layers:
            _check_implicit(layer.posterior)
        check_connections(model.layers, model.inducing_inputs)
        if model.input_dim is not None:
            X = tf.zeros([2, model.input_dim], gpflow.default_float())
            f = tf.zeros([1, 2, model.layers[-1].output_dim], X.dtype)
            mean, variance = integration.predict_mean_and_var(
                model.likelihood, X, f, f + 1, as_seed(0)
            )
            is_scalar = isinstance(model.likelihood, ScalarLikelihood) and not isinstance(
                model.likelihood,
                SwitchedLikelihood,  # which predicts under every likelihood
            )
            if mean.shape != variance.shape or (is_scalar and mean.shape != f.shape):
                raise ValueError("the likelihood's parameters do not have the shape of its outputs")
        return tf.zeros([])

    tf.function(symbolically, autograph=False).get_concrete_function()
    _check_lengthscales(model)


def _check_lengthscales(model: DeepGP) -> None:
    """Check the number of lengthscales, one per column; TensorFlow would broadcast them."""
    shape = model.input_shape
    for layer in model.layers:
        if isinstance(layer, GPLayer) and shape is not None:
            for kernel, _ in layer.kernels:
                for part in _parts_with_all_columns(kernel):
                    _check_columns(part, math.prod(shape))
        shape = layer.output_shape if isinstance(layer, Layer) else None


def _parts_with_all_columns(kernel: Any) -> Iterator[Any]:
    """A kernel and those inside it that get the same columns: not those of patches or of models."""
    yield kernel
    if isinstance(kernel, gpflow.kernels.Combination):
        for part in kernel.kernels:
            yield from _parts_with_all_columns(part)
    if isinstance(kernel, gpflow.kernels.Periodic):
        yield kernel.base_kernel


def _check_columns(kernel: Any, columns: int) -> None:
    scales = getattr(kernel, "lengthscales", None)
    active_dims = getattr(kernel, "active_dims", None)
    takes_all = isinstance(active_dims, slice) and active_dims == slice(None)
    if takes_all and isinstance(scales, gpflow.Parameter) and scales.shape.rank == 1:
        if scales.shape[0] not in (1, columns):
            raise ValueError(
                f"a kernel has {scales.shape[0]} lengthscales, but gets {columns} columns"
            )


def _check_layer(layer: Layer) -> None:
    posterior: Any = layer.posterior
    _check_own_inputs(posterior)
    output = layer.output_shape
    sizes = output if len(output) > 1 else output[0]
    if isinstance(layer, WeightLayer):
        if isinstance(layer, DenseLayer):
            positive_integer("input_dim", layer.input_dim)
        if isinstance(layer, ImplicitLayer):
            check_draws(layer.process, layer.num_draws)
        kernel_size = layer.convolution.kernel_size if isinstance(layer, Conv2DLayer) else None
        _check_prior(check_prior(layer.prior, kernel_size, layer.num_weights))
        filters = output[-1]
        if isinstance(posterior, Factorised):
            shape = (layer.num_weights, filters)
            _check_shape("mean", posterior.mean, shape)
            _check_shape("standard_deviation", posterior.standard_deviation, shape)
            return
        if isinstance(posterior, FullGaussian):
            if posterior.num_inducing is not None:
                raise ValueError("a posterior over weights has inducing points")
            _check_free(posterior, layer.num_weights, filters)
            return
        if isinstance(posterior, Recorded):
            draws = (posterior.num_draws, layer.num_weights, filters)
            _check_shape("weights", posterior._weights, draws)
            return
        if isinstance(posterior, Optimal):
            posterior.bind(layer.num_weights, filters)
    elif isinstance(layer, GPLayer):
        positive_integer("output_dim", layer.output_dim)
        _ = layer.kernels  # there must be one for each output
        _check_shape("jitter_scale", layer.jitter_scale, ())
        if not (layer.mean_function is None or callable(layer.mean_function)):
            raise TypeError("a mean function cannot be called")
    if isinstance(layer, GPLayer) and layer.mixing is not None:
        _check_shape("mixing", layer.mixing, (layer.output_dim, None))
        sizes = layer.num_processes
    can_sample = isinstance(layer, InducingSamples) and getattr(layer, "mixing", None) is None
    check_posterior(posterior, sizes, can_sample_outputs=can_sample)
    if isinstance(posterior, Optimal):
        if isinstance(layer, GPLayer):
            posterior.bind(None, layer.num_processes)
        _check_optimal(posterior)
    elif isinstance(posterior, PseudoData):
        _check_pseudo_data(posterior)
        if true_or_false("whiten", posterior.whiten) and not isinstance(layer, GPLayer):
            raise ValueError("pseudo-outputs of a layer without a kernel are whitened")
    elif isinstance(posterior, LocalInducing):
        _check_local(posterior)
    elif isinstance(posterior, FullGaussian):
        (P,) = output_shape(posterior.output_dim)
        _check_free(posterior, positive_integer("num_inducing", posterior.num_inducing), P)
    elif isinstance(posterior, RecordedInducing):
        M = positive_integer("num_inducing", posterior.num_inducing)
        _check_shape("inducing_inputs", posterior.inducing_inputs, (M, None))
        (P,) = output_shape(posterior.output_dim)
        _check_shape("values", posterior.values, (posterior.num_draws, M, P))


def _check_optimal(posterior: Optimal) -> None:
    (P,) = output_shape(posterior.output_dim)
    noise = constant_variance(posterior.likelihood)
    if noise is None or tf.size(noise) != 1:
        raise TypeError("the likelihood is not Gaussian with one constant variance")
    for name, shape in (("rows", (None, None)), ("targets", (None, P))):
        values = getattr(posterior, name)
        _check_shape(name, values, shape)
        if values.dtype != noise.dtype:
            raise TypeError(f"{name} and the likelihood have different types of floats")
        if not bool(tf.reduce_all(tf.math.is_finite(values))):
            raise ValueError(f"{name} are not finite")
    _check_shape("rows", posterior.rows, (posterior.num_rows, None))
    M = posterior.num_inducing
    if M is not None:
        positive_integer("num_inducing", M)
    if posterior.inducing_inputs is not None and not posterior.uses_global_inducing:
        _check_shape("inducing_inputs", posterior.inducing_inputs, (M, None))


def _check_own_inputs(posterior: Any) -> None:
    Z = getattr(posterior, "inducing_inputs", None)
    if Z is None:
        return
    is_image = len(getattr(Z, "shape", ())) == 4
    _check_shape("inducing_inputs", Z, (None,) * (4 if is_image else 2))
    if not 0 < len(Z.numpy()) <= positive_integer("num_inducing", posterior.num_inducing):
        raise ValueError("a layer has more inducing inputs of its own than inducing points")


def _check_local(posterior: LocalInducing) -> None:
    Z = posterior.inducing_inputs
    M = positive_integer("num_inducing", posterior.num_inducing)
    _check_shape("inducing_inputs", Z, (M, *(None,) * (Z.shape.rank - 1)))
    data = posterior.pseudo_data
    if data is None:
        (P,) = output_shape(posterior.output_dim)
        _check_free(posterior, M, P)
        return
    if not isinstance(data, PseudoData):
        raise TypeError("the pseudo-data of a local posterior are of the wrong type")
    if (data.num_inducing, data.output_dim) != (M, posterior.output_dim):
        raise ValueError("a local posterior has pseudo-data of another shape")
    _check_pseudo_data(data)


def _check_free(posterior: Any, K: int, P: int) -> None:
    _check_shape("q_mu", posterior.q_mu, (K, P))
    _check_shape("q_sqrt", posterior.q_sqrt, (P, K, K))


def _check_implicit(posterior: Any) -> None:
    M = positive_integer("num_inducing", posterior.num_inducing)
    (P,) = output_shape(posterior.output_dim)
    _check_shape("inducing_inputs", posterior.inducing_inputs, (M, None))
    positive_number("noise_variance", posterior.noise_variance)
    if posterior.sampler(1, as_seed(0)).shape != (1, M * P):
        raise ValueError("a sampler draws vectors of the wrong size")


def _check_process(process: Process) -> None:
    D, P = (positive_integer(name, getattr(process, name)) for name in ("input_dim", "output_dim"))
    numpy_seed("seed", process.seed)
    if isinstance(process, NeuralSampler):
        share_below_one("dropout_rate", process.dropout_rate)
    values = process.functions(2, process.own_seed)(tf.zeros([3, D], gpflow.default_float()))
    if values.shape != (2, 3, P):
        raise ValueError("a process draws functions with the wrong number of outputs")


def _check_pseudo_data(data: PseudoData) -> None:
    M = positive_integer("num_inducing", data.num_inducing)
    shape = output_shape(data.output_dim)
    check_kind(data.precision, data.shared, shape)
    _check_shape("pseudo_outputs", data.pseudo_outputs, (M, *shape))
    own = () if data.shared else shape
    Lambda = {"diagonal": (*own, M), "full": (*own, M, M), "location": (M, *shape[:-1])}
    _check_shape("pseudo_precision", data.pseudo_precision, Lambda[data.precision])


def _check_prior(prior: Any) -> None:
    if isinstance(prior, _GaussianPrior):
        _check_shape("scale", prior.scale, ())
    elif isinstance(prior, ARDPrior):
        positive_integer("num_weights", prior.num_weights)
        _check_shape("scales", prior.scales, (prior.num_weights,))
    elif isinstance(prior, ScalePrior):
        _check_shape("alpha", prior.alpha, ())
        _check_shape("beta", prior.beta, ())
        for name in ("scale", "shape", "rate"):
            positive_number(name, getattr(prior, name))
    elif isinstance(prior, SpatialIWPrior):
        _check_shape("nu", prior.nu, ())
        _check_shape("psi", prior.psi, (prior.num_places, prior.num_places))
        positive_number("scale", prior.scale)


def _check_inducing_inputs(U: Any) -> None:
    """Check the shape of rows, [M, D], or images."""
    _check_shape("inducing_inputs", U, (None,) * (2 if U.shape.rank == 2 else 4))


def _check_shape(name: str, value: Any, shape: tuple[int | None, ...]) -> None:
    """Check the shape of a parameter or a tensor; None means any size.

    :raises ValueError: if it has another shape.
    """
    if not isinstance(value, gpflow.Parameter | tf.Tensor | tf.Variable):
        raise TypeError(f"{name} is a {type(value).__name__}")
    found = tuple(value.shape)
    fits = len(found) == len(shape) and all(
        size in (None, one) for size, one in zip(shape, found, strict=True)
    )
    if not fits:
        expected = ", ".join("any" if size is None else f"{size}" for size in shape)
        raise ValueError(f"{name} has shape {list(found)}, not [{expected}]")
