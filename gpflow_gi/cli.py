"""The command line: ``gpflow-gi compare``.

TensorFlow takes many seconds to import, so it is imported last: after the arguments, the data and
the folder for the results have been found in order.
"""

import argparse
import os
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, NoReturn

from gpflow_gi._version import __version__
from gpflow_gi.experiments.results_folder import (
    ResultsFolderError,
    check_results_folder,
    results_folder,
)
from gpflow_gi.experiments.settings import FILES, Settings

FAILED, MISUSED, INTERRUPTED = 1, 2, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    :param arguments: without the program's name; None means those of the process.
    :return: the exit code: 0, 1 if training failed, 2 if the arguments, the data or the folder for
        the results cannot be used, 130 if interrupted. What went wrong is one line on standard
        error.
    """
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.command is None:
        parser.print_help()
        return MISUSED
    try:
        return _compare(options)
    except KeyboardInterrupt:
        return _say_error("interrupted; nothing was written.", INTERRUPTED)


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, without the usage before it."""

    def error(self, message: str) -> NoReturn:
        self.exit(MISUSED, f"{self.prog}: error: {message} (see {self.prog} --help)\n")


def _say_error(message: str, code: int) -> int:
    print(f"gpflow-gi: error: {' '.join(message.split())}", file=sys.stderr, flush=True)
    return code


def _say(paragraph: str) -> None:
    print(textwrap.fill(paragraph, 80), flush=True)


@contextmanager
def _import_noise_hidden() -> Iterator[None]:
    """Keep what TensorFlow says of drivers and instruction sets while it is imported to itself.

    Some of it is written before TF_CPP_MIN_LOG_LEVEL is looked at, and straight to the process's
    standard error. Whoever has set that variable to 0 or 1 wants to see it.
    """
    if os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3") in ("0", "1"):
        yield
        return
    sys.stderr.flush()
    kept = os.dup(2)
    with tempfile.TemporaryFile() as hidden:
        os.dup2(hidden.fileno(), 2)
        try:
            yield
        except Exception:
            hidden.seek(0)
            os.write(kept, hidden.read())
            raise
        finally:
            os.dup2(kept, 2)
            os.close(kept)


def _announce(name: str) -> None:
    print(f"\n{name}", flush=True)


# Arguments


def _number(kind: type, allowed: Callable[[Any], bool], description: str) -> Callable[[str], Any]:
    def parse(text: str) -> Any:
        try:
            value = kind(text)
        except ValueError:
            value = None
        if value is None or not allowed(value):
            raise argparse.ArgumentTypeError(f"must be {description}, but is {text!r}")
        return value

    return parse


_count = _number(int, lambda value: value >= 1, "a whole number of at least 1")
_count_or_none = _number(int, lambda value: value >= 0, "a whole number, 0 or more")
_seed = _number(int, lambda value: 0 <= value < 2**31, "a whole number from 0 to 2147483647")
_positive = _number(float, lambda value: 0 < value < float("inf"), "a positive number")
_fraction = _number(float, lambda value: 0 < value < 1, "a number between 0 and 1")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="gpflow-gi",
        description="Deep Gaussian processes with global inducing points, for GPflow.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    compare = commands.add_parser(
        "compare",
        help="train a sparse GP and two deep GPs on one table and compare them",
        description=(
            "Train a sparse GP, a deep GP with local and one with global inducing points on the "
            "same rows, and compare them on rows held out. Ends with a table, and writes the "
            f"numbers and two figures: {', '.join(FILES)}."
        ),
        allow_abbrev=False,
        formatter_class=lambda prog: argparse.HelpFormatter(prog, max_help_position=28, width=80),
    )
    default = Settings()
    data = compare.add_argument_group("data")
    data.add_argument(
        "--data",
        metavar="FILE",
        type=Path,
        help="comma-separated values, with the columns' names in the first line "
        "(default: scikit-learn's diabetes, 442 rows and 10 inputs)",
    )
    data.add_argument("--target", metavar="COLUMN", help="the column of FILE to predict")
    data.add_argument(
        "--drop",
        metavar="COLUMN",
        action="append",
        default=[],
        help="a column of FILE to leave out; may be given several times",
    )
    data.add_argument(
        "--test-fraction",
        metavar="X",
        type=_fraction,
        default=default.test_fraction,
        help="share of rows to hold out (default: %(default)s)",
    )
    models = compare.add_argument_group("models and training")
    for option, destination, what in [
        ("--layers", "num_layers", "layers of the deep GPs"),
        ("--num-inducing", "num_inducing", "inducing points per layer"),
        ("--steps", "steps", "steps of Adam"),
        ("--num-samples", "num_samples", "samples in every step"),
        ("--test-samples", "num_test_samples", "samples for predictions and the final bound"),
        ("--batch-size", "batch_size", "rows in every step, at most"),
    ]:
        models.add_argument(
            option,
            dest=destination,
            metavar="N",
            type=_count,
            default=getattr(default, destination),
            help=f"{what} (default: %(default)s)",
        )
    models.add_argument(
        "--learning-rate",
        metavar="X",
        type=_positive,
        default=default.learning_rate,
        help="of Adam (default: %(default)s)",
    )
    models.add_argument(
        "--kl-warmup",
        metavar="N",
        type=_count_or_none,
        default=default.kl_warmup,
        help="steps over which the weight of the KL term rises to 1, at most a third of all; 0 for "
        "none (default: %(default)s)",
    )
    models.add_argument(
        "--seed",
        metavar="N",
        type=_seed,
        default=default.seed,
        help="of the split, the start and the training (default: %(default)s)",
    )
    compare.add_argument(
        "--out",
        metavar="DIR",
        type=Path,
        help="folder for the results; earlier results in it are replaced "
        "(default: gpflow-gi-results/ and the name of the data)",
    )
    return parser


# gpflow-gi compare


def _compare(options: argparse.Namespace) -> int:
    import numpy as np

    from gpflow_gi.datasets import DataError, diabetes, read_csv, train_test_split

    settings = Settings(**{f.name: getattr(options, f.name) for f in fields(Settings)})
    out = options.out or Path(
        "gpflow-gi-results", options.data.stem if options.data else "diabetes"
    )
    try:
        if options.data is None:
            if options.target is not None or options.drop:
                raise DataError("--target and --drop need --data FILE.")
            table = diabetes()
        else:
            if options.target is None:
                raise DataError("--data needs --target COLUMN: the column to predict.")
            table = read_csv(options.data, options.target, options.drop)
        check_results_folder(out, FILES)
        train, test = train_test_split(table, settings.test_fraction, settings.seed)
        if (train.Y == train.Y[0]).all():
            raise DataError(
                f"{options.data}, column {table.target_name!r}: the target is {train.Y[0, 0]:g} in "
                f"all {len(train.Y)} rows that are left to train on; try another --seed."
            )
    except (DataError, ResultsFolderError) as error:
        return _say_error(str(error), MISUSED)

    num_rows, num_different = len(train.Y), len(np.unique(train.X, axis=0))
    num_inducing = min(settings.num_inducing, num_different)
    _say(
        f"{table.name}: {len(table.Y)} rows, {table.X.shape[1]} "
        f"{'input' if table.X.shape[1] == 1 else 'inputs'}, target "
        f"{table.target_name!r}; {num_rows} rows to train on, {len(test.Y)} to test on."
    )
    if num_inducing < settings.num_inducing:
        rows = "rows" if num_different == num_rows else "different rows"
        _say(
            f"{settings.num_inducing} inducing points are more than there are {rows} to train on: "
            f"{num_inducing} used instead."
        )
    settings = replace(
        settings,
        num_inducing=num_inducing,
        batch_size=min(settings.batch_size, num_rows),
        kl_warmup=min(settings.kl_warmup, settings.steps // 3),
    )
    _say(
        f"Layers: {settings.num_layers}. Inducing points: {settings.num_inducing}. "
        f"Steps: {settings.steps}. Rows per step: {settings.batch_size}. "
        f"Samples per step: {settings.num_samples}. Learning rate: {settings.learning_rate:g}. "
        f"KL warm-up: {settings.kl_warmup} steps. Seed: {settings.seed}."
    )
    _say("Loading TensorFlow ...")
    with _import_noise_hidden():
        from gpflow_gi.experiments import report
        from gpflow_gi.experiments.compare import compare
        from gpflow_gi.training import NonFiniteError

    try:
        comparison = compare(train, test, settings, announce=_announce)
    except NonFiniteError as error:
        return _say_error(f"{error} Nothing was written.", FAILED)
    print(f"\n{report.table(comparison)}", flush=True)
    try:
        with results_folder(out, FILES) as folder:
            report.write(comparison, folder)
    except ResultsFolderError as error:
        return _say_error(str(error), MISUSED)
    print(f"\nThe numbers and the figures are in {out}{os.sep}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
