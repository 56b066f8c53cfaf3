"""Dot plots of all methods, and diagrams of their mean ranks."""

import io
import re
import warnings
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from gpflow_gi.plotting import COLOURS

from .statistics import LEVEL, Metric, Ranks, marks, of_dataset
from .tables import FAILED

INK, GRID, DOT, BEST = "#222222", "#e5e5e5", COLOURS[0].lower(), COLOURS[5].lower()

RESOLUTION = 150
"""Resolution of files, in dots per inch."""

_STYLE: Any = {
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "xtick.labelsize": "small",
    "ytick.color": INK,
    "font.size": 9.0,
    "text.parse_math": False,  # names are names
    "text.usetex": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "gpflow_gi",
}

_MOST_PIXELS = 60_000
"""Largest side of a picture in pixels: matplotlib draws fewer than 65536."""

_ROW, _PANEL = 0.22, 3.6
"""The height of a method and the width of a panel, in inches."""


def dot_plot(values: pd.DataFrame, metric: Metric, failed: Mapping[str, Collection[str]]) -> Figure:
    """Dot plots with a panel for each data set, as in Figure 3 of Ober & Aitchison, ICML 2021.

    :param values: from :func:`~.statistics.by_split`.
    :param failed: by data set, the methods with failed trials only.
    """
    datasets = list(values.index.unique("dataset"))
    across = min(3, len(datasets))
    down = -(-len(datasets) // across)
    with matplotlib.rc_context(_STYLE):
        figure = Figure(
            figsize=(_PANEL * across, down * _height(values.shape[1])), layout="constrained"
        )
        panels = figure.subplots(down, across, squeeze=False).ravel()
        for ax, dataset in zip(panels, datasets, strict=False):
            draw_dots(of_dataset(values, dataset), metric, ax, failed[dataset])
            ax.set_title(dataset, fontsize="medium")
            # All panels have the same rows.
            ax.tick_params(labelleft=ax.get_subplotspec().is_first_col())
        for ax in panels[len(datasets) :]:
            ax.set_visible(False)
    return figure


def dot_panel(values: pd.DataFrame, metric: Metric, failed: Collection[str] = ()) -> Figure:
    """A dot plot with one panel.

    :param values: [S, M], of one data set.
    :param failed: methods with failed trials only.
    """
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(_PANEL, _height(values.shape[1])), layout="constrained")
        draw_dots(values, metric, figure.subplots(), failed)
    return figure


def _height(num_methods: int) -> float:
    return 0.75 + _ROW * num_methods


def draw_dots(values: pd.DataFrame, metric: Metric, ax: Axes, failed: Collection[str] = ()) -> Axes:
    """Draw methods as rows, means with bars of one standard error; further right is better.

    A value far to the left of the others would flatten them: it is replaced by an arrow at the
    edge, with the value as text.

    :param values: [S, M], of one data set.
    :param ax: where to draw.
    :param failed: methods with failed trials only: their rows say so.
    """
    mean = values.mean().to_numpy(float)
    error = values.sem(ddof=1).fillna(0.0).to_numpy(float)
    marked = marks(values, metric)
    to_right = 1.0 if metric.better == "higher" else -1.0
    edge = _edge(to_right * mean) * to_right
    rows = np.arange(len(mean))
    shown = np.isfinite(mean) & (to_right * mean >= to_right * edge)
    mark_of = np.array([marked.get(str(name), "") for name in values.columns])
    for mark in np.unique(mark_of[shown]):
        these = rows[shown & (mark_of == mark)]
        ax.errorbar(
            mean[these],
            these,
            xerr=error[these],
            fmt="o",
            color=BEST if mark else DOT,
            markersize=5,
            markerfacecolor="none" if mark == "tied" else BEST if mark else DOT,
            linewidth=1.4,
        )
    ax.set_yticks(rows, [str(name) for name in values.columns])
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.margins(x=0.06)
    if to_right < 0:
        ax.invert_xaxis()
    far = {i: f"◂ {mean[i]:.4g}".replace("-", "−") for i in rows[np.isfinite(mean) & ~shown]}
    lost = {i: FAILED for i in rows if values.columns[i] in failed}
    for i, text in {**far, **lost}.items():
        ax.annotate(
            text,
            (0.01, i),
            xycoords=ax.get_yaxis_transform(),
            color=DOT,
            va="center",
            fontsize="small",
        )
    ax.locator_params(axis="x", nbins=3, min_n_ticks=2)
    unit = _unit(mean[shown])
    ax.xaxis.set_major_formatter(lambda x, _: f"{x / unit:.5g}".replace("-", "−"))
    # The layout leaves no space for a label that is wider than its axis.
    in_units = f" in {unit:.0e}\n" if unit != 1 else " "
    ax.set_xlabel((metric.title + in_units + "(axis reversed)" * (to_right < 0)).strip())
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(length=0)
    ax.grid(color=GRID, linewidth=0.6)
    ax.set_axisbelow(True)
    return ax


def _edge(mean: np.ndarray) -> float:
    """Left limit of the axis: means beyond are 3 times the interquartile range away or more."""
    low, high = np.nanquantile(mean, [0.25, 0.75])
    return float(low - 3 * (high - low))


def _unit(mean: np.ndarray) -> float:
    """A power of ten that makes the numbers along an axis short."""
    largest = np.max(np.abs(mean), initial=0.0)
    exponent = np.floor(np.log10(largest)) if largest > 0 else 0.0
    return float(10**exponent) if not -1 <= exponent <= 3 else 1.0


def rank_diagram(ranks: Ranks) -> Figure:
    """Mean ranks on a line, the best to the left; a bar joins methods that do not differ.

    Demšar, "Statistical comparisons of classifiers over multiple data sets", JMLR 2006.
    """
    from scikit_posthocs import critical_difference_diagram, posthoc_nemenyi_friedman

    mean = ranks.mean
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(7.5, 1.1 + 0.17 * len(mean)), layout="constrained")
        ax = figure.subplots()
        drawn = critical_difference_diagram(
            mean,
            posthoc_nemenyi_friedman(ranks.loss),
            alpha=LEVEL,
            ax=ax,
            label_fmt_left="{label} ({rank:.2f})",
            label_fmt_right="({rank:.2f}) {label}",
            marker_props={"color": DOT, "s": 22},
            elbow_props={"color": INK, "linewidth": 0.8},
            crossbar_props={"color": BEST, "linewidth": 2.4},
            text_h_margin=0.02 * np.ptp(mean) + 0.02,
        )
        # A set's order differs between processes, so sort the names.
        for (bar,) in drawn["crossbars"]:
            bar.set_xdata(sorted(bar.get_xdata()))
        start = float(mean.iloc[0])
        ax.plot([start, start + ranks.critical_difference], [1.1, 1.1], color=INK, linewidth=1.6)
        ax.text(start, 1.35, f"critical difference {ranks.critical_difference:.2f}", va="bottom")
        ax.set_ylim(top=2.6)
    return figure


@contextmanager
def _drawing() -> Iterator[None]:
    with matplotlib.rc_context(_STYLE), warnings.catch_warnings():
        # Letters that the font lacks become boxes in pictures; a page uses its reader's fonts.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        # There is no space for names that are wider than the panel.
        warnings.filterwarnings("ignore", message="constrained_layout not applied")
        yield


def save_png(figure: Figure, path: Path) -> None:
    """Write a figure to a file: dark on white."""
    resolution = min(RESOLUTION, _MOST_PIXELS / max(figure.get_size_inches()))
    with _drawing():
        figure.savefig(path, dpi=resolution)


def svg(figure: Figure, label: str, colours: Mapping[str, str]) -> str:
    """A figure to be embedded in a page, with the fonts and colours of the page.

    :param label: description for screen readers.
    :param colours: CSS values that replace the colours.
    """
    file = io.StringIO()
    with _drawing():
        figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
    text = file.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    # Groups have the same names in all figures, but nothing refers to them.
    text = re.sub(r'<g id="[^"]*"', "<g", text)

    def recoloured(tag: re.Match[str]) -> str:
        found = tag.group()
        for colour, css in colours.items():
            found = found.replace(colour, css)
        return found

    # Not in the text between the tags, where a name may look like a colour.
    text = re.sub(r"<[^<>]*>", recoloured, text)
    width, height = figure.get_size_inches()
    opening = f'<svg role="img" aria-label="{label}" viewBox="0 0 {72 * width:g} {72 * height:g}"'
    # A function, since backslashes have a meaning in a replacement text.
    return re.sub(r"<svg[^>]*>", lambda _: f"{opening}>", text, count=1)
