"""A Gaussian over all weights whose covariance is a Kronecker product in each layer."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
from gpflow.base import Parameter
from gpflow.utilities import positive

from ..core.random import fold_in, standard_normal
from ..core.validation import finite_array
from ..layers import DenseLayer, Deterministic
from ..layers.dense import DenseBasis
from ..models import DeepGP
from .curvature import chunks, output_hessian
from .gaussian import Gaussian, check_positive
from .log_joint import LogJoint
from .weight_posterior import WeightPosterior


class Factors(NamedTuple):
    """Eigenvectors and eigenvalues of a layer's A (x) G, A over inputs and G over outputs."""

    inputs: tf.Tensor
    """Eigenvectors of A as columns, [K, K]."""

    outputs: tf.Tensor
    """Eigenvectors of G as columns, [P, P]."""

    eigenvalues: tf.Tensor
    """Products of an eigenvalue of A and one of G, [K, P]."""


def gauss_newton_factors(
    network: DeepGP, log_joint: LogJoint, theta: tf.Tensor
) -> dict[Any, Factors]:
    """The Kronecker-factored Gauss-Newton matrix of -log p(Y | theta), layer by layer.

    With a_n the basis functions of a layer at row n and J_n the derivatives of f with respect to
    the layer's outputs::

        A = 1/N sum_n a_n a_n^T,   G = sum_n J_n^T Lambda_n J_n

    (Martens & Grosse 2015; Botev, Ritter & Barber 2017; Ritter, Botev & Barber 2018). Exact for a
    linear layer whose Lambda does not depend on the row; layers are independent of each other.

    :param theta: [L].
    :return: by the layers' positions.
    :raises ValueError: if a layer is neither dense nor deterministic, or if a prior is random.
    """
    N = int(log_joint.X.shape[0])
    space = log_joint.space
    if not space.is_standard_normal:
        raise ValueError("structure='kron' needs priors of a fixed scale.")
    for i, layer in enumerate(network.layers):
        if not isinstance(layer, DenseLayer | Deterministic):
            raise ValueError(
                f"structure='kron' is for dense layers, but layer {i + 1} is a "
                f"{type(layer).__name__}. Use structure='diagonal'."
            )

    def sums(X: tf.Tensor, Y: tf.Tensor) -> dict[Any, tuple[tf.Tensor, tf.Tensor]]:
        units, outputs = {}, {}
        with tf.GradientTape(persistent=True) as tape:
            F = X[None]
            for i, layer in enumerate(network.layers):
                if isinstance(layer, DenseLayer):
                    own = space.coordinates[i]
                    root = own.prior.root_of(own.eta(theta[None]), own.shape[0])
                    units[i] = DenseBasis(F, root, layer.bias).design[0]
                    F = own.function(theta[None])(F)
                    tape.watch(F)
                    outputs[i] = F
                else:
                    F = layer(F)
            columns = tf.unstack(F[0], axis=1)
        Lambda = output_hessian(log_joint, X, F[0], Y)
        found = {}
        for i, h in outputs.items():
            J = tf.stack([tape.gradient(column, h)[0] for column in columns], axis=1)  # [N, Q, P]
            G = tf.einsum("nqp,nqr,nrs->ps", J, Lambda, J)
            found[i] = tf.matmul(units[i], units[i], transpose_a=True) / N, G
        return found

    parts = [sums(X, Y) for X, Y in chunks(log_joint)]
    return {
        place: _decomposed(*(tf.add_n([part[place][k] for part in parts]) for k in (0, 1)))
        for place in parts[0]
    }


def _decomposed(A: tf.Tensor, G: tf.Tensor) -> Factors:
    a, inputs = tf.linalg.eigh(A)
    g, outputs = tf.linalg.eigh(G)
    # A is positive; G may be negative where the likelihood is not log-concave, but not by rounding.
    level = 10 * g.shape[0] * np.finfo(g.dtype.as_numpy_dtype).eps * tf.reduce_max(tf.abs(g))
    g = tf.where(tf.abs(g) <= level, tf.maximum(g, 0.0), g)
    return Factors(inputs, outputs, tf.maximum(a, 0.0)[:, None] * g)


class KroneckerGaussian(Gaussian):
    """q(theta) = N(mean, C), with C = (U (x) V) diag(scale^2) (U (x) V)^T in each layer.

    ``inputs`` are the U [K, K] of the layers, ``outputs`` the V [P, P] and ``scales`` the square
    roots of the variances along their products, [K, P]. Layers are independent of each other. No
    matrix of all weights is formed.
    """

    has_density = True

    def __init__(
        self,
        model: DeepGP,
        mean: Any,
        inputs: Sequence[Any],
        outputs: Sequence[Any],
        scales: Sequence[Any],
        *,
        num_samples: int = 1,
    ) -> None:
        """Set up the parameters.

        :param model: a network of dense layers.
        :param mean: [L].
        :param inputs: orthogonal matrices [K, K], one for each layer of weights.
        :param outputs: orthogonal matrices [P, P].
        :param scales: positive standard deviations, [K, P].
        :param num_samples: S, the default number of samples.
        :raises TypeError: as :class:`WeightPosterior`.
        :raises ValueError: as :class:`WeightPosterior`; if an array is not finite or has another
            shape, if a number of arrays is not that of layers, if a scale is not positive, or if a
            prior of the network is random.
        """
        WeightPosterior.__init__(self, model, num_samples=num_samples)
        space = self.space
        shapes = [layer.shape for layer in getattr(space, "coordinates", {}).values()]
        given = {"inputs": inputs, "outputs": outputs, "scales": scales}
        if not shapes or not space.is_standard_normal:
            raise ValueError("A KroneckerGaussian needs a network whose priors have fixed scales.")
        for name, arrays in given.items():
            if not isinstance(arrays, list | tuple) or len(arrays) != len(shapes):
                raise ValueError(f"{name} must be {len(shapes)} arrays, one for each layer.")
        self.mean = Parameter(finite_array("mean", mean, (space.size,)))
        self.root = self.diagonal = None
        self.inputs, self.outputs, self.scales = [], [], []
        for U, V, scale, (K, P) in zip(inputs, outputs, scales, shapes, strict=True):
            self.inputs.append(Parameter(finite_array("inputs", U, (K, K)), trainable=False))
            self.outputs.append(Parameter(finite_array("outputs", V, (P, P)), trainable=False))
            scale = finite_array("scales", scale, (K, P))
            check_positive("scales", scale)
            self.scales.append(Parameter(scale, transform=positive(base="exp")))

    def sample(self, num_samples: int, seed: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Draw theta = mean + root eps; see the base class."""
        shape = [num_samples, self.mean.shape[0]]
        eps = standard_normal(shape, fold_in(seed, 0), self.mean.dtype)
        theta = self.mean + self._by_layer(eps, lambda U, V, s, E: U @ (s * E) @ tf.transpose(V))
        return theta, self._of_squares(tf.reduce_sum(tf.square(eps), axis=1))

    def log_density(self, theta: tf.Tensor) -> tf.Tensor:
        eps = self._by_layer(theta - self.mean, lambda U, V, s, E: (tf.transpose(U) @ E @ V) / s)
        return self._of_squares(tf.reduce_sum(tf.square(eps), axis=1))

    def _of_squares(self, squares: tf.Tensor) -> tf.Tensor:
        L = self.mean.shape[0]
        return -0.5 * (squares + self._log_det + L * math.log(2 * math.pi))

    @property
    def _log_det(self) -> tf.Tensor:
        return 2.0 * tf.add_n([tf.reduce_sum(tf.math.log(scale)) for scale in self.scales])

    def spread(self, A: tf.Tensor) -> tf.Tensor:
        return tf.reduce_sum(tf.square(self._times_root(A)), axis=-1)

    def covariance(self, A: tf.Tensor) -> tf.Tensor:
        product = self._times_root(A)
        return tf.matmul(product, product, transpose_b=True)

    def _times_root(self, A: tf.Tensor) -> tf.Tensor:
        """A root, for A of [..., L]."""
        flat = tf.reshape(A, [-1, tf.shape(A)[-1]])
        product = self._by_layer(flat, lambda U, V, s, E: s * (tf.transpose(U) @ E @ V))
        return tf.reshape(product, tf.shape(A))

    def kl_from_standard_normal(self) -> tf.Tensor:
        # 1/2 [ tr C + |mean|^2 - L - log|C| ]
        trace = tf.add_n([tf.reduce_sum(tf.square(scale)) for scale in self.scales])
        squares = tf.reduce_sum(tf.square(self.mean))
        return 0.5 * (trace + squares - self.mean.shape[0] - self._log_det)

    def _by_layer(self, theta: tf.Tensor, function: Any) -> tf.Tensor:
        """Apply a function of (U, V, scale, [n, K, P]) to each layer's part of [n, L]."""
        parts, start = [], 0
        for U, V, scale in zip(self.inputs, self.outputs, self.scales, strict=True):
            K, P = scale.shape
            part = tf.reshape(theta[:, start : start + K * P], [-1, K, P])
            tensors = (tf.convert_to_tensor(one) for one in (U, V, scale))
            parts.append(tf.reshape(function(*tensors, part), [-1, K * P]))
            start += K * P
        return tf.concat(parts, axis=1)


def gaussian_of_curvature(
    model: DeepGP, mean: Any, curvature: Mapping[Any, Factors], num_samples: int
) -> KroneckerGaussian:
    """The Gaussian of precision I + curvature, in whitened coordinates."""
    factors = curvature.values()
    return KroneckerGaussian(
        model,
        mean,
        [one.inputs for one in factors],
        [one.outputs for one in factors],
        [1 / tf.sqrt(1.0 + one.eigenvalues) for one in factors],
        num_samples=num_samples,
    )
