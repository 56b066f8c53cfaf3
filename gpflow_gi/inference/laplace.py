"""Laplace approximations of the posterior over all weights."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import gpflow
import numpy as np
import tensorflow as tf

from ..core.random import Seed, as_seed
from ..core.validation import is_one_of, shown
from ..layers.residual import every_layer
from ..layers.weights import WeightLayer
from ..models import DeepGP, Predictive
from .curvature import (
    diagonal_of_prior_hessian,
    gauss_newton,
    hessian,
    hessian_of,
    prior_hessian,
)
from .gaussian import Gaussian
from .kronecker import gauss_newton_factors, gaussian_of_curvature
from .linearised import Linearised
from .log_joint import LogJoint
from .map_estimate import search
from .marginal_likelihood import (
    AnyCurvature,
    best_factors,
    check_noise,
    log_det,
    noise_variance,
    rescale_noise,
)
from .maximise import maximise
from .target import Target
from .weight_space import WeightSpace

Structure: TypeAlias = Literal["full", "kron", "diagonal", "last layer"]
Curvature: TypeAlias = Literal["ggn", "hessian"]
PriorPrecision: TypeAlias = Literal["model", "marginal likelihood"]
Noise: TypeAlias = Literal["model", "marginal likelihood"]
Predictor: TypeAlias = Literal["linearised", "weight samples"]

MOST_COORDINATES = 10_000
"""Largest number of weights for a full covariance, which then takes 800 MB."""

_ROUNDS = 5
"""Number of alternations between the weights and their prior precision."""


@dataclass(frozen=True, eq=False)
class Laplace:
    """A Gaussian at a maximum of the posterior density, with the inverse curvature there."""

    model: Predictive
    """The requested predictive: `linearised` or `weight_samples`."""

    linearised: Linearised
    """Predictions of the network linearised at the maximum; of a target None."""

    weight_samples: Gaussian
    """Predictions of the network with weights drawn from the Gaussian."""

    log_evidence: float
    """Laplace's approximation of log p(Y), in nats (MacKay 1992); for the last layer alone, of
    log p(Y, theta') with the other weights theta' as they are."""

    gradient_norm: float
    """The largest derivative of log p(Y, theta) at the maximum, in absolute value."""

    prior_precision: dict[Any, float]
    """Factors on the prior precisions of the layers, by their position in the model."""

    noise_variance: float | None
    """The noise variance of a Gaussian likelihood that has one for all rows and outputs; None for
    others."""

    seconds: float
    """The time taken in seconds, compilation included."""


@dataclass(frozen=True)
class _Mode:
    """A maximum, and the curvature of -log p(Y | theta) there."""

    log_joint: LogJoint
    theta: tf.Tensor
    curvature: AnyCurvature


def laplace(
    model: DeepGP | Target,
    data: tuple[Any, Any] | None = None,
    *,
    structure: Structure = "full",
    curvature: Curvature = "ggn",
    prior_precision: PriorPrecision = "model",
    noise: Noise = "model",
    predictive: Predictor = "linearised",
    steps: int = 2000,
    batch_size: int | None = None,
    learning_rate: float = 0.01,
    train_likelihood: bool = False,
    seed: Seed = 0,
) -> Laplace:
    """Approximate the posterior over all weights by a Gaussian at its maximum.

    q(theta) = N(theta*, H^-1), with H the curvature of -log p(Y, theta) at the maximum theta*, in
    whitened coordinates (MacKay 1992; Daxberger et al. 2021, "Laplace redux"). For one dense layer
    with Gaussian noise it is the exact posterior.

    :param model: as in :func:`map_estimate`. Of a :class:`Target` the curvature is the Hessian of
        its log density, ``result.model`` is the Gaussian itself, and what is about layers or data
        is refused.
    :param data: X [N, D] and Y [N, Q], all rows that the model was built for; None for a target.
    :param structure: "full", a matrix [L, L] of all L weights; "kron", a Kronecker product of two
        matrices in each dense layer, for the Gauss-Newton matrix (Ritter, Botev & Barber 2018);
        "diagonal"; or "last layer", a full matrix of that layer alone, with the other weights fixed
        (Kristiadi, Hein & Hennig 2020).
    :param curvature: curvature of the log likelihood: "ggn", the generalised Gauss-Newton matrix,
        which is never negative for log-concave likelihoods; or "hessian".
    :param prior_precision: "model", the priors as they are; or "marginal likelihood": one factor
        for each layer, the best for the approximate evidence at the present weights and curvature,
        in alternation with the weights (Immer et al. 2021, "Scalable marginal likelihood
        estimation"); for priors of a fixed scale. The curvature changes with the weights, so that
        ``log_evidence`` can end below that of "model": compare them.
    :param noise: "model", the noise variance as it is; or "marginal likelihood": chosen in the same
        way, with or without the prior precisions and with GPflow's prior on it, if there is one;
        for a Gaussian likelihood.
    :param predictive: the kind of ``result.model``: "linearised", the network linearised in its
        weights, which matches the Gauss-Newton matrix; or "weight samples", the network itself
        with weights drawn from the Gaussian.
    :param steps: as in :func:`map_estimate`.
    :param batch_size: as in :func:`map_estimate`.
    :param learning_rate: as in :func:`map_estimate`.
    :param train_likelihood: as in :func:`map_estimate`.
    :param seed: seed of the start and of the minibatches.
    :return: both predictives, and diagnostics.
    :raises TypeError: if `model` is neither a network nor a target.
    :raises ValueError: as :func:`map_estimate`; if an option is unknown; if there are too many
        weights for a full covariance; if the curvature is not positive, which is possible for a
        Hessian if the search did not reach a maximum, and for both kinds if the likelihood is not
        log-concave, such as StudentT; if the prior precision of a layer cannot be changed, or a
        noise variance is to be chosen that is not there or is trained, or with a random prior; or
        for "kron" if a layer is not dense, or a prior is random.

    >>> from gpflow_gi.architectures import build_bnn
    >>> X = np.linspace(-1.0, 1.0, 20)[:, None]
    >>> network = build_bnn(X, np.sin(X), widths=(5,), nonlinearity="tanh", num_inducing=5)
    >>> found = laplace(network, (X, np.sin(X)))
    >>> mean, variance = found.model.predict_y([[0.5]])
    >>> bool(abs(mean - np.sin(0.5)) < 2 * np.sqrt(variance))
    True
    """
    started = time.perf_counter()
    for name, value, known in (
        ("structure", structure, ("full", "kron", "diagonal", "last layer")),
        ("curvature", curvature, ("ggn", "hessian")),
        ("prior_precision", prior_precision, ("model", "marginal likelihood")),
        ("noise", noise, ("model", "marginal likelihood")),
        ("predictive", predictive, ("linearised", "weight samples")),
    ):
        if not is_one_of(value, known):
            raise ValueError(f"{name} must be one of {', '.join(known)}, but is {shown(value)}.")
    if not isinstance(model, DeepGP):
        given: dict[str, str] = {"prior_precision": prior_precision, "noise": noise}
        found = _of_target(model, data, structure, given, steps, batch_size, train_likelihood, seed)
        return replace(found, seconds=time.perf_counter() - started)
    space = WeightSpace(model)
    block = _block(space, structure)
    size = space.size if curvature == "hessian" else len(range(space.size)[block])
    if structure == "kron" and curvature == "hessian":
        raise ValueError(
            "structure='kron' factorises the Gauss-Newton matrix: leave curvature='hessian' out."
        )
    in_full = structure not in ("kron", "diagonal") or curvature == "hessian"
    if size > MOST_COORDINATES and in_full:
        raise ValueError(
            f"The model has {size:,} weights, and a matrix of all of them is allowed up to "
            f"{MOST_COORDINATES:,}. Use structure='kron' or 'diagonal' with curvature='ggn', or "
            "make the layers narrower."
        )
    chosen = {"prior_precision": prior_precision, "noise": noise}
    chosen = {name: value for name, value in chosen.items() if value == "marginal likelihood"}
    if chosen and structure == "last layer":
        raise ValueError(
            f"{next(iter(chosen))}='marginal likelihood' needs the weights of all layers, but "
            "structure='last layer' fixes the others."
        )
    if "prior_precision" in chosen:
        _check_scales(model)
    if "noise" in chosen:
        check_noise(model.likelihood)
        if not space.is_standard_normal:
            raise ValueError(
                "noise='marginal likelihood' needs priors of a fixed scale, but one has "
                "coordinates of its own, such as ScalePrior. Use train_likelihood=True, or another "
                "prior."
            )
        if train_likelihood:
            raise ValueError(
                "noise='marginal likelihood' chooses the variance that train_likelihood=True "
                "trains. Leave one of them out."
            )
    settings: dict[str, Any] = {
        "steps": steps,
        "batch_size": batch_size,
        "learning_rate": learning_rate,
    }
    seed = as_seed(seed)
    network, log_joint, theta = search(
        model, data, 1, **settings, train_likelihood=train_likelihood, precise=True, seed=seed
    )
    if "prior_precision" in chosen:
        _separate_priors(network)
        X, Y = log_joint.X, log_joint.Y
        log_joint = LogJoint(WeightSpace(network), network.likelihood, X, Y)
    matrix = _curvature(network, log_joint, theta[0], structure, curvature)
    mode = _Mode(log_joint, theta[0], matrix)
    precision = dict.fromkeys(log_joint.space.coordinates, 1.0)
    if chosen:
        settings["trained"] = network.likelihood if train_likelihood else None
        for _ in range(_ROUNDS):
            _check_positive(mode)
            factors, rho = best_factors(
                mode.log_joint,
                mode.theta,
                mode.curvature,
                prior="prior_precision" in chosen,
                noise="noise" in chosen,
            )
            if not np.all(np.isfinite([rho, *factors.values()])):
                raise ValueError(_NOT_POSITIVE)
            if rho != 1.0:
                rescale_noise(network.likelihood, rho)
            mode = _with_precision(network, mode, factors, structure, curvature, settings, seed)
            precision = {place: precision[place] * factors[place] for place in precision}
            if max(abs(math.log(factor)) for factor in (rho, *factors.values())) < 0.01:
                break
    return replace(
        _result(network, mode, predictive, model.num_samples, block),
        prior_precision=precision,
        seconds=time.perf_counter() - started,
    )


def _of_target(
    model: Target,
    data: Any,
    structure: Structure,
    given: dict[str, str],
    steps: int,
    batch_size: int | None,
    train_likelihood: bool,
    seed: Seed,
) -> Laplace:
    """Laplace's approximation of a density that is no network's."""
    if structure not in ("full", "diagonal"):
        raise ValueError(
            f"structure={structure!r} needs the layers of a network, which a target does not "
            "have: use 'full' or 'diagonal'."
        )
    for name, option in given.items():
        if option != "model":
            raise ValueError(
                f"{name}={option!r} needs a network: the density of a target has no prior or "
                "noise to choose."
            )
    target, log_joint, theta = search(
        model,
        data,
        1,
        steps=steps,
        batch_size=batch_size,
        learning_rate=1.0,  # of Adam, which a target is not for
        train_likelihood=train_likelihood,
        precise=True,
        seed=as_seed(seed),
    )
    H = -hessian_of(log_joint, theta[0])
    if structure == "diagonal":
        H = tf.linalg.diag_part(H)
    q, value = _gaussian(target, theta[0], H, 1, slice(None), _NO_MAXIMUM)
    log_density, gradient_norm = log_joint.with_gradient_norm(theta[0])
    L = int(theta.shape[1])
    return Laplace(
        model=q,
        linearised=None,  # type: ignore[arg-type]
        weight_samples=q,
        log_evidence=log_density + 0.5 * (L * math.log(2 * math.pi) - value),
        gradient_norm=gradient_norm,
        prior_precision={},
        noise_variance=None,
        seconds=0.0,
    )


def _block(space: WeightSpace, structure: Structure) -> slice:
    """The coordinates that have a distribution."""
    if structure != "last layer":
        return slice(None)
    last = list(space.coordinates.values())[-1]
    return slice(last.start, last.stop)


def _check_scales(model: DeepGP) -> None:
    """Refuse priors whose precision cannot be scaled by a factor."""
    for layer in WeightSpace(model.prior_model()).coordinates.values():  # on a copy
        try:
            layer.prior.rescale(1.0)
        except NotImplementedError as error:
            raise ValueError(
                f"prior_precision='marginal likelihood' needs priors of a fixed scale. {error}"
            ) from None


def _separate_priors(network: DeepGP) -> None:
    """Give each layer its own prior, where layers share one, so that each can be rescaled."""
    known: set[int] = set()
    for layer in every_layer(network.layers):
        if isinstance(layer, WeightLayer):
            if id(layer.prior) in known:
                layer.prior = gpflow.utilities.deepcopy(layer.prior)
            known.add(id(layer.prior))


def _check_positive(mode: _Mode) -> None:
    """Refuse a curvature, with that of the priors, which has no logarithm of its determinant."""
    one = tf.ones([], mode.theta.dtype)
    counts = [layer.num_weights for layer in mode.log_joint.space.coordinates.values()]
    ones = tf.ones([len(counts)], mode.theta.dtype)
    if not np.isfinite(log_det(mode.curvature, one, ones, counts)):
        raise ValueError(_NOT_POSITIVE)


def _curvature(
    network: DeepGP,
    log_joint: LogJoint,
    theta: tf.Tensor,
    structure: Structure,
    curvature: Curvature,
) -> AnyCurvature:
    """The curvature of -log p(Y | theta), or the last layer's part of it."""
    if structure == "kron":
        return gauss_newton_factors(network, log_joint, theta)
    diagonal, block = structure == "diagonal", _block(log_joint.space, structure)
    if curvature == "ggn":
        return gauss_newton(log_joint, theta, diagonal=diagonal, block=block)
    matrix = hessian(log_joint, theta)[block, block]
    return tf.linalg.diag_part(matrix) if diagonal else matrix


def _result(
    network: DeepGP, mode: _Mode, predictive: Predictor, num_samples: int, block: slice
) -> Laplace:
    log_joint, theta = mode.log_joint, mode.theta
    L = len(range(int(theta.shape[0]))[block])
    if isinstance(mode.curvature, Mapping):
        _check_positive(mode)
        q: Gaussian = gaussian_of_curvature(network, theta, mode.curvature, num_samples)
        one = tf.ones([], theta.dtype)
        ones = tf.ones([len(mode.curvature)], theta.dtype)
        value = float(log_det(mode.curvature, one, ones, []))
    elif mode.curvature.shape.rank == 1:
        H = mode.curvature + diagonal_of_prior_hessian(log_joint, theta)
        q, value = _gaussian(network, theta, H, num_samples, block)
    else:
        H = mode.curvature + prior_hessian(log_joint, theta)[block, block]
        q, value = _gaussian(network, theta, H, num_samples, block)
    log_density, gradient_norm = log_joint.with_gradient_norm(theta)
    # log p(Y) = log p(Y, theta*) + L/2 log 2 pi - 1/2 log|H|
    log_evidence = log_density + 0.5 * (L * math.log(2 * math.pi) - value)
    linearised = Linearised(q)
    return Laplace(
        model=linearised if predictive == "linearised" else q,
        linearised=linearised,
        weight_samples=q,
        log_evidence=log_evidence,
        gradient_norm=gradient_norm,
        prior_precision={},
        noise_variance=_noise_variance(network),
        seconds=0.0,
    )


def _gaussian(
    model: Any,
    theta: tf.Tensor,
    H: tf.Tensor,
    num_samples: int,
    block: slice,
    complaint: str | None = None,
) -> tuple[Gaussian, float]:
    """N(theta, H^-1) of some coordinates, with the others fixed, and log|H|.

    :param H: [L', L'], or its diagonal [L'].
    :param complaint: the error's text; that of a network by default.
    :raises ValueError: if it is not positive.
    """
    if H.shape.rank == 1:
        if not np.all(H.numpy() > 0):
            raise ValueError(complaint or _NOT_POSITIVE)
        q = Gaussian(model, theta, diagonal=1 / tf.sqrt(H), num_samples=num_samples)
        return q, float(tf.reduce_sum(tf.math.log(H)))
    # With the order of the weights reversed, H = C C^T. Then C^-T, from H^-1 = C^-T C^-1, is
    # lower triangular in the original order.
    C = tf.linalg.cholesky(tf.reverse(H, [0, 1]))
    if not np.all(np.isfinite(C.numpy())):
        raise ValueError(complaint or _NOT_POSITIVE)
    inverse = tf.linalg.triangular_solve(C, tf.eye(H.shape[0], dtype=C.dtype))
    root = tf.reverse(tf.linalg.matrix_transpose(inverse), [0, 1])
    L = int(theta.shape[0])
    before, after, _ = block.indices(L)
    root = tf.pad(root, [[before, L - after], [0, 0]])  # the others are fixed
    q = Gaussian(model, theta, root, num_samples=num_samples)
    return q, float(2 * tf.reduce_sum(tf.math.log(tf.linalg.diag_part(C))))


def _with_precision(
    network: DeepGP,
    mode: _Mode,
    factors: dict[Any, float],
    structure: Structure,
    curvature: Curvature,
    settings: dict[str, Any],
    seed: tf.Tensor,
) -> _Mode:
    """Change the network's priors, and search for the maximum again from the same weights."""
    space = mode.log_joint.space
    parts = []
    for place, layer in space.coordinates.items():
        layer.prior.rescale(1 / math.sqrt(factors[place]))
        parts.append(tf.reshape(layer.z(mode.theta[None]), [-1]) * math.sqrt(factors[place]))
    log_joint = LogJoint(
        WeightSpace(network), network.likelihood, mode.log_joint.X, mode.log_joint.Y
    )
    start = tf.concat(parts, axis=0)[None]
    theta = maximise(log_joint, start, **settings, precise=True, seed=seed)[0]
    matrix = _curvature(network, log_joint, theta, structure, curvature)
    return _Mode(log_joint, theta, matrix)


def _noise_variance(network: DeepGP) -> float | None:
    try:
        check_noise(network.likelihood)
    except ValueError:
        return None
    return float(noise_variance(network.likelihood))


_NOT_POSITIVE = (
    "The curvature of the log density is not positive: the search has not ended at a maximum, the "
    "density has a kink there, as with relu, or the likelihood is not log-concave, such as "
    "StudentT. Use curvature='ggn' with a log-concave likelihood, a smooth nonlinearity, or more "
    "steps."
)

_NO_MAXIMUM = (
    "The curvature of the target's log density is not positive: the search has not ended at a "
    "maximum, because there is none or because it needs more steps. Check log_prob, choose other "
    "coordinates, or take more steps."
)
