"""Numbers in a file of JSON, with what made them."""

import json
import math
import platform
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from gpflow_gi._version import __version__


def versions() -> dict[str, str]:
    """What the numbers depend on besides the settings."""
    return {
        "gpflow_gi": __version__,
        "python": platform.python_version(),
        **{name: version(name) for name in ("gpflow", "tensorflow", "numpy", "scikit-learn")},
        "platform": platform.platform(),
    }


def with_none_for_non_finite(value: Any) -> Any:
    """The same dictionaries and lists. JSON has no NaN and no infinity: None stands for either."""
    if isinstance(value, Mapping):
        return {key: with_none_for_non_finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [with_none_for_non_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def write_json(numbers: Mapping[str, Any], path: Path) -> None:
    """Write one file.

    :raises ValueError: if a number is not finite.
    """
    path.write_text(json.dumps(numbers, indent=2, allow_nan=False) + "\n")
