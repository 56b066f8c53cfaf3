"""Models small enough to train in a blink, with the interface that fit asks for."""

import gpflow
import numpy as np
import tensorflow as tf
from gpflow.base import Parameter
from gpflow.utilities import positive

from gpflow_gi.core.jitter import new_jitter_scale
from gpflow_gi.core.random import standard_normal


class LinearModel(gpflow.models.BayesianModel):
    """y = x^T w + noise with q(w) = N(mean, scale^2), its bound estimated with S samples of w."""

    def __init__(self, num_data, num_inputs=2, num_samples=1):
        super().__init__()
        self.num_data = num_data
        self.num_samples = num_samples
        self.mean = Parameter(np.zeros(num_inputs))
        self.scale = Parameter(np.ones(num_inputs), transform=positive())
        self.noise = Parameter(1.0, transform=positive(1e-6))
        self.num_traces = 0

    def maximum_log_likelihood_objective(self, data):
        raise NotImplementedError("fit must use bound_terms")

    def bound_terms(self, data, num_samples=None, seed=None):
        self.num_traces += 1
        X, Y = data
        S = num_samples or self.num_samples
        noise = standard_normal([S, X.shape[1]], seed, X.dtype)
        w = self.mean + self.scale * noise
        error = Y - tf.matmul(X, w, transpose_b=True)
        log_density = -0.5 * (tf.square(error) / self.noise + tf.math.log(2 * np.pi * self.noise))
        scale = self.num_data / tf.cast(tf.shape(X)[0], X.dtype)
        expected_log_likelihood = scale * tf.reduce_sum(log_density) / S
        variance = tf.square(self.scale)
        kl = 0.5 * tf.reduce_sum(variance + self.mean**2 - 1.0 - tf.math.log(variance))
        return expected_log_likelihood, kl


@tf.custom_gradient
def zero_with_gradient_nan_at_zero(level):
    zero = tf.zeros_like(level)
    return zero, lambda upstream: tf.where(level > 0.0, zero, np.nan)


class FailingModel(gpflow.models.BayesianModel):
    """Its parameter falls by the learning rate at every step of SGD, and fails where asked to.

    :param bound: where the bound becomes NaN: below 0.
    :param gradient: where the gradient becomes NaN: at 0, with a bound that is finite.
    """

    def __init__(self, start, fails, in_kl=False, raises=False):
        super().__init__()
        self.num_data = 1
        self.level = Parameter(start)
        self.other = Parameter(1.0)
        self.fails = fails
        self.in_kl = in_kl
        self.raises = raises

    def maximum_log_likelihood_objective(self, data):
        raise NotImplementedError

    def bound_terms(self, data, num_samples=None, seed=None):
        level = tf.convert_to_tensor(self.level)
        if self.fails == "bound":
            nothing = 0.0 * tf.math.log(level)
        else:
            nothing = zero_with_gradient_nan_at_zero(level)
        if self.raises:
            nothing = tf.debugging.check_numerics(nothing, "in a test")
        zero = tf.zeros_like(level)
        rest = -level - 0.5 * self.other**2
        return (rest, nothing) if self.in_kl else (rest + nothing, zero)


class FailingWithDiagnosis(FailingModel):
    def first_non_finite(self, data, num_samples=None, seed=None):
        assert self.level.numpy() < 0.0, "must be asked with the failing parameters"
        assert data[0].shape == [1, 1] and seed.shape == [2]
        return "layer 1 of 1 (Test): its level"


class JitterModel(FailingModel):
    """Its bound is NaN below 0 unless its jitter is at least so many times the default."""

    def __init__(self, start, needed):
        super().__init__(start, "bound")
        self.jitter_scale = new_jitter_scale()
        self.needed = needed

    _TF_MODULE_IGNORED_PROPERTIES = frozenset(
        {*FailingModel._TF_MODULE_IGNORED_PROPERTIES, "jitter_scale"}
    )

    def bound_terms(self, data, num_samples=None, seed=None):
        level = tf.convert_to_tensor(self.level)
        fails = (level < 0.0) & (self.jitter_scale < self.needed)
        # The larger the jitter, the smaller the bound.
        rest = -level - 0.5 * self.other**2 - self.jitter_scale
        return tf.where(fails, tf.constant(np.nan, level.dtype), rest), tf.zeros_like(level)


class SteepModel(gpflow.models.BayesianModel):
    """-1/2 curvature level^2, and NaN beyond 10: gradient ascent diverges at rates above
    2 / curvature."""

    def __init__(self, start, curvature):
        super().__init__()
        self.num_data = 1
        self.level = Parameter(start)
        self.curvature = curvature

    def maximum_log_likelihood_objective(self, data):
        raise NotImplementedError

    def bound_terms(self, data, num_samples=None, seed=None):
        level = tf.convert_to_tensor(self.level)
        bound = -0.5 * self.curvature * level**2
        inside = tf.abs(level) < 10.0
        return tf.where(inside, bound, tf.constant(np.nan, level.dtype)), tf.zeros_like(level)


DATA = (np.zeros((1, 1)), np.zeros((1, 1)))


def linear_data(num_rows=20, num_inputs=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(num_rows, num_inputs))
    Y = X @ rng.normal(size=(num_inputs, 1)) + 0.3 * rng.normal(size=(num_rows, 1))
    return X, Y


def noisy(X, seed, scale=1.0):
    """For fit's augment: rows with noise."""
    return X + scale * standard_normal(tf.shape(X), seed, X.dtype)


def svgp(num_data, kind=gpflow.models.SVGP, kernel=gpflow.kernels.SquaredExponential):
    rng = np.random.default_rng(1)
    return kind(
        kernel(lengthscales=[1.0, 1.0]),
        gpflow.likelihoods.Gaussian(0.1),
        rng.normal(size=(5, 2)),
        num_data=num_data,
    )


def values(model):
    return {path: p.numpy() for path, p in gpflow.utilities.parameter_dict(model).items()}


def assert_same(model, other, tolerance=0.0):
    for (path, a), b in zip(values(model).items(), values(other).values(), strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance, err_msg=path)


def train(model, data, **kwargs):
    from gpflow_gi.training import fit

    return fit(model, data, **{"progress": False, **kwargs})
