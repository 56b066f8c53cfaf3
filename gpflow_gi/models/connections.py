"""Checks that the parts of a model fit together."""

import math
from itertools import pairwise
from typing import Any

import tensorflow as tf
from gpflow.base import Parameter
from gpflow.kernels import Coregion
from gpflow.likelihoods import Gaussian, Likelihood, StudentT

from ..layers import DenseLayer, Deterministic, GPLayer, Layer, Residual, RowLatents
from ..layers.residual import every_layer
from ..posteriors import LocalInducing, Optimal
from .targets import factors_over_outputs


def describe(layer: Layer | Deterministic) -> str:
    """A layer's description in an error message."""
    if isinstance(layer, Deterministic):
        return repr(layer.function)
    if isinstance(layer, Residual | RowLatents):
        return type(layer).__name__
    return f"{type(layer).__name__} with {type(layer.posterior).__name__}"


def uses_global_inducing(layer: Layer | Deterministic) -> bool:
    """True if the layer depends on the inducing activations from the layer below."""
    return isinstance(layer, Layer) and layer.uses_global_inducing


def check_last_layer(
    layers: list[Layer | Deterministic], likelihood: Likelihood, num_data: int
) -> None:
    """Check that the last layer can be integrated against the likelihood.

    :param num_data: N, the number of rows that the model is trained on.
    :raises ValueError: if it cannot.
    """
    if not layers:
        raise ValueError("layers must hold at least one layer, but is empty.")
    if not isinstance(layers[-1], Layer):
        raise ValueError(
            f"The last layer must be one of gpflow_gi.layers, since it is integrated against the "
            f"likelihood, but is {describe(layers[-1])}. A transformation of the outputs belongs "
            "into the likelihood."
        )
    if isinstance(layers[-1], RowLatents):
        raise ValueError(
            f"The last layer is a {type(layers[-1]).__name__}, which only makes inputs for a "
            "layer above. Add a GPLayer or a DenseLayer after it."
        )
    last = layers[-1]
    if isinstance(last, GPLayer) and last.mixing is not None:
        if not factors_over_outputs(likelihood):
            raise ValueError(
                "The last layer has a mixing matrix, so that its outputs are correlated, but the "
                f"integrals of a {type(likelihood).__name__} likelihood take its arguments as "
                "independent. Give the mixing matrix to the layer below."
            )
    elif not last.has_independent_outputs:
        raise ValueError(
            f"The last layer is integrated, and must have outputs that are independent given its "
            f"inputs, but is {describe(layers[-1])}. Let a DenseLayer follow, or a Conv2DLayer "
            "whose kernel covers the whole image."
        )
    P = layers[-1].output_dim
    if likelihood.latent_dim not in (None, P):
        raise ValueError(
            f"The likelihood {type(likelihood).__name__} takes {likelihood.latent_dim} latent "
            f"functions, but the last layer has output_dim={P}."
        )
    _check_noise(likelihood, P)
    _check_optimal(layers, likelihood, num_data)


def _check_noise(likelihood: Likelihood, P: int) -> None:
    """Check that a noise of several numbers has one for each of P outputs.

    :raises ValueError: if it has not.
    """
    if not isinstance(likelihood, Gaussian | StudentT):
        return
    for name in ("variance", "scale"):
        noise = getattr(likelihood, name, None)
        if isinstance(noise, Parameter) and int(tf.size(noise)) not in (1, P):
            raise ValueError(
                f"The likelihood {type(likelihood).__name__} has a {name} of shape {noise.shape}, "
                f"but the last layer has output_dim={P}. It takes one number, or one for each."
            )


def _check_optimal(
    layers: list[Layer | Deterministic], likelihood: Likelihood, num_data: int
) -> None:
    """Check a model of which one layer has the exact posterior given the data, if one has.

    :raises ValueError: if it is not the last one, or does not fit the others or the model.
    """
    *hidden, last = every_layer(layers)
    if any(isinstance(layer.posterior, Optimal) for layer in hidden):
        raise ValueError(
            "Only the last layer can have the posterior Optimal, since the layers above decide "
            "which outputs of a layer are best. Give the others GlobalInducing or Factorised."
        )
    posterior = last.posterior
    if not isinstance(posterior, Optimal):
        return
    if not isinstance(last, DenseLayer | GPLayer):
        raise ValueError(
            "The posterior Optimal is for a DenseLayer or a GPLayer, but the last layer is "
            f"{describe(last)}."
        )
    if isinstance(last, GPLayer) and last.mixing is not None:
        raise ValueError(
            "The posterior Optimal is independent over outputs, and the last layer has a mixing "
            "matrix, which correlates them. Give it GlobalInducing."
        )
    if any(isinstance(layer, RowLatents) for layer in hidden):
        raise ValueError(
            "The posterior Optimal takes the means of the data's rows, but one of the layers below "
            "has latent variables of each row. Give the last layer GlobalInducing."
        )
    if posterior.likelihood is not likelihood:
        raise ValueError(
            "The last layer's posterior Optimal has another likelihood than the model: give both "
            "the same object, whose noise variance they share."
        )
    num_rows = posterior.num_rows
    if num_rows != num_data:
        raise ValueError(
            f"The last layer's posterior Optimal holds {num_rows} rows, but num_data is "
            f"{num_data}: it needs all rows that the model is trained on."
        )


def check_connections(layers: list[Layer | Deterministic], U: Any) -> None:
    """Check that each layer accepts the outputs of the layer below, and set their shape in it.

    Keras layers without weights are built.

    :param U: the model's inducing inputs, [M, D] or [M, H, W, C], or None.
    :raises ValueError: if a layer does not accept them; the message names it.
    """
    _check_index_columns(layers)
    shape = layers[0].input_shape
    if U is not None and (shape is None or not _is_compatible(U.shape[1:], shape)):
        shape = U.shape[1:]
    last = layers[-1]
    rows = last.posterior.rows if isinstance(last, Layer) else None
    if rows is not None and shape is None:
        Z = getattr(getattr(layers[0], "posterior", None), "inducing_inputs", None)
        shape = tuple((rows if Z is None else Z).shape[1:])
    _connect(layers, shape, None if U is None else U.shape[0])
    if rows is not None and shape is not None and rows.shape[1] != math.prod(shape):
        raise ValueError(
            f"The last layer's posterior Optimal holds rows of {_columns(rows.shape[1:])}, but the "
            f"model takes {_columns(shape)}: give it the inputs that the model is trained on."
        )


def _check_index_columns(layers: list[Layer | Deterministic]) -> None:
    """Check that no kernel reads an index from a random output; a function may make indices."""
    # A latent variable layer passes on the columns that it gets.
    others = [layer for layer in layers if not isinstance(layer, RowLatents)]
    for below, layer in pairwise(others):
        if not isinstance(below, Layer) or not isinstance(layer, Layer):
            continue
        if any(isinstance(part, Coregion) for part in layer.submodules):
            raise ValueError(
                f"{describe(layer)} has a Coregion kernel, which reads an index from a column of "
                "its inputs, but its inputs are the outputs of a layer, which are not integers. "
                "Use it in the first layer, whose inputs are X, or above a function that makes "
                "the index."
            )


def _connect(
    layers: list[Layer | Deterministic],
    shape: tuple[int, ...] | None,
    num_inducing: int | None,
    within: str = "",
) -> tuple[int, ...] | None:
    """Check a chain of layers.

    :param shape: shape of the rows, (D,) or (H, W, C), or None if it is not known.
    :param num_inducing: M, or None without inducing inputs.
    :param within: the block that contains the chain, for messages.
    :return: the shape of its outputs.
    """
    for i, layer in enumerate(layers, start=1):
        name = f"Layer {i}{within} ({describe(layer)})"
        if isinstance(layer, Deterministic):
            if shape is not None:
                shape = layer.connect(*shape)
            elif layer.lacks_weights:
                raise ValueError(
                    f"{name} has no weights yet, and its number of inputs D is not known. Call "
                    "its method build([None, D]) first, or build([None, H, W, C]) for images."
                )
            continue
        if isinstance(layer, Residual):
            shape = _connect_block(
                layer, shape, num_inducing, f" of the block at layer {i}{within}"
            )
            continue
        if isinstance(layer, RowLatents):
            if within:
                raise ValueError(
                    f"{name}: a block adds its shortcut, and cannot append latent variables. Put "
                    "the layer below or above the block."
                )
            _connect_latent(layer, shape, num_inducing, layers[i:])
        shape = _connect_layer(layer, shape, num_inducing, name)
    return shape


def _connect_latent(
    layer: RowLatents,
    shape: tuple[int, ...] | None,
    num_inducing: int | None,
    above: list[Layer | Deterministic],
) -> None:
    """Set the shapes of a layer; if nothing below tells its inputs, the layer above may."""
    if shape is None and isinstance(above[0], Layer):
        shape = above[0].input_shape
        if isinstance(above[0].posterior, LocalInducing):
            shape = tuple(above[0].posterior.inducing_inputs.shape[1:])
        shape = None if shape is None else (shape[0] - layer.extra_columns,)
    shape = layer.input_shape if shape is None else shape
    if shape is None or shape[0] < 1:
        raise ValueError(
            f"The number of inputs of a {type(layer).__name__} is not known. Give the model "
            "inducing_inputs, or let a layer with inducing inputs of its own follow it."
        )
    if len(shape) == 1:
        used = any(uses_global_inducing(one) for one in above)
        layer.connect(shape[0], num_inducing if used else None)


def _connect_layer(
    layer: Layer, shape: tuple[int, ...] | None, num_inducing: int | None, name: str
) -> tuple[int, ...]:
    posterior = layer.posterior
    if posterior.uses_global_inducing and num_inducing is None:
        raise ValueError(f"{name} needs the model's inducing_inputs, but they were not given.")
    own = posterior.num_own
    if posterior.uses_global_inducing and posterior.num_inducing != (num_inducing or 0) + own:
        beside = f" and the layer has {own} of its own" if own else ""
        raise ValueError(
            f"{name} has num_inducing={posterior.num_inducing}, but the model's inducing_inputs "
            f"have {num_inducing} rows{beside}; "
            + ("num_inducing must be their sum." if own else "they must be equal.")
        )
    Z = posterior.inducing_inputs
    if Z is not None:
        takes = tuple(Z.shape[1:])
        if shape is not None and not _is_compatible(takes, shape):
            raise ValueError(
                f"{name} has inducing inputs of {_columns(takes)}, but gets {_columns(shape)} from "
                "below."
            )
        shape = shape or takes
    if shape is not None:
        try:
            layer.check_inputs(*shape)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    return layer.output_shape


def _connect_block(
    block: Residual, shape: tuple[int, ...] | None, num_inducing: int | None, within: str
) -> tuple[int, ...]:
    shape = block.input_shape if shape is None else shape
    if shape is None:
        raise ValueError(
            f"The shape of the inputs of a block ({within.strip()}) whose first layer is "
            "deterministic is not known. Give the model inducing_inputs, or put a layer of "
            "gpflow_gi.layers below."
        )
    outputs, shortcut = (
        _connect(chain, shape, num_inducing, within) or shape
        for chain in (block.layers, block.shortcut)
    )
    if outputs != shortcut:
        raise ValueError(
            f"The chain{within} makes rows of shape {outputs}, but its shortcut rows of shape "
            f"{shortcut}; the shapes must be equal, since the two are added."
        )
    block.connect(shape, outputs)
    return outputs


def _is_compatible(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """True if rows of one shape can be used as rows of the other; images need equal shapes."""
    return one == other if len(one) == len(other) else math.prod(one) == math.prod(other)


def _columns(shape: tuple[int, ...]) -> str:
    return f"{shape[0]} columns" if len(shape) == 1 else f"images of shape {shape}"


def check_inputs(layers: list[Layer | Deterministic], *shape: int) -> None:
    """Check that rows of X fit the first layer that is not deterministic, and connect those below.

    :param shape: shape of a row: D, or H, W and C.
    :raises ValueError: if they do not fit; the message names the layer.
    """
    rows: tuple[int, ...] = shape
    for i, layer in enumerate(layers, start=1):
        if isinstance(layer, Layer):
            try:
                layer.check_inputs(*rows)
            except ValueError as error:
                message = f"X has {_columns(shape)}; layer {i} ({describe(layer)}): {error}"
                raise ValueError(message) from None
            return
        rows = layer.connect(*rows)
