"""Whitened Bayesian linear regression, computed in the space of the K weights.

With G = A T, so that G G^T = A Lambda A^T, and the targets y = T^T V in units of their noise,

    B = I + G G^T,    C = chol B,    W = C^-1,
    E z = B^-1 G y = W^T r with r = W G y,    z = W^T (r + eps),    Var a^T z = |W a|^2.

All but W are products. W has a gradient derived by hand, of products alone, where differentiating
through the Cholesky factor would take a multiple of it; and B^-1, whose small eigenvalues float32
would lose, is not formed in either direction.
"""

import tensorflow as tf

from .. import linalg
from ..basis import Basis
from ..whitened import WeightGaussian, WhitenedDraw
from .gradients import Gradient, once_only


class WeightSpaceRegression(WeightGaussian):
    """q(z) = p(z | V), the exact posterior given pseudo-data.

    With a precision for each output, matrices have an axis P before their last two, and what is
    [K, P] otherwise is P columns, [P, K, 1].
    """

    def __init__(self, basis: Basis, T: tf.Tensor, V: tf.Tensor, *, shared: bool) -> None:
        """Condition on pseudo-data; see :func:`gpflow_gi.regression.regress`."""
        self._shared = shared
        is_diagonal = T.shape.rank == (1 if shared else 2)
        A = self._over_outputs(basis.at_inputs())
        V = V if shared else tf.transpose(V)[..., None]
        if is_diagonal:
            G, y = A * T[..., None, :], T[..., :, None] * V
        else:
            G, y = tf.matmul(A, T), tf.matmul(T, V, transpose_a=True)
        self._W = _inverse_root(G)
        self._r = tf.matmul(self._W, tf.matmul(G, y))
        self.mean = self._joined(tf.matmul(self._W, self._r, transpose_a=True))

    def kl(self) -> tf.Tensor:
        # 1/2 [ tr B^-1 + |E z|^2 - K + log|B| ] per output
        K = tf.cast(tf.shape(self._W)[-1], self._W.dtype)
        trace = tf.reduce_sum(tf.square(self._W), axis=[-2, -1])
        divergence = trace - K + self._log_determinant()
        squares = tf.reduce_sum(tf.square(self.mean), axis=[-2, -1])
        return 0.5 * (self._summed_over_outputs(divergence) + squares)

    def draw(self, num_samples: int | None, seed: tf.Tensor) -> WhitenedDraw:
        eps = self._standard_normal(num_samples, seed)
        r = self._columns(eps) + self._r
        if self._shared:
            z = linalg.transposed_product(self._W, r)
        else:
            z = self._joined(tf.matmul(self._W, r, transpose_a=True))
        # 1/2 [ |eps|^2 - |z|^2 - log|B| ] per output
        squares = tf.reduce_sum(tf.square(eps) - tf.square(z), axis=[-2, -1])
        log_determinant = self._summed_over_outputs(self._log_determinant())
        return WhitenedDraw(z, 0.5 * (squares - log_determinant))

    def _spread(self, A: tf.Tensor) -> tf.Tensor:
        half = self._times_W(A)
        variance = linalg.sum_of_squares(half)
        return variance[..., None] if self._shared else tf.linalg.matrix_transpose(variance)

    def _spread_jointly(self, A: tf.Tensor) -> tf.Tensor:
        half = self._times_W(A)
        covariance = tf.matmul(half, half, transpose_a=True)
        return covariance[..., None, :, :] if self._shared else covariance

    def _times_W(self, A: tf.Tensor) -> tf.Tensor:
        if self._shared:
            return linalg.transposed_product(tf.linalg.matrix_transpose(self._W), A)
        return tf.matmul(self._W, self._over_outputs(A))

    def _log_determinant(self) -> tf.Tensor:
        return -2.0 * tf.reduce_sum(tf.math.log(tf.linalg.diag_part(self._W)), axis=-1)

    def _summed_over_outputs(self, each: tf.Tensor) -> tf.Tensor:
        if self._shared:
            return float(self._r.shape[-1]) * each
        return tf.reduce_sum(each, axis=-1)

    def _over_outputs(self, A: tf.Tensor) -> tf.Tensor:
        return A if self._shared else A[..., None, :, :]

    def _columns(self, z: tf.Tensor) -> tf.Tensor:
        """[..., K, P], or P columns."""
        return z if self._shared else tf.linalg.matrix_transpose(z)[..., None]

    def _joined(self, columns: tf.Tensor) -> tf.Tensor:
        """The inverse of :meth:`_columns`."""
        return columns if self._shared else tf.linalg.matrix_transpose(columns[..., 0])


@tf.custom_gradient
def _inverse_root(G: tf.Tensor) -> tuple[tf.Tensor, Gradient]:
    """W = C^-1 with C C^T = I + G G^T, lower triangular, for G of [..., K, M]."""
    identity = tf.eye(G.shape[-2], dtype=G.dtype)
    C = tf.linalg.cholesky(identity + tf.matmul(G, G, transpose_b=True))
    W = tf.linalg.triangular_solve(C, tf.broadcast_to(identity, tf.shape(C)))

    def gradient(dW: tf.Tensor) -> tf.Tensor:
        # From dW = -W dC W and the differential of the Cholesky factor (Murray 2016, eq. 8 and 10):
        #     dB = -1/2 W^T [Phi(dW W^T) + Phi(dW W^T)^T] W,
        # where Phi takes the lower triangle and half of the diagonal; then dG = 2 dB G.
        inner = tf.linalg.band_part(tf.matmul(dW, W, transpose_b=True), -1, 0)
        inner = tf.linalg.set_diag(inner, 0.5 * tf.linalg.diag_part(inner))
        inner += tf.linalg.matrix_transpose(inner)
        dG = -tf.matmul(W, tf.matmul(inner, tf.matmul(W, G)), transpose_a=True)
        return once_only((dG,), G)[0]

    return W, gradient
