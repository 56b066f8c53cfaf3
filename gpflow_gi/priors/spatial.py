"""Gaussian priors over a convolution's weights with a random spatial covariance."""

from typing import Any

import gpflow
import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp
from gpflow.base import Parameter, TensorType
from gpflow.utilities import positive

from ..core.random import split
from ..core.validation import finite_array, positive_integer, positive_number, shown
from ..core.weight_root import WeightRoot
from .base import WeightPrior, WeightScale


class SpatialIWPrior(WeightPrior):
    """An inverse-Wishart prior over the spatial dimensions of a convolution: the paper's eq. 19.

        S = scale^2 L^-1 (x) I,    p(L) = W^-1(d I, d),    q(L) = W^-1(d I + Psi, d + nu)

    (x) is the Kronecker product of a matrix over the K = height * width places of a kernel and the
    identity over channels. So L^-1, the covariance of a filter over its places, has a Wishart
    distribution of mean I and of d degrees of freedom, by default d = N + 1 with N the number of
    weights of a filter. The variational parameters Psi [K, K], positive definite, and nu, positive,
    are learned. All else is constant, so bounds can be compared with those of other priors.

    The larger d is, the closer filters are to white noise: the relative deviation of an entry of
    L^-1 is sqrt(2 / d). The authors' published code has about d = K + 1; set it with
    `degrees_of_freedom`.
    """

    kernel_size: tuple[int, int]

    def __init__(
        self,
        kernel_size: Any,
        *,
        scale: float = 1.0,
        degrees_of_freedom: float | None = None,
        nu: float = 1.0,
        psi: Any = 1.0,
    ) -> None:
        """Set p(L) and the initial q(L).

        :param kernel_size: height and width, or one number for both.
        :param scale: factor on the weights' standard deviation, a constant.
        :param degrees_of_freedom: d, a constant above K - 1; None for N + 1.
        :param nu: initial difference of the degrees of freedom of q(L) and p(L).
        :param psi: Psi, initial difference of the scale matrices of q(L) and p(L): [K, K], or a
            number for a multiple of the identity. With nu = psi, the mean of L^-1 is that of the
            prior.
        :raises ValueError: if `kernel_size` is no size, if a number is not positive, if
            `degrees_of_freedom` is too small, or if `psi` is not positive definite.
        """
        super().__init__()
        sizes = kernel_size if isinstance(kernel_size, tuple | list) else (kernel_size,) * 2
        if len(sizes) != 2:
            raise ValueError(
                f"kernel_size must be one integer or two, but is {shown(kernel_size)}."
            )
        height, width = (positive_integer("kernel_size", size) for size in sizes)
        self.kernel_size = (height, width)
        self.scale = positive_number("scale", scale)
        if degrees_of_freedom is not None:
            degrees_of_freedom = positive_number("degrees_of_freedom", degrees_of_freedom)
            if degrees_of_freedom <= self.num_places - 1:
                raise ValueError(
                    f"degrees_of_freedom must exceed {self.num_places - 1}, one less than the "
                    f"places of a {height} x {width} kernel, but is {degrees_of_freedom:g}."
                )
        self.degrees_of_freedom = degrees_of_freedom
        # The information of n filters on their covariance makes nu and Psi about n: they grow by
        # orders of magnitude, and steps in their logarithms are relative.
        self.nu = Parameter(positive_number("nu", nu), transform=positive(base="exp"))
        triangle = tfp.bijectors.FillScaleTriL(diag_bijector=tfp.bijectors.Exp(), diag_shift=None)
        self.psi = Parameter(
            _positive_definite("psi", psi, self.num_places),
            transform=tfp.bijectors.Chain([tfp.bijectors.CholeskyOuterProduct(), triangle]),
        )

    @property
    def num_places(self) -> int:
        """K, the number of places of the kernel."""
        height, width = self.kernel_size
        return height * width

    @property
    def is_type_ii(self) -> bool:
        return False

    @property
    def num_coordinates(self) -> int:
        """K (K + 1) / 2, the entries of a triangular T with L^-1 = T T^T; each is of about unit
        scale.

        They are sqrt(d) T_ij below the diagonal and sqrt(2 d) log T_ii on it, in the order of
        TensorFlow Probability's FillTriangular.
        """
        return self.num_places * (self.num_places + 1) // 2

    def log_density_of_coordinates(self, eta: TensorType, num_weights: int) -> tf.Tensor:
        # A = sqrt(d) T is Bartlett's factor: with standard normal entries below the diagonal, and
        # independent chi squares of k = d - i degrees of freedom for the squares of those on it.
        eta, num_weights = self._check_coordinates(eta, num_weights)
        d = self._prior_degrees_of_freedom(num_weights)
        triangle = tfp.math.fill_triangular(tf.cast(eta, tf.float64))
        on_diagonal = tf.linalg.diag_part(triangle)
        below = tf.linalg.set_diag(triangle, tf.zeros_like(on_diagonal))
        # log p(log A_ii) = k log A_ii - A_ii^2 / 2 + (1 - k / 2) log 2 - log Gamma(k / 2)
        log_A = on_diagonal / np.sqrt(2 * d) + np.log(d) / 2
        half_k = _half_counts(tf.constant(d, tf.float64), self.num_places)
        chi = 2 * half_k * log_A - tf.exp(2 * log_A) / 2 + (1 - half_k) * np.log(2.0)
        chi -= tf.math.lgamma(half_k) + np.log(2 * d) / 2
        num_below = self.num_coordinates - self.num_places
        normal = tf.reduce_sum(tf.square(below), [-2, -1]) + num_below * np.log(2 * np.pi)
        return tf.cast(tf.reduce_sum(chi, axis=-1) - normal / 2, eta.dtype)

    def draw_coordinates(self, num_samples: int, num_weights: int, seed: tf.Tensor) -> tf.Tensor:
        d = self._prior_degrees_of_freedom(num_weights)
        A = _bartlett(tf.constant(d, tf.float64), self.num_places, num_samples, seed)
        on_diagonal = np.sqrt(2 * d) * (tf.math.log(tf.linalg.diag_part(A)) - np.log(d) / 2)
        eta = tfp.math.fill_triangular_inverse(tf.linalg.set_diag(A, on_diagonal))
        return tf.cast(eta, self.nu.dtype)

    def root_of(self, eta: TensorType, num_weights: int) -> WeightRoot:
        eta, num_weights = self._check_coordinates(eta, num_weights)
        d = self._prior_degrees_of_freedom(num_weights)
        triangle = tfp.math.fill_triangular(eta)
        on_diagonal = tf.exp(tf.linalg.diag_part(triangle) / np.sqrt(2 * d))
        T = tf.linalg.set_diag(triangle / np.sqrt(d), on_diagonal)
        return WeightRoot(self._scale_of(num_weights), T)

    def follow_prior(self) -> None:
        self.nu.assign(_ALMOST_ZERO)
        self.psi.assign(_ALMOST_ZERO * np.eye(self.num_places))
        for parameter in (self.nu, self.psi):
            gpflow.set_trainable(parameter, False)

    def draw(self, num_weights: int, num_samples: int | None, seed: tf.Tensor) -> WeightScale:
        # L^-1 = T T^T with T = C^-T A, where C C^T = d I + Psi, and A A^T is a draw from the
        # Wishart distribution of scale I: A is lower triangular, with a standard normal below and
        # the root of a chi square on the diagonal (Bartlett, 1933).
        C, df = self._posterior(num_weights)
        A = _bartlett(df, self.num_places, num_samples, seed)
        T = tf.linalg.triangular_solve(C, A, adjoint=True)
        log_ratio = self._log_p_minus_log_q(
            num_weights,
            C,
            df,
            log_det=_log_det(A) - _log_det(C),
            trace=tf.reduce_sum(tf.square(T), [-2, -1]),
            trace_with_scale=tf.reduce_sum(tf.square(A), [-2, -1]),
        )
        dtype = self.nu.dtype
        return WeightScale(
            self._scale_of(num_weights),
            self._kl(num_weights, C, df),
            tf.cast(log_ratio, dtype),
            spatial_sqrt=tf.cast(T, dtype),
        )

    def kl(self, num_weights: int) -> tf.Tensor:
        """KL(q(L) || p(L)).

        :param num_weights: N, the number of weights of a filter.
        :return: [], in nats.
        """
        return self._kl(num_weights, *self._posterior(num_weights))

    def _kl(self, num_weights: int, C: tf.Tensor, df: tf.Tensor) -> tf.Tensor:
        """:meth:`kl`, given :meth:`_posterior`."""
        # log p - log q is linear in the sufficient statistics, whose expectations are known.
        K = self.num_places
        inverse = tf.linalg.triangular_solve(C, tf.eye(K, dtype=C.dtype))
        log_ratio = self._log_p_minus_log_q(
            num_weights,
            C,
            df,
            log_det=tf.reduce_sum(tf.math.digamma(_half_counts(df, K)))
            + K * np.log(2.0)
            - _log_det(C),
            trace=df * tf.reduce_sum(tf.square(inverse)),
            trace_with_scale=df * K,
        )
        return tf.cast(-log_ratio, self.nu.dtype)

    def _scale_of(self, num_weights: int) -> tf.Tensor:
        """The standard deviation of each weight if L is the identity, []."""
        return tf.constant(self.scale / np.sqrt(num_weights), self.nu.dtype)

    def _prior_degrees_of_freedom(self, num_weights: int) -> float:
        """The degrees of freedom d, which the paper writes N + 1."""
        return num_weights + 1 if self.degrees_of_freedom is None else self.degrees_of_freedom

    def _posterior(self, num_weights: int) -> tuple[tf.Tensor, tf.Tensor]:
        """C with C C^T = d I + Psi [K, K], and d + nu []; both in double precision."""
        # Single precision would lose the differences of log Gamma at thousands completely.
        d = self._prior_degrees_of_freedom(num_weights)
        prior = d * tf.eye(self.num_places, dtype=tf.float64)
        C = tf.linalg.cholesky(prior + tf.cast(self.psi, tf.float64))
        return C, d + tf.cast(self.nu, tf.float64)

    def _log_p_minus_log_q(
        self,
        num_weights: int,
        C: tf.Tensor,
        df: tf.Tensor,
        *,
        log_det: tf.Tensor,
        trace: tf.Tensor,
        trace_with_scale: tf.Tensor,
    ) -> tf.Tensor:
        """The ratio log p(L) - log q(L), which is equal for L^-1: both have the same Jacobian.

        :param C: with `df`, :meth:`_posterior`.
        :param log_det: log |L^-1|.
        :param trace: tr L^-1.
        :param trace_with_scale: tr((d I + Psi) L^-1).
        """
        K = self.num_places
        d = tf.constant(self._prior_degrees_of_freedom(num_weights), tf.float64)
        log_p = _log_wishart_density(log_det, d * trace, d, K * tf.math.log(d), K)
        log_q = _log_wishart_density(log_det, trace_with_scale, df, _log_det(C), K)
        return log_p - log_q


_ALMOST_ZERO = 1e-8
"""Smallest initial value: zero has no logarithm; the KL divergence at this value is negligible."""


def _bartlett(df: tf.Tensor, K: int, num_samples: int | None, seed: tf.Tensor) -> tf.Tensor:
    """The factor A of a draw A A^T from the Wishart distribution of scale I: [K, K] or [S, K, K].

    It is differentiable in the degrees of freedom, by implicit reparameterisation (Figurnov et al.,
    2018).
    """
    of_diagonal, below = split(seed, 2)
    size = [] if num_samples is None else [num_samples]
    # A chi square of k degrees of freedom is Gamma(k / 2, 1 / 2).
    chi_square = tf.random.stateless_gamma(
        [*size, K], of_diagonal, _half_counts(df, K), tf.constant(0.5, df.dtype), dtype=df.dtype
    )
    normal = tf.random.stateless_normal([*size, K, K], below, dtype=df.dtype)
    return tf.linalg.set_diag(tf.linalg.band_part(normal, -1, 0), tf.sqrt(chi_square))


def _half_counts(df: tf.Tensor, K: int) -> tf.Tensor:
    """(df - i) / 2 for i = 0, ..., K - 1: [K]."""
    return (df - tf.range(K, dtype=df.dtype)) / 2


def _log_det(triangle: tf.Tensor) -> tf.Tensor:
    """The log determinants log |T T^T| of triangular matrices [..., K, K]: [...]."""
    return 2 * tf.reduce_sum(tf.math.log(tf.linalg.diag_part(triangle)), axis=-1)


def _log_wishart_density(
    log_det: tf.Tensor, trace: tf.Tensor, df: tf.Tensor, log_det_scale: tf.Tensor, K: int
) -> tf.Tensor:
    """Log density of a matrix W [K, K] whose inverse is inverse-Wishart with scale matrix V.

    Terms independent of df and V are left out: -(K + 1) / 2 log |W| - K (K - 1) / 4 log pi.

    :param log_det: log |W|, [] or [S].
    :param trace: tr(V W), [] or [S].
    :param df: [].
    :param log_det_scale: log |V|, [].
    """
    # df/2 log|V W| - tr(V W)/2 - df K/2 log 2 - log Gamma_K(df/2)
    log_gamma = tf.reduce_sum(tf.math.lgamma(_half_counts(df, K)))
    return (df * (log_det_scale + log_det - K * np.log(2.0)) - trace) / 2 - log_gamma


def _positive_definite(name: str, value: Any, K: int) -> np.ndarray:
    """A number times I, or a given matrix: [K, K]."""
    matrix = finite_array(name, value)
    if matrix.ndim == 0:
        return positive_number(name, value) * np.eye(K, dtype=matrix.dtype)
    matrix = finite_array(name, matrix, (K, K))
    least = np.finfo(matrix.dtype).tiny
    if not np.allclose(matrix, matrix.T) or np.linalg.eigvalsh(matrix)[0] < least:
        raise ValueError(f"{name} must be symmetric and positive definite, but is not.")
    return matrix
