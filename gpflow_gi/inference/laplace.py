"""Laplace approximations of the posterior over all weights."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import gpflow
import numpy as np
import tensorflow as tf

from ..core.random import Seed, as_seed
from ..core.validation import is_one_of, shown
from ..models import DeepGP, Predictive
from .curvature import gauss_newton, hessian, prior_hessian
from .gaussian import Gaussian
from .linearised import Linearised
from .log_joint import LogJoint
from .map_estimate import search
from .maximise import maximise
from .weight_space import WeightSpace

Structure: TypeAlias = Literal["full", "diagonal", "last layer"]
Curvature: TypeAlias = Literal["ggn", "hessian"]
PriorPrecision: TypeAlias = Literal["model", "marginal likelihood"]
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
    """Predictions of the network linearised at the maximum."""

    weight_samples: Gaussian
    """Predictions of the network with weights drawn from the Gaussian."""

    log_evidence: float
    """Laplace's approximation of log p(Y), in nats (MacKay 1992); for the last layer alone, of
    log p(Y, theta') with the other weights theta' as they are."""

    gradient_norm: float
    """The largest derivative of log p(Y, theta) at the maximum, in absolute value."""

    prior_precision: dict[Any, float]
    """Factors on the prior precisions of the layers, by their position in the model."""

    seconds: float
    """The time taken in seconds, compilation included."""


@dataclass(frozen=True)
class _Mode:
    """A maximum, and the curvature of -log p(Y | theta) there: [L, L], or its diagonal [L]."""

    log_joint: LogJoint
    theta: tf.Tensor
    curvature: tf.Tensor


def laplace(
    model: DeepGP,
    data: tuple[Any, Any],
    *,
    structure: Structure = "full",
    curvature: Curvature = "ggn",
    prior_precision: PriorPrecision = "model",
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

    :param model: as in :func:`map_estimate`.
    :param data: X [N, D] and Y [N, Q], all rows that the model was built for.
    :param structure: "full", a matrix [L, L] of all L weights; "diagonal"; or "last layer", a full
        matrix of that layer alone, with the other weights fixed (Kristiadi, Hein & Hennig 2020).
    :param curvature: curvature of the log likelihood: "ggn", the generalised Gauss-Newton matrix,
        which is never negative; or "hessian".
    :param prior_precision: "model", the priors as they are; or "marginal likelihood": one factor
        for each layer, which maximises the approximate evidence in alternation with the weights
        (Immer et al. 2021, "Scalable marginal likelihood estimation"); for priors of a fixed scale.
    :param predictive: the kind of ``result.model``: "linearised", the network linearised in its
        weights, which matches the Gauss-Newton matrix; or "weight samples", the network itself
        with weights drawn from the Gaussian.
    :param steps: as in :func:`map_estimate`.
    :param batch_size: as in :func:`map_estimate`.
    :param learning_rate: as in :func:`map_estimate`.
    :param train_likelihood: as in :func:`map_estimate`.
    :param seed: seed of the start and of the minibatches.
    :return: both predictives, and diagnostics.
    :raises TypeError: if `model` is not a DeepGP.
    :raises ValueError: as :func:`map_estimate`; if an option is unknown; if there are too many
        weights for a full covariance; if the curvature is not positive, which is possible for a
        Hessian if the search did not reach a maximum; or if the prior precision of a layer cannot
        be changed.

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
        ("structure", structure, ("full", "diagonal", "last layer")),
        ("curvature", curvature, ("ggn", "hessian")),
        ("prior_precision", prior_precision, ("model", "marginal likelihood")),
        ("predictive", predictive, ("linearised", "weight samples")),
    ):
        if not is_one_of(value, known):
            raise ValueError(f"{name} must be one of {', '.join(known)}, but is {shown(value)}.")
    space = WeightSpace(model)
    block = _block(space, structure)
    size = space.size if curvature == "hessian" else len(range(space.size)[block])
    if size > MOST_COORDINATES and (structure != "diagonal" or curvature == "hessian"):
        raise ValueError(
            f"The model has {size:,} weights, and a matrix of all of them is allowed up to "
            f"{MOST_COORDINATES:,}. Use structure='diagonal' with curvature='ggn', or make the "
            "layers narrower."
        )
    if prior_precision == "marginal likelihood":
        if structure == "last layer":
            raise ValueError(
                "prior_precision='marginal likelihood' needs the weights of all layers, but "
                "structure='last layer' fixes the others."
            )
        _check_scales(model)
    settings: dict[str, Any] = {
        "steps": steps,
        "batch_size": batch_size,
        "learning_rate": learning_rate,
    }
    seed = as_seed(seed)
    network, log_joint, theta = search(
        model, data, 1, **settings, train_likelihood=train_likelihood, precise=True, seed=seed
    )
    mode = _Mode(log_joint, theta[0], _curvature(log_joint, theta[0], structure, curvature))
    precision = dict.fromkeys(log_joint.space.coordinates, 1.0)
    if prior_precision == "marginal likelihood":
        for _ in range(_ROUNDS):
            factors = _best_precision(mode)
            mode = _with_precision(network, mode, factors, structure, curvature, settings, seed)
            precision = {place: precision[place] * factors[place] for place in precision}
            if max(abs(math.log(factor)) for factor in factors.values()) < 0.01:
                break
    return replace(
        _result(network, mode, predictive, model.num_samples, block),
        prior_precision=precision,
        seconds=time.perf_counter() - started,
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


def _curvature(
    log_joint: LogJoint, theta: tf.Tensor, structure: Structure, curvature: Curvature
) -> tf.Tensor:
    """The curvature of -log p(Y | theta): [L, L], or its diagonal [L], or a layer's part of it."""
    diagonal, block = structure == "diagonal", _block(log_joint.space, structure)
    if curvature == "ggn":
        return gauss_newton(log_joint, theta, diagonal=diagonal, block=block)
    matrix = hessian(log_joint, theta)[block, block]
    return tf.linalg.diag_part(matrix) if diagonal else matrix


def _result(
    network: DeepGP, mode: _Mode, predictive: Predictor, num_samples: int, block: slice
) -> Laplace:
    log_joint, theta = mode.log_joint, mode.theta
    prior = prior_hessian(log_joint, theta)[block, block]
    L = int(prior.shape[0])
    if mode.curvature.shape.rank == 1:
        H = mode.curvature + tf.linalg.diag_part(prior)
        if not np.all(H.numpy() > 0):
            raise ValueError(_NOT_POSITIVE)
        q = Gaussian(network, theta, diagonal=1 / tf.sqrt(H), num_samples=num_samples)
        log_det = tf.reduce_sum(tf.math.log(H))
    else:
        # With the order of the weights reversed, H = C C^T. Then C^-T, from H^-1 = C^-T C^-1, is
        # lower triangular in the original order.
        C = tf.linalg.cholesky(tf.reverse(mode.curvature + prior, [0, 1]))
        if not np.all(np.isfinite(C.numpy())):
            raise ValueError(_NOT_POSITIVE)
        inverse = tf.linalg.triangular_solve(C, tf.eye(L, dtype=C.dtype))
        root = tf.reverse(tf.linalg.matrix_transpose(inverse), [0, 1])
        before, after, _ = block.indices(int(theta.shape[0]))
        root = tf.pad(root, [[before, int(theta.shape[0]) - after], [0, 0]])  # the others are fixed
        q = Gaussian(network, theta, root, num_samples=num_samples)
        log_det = 2 * tf.reduce_sum(tf.math.log(tf.linalg.diag_part(C)))
    log_density, gradient_norm = log_joint.with_gradient_norm(theta)
    # log p(Y) = log p(Y, theta*) + L/2 log 2 pi - 1/2 log|H|
    log_evidence = log_density + 0.5 * (L * math.log(2 * math.pi) - float(log_det))
    linearised = Linearised(q)
    return Laplace(
        model=linearised if predictive == "linearised" else q,
        linearised=linearised,
        weight_samples=q,
        log_evidence=log_evidence,
        gradient_norm=gradient_norm,
        prior_precision={},
        seconds=0.0,
    )


def _best_precision(mode: _Mode) -> dict[Any, float]:
    """Factors tau on the layers' prior precisions that maximise the approximate evidence.

    With theta in the current units and z' = sqrt(tau) z:
    sum_l 1/2 [ K_l log tau_l - tau_l |z_l|^2 ] - 1/2 log|H_lik + diag(tau)|
    """
    coordinates = mode.log_joint.space.coordinates
    counts = [layer.num_weights for layer in coordinates.values()]
    squares = tf.stack(
        [tf.reduce_sum(layer.z(mode.theta[None]) ** 2) for layer in coordinates.values()]
    )
    sizes = tf.constant(counts, mode.theta.dtype)
    log_tau = tf.Variable(tf.zeros([len(counts)], mode.theta.dtype))

    def loss() -> tf.Tensor:
        tau = tf.repeat(tf.exp(log_tau), counts)
        if mode.curvature.shape.rank == 1:
            log_det = tf.reduce_sum(tf.math.log(mode.curvature + tau))
        else:
            log_det = tf.linalg.logdet(mode.curvature + tf.linalg.diag(tau))
        return 0.5 * (tf.reduce_sum(tf.exp(log_tau) * squares - sizes * log_tau) + log_det)

    gpflow.optimizers.Scipy().minimize(loss, [log_tau], options={"maxiter": 50})
    return dict(zip(coordinates, tf.exp(log_tau).numpy().tolist(), strict=True))


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
    theta = maximise(log_joint, start, (), **settings, precise=True, seed=seed)[0]
    return _Mode(log_joint, theta, _curvature(log_joint, theta, structure, curvature))


_NOT_POSITIVE = (
    "The curvature of the log density is not positive: the search has not ended at a maximum, or "
    "the density has a kink there, as with relu. Use curvature='ggn', a smooth nonlinearity, or "
    "more steps."
)
