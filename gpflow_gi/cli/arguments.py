"""Types and checks of the commands' arguments."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from .console import MISUSED


class Parser(argparse.ArgumentParser):
    """A parser that reports an error in one line, without the usage before it."""

    def error(self, message: str) -> NoReturn:
        self.exit(MISUSED, f"{self.prog}: error: {message} (see {self.prog} --help)\n")


def add_table(group: Any, otherwise: str) -> None:
    """Add the options for a user's own table.

    :param otherwise: the data without these options, for the help.
    """
    group.add_argument(
        "--data",
        metavar="FILE",
        type=Path,
        help="comma-separated values, with the columns' names in the first line; may be "
        f"compressed, or Parquet ({otherwise})",
    )
    group.add_argument("--target", metavar="COLUMN", help="the column of FILE to predict")
    group.add_argument(
        "--drop",
        metavar="COLUMN,COLUMN",
        action="append",
        default=[],
        help="columns of FILE to leave out; may be given several times",
    )
    group.add_argument(
        "--impute",
        choices=["median"],
        help="replace missing values by the median of the training rows, with an input that says "
        "where (default: missing values are refused)",
    )
    group.add_argument(
        "--categories",
        metavar="COLUMN,COLUMN",
        action="append",
        default=[],
        help="columns that are categories, although they hold numbers",
    )
    group.add_argument(
        "--max-categories",
        metavar="N",
        type=count,
        help="categories of a column, each of which becomes an input (default: 20)",
    )
    group.add_argument(
        "--calendar",
        action="store_true",
        help="make inputs of the day of the week and the month of dates too",
    )
    group.add_argument(
        "--decimal",
        choices=[".", ","],
        help="the decimal mark, where numbers such as 1,234 leave it open",
    )


def check_table(options: argparse.Namespace) -> None:
    """Check that the options of :func:`add_table` are consistent.

    :raises ValueError: if they are not.
    """
    given = {"target": options.target, "drop": options.drop, **reading(options)}
    for name, value in given.items():
        if options.data is None and value not in (None, []):
            raise ValueError(f"--{name.replace('_', '-')} needs --data FILE.")
    if options.data is not None and options.target is None:
        raise ValueError("--data needs --target COLUMN: the column to predict.")


def reading(options: argparse.Namespace) -> dict[str, Any]:
    """The options that say how a table is read, without those that were not given.

    :return: arguments of :func:`gpflow_gi.datasets.read_csv`.
    """
    names = ("impute", "categories", "max_categories", "calendar", "decimal")
    return {name: value for name in names if (value := getattr(options, name))}


def number(kind: type, allowed: Callable[[Any], bool], description: str) -> Callable[[str], Any]:
    """A type for argparse: a number that is allowed."""

    def parse(text: str) -> Any:
        try:
            value = kind(text)
        except ValueError:
            value = None
        if value is None or not allowed(value):
            raise argparse.ArgumentTypeError(f"must be {description}, but is {text!r}")
        return value

    return parse


count = number(int, lambda value: value >= 1, "a whole number of at least 1")
count_or_none = number(int, lambda value: value >= 0, "a whole number, 0 or more")
seed = number(int, lambda value: 0 <= value < 2**31, "a whole number from 0 to 2147483647")
not_negative = number(float, lambda value: 0 <= value < float("inf"), "a number, 0 or more")
positive = number(float, lambda value: 0 < value < float("inf"), "a positive number")
fraction = number(float, lambda value: 0 < value < 1, "a number between 0 and 1")


def list_of(parse: Callable[[str], Any], what: str) -> Callable[[str], tuple[Any, ...]]:
    """A type for argparse: values separated by commas."""

    def parse_list(text: str) -> tuple[Any, ...]:
        try:
            return tuple(parse(one) for one in text.split(","))
        except argparse.ArgumentTypeError:
            raise argparse.ArgumentTypeError(f"must be {what}, but is {text!r}") from None

    return parse_list


def names(text: str) -> tuple[str, ...]:
    """A type for argparse: names with commas between them, each of them once."""
    found = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if not found:
        raise argparse.ArgumentTypeError(f"must be names with commas between them, but is {text!r}")
    return found


widths = list_of(count, "whole numbers of at least 1 with commas between them, such as 50,50")


def wide_help(prog: str) -> argparse.HelpFormatter:
    """Format help for 80 columns."""
    return argparse.HelpFormatter(prog, max_help_position=28, width=80)


def wide_raw_help(prog: str) -> argparse.HelpFormatter:
    """Format help for 80 columns, with descriptions unchanged."""
    return argparse.RawDescriptionHelpFormatter(prog, max_help_position=28, width=80)
