"""Parts that all networks share: methods and priors of the layers of weights, and their start."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import numpy as np

from ..core.random import as_seed
from ..core.validation import is_one_of, positive_number, shown
from ..posteriors import Factorised, GlobalInducing, LocalInducing, Posterior, Prior
from ..posteriors.pseudo_data import largest_precision
from ..priors import ARDPrior, NealPrior, ScalePrior, SpatialIWPrior, StandardPrior, WeightPrior

Method: TypeAlias = Literal["global", "local", "factorised", "prior", "optimal"]

_LARGEST_SCALE = 1e15
"""Largest scale of a prior: its square does not overflow, in float32 either."""

METHODS: tuple[Method, ...] = ("global", "local", "factorised", "prior")
"""Methods of every layer; "optimal" is for the last one only."""

INFERENCE = (
    "global",
    "local",
    "factorised",
    "factorised -> global",
    "local -> global",
    "prior -> global",
)
"""Methods of a network. The name before an arrow is for all layers except the last."""

OPTIMAL = ("global -> optimal", "local -> optimal", "factorised -> optimal")
"""Methods of a network whose last layer has an exact posterior: for Gaussian noise."""

PRIORS: dict[str, Callable[[float, int], WeightPrior]] = {
    "neal": lambda scale, num_weights: NealPrior(scale),
    "standard": lambda scale, num_weights: StandardPrior(scale),
    "scale": lambda scale, num_weights: ScalePrior(scale=scale),
    "learned": lambda scale, num_weights: NealPrior(scale, learn_scale=True),
    "ard": lambda scale, num_weights: ARDPrior(num_weights, scale),
}
"""Priors by name: functions of a scale and of the number of weights to each output."""

HIDDEN_PRECISION = 1.0
"""Initial precision of a hidden layer's pseudo-outputs, in units of their mean square."""

FACTORISED_DEVIATION = 0.5
"""Initial standard deviation of factorised weights, in units of the prior's."""


def methods_of_layers(inference: Any, num_layers: int, *, optimal: bool = False) -> list[Method]:
    """Methods of the layers of weights, one for each.

    :param inference: one of :data:`INFERENCE`, or a list with one of :data:`METHODS` for each.
    :param optimal: True if the last layer's may be "optimal": one of :data:`OPTIMAL`, or the last
        of a list.
    :raises ValueError: if it is neither.
    """
    names = (*INFERENCE, *OPTIMAL) if optimal else INFERENCE
    if isinstance(inference, str):
        lower, arrow, last = inference.partition(" -> ")
        if inference not in names:
            known = ", ".join(f'"{name}"' for name in names)
            raise ValueError(
                f"inference must be one of {known}, or a list with one method per layer, but is "
                f"{shown(inference)}."
            )
        methods: list[Any] = [lower] * (num_layers - 1) + [last if arrow else lower]
        return methods
    methods = list(inference) if isinstance(inference, list | tuple) else [inference]
    for i, method in enumerate(methods):
        may_be_optimal = optimal and i + 1 == len(methods)
        if not is_one_of(method, (*METHODS, "optimal") if may_be_optimal else METHODS):
            known = ", ".join(f'"{name}"' for name in METHODS)
            last = ', and "optimal" for the last layer' if optimal else ""
            raise ValueError(f"inference may hold {known}{last}, but holds {shown(method)}.")
    if len(methods) != num_layers:
        raise ValueError(
            f"inference has {len(methods)} methods, but the network has {num_layers} layers with "
            "weights, the last one included: give one method for each."
        )
    return methods


def prior_maker(
    prior: Any, prior_scale: float, kernel_size: tuple[int, int] | None = None
) -> Callable[[int], WeightPrior]:
    """A function of the number of weights to each output that makes a new prior for each layer.

    :param kernel_size: size of a convolution's kernel, for "spatial"; None for dense layers.
    :raises ValueError: if the name is unknown, or if a scale is given beside a function.
    :raises TypeError: if `prior` is neither a name nor a function.
    """
    prior_scale = positive_number("prior_scale", prior_scale)
    if not 1 / _LARGEST_SCALE < prior_scale < _LARGEST_SCALE:
        raise ValueError(
            f"prior_scale must lie between {1 / _LARGEST_SCALE:g} and {_LARGEST_SCALE:g}, but is "
            f"{prior_scale:g}: its square would overflow or underflow."
        )
    if isinstance(prior, str):
        priors = dict(PRIORS)
        if kernel_size is not None:
            priors["spatial"] = lambda scale, num_weights: SpatialIWPrior(kernel_size, scale=scale)
        if prior not in priors:
            known = ", ".join(f'"{name}"' for name in priors)
            only = ", which is for convolutions" if prior == "spatial" else ""
            raise ValueError(
                f"prior must be one of {known}, or a function, but is {shown(prior)}{only}."
            )
        return lambda num_weights: priors[prior](prior_scale, num_weights)
    if isinstance(prior, WeightPrior) or not callable(prior):
        raise TypeError(
            "prior must be a name, or a function without arguments that makes a new prior for each "
            f"layer, but is {shown(prior)}."
        )
    try:
        inspect.signature(prior).bind()
    except TypeError:
        named = ' For ARDPrior, give "ard".' if prior is ARDPrior else ""
        raise TypeError(
            f"prior must be a function without arguments, but {shown(prior)} needs some.{named}"
        ) from None
    except ValueError:
        pass  # of a builtin that does not tell its arguments
    if prior_scale != 1.0:
        raise ValueError(
            f"prior_scale is {prior_scale:g}, but prior is a function: set the scale in the "
            "function."
        )
    return lambda num_weights: prior()


def new_prior(
    make_prior: Callable[[int], WeightPrior], method: Method, num_weights: int, seed: int
) -> tuple[WeightPrior, float]:
    """A layer's prior, and the standard deviation of weights drawn from it.

    :param num_weights: number of weights to each output.
    :raises TypeError: if the function does not make a prior.
    """
    prior = make_prior(num_weights)
    if not isinstance(prior, WeightPrior):
        raise TypeError(
            "prior must be a function that makes one of gpflow_gi.priors, but it made "
            f"{shown(prior)}."
        )
    if method == "prior":
        prior.follow_prior()  # a random scale is drawn from its prior too
    deviations = prior.draw(num_weights, 101, as_seed(seed)).standard_deviation
    return prior, float(np.median(deviations))


def hidden_posterior(
    method: Method,
    Z: np.ndarray,
    W: np.ndarray,
    deviation: float,
    outputs: np.ndarray,
    *,
    shared: bool = True,
) -> Posterior:
    """A posterior that starts at given weights, or at their outputs at the inducing points.

    :param Z: inducing points from the layer below, [M, D] or [M, H, W, C].
    :param W: weights, [K, P].
    :param deviation: standard deviation of the weights' prior.
    :param outputs: outputs at the inducing points, [M, P] or [M, H, W, P].
    :param shared: True if all units of a global layer share one precision.
    """
    # Units that are all zero, such as dead ReLUs, have no scale.
    precision = HIDDEN_PRECISION / float(np.mean(outputs**2) or 1.0)
    # The locations of an image count together as one observation.
    precision /= math.prod(outputs.shape[1:-1])
    Lambda = within_bounds(np.full(len(Z), precision))
    return _posterior(method, Z, W, deviation, outputs, Lambda, "diagonal", shared=shared)


def last_posterior(
    method: Method,
    Z: np.ndarray,
    A: np.ndarray,
    deviation: float,
    V: np.ndarray,
    Lambda: np.ndarray,
) -> Posterior:
    """A posterior that starts as the regression on V [M, P] with precisions Lambda [M].

    :param A: basis functions at Z, which the weights multiply, [M, K].
    """
    # The mean of the weights given the pseudo-data (the paper's eq. 8 and 9).
    B = np.eye(A.shape[1]) / deviation**2 + (A.T * Lambda) @ A
    try:
        W = np.linalg.solve(B, (A.T * Lambda) @ V)
    except np.linalg.LinAlgError:
        raise ValueError(
            "The regression that gives the last layer its start is singular up to rounding. "
            "Standardise the columns of X (gpflow_gi.datasets.Standardiser)."
        ) from None
    return _posterior(method, Z, W, deviation, V, Lambda, "full")


def within_bounds(Lambda: np.ndarray) -> np.ndarray:
    """Pseudo-precisions, clipped to the range that is allowed."""
    return np.clip(Lambda, 2 / largest_precision(), largest_precision() / 2)


def _posterior(
    method: Method,
    Z: np.ndarray,
    W: np.ndarray,
    deviation: float,
    V: np.ndarray,
    Lambda: np.ndarray,
    precision: Literal["diagonal", "full"],
    *,
    shared: bool = True,
) -> Posterior:
    """A posterior that starts at weights W [K, P], or at pseudo-data V, Lambda at Z.

    :param shared: True if all units of a global layer share Lambda; False if each has a copy.
    """
    if method == "prior":
        return Prior()
    if method == "factorised":
        return Factorised(mean=W, standard_deviation=FACTORISED_DEVIATION * deviation)
    pseudo: dict[str, Any] = {
        "pseudo_outputs": V,
        "pseudo_precision": Lambda,
        "precision": precision,
    }
    if method == "global":
        if not shared:
            pseudo |= {"pseudo_precision": np.tile(Lambda, (V.shape[1], 1)), "shared": False}
        return GlobalInducing(len(V), V.shape[1:], **pseudo)
    return LocalInducing(Z, V.shape[1:], **pseudo)
