"""The command line: ``gpflow-gi``.

TensorFlow takes many seconds to import, so it is imported last, after the checks of the arguments,
the data and the folder for the results.
"""

import os
from collections.abc import Sequence

from gpflow_gi._version import __version__

from . import benchmark, compare, experiment, predict, report
from .arguments import Parser
from .console import INTERRUPTED, MISUSED, say_error, unwritable_escaped

NOT_READ = 141
"""Exit code of a program that is ended by SIGPIPE, as in a shell."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    :param arguments: arguments without the program's name; None for those of the process.
    :return: the exit code: 0, 1 if training failed, 2 if the arguments, the data or the folder for
        the results cannot be used, 130 if interrupted, 141 if the reader of its output has gone
        (``gpflow-gi benchmark --list | head -1``). An error is one line on standard error.
    """
    try:
        try:
            with unwritable_escaped():
                return _run(arguments)
        finally:
            # Here, and not at Python's exit, where the error cannot be caught. There may be no
            # output.
            print(end="", flush=True)
    except BrokenPipeError:
        # Discard the remaining output.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return NOT_READ


def _run(arguments: Sequence[str] | None) -> int:
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.command is None:
        parser.print_help()
        return MISUSED
    try:
        return int(options.run(options))
    except KeyboardInterrupt:
        return say_error("interrupted before it was done.", INTERRUPTED)


def _parser() -> Parser:
    parser = Parser(
        prog="gpflow-gi",
        description="Deep Gaussian processes and Bayesian neural networks with global inducing "
        "points, for GPflow.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    compare.add_to(commands)
    predict.add_to(commands)
    experiment.add_to(commands)
    benchmark.add_to(commands)
    report.add_to(commands)
    return parser
