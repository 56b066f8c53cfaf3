"""Deep GPs built or trained with GPflux."""

from __future__ import annotations

from typing import Any

import gpflow
import numpy as np
import tensorflow as tf
from gpflow.inducing_variables import InducingPoints, MultioutputInducingVariables
from gpflow.keras import tf_keras
from gpflow.kernels import Kernel, MultioutputKernel, SeparateIndependent, SharedIndependent

from ..kernels import KernelBasis
from ..layers import GPLayer
from ..layers.deterministic import check_is_a_function, keras_layers_in, set_trainable_flags
from ..models import DeepGP
from ..posteriors import LocalInducing


def from_gpflux(model: Any) -> DeepGP:
    """A ``gpflux.models.DeepGP`` as a :class:`~gpflow_gi.models.DeepGP` of local layers.

    The bound is the same in expectation: both are the doubly stochastic bound of Salimbeni &
    Deisenroth (2017). There are two small differences. The jitter on kernel matrices is GPflow's
    default in both, but here it is relative to the kernel's variance. GPflux's ``elbo`` includes
    the log densities of priors on the kernels' parameters; here they are part of ``training_loss``.

    The two models share nothing: training one does not change the other. Values and trainable flags
    are copied; kernels or mean functions that layers share are still shared. Layers that
    parameterise q(u) itself (``whiten=False``) are converted to the whitened q(z), u = L z.
    Keras layers between the GP layers become deterministic layers.

    :param model: the ``gpflux.models.DeepGP``, not the Keras model from ``as_training_model`` or
        ``as_prediction_model``.
    :return: a model with the number of samples that GPflux draws (1 unless a hidden layer sets
        ``num_samples``).
    :raises ImportError: if GPflux is not installed.
    :raises TypeError: if `model` is something else, or has a layer, a kernel or an inducing
        variable without a counterpart here; the message names the layer.
    :raises ValueError: if the outputs of a layer have different inducing inputs, or if a Keras
        layer was never used or adds a loss of its own; the message names the layer.
    """
    gpflux = _import_gpflux()
    if not isinstance(model, gpflux.models.DeepGP):
        raise TypeError(
            f"model must be a gpflux.models.DeepGP, but is a {type(model).__name__}. Give the "
            "object that as_training_model() and as_prediction_model() belong to."
        )
    copies: dict[int, Any] = {}  # parts that the model shares are shared in its copy too
    layers = []
    for i, layer in enumerate(model.f_layers):
        name = f"f_layers[{i}] ({type(layer).__name__} {layer.name!r})"
        # A subclass may compute something else.
        if type(layer) is gpflux.layers.GPLayer:
            layers.append(_gp_layer(layer, name, copies))
        else:
            layers.append(_keras_layer(layer, name))
    return DeepGP(
        layers,
        gpflow.utilities.deepcopy(model.likelihood_layer.likelihood, copies),
        num_data=model.num_data,
        num_samples=_num_samples(model.f_layers[:-1]),
    )


def _import_gpflux() -> Any:
    try:
        import gpflux
    except ModuleNotFoundError as error:
        if error.name != "gpflux":
            raise
        raise ImportError(
            "Converting a GPflux model needs GPflux, which is not installed. Install it with: "
            "pip install 'gpflow-gi[gpflux]'"
        ) from None
    return gpflux


def _gp_layer(layer: Any, name: str, copies: dict[int, Any]) -> GPLayer:
    kernel = gpflow.utilities.deepcopy(_supported_kernel(layer.kernel, name), copies)
    mean_function = gpflow.utilities.deepcopy(layer.mean_function, copies)
    Z = _inducing_inputs(layer.inducing_variable, name)
    q_mu, q_sqrt = layer.q_mu.numpy(), np.tril(layer.q_sqrt.numpy())
    posterior = LocalInducing(Z, q_mu.shape[1], q_mu=q_mu, q_sqrt=q_sqrt)
    converted = GPLayer(kernel, q_mu.shape[1], posterior, mean_function=mean_function)
    if not layer.whiten:
        _whiten(converted, posterior)
    gpflow.set_trainable(posterior.inducing_inputs, Z.trainable)
    gpflow.set_trainable(posterior.q_mu, layer.q_mu.trainable)
    gpflow.set_trainable(posterior.q_sqrt, layer.q_sqrt.trainable)
    return converted


def _supported_kernel(kernel: Kernel, name: str) -> Kernel:
    independent = isinstance(kernel, SharedIndependent | SeparateIndependent)
    if isinstance(kernel, MultioutputKernel) and not independent:
        raise TypeError(
            f"{name} has the kernel {type(kernel).__name__}, whose outputs are not independent. "
            "Layers here take SharedIndependent, SeparateIndependent or a single-output kernel."
        )
    return kernel


def _inducing_inputs(inducing_variable: Any, name: str) -> Any:
    """The variable that holds Z, [M, D]; the first one if equal ones serve several outputs."""
    parts = (
        inducing_variable.inducing_variables
        if isinstance(inducing_variable, MultioutputInducingVariables)
        else (inducing_variable,)
    )
    for part in parts:
        if type(part) is not InducingPoints:
            raise TypeError(
                f"{name} has inducing variables of type {type(part).__name__}. Only GPflow's "
                "InducingPoints have a counterpart here."
            )
    Z = parts[0].Z
    for p, part in enumerate(parts[1:], start=1):
        if not np.array_equal(part.Z.numpy(), Z.numpy()):
            raise ValueError(
                f"{name} has separate inducing inputs for its outputs, and those of outputs 0 and "
                f"{p} differ. The outputs of a layer here share one set; build the GPflux layer "
                "with SharedIndependentInducingVariables, or use one layer per output."
            )
    return Z


def _whiten(layer: GPLayer, posterior: LocalInducing) -> None:
    """Convert `posterior` from a Gaussian over u = L z to one over z."""
    q_mu, q_sqrt = posterior.q_mu.numpy(), posterior.q_sqrt.numpy()
    for kernel, outputs in layer.kernels:
        basis = KernelBasis(kernel, tf.convert_to_tensor(posterior.inducing_inputs))
        q_mu[:, outputs] = tf.linalg.triangular_solve(basis.L, q_mu[:, outputs])
        for p in range(outputs.start, outputs.stop):
            q_sqrt[p] = tf.linalg.triangular_solve(basis.L, q_sqrt[p])
    posterior.q_mu.assign(q_mu)
    posterior.q_sqrt.assign(np.tril(q_sqrt))


def _keras_layer(layer: Any, name: str) -> Any:
    """A copy of a layer that is a function of each row, the same in training and prediction."""
    libraries = {base.__module__.split(".")[0] for base in type(layer).__mro__}
    if libraries & {"gpflux", "tensorflow_probability"}:
        raise TypeError(
            f"{name} has no counterpart here. Layers that convert are gpflux.layers.GPLayer and "
            "deterministic Keras layers."
        )
    if not isinstance(layer, tf_keras.layers.Layer):
        raise TypeError(f"{name} is not a layer of gpflow.keras.tf_keras.")
    try:
        check_is_a_function(layer)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name} cannot be converted: {error}") from None
    if not layer.built:
        raise ValueError(
            f"{name} was never used, so that Keras has not built it yet. Evaluate the model once, "
            "for example its elbo, before it is converted."
        )
    if layer.losses:
        raise ValueError(
            f"{name} adds a loss of its own, such as a regulariser's, to GPflux's bound. Remove it."
        )
    if not layer.weights:
        return layer  # it has no variables to share
    # A layer that is part of a Keras model cannot be deep-copied.
    copy = type(layer).from_config(layer.get_config())
    copy.build_from_config(layer.get_build_config())
    # Keras sorts the weights by these flags.
    set_trainable_flags(copy, [part.trainable for part in keras_layers_in(layer)])
    copy.set_weights(layer.get_weights())
    return copy


def _num_samples(hidden_layers: list[Any]) -> int:
    """GPflux's number of samples: every hidden layer with several samples multiplies it."""
    return int(np.prod([getattr(layer, "num_samples", None) or 1 for layer in hidden_layers]))
