"""Code shared by all programs here: their options, and the files that they write."""

import argparse
import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tabulate import tabulate

from . import THREADS


@dataclass(frozen=True)
class Table:
    """Text in rows.

    :param columns: their names.
    :param rows: as long as `columns`.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]

    def __str__(self) -> str:
        return tabulate(self.rows, self.columns, tablefmt="github", disable_numparse=True)


def parser(description: str) -> argparse.ArgumentParser:
    """The options of every program: `out`, `fast`.

    :param description: a module's docstring.
    """
    made = argparse.ArgumentParser(description=description.splitlines()[0])
    made.add_argument(
        "--out",
        type=Path,
        default=Path("bench-results"),
        metavar="FOLDER",
        help="where to write Markdown and JSON (default: %(default)s)",
    )
    made.add_argument(
        "--fast", action="store_true", help="tiny: only to see that it runs; the times mean nothing"
    )
    return made


def write(
    out: Path, name: str, title: str, parts: Sequence[str | Table], numbers: Mapping[str, Any]
) -> None:
    """Print what a program found, and write it as Markdown and JSON.

    :param out: the folder; made if it is missing.
    :param name: of the files.
    :param title: the Markdown's heading.
    :param parts: paragraphs and tables.
    :param numbers: for the JSON, beside the parts: what the tables were made of.
    """
    text = "\n\n".join([f"## {title}", *map(str, parts)])
    print(text)
    out.mkdir(parents=True, exist_ok=True)
    (out / f"{name}.md").write_text(text + "\n")
    everything = {
        "title": title,
        "parts": [
            part if isinstance(part, str) else {"columns": part.columns, "rows": part.rows}
            for part in parts
        ],
        **numbers,
    }
    (out / f"{name}.json").write_text(json.dumps(everything, indent=1, allow_nan=False) + "\n")


def machine(*packages: str) -> str:
    """The processor and the versions of some packages, in a line."""
    cpu_info = Path("/proc/cpuinfo")
    lines = cpu_info.read_text().splitlines() if cpu_info.is_file() else []
    models = [line.split(":")[1] for line in lines if line.startswith("model name")]
    cpu = models[0].strip() if models else platform.processor() or platform.machine()
    threads = "one thread" if THREADS == "1" else f"{THREADS} threads"
    cores = f"{len(models)} cores, {threads} used" if models else threads
    versions = [f"Python {platform.python_version()}", *(f"{p} {version(p)}" for p in packages)]
    return f"{cpu}, {cores}; {platform.system()}; {', '.join(versions)}"
