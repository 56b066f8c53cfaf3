"""The progression of diabetes: a small table that needs no download."""

from .table import Table


def diabetes() -> Table:
    """Disease progression one year after baseline, for 442 patients and 10 measurements.

    Efron, Hastie, Johnstone & Tibshirani, "Least angle regression", Annals of Statistics 2004; the
    copy that ships with scikit-learn, in the original units.

    :return: X [442, 10], Y [442, 1].
    """
    from sklearn.datasets import load_diabetes

    data = load_diabetes(scaled=False)
    names = tuple(str(name) for name in data.feature_names)
    return Table("diabetes", data.data, data.target[:, None], names, "progression")
