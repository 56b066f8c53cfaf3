"""A report from a folder of records to a folder of files, for any content of the records."""

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from gpflow_gi.benchmark.results_folder import check_results_folder, results_folder
from gpflow_gi.core.printable import printable

from . import contents, files, tables
from .reading import Records, RecordsError, read
from .statistics import MAIN


@dataclass(frozen=True)
class Made:
    """A report that was written.

    :param report: its contents.
    :param shown: its main tables for a terminal: a title and a text each.
    """

    report: contents.Report
    shown: list[tuple[str, str]]


def make(folder: Path, out: Path) -> Made:
    """Report on the records of a sweep.

    A data set that cannot be reported for any reason is left out, and the report says so.

    :param folder: folder of the sweep.
    :param out: the folder for the files.
    :raises RecordsError: if there is nothing to report on.
    :raises gpflow_gi.benchmark.results_folder.ResultsFolderError: if the files cannot be written
        there.
    """
    records = read(folder)
    check_results_folder(out, files.FILES)
    try:
        return _made(folder, records, out)
    except OSError:
        raise
    except Exception as error:
        # Checking data sets one by one takes longer, and is for the rare case.
        whole = _without_bad_sets(folder, records)
        if not whole.left_out:
            raise RecordsError(f"{folder} cannot be reported: {_said(error)}.") from error
    return _made(folder, whole, out)


def _made(folder: Path, records: Records, out: Path) -> Made:
    # Numbers too large to be squared are reported as infinite.
    with np.errstate(over="ignore", invalid="ignore"):
        return _written(contents.report(folder, records), out)


def _written(report: contents.Report, out: Path) -> Made:
    shown = [
        (f"{metric.metric.title}, budget {budget.budget}", tables.terminal(metric.table))
        for budget in report.budgets
        for metric in budget.metrics
        if metric.metric.name in MAIN
    ]
    with results_folder(out, files.FILES) as new:
        files.write(report, new)
    return Made(report, shown)


def _without_bad_sets(folder: Path, records: Records) -> Records:
    """The records of the data sets that can be reported alone, and the errors of the others.

    :raises RecordsError: if no data set can be reported.
    """
    bad = {}
    for name, trials in records.trials.groupby("dataset"):
        with tempfile.TemporaryDirectory() as temporary:
            try:
                _made(folder, replace(records, trials=trials), Path(temporary, "report"))
            except Exception as error:
                bad[str(name)] = _said(error)
    good = records.trials[~records.trials["dataset"].isin(list(bad))]
    if good.empty:
        said = "; ".join(f"{name}: {why}" for name, why in bad.items())
        raise RecordsError(f"{folder}: none of its data sets can be reported ({said}).")
    return replace(records, trials=good.reset_index(drop=True), left_out=bad)


def _said(error: Exception) -> str:
    return printable(" ".join(f"{type(error).__name__}: {error}".split())).rstrip(".")
