"""Prior precisions and noise that maximise Laplace's approximation of the evidence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import gpflow
import tensorflow as tf
from gpflow.base import PriorOn
from gpflow.likelihoods import Gaussian

from ..core.noise import constant_variance
from .kronecker import Factors
from .log_joint import LogJoint

AnyCurvature: TypeAlias = tf.Tensor | Mapping[Any, Factors]
"""Curvature of -log p(Y | theta): a matrix [L, L], its diagonal [L], or the factors of layers."""


def best_factors(
    log_joint: LogJoint, theta: tf.Tensor, curvature: AnyCurvature, *, prior: bool, noise: bool
) -> tuple[dict[Any, float], float]:
    """Factors tau on the layers' prior precisions, and rho on the noise variance, at fixed weights.

    With theta in the current units, z' = sqrt(tau) z and e the residuals of N Q targets in units
    of the present noise, they maximise (MacKay 1992; Immer et al. 2021)::

        - 1/2 |e|^2 / rho - N Q / 2 log rho
        + sum_l 1/2 [ K_l log tau_l - tau_l |z_l|^2 ] - 1/2 log|H_lik / rho + diag(tau)|

    and the log density of GPflow's prior on the noise, if it has one.

    :param theta: [L].
    :param prior: True to choose tau; otherwise it is 1.
    :param noise: True to choose rho; otherwise it is 1.
    :return: tau by the layers' positions, and rho.
    """
    coordinates = log_joint.space.coordinates
    counts = [layer.num_weights for layer in coordinates.values()]
    squares = tf.stack([tf.reduce_sum(one.z(theta[None]) ** 2) for one in coordinates.values()])
    sizes = tf.constant(counts, theta.dtype)
    log_tau = tf.Variable(tf.zeros([len(counts)], theta.dtype))
    log_rho = tf.Variable(tf.zeros([], theta.dtype))
    residuals = num_targets = tf.zeros([], theta.dtype)
    if noise:
        error = log_joint.Y - log_joint.space.functions(theta[None], log_joint.X)[0]
        residuals = tf.reduce_sum(tf.square(error)) / noise_variance(log_joint.likelihood)
        num_targets = tf.cast(tf.size(error), theta.dtype)

    def loss() -> tf.Tensor:
        tau, precision = tf.exp(log_tau), tf.exp(-log_rho)
        of_data = precision * residuals + num_targets * log_rho
        of_prior = tf.reduce_sum(tau * squares - sizes * log_tau)
        value = 0.5 * (of_data + of_prior + log_det(curvature, precision, tau, counts))
        if noise:
            value -= _log_prior_of_noise(log_joint.likelihood, tf.exp(log_rho))
        return value

    chosen = [variable for variable, is_chosen in ((log_tau, prior), (log_rho, noise)) if is_chosen]
    gpflow.optimizers.Scipy().minimize(loss, chosen, options={"maxiter": 50})
    tau = tf.exp(log_tau).numpy().tolist()
    return dict(zip(coordinates, tau, strict=True)), float(tf.exp(log_rho))


def log_det(
    curvature: AnyCurvature, precision: tf.Tensor, tau: tf.Tensor, counts: list[int]
) -> tf.Tensor:
    """Log|precision * curvature + diag(tau)|, [].

    :param tau: [layers], repeated for the `counts` weights of each.
    """
    if isinstance(curvature, Mapping):
        parts = zip(curvature.values(), tf.unstack(tau), strict=True)
        logs = [tf.math.log(precision * one.eigenvalues + own) for one, own in parts]
        return tf.add_n([tf.reduce_sum(log) for log in logs])
    tau = tf.repeat(tau, counts)
    if curvature.shape.rank == 1:
        return tf.reduce_sum(tf.math.log(precision * curvature + tau))
    return tf.linalg.logdet(precision * curvature + tf.linalg.diag(tau))


def check_noise(likelihood: Any) -> None:
    """Refuse likelihoods without one noise variance for all rows and outputs.

    :raises ValueError: for such a likelihood.
    """
    is_gaussian = isinstance(likelihood, Gaussian)
    noise = _noise(likelihood) if is_gaussian else None
    if not isinstance(noise, gpflow.Parameter) or noise.shape.num_elements() != 1:
        with_many = " with a noise for each row or output" if is_gaussian else ""
        raise ValueError(
            "noise='marginal likelihood' needs a Gaussian likelihood of one variance, but the "
            f"likelihood is {type(likelihood).__name__}{with_many}."
        )


def noise_variance(likelihood: Gaussian) -> tf.Tensor:
    """The variance, [], of a likelihood that :func:`check_noise` accepts."""
    return tf.reshape(constant_variance(likelihood), [])


def rescale_noise(likelihood: Gaussian, rho: float) -> None:
    """Multiply the noise variance by a factor."""
    _noise(likelihood).assign(_times(likelihood, tf.constant(rho, _noise(likelihood).dtype)))


def _noise(likelihood: Gaussian) -> Any:
    """The parameter or function of a Gaussian's noise: its variance, or its standard deviation."""
    return likelihood.scale if likelihood.variance is None else likelihood.variance


def _times(likelihood: Gaussian, rho: tf.Tensor) -> tf.Tensor:
    """The parameter's value where the variance is rho times what it is."""
    factor = rho if likelihood.variance is not None else tf.sqrt(rho)
    return factor * tf.convert_to_tensor(_noise(likelihood))


def _log_prior_of_noise(likelihood: Gaussian, rho: tf.Tensor) -> tf.Tensor:
    """`Parameter.log_prior_density` of the noise, with its variance rho times what it is."""
    noise = _noise(likelihood)
    if noise.prior is None:
        return tf.zeros([], rho.dtype)
    value = _times(likelihood, rho)
    if noise.prior_on == PriorOn.CONSTRAINED or noise.transform is None:
        return tf.reduce_sum(noise.prior.log_prob(value))
    log_det = noise.transform.inverse_log_det_jacobian(value, value.shape.ndims)
    return tf.reduce_sum(noise.prior.log_prob(noise.transform.inverse(value))) + log_det
