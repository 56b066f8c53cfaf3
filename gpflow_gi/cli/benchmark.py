"""``gpflow-gi benchmark``."""

import argparse
import os
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpflow_gi.benchmark.budgets import BUDGETS, Budget
from gpflow_gi.benchmark.methods import METHODS, Method, settings_of

from . import arguments, workers
from .console import FAILED, INTERRUPTED, MISUSED, say, say_error

if TYPE_CHECKING:
    from gpflow_gi.benchmark.records import Trial

DEFAULT_OUT = Path("gpflow-gi-results", "benchmark")


def add_to(commands: Any) -> None:
    """Add the command to a parser's commands."""
    benchmark = commands.add_parser(
        "benchmark",
        help="compare methods on many splits of many data sets",
        description=(
            "Train methods on splits of data sets and measure them on the rows held out. Each "
            "trial (a method on one split) is kept in a file as soon as it ends: a sweep that was "
            "interrupted goes on where it was when the same command is given again."
        ),
        allow_abbrev=False,
        formatter_class=arguments.wide_help,
    )
    benchmark.add_argument(
        "--list", action="store_true", help="say which methods, budgets and data sets there are"
    )
    what = benchmark.add_argument_group("trials")
    what.add_argument(
        "--datasets",
        metavar="NAME,NAME",
        type=arguments.names,
        default=(),
        help="UCI regression sets; see --list",
    )
    arguments.add_table(what, "beside the UCI sets, or without any")
    what.add_argument(
        "--methods",
        metavar="NAME,NAME",
        type=arguments.names,
        default=tuple(METHODS),
        help="what is compared; see --list (default: all)",
    )
    what.add_argument(
        "--splits",
        type=_splits,
        default=range(20),
        help="20 or 0:20 for the first 20, 3:4 for number 3 alone, or numbers with commas between "
        "them (default: 0:20)",
    )
    what.add_argument(
        "--budget",
        choices=list(BUDGETS),
        default=next(iter(BUDGETS)),
        help="how much each trial may compute; see --list (default: %(default)s)",
    )
    what.add_argument(
        "--set",
        dest="changes",
        metavar="NAME=X",
        action="append",
        default=[],
        help="another number in the budget, such as steps=5000; may be given several times",
    )
    what.add_argument(
        "--rates",
        metavar="X,X",
        type=arguments.list_of(arguments.positive, "positive numbers with commas between them"),
        help="learning rates beside the budget's own: each method keeps, on each data set, the one "
        "with the best bound on split 0, which is run even if --splits leaves it out",
    )
    what.add_argument(
        "--seed",
        metavar="N",
        type=arguments.seed,
        default=0,
        help="of the methods' start and training; the splits are fixed (default: %(default)s)",
    )
    how = benchmark.add_argument_group("running them")
    workers.add_to(how, "trials")
    how.add_argument(
        "--time-limit",
        metavar="S",
        type=arguments.positive,
        help="end a trial after so many seconds, not counting imports",
    )
    how.add_argument(
        "--memory-limit",
        metavar="MB",
        type=arguments.positive,
        help="end a trial whose process takes more memory",
    )
    how.add_argument(
        "--retry-failed", action="store_true", help="run again what failed; done stays done"
    )
    how.add_argument(
        "--out",
        metavar="DIR",
        type=Path,
        default=DEFAULT_OUT,
        help="folder for the records (default: %(default)s)",
    )
    benchmark.set_defaults(run=run)


def _splits(text: str) -> Sequence[int]:
    """Numbers of splits, without repetitions."""
    try:
        if "," in text:
            splits: Sequence[int] = tuple(dict.fromkeys(int(one) for one in text.split(",")))
        else:
            first, _, end = text.rpartition(":")
            splits = range(int(first or 0), int(end))
    except ValueError:
        splits = ()
    if not splits or min(splits) < 0:
        raise argparse.ArgumentTypeError(
            f"must be a number of splits, FIRST:END or numbers with commas between them, such as "
            f"20, 0:20 or 0,4,7, but is {text!r}"
        )
    return splits


def run(options: argparse.Namespace) -> int:
    """Run the command.

    :return: the exit code: 0 if all trials are done, 1 if some failed or the sweep cannot go on,
        2 if it cannot begin, 130 if it was interrupted.
    """
    if options.list:
        return _list()

    from gpflow_gi.benchmark import best_rates, sweep
    from gpflow_gi.benchmark.lock import SweepRunningError
    from gpflow_gi.benchmark.worker import StopSweepError

    try:
        budget = _changed(BUDGETS[options.budget], options.changes)
        methods = {name: settings_of(_method(name)) for name in options.methods}
        data = _data(options)
        trials = sweep.plan(data, options.splits, methods, asdict(budget), options.seed)
        if not trials:
            raise ValueError("there is nothing to run: no data set has such a split.")
        running = workers.made(options)
        try:
            sweep.prepare(options.out)
        except sweep.FolderError:
            running.close()
            raise
    except (ValueError, sweep.FolderError) as error:  # DataError is a ValueError
        return say_error(str(error), MISUSED)
    _say_plan(options, budget, data, trials)
    if options.rates is not None:
        rates = ", ".join(f"{rate:g}" for rate in best_rates.budgets_at(budget, options.rates))
        say(
            f"Split 0 first, at the learning rates {rates}; each method keeps the best one on each "
            "data set."
        )
    # Each stage of a sweep closes its workers.
    ready = chain([running], iter(lambda: workers.made(options), None))

    def run_trials(some: Sequence["Trial"]) -> list[dict[str, Any]]:
        if not some:
            return []
        return sweep.run(
            some,
            options.out,
            next(ready),
            function=sweep.TRIAL_FUNCTION,
            retry_failed=options.retry_failed,
            time_limit=options.time_limit,
            memory_limit=options.memory_limit,
        )

    try:
        if options.rates is None:
            records = run_trials(trials)
        else:
            wanted = data, options.splits, methods, budget, options.rates, options.seed
            records = best_rates.run(*wanted, run_trials)
    except (SweepRunningError, StopSweepError, sweep.FolderError) as error:
        return say_error(str(error), FAILED)
    except KeyboardInterrupt:
        return say_error(
            f"interrupted; what has ended is kept in {options.out}{os.sep}. Give the same command "
            "again to go on.",
            INTERRUPTED,
        )
    return _conclude(options.out, records)


def _list() -> int:
    from gpflow_gi.datasets import UCI_SETS

    def listed(title: str, lines: Iterable[tuple[str, str]]) -> None:
        print(f"{title}:")
        table = dict(lines)
        width = max(map(len, table))
        for name, text in table.items():
            indent = (width + 4) * " "
            first = f"  {name:<{width}}  "
            print(textwrap.fill(text, 80, initial_indent=first, subsequent_indent=indent))

    listed("methods", ((one.name, f"{one.title}. {one.source}") for one in METHODS.values()))
    listed("budgets", ((one.name, _numbers(one)) for one in BUDGETS.values()))
    listed(
        "data sets",
        (
            (name, f"{one.num_rows} rows, {len(one.input_names)} inputs, {one.num_splits} splits")
            for name, one in UCI_SETS.items()
        ),
    )
    return 0


def _numbers(budget: Budget) -> str:
    numbers = asdict(budget)
    del numbers["name"]
    return ", ".join(f"{name}={value}" for name, value in numbers.items())


def _method(name: str) -> Method:
    from gpflow_gi.datasets.near import near_names

    if name not in METHODS:
        near = near_names(name, METHODS)
        meant = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
        raise ValueError(f"there is no method {name!r}.{meant} --list says which there are.")
    return METHODS[name]


def _changed(budget: Budget, changes: Iterable[str]) -> Budget:
    """A changed budget, with a name that shows the changes.

    :raises ValueError: if a change does not name a number of the budget, or if no trial can run
        with its value.
    """
    numbers = asdict(budget)
    del numbers["name"]
    changed: dict[str, Any] = {}
    for change in changes:
        name, _, text = change.partition("=")
        if name not in numbers:
            raise ValueError(f"--set {change}: the budget has {', '.join(numbers)}.")
        if name == "last_learning_rate":
            parse = arguments.not_negative
        elif isinstance(numbers[name], float):
            parse = arguments.positive
        else:
            parse = arguments.count_or_none if name == "kl_warmup" else arguments.count
        try:
            changed[name] = parse(text)
        except argparse.ArgumentTypeError as error:
            raise ValueError(f"--set {change}: {name} {error}.") from None
    news = [f"{name}={value}" for name, value in changed.items() if value != numbers[name]]
    return replace(budget, name=", ".join([budget.name, *sorted(news)]), **changed)


def _data(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Descriptions of the data.

    :raises ValueError: if none are requested, or if they cannot be used.
    """
    from gpflow_gi.benchmark.data import describe, describe_csv
    from gpflow_gi.datasets import UCI_SETS
    from gpflow_gi.datasets.table_files import table_name

    arguments.check_table(options)
    if options.data is None:
        if not options.datasets:
            raise ValueError("--datasets NAME,NAME or --data FILE is needed; see --list.")
        return [describe(name) for name in options.datasets]
    # Also if that set is not requested: records of both could meet in a report.
    if table_name(options.data) in UCI_SETS:
        raise ValueError(f"{options.data} has the name of a UCI set: rename it.")
    ways = arguments.reading(options)
    described = describe_csv(options.data, options.target, options.drop, say=say, **ways)
    return [*map(describe, options.datasets), described]


def _say_plan(
    options: argparse.Namespace,
    budget: Budget,
    data: Sequence[Mapping[str, Any]],
    trials: Sequence["Trial"],
) -> None:
    def counted(number: int, what: str) -> str:
        return f"{number} {what}" if number == 1 else f"{number} {what}s"

    say(
        f"{counted(len(trials), 'trial')}: {counted(len(data), 'data set')} "
        f"({', '.join(one['name'] for one in data)}), "
        f"{counted(len(options.methods), 'method')} ({', '.join(options.methods)}), "
        f"{counted(len(options.splits), 'split')}. Budget {options.budget}: {_numbers(budget)}. "
        f"Seed: {options.seed}."
    )
    if budget.kl_warmup > budget.steps:
        say(
            f"The KL warm-up does not end in {budget.steps} steps: methods with a KL term maximise "
            f"something else than the bound. --set kl_warmup={budget.steps // 3} ends it sooner."
        )
    for one in data:
        if one["num_splits"] is not None and max(options.splits) >= one["num_splits"]:
            say(f"{one['name']} has {one['num_splits']} splits: the others are left out.")


def _conclude(out: Path, records: Sequence[Mapping[str, Any]]) -> int:
    failures = [record for record in records if record["status"] == "failed"]
    print(f"\n{len(records) - len(failures)} trials are done, {len(failures)} failed.", flush=True)
    for record in failures:
        trial, error = record["trial"], record["error"]
        print(
            f"  {trial['dataset']} split {trial['split']} {trial['method']}: "
            f"{error['type']}: {error['message']}"
        )
    if failures:
        print("--retry-failed runs those that failed again.")
    print(f"The records are in {out}{os.sep}; next: gpflow-gi report {out}", flush=True)
    return FAILED if failures else 0
