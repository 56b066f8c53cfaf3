"""``gpflow-gi compare``."""

import argparse
import os
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpflow_gi.benchmark.results_folder import (
    ResultsFolderError,
    check_results_folder,
    check_writable,
)
from gpflow_gi.experiments.settings import FILES, MODELS, PRIORS, USUAL, Settings

from . import arguments
from .console import FAILED, INTERRUPTED, MISUSED, announce, import_noise_hidden, say, say_error

if TYPE_CHECKING:
    from gpflow_gi.datasets import Table


def add_to(commands: Any) -> None:
    """Add the command to a parser's commands."""
    compare = commands.add_parser(
        "compare",
        help="train models on one table and compare them",
        description=(
            "Train a sparse GP and deep GPs with local and with global inducing points, or "
            "Bayesian neural networks with factorised, local and global posteriors, on the same "
            "rows, and compare them on rows held out. Ends with a table, and writes numbers, "
            f"table and figures whenever a model has ended: {', '.join(FILES)}. A model that "
            "fails has a row that says so, and the others are trained."
        ),
        allow_abbrev=False,
        formatter_class=arguments.wide_help,
    )
    default = Settings()
    data = compare.add_argument_group("data")
    arguments.add_table(
        data,
        "default: the elevation of the land around a fault, which matplotlib ships; --data "
        "diabetes is scikit-learn's table of that name, on which no model gains anything",
    )
    data.add_argument(
        "--test-fraction",
        metavar="X",
        type=arguments.fraction,
        help=f"share of rows to hold out (default: {default.test_fraction}); the elevation has "
        "rows of its own to test on",
    )
    data.add_argument(
        "--task",
        choices=["auto", "regression", "classification", "counts"],
        default="auto",
        help="what the target is: a number, a class or a count; auto: a class if it is text or a "
        "truth value, else a number (default: %(default)s)",
    )
    models = compare.add_argument_group("models and training")
    models.add_argument(
        "--model",
        choices=MODELS,
        default=default.model,
        help="deep GPs, or Bayesian neural networks (default: %(default)s)",
    )
    models.add_argument(
        "--methods",
        dest="compared",
        metavar="NAME,NAME",
        type=arguments.names,
        default=default.compared,
        help="what is compared, in this order: svgp; "
        f"{'; '.join(_others(replace(default, model=model)) for model in MODELS)} "
        f"(default: {','.join(USUAL['deep-gp'])} or {','.join(USUAL['bnn'])})",
    )
    models.add_argument(
        "--layers",
        dest="num_layers",
        metavar="N",
        type=arguments.count,
        help=f"layers of the deep GPs (default: {default.num_layers})",
    )
    models.add_argument(
        "--widths",
        metavar="N,N",
        type=arguments.widths,
        help="hidden units of the networks, layer by layer (default: "
        f"{','.join(map(str, default.widths))})",
    )
    models.add_argument(
        "--prior",
        choices=PRIORS,
        help=f"over the networks' weights (default: {default.prior})",
    )
    for option, destination, what in [
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
            type=arguments.count,
            default=getattr(default, destination),
            help=f"{what} (default: %(default)s)",
        )
    models.add_argument(
        "--learning-rate",
        metavar="X",
        type=arguments.positive,
        default=default.learning_rate,
        help="of Adam in the first half of the steps; then a tenth of it (default: %(default)s)",
    )
    models.add_argument(
        "--kl-warmup",
        metavar="N",
        type=arguments.count_or_none,
        default=default.kl_warmup,
        help="steps over which the weight of the KL term rises to 1, at most a third of all; 0 for "
        "none (default: %(default)s)",
    )
    models.add_argument(
        "--until-converged",
        action="store_true",
        help="end each model's training when its bound no longer rises by more than its noise, "
        "after --steps at the latest",
    )
    models.add_argument(
        "--jitter",
        metavar="X",
        type=arguments.positive,
        help="added to the diagonals of kernel matrices, relative to the kernel's variance "
        "(default: GPflow's, 1e-06)",
    )
    models.add_argument(
        "--seed",
        metavar="N",
        type=arguments.seed,
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
    compare.add_argument(
        "--save",
        metavar="DIR",
        type=Path,
        help="folder for the trained models, a file each, which gpflow-gi predict reads",
    )
    compare.set_defaults(run=run)


ELEVATION, DIABETES = "elevation", "diabetes"
"""Data that need no file."""

_OF_MODEL = {
    "deep-gp": {"num_layers": "--layers"},
    "bnn": {"widths": "--widths", "prior": "--prior"},
}
"""Options that are for one kind of model only."""


def _others(settings: Settings) -> str:
    """The names that can be compared with the sparse GP, as the help has them."""
    names = ", ".join(name for name in settings.known() if name != "svgp")
    return f"with --model {settings.model}: {names}"


def saved_in(out: Path, save: Path | None) -> list[str]:
    """Names of what --save has put, or will put, into the folder of results."""
    if save is None:
        return []
    out, save = out.resolve(), save.resolve()
    if save == out:
        return [path.name for path in out.glob("*.gi")]
    return [save.relative_to(out).parts[0]] if out in save.parents else []


def _settings(options: argparse.Namespace) -> Settings:
    """The settings from the options.

    :raises ValueError: if an option or a method does not apply to the model.
    """
    given = {f.name: getattr(options, f.name) for f in fields(Settings)}
    for model, names in _OF_MODEL.items():
        for name, option in names.items():
            if model != options.model and given[name] is not None:
                raise ValueError(f"{option} needs --model {model}, but it is {options.model}.")
    settings = Settings(**{name: value for name, value in given.items() if value is not None})
    for name in settings.compared:
        if name not in settings.known():
            raise ValueError(
                f"--methods: there is no {name!r} with --model {settings.model}; there are "
                f"{', '.join(settings.known())}."
            )
    return settings


def _known_data(options: argparse.Namespace) -> str | None:
    """The name of the data if they need no file, or None.

    :raises ValueError: if the options do not go together.
    """
    ways = arguments.reading(options)
    of_table = options.target is not None or options.drop or ways or options.task != "auto"
    known = ELEVATION if options.data is None else str(options.data)
    if options.data is None and options.task != "auto":
        raise ValueError("--task needs --data FILE.")
    if of_table or known not in (ELEVATION, DIABETES):
        arguments.check_table(options)
        return None
    if known == ELEVATION and options.test_fraction is not None:
        raise ValueError(
            "--test-fraction: the elevation data come with test rows of their own; leave it out."
        )
    return known


def _rows(
    options: argparse.Namespace, known: str | None, settings: Settings
) -> "tuple[Table, Table]":
    """The rows to train on, and those held out.

    :raises gpflow_gi.datasets.DataError: if the data cannot be used.
    """
    from gpflow_gi.datasets import DataError, diabetes, elevation, read_csv, train_test_split

    if known == ELEVATION:
        return elevation(seed=settings.seed)
    if known == DIABETES:
        table = diabetes()
    else:
        ways = arguments.reading(options)
        table = read_csv(
            options.data,
            options.target,
            options.drop,
            drop_constant=True,
            task=options.task,
            **ways,
        )
    train, test = train_test_split(table, settings.test_fraction, settings.seed)
    if (train.Y == train.Y[0]).all():
        raise DataError(
            f"{options.data}, column {table.target_name!r}: the target is {train.Y[0, 0]:g} in "
            f"all {len(train.Y)} rows that are left to train on; try another --seed."
        )
    return train, test


def run(options: argparse.Namespace) -> int:
    """Run the command.

    :return: the exit code: 0, 1 if a model failed, 2 if the arguments or the data cannot be used
        or the results cannot be written, 130 if it was interrupted after a model had ended.
    """
    import numpy as np

    from gpflow_gi.datasets.table_files import table_name

    try:
        settings = _settings(options)
        known = _known_data(options)
    except ValueError as error:
        return say_error(str(error), MISUSED)
    out = options.out or Path("gpflow-gi-results", known or table_name(options.data))
    try:
        train, test = _rows(options, known, settings)
        check_results_folder(out, [*FILES, *saved_in(out, options.save)])
        if options.save:
            check_writable(options.save)
        _check_task(train.task, settings)
    except (ValueError, ResultsFolderError) as error:  # DataError is a ValueError
        return say_error(str(error), MISUSED)

    num_rows, num_different = len(train.Y), len(np.unique(train.X, axis=0))
    num_inducing = min(settings.num_inducing, num_different)
    say(
        f"{train.name}: {num_rows + len(test.Y)} rows, {train.X.shape[1]} "
        f"{'input' if train.X.shape[1] == 1 else 'inputs'}, target "
        f"{train.target_name!r}{_classes(train)}; {num_rows} rows to train on, {len(test.Y)} to "
        "test on."
    )
    for note in train.notes:
        say(note)
    if num_inducing < settings.num_inducing:
        rows = "rows" if num_different == num_rows else "different rows"
        say(
            f"{settings.num_inducing} inducing points are more than there are {rows} to train on: "
            f"{num_inducing} used instead."
        )
    settings = replace(
        settings,
        num_inducing=num_inducing,
        batch_size=min(settings.batch_size, num_rows),
        kl_warmup=min(settings.kl_warmup, settings.steps // 3),
    )
    say(
        f"{_architecture(settings)} Inducing points: {settings.num_inducing}. "
        f"Steps: {settings.steps}. Rows per step: {settings.batch_size}. "
        f"Samples per step: {settings.num_samples}. Learning rate: {settings.learning_rate:g}, "
        f"then a tenth. KL warm-up: {settings.kl_warmup} steps. Seed: {settings.seed}."
    )
    say("Loading TensorFlow ...")
    with import_noise_hidden():
        from gpflow_gi.experiments import report
        from gpflow_gi.experiments.compare import Comparison, compare
        from gpflow_gi.persistence import SaveError, TableModel

    unwritten: ResultsFolderError | None = None
    saved: set[str] = set()
    unsaved: list[str] = []
    num_ended = 0

    def save(name: str, model: TableModel) -> None:
        try:
            model.save(options.save / f"{name}.gi")
            saved.add(name)
        except SaveError as error:
            unsaved.append(str(error))
            say_error(str(error), MISUSED)

    def keep(comparison: Comparison) -> None:
        nonlocal unwritten, num_ended
        num_ended = len(comparison.outcomes)
        # A full disk may have space again once the next model is trained.
        try:
            report.write(comparison, out)
            unwritten = None
        except ResultsFolderError as error:
            unwritten = error
            if comparison.left:
                say_error(f"{error} It is tried again after the next model.", MISUSED)

    try:
        comparison = compare(
            train,
            test,
            settings,
            announce=announce,
            ended=keep,
            keep_model=save if options.save else None,
        )
    except KeyboardInterrupt:
        if not num_ended or unwritten:
            raise
        return say_error(f"interrupted; what has ended before is in {out}{os.sep}", INTERRUPTED)
    print(f"\n{report.table(comparison)}", flush=True)
    if unwritten:
        return say_error(str(unwritten), MISUSED)
    print(f"\nThe numbers and the figures are in {out}{os.sep}", flush=True)
    if options.save:
        if saved:
            print(f"The models are in {options.save}{os.sep}; next: gpflow-gi predict", flush=True)
        for name in (method.name for method in settings.methods()):
            if name not in saved and (options.save / f"{name}.gi").exists():
                print(
                    f"{options.save / name}.gi is of an earlier run: this one saved no such model."
                )
    if unsaved:
        return say_error(f"{len(unsaved)} models could not be saved: {unsaved[0]}", MISUSED)
    if not comparison.failures:
        return 0
    failed = "; ".join(f"{one.name} ({report.reason(one)})" for one in comparison.failures)
    count = f"{len(comparison.failures)} of {len(comparison.outcomes)} models failed"
    return say_error(f"{count}: {failed}", FAILED)


def _architecture(settings: Settings) -> str:
    if settings.model == "deep-gp":
        return f"Layers: {settings.num_layers}."
    return f"Hidden units: {', '.join(map(str, settings.widths))}. Prior: {settings.prior}."


def _check_task(task: str, settings: Settings) -> None:
    """Refuse methods that are for regression only.

    :raises ValueError: if one is compared on another task.
    """
    for method in settings.methods():
        if task != "regression" and not method.takes_likelihoods:
            raise ValueError(f"--methods: {method.name} is for regression, and this is {task}.")


def _classes(table: "Table") -> str:
    """The classes of a target, for a sentence."""
    if table.task != "classification":
        return " (counts)" if table.task == "counts" else ""
    shown = ", ".join(map(repr, table.classes[:5])) + ", ..." * (len(table.classes) > 5)
    return f" of {len(table.classes)} classes ({shown})"
