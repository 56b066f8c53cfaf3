"""``gpflow-gi report``."""

import argparse
import os
from pathlib import Path
from typing import Any

from gpflow_gi.benchmark.results_folder import ResultsFolderError

from . import arguments
from .console import FAILED, MISUSED, say, say_error


def add_to(commands: Any) -> None:
    """Add the command to a parser's commands."""
    report = commands.add_parser(
        "report",
        help="tables and figures of a sweep of benchmark trials",
        description=(
            "Report on a folder of benchmark trials, whether or not all of them are done: tables, "
            "paired differences, mean ranks and figures, as a page (report.html), as Markdown and "
            "as CSV. Trains nothing."
        ),
        allow_abbrev=False,
        formatter_class=arguments.wide_help,
    )
    report.add_argument(
        "folder", metavar="DIR", type=Path, help="the folder of the sweep, which holds records/"
    )
    report.add_argument(
        "--out",
        metavar="DIR",
        type=Path,
        help="folder for the report; an earlier one in it is replaced (default: report/ in the "
        "folder of the sweep)",
    )
    report.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command.

    :return: the exit code: 0, 1 if data sets had to be left out, 2 if there is no report.
    """
    from gpflow_gi.benchmark.report import making, reading, statistics

    out = options.out or options.folder / "report"
    try:
        made = making.make(options.folder, out)
    except (reading.RecordsError, ResultsFolderError) as error:
        return say_error(str(error), MISUSED)
    for sentence in made.report.overview:
        say(sentence)
    for title, table in made.shown:
        print(f"\n{title}\n\n{table}")
    print(
        "\nMean ± standard error over splits. *: best, ~: not to be told from it"
        f"\n(corrected paired t-test at {statistics.LEVEL:.0%}; of one common split nothing can be "
        "told)."
    )
    print(f"The report is {out / 'report.html'}; all of it is in {out}{os.sep}", flush=True)
    bad = made.report.records.left_out
    if bad:
        listed = "; ".join(f"{name} ({why})" for name, why in bad.items())
        return say_error(f"left out, because they cannot be reported: {listed}.", FAILED)
    return 0
