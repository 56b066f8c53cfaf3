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
        help=f"comma-separated values, with the columns' names in the first line ({otherwise})",
    )
    group.add_argument("--target", metavar="COLUMN", help="the column of FILE to predict")
    group.add_argument(
        "--drop",
        metavar="COLUMN",
        action="append",
        default=[],
        help="a column of FILE to leave out; may be given several times",
    )


def check_table(options: argparse.Namespace) -> None:
    """Check that the options of :func:`add_table` are consistent.

    :raises ValueError: if they are not.
    """
    if options.data is None and (options.target is not None or options.drop):
        raise ValueError("--target and --drop need --data FILE.")
    if options.data is not None and options.target is None:
        raise ValueError("--data needs --target COLUMN: the column to predict.")


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
