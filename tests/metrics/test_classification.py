import numpy as np
import pytest
import sklearn.metrics
from scipy import stats

from gpflow_gi.metrics import classification as metrics

RNG = np.random.default_rng(0)
N, C = 200, 4
PROBABILITIES = RNG.dirichlet(np.full(C, 0.5), size=N)
LABELS = np.array([RNG.choice(C, p=0.7 * p + 0.3 / C) for p in PROBABILITIES])


def test_accuracy_and_log_density_are_those_of_scikit_learn():
    expected = sklearn.metrics.accuracy_score(LABELS, PROBABILITIES.argmax(axis=1))
    assert metrics.accuracy(LABELS, PROBABILITIES) == expected
    loss = sklearn.metrics.log_loss(LABELS, PROBABILITIES)
    log_density = metrics.log_density(LABELS, PROBABILITIES)
    assert log_density.shape == (N,)
    assert -log_density.mean() == pytest.approx(loss, rel=1e-12)
    np.testing.assert_array_equal(metrics.log_density([0, 1], np.eye(2)[[0, 0]]), [0.0, -np.inf])


def test_brier_score_by_its_definition():
    score = metrics.brier_score(LABELS, PROBABILITIES)
    for n in range(N):
        expected = sum((PROBABILITIES[n, c] - (LABELS[n] == c)) ** 2 for c in range(C))
        assert score[n] == pytest.approx(expected, rel=1e-12)
    np.testing.assert_array_equal(metrics.brier_score([0, 1], np.eye(2)[[0, 0]]), [0.0, 2.0])


def test_brier_score_of_two_classes_is_twice_that_of_scikit_learn():
    p = np.random.default_rng(1).uniform(size=50)
    labels = np.random.default_rng(2).integers(2, size=50)
    expected = sklearn.metrics.brier_score_loss(labels, p)
    score = metrics.brier_score(labels, np.stack([1 - p, p], axis=1))
    assert score.mean() == pytest.approx(2 * expected, rel=1e-12)


def test_predictive_entropy():
    expected = stats.entropy(PROBABILITIES, axis=1)
    np.testing.assert_allclose(metrics.predictive_entropy(PROBABILITIES), expected)
    certain, uniform = metrics.predictive_entropy([[0.0, 1.0, 0.0], [1 / 3, 1 / 3, 1 / 3]])
    assert certain == 0 and uniform == pytest.approx(np.log(3))


@pytest.mark.parametrize("num_bins", [1, 7, 15])
def test_calibration_by_its_definition(num_bins):
    bins = metrics.reliability(LABELS, PROBABILITIES, num_bins)
    confidence, guess = PROBABILITIES.max(axis=1), PROBABILITIES.argmax(axis=1)
    error = 0.0
    for b in range(num_bins):
        low, high = b / num_bins, (b + 1) / num_bins
        rows = [n for n in range(N) if low < confidence[n] <= high]
        assert bins.edges[b] == pytest.approx(low) and bins.size[b] == len(rows)
        if not rows:
            assert np.isnan(bins.confidence[b]) and np.isnan(bins.accuracy[b])
            continue
        right = np.mean([guess[n] == LABELS[n] for n in rows])
        sure = np.mean([confidence[n] for n in rows])
        assert bins.accuracy[b] == pytest.approx(right)
        assert bins.confidence[b] == pytest.approx(sure)
        error += len(rows) / N * abs(right - sure)
    assert bins.size.sum() == N
    found = metrics.expected_calibration_error(LABELS, PROBABILITIES, num_bins)
    assert found == pytest.approx(error, rel=1e-12)


def test_a_confidence_on_an_edge_is_in_the_bin_below():
    probabilities = [[0.5, 0.5], [1.0, 0.0], [0.4, 0.6]]
    np.testing.assert_array_equal(
        metrics.reliability([0, 0, 0], probabilities, num_bins=2).size, [1, 2]
    )


def test_calibrated_predictions_have_a_small_error():
    rng = np.random.default_rng(3)
    probabilities = rng.dirichlet(np.ones(3), size=20_000)
    labels = (rng.uniform(size=(20_000, 1)) > probabilities.cumsum(axis=1)).sum(axis=1)
    assert metrics.expected_calibration_error(labels, probabilities) < 0.02
    sure = np.eye(3)[probabilities.argmax(axis=1)]
    error = metrics.expected_calibration_error(labels, sure)
    assert error == pytest.approx(1 - metrics.accuracy(labels, sure))


def test_auroc_is_the_share_of_pairs_in_order():
    rng = np.random.default_rng(4)
    inside, outside = rng.integers(6, size=31), rng.integers(2, 9, size=17)  # with ties
    pairs = [(a > b) + 0.5 * (a == b) for a in outside for b in inside]
    expected = np.mean(pairs)
    assert metrics.auroc(inside, outside) == pytest.approx(expected, rel=1e-12)
    assert metrics.auroc(outside, inside) == pytest.approx(1 - expected, rel=1e-12)
    both = np.concatenate([inside, outside])
    which = np.repeat([0, 1], [31, 17])
    by_curve = sklearn.metrics.roc_auc_score(which, both)
    assert metrics.auroc(inside, outside) == pytest.approx(by_curve, rel=1e-12)
    assert metrics.auroc(-np.exp(-0.1 * inside), -np.exp(-0.1 * outside)) == metrics.auroc(
        inside, outside
    )


def test_auroc_at_its_limits():
    assert metrics.auroc([0.0, 1.0], [2.0, np.inf]) == 1.0
    assert metrics.auroc([2.0, np.inf], [0.0, -np.inf]) == 0.0
    assert metrics.auroc([1.0], [1.0, 1.0]) == 0.5


def test_labels_may_be_a_column_of_floats_and_probabilities_of_single_precision():
    column, single = LABELS[:, None].astype(float), PROBABILITIES.astype(np.float32)
    assert metrics.accuracy(column, single) == metrics.accuracy(LABELS, PROBABILITIES)
    score = metrics.brier_score(column, single)
    assert score.shape == (N,) and score.dtype == np.float64
    np.testing.assert_allclose(score, metrics.brier_score(LABELS, PROBABILITIES), atol=1e-6)


@pytest.mark.parametrize(
    ("labels", "probabilities", "message"),
    [
        ([0, 1, 1], [[0.5, 0.5]], r"one entry for each of the 1 rows .* \(3,\)"),
        ([[0, 1]], [[0.5, 0.5]], "one entry for each of the 1 rows"),
        ([2], [[0.5, 0.5]], "whole numbers from 0 to 1, but one is 2"),
        ([-1], [[0.5, 0.5]], "whole numbers from 0 to 1"),
        ([0.5], [[0.5, 0.5]], "whole numbers from 0 to 1"),
        ([np.nan], [[0.5, 0.5]], "whole numbers from 0 to 1"),
        (["0"], [[0.5, 0.5]], "labels must be an array of numbers, but holds text such as '0'"),
        (None, [[0.5, 0.5]], "labels must be an array of numbers, but is None"),
        ([0], None, "probabilities must be an array of numbers, but is None"),
        ([0], [0.5, 0.5], r"shape \[N, C\], and at least one row, but have \(2,\)"),
        ([], np.zeros((0, 2)), "probabilities must not be empty"),
        ([0, 0], [[0.5, 0.5], [2.0, 1.0]], "row 1 sums to 3"),
        ([0], [[1.5, -0.5]], "row 0 sums to 1 and its least entry is -0.5"),
        ([0], [[np.nan, 1.0]], r"probabilities\[0, 0\] is nan"),
    ],
)
def test_errors(labels, probabilities, message):
    for measure in (
        metrics.accuracy,
        metrics.log_density,
        metrics.brier_score,
        metrics.expected_calibration_error,
    ):
        with pytest.raises(ValueError, match=message):
            measure(labels, probabilities)


def test_errors_of_bins_scores_and_entropy():
    for bins in (0, 2.5):
        with pytest.raises(ValueError, match=f"num_bins must be an integer .* but is {bins}"):
            metrics.reliability(LABELS, PROBABILITIES, bins)
    with pytest.raises(ValueError, match=r"inside must not be empty, but has shape \[0\]"):
        metrics.auroc([], [1.0])
    with pytest.raises(ValueError, match=r"outside must not hold NaN, but outside\[1\]"):
        metrics.auroc([1.0], [1.0, np.nan])
    with pytest.raises(ValueError, match="row 0 sums to 2"):
        metrics.predictive_entropy([[1.0, 1.0]])
