"""Rows in their own type train as their standardised copies in float64 do."""

import gpflow
import numpy as np
import pytest
import tensorflow as tf

import gpflow_gi as gi
from gpflow_gi.training import NarrowRows

from ..builders import random_deep_gp


def counts(rng, num_rows=30):
    X = rng.integers(-300, 300, size=(num_rows, 2)).astype(np.int16)
    return X, (X[:, :1] // 7).astype(np.int8)


def model(num_data=30):
    return random_deep_gp(np.random.default_rng(0), ["global", "full"], num_data=num_data)


def test_moments_are_those_of_the_whole_table(rng, monkeypatch):
    monkeypatch.setattr(gi.training.narrow_rows, "_ROWS_AT_ONCE", 7)
    X, Y = counts(rng)
    X[:, 1] = 5  # constant
    rows = NarrowRows(X, Y, standardise_targets=False)
    (mean, scale), of_targets = rows.scales
    np.testing.assert_allclose(mean, X.mean(0), rtol=1e-12)
    np.testing.assert_allclose(scale, [X[:, 0].std(), 1.0], rtol=1e-12)
    np.testing.assert_array_equal(of_targets, [[0.0], [1.0]])
    standardised, targets = rows.standardised([3, 1])
    np.testing.assert_allclose(standardised, ((X - mean) / scale)[[3, 1]])
    np.testing.assert_array_equal(targets, Y[[3, 1]])
    assert rows.tensors[0].dtype == tf.int16 and rows.tensors[1].dtype == tf.int8


@pytest.mark.compiled
@pytest.mark.parametrize(
    "batch_size",
    [pytest.param(None, marks=pytest.mark.longest), pytest.param(8, marks=pytest.mark.slow)],
)
def test_training_has_the_same_numbers_and_is_resumed(rng, tmp_path, batch_size):
    rows = NarrowRows(*counts(rng))
    settings = {"batch_size": batch_size, "seed": 2, "progress": False, "learning_rate": 0.01}
    expected, narrow, resumed = model(), model(), model()
    gi.fit(expected, rows.standardised(slice(None)), steps=9, **settings)
    gi.fit(narrow, rows, steps=9, **settings)
    gi.fit(model(), rows, steps=4, checkpoint_dir=tmp_path, **settings)
    gi.fit(resumed, rows, steps=9, checkpoint_dir=tmp_path, **settings)
    for one, other, again in zip(
        expected.variables, narrow.variables, resumed.variables, strict=True
    ):
        np.testing.assert_allclose(other, one, rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(again, other)
    as_they_are = NarrowRows(*counts(np.random.default_rng(0)), standardise_inputs=False)
    with pytest.raises(ValueError, match="checksum"):
        gi.fit(model(), as_they_are, steps=10, checkpoint_dir=tmp_path, **settings)


def test_rows_that_come_in_parts(rng, tmp_path):
    X, Y = counts(rng)
    file = np.memmap(tmp_path / "X", np.int16, "w+", shape=X.shape)
    file[:] = X
    parts = tf.data.Dataset.from_tensor_slices((X, Y)).batch(7).as_numpy_iterator()
    for rows in (
        NarrowRows(np.memmap(tmp_path / "X", np.int16, "r", shape=X.shape), Y),
        NarrowRows.from_batches(parts, 30),
        NarrowRows.from_batches(((X[i : i + 8], Y[i : i + 8]) for i in range(0, 30, 8)), 30),
    ):
        assert len(rows) == 30
        np.testing.assert_array_equal(rows.tensors[0], X)
        np.testing.assert_array_equal(rows.tensors[1], Y)
    assert rows.tensors[0].dtype == tf.float32


def test_rows_of_a_file_of_parquet_are_read_in_parts(rng, tmp_path):
    pytest.importorskip("pyarrow")
    import pandas as pd
    from pyarrow.parquet import ParquetFile

    X, Y = counts(rng)
    frame = pd.DataFrame(np.hstack([X, Y]), columns=["a", "b", "y"])
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=8)
    frames = (part.to_pandas() for part in ParquetFile(tmp_path / "rows.parquet").iter_batches(8))
    parts = ((frame[["a", "b"]], frame[["y"]]) for frame in frames)
    rows = NarrowRows.from_batches(parts, 30, dtype=np.int16)
    np.testing.assert_array_equal(rows.tensors[0], X)
    np.testing.assert_array_equal(rows.tensors[1], Y)


@pytest.mark.slow
def test_training_converts_the_rows_of_steps_alone(rng, monkeypatch):
    """Never the whole table: it is the largest object of a process that trains."""
    rows = NarrowRows(*counts(rng, 3000))
    converted, converts = [], NarrowRows.converted

    def spy(self, X, Y):
        converted.append(X.shape[0])
        return converts(self, X, Y)

    monkeypatch.setattr(NarrowRows, "converted", spy)
    gi.fit(model(3000), rows, steps=2, batch_size=8, progress=False)
    assert converted and max(converted) <= 1000


def test_the_box_is_that_of_all_rows(rng):
    rows = NarrowRows(*counts(rng, 3000))
    X, Y = rows.standardised(slice(None))
    np.testing.assert_allclose(rows.box, [X.min(axis=0), X.max(axis=0)], rtol=1e-12)
    np.testing.assert_allclose(rows.first[0], X[:1000])
    np.testing.assert_allclose(rows.first[1], Y[:1000])


def test_errors(rng):
    X, Y = counts(rng)
    with pytest.raises(ValueError, match="same number of rows"):
        NarrowRows(X, Y[:3])
    with pytest.raises(ValueError, match="X holds NaN or infinity"):
        NarrowRows(np.where(X > 5, np.nan, 1.0), Y)
    with pytest.raises(ValueError, match="X has no numbers"):
        NarrowRows(X[:0], Y[:0])
    with pytest.raises(ValueError, match=r"shape .rows, columns."):
        NarrowRows(X, Y[:, 0])
    for wrong, message in ((29, "more than num_rows=29"), (31, "30 rows, but num_rows is 31")):
        with pytest.raises(ValueError, match=message):
            NarrowRows.from_batches([(X, Y)], wrong)
    for steps, rows, message in (
        (1, NarrowRows(X[:9], Y[:9]), "num_data=30, but the data has 9 rows"),
        (1, NarrowRows(np.hstack([X, X]), Y), "X has 4 columns, but the model takes 2"),
    ):
        with pytest.raises(ValueError, match=message):
            gi.fit(model(), rows, steps=steps, progress=False)
    with pytest.raises(ValueError, match="augment is for images"):
        gi.fit(model(), NarrowRows(X, Y), steps=1, progress=False, augment=lambda X, seed: X)


@pytest.mark.slow
def test_targets_that_cannot_be_standardised(rng, monkeypatch):
    monkeypatch.setattr(gi.training.narrow_rows, "_ROWS_AT_ONCE", 7)
    X, Y = counts(rng)
    for likelihood, targets, wrong in (
        (gpflow.likelihoods.Bernoulli(), Y > 0, 2),
        (gpflow.likelihoods.Poisson(), np.abs(Y), -1),
    ):
        own = model()
        own.likelihood = likelihood
        with pytest.raises(ValueError, match=r"takes targets as they are: .*_targets=False"):
            gi.fit(own, NarrowRows(X, targets), steps=1, progress=False)
        rows = NarrowRows(X, targets, standardise_targets=False)
        assert gi.fit(own, rows, steps=1, batch_size=5, progress=False).step == 1
        targets = targets.astype(np.int8)
        targets[-1] = wrong
        rows = NarrowRows(X, targets, standardise_targets=False)
        with pytest.raises(ValueError, match="as targets, but Y holds values from"):
            gi.fit(own, rows, steps=1, batch_size=5, progress=False)
    with pytest.raises(TypeError, match="standardise_inputs must be True or False"):
        NarrowRows(X, Y, standardise_inputs="no")


def test_large_means_keep_their_digits_in_float32(rng):
    times = (1_700_000_000_000 + rng.permutation(3_600_000)[:50]).astype(np.int64)[:, None]
    rows = NarrowRows(times, 1e6 + 0.01 * rng.normal(size=(50, 1)))
    expected = [part.astype(np.float32) for part in rows.standardised(slice(None))]
    with gpflow.config.as_context():
        gpflow.config.set_default_float(np.float32)
        for part, same in zip(rows.standardised(slice(None)), expected, strict=True):
            assert part.dtype == np.float32
            np.testing.assert_array_equal(part, same)
    np.testing.assert_allclose(expected[0].std(), 1.0, rtol=1e-6)
    assert len(np.unique(expected[0])) == 50
