"""A report as Markdown."""

from collections.abc import Mapping

from .contents import BudgetReport, MetricReport, Report
from .published import Published
from .statistics import Ranks
from .tables import escaped, markdown, markdown_table
from .wording import DOTS, HOW_TO_READ, PUBLISHED, of_ranks


def markdown_page(report: Report, figures: Mapping[tuple[str, str, str], str]) -> str:
    """The whole report. Every pair of methods is in differences.csv and in the page instead.

    :param figures: their files by budget, metric and kind ("dots" or "ranks").
    """
    parts = [
        f"# Benchmark: {escaped(report.name)}",
        "\n".join(f"- {escaped(sentence)}" for sentence in report.overview),
        "## How to read the tables",
        *HOW_TO_READ,
        "Best in bold, those not to be told from it in italics. Paired differences of every "
        "two methods are in `differences.csv` and in `report.html`.",
    ]
    for budget in report.budgets:
        parts += _budget(budget, figures)
    return "\n\n".join(parts) + "\n"


def _budget(budget: BudgetReport, figures: Mapping[tuple[str, str, str], str]) -> list[str]:
    numbers = {key: value for key, value in budget.numbers.items() if key != "name"}
    parts = [
        f"## Budget: {escaped(budget.budget)}",
        f"{budget.num_done} trials done, {budget.num_failed} failed. "
        + escaped(", ".join(f"{key}: {value}" for key, value in numbers.items()) + "."),
    ]
    if budget.notices:
        parts.append("\n".join(f"- {escaped(notice)}" for notice in budget.notices))
    for metric in budget.metrics:
        name = metric.metric.name
        parts += _metric(
            metric,
            figures.get((budget.budget, name, "dots")),
            figures.get((budget.budget, name, "ranks")),
        )
    if len(budget.failures):
        rows = [
            (
                escaped(row["dataset"]),
                escaped(row["method"]),
                str(row["count"]),
                row["splits"],
                escaped(f"{row['type']}: {row['message']}"),
            )
            for row in budget.failures.to_dict("records")
        ]
        headers = ("data set", "method", "trials", "splits", "error")
        parts += ["### Failed trials", markdown_table(headers, rows)]
    return parts


def _metric(metric: MetricReport, dots: str | None, diagram: str | None) -> list[str]:
    title = metric.metric.title
    parts = [f"### {title}", metric.metric.meaning, markdown(metric.table)]
    if dots is not None:
        parts.append(f"![{title}. {DOTS}]({dots})")
    if isinstance(metric.ranks, Ranks):
        parts += [of_ranks(metric.ranks), f"![Mean ranks by {title}]({diagram})"]
    elif metric.ranks is not None:
        parts.append(f"No mean ranks: {metric.ranks}.")
    if metric.published is not None:
        parts += ["#### Published, by others", PUBLISHED, *_published(metric.published)]
    return parts


def _published(published: Published) -> list[str]:
    headers = (
        "data set",
        *(
            f"{escaped(method)} [{letter}] ± {spread}"
            for method, letter, spread in published.columns
        ),
    )
    rows = [
        (escaped(dataset), *(cell.replace("*", "\\*") for cell in cells))
        for dataset, cells in published.rows
    ]
    sources = [f"- [{letter}] {source}" for letter, source in published.sources.items()]
    notes = [f"- {escaped(note)}" for note in published.notes]
    return [markdown_table(headers, rows), "\n".join(sources + notes)]
