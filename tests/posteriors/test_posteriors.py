"""The parameters of the posteriors."""

import gpflow
import numpy as np
import pytest

import gpflow_gi as gi
from gpflow_gi.posteriors.pseudo_data import largest_precision

from ..builders import random_data

M, P = 5, 2


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_precisions_are_what_was_given(scale, rng):
    diagonal = scale * np.exp(rng.normal(size=M))
    T = np.eye(M) + 0.3 * np.tril(rng.normal(size=(M, M)))
    full = scale * T @ T.T
    for value, precision in ((diagonal, "diagonal"), (full, "full")):
        posterior = gi.posteriors.GlobalInducing(M, P, pseudo_precision=value, precision=precision)
        np.testing.assert_allclose(posterior.pseudo_precision, value, rtol=1e-9, atol=1e-9 * scale)
        posterior.pseudo_precision.assign(2 * value)
        np.testing.assert_allclose(
            posterior.pseudo_precision, 2 * value, rtol=1e-9, atol=1e-9 * scale
        )


def test_a_precision_may_be_symmetric_to_rounding_alone():
    """A small element beside large ones: these round to 1e-4. By much more it is refused."""
    Lambda = np.diag([1.0, 1e12, 1e12])
    Lambda[2, 1] = 1e-3
    for difference, is_rounding in ((1e-4, True), (1e-2, False)):
        Lambda[1, 2] = 1e-3 + difference
        arguments = {"pseudo_precision": Lambda, "precision": "full"}
        if is_rounding:
            gi.posteriors.GlobalInducing(3, P, **arguments)
        else:
            with pytest.raises(ValueError, match="must be symmetric"):
                gi.posteriors.GlobalInducing(3, P, **arguments)


@pytest.mark.parametrize(("dtype", "largest"), [(np.float32, 4.0), (np.float64, 10.0)])
def test_a_precision_that_is_singular_to_rounding_can_be_handed_on(dtype, largest, rng):
    gpflow.config.set_default_float(dtype)
    size, num_singular = 20, 0
    for scale in np.linspace(1.0, largest, 15):
        given = gi.posteriors.GlobalInducing(size, P, precision="full")
        variable = given.pseudo_precision.unconstrained_variable
        variable.assign(scale * rng.normal(size=variable.shape))
        Lambda = given.pseudo_precision.numpy()
        units = np.sqrt(np.diag(Lambda))
        num_singular += np.linalg.eigvalsh(Lambda).min() < 0
        taken = gi.posteriors.GlobalInducing(size, P, pseudo_precision=Lambda, precision="full")
        error = np.abs(taken.pseudo_precision - Lambda) / np.outer(units, units)
        assert error.max() < 10 * size * np.finfo(dtype).eps
    assert num_singular > 3


def test_scalars_and_diagonals_stand_for_matrices():
    full = gi.posteriors.GlobalInducing(M, P, pseudo_precision=3.0, precision="full")
    np.testing.assert_allclose(full.pseudo_precision, 3.0 * np.eye(M), atol=1e-12)
    full = gi.posteriors.GlobalInducing(
        M, P, pseudo_precision=np.arange(1.0, M + 1), precision="full"
    )
    np.testing.assert_allclose(full.pseudo_precision, np.diag(np.arange(1.0, M + 1)), atol=1e-12)
    diagonal = gi.posteriors.GlobalInducing(M, P, pseudo_precision=3.0)
    np.testing.assert_allclose(diagonal.pseudo_precision, np.full(M, 3.0))
    np.testing.assert_array_equal(diagonal.pseudo_outputs, np.zeros((M, P)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_no_step_takes_a_precision_past_its_bounds(dtype):
    gpflow.config.set_default_float(dtype)
    posterior = gi.posteriors.GlobalInducing(M, P)
    variable = posterior.pseudo_precision.unconstrained_variable
    for far, bound in ((1e3, largest_precision()), (-1e3, 1 / largest_precision())):
        variable.assign(np.full(M, far))
        np.testing.assert_allclose(posterior.pseudo_precision, bound, rtol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("inference", ["global", "local"])
def test_float32_trains(inference, rng):
    gpflow.config.set_default_float(np.float32)
    gpflow.config.set_default_jitter(1e-4)
    X, Y = random_data(rng, N=40)
    model = gi.architectures.build_deep_gp(X, Y, inference=inference, num_inducing=15)
    assert all(parameter.dtype == np.float32 for parameter in model.parameters)
    before = model.elbo((X, Y), num_samples=20, seed=0)
    gi.fit(model, (X, Y), steps=60, progress=False)
    after = model.elbo((X, Y), num_samples=20, seed=0)
    assert after.dtype == np.float32 and after > before + 5
    mean, variance = model.predict_y(X, seed=0)
    assert mean.dtype == np.float32 and np.all(variance > 0)


@pytest.mark.slow
def test_float32_and_float64_agree(rng):
    X, Y = random_data(rng, N=30)
    bounds = []
    for dtype in (np.float64, np.float32):
        with gpflow.config.as_context():
            gpflow.config.set_default_float(dtype)
            gpflow.config.set_default_jitter(1e-4)
            model = gi.architectures.build_deep_gp(X, Y, num_inducing=15)
            bounds.append(
                [float(model.elbo((X, Y), num_samples=20, seed=i)) / 30 for i in range(20)]
            )
    # Other random numbers, too: the types' generators differ.
    error = np.hypot(*(np.std(b, ddof=1) / np.sqrt(20) for b in bounds))
    assert np.abs(np.mean(bounds[0]) - np.mean(bounds[1])) < 5 * error + 0.01
