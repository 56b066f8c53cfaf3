import numpy as np

from gpflow_gi.datasets import diabetes


def test_diabetes():
    table = diabetes()
    assert table.X.shape == (442, 10) and table.Y.shape == (442, 1)
    assert len(table.input_names) == 10 and table.input_names[0] == "age"
    assert 19 <= table.X[:, 0].min() and table.X[:, 0].max() <= 79  # years, not standardised
    assert np.isfinite(table.X).all() and np.isfinite(table.Y).all()
