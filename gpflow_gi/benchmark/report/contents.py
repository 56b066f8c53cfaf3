"""The contents of a report, independent of the format."""

import json
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import pandas as pd

from gpflow_gi.benchmark.best_rates import CHOSEN, TRIED_ON, is_of_best_rates
from gpflow_gi.benchmark.methods import in_order
from gpflow_gi.core.printable import printable

from .published import Published, published
from .published import read as read_published
from .reading import SOFTWARE, Records
from .statistics import MAIN, METRICS, Metric, Ranks, all_differences, by_split, ranks, summary
from .tables import FAILED, Table, difference_table, metric_table, rate_table

COMMAND = "`gpflow-gi benchmark`"

_MOST_NOTES = 10
"""Largest number of trials with notes in the report. records.csv has all notes."""


@dataclass(frozen=True)
class MetricReport:
    """One metric under one budget.

    :param values: from :func:`~.statistics.by_split`, with an empty column for a method that failed
        in all trials.
    :param failed: by data set, the methods with failed trials only.
    :param ranks: ranks, or the reason why there are none; None if methods are not ranked by this
        metric.
    :param differences: by data set.
    """

    metric: Metric
    values: pd.DataFrame
    failed: dict[str, set[str]]
    table: Table
    published: Published | None
    ranks: Ranks | str | None
    differences: dict[str, Table]


@dataclass(frozen=True)
class BudgetReport:
    """All trials of one budget.

    :param budget: its name, with the differences from other budgets of the same name.
    :param numbers: numbers of the budget.
    :param notices: sentences on mixed or missing data.
    :param datasets: a row for each: "dataset", "num_train", "num_test", "num_inputs" (-1 if a
        record does not have it).
    :param settings: all settings of each method, as JSON.
    :param metrics: metrics that have values.
    :param failures: a row for each kind: "dataset", "method", "type", "message", "splits", "count".
    """

    budget: str
    numbers: dict[str, Any]
    num_done: int
    num_failed: int
    notices: list[str]
    datasets: pd.DataFrame
    settings: dict[str, list[str]]
    metrics: list[MetricReport]
    failures: pd.DataFrame


@dataclass(frozen=True)
class Report:
    """A whole report.

    :param name: name of the sweep's folder.
    :param records: all trials, "used" or not.
    :param summary: :func:`~.statistics.summary` of every budget.
    :param differences: :func:`~.statistics.all_differences` of every budget.
    """

    name: str
    records: Records
    budgets: list[BudgetReport]
    summary: pd.DataFrame
    differences: pd.DataFrame

    @property
    def overview(self) -> list[str]:
        """Sentences on the contents of the folder."""
        trials = self.records.trials
        used = trials[trials["used"]]
        done, failed = int(used["done"].sum()), int((~used["done"]).sum())
        said = [
            f"{counted(len(used), 'trial')}: {done} done, {failed} failed. "
            f"Versions of gpflow_gi: {_shares(used['version'])}."
        ]
        software = {
            title: used.loc[used[column] != "", column] for column, title in SOFTWARE.items()
        }
        known = [f"{title} {_shares(column)}" for title, column in software.items() if len(column)]
        if 0 < len(software["processor"]) < done:
            known[-1] += f"; that of {counted(done - len(software['processor']), 'trial')} unknown"
        if known:
            said.append(f"Trained with {', '.join(known)}.")
        if len(self.budgets) > 1:
            names = ", ".join(budget.budget for budget in self.budgets)
            said.append(f"{len(self.budgets)} budgets, each reported on its own: {names}.")
        labels = used.groupby("data_name")["dataset"].unique()
        namesakes = [label for several in labels if len(several) > 1 for label in sorted(several)]
        if namesakes:
            said.append(
                "Different data of one name are reported on their own, told apart by the target "
                f"and the first digits of their SHA-256: {', '.join(namesakes)}. Ranks take each "
                "of them as a data set of its own, as if they were independent."
            )
        tried = int((~trials["at_best_rate"]).sum())
        if tried:
            said.append(
                f"{counted(tried, 'record')} not used: of learning rates that do not have the "
                f"best bound on split {TRIED_ON}, where rates were tried."
            )
        if len(used) < len(trials) - tried:
            said.append(
                f"{counted(len(trials) - tried - len(used), 'record')} not used: there is one that "
                "was started later of the same data set, split, method, budget and seed."
            )
        unverified = int((~trials["verified"]).sum())
        if unverified:
            said.append(
                f"{counted(unverified, 'record')} unverified: of before records had checksums. "
                "Damage to the results in them would not be noticed."
            )
        if self.records.damaged:
            listed = "; ".join(f"{name} {why}" for name, why in self.records.damaged.items())
            said.append(
                f"{counted(len(self.records.damaged), 'file')} damaged and left out: {listed}. "
                f"The same {COMMAND} runs those trials again."
            )
        if self.records.set_aside:
            said.append(
                f"{counted(len(self.records.set_aside), 'file')} set aside by {COMMAND}, which "
                f"found them damaged and ran their trials again: "
                f"{', '.join(self.records.set_aside)}."
            )
        said += [
            f"Data set {name} is left out, because it cannot be reported: {why}."
            for name, why in self.records.left_out.items()
        ]
        return said


def report(folder: Path, records: Records) -> Report:
    """Make the report of a sweep.

    :param folder: folder of the sweep.
    :param records: records from that folder.
    """
    used = records.trials[records.trials["used"]]
    groups = list(used.groupby("budget", sort=True))
    return Report(
        name=printable(folder.resolve().name),
        records=records,
        budgets=[_budget(str(budget), trials) for budget, trials in groups],
        summary=_of_every_budget([(budget, summary(trials)) for budget, trials in groups]),
        differences=_of_every_budget(
            [(budget, all_differences(trials)) for budget, trials in groups]
        ),
    )


def _of_every_budget(parts: list[tuple[Any, pd.DataFrame]]) -> pd.DataFrame:
    tables = []
    for budget, table in parts:
        table.insert(0, "budget", budget)
        tables.append(table)
    return pd.concat([table for table in tables if len(table)] or tables[:1], ignore_index=True)


def _budget(budget: str, trials: pd.DataFrame) -> BudgetReport:
    results = read_published()
    metrics = []
    for metric in METRICS.values():
        table = metric_table(trials, metric)
        if table is not None:
            metrics.append(_metric(metric, table, trials, results))
    numbers = json.loads(trials["budget_numbers"].iloc[0])
    if is_of_best_rates(numbers["name"]):
        metrics.append(_rates(trials))
        numbers |= {name: "the best, by method and data set" for name in CHOSEN if numbers[name]}
    sizes = ["num_train", "num_test", "num_inputs"]
    return BudgetReport(
        budget=budget,
        numbers={
            printable(name): printable(value if isinstance(value, str) else json.dumps(value))
            for name, value in numbers.items()
        },
        num_done=int(trials["done"].sum()),
        num_failed=int((~trials["done"]).sum()),
        notices=_notices(trials),
        datasets=trials.groupby("dataset")[sizes].max().fillna(-1).astype(int).reset_index(),
        settings={
            str(method): sorted(rows["settings"].unique())
            for method, rows in trials.groupby("method")
        },
        metrics=metrics,
        failures=_failures(trials),
    )


def _rates(trials: pd.DataFrame) -> MetricReport:
    """The learning rates that were chosen."""
    metric = Metric(
        "learning_rate",
        "Learning rate",
        f"The one with the best bound on split {TRIED_ON}; the budget's for a method without a "
        "bound.",
        None,
    )
    return MetricReport(
        metric=metric,
        values=by_split(trials, metric.name),
        failed={},
        table=rate_table(trials),
        published=None,
        ranks=None,
        differences={},
    )


def _metric(
    metric: Metric, table: Table, trials: pd.DataFrame, results: pd.DataFrame
) -> MetricReport:
    failed = {
        dataset: {
            method for method, cell in zip(table.methods, cells, strict=True) if cell.mean == FAILED
        }
        for dataset, _, cells in table.rows
    }
    found = by_split(trials, metric.name)
    values = found.reindex(columns=in_order({*found.columns, *chain(*failed.values())}))
    datasets = values.index.unique("dataset") if metric.name in MAIN else []
    pairs = {dataset: difference_table(values, metric, dataset) for dataset in datasets}
    return MetricReport(
        metric=metric,
        values=values,
        failed=failed,
        table=table,
        published=published(results, metric.name, set(trials.loc[trials["uci"], "dataset"])),
        ranks=ranks(values, metric) if metric.compared else None,
        differences={dataset: pair for dataset, pair in pairs.items() if pair is not None},
    )


def _notices(trials: pd.DataFrame) -> list[str]:
    said = []
    seeds = trials["seed"].nunique()
    if seeds > 1:
        said.append(f"{seeds} seeds: they are averaged within each split.")
    if trials["version"].nunique() > 1:
        said.append(f"Means mix versions of gpflow_gi: {_shares(trials['version'])}.")
    mixed = trials.groupby("method")["settings"].nunique()
    if (mixed > 1).any():
        names = ", ".join(str(name) for name in mixed.index[mixed > 1])
        said.append(f"Means mix different settings under one name: {names}.")
    if trials["host"].nunique() > 1:
        said.append(f"Seconds are of several hosts: {_shares(trials['host'])}.")
    noted = trials[trials["notes"] != ""]
    said += [
        f"{row.dataset} split {row.split} {row.method}: {row.notes}"
        for row in noted.head(_MOST_NOTES).itertuples()
    ]
    if len(noted) > _MOST_NOTES:
        said.append(
            f"{counted(len(noted) - _MOST_NOTES, 'trial')} more with notes: see records.csv."
        )
    return said


def _failures(trials: pd.DataFrame) -> pd.DataFrame:
    failed = trials[~trials["done"]].assign(
        type=lambda rows: rows["error_type"], message=lambda rows: rows["error_message"]
    )
    return (
        failed.groupby(["dataset", "method", "type", "message"])["split"]
        .agg(splits=lambda splits: ", ".join(map(str, sorted(set(splits)))), count="size")
        .reset_index()
    )


def _shares(versions: "pd.Series[str]") -> str:
    counts = versions.value_counts().sort_index()
    if len(counts) == 1:
        return str(counts.index[0])
    return ", ".join(f"{version} ({counted(n, 'trial')})" for version, n in counts.items())


def counted(number: int, what: str) -> str:
    """A number with its noun, such as "1 trial" and "2 trials"."""
    return f"{number} {what}{'s' * (number != 1)}"
