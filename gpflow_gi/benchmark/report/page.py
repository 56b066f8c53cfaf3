"""A report as one page of HTML that needs nothing else."""

from html import escape
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from . import wording
from .contents import MetricReport, Report, counted
from .figures import BEST, DOT, GRID, INK, dot_panel, rank_diagram, svg
from .statistics import Ranks, of_dataset

_COLOURS = {INK: "currentColor", GRID: "var(--grid)", DOT: "var(--dot)", BEST: "var(--best)"}
"""What the page has in the place of the figures' colours, so that they suit a dark page too."""


def html_page(report: Report) -> str:
    """The whole report: styles and figures are in the page."""
    environment = Environment(
        loader=PackageLoader("gpflow_gi.benchmark.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("page.html").render(
        report=report,
        wording=wording,
        dot_panels=_dot_panels,
        rank_diagram=_rank_diagram,
        is_ranks=lambda ranks: isinstance(ranks, Ranks),
        counted=counted,
    )


def _dot_panels(metric: MetricReport) -> list[tuple[Any, Markup]]:
    return [
        (
            dataset,
            _inline(
                dot_panel(
                    of_dataset(metric.values, dataset), metric.metric, metric.failed[dataset]
                ),
                f"{metric.metric.title} of all methods on {dataset}",
            ),
        )
        for dataset in metric.values.index.unique("dataset")
    ]


def _rank_diagram(metric: MetricReport) -> Markup:
    assert isinstance(metric.ranks, Ranks)
    return _inline(rank_diagram(metric.ranks), f"Mean ranks by {metric.metric.title}")


def _inline(figure: Any, label: str) -> Markup:
    return Markup(svg(figure, escape(label, quote=True), _COLOURS))
