"""Whitened Gaussians against dense linear algebra and against their own samples."""

from functools import partial

import numpy as np
import pytest
import tensorflow as tf

from gpflow_gi.core.basis import Basis
from gpflow_gi.core.gaussians import (
    DiagonalGaussian,
    FreeGaussian,
    PointMass,
    StandardNormal,
    WhitenedDraw,
)
from gpflow_gi.core.random import as_seed
from gpflow_gi.core.regression import (
    FunctionSpaceRegression,
    UnitsOfNoiseRegression,
    WeightSpaceRegression,
)
from gpflow_gi.core.weight_root import WeightRoot
from gpflow_gi.posteriors.factorised import IndependentWeights

from ..builders import assert_slope, mean_and_standard_error, random_q_sqrt

K, M, P, N, S = 4, 6, 3, 5, 2


class LinearBasis(Basis):
    """a(x) = x: what a layer's basis is to the Gaussians, with K and M that differ."""

    def __init__(self, inputs):
        self.inputs = tf.convert_to_tensor(inputs)
        self.is_sampled = self.inputs.shape.rank == 3

    def __call__(self, X):
        return tf.linalg.matrix_transpose(X)

    @property
    def design(self):
        return self.inputs

    @property
    def gram(self):
        return tf.matmul(self.inputs, self.inputs, transpose_b=True)

    def cross_gram(self, X):
        return tf.matmul(self.inputs, X, transpose_b=True)

    def variance(self, X):
        return tf.reduce_sum(X**2, axis=-1)

    def covariance(self, X):
        return tf.matmul(X, X, transpose_b=True)

    def residual_variance(self, X, A):
        return tf.zeros([1], A.dtype)

    def residual_covariance(self, X, A):
        return tf.zeros([1, 1], A.dtype)


def function_space(basis, T, V):
    is_diagonal = T.shape.rank == 1
    return (FunctionSpaceRegression if is_diagonal else UnitsOfNoiseRegression)(basis, T, V)


def weight_space(basis, T, V):
    return WeightSpaceRegression(basis, T, V, shared=True)


SPACES = {"function space": function_space, "weight space": weight_space}


def regression(rng, samples=(), precision="full", scale=1.0, space=function_space):
    U = rng.normal(size=(*samples, M, K))
    if precision == "full":
        T = scale * (np.tril(rng.normal(size=(M, M))) + 2 * np.eye(M))
        Lambda = T @ T.T
    else:
        T = scale * rng.uniform(0.5, 2.0, M)
        Lambda = np.diag(T**2)
    V = rng.normal(size=(M, P))
    basis = LinearBasis(U)
    q = space(basis, tf.constant(T), tf.constant(V))
    A = np.swapaxes(U, -1, -2)
    B = np.eye(K) + A @ Lambda @ U
    covariance = np.broadcast_to(np.linalg.inv(B)[..., None, :, :], (*samples, P, K, K))
    return basis, q, np.linalg.solve(B, A @ Lambda @ V), covariance


def own_precisions(rng, samples=(), precision="full"):
    U = rng.normal(size=(*samples, M, K))
    if precision == "full":
        T = np.tril(rng.normal(size=(P, M, M))) + 2 * np.eye(M)
        Lambda = T @ np.swapaxes(T, -1, -2)
    else:
        T = rng.uniform(0.5, 2.0, (P, M))
        Lambda = T[..., None] ** 2 * np.eye(M)
    V = rng.normal(size=(M, P))
    basis = LinearBasis(U)
    q = WeightSpaceRegression(basis, tf.constant(T), tf.constant(V), shared=False)
    A = np.swapaxes(U, -1, -2)[..., None, :, :]
    covariance = np.linalg.inv(np.eye(K) + A @ Lambda @ U[..., None, :, :])
    mean = covariance @ A @ Lambda @ V.T[..., None]
    return basis, q, np.swapaxes(mean[..., 0], -1, -2), covariance


def free(rng):
    q_mu, q_sqrt = rng.normal(size=(K, P)), random_q_sqrt(rng, P, K)
    q = FreeGaussian(tf.constant(q_mu), tf.constant(q_sqrt))
    return LinearBasis(rng.normal(size=(M, K))), q, q_mu, q_sqrt @ np.swapaxes(q_sqrt, -1, -2)


def standard(rng):
    basis = LinearBasis(rng.normal(size=(M, K)))
    q = StandardNormal(basis.zero(P))
    return basis, q, np.zeros((K, P)), np.broadcast_to(np.eye(K), (P, K, K))


def factorised(rng):
    mean, scale = rng.normal(size=(K, P)), rng.uniform(0.5, 1.5, size=(K, P))
    q = DiagonalGaussian(tf.constant(mean), tf.constant(scale))
    return LinearBasis(rng.normal(size=(M, K))), q, mean, scale.T[..., None] ** 2 * np.eye(K)


def sampled_factorised(rng):
    mean, scale = rng.normal(size=(S, K, P)), rng.uniform(0.5, 1.5, size=(S, K, P))
    q = DiagonalGaussian(tf.constant(mean), tf.constant(scale))
    covariance = np.swapaxes(scale, 1, 2)[..., None] ** 2 * np.eye(K)
    return LinearBasis(rng.normal(size=(S, M, K))), q, mean, covariance


def independent_weights(rng):
    """Independent weights of two places, correlated by the prior, and two channels: z = R^-1 w."""
    T = np.eye(2) + 0.5 * rng.normal(size=(2, 2))
    mean, scale = rng.normal(size=(K, P)), rng.uniform(0.5, 1.5, size=(K, P))
    root = WeightRoot(tf.constant(0.7, tf.float64), tf.constant(T))
    q = IndependentWeights(tf.constant(mean), tf.constant(scale), root)
    inverse = np.linalg.inv(0.7 * np.kron(T, np.eye(2)))
    covariance = inverse @ (scale.T[..., None] ** 2 * np.eye(K)) @ inverse.T
    return LinearBasis(rng.normal(size=(M, K))), q, inverse @ mean, covariance


def _variants(make, **arguments):
    return {
        f"{precision}, {len(samples)}": partial(
            make, samples=samples, precision=precision, **arguments
        )
        for precision in ("full", "diagonal")
        for samples in ((), (S,))
    }


MAKERS = {
    **{
        f"{name}, {variant}": make
        for name, space in SPACES.items()
        for variant, make in _variants(regression, space=space).items()
    },
    **{f"own precisions, {name}": make for name, make in _variants(own_precisions).items()},
    "factorised": factorised,
    "factorised, sampled": sampled_factorised,
    "factorised, correlated by the prior": independent_weights,
    "free": free,
    "standard": standard,
}
gaussians = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())


@gaussians
def test_moments_and_divergence_agree_with_dense_algebra(make, rng):
    basis, q, mean, covariance = make(rng)
    X = rng.normal(size=(*mean.shape[:-2], N, K))
    np.testing.assert_allclose(q.mean, mean, atol=1e-12)

    projected = np.einsum("...nk,...pkl,...ml->...pnm", X, covariance, X)
    f_mean, ours = q.predict_jointly(basis, tf.constant(X))
    np.testing.assert_allclose(f_mean, X @ mean, atol=1e-11)
    np.testing.assert_allclose(np.broadcast_to(ours, projected.shape), projected, atol=1e-11)
    f_mean, ours = q.predict(basis, tf.constant(X))
    np.testing.assert_allclose(f_mean, X @ mean, atol=1e-11)
    diagonal = np.einsum("...pnn->...np", projected)
    np.testing.assert_allclose(np.broadcast_to(ours, diagonal.shape), diagonal, atol=1e-11)

    # KL( N(mean, covariance) || N(0, I) )
    kl = 0.5 * np.sum(
        np.trace(covariance, axis1=-2, axis2=-1) - K - np.linalg.slogdet(covariance)[1], axis=-1
    ) + 0.5 * np.sum(mean**2, axis=(-2, -1))
    np.testing.assert_allclose(q.kl(), kl, atol=1e-11)


@gaussians
def test_log_ratio_of_a_draw_agrees_with_dense_densities(make, rng):
    _, q, mean, covariance = make(rng)
    draw = q.draw(None, as_seed(1))
    z = draw.z.numpy()
    centred = np.swapaxes(z - mean, -1, -2)
    quadratic = np.einsum("...pk,...pkl,...pl->...p", centred, np.linalg.inv(covariance), centred)
    log_q = -0.5 * np.sum(quadratic + np.linalg.slogdet(covariance)[1], axis=-1)
    log_p = -0.5 * np.sum(z**2, axis=(-2, -1))
    np.testing.assert_allclose(draw.log_p_minus_log_q, log_p - log_q, atol=1e-11)


@gaussians
def test_draws_have_the_moments_and_the_divergence_of_q(make, rng):
    _, q, mean, covariance = make(rng)
    kl = q.kl()
    if mean.ndim == 3:  # q(z | U_s) gives one draw for each of its samples
        drawn = tf.function(lambda seed: vars(q.draw(None, seed)), autograph=False)
        draws = [WhitenedDraw(**drawn(as_seed(seed))) for seed in range(1000)]
        z = np.stack([draw.z for draw in draws])
        log_ratio = np.stack([draw.log_p_minus_log_q for draw in draws])
    else:
        draw = q.draw(100_000, as_seed(0))
        z, log_ratio = draw.z.numpy(), draw.log_p_minus_log_q.numpy()
    estimate, error = mean_and_standard_error(z)
    assert np.all(np.abs(estimate - mean) < 5 * error)
    centred = z - mean
    second, error = mean_and_standard_error(np.einsum("i...kp,i...lp->i...pkl", centred, centred))
    assert np.all(np.abs(second - covariance) < 5 * error)
    estimate, error = mean_and_standard_error(-log_ratio)
    assert np.all(np.abs(estimate - kl) <= 5 * error)


@gaussians
@pytest.mark.parametrize("num_samples", [None, 3])
def test_a_draw_with_its_divergence_is_both(make, num_samples, rng):
    """The result does not depend on earlier calls."""
    _, q, *_ = make(rng)
    alone = q.draw(num_samples, as_seed(0))
    for _ in range(2):  # the first before, the second after the mean was asked for
        draw, kl = q.draw_with_kl(num_samples, as_seed(0))
        np.testing.assert_allclose(draw.z, alone.z, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(draw.log_p_minus_log_q, alone.log_p_minus_log_q, 1e-10, 1e-10)
        np.testing.assert_allclose(kl, q.kl(), rtol=1e-12, atol=1e-12)


def test_a_draw_without_a_sample_axis_has_none(rng):
    _, q, *_ = regression(rng)
    assert q.draw(None, as_seed(0)).z.shape == (K, P)
    assert q.draw(1, as_seed(0)).z.shape == (1, K, P)


@pytest.mark.parametrize("precision", ["full", "diagonal"])
@pytest.mark.parametrize("samples", [(), (S,)])
@pytest.mark.parametrize("space", SPACES.values(), ids=SPACES.keys())
def test_hand_derived_gradients_agree_with_automatic_ones(space, precision, samples, rng):
    """Through the inverse of B, which shares no formula with ours."""
    U = tf.constant(rng.normal(size=(*samples, M, K)))
    V = tf.constant(rng.normal(size=(M, P)))
    T = np.tril(rng.normal(size=(M, M))) + 2 * np.eye(M)
    T = tf.constant(T if precision == "full" else np.diag(T))
    X = tf.constant(rng.normal(size=(*samples, N, K)))
    weights = [tf.constant(rng.normal(size=(*samples, *shape))) for shape in ((), (N, P), (N, 1))]
    joint_weight = tf.constant(rng.normal(size=(*samples, 1, N, N)))

    def total(terms):
        both = zip([*weights, joint_weight], terms, strict=True)
        return tf.add_n([tf.reduce_sum(weight * term) for weight, term in both])

    def ours(U, V, T, X):
        basis = LinearBasis(U)
        q = space(basis, T, V)
        mean, variance = q.predict(basis, X)
        _, jointly = q.predict_jointly(basis, X)
        draw = q.draw(None, as_seed(0))
        return (
            total([q.kl(), mean, variance, jointly])
            + tf.reduce_sum(tf.sin(draw.z) * 0.1)
            + tf.reduce_sum(draw.log_p_minus_log_q)
        )

    def automatic(U, V, T, X):
        A = tf.linalg.matrix_transpose(U)
        G = A * T if precision == "diagonal" else A @ T
        y = T[:, None] * V if precision == "diagonal" else tf.matmul(T, V, transpose_a=True)
        B = tf.eye(K, dtype=tf.float64) + tf.matmul(G, G, transpose_b=True)
        inverse = tf.linalg.inv(B)
        z_mean = inverse @ G @ y
        log_determinant = tf.linalg.slogdet(B)[1]
        kl = 0.5 * (
            P * (tf.linalg.trace(inverse) - K + log_determinant)
            + tf.reduce_sum(z_mean**2, axis=[-2, -1])
        )
        jointly = X @ inverse @ tf.linalg.matrix_transpose(X)
        # Our draw as a function of its noise.
        if space is function_space:  # Matheron's rule, seen from the weights
            seeds = tf.unstack(tf.random.split(as_seed(0), 2))
            z0 = tf.random.stateless_normal([*samples, K, P], seeds[0], dtype=tf.float64)
            noise = tf.random.stateless_normal([*samples, M, P], seeds[1], dtype=tf.float64)
            z = z_mean + inverse @ (z0 - G @ noise)
        else:
            eps = tf.random.stateless_normal([*samples, K, P], as_seed(0), dtype=tf.float64)
            z = z_mean + tf.linalg.triangular_solve(tf.linalg.cholesky(B), eps, adjoint=True)
        centred = z - z_mean
        log_ratio = 0.5 * (
            tf.reduce_sum(centred * (B @ centred) - z**2, axis=[-2, -1]) - P * log_determinant
        )
        terms = [kl, X @ z_mean, tf.linalg.diag_part(jointly)[..., None], jointly[..., None, :, :]]
        return total(terms) + tf.reduce_sum(tf.sin(z) * 0.1) + tf.reduce_sum(log_ratio)

    arguments = (U, V, T, X)
    values, gradients = [], []
    for function in (ours, automatic):
        with tf.GradientTape() as tape:
            tape.watch(arguments)
            value = function(*arguments)
        values.append(value)
        gradients.append(tape.gradient(value, arguments))
    np.testing.assert_allclose(*values, rtol=1e-11)
    for mine, theirs in zip(*gradients, strict=True):
        if mine.shape == (M, M):  # T's upper triangle is not there to be moved
            mine, theirs = np.tril(mine), np.tril(theirs)
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-9)
    directions = [
        rng.normal(size=argument.shape) * (argument.numpy() != 0) for argument in arguments
    ]
    assert_slope(ours, arguments, directions, gradients[0])


@pytest.mark.parametrize("precision", ["full", "diagonal"])
def test_own_precisions_have_the_gradients_of_one_output_regressions(precision, rng):
    U, V = tf.constant(rng.normal(size=(S, M, K))), tf.constant(rng.normal(size=(M, P)))
    T = rng.uniform(0.5, 2.0, (P, M))
    T = tf.constant(T if precision == "diagonal" else T[..., None] * np.eye(M))
    X = tf.constant(rng.normal(size=(S, N, K)))

    def total(basis, T, V, shared):
        q = WeightSpaceRegression(basis, T, V, shared=shared)
        mean, variance = q.predict(basis, X)
        return tf.add_n([tf.reduce_sum(tf.sin(x)) for x in (q.kl() / S, mean, variance)])

    with tf.GradientTape(persistent=True) as tape:
        tape.watch([U, T, V])
        basis = LinearBasis(U)
        together = total(basis, T, V, shared=False)
        q = WeightSpaceRegression(basis, T, V, shared=False)
        each = [WeightSpaceRegression(basis, T[p], V[:, p : p + 1], shared=True) for p in range(P)]
        predictions = [one.predict(basis, X) for one in each]
        apart = tf.reduce_sum(tf.sin(tf.add_n([one.kl() for one in each]) / S)) + tf.add_n(
            [tf.reduce_sum(tf.sin(x)) for prediction in predictions for x in prediction]
        )
    np.testing.assert_allclose(together, apart, rtol=1e-11)
    np.testing.assert_allclose(q.mean, tf.concat([one.mean for one in each], -1), atol=1e-12)
    for mine, theirs in zip(
        tape.gradient(together, [U, T, V]), tape.gradient(apart, [U, T, V]), strict=True
    ):
        np.testing.assert_allclose(mine, theirs, atol=1e-10)


@pytest.mark.parametrize("precision", ["full", "diagonal"])
@pytest.mark.parametrize("samples", [(), (S,)])
@pytest.mark.parametrize("rows", [K - 2, K, M])
def test_both_spaces_agree(rows, precision, samples, rng):
    U, V = rng.normal(size=(*samples, rows, K)), tf.constant(rng.normal(size=(rows, P)))
    T = np.tril(rng.normal(size=(rows, rows))) + 2 * np.eye(rows)
    T = tf.constant(T if precision == "full" else np.diag(T))
    X = tf.constant(rng.normal(size=(*samples, N, K)))
    basis = LinearBasis(U)
    function, weight = (space(basis, T, V) for space in SPACES.values())
    np.testing.assert_allclose(function.mean, weight.mean, atol=1e-8)
    np.testing.assert_allclose(function.kl(), weight.kl(), atol=1e-8)
    for predict in ("predict", "predict_jointly"):
        both = [getattr(q, predict)(basis, X) for q in (function, weight)]
        for mine, theirs in zip(*both, strict=True):
            np.testing.assert_allclose(mine, theirs, atol=1e-8)
    draw = weight.draw(None, as_seed(0))
    np.testing.assert_allclose(
        draw.log_p_minus_log_q, function.log_p_minus_log_q(draw.z), atol=1e-8
    )


@pytest.mark.parametrize("rows", [2, 40])
def test_float32_survives_collinear_features_of_any_size(rows, rng):
    """Features as in a deep network: one direction, about a thousand times too large."""
    direction, along = rng.normal(size=(1, 30)), rng.normal(size=(rows, 1))
    U = 1e3 * (along @ direction + 1e-5 * rng.normal(size=(rows, 30))).astype(np.float32)
    T, V = np.full(rows, 200, np.float32), rng.normal(size=(rows, P)).astype(np.float32)
    q = weight_space(LinearBasis(U), tf.constant(T), tf.constant(V))
    draw = q.draw(50, as_seed(0))
    assert np.all(np.isfinite(draw.z)) and np.isfinite(q.kl())
    # KL and draws are of the same Gaussian.
    estimate, error = mean_and_standard_error(-draw.log_p_minus_log_q.numpy())
    assert abs(estimate - q.kl()) < 5 * error


def test_a_point_mass_has_values_and_no_density(rng):
    z = tf.constant(rng.normal(size=(S, K, P)))
    basis = LinearBasis(rng.normal(size=(M, K)))
    q = PointMass(z)
    X = tf.constant(rng.normal(size=(N, K)))
    for predict in (q.predict, q.predict_jointly):
        mean, spread = predict(basis, X)
        np.testing.assert_allclose(mean, X @ z)
        assert not np.any(spread)
    draw = q.draw(S, as_seed(0))
    np.testing.assert_array_equal(draw.z, z)
    assert np.all(np.isnan(q.kl())) and np.all(np.isnan(draw.log_p_minus_log_q))


@pytest.mark.parametrize("space", SPACES.values(), ids=SPACES.keys())
def test_second_derivatives_are_refused(space, rng):
    V = tf.constant(rng.normal(size=(M, P)))
    T = tf.ones([M], tf.float64)
    basis = LinearBasis(rng.normal(size=(M, K)))
    for quantity in (
        lambda q: q.kl(),
        lambda q: tf.add_n(map(tf.reduce_sum, q.predict(basis, basis.inputs))),
        lambda q: tf.reduce_sum(q.mean),
    ):
        with tf.GradientTape() as outer:
            outer.watch(T)
            with tf.GradientTape() as inner:
                inner.watch(T)
                value = quantity(space(basis, T, V))
            gradient = inner.gradient(value, T)
        with pytest.raises(Exception, match="first derivatives in reverse mode only"):
            outer.gradient(gradient, T)


@pytest.mark.parametrize("space", SPACES.values(), ids=SPACES.keys())
def test_the_posterior_survives_extreme_precisions(space, rng):
    # Rounding is multiplied by Lambda where the kernel matrix is singular, as it is with M > K.
    for scale, tolerance in ((1e-6, 1e-12), (1e4, 1e-6)):
        _, q, mean, _ = regression(rng, scale=scale, space=space)
        np.testing.assert_allclose(q.mean, mean, atol=tolerance)
        assert np.isfinite(q.kl())


def nearly_singular_root(rng, size):
    """T = diag(d) (I + N), with an inverse of about 1e8."""
    lower = np.tril(rng.choice([-2.0, 2.0], (size, size)), -1)
    T = rng.uniform(0.1, 0.2, size)[:, None] * (np.eye(size) + lower)
    assert np.abs(np.linalg.inv(T)).max() > 1e7
    return T


@pytest.mark.parametrize("dtype, tolerance", [(np.float64, 1e-12), (np.float32, 1e-4)])
def test_a_full_precision_is_not_inverted(rng, dtype, tolerance):
    """The forms that need T^-1 lose everything here."""
    size = 30
    U, V = rng.normal(size=(size, size)) / np.sqrt(size), rng.normal(size=(size, P))
    T, X = nearly_singular_root(rng, size), rng.normal(size=(N, size))
    H, y = T.T @ U, T.T @ V
    B = np.eye(size) + H.T @ H
    mean = np.linalg.solve(B, H.T @ y)
    spread = X @ np.linalg.solve(B, X.T)
    log_determinant = np.linalg.slogdet(B)[1]
    kl = 0.5 * P * (np.trace(np.linalg.inv(B)) - size + log_determinant) + 0.5 * np.sum(mean**2)

    basis = LinearBasis(U.astype(dtype))
    arguments = [tf.constant(array.astype(dtype)) for array in (T, V)]
    with tf.GradientTape() as tape:
        tape.watch(arguments)
        q = UnitsOfNoiseRegression(basis, *arguments)
        bound = q.kl()
    moments = q.predict_jointly(basis, tf.constant(X.astype(dtype)))
    scale = max(1.0, np.abs(mean).max())
    np.testing.assert_allclose(q.mean / scale, mean / scale, atol=tolerance)
    np.testing.assert_allclose(moments[0] / scale, X @ mean / scale, atol=10 * tolerance)
    np.testing.assert_allclose(moments[1][0], spread, atol=10 * tolerance)
    np.testing.assert_allclose(bound, kl, rtol=10 * tolerance)
    other = weight_space(LinearBasis(U), tf.constant(T), tf.constant(V))
    np.testing.assert_allclose(other.kl(), kl, rtol=1e-12)
    assert all(np.all(np.isfinite(gradient)) for gradient in tape.gradient(bound, arguments))
