"""A Gaussian over all weights."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any

import gpflow
import numpy as np
import tensorflow as tf
from gpflow.base import Parameter
from gpflow.utilities import positive, triangular

from ..core.random import fold_in, standard_normal
from ..core.validation import finite_array
from ..models import DeepGP
from .target import Target
from .weight_posterior import WeightPosterior


class DensityPosterior(WeightPosterior):
    """A posterior with a density that is known at every theta."""

    has_density = True
    """True if the posterior has a density."""

    @abstractmethod
    def log_density(self, theta: tf.Tensor) -> tf.Tensor:
        """Log q(theta), [S, L] -> [S], in nats."""


class Gaussian(DensityPosterior):
    """q(theta) = N(mean, root root^T + diag(diagonal^2)): Laplace, full-rank or low-rank VI.

    ``mean`` [L], ``root`` [L, R] and ``diagonal`` [L] are parameters; the latter two are None if
    they were not given. A square root without a diagonal is lower triangular. A root with fewer
    than L columns needs a diagonal to have a density.
    """

    def __init__(
        self,
        model: DeepGP | Target,
        mean: Any,
        root: Any = None,
        diagonal: Any = None,
        *,
        num_samples: int = 1,
    ) -> None:
        """Set up the parameters.

        :param model: as in :class:`WeightPosterior`.
        :param mean: [L].
        :param root: root of the covariance, [L, R]. If it is square and there is no diagonal, only
            its lower triangle is used. None for no root.
        :param diagonal: [L], positive standard deviations of independent terms. None for none.
        :param num_samples: S, the default number of samples.
        :raises TypeError: as :class:`WeightPosterior`.
        :raises ValueError: as :class:`WeightPosterior`; if there is neither root nor diagonal; or
            if an array is not finite, has another shape, or a diagonal is not positive.
        """
        super().__init__(model, num_samples=num_samples)
        L = self.space.size
        if root is None and diagonal is None:
            raise ValueError("A Gaussian needs a root or a diagonal, but has neither.")
        self.mean = Parameter(finite_array("mean", mean, (L,)))
        self.root = self.diagonal = None
        if root is not None:
            root = finite_array("root", root, (L, None))
            if diagonal is None and root.shape[1] == L:
                check_positive("root", np.diag(root))
                self.root = Parameter(np.tril(root), transform=triangular())
            else:
                self.root = Parameter(root)
        if diagonal is not None:
            diagonal = finite_array("diagonal", diagonal, (L,))
            check_positive("diagonal", diagonal)
            self.diagonal = Parameter(diagonal, transform=positive(base="exp"))

    @property
    def has_density(self) -> bool:  # type: ignore[override]
        """True if the covariance is known to have full rank."""
        root = self.root
        return self.diagonal is not None or root is None or root.shape[1] == root.shape[0]

    def sample(self, num_samples: int, seed: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor | None]:
        """Draw theta = mean + root eps + diagonal eps', reparameterised; see the base class."""
        theta = self.mean + tf.zeros([num_samples, 1], self.mean.dtype)
        if self.root is not None:
            shape = [num_samples, self.root.shape[1]]
            eps = standard_normal(shape, fold_in(seed, 0), theta.dtype)
            theta += tf.matmul(eps, self.root, transpose_b=True)
        if self.diagonal is not None:
            theta += self.diagonal * standard_normal(theta.shape, fold_in(seed, 1), theta.dtype)
        elif self.has_density:
            # Not from theta: a root that training has made nearly singular would be inverted.
            return theta, self._log_density(tf.reduce_sum(tf.square(eps), axis=1))
        return theta, self.log_density(theta) if self.has_density else None

    def log_density(self, theta: tf.Tensor) -> tf.Tensor:
        centred = tf.linalg.matrix_transpose(theta - self.mean)  # [L, S]
        if self.diagonal is None:
            return self._log_density(_squares(tf.linalg.triangular_solve(self.root, centred)))
        scaled = centred / self.diagonal[:, None]
        log_det = 2.0 * tf.reduce_sum(tf.math.log(self.diagonal))
        if self.root is None:
            return self._log_density(_squares(scaled), log_det)
        # x^T (I + H H^T)^-1 x = min_u |x - H u|^2 + |u|^2, with H = diag(diagonal)^-1 root
        H = self.root / self.diagonal[:, None]
        B = tf.eye(H.shape[1], dtype=H.dtype) + tf.matmul(H, H, transpose_a=True)
        C = tf.linalg.cholesky(B)
        u = tf.linalg.cholesky_solve(C, tf.matmul(H, scaled, transpose_a=True))
        log_det += 2.0 * tf.reduce_sum(tf.math.log(tf.linalg.diag_part(C)))
        return self._log_density(_squares(scaled - tf.matmul(H, u)) + _squares(u), log_det)

    def _log_density(self, squares: tf.Tensor, log_det: tf.Tensor | None = None) -> tf.Tensor:
        """Log q from squared distances [S] and the log determinant of the covariance.

        :param squares: in units of the covariance.
        :param log_det: that of the square root by default.
        """
        if log_det is None:
            log_det = tf.reduce_sum(tf.math.log(tf.square(tf.linalg.diag_part(self.root))))
        return -0.5 * (squares + log_det + self.mean.shape[0] * math.log(2 * math.pi))

    def spread(self, A: tf.Tensor) -> tf.Tensor:
        """The variances of A theta, for A of [..., L]: [...]."""
        variance = tf.zeros(tf.shape(A)[:-1], A.dtype)
        if self.root is not None:
            product = tf.tensordot(A, tf.convert_to_tensor(self.root), 1)
            variance += tf.reduce_sum(tf.square(product), axis=-1)
        if self.diagonal is not None:
            variance += tf.reduce_sum(tf.square(A * self.diagonal), axis=-1)
        return variance

    def covariance(self, A: tf.Tensor) -> tf.Tensor:
        """The covariances of A theta, for A of [..., N, L]: [..., N, N]."""
        parts = []
        if self.root is not None:
            parts.append(tf.tensordot(A, tf.convert_to_tensor(self.root), 1))
        if self.diagonal is not None:
            parts.append(A * self.diagonal)
        root = tf.concat(parts, axis=-1)
        return tf.matmul(root, root, transpose_b=True)

    def kl_from_standard_normal(self) -> tf.Tensor:
        """KL(q || N(0, I)), [], in nats; for a posterior with a density."""
        # 1/2 [ tr C + |mean|^2 - L - log|C| ], where -log q(mean) = 1/2 [ L log 2 pi + log|C| ]
        parts = [part for part in (self.root, self.diagonal) if part is not None]
        trace = tf.add_n([tf.reduce_sum(tf.square(part)) for part in parts])
        L = self.mean.shape[0]
        log_det = -2.0 * self.log_density(self.mean[None])[0] - L * math.log(2 * math.pi)
        return 0.5 * (trace + tf.reduce_sum(tf.square(self.mean)) - L - log_det)

    def why_no_density(self) -> str:
        return (
            "The posterior has no density: its root is not square, so that the covariance may be "
            "of low rank. Give the Gaussian a diagonal beside its root, or compare by "
            "predict_log_density."
        )


def _squares(columns: tf.Tensor) -> tf.Tensor:
    """|a|^2 of each column, [L, S] -> [S]."""
    return tf.reduce_sum(tf.square(columns), axis=0)


def mean_and_scale(L: int, mean: Any, scale: Any) -> tuple[Parameter, Parameter]:
    """The parameters of theta = mean + scale z, two of [L].

    :raises ValueError: if an array is not finite, has another shape, or `scale` is not positive.
    """
    scale = finite_array("scale", scale, (L,))
    check_positive("scale", scale)
    mean = Parameter(finite_array("mean", mean, (L,)))
    return mean, Parameter(scale, transform=positive(base="exp"))


def check_positive(name: str, values: Any) -> None:
    """Refuse scales that are not positive numbers, or too small for their logarithm."""
    if not np.all(values >= np.finfo(gpflow.default_float()).tiny):
        raise ValueError(
            f"{name} must have positive entries{' on its diagonal' if name == 'root' else ''}, but "
            f"the least is {values.min():.3g}."
        )
