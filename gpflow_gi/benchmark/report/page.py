"""A report as one self-contained page of HTML, and as Markdown."""

from collections.abc import Mapping
from html import escape
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from . import markdown, wording
from .contents import MetricReport, Report, counted
from .figures import BEST, DOT, GRID, INK, dot_panel, rank_diagram, svg
from .statistics import Ranks, of_dataset

_COLOURS = {INK: "currentColor", GRID: "var(--grid)", DOT: "var(--dot)", BEST: "var(--best)"}
"""CSS values that replace the figures' colours, for dark pages too."""


def html_page(report: Report) -> str:
    """The whole report; styles and figures are inside the page."""
    return _rendered(
        "page.html", True, report=report, dot_panels=_dot_panels, rank_diagram=_rank_diagram
    )


def markdown_page(report: Report, figures: Mapping[tuple[str, str, str], str]) -> str:
    """The whole report, without the differences between every two methods.

    :param figures: their files by budget, metric and kind ("dots" or "ranks").
    """
    return _rendered("page.md", False, report=report, figures=figures, tables=markdown)


def _rendered(template: str, autoescape: bool, **values: Any) -> str:
    environment = Environment(
        loader=PackageLoader("gpflow_gi.benchmark.report", "."),
        autoescape=autoescape,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=not autoescape,
    )
    environment.filters["escaped"] = markdown.escaped
    return environment.get_template(template).render(
        wording=wording,
        is_ranks=lambda ranks: isinstance(ranks, Ranks),
        counted=counted,
        **values,
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
