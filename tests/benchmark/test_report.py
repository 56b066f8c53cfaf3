"""Whole reports: the files, the page and the command."""

import contextlib
import io
import itertools
import re
import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from gpflow_gi.benchmark.report import contents, files, reading
from gpflow_gi.benchmark.report.figures import dot_panel, dot_plot, rank_diagram, svg
from gpflow_gi.benchmark.report.statistics import METRICS, Ranks, of_dataset, ranks
from gpflow_gi.cli import main

from .record_files import QUICK, record, table, write

METHODS = ("dgp-global", "dgp-local", "linear")


def sweep(folder, datasets=("yacht", "boston", "mine"), num_splits=3):
    """Three methods, the last of which has no ELBO; one failure, one damaged file."""
    rng = np.random.default_rng(0)
    for dataset in datasets:
        for split in range(num_splits):
            for i, method in enumerate(METHODS):
                noise = 0.1 * rng.normal(size=7)
                write(
                    folder,
                    record(
                        dataset,
                        split,
                        method,
                        -1.0 - i + noise[0],
                        elbo=None if method == "linear" else -0.5 - i + noise[1],
                        rmse=1.0 + i + noise[2],
                        crps=0.5 + i + noise[3],
                        pit_error=abs(noise[4]),
                        coverage_50=0.5 + noise[5],
                        coverage_90=0.8,
                        coverage_95=0.9,
                    ),
                )
    failure = ("NonFiniteError", "nan | <b>in</b> step 3")
    write(folder, record(datasets[0], num_splits, "dgp-local", error=failure))
    (folder / "records" / "cut.json").write_text('{"key": ')
    return folder


# In one process, so that one report serves all that look at it.
pytestmark = pytest.mark.xdist_group("report")


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """The folder of a report, and what the command said of it."""
    folder, said = sweep(tmp_path_factory.mktemp("sweep")), io.StringIO()
    with contextlib.redirect_stdout(said):
        assert main(["report", str(folder)]) == 0
    return folder / "report", said.getvalue()


@pytest.fixture(scope="module")
def reported(ran):
    return ran[0]


def run_apart(*arguments):
    script = (
        "import sys\n"
        "from gpflow_gi.cli import main\n"
        "try:\n    code = main(sys.argv[1:])\n"
        "except SystemExit as exit:\n    code = exit.code\n"
        "names = ('tensorflow', 'gpflow', 'pandas', 'matplotlib')\n"
        "print('imported:', [name for name in names if name in sys.modules])\n"
        "sys.exit(code)"
    )
    return subprocess.run(
        [sys.executable, "-c", script, *arguments], capture_output=True, text=True
    )


@pytest.fixture(scope="module")
def elsewhere(reported, tmp_path_factory):
    """The same report once more, from another process: its folder, and the process."""
    out = tmp_path_factory.mktemp("elsewhere") / "out"
    return out, run_apart("report", str(reported.parent), "--out", str(out))


def make(folder):
    return contents.report(folder, reading.read(folder))


# The files


@pytest.mark.slow
def test_all_files_are_there(reported):
    assert sorted(path.name for path in reported.iterdir()) == sorted(files.FILES)
    names = {path.name for path in (reported / "figures").iterdir()}
    metrics = ("log_density", "elbo", "rmse", "crps")
    # Two methods alone have an ELBO: they have no ranks.
    assert names == {f"quick-{metric}-dots.png" for metric in metrics} | {
        f"quick-{metric}-ranks.png" for metric in metrics if metric != "elbo"
    }


def test_csv(reported):
    summary = pd.read_csv(reported / "summary.csv")
    assert list(summary) == [
        "budget", "dataset", "method", "metric", "n", "mean", "standard_error", "sd",
    ]  # fmt: skip
    records = pd.read_csv(reported / "records.csv")
    assert len(records) == 28 and (records["status"] == "failed").sum() == 1
    expected = records.query("dataset == 'mine' and method == 'linear'")["rmse"]
    row = summary.query("dataset == 'mine' and method == 'linear' and metric == 'rmse'").iloc[0]
    assert row["mean"] == pytest.approx(expected.mean())
    assert row["standard_error"] == pytest.approx(expected.std() / np.sqrt(3))
    pairs = pd.read_csv(reported / "differences.csv").query("metric == 'rmse'")
    assert len(pairs) == 9 and set(pairs["n"]) == {3}


def test_markdown_has_the_figures_and_the_failures(reported):
    text = (reported / "report.md").read_text()
    for name in re.findall(r"\]\((figures/[^)]*)\)", text):
        assert (reported / name).is_file()
    assert len(re.findall(r"!\[", text)) == 7
    assert r"NonFiniteError: nan \| \<b>in\</b> step 3" in text
    assert "1 file damaged and left out: cut.json" in text
    assert "No mean ranks: it takes 3 methods or more" in text


@pytest.mark.slow
def test_the_same_records_make_the_same_report(reported, elsewhere):
    out, _ = elsewhere
    for name in ("report.html", "report.md", "summary.csv", "differences.csv", "records.csv"):
        assert (out / name).read_bytes() == (reported / name).read_bytes()


def test_a_bound_that_is_missing_is_an_empty_cell_and_has_a_footnote(reported):
    rows = (reported / "records.csv").read_text().splitlines()
    place = rows[0].split(",").index("elbo")
    cells = [row.split(",")[place] for row in rows[1:] if ",linear," in row]
    assert cells == 9 * [""]
    note = "– No ELBO: linear. A posterior without a density has no bound."
    for name in ("report.md", "report.html"):
        assert (reported / name).read_text().count(note) == 1
    summary = pd.read_csv(reported / "summary.csv").query("method == 'linear'")
    assert "elbo" not in set(summary["metric"]) and "rmse" in set(summary["metric"])


# The page


class Page(HTMLParser):
    """All tags, with what they load; complains of tags that are not closed in order."""

    VOID = {"meta", "br", "link", "img", "input"}

    def __init__(self, text):
        super().__init__()
        self.tags, self.open, self.text = [], [], ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_the_page_needs_nothing_else(reported):
    text = (reported / "report.html").read_text()
    page = Page(text)
    assert not {"script", "link", "img", "iframe", "object"} & {tag for tag, _ in page.tags}
    for _, attributes in page.tags:
        for name in ("src", "href", "xlink:href", "data"):
            assert attributes.get(name, "#").startswith("#")
    assert "http" not in text and "@import" not in text
    assert all(url.startswith("#") for url in re.findall(r"url\(([^)]*)\)", text))


def test_the_page_escapes_what_records_say(reported):
    text = (reported / "report.html").read_text()
    assert "nan | &lt;b&gt;in&lt;/b&gt; step 3" in text and "<b>in</b>" not in text


def test_the_page_suits_light_and_dark_and_small_windows(reported):
    text = (reported / "report.html").read_text()
    assert "prefers-color-scheme: dark" in text and "width=device-width" in text
    # The figures have the page's colours, and so do their letters.
    figures = re.findall(r"<svg.*?</svg>", text, flags=re.DOTALL)
    assert len(figures) == 4 * 3 + 3
    for figure in figures:
        assert "currentColor" in figure and "#222222" not in figure and "#0072b2" not in figure
    # Every table scrolls in a box of its own.
    assert text.count("<table>") == len(re.findall(r'<div class="box"[^>]*>\s*<table>', text))


def test_links_in_the_page_lead_somewhere(reported):
    page = Page((reported / "report.html").read_text())
    ids = {attributes["id"] for _, attributes in page.tags if "id" in attributes}
    links = [attributes["href"] for tag, attributes in page.tags if tag == "a"]
    assert len(links) == 11 and all(link[1:] in ids for link in links)


def test_published_numbers_are_apart_from_ours(reported):
    page = Page((reported / "report.html").read_text())
    assert "Published, by others" in page.text and "MC_dropout [a]" in page.text
    assert "20 standard 90/10 splits" in page.text
    summary = pd.read_csv(reported / "summary.csv")
    assert set(summary["method"]) == set(METHODS)


# What is mixed or missing


def test_budgets_are_never_averaged(tmp_path):
    write(
        tmp_path,
        *table({"gp": [-1.0, -1.0]}),
        *table({"gp": [-3.0, -3.0]}, budget={**QUICK, "steps": 900}),
        *table({"gp": [-7.0, -7.0]}, budget={"name": "paper"}),
    )
    report = make(tmp_path)
    means = report.summary.query("metric == 'log_density'").set_index("budget")["mean"]
    assert means.to_dict() == {"quick (steps=500)": -1, "quick (steps=900)": -3, "paper": -7}
    assert [budget.budget for budget in report.budgets] == sorted(means.index)
    assert "3 budgets, each reported on its own" in " ".join(report.overview)
    files.write(report, tmp_path)
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {
        "1-paper-log_density-dots.png",
        "2-quick-steps-500-log_density-dots.png",
        "3-quick-steps-900-log_density-dots.png",
    }


def test_superseded_records_are_said_and_not_used(tmp_path):
    write(
        tmp_path,
        *table({"gp": [-1.0, -2.0]}, version="1.0", started="2026-01-01T00:00:00+00:00"),
        record("a", 0, "gp", -5.0, version="1.1", started="2026-02-01T00:00:00+00:00"),
    )
    report = make(tmp_path)
    assert report.summary.query("metric == 'log_density'")["mean"].item() == -3.5
    said = " ".join(report.overview)
    assert "1 record not used" in said
    assert "Versions of gpflow_gi: 1.0 (1 trial), 1.1 (1 trial)" in said
    assert report.budgets[0].notices == [
        "Means mix versions of gpflow_gi: 1.0 (1 trial), 1.1 (1 trial)."
    ]


def test_mixtures_under_one_name_are_said(tmp_path):
    write(
        tmp_path,
        record("a", 0, "gp", -1.0, settings={"layers": 2}),
        record("a", 1, "gp", -1.0, settings={"layers": 3}, seed=1, host="there"),
    )
    assert make(tmp_path).budgets[0].notices == [
        "2 seeds: they are averaged within each split.",
        "Means mix different settings under one name: gp.",
        "Seconds are of several hosts: here (1 trial), there (1 trial).",
    ]


def test_data_of_one_name_are_never_averaged(tmp_path):
    write(
        tmp_path,
        record("a", 0, "gp", -1.0, sha256="first 000"),
        record("a", 0, "gp", -5.0, sha256="second 00"),
    )
    report = make(tmp_path)
    means = report.summary.query("metric == 'log_density'").set_index("dataset")["mean"]
    assert means.to_dict() == {"a (y, first 00)": -1, "a (y, second 0)": -5}
    assert (
        "Different data of one name are reported on their own, told apart by the target and the "
        "first digits of their SHA-256: a (y, first 00), a (y, second 0). Ranks take each of them "
        "as a data set of its own, as if they were independent."
    ) in report.overview


def test_published_numbers_are_for_the_same_data_alone(tmp_path):
    write(
        tmp_path,
        record("yacht", 0, "gp", -1.0, sha256="something else"),
        record("boston", 0, "gp", -1.0),
    )
    found = make(tmp_path).budgets[0].metrics[0].published
    assert found.datasets == ["boston"]


def test_versions_of_the_software_are_said(tmp_path):
    software = {"python": "3.11.4", "gpflow": "2.9.2", "tensorflow": "2.15.0"}
    write(
        tmp_path,
        record("a", 0, "gp", -1.0, versions=software),
        record("a", 1, "gp", -1.0, versions={**software, "tensorflow": "2.16.1"}),
        record("a", 2, "gp", error=("ValueError", "no")),
    )
    said = (
        "Trained with Python 3.11.4, GPflow 2.9.2, TensorFlow 2.15.0 (1 trial), 2.16.1 (1 trial)."
    )
    assert said in make(tmp_path).overview


def test_the_processor_is_said(tmp_path):
    known = {"python": "3.11.4", "processor": "Some CPU, 2 cores"}
    write(tmp_path, record("a", 0, "gp", -1.0, versions=known))
    assert "Trained with Python 3.11.4, processor Some CPU, 2 cores." in make(tmp_path).overview
    write(tmp_path, record("a", 1, "gp", -1.0, versions={"python": "3.11.4"}))
    said = "Trained with Python 3.11.4, processor Some CPU, 2 cores; that of 1 trial unknown."
    assert said in make(tmp_path).overview


def test_failures_are_counted_and_listed_with_their_error(tmp_path):
    slow = ("TimeLimit", "stopped after 60 s")
    write(
        tmp_path,
        *table({"gp": [-1.0, -2.0]}),
        *(record("a", split, "bnn", error=slow) for split in (3, 0)),
        record("a", 1, "bnn", error=("ValueError", "no")),
    )
    budget = make(tmp_path).budgets[0]
    assert (budget.num_done, budget.num_failed) == (2, 3)
    assert budget.failures.to_dict("split")["data"] == [
        ["a", "bnn", "TimeLimit", "stopped after 60 s", "0, 3", 2],
        ["a", "bnn", "ValueError", "no", "1", 1],
    ]


def test_a_sweep_of_failures_alone_has_a_report(tmp_path, capsys):
    write(tmp_path, record("a", 0, "gp", error=("ValueError", "no")))
    assert main(["report", str(tmp_path)]) == 0
    assert "0 done, 1 failed" in capsys.readouterr().out
    assert "ValueError: no" in (tmp_path / "report" / "report.html").read_text()
    assert list(pd.read_csv(tmp_path / "report" / "summary.csv").columns)[:2] == [
        "budget",
        "dataset",
    ]


# Figures


def test_dots_stand_at_the_means_with_bars_of_one_standard_error():
    # Two plain, the best, and one that is tied with it.
    values = pd.DataFrame(
        {"a": [-80.0, -80.1], "b": [-60.0, -60.2], "c": [8.0, 9.0], "d": [9.0, 7.0]}
    )
    ax = dot_panel(values, METRICS["log_density"]).axes[0]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a", "b", "c", "d"]
    drawn = {}
    for container in ax.containers:
        dots, _, (bars,) = container.lines
        for x, y, ends in zip(*dots.get_data(), bars.get_segments(), strict=True):
            drawn[round(y)] = (x, *ends[:, 0])
    for i, name in enumerate(values):
        mean, error = values[name].mean(), values[name].sem()
        np.testing.assert_allclose(drawn[i], (mean, mean - error, mean + error))
    assert ax.get_ylim()[0] > ax.get_ylim()[1]  # the first on top


def test_further_right_is_better():
    values = pd.DataFrame({"a": [1.0, 3.0], "b": [4.0, 4.5]})
    for metric, reversed_axis in [("elbo", False), ("rmse", True)]:
        ax = dot_panel(values, METRICS[metric]).axes[0]
        assert ax.xaxis_inverted() == reversed_axis
        assert ("reversed" in ax.get_xlabel()) == reversed_axis


@pytest.mark.parametrize("metric, far", [("log_density", -900.0), ("rmse", 900.0)])
def test_what_lies_far_off_does_not_flatten_the_rest(metric, far):
    values = pd.DataFrame({name: [i, i + 0.5] for i, name in enumerate("abcd")})
    values["far"] = far
    ax = dot_panel(values.astype(float), METRICS[metric]).axes[0]
    assert max(map(abs, ax.get_xlim())) < 10
    assert [text.get_text() for text in ax.texts] == [f"◂ {far:g}".replace("-", "−")]


def test_numbers_along_the_axis_are_short():
    for scale, unit in [
        (1.0, " "),
        (0.1, " "),
        (1e-2, " in 1e-02\n"),
        (1e-4, " in 1e-04\n"),
        (1e6, " in 1e+06\n"),
    ]:
        values = scale * pd.DataFrame({"a": [2.0, 3.0], "b": [4.0, 4.5]})
        figure = dot_panel(values, METRICS["rmse"])
        assert figure.axes[0].get_xlabel() == f"Test RMSE{unit}(axis reversed)"
        assert f">{'0.4' if scale == 0.1 else '4'}<" in svg(figure, "label", {})


@pytest.mark.parametrize("low", [0.98e-4, 3.21e-3, 0.01234, 0.0987, 0.6135, 7.123, 999.0, 98765.0])
@pytest.mark.parametrize("share", [1e-3, 0.01, 0.1, 1.0])
def test_numbers_along_the_axis_do_not_touch(low, share):
    values = pd.DataFrame({"bnn-factorised-global-standard": [low, low], "b": 2 * [low]})
    values["b"] *= 1 + share
    figure = dot_panel(values, METRICS["rmse"])
    FigureCanvasAgg(figure).draw()
    ax = figure.axes[0]
    first, last = sorted(ax.get_xlim())
    ticks = [tick for tick in ax.xaxis.get_major_ticks() if first <= tick.get_loc() <= last]
    boxes = sorted(tuple(tick.label1.get_window_extent().extents) for tick in ticks)
    assert len(boxes) >= 2
    assert all(one[2] < other[0] for one, other in itertools.pairwise(boxes))


def test_methods_that_failed_throughout_are_said_to_have_no_rank(tmp_path):
    for dataset in "abc":
        write(
            tmp_path,
            *table({name: [-float(i)] for i, name in enumerate(METHODS)}, dataset),
            record(dataset, 0, "slow", error=("TimeLimit", "too slow")),
        )
    assert make(tmp_path).budgets[0].metrics[0].ranks.left_out == ["slow"]


def test_methods_that_failed_are_said_in_figures(tmp_path):
    failure = ("TimeLimit", "too slow")
    write(
        tmp_path,
        *table({"gp": [-1.0, -1.5], "linear": [-2.0, -2.5]}),
        *table({"gp": [-1.0, -1.5], "linear": [-2.0, -2.5], "bnn": [-3.0, None]}, "b"),
        record("a", 0, "bnn", error=failure),
        record("b", 1, "bnn", error=failure),
        record("a", 0, "slow", error=failure),
    )
    metric = make(tmp_path).budgets[0].metrics[0]
    assert metric.metric.name == "log_density"
    first, second = dot_plot(metric.values, metric.metric, metric.failed).axes
    rows = [label.get_text() for label in first.get_yticklabels()]
    assert rows == ["linear", "gp", "bnn", "slow"]
    assert [(rows[text.xy[1]], text.get_text()) for text in first.texts] == [
        ("bnn", "failed"),
        ("slow", "failed"),
    ]
    assert not second.texts and not any(label.get_text() for label in second.get_yticklabels())
    page = dot_panel(of_dataset(metric.values, "a"), metric.metric, metric.failed["a"])
    assert svg(page, "label", {}).count(">failed<") == 2


def test_names_in_figures_are_names_and_no_formulas():
    values = pd.DataFrame({"a$_1$": [1.0, 3.0], "<b> & c": [4.0, 4.5]})
    figure = dot_panel(values, METRICS["log_density"])
    text = svg(figure, "label", {"#222222": "currentColor"})
    assert "a$_1$" in text and "&lt;b&gt; &amp; c" in text


def test_bars_of_a_rank_diagram_join_what_cannot_be_told_apart():
    """Twelve data sets tell the first from the last of three, but not from the second."""
    rng = np.random.default_rng(0)
    data = {}
    for i in range(12):
        swap = i % 2
        first, second = (2.0, 3.0) if swap else (3.0, 2.0)
        data[f"data-{i:02}"] = pd.DataFrame({"a": [first], "b": [second], "c": [rng.normal() - 9]})
    found = ranks(pd.concat(data, names=["dataset", "split"]), METRICS["log_density"])
    assert isinstance(found, Ranks)
    assert found.mean.to_dict() == {"a": 1.5, "b": 1.5, "c": 3.0}
    assert found.critical_difference < 1.5
    ax = rank_diagram(found).axes[0]
    bars = [line.get_xdata() for line in ax.lines if line.get_linewidth() == 2.4]
    assert [list(bar) for bar in bars] == [[1.5, 1.5]]
    said = [text.get_text() for text in ax.texts]
    assert f"critical difference {found.critical_difference:.2f}" in said
    assert any("c" in text and "(3.00)" in text for text in said)


# The command


@pytest.mark.slow
def test_the_command_does_not_import_tensorflow(elsewhere):
    out, run = elsewhere
    assert (run.returncode, run.stderr) == (0, "")
    assert "imported: ['pandas', 'matplotlib']" in run.stdout
    assert (out / "report.html").is_file()


def test_help_imports_nothing_heavy():
    run = run_apart("report", "--help")
    assert run.returncode == 0 and "--out" in run.stdout
    assert "imported: []" in run.stdout
    assert max(map(len, run.stdout.splitlines())) <= 80


def test_what_the_command_says(ran):
    out, said = ran
    assert "28 trials: 27 done, 1 failed." in said
    assert "Test log density, budget quick" in said and "ELBO, budget quick" in said
    assert "RMSE" not in said
    line = next(line for line in said.splitlines() if line.startswith("dgp-global"))
    assert line.count("*") == 3 and line.count("±") == 3
    assert str(out / "report.html") in said


def test_a_report_replaces_the_one_before(reported, tmp_path, capsys):
    folder = write(tmp_path, *table({"gp": [-1.0, -2.0]}))
    assert main(["report", str(folder)]) == 0
    write(folder, record("a", 2, "gp", -6.0))
    assert main(["report", str(folder)]) == 0
    row = pd.read_csv(folder / "report" / "summary.csv").query("metric == 'log_density'").iloc[0]
    assert (row["n"], row["mean"]) == (3, -3)


def error_of(capsys, *arguments):
    code = main(["report", *map(str, arguments)])
    output = capsys.readouterr()
    assert code == 2 and output.out == ""
    assert output.err.startswith("gpflow-gi: error: ") and output.err.count("\n") == 1
    return output.err


def test_misuse_is_said_in_one_line(capsys, tmp_path):
    assert "there is no such folder" in error_of(capsys, tmp_path / "nothing")
    assert "holds no records of trials" in error_of(capsys, tmp_path)
    write(tmp_path, record("a", 0, "gp", -1.0))
    assert "is not a folder of results" in error_of(capsys, tmp_path, "--out", tmp_path)
    (tmp_path / "file").write_text("")
    assert "is a file" in error_of(capsys, tmp_path, "--out", tmp_path / "file")
    assert "cannot be written" in error_of(capsys, tmp_path, "--out", tmp_path / "file" / "out")
    assert not (tmp_path / "report").exists()
