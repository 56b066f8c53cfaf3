"""Whether the parts of a model fit together."""

from typing import Any

from gpflow.likelihoods import Likelihood

from ..layers import Deterministic, Layer
from ..posteriors import LocalInducing


def describe(layer: Layer | Deterministic) -> str:
    """A layer in an error message."""
    if isinstance(layer, Layer):
        return f"{type(layer).__name__} with {type(layer.posterior).__name__}"
    return repr(layer.function)


def uses_global_inducing(layer: Layer | Deterministic) -> bool:
    """Whether the layer depends on the inducing activations from below."""
    return isinstance(layer, Layer) and layer.posterior.uses_global_inducing


def check_last_layer(layers: list[Layer | Deterministic], likelihood: Likelihood) -> None:
    """Check that the last layer can be integrated against the likelihood.

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
    P = layers[-1].output_dim
    if likelihood.latent_dim not in (None, P):
        raise ValueError(
            f"The likelihood {type(likelihood).__name__} takes {likelihood.latent_dim} latent "
            f"functions, but the last layer has output_dim={P}."
        )


def check_connections(layers: list[Layer | Deterministic], U: Any) -> None:
    """Check that each layer takes what comes from below, and build Keras layers without weights.

    :param U: the model's inducing inputs, [M, D], or None.
    :raises ValueError: if a layer does not; the message names it.
    """
    D = layers[0].input_dim if isinstance(layers[0], Layer) else None
    D = D if U is None else U.shape[1]
    for i, layer in enumerate(layers, start=1):
        if isinstance(layer, Deterministic):
            if D is not None:
                D = layer.output_dim_for(D)
            elif layer.lacks_weights:
                raise ValueError(
                    f"Layer {i} ({describe(layer)}) has no weights yet, and nothing here tells "
                    "its number of inputs D. Call its method build([None, D]) first."
                )
            continue
        posterior = layer.posterior
        if posterior.uses_global_inducing and U is None:
            raise ValueError(
                f"Layer {i} ({describe(layer)}) needs the model's inducing_inputs, but they were "
                "not given."
            )
        if posterior.uses_global_inducing and posterior.num_inducing != U.shape[0]:
            raise ValueError(
                f"Layer {i} ({describe(layer)}) has num_inducing={posterior.num_inducing}, but "
                f"the model's inducing_inputs have {U.shape[0]} rows; they must be equal."
            )
        if isinstance(posterior, LocalInducing) and D is not None:
            if posterior.inducing_inputs.shape[1] != D:
                raise ValueError(
                    f"Layer {i} ({describe(layer)}) has inducing inputs of "
                    f"{posterior.inducing_inputs.shape[1]} columns, but gets {D} from below."
                )
        if isinstance(posterior, LocalInducing):
            D = posterior.inducing_inputs.shape[1]
        if D is not None:
            try:
                layer.check_inputs(D)
            except ValueError as error:
                raise ValueError(f"Layer {i} ({describe(layer)}): {error}") from None
        D = layer.output_dim


def check_columns(layers: list[Layer | Deterministic], num_columns: int) -> None:
    """Check that so many columns of X fit the first layer that is not deterministic.

    :raises ValueError: if they do not; the message names the layer.
    """
    D = num_columns
    for i, layer in enumerate(layers, start=1):
        if isinstance(layer, Layer):
            try:
                layer.check_inputs(D)
            except ValueError as error:
                message = f"X has {num_columns} columns; layer {i} ({describe(layer)}): {error}"
                raise ValueError(message) from None
            return
        D = layer.output_dim_for(D)
