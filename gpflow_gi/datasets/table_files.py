"""Tables in files: comma-separated values and Parquet, compressed or not, as data frames."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import os
import stat
import warnings
import zipfile
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from ..core.validation import shown
from .errors import DataError

if TYPE_CHECKING:
    import pandas as pd

MISSING = (
    "",
    "nan",
    "NaN",
    "NAN",
    "na",
    "NA",
    "n/a",
    "N/A",
    "null",
    "NULL",
    "none",
    "None",
    "?",
    "-",
)
"""Cells that say that a value is missing."""

SEPARATORS = ",;\t|"

COMPRESSED = (".gz", ".bz2", ".xz", ".zip")
PARQUET = (".parquet", ".pq")

_SEEN = 20
"""Number of rows from which the separator is found."""

_DAMAGED = (EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, gzip.BadGzipFile)


def table_name(path: Path) -> str:
    """The name of a table: that of its file without the endings of format and compression."""
    return Path(path.stem).stem if path.suffix.lower() in COMPRESSED else path.stem


@dataclass(frozen=True)
class TableFile:
    """A file with a table.

    :param path: the file.
    :param names: the names of its columns, all different.
    :param separator: what separates its cells; None for a Parquet file.
    """

    path: Path
    names: tuple[str, ...]
    separator: str | None

    @property
    def missing(self) -> tuple[str, ...]:
        """Texts of cells that stand for missing values; those of Parquet are what they say."""
        return ("",) if self.separator is None else MISSING

    @classmethod
    def open(cls, path: Path) -> TableFile:
        """Find the names of the columns and the separator.

        :raises DataError: if there is no such file, if it is damaged or no table, or if a column
            has no name or that of another one.
        """
        if path.suffix.lower() in PARQUET:
            names = _parquet_names(path)
            return cls(path, _checked_names(path, names), None)
        with _text(path) as file:
            head = _first_records(file)
        if not head.strip().strip("\ufeff") or not head.splitlines()[0].strip(" \t\ufeff"):
            raise DataError(f"{path}, line 1 is empty: it must hold the names of the columns.")
        separator = _separator(head)
        try:
            first = next(_records(head, separator))
        except csv.Error as error:
            raise DataError(f"{path}, line 1 does not hold names of columns: {error}.") from None
        return cls(path, _checked_names(path, first), separator)

    def frame(self, text: Collection[str] = ()) -> pd.DataFrame:
        """All rows but empty ones, with missing cells as NaN.

        :param text: columns whose cells stay texts, whatever they hold.
        :return: columns that hold nothing but numbers as numbers, all others as texts.
        :raises DataError: if the file is not a table.
        """
        frame = self._whole(text)
        return frame[frame.notna().any(axis="columns").to_numpy()].reset_index(drop=True)

    def _whole(self, text: Collection[str]) -> pd.DataFrame:
        import pandas as pd

        if self.separator is None:
            frame = _parquet(self.path, pd.read_parquet)
            frame.columns = pd.Index(list(self.names))
            return frame
        with self._reading() as file:
            return pd.read_csv(file, **self._options(text))

    def chunks(self, rows: int, text: Collection[str] = ()) -> Iterator[pd.DataFrame]:
        """All rows up to the last one that is not empty, some at a time.

        :param rows: the largest number of rows of a part.
        :param text: columns whose cells stay texts.
        :raises DataError: as :meth:`frame`; and if there is an empty row between others, since
            what is found for the rows would then not stand beside them.
        """
        import pandas as pd

        if self.separator is None:
            frame = self._whole(())
            yield from self._filled(
                frame.iloc[start : start + rows] for start in range(0, len(frame), rows)
            )
            return
        options = {**self._options(text), "skip_blank_lines": False, "chunksize": rows}
        with self._reading() as file, pd.read_csv(file, **options) as parts:
            yield from self._filled(parts)

    def _filled(self, parts: Iterable[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        """The rows of parts that are not empty: all rows but those at the end."""
        num_filled = start = 0
        for part in parts:
            filled = np.flatnonzero(part.notna().any(axis="columns"))
            # Filled rows stand in their own places as long as no empty one is before them.
            moved = filled[start + filled != num_filled + np.arange(len(filled))]
            if len(moved):
                raise DataError(
                    f"{self.path}: row {start + moved[0]} below the names has no value in any "
                    "column, and others follow: fill it, or delete it."
                )
            num_filled += len(filled)
            start += len(part)
            yield part.iloc[filled]

    def cells(self) -> tuple[pd.DataFrame, NDArray[np.intp]]:
        """The rows of :meth:`frame` as texts, and where they are: for messages about them.

        :return: the texts; and [N], the lines at which the rows start, counted from 1, or for
            Parquet the numbers of the rows.
        """
        import pandas as pd

        if self.separator is None:
            frame = self.frame().astype(object)
            return frame.where(frame.notna(), "").astype(str), 1 + np.arange(len(frame))
        options = self._options(())
        for name in ("names", "na_values", "low_memory", "dtype"):
            options.pop(name)
        options.update(header=None, dtype=str, skip_blank_lines=False)
        with self._reading() as file:
            cells = pd.read_csv(file, **options)
        breaks = sum(cells[name].str.count("\n").to_numpy() for name in cells.columns)
        lines = 1 + np.arange(len(cells)) + np.concatenate([[0], np.cumsum(breaks)[:-1]])
        cells, lines = cells.iloc[1:], lines.astype(int)[1:]
        cells.columns = pd.Index(list(self.names))
        filled = (~cells.isin(MISSING)).any(axis="columns").to_numpy()
        return cells[filled].reset_index(drop=True), lines[filled]

    def _options(self, text: Collection[str]) -> dict[str, Any]:
        return {
            "sep": self.separator,
            "header": 0,
            "names": list(self.names),
            "index_col": False,
            "dtype": dict.fromkeys(text, str),
            "keep_default_na": False,
            "na_values": list(MISSING),
            "skipinitialspace": True,
            "encoding": "utf-8-sig",
            "low_memory": False,  # or a column could have cells of several types
        }

    @contextmanager
    def _reading(self) -> Iterator[IO[bytes]]:
        import pandas as pd

        try:
            with _bytes(self.path) as file, warnings.catch_warnings():
                warnings.simplefilter("error", pd.errors.ParserWarning)
                yield file
        except UnicodeDecodeError:
            raise _no_text(self.path) from None
        except pd.errors.ParserWarning:
            raise DataError(
                f"{self.path} is not a table: its first row has more cells than the "
                f"{len(self.names)} names of columns."
            ) from None
        except pd.errors.ParserError as error:
            # "Error tokenizing data. C error: Expected 3 fields in line 5, saw 4"
            reason = str(error).split("C error: ")[-1].strip()
            if "EOF inside string" in reason:
                reason = "a quotation mark is never closed"
            what = {",": "comma-separated values", ";": "values separated by semicolons"}
            kind = what.get(self.separator or "", f"values separated by {self.separator!r}")
            raise DataError(f"{self.path} is not {kind}: {reason}.") from None
        except _DAMAGED as error:
            raise _damaged(self.path, error) from None


@contextmanager
def _bytes(path: Path) -> Iterator[IO[bytes]]:
    """The content of a file, decompressed.

    :raises DataError: if there is no such file, or if it cannot be read.
    """
    try:
        with path.open("rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise DataError(
                    f"{path} is a pipe or a device, and a table is read more than once: write it "
                    "to a file."
                )
            ending = path.suffix.lower()
            if ending == ".zip":
                with zipfile.ZipFile(file) as archive:
                    members = [one for one in archive.infolist() if not one.is_dir()]
                    if len(members) != 1:
                        raise DataError(
                            f"{path} holds {len(members)} files: put one table into it, alone."
                        )
                    with archive.open(members[0]) as content:
                        yield content
            elif ending in COMPRESSED:
                opened: Any = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}[ending]
                with opened(file, "rb") as content:
                    yield content
            else:
                yield file
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file.") from None
    except _DAMAGED as error:
        raise _damaged(path, error) from None
    except OSError as error:  # bz2 raises it for what is not compressed
        raise DataError(f"{path} cannot be read: {error.strerror or error}.") from None


@contextmanager
def _text(path: Path) -> Iterator[IO[str]]:
    try:
        with _bytes(path) as file:
            yield io.TextIOWrapper(file, "utf-8-sig", newline="")
    except UnicodeDecodeError:
        raise _no_text(path) from None


def _no_text(path: Path) -> DataError:
    return DataError(f"{path} is not a text file in UTF-8: save the table as CSV (UTF-8).")


def _damaged(path: Path, error: Exception) -> DataError:
    return DataError(f"{path} is damaged, or not compressed as its name says: {error}.")


def _first_records(file: IO[str]) -> str:
    """The first lines of a text, so many that no quotation ends within them."""
    lines: list[str] = []
    for line in file:
        lines.append(line[: 1 << 20])
        if len(lines) > _SEEN and sum(one.count('"') for one in lines) % 2 == 0:
            break
        if len(lines) > 10 * _SEEN:
            break
    return "".join(lines)


def _records(head: str, separator: str) -> Iterator[list[str]]:
    # With newline="" lines may end with a carriage return alone, as in files of old programs.
    text = io.StringIO(head, newline="")
    return csv.reader(text, delimiter=separator, skipinitialspace=True)


def _separator(head: str) -> str:
    """The separator with which most records have as many cells as there are names."""

    def score(separator: str) -> tuple[float, int]:
        records = _records(head, separator)
        try:
            names, *rows = (row for row in records if any(cell.strip() for cell in row))
        except csv.Error:
            return 0.0, 0
        same = sum(len(row) == len(names) for row in rows)
        return (same + 1) / (len(rows) + 1) if len(names) > 1 else 0.0, len(names)

    return max(SEPARATORS, key=score)


def _checked_names(path: Path, cells: list[str]) -> tuple[str, ...]:
    names = [name.strip() for name in cells]
    if "" in names:
        raise DataError(
            f"{path}, line 1: column {names.index('') + 1} has no name. Name it; or "
            "if it is an index, write the table without."
        )
    name, count = Counter(names).most_common(1)[0]
    if count > 1:
        raise DataError(f"{path}, line 1: {count} columns have the name {shown(name)}.")
    return tuple(names)


def _parquet(path: Path, read: Any) -> Any:
    try:
        return read(path)
    except ImportError:
        raise DataError(
            f"{path} is a Parquet file, which needs pyarrow: pip install 'gpflow-gi[parquet]'."
        ) from None
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file.") from None
    except Exception as error:  # pyarrow's errors are its own
        raise DataError(f"{path} cannot be read: {' '.join(str(error).split())}.") from None


def _parquet_names(path: Path) -> list[str]:
    def names(path: Path) -> list[str]:
        from pyarrow import parquet

        # An index that pandas has written as a column is no column.
        return [str(name) for name in parquet.read_schema(path).empty_table().to_pandas().columns]

    return cast("list[str]", _parquet(path, names))
