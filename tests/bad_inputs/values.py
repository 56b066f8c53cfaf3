"""Bad values, by what an argument is."""

import datetime
import decimal
import fractions
import io
from collections.abc import Callable
from typing import Any

import gpflow
import numpy as np
import pandas as pd
import scipy.sparse
import tensorflow as tf


class NoArray:
    """An object that claims to be an array but is not."""

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("no array today")


class Odd:
    """An object that prints in many lines."""

    def __repr__(self) -> str:
        return "odd\n" * 500


def replaced_last(value: Any) -> Callable[[np.ndarray], Any]:
    """An array with one entry replaced."""

    def replaced(array: np.ndarray) -> np.ndarray:
        array = np.array(array, dtype=np.result_type(array, np.asarray(value)))
        array[(-1,) * array.ndim] = value
        return array

    return replaced


def _objects(value: Any) -> Callable[[np.ndarray], Any]:
    def replaced(array: np.ndarray) -> np.ndarray:
        array = array.astype(object)
        array[(-1,) * array.ndim] = value
        return array

    return replaced


def _frame(array: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(array.reshape(len(array), -1))


def _frame_of(value: Any, dtype: Any = object) -> Callable[[np.ndarray], Any]:
    def frame(array: np.ndarray) -> pd.DataFrame:
        table = _frame(array).astype(object)
        table.iloc[-1, -1] = value
        return table.astype(dtype)

    return frame


def second(array: np.ndarray) -> np.ndarray:
    return np.arange(array.size).reshape(array.shape) == 1


ARRAYS: dict[str, dict[str, Callable[[np.ndarray], Any]]] = {
    "NaN and infinity": {
        "NaN in the last entry": replaced_last(np.nan),
        "all NaN": lambda a: np.full(a.shape, np.nan),
        "infinity": replaced_last(np.inf),
        "minus infinity": replaced_last(-np.inf),
        "NaN in a list": lambda a: replaced_last(np.nan)(a).tolist(),
        "NaN in a tensor": lambda a: tf.constant(replaced_last(np.nan)(a)),
        "NaN in a variable": lambda a: tf.Variable(replaced_last(np.nan)(a)),
        "NaN in float32": lambda a: replaced_last(np.nan)(a).astype(np.float32),
        "NaN in a data frame": lambda a: _frame(replaced_last(np.nan)(a)),
        "NaN among objects": _objects(np.nan),
        "None among objects": _objects(None),
    },
    "shapes": {
        "rank 0": lambda a: a.ravel()[0],
        "a number": lambda a: 3.0,
        "rank 1": lambda a: a.ravel(),
        "rank + 1": lambda a: a[..., None],
        "rank 5": lambda a: a.reshape(a.shape + (1,) * (5 - a.ndim)),
        "zero rows": lambda a: a[:0],
        "zero columns": lambda a: a[..., :0],
        "one row": lambda a: a[:1],
        "one row less": lambda a: a[:-1],
        "one row more": lambda a: np.concatenate([a, a[:1]]),
        "one column more": lambda a: np.concatenate([a, a[..., :1]], axis=-1),
        "one column only": lambda a: a[..., :1],
        "transposed": lambda a: a.T,
        "rows of unequal lengths": lambda a: [[1.0, 2.0], [3.0]],
        "rows of unequal ranks": lambda a: [[1.0, 2.0], [[3.0], [4.0]]],
        "ragged tensor": lambda a: tf.ragged.constant([[1.0, 2.0], [3.0]]),
        "an empty list": lambda a: [],
        "a list of empty lists": lambda a: [[] for _ in a],
        "backwards": lambda a: a[::-1],
        "Fortran order": np.asfortranarray,
    },
    "types": {
        "complex": lambda a: a + 1j,
        "complex without imaginary part": lambda a: a + 0j,
        "complex tensor": lambda a: tf.constant(a + 1j),
        "dates": lambda a: np.full(a.shape, np.datetime64("2020-01-01")),
        "time differences": lambda a: np.full(a.shape, np.timedelta64(1, "D")),
        "dates as objects": _objects(datetime.date(2020, 1, 1)),
        "text": lambda a: np.full(a.shape, "a"),
        "text that spells numbers": lambda a: a.astype(str),
        "text in a tensor": lambda a: tf.fill(a.shape, "a"),
        "bytes": lambda a: np.full(a.shape, b"1"),
        "text among objects": _objects("a"),
        "a list among objects": _objects([1.0]),
        "numbers as objects": lambda a: a.astype(object),
        "decimals": _objects(decimal.Decimal("0.5")),
        "fractions": _objects(fractions.Fraction(1, 3)),
        "integers of 400 digits": _objects(10**400),
        "integers": lambda a: np.rint(a).astype(int),
        "unsigned integers": lambda a: np.abs(np.rint(a)).astype(np.uint64),
        "booleans": lambda a: a > 0,
        "float16": lambda a: a.astype(np.float16),
        "float32": lambda a: a.astype(np.float32),
        "long double": lambda a: a.astype(np.longdouble),
        "long double beyond float64": lambda a: a.astype(np.longdouble) * np.longdouble("1e4000"),
        "bfloat16 tensor": lambda a: tf.cast(a, tf.bfloat16),
        "integers in a tensor": lambda a: tf.cast(a, tf.int32),
        "structured": lambda a: np.zeros(len(a), [("a", float), ("b", float)]),
        "void": lambda a: np.zeros(a.shape, "V8"),
    },
    "containers": {
        "a list": lambda a: a.tolist(),
        "a tuple": lambda a: tuple(a.tolist()),
        "a tensor": tf.constant,
        "a variable": tf.Variable,
        "a parameter": gpflow.Parameter,
        "a matrix": lambda a: np.asmatrix(a.reshape(len(a), -1)),
        "read-only": lambda a: np.broadcast_to(a, a.shape),
        "None": lambda a: None,
        "a string": lambda a: "abc",
        "an empty string": lambda a: "",
        "a dict": lambda a: {"X": a},
        "an empty dict": lambda a: {},
        "a set": lambda a: {1.0, 2.0},
        "a generator": lambda a: (row for row in a),
        "a function": lambda a: len,
        "a class": lambda a: float,
        "a file": lambda a: io.BytesIO(),
        "bytes by themselves": lambda a: b"abc",
        "an object that prints 500 lines": lambda a: Odd(),
        "an array that fails": lambda a: NoArray(),
        "a data set of TensorFlow": lambda a: tf.data.Dataset.from_tensor_slices(a),
        "a dtype": lambda a: np.dtype(float),
    },
    "data frames": {
        "a data frame": _frame,
        "a data frame with NA": _frame_of(pd.NA),
        "a nullable column with NA": _frame_of(pd.NA, "Float64"),
        "nullable numbers": lambda a: _frame(a).astype("Float64"),
        "a data frame with text": _frame_of("a"),
        "a data frame with dates": _frame_of(pd.Timestamp("2020-01-01")),
        "a data frame of categories": lambda a: _frame(a).astype(str).astype("category"),
        "a sparse data frame": lambda a: _frame(a).astype(pd.SparseDtype(float)),
        "a series": lambda a: pd.Series(a.ravel()[: len(a)]),
        "an empty data frame": lambda a: pd.DataFrame(),
    },
    "masked and sparse": {
        "masked in one entry": lambda a: np.ma.masked_array(
            a, np.arange(a.size).reshape(a.shape) == 1
        ),
        "masked everywhere": lambda a: np.ma.masked_array(a, True),
        "masked nowhere": lambda a: np.ma.masked_array(a, False),
        "masked NaN": lambda a: np.ma.masked_invalid(replaced_last(np.nan)(a)),
        "sparse matrix of SciPy": lambda a: scipy.sparse.csr_matrix(a.reshape(len(a), -1)),
        "sparse array of SciPy": lambda a: scipy.sparse.coo_array(a.reshape(len(a), -1)),
        "sparse tensor": tf.sparse.from_dense,
    },
    "huge and tiny": {
        "1e9": lambda a: a * 1e9,
        "1e150": lambda a: a * 1e150,
        "1e200": lambda a: a * 1e200,
        "1e308": lambda a: np.clip(a, -1, 1) * 1e308,
        "one entry 1e200": replaced_last(1e200),
        "one entry 1e308": replaced_last(1e308),
        "1e-9": lambda a: a * 1e-9,
        "1e-200": lambda a: a * 1e-200,
        "the least number": lambda a: np.sign(a) * 5e-324,
        "far from zero": lambda a: a + 1e12,
    },
    "values": {
        "all zero": np.zeros_like,
        "all equal": np.ones_like,
        "minus one": lambda a: np.full_like(a, -1.0),
        "equal rows": lambda a: np.broadcast_to(a[:1], a.shape),
        "a half": lambda a: np.full_like(a, 0.5),
        "negated": np.negative,
        "one hundred": lambda a: np.full_like(a, 100.0),
    },
}

_ANYTHING = {
    "None": None,
    "a string": "nonsense",
    "an empty string": "",
    "an empty list": [],
    "a dict": {},
    "NaN": np.nan,
    "an object that prints 500 lines": Odd(),
    "a complex number": 1j,
    "a class": int,
    "a large array": np.zeros((40, 40)),
    "text in a tensor": tf.constant("a"),
}

COUNTS: dict[str, Any] = {
    **_ANYTHING,
    "zero": 0,
    "minus one": -1,
    "a fraction": 1.5,
    "a float": 2.0,
    "infinity": np.inf,
    "a numeral": "3",
    "True": True,
    "a list": [1],
    "two numbers": [1, 2],
    "31 digits": 10**30,
    "NumPy's two": np.int64(2),
    "unsigned two": np.uint8(2),
    "NumPy's float": np.float64(2.0),
    "an array of one": np.array([2]),
    "a tensor": tf.constant(2),
    "NaT": np.datetime64("NaT"),
    "a decimal": decimal.Decimal(2),
}

NUMBERS: dict[str, Any] = {
    **_ANYTHING,
    "zero": 0.0,
    "minus one": -1.0,
    "minus zero": -0.0,
    "infinity": np.inf,
    "minus infinity": -np.inf,
    "1e308": 1e308,
    "1e-308": 1e-308,
    "5e-324": 5e-324,
    "a numeral": "3",
    "two numbers": [1.0, 2.0],
    "two": 2,
    "400 digits": 10**400,
    "a decimal": decimal.Decimal("0.5"),
    "NaN in a tensor": tf.constant(np.nan),
    "masked": np.ma.masked,
    "a half": 0.5,
}

CHOICES: dict[str, Any] = {
    **_ANYTHING,
    "a number": 3,
    "bytes": b"global",
    "capitals": "GLOBAL",
    "with a blank": " global",
    "a list of one": ["global"],
    "a list of three": ["global", "local", "nonsense"],
    "a tuple of None": (None,),
    "a list of lists": [["global"]],
    "an arrow": "global -> ",
}

FLAGS: dict[str, Any] = {
    **_ANYTHING,
    "two": 2,
    "one": 1,
    "yes": "yes",
    "NumPy's True": np.True_,
    "two truths": np.array([True, False]),
}

SEEDS: dict[str, Any] = {
    **_ANYTHING,
    "minus one": -1,
    "a fraction": 1.5,
    "three numbers": [1, 2, 3],
    "fractions": [1.5, 2.5],
    "22 digits": 2**70,
    "a pair": [1, 2],
    "True": True,
    "infinity": np.inf,
    "a generator of NumPy": np.random.default_rng(0),
}

OBJECTS: dict[str, Any] = {
    **_ANYTHING,
    "a number": 3,
    "a function": len,
    "a list of None": [None],
    "a list of strings": ["a", "b"],
    "a kernel": gpflow.kernels.SquaredExponential(),
    "a class of kernels": gpflow.kernels.SquaredExponential,
    "a likelihood": gpflow.likelihoods.Gaussian(),
    "a tensor": tf.constant([1.0]),
    "a function that fails": lambda *_: 1 / 0,
    "a function that gives None": lambda *_: None,
    "a function that gives NaN": lambda x, *_: x * np.nan,
}

PATHS: dict[str, Any] = {
    **_ANYTHING,
    "a number": 3,
    "a null byte": "a\0b",
    "a folder": "/tmp",
    "no such folder": "/no/such/folder/file",
    "a file as a folder": __file__ + "/x",
    "a name of 5000 letters": "a" * 5000,
    "bytes": b"file",
    "a Python file": __file__,
    "not UTF-8": "\udcff",
}

NAMES: dict[str, Any] = {
    **_ANYTHING,
    "a number": 3,
    "a null byte": "a\0b",
    "a path": "../../etc/passwd",
    "a list of names": ["yacht", "boston"],
}

LABELS: dict[str, Any] = {
    "numbers and text": np.array([0, 1, "a", "b", 0, 1], dtype=object),
    "None among labels": np.array([0, 1, None, 1, 0, 1], dtype=object),
    "NaN among labels": np.array([0.0, 1.0, np.nan, 1.0, 0.0, 1.0]),
    "NaN among text": np.array(["a", "b", np.nan, "a", "b", "a"], dtype=object),
    "booleans and text": np.array([True, False, "a", "b", True, False], dtype=object),
    "tuples": [(0,), (1,), (0,), (1,), (0,), (1,)],
    "lists of unequal lengths": [[0], [1, 2], [0], [1], [0], [1]],
    "one class": np.zeros(6),
    "text": np.array(["a", "b", "a", "b", "a", "b"]),
    "bytes and text": np.array([b"a", "a", b"a", "a", b"a", "a"], dtype=object),
    "fractions": np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6]),
    "negative": np.array([-1, 1, -1, 1, -1, 1]),
    "dates": np.array(["2020-01-01", "2021-01-01"] * 3, dtype="datetime64[D]"),
    "categories": pd.Series(["a", "b"] * 3, dtype="category"),
    "nullable with NA": pd.Series([0, 1, pd.NA, 1, 0, 1], dtype="Int64"),
    "strings with NA": pd.Series(["a", "b", pd.NA, "a", "b", "a"], dtype="string"),
}
