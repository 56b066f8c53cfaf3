import numpy as np
import pytest
import tensorflow as tf
from scipy import integrate, stats

from gpflow_gi.metrics import mixtures as metrics

RNG = np.random.default_rng(0)
S, N, P = 4, 5, 2
Y = RNG.normal(size=(N, P))
MEAN = RNG.normal(size=(S, N, P))
VARIANCE = RNG.uniform(0.1, 2.0, size=(S, N, P))


def mixture_cdf(t, mean, variance):
    return stats.norm.cdf(t, mean, np.sqrt(variance)).mean()


def crps_by_its_definition(y, mean, variance):
    """The integral of (F(t) - 1[y <= t])^2 over t."""
    below, _ = integrate.quad(lambda t: mixture_cdf(t, mean, variance) ** 2, -20, y)
    above, _ = integrate.quad(lambda t: (1 - mixture_cdf(t, mean, variance)) ** 2, y, 20)
    return below + above


def test_crps_is_the_integral_that_defines_it():
    crps = metrics.mixture_crps(Y, MEAN, VARIANCE)
    assert crps.shape == (N, P)
    for n, p in np.ndindex(N, P):
        expected = crps_by_its_definition(Y[n, p], MEAN[:, n, p], VARIANCE[:, n, p])
        assert crps[n, p] == pytest.approx(expected, abs=1e-7)


def test_crps_of_one_gaussian():
    """Gneiting & Raftery 2007, eq. 21."""
    mean, deviation = MEAN[0], np.sqrt(VARIANCE[0])
    z = (Y - mean) / deviation
    expected = deviation * (
        z * (2 * stats.norm.cdf(z) - 1) + 2 * stats.norm.pdf(z) - 1 / np.sqrt(np.pi)
    )
    np.testing.assert_allclose(metrics.mixture_crps(Y, MEAN[:1], VARIANCE[:1]), expected)


def test_crps_of_equal_components_is_that_of_one():
    same = np.repeat(MEAN[:1], 7, axis=0), np.repeat(VARIANCE[:1], 7, axis=0)
    expected = metrics.mixture_crps(Y, MEAN[:1], VARIANCE[:1])
    np.testing.assert_allclose(metrics.mixture_crps(Y, *same), expected)


@pytest.mark.parametrize("variance", [0.0, 1e-20])
def test_crps_of_a_point_is_the_absolute_error(variance):
    crps = metrics.mixture_crps(Y, MEAN[:1], np.full_like(MEAN[:1], variance))
    np.testing.assert_allclose(crps, np.abs(Y - MEAN[0]), atol=1e-9)
    assert metrics.mixture_crps(np.zeros(1), np.zeros((3, 1)), np.zeros((3, 1)))[0] == 0


def test_crps_of_points_is_that_of_their_empirical_distribution():
    absolute = np.abs(MEAN - Y).mean(0)
    spread = np.abs(MEAN[:, None] - MEAN[None]).mean((0, 1))
    crps = metrics.mixture_crps(Y, MEAN, np.zeros_like(MEAN))
    np.testing.assert_allclose(crps, absolute - 0.5 * spread)


def test_crps_is_a_proper_score():
    """In expectation over y, no other forecast beats the distribution that y comes from."""
    y = np.random.default_rng(1).normal(0.5, 2.0, size=20_000)

    def score(mean, deviation):
        shape = (1, len(y))
        return metrics.mixture_crps(y, np.full(shape, mean), np.full(shape, deviation**2))

    best = score(0.5, 2.0)
    for mean, deviation in [(0.0, 2.0), (1.0, 2.0), (0.5, 1.5), (0.5, 2.7)]:
        worse = score(mean, deviation) - best
        assert worse.mean() > 3 * worse.std() / np.sqrt(len(y))


def test_log_density_is_that_of_the_mixture():
    density = stats.norm.pdf(Y, MEAN, np.sqrt(VARIANCE)).mean(axis=0)
    np.testing.assert_allclose(metrics.mixture_log_density(Y, MEAN, VARIANCE), np.log(density))
    far = metrics.mixture_log_density(np.full(1, 1e3), np.zeros((2, 1)), np.ones((2, 1)))
    assert far[0] == pytest.approx(-0.5 * 1e6 - 0.5 * np.log(2 * np.pi))


def test_moments_are_those_of_the_mixture():
    mean, variance = metrics.mixture_moments(MEAN, VARIANCE)
    second_moment = (VARIANCE + MEAN**2).mean(axis=0)
    np.testing.assert_allclose(mean, MEAN.mean(axis=0))
    np.testing.assert_allclose(variance, second_moment - mean**2)


@pytest.mark.parametrize("probability", [0.025, 0.5, 0.9])
def test_quantile_inverts_the_distribution_function(probability):
    quantile = metrics.mixture_quantile(probability, MEAN, VARIANCE)
    assert quantile.shape == (N, P)
    reached = stats.norm.cdf(quantile, MEAN, np.sqrt(VARIANCE)).mean(axis=0)
    np.testing.assert_allclose(reached, probability, atol=1e-12)


def test_quantile_of_one_gaussian_and_of_points():
    expected = stats.norm.ppf(0.9, MEAN[0], np.sqrt(VARIANCE[0]))
    np.testing.assert_allclose(metrics.mixture_quantile(0.9, MEAN[:1], VARIANCE[:1]), expected)
    points = np.array([[1.0], [2.0], [3.0]])
    median = metrics.mixture_quantile(0.5, points, np.zeros_like(points))
    np.testing.assert_allclose(median, 2.0)


def test_chunks_change_nothing(monkeypatch):
    crps = metrics.mixture_crps(Y, MEAN, VARIANCE)
    quantile = metrics.mixture_quantile(0.3, MEAN, VARIANCE)
    monkeypatch.setattr(metrics, "_CHUNK", 18)  # three elements of CRPS, four of the quantile
    np.testing.assert_allclose(metrics.mixture_crps(Y, MEAN, VARIANCE), crps)
    np.testing.assert_allclose(metrics.mixture_quantile(0.3, MEAN, VARIANCE), quantile)


@pytest.mark.slow
def test_crps_memory_does_not_grow_with_the_rows():
    """One array over all pairs of components would take 196 MB; the chunks take 4 MB each."""
    import tracemalloc

    mean = np.random.default_rng(2).normal(size=(50, 20_000))
    tracemalloc.start()
    metrics.mixture_crps(np.zeros(20_000), mean, np.ones_like(mean))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100e6


def test_rmse_and_coverage():
    y, mean = np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 2.0, 3.0, 0.0])
    assert metrics.rmse(y, mean) == 2.0
    assert metrics.coverage(y, mean - 1, mean + 1) == 0.75


def test_errors():
    with pytest.raises(ValueError, match=r"y must have the shape .*\(5, 2\), but has \(5,\)"):
        metrics.mixture_crps(Y[:, 0], MEAN, VARIANCE)
    with pytest.raises(ValueError, match="Shapes must be equal"):
        metrics.mixture_log_density(Y, MEAN, VARIANCE[:2])
    with pytest.raises(ValueError, match=r"\(5, 1\) and \(5,\)"):
        metrics.rmse(Y[:, :1], MEAN[0, :, 0])
    with pytest.raises(ValueError, match=r"mean must not be empty, but has shape \[0, 3\]"):
        metrics.mixture_moments(np.zeros((0, 3)), np.zeros((0, 3)))
    with pytest.raises(ValueError, match="S >= 1"):
        metrics.mixture_moments(0.0, 1.0)
    with pytest.raises(ValueError, match="probability"):
        metrics.mixture_quantile(1.0, MEAN, VARIANCE)


MEASURES = {
    "mixture_log_density": metrics.mixture_log_density,
    "mixture_crps": metrics.mixture_crps,
    "mixture_pit": metrics.mixture_pit,
    "mixture_moments": lambda y, mean, variance: metrics.mixture_moments(mean, variance),
    "mixture_quantile": lambda y, mean, variance: metrics.mixture_quantile(0.3, mean, variance),
}


@pytest.mark.parametrize("measure", MEASURES.values(), ids=MEASURES)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, -1.0])
def test_a_bad_variance_is_refused(measure, value):
    variance = VARIANCE.copy()
    variance[2, 1, 0] = value
    bad = r"variance must not be negative, but one is -1\.0"
    if value != -1.0:
        bad = rf"variance must be finite, but variance\[2, 1, 0\] is {value}\."
    with pytest.raises(ValueError, match=bad):
        measure(Y, MEAN, variance)


def test_what_is_not_finite_or_missing_is_refused():
    measures = [
        lambda y: metrics.mixture_log_density(y, MEAN, VARIANCE),
        lambda y: metrics.mixture_crps(y, MEAN, VARIANCE),
        lambda y: metrics.mixture_pit(y, MEAN, VARIANCE),
        lambda y: metrics.rmse(y, Y),
        lambda y: metrics.coverage(y, Y - 1.0, Y + 1.0),
    ]
    hole = np.ma.masked_array(Y, np.arange(Y.size).reshape(Y.shape) == 3)
    for wrong, message in [
        (np.where(np.arange(Y.size).reshape(Y.shape) == 3, np.nan, Y), r"\[1, 1\] is nan"),
        (Y + np.inf, "must be finite"),
        (hole, "1 of them are masked"),
        (None, "must be an array of numbers, but is None"),
        (Y + 0j, "complex"),
    ]:
        for measure in measures:
            with pytest.raises(ValueError, match=message):
                measure(wrong)
    with pytest.raises(ValueError, match=r"variance must be positive.* one is 0\.0"):
        metrics.mixture_log_density(Y, MEAN, 0.0 * VARIANCE)


def test_intervals_may_be_without_ends():
    assert metrics.coverage([1.0, 2.0], [-np.inf, 3.0], [np.inf, np.inf]) == 0.5
    with pytest.raises(ValueError, match=r"lower must not hold NaN, but lower\[0\]"):
        metrics.coverage([1.0], [np.nan], [2.0])


def test_crps_is_that_of_another_package():
    scoringrules = pytest.importorskip("scoringrules", reason="scoringrules is not installed")
    components = (np.moveaxis(values, 0, -1) for values in (MEAN, np.sqrt(VARIANCE)))
    expected = scoringrules.crps_mixnorm(Y, *components)
    np.testing.assert_allclose(metrics.mixture_crps(Y, MEAN, VARIANCE), expected, rtol=1e-10)


def test_pit_is_the_distribution_function_at_the_observation():
    pit = metrics.mixture_pit(Y, MEAN, VARIANCE)
    assert pit.shape == (N, P)
    for n, p in np.ndindex(N, P):
        expected = mixture_cdf(Y[n, p], MEAN[:, n, p], VARIANCE[:, n, p])
        assert pit[n, p] == pytest.approx(expected, rel=1e-12)
    points = metrics.mixture_pit(np.array([1.0]), np.array([[0.0], [2.0]]), np.zeros((2, 1)))
    assert points == 0.5


def test_calibration_error_is_the_area_between_distribution_functions():
    pit = np.random.default_rng(3).beta(2.0, 3.0, size=7)
    area, _ = integrate.quad(
        lambda t: abs(np.mean(pit <= t) - t), 0, 1, points=sorted(pit), limit=200
    )
    assert metrics.calibration_error(pit) == pytest.approx(area, abs=1e-8)
    assert metrics.calibration_error(np.array([0.5])) == 0.25
    assert metrics.calibration_error(np.zeros(3)) == 0.5
    n = 1000
    uniform = [
        metrics.calibration_error(np.random.default_rng(i).uniform(size=n)) for i in range(200)
    ]
    error = np.std(uniform, ddof=1) / np.sqrt(len(uniform))
    assert abs(np.mean(uniform) - 0.313 / np.sqrt(n)) < 4 * error
    for wrong, message in (
        ([], "must not be empty"),
        ([1.2], r"numbers in \[0, 1\]"),
        ([np.nan], r"pit\[0\] is nan"),
    ):
        with pytest.raises(ValueError, match=message):
            metrics.calibration_error(np.array(wrong))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_lists_and_tensors_are_taken_as_arrays_are(dtype):
    y, mean, variance = (values.astype(dtype) for values in (Y, MEAN, VARIANCE))
    assert metrics.mixture_crps(y, mean, variance).dtype == dtype
    measures = [
        metrics.mixture_log_density,
        metrics.mixture_crps,
        metrics.mixture_pit,
        lambda y, mean, variance: metrics.mixture_moments(mean, variance)[1],
        lambda y, mean, variance: metrics.mixture_quantile(0.3, mean, variance),
        lambda y, mean, variance: metrics.rmse(y, mean[0]),
        lambda y, mean, variance: metrics.coverage(y, mean[0], mean[1]),
        lambda y, mean, variance: metrics.calibration_error(variance[0] / 3.0),
    ]
    for measure in measures:
        expected = measure(y, mean, variance)
        tensors = (tf.constant(values) for values in (y, mean, variance))
        np.testing.assert_array_equal(measure(*tensors), expected)
    for measure in measures[:-1]:
        expected = measure(Y, MEAN, VARIANCE)
        lists = (values.tolist() for values in (Y, MEAN, VARIANCE))
        np.testing.assert_array_equal(measure(*lists), expected)
    assert metrics.rmse([0, 2], [1, 1]) == 1.0


def test_half_floats_do_not_overflow():
    """Squares of numbers from 256 on are infinite in float16."""
    y, mean, variance = (np.array(value, np.float16) for value in ([300.0], [[0.0]], [[4.0]]))
    density = metrics.mixture_log_density(y, mean, variance)
    np.testing.assert_allclose(density, stats.norm.logpdf(300.0, 0.0, 2.0), rtol=1e-12)
