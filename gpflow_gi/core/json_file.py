"""Numbers in a JSON file, with the versions of the software that made them."""

import json
import math
import os
import platform
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from gpflow_gi._version import __version__

from .whole_file import write_whole


def versions() -> dict[str, str]:
    """Versions of the software that can change the numbers, and the processor, which can too."""
    return {
        "gpflow_gi": __version__,
        "python": platform.python_version(),
        **{name: version(name) for name in ("gpflow", "tensorflow", "numpy", "scikit-learn")},
        "platform": platform.platform(),
        "processor": processor(),
    }


def processor() -> str:
    """The processor's name, and the number of logical cores of the machine."""
    cpu_info = Path("/proc/cpuinfo")  # of Linux, where Python does not know the name
    try:
        lines = cpu_info.read_text(errors="replace").splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    name = names[0] if names else platform.processor() or platform.machine() or "unknown"
    cores = os.cpu_count() or 1
    return f"{name}, {cores} core{'s' * (cores != 1)}"


def with_none_for_non_finite(value: Any) -> Any:
    """The same dictionaries and lists with None for NaN and infinity, which JSON does not have."""
    if isinstance(value, Mapping):
        return {key: with_none_for_non_finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [with_none_for_non_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def write_json(numbers: Mapping[str, Any], path: Path) -> None:
    """Write one file, completely or not at all.

    :raises ValueError: if a number is not finite.
    :raises OSError: if it cannot be written.
    """
    content = f"{json.dumps(numbers, indent=2, allow_nan=False)}\n".encode()
    write_whole(path, f".{path.name}.part", lambda file: file.write(content))
