"""Code that does not change within a process, and code that can."""

import inspect
from types import ModuleType
from typing import Any

LIBRARIES = frozenset(
    {
        "builtins",
        "gpflow",
        "gpflow_gi",
        "numpy",
        "tensorflow",
        "tensorflow_probability",
        "tf_keras",
    }
)


def is_of_libraries(value: Any) -> bool:
    """Return True if the class of a value, or the function that it is, comes with a library.

    A user's own may be defined anew under its old name, read a global variable, or draw numbers of
    numpy: what is compiled from it once need not be what it does later.

    :param value: anything.
    """
    if isinstance(value, ModuleType):
        module = value.__name__
    else:
        named = value if isinstance(value, type) or callable(value) else type(value)
        if inspect.isfunction(named):  # whose __module__ may be that of a function that it wraps
            return named.__globals__.get("__name__", "").partition(".")[0] in LIBRARIES
        module = getattr(named, "__module__", None) or type(value).__module__
    return module.partition(".")[0] in LIBRARIES
