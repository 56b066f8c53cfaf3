"""The files of a report."""

import re
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from gpflow_gi.benchmark.records import DONE, FAILED
from gpflow_gi.core.formulas import without_formulas

from .contents import BudgetReport, MetricReport, Report
from .figures import dot_plot, rank_diagram, save_png
from .page import html_page, markdown_page
from .reading import SOFTWARE
from .statistics import METRICS, Ranks

_LONGEST = 100
"""Largest number of characters of a budget's name in a file name, which can have 255 bytes."""

FILES = ("report.html", "report.md", "summary.csv", "differences.csv", "records.csv", "figures")
"""All names that a folder with a report holds."""


_COLUMNS = (
    *("budget", "dataset", "split", "method", "seed", "status", "used", "verified"),
    *METRICS,
    *("peak_memory_mb", "num_parameters", "learning_rate"),
    *("error_type", "error_message", "notes", "version"),
    *SOFTWARE,
    *("data_sha256", "started", "host", "key", "file"),
)
"""The columns of records.csv."""


def write(report: Report, folder: Path) -> None:
    """Write all of :data:`FILES`.

    :param folder: an existing folder.
    """
    (folder / "report.html").write_text(html_page(report), encoding="utf-8")
    figures = folder / "figures"
    figures.mkdir()
    names: dict[tuple[str, str, str], str] = {}
    for budget in report.budgets:
        for metric in budget.metrics:
            for kind, figure in _figures(metric):
                name = f"{_slug(budget, report)}-{metric.metric.name}-{kind}.png"
                save_png(figure, figures / name)
                names[budget.budget, metric.metric.name, kind] = f"figures/{name}"
    (folder / "report.md").write_text(markdown_page(report, names), encoding="utf-8")
    tables = {
        "summary.csv": report.summary,
        "differences.csv": report.differences,
        "records.csv": _records(report.records.trials),
    }
    for name, table in tables.items():
        without_formulas(table).to_csv(folder / name, index=False, encoding="utf-8")


def _figures(metric: MetricReport) -> list[tuple[str, Figure]]:
    if not metric.metric.compared:
        return []
    figures = [("dots", dot_plot(metric.values, metric.metric, metric.failed))]
    if isinstance(metric.ranks, Ranks):
        figures.append(("ranks", rank_diagram(metric.ranks)))
    return figures


def _slug(budget: BudgetReport, report: Report) -> str:
    """The budget's name as part of a file name; numbered, since others may become equal to it."""
    name = re.sub(r"[^A-Za-z0-9]+", "-", budget.budget)[:_LONGEST].strip("-")
    number = report.budgets.index(budget) + 1
    return f"{number}-{name}" if len(report.budgets) > 1 else name


def _records(trials: pd.DataFrame) -> pd.DataFrame:
    status = trials["done"].map({True: DONE, False: FAILED})
    return trials.assign(status=status)[list(_COLUMNS)]
