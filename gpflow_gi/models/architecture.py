"""A model's architecture in words: a line for each layer."""

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
import tensorflow as tf

from ..layers import Deterministic, Layer, Residual, RowLatents

Shape: TypeAlias = tuple[int, ...]


def architecture(model: Any) -> str:
    """The layers of a :class:`gpflow_gi.models.DeepGP`, their widths, parts and sizes.

    >>> import gpflow_gi as gi
    >>> X = np.linspace(-1.0, 1.0, 20)[:, None]
    >>> print(gi.architectures.build_deep_gp(X, X, num_inducing=5))
    DeepGP of 40 trained numbers, for 20 rows, with 5 global inducing inputs
      1  GPLayer  1 -> 1  GlobalInducing  SquaredExponential  12
      2  GPLayer  1 -> 1  GlobalInducing  SquaredExponential  22
      Gaussian likelihood  1

    :param model: the model.
    :return: lines: the type and the number of trained numbers; of each layer its place, type,
        inputs and outputs, posterior, kernel or prior, and trained numbers; the likelihood.
    """
    U = model.inducing_inputs
    points = "" if U is None else f", with {U.shape[0]} global inducing inputs"
    lines = [
        f"{type(model).__name__} of {_size(model.trainable_variables)} trained numbers, for "
        f"{model.num_data} rows{points}",
        *_chain(model.layers, None if U is None else tuple(U.shape[1:])),
        f"  {type(model.likelihood).__name__} likelihood  {_of(model.likelihood)}",
    ]
    return "\n".join(lines)


def _chain(layers: Iterable[Any], below: Shape | None, indent: str = "  ") -> Iterable[str]:
    """A line for each layer of a chain.

    :param below: the shape of the rows below it, (D,) or (H, W, C), or None if it is not known.
    """
    for i, layer in enumerate(layers, start=1):
        if isinstance(layer, Deterministic):
            name = getattr(layer.function, "__name__", type(layer.function).__name__)
            yield f"{indent}{i}  {name}"
            below = None if below is None else layer.connect(*below)
            continue
        below = layer.input_shape or below
        if isinstance(layer, Residual):
            yield f"{indent}{i}  {type(layer).__name__}  {_of(layer)}"
            yield from _chain(layer.layers, below, f"{indent}   ")
            if layer.shortcut:
                yield f"{indent}   beside them"
                yield from _chain(layer.shortcut, below, f"{indent}   ")
        else:
            yield f"{indent}{i}  " + "  ".join(_parts(layer, below))
        below = layer.output_shape


def _parts(layer: Layer, below: Shape | None) -> Iterable[str]:
    yield type(layer).__name__
    yield f"{'?' if below is None else _written(below)} -> {_written(layer.output_shape)}"
    if isinstance(layer, RowLatents):
        yield "encoder" if layer.encoder else "free" if layer.num_data else "prior"
        yield str(_of(layer))
        return
    own = layer.posterior.num_own if layer.uses_global_inducing else 0
    yield type(layer.posterior).__name__ + (f", {own} points of its own" if own else "")
    prior = next(
        getattr(layer, name) for name in ("kernel", "process", "prior") if hasattr(layer, name)
    )
    each = prior if isinstance(prior, list | tuple) else [prior]
    yield ", ".join(dict.fromkeys(type(one).__name__ for one in each))
    yield str(_of(layer))


def _written(shape: Shape) -> str:
    return " x ".join(map(str, shape))


def _of(part: Any) -> int:
    return _size(part.trainable_variables)


def _size(variables: Iterable[tf.Variable]) -> int:
    return sum(int(np.prod(variable.shape)) for variable in variables)
