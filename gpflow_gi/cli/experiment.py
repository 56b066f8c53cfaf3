"""``gpflow-gi experiment``."""

import argparse
import os
import shutil
import textwrap
from contextlib import suppress
from pathlib import Path
from typing import Any

from gpflow_gi.benchmark.results_folder import (
    ResultsFolderError,
    check_results_folder,
    results_folder,
)
from gpflow_gi.experiments.catalogue import EXPERIMENTS, FILES

from . import arguments, workers
from .console import FAILED, MISUSED, announce, import_noise_hidden, say, say_error


def add_to(commands: Any) -> None:
    """Add the command to a parser's commands."""
    listed = "\n".join(
        textwrap.fill(
            experiment.description,
            80,
            initial_indent=f"  {name:<16}",
            subsequent_indent=18 * " ",
        )
        for name, experiment in EXPERIMENTS.items()
    )
    introduction = textwrap.fill(
        "Repeat an experiment of Ober & Aitchison (2021) or one like it. Ends with a table, and "
        f"writes the numbers and a figure: {', '.join(FILES)}.",
        80,
    )
    experiment = commands.add_parser(
        "experiment",
        help="repeat a published experiment",
        description=f"{introduction}\n\nexperiments:\n{listed}",
        allow_abbrev=False,
        formatter_class=arguments.wide_raw_help,
    )
    experiment.add_argument(
        "name", metavar="NAME", choices=list(EXPERIMENTS), help="which experiment; see above"
    )
    length = experiment.add_mutually_exclusive_group()
    length.add_argument(
        "--fast", action="store_true", help="about a minute's version, with less of everything"
    )
    with_full = ", ".join(name for name, one in EXPERIMENTS.items() if one.has_full)
    length.add_argument("--full", action="store_true", help=f"the longest version ({with_full})")
    with_data = "; ".join(
        f"{name}: {', '.join(one.data)}" for name, one in EXPERIMENTS.items() if one.data
    )
    experiment.add_argument(
        "--data", metavar="NAME", help=f"what to run it on ({with_data}; default: the first)"
    )
    experiment.add_argument(
        "--seed",
        metavar="N",
        type=arguments.seed,
        default=0,
        help="of the data, the start and the training (default: %(default)s)",
    )
    experiment.add_argument(
        "--out",
        metavar="DIR",
        type=Path,
        help="folder for the results; earlier results in it are replaced "
        "(default: gpflow-gi-results/ and the experiment's name and data)",
    )
    with_trials = ", ".join(name for name, one in EXPERIMENTS.items() if one.runs_trials)
    how = experiment.add_argument_group(
        f"running several methods at the same time ({with_trials} only)"
    )
    workers.add_to(how, "methods")
    experiment.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command.

    :return: the exit code.
    """
    experiment = EXPERIMENTS[options.name]
    if options.full and not experiment.has_full:
        return say_error(f"{experiment.name} has no --full version.", MISUSED)
    if options.data is not None and options.data not in experiment.data:
        choice = ", ".join(experiment.data)
        return say_error(
            f"{experiment.name} has no --data {options.data}; "
            + (f"choose from {choice}." if choice else "it makes its own."),
            MISUSED,
        )
    if not experiment.runs_trials and (options.jobs > 1 or options.dask is not None):
        return say_error(
            f"{experiment.name} runs in one process: leave out --jobs and --dask.", MISUSED
        )
    name = "-".join(filter(None, (experiment.name, options.data)))
    out = options.out or Path("gpflow-gi-results", name)
    try:
        check_results_folder(out, FILES)
    except ResultsFolderError as error:
        return say_error(str(error), MISUSED)
    running: Any = None
    stops: tuple[type[Exception], ...] = ()  # errors that are one line
    if experiment.runs_trials:
        try:
            stops = workers.errors()
            running = workers.made(options)
        except ValueError as error:
            return say_error(str(error), MISUSED)
    whole = out.resolve()  # "." has no name
    unfinished = whole.with_name(f"{whole.name}-unfinished")
    say(f"{experiment.name}: {experiment.description}.")
    if experiment.is_resumable:
        say(f"What is done so far is in {unfinished}{os.sep}; the same command goes on from there.")
    say("Loading TensorFlow ...")
    with import_noise_hidden():
        from gpflow_gi.datasets import DataError
        from gpflow_gi.experiments import study
        from gpflow_gi.training import NonFiniteError
    stops = (DataError, *stops)
    try:
        results = study.run(
            experiment.name,
            fast=options.fast,
            full=options.full,
            data=options.data,
            seed=options.seed,
            announce=announce,
            checkpoints=unfinished,
            workers=running,
        )
    except stops as error:
        return say_error(str(error), FAILED)
    except NonFiniteError as error:
        return say_error(f"{error} Nothing was written.", FAILED)
    print(f"\n{study.summary(results)}", flush=True)
    try:
        with results_folder(out, FILES) as folder:
            study.write(results, folder)
    except ResultsFolderError as error:
        return say_error(str(error), MISUSED)
    if experiment.is_resumable:
        own = study.folder_of_run(
            experiment,
            fast=options.fast,
            full=options.full,
            data=options.data,
            seed=options.seed,
        )
        shutil.rmtree(unfinished / own, ignore_errors=True)
        with suppress(OSError):  # other runs have unfinished work there, or there is none
            unfinished.rmdir()
    print(f"\nThe numbers and the figure are in {out}{os.sep}", flush=True)
    return 0
