import numpy as np
import pytest

from gpflow_gi.benchmark.report.markdown import results
from gpflow_gi.benchmark.report.published import published
from gpflow_gi.benchmark.report.published import read as read_published
from gpflow_gi.benchmark.report.reading import read
from gpflow_gi.benchmark.report.statistics import METRICS, by_split
from gpflow_gi.benchmark.report.tables import (
    Cell,
    decimals_for,
    difference_table,
    metric_table,
    number,
    terminal,
)

from .record_files import record, table, write

LOG_DENSITY = METRICS["log_density"]


@pytest.fixture
def trials(tmp_path):
    return read(
        write(
            tmp_path,
            # Standard errors: 0.1 / sqrt(3), 0.1 / sqrt(3) and 0.05.
            *table({"good": [-1.0, -1.1, -0.9], "bad": [-3.0, -3.1, -2.9], "few": [-2.0, -2.1]}),
            record("a", 0, "broken", error=("TimeLimit", "too slow")),
            record("b", 0, "good", -5.0),
        )
    ).trials


def test_cells(trials):
    found = metric_table(trials, LOG_DENSITY)
    assert found.methods == ["bad", "broken", "few", "good"]
    (a, n, cells), (b, one, others) = found.rows
    assert (a, n, b, one) == ("a", 3, "b", 1)
    assert cells == [
        Cell("−3.000", "0.058"),
        Cell("failed"),
        Cell("−2.050", "0.050", n=2),
        Cell("−1.000", "0.058", mark="best"),
    ]
    # Nobody to be better than, and no error of one split.
    assert others == [Cell("–"), Cell("–"), Cell("–"), Cell("−5.000")]


def test_a_metric_that_nobody_has(trials):
    assert metric_table(trials, METRICS["crps"]) is None


def test_trials_that_are_done_but_lack_a_metric_have_not_failed(tmp_path):
    trials = read(
        write(
            tmp_path,
            record("a", 0, "gp", -1.0, elbo=-1.0),
            record("a", 0, "linear", -1.0),
            record("a", 1, "linear", error=("TimeLimit", "too slow")),
        )
    ).trials
    found = metric_table(trials, METRICS["elbo"])
    (_, _, cells) = found.rows[0]
    assert [cell.mean for cell in cells] == ["–", "−1.000"]
    assert found.footnote == "– No ELBO: linear. A posterior without a density has no bound."
    assert terminal(found).endswith(f"\n\n{found.footnote.replace('–', '-')}")
    assert results(found).endswith(f"\n\n{found.footnote}")


def test_what_was_not_tried_needs_no_footnote(trials):
    found = metric_table(trials, LOG_DENSITY)
    assert "–" in map(str, found.rows[1][2]) and found.footnote == ""
    assert not results(found).splitlines()[-1].startswith("–")


def test_methods_of_other_objectives_are_named_below_the_bound(tmp_path):
    settings = {
        "vip": {"objective": {"name": "AlphaEnergy", "alpha": 0.5}},
        "svgp": {},
        "dgp-global-2-full-divided": {"objective": {"name": "Elbo", "divide_rows": True}},
    }
    folder = write(
        tmp_path,
        *(
            record("a", split, method, 0.0, elbo=-1.0, rmse=1.0, settings=of)
            for method, of in settings.items()
            for split in range(2)
        ),
    )
    trials = read(folder).trials
    found = metric_table(trials, METRICS["elbo"])
    assert found.footnote == "Trained by another objective than this bound: vip (AlphaEnergy)."
    assert metric_table(trials, METRICS["rmse"]).footnote == ""


def test_footnotes_fit_a_terminal(tmp_path):
    names = [f"method-number-{i}" for i in range(9)]
    records = [record("a", 0, name, -1.0) for name in names]
    found = metric_table(
        read(write(tmp_path, *records, record("a", 0, "gp", -1.0, crps=1.0))).trials,
        METRICS["crps"],
    )
    assert found.footnote == f"– No Test CRPS: {', '.join(names)}."
    assert max(map(len, terminal(found).splitlines())) <= 80


def test_markdown(trials):
    lines = results(metric_table(trials, LOG_DENSITY)).splitlines()
    assert [cell.strip() for cell in lines[2].strip("|").split("|")] == [
        "a", "3", "−3.000 ± 0.058", "failed", "−2.050 ± 0.050 (n=2)", "**−1.000 ± 0.058**",
    ]  # fmt: skip


def test_terminal_tables_fit_and_say_all(tmp_path):
    data = {f"method-number-{i}": [-1.0 - i, -1.5 - i] for i in range(3)}
    records = [one for name in "abcdefgh" for one in table(data, f"data-{name}")]
    text = terminal(metric_table(read(write(tmp_path, *records)).trials, LOG_DENSITY))
    assert max(map(len, text.splitlines())) <= 80
    assert all(f"data-{name}" in text for name in "abcdefgh")
    assert text.count(" *-1.25 ± 0.25") == 8 and text.count(" -2.25 ± 0.25") == 8
    text.encode("latin-1")


def test_terminal_tables_say_where_splits_are_fewer(trials):
    lines = terminal(metric_table(trials, LOG_DENSITY)).splitlines()
    assert any(line.split("  ")[0] == "few" and "-2.050 ± 0.050 (n=2)" in line for line in lines)
    assert sum("(n=" in line for line in lines) == 1


def test_differences_say_which_way_is_better(tmp_path):
    trials = read(
        write(
            tmp_path,
            *(record("a", i, "x", -1.0 + 0.1 * i, rmse=1.0 + 0.1 * i) for i in range(3)),
            *(record("a", i, "y", -2.0 + 0.2 * i, rmse=2.0 + 0.2 * i) for i in range(3)),
        )
    ).trials
    for metric, mark, sign in [("log_density", "better", "+"), ("rmse", "better", "−")]:
        found = difference_table(by_split(trials, metric), METRICS[metric], "a")
        assert found.methods == ["x", "y"] and found.rows[0][2][0] is None
        x_minus_y, y_minus_x = found.rows[0][2][1], found.rows[1][2][0]
        assert x_minus_y.mark == mark and y_minus_x.mark == "worse"
        assert x_minus_y.mean[0] == sign
    # 1, 0.9 and 0.8 nats.
    found = difference_table(by_split(trials, "log_density"), LOG_DENSITY, "a")
    assert (found.rows[0][2][1].mean, found.rows[0][2][1].error) == ("+0.900", "0.058")


def test_a_difference_within_chance_is_not_marked(tmp_path):
    """Two standard errors of three differences, where it takes 4.3 of them."""
    trials = read(write(tmp_path, *table({"x": [0.3, 2.3, 1.3], "y": [0.0, 0.0, 0.0]}))).trials
    found = difference_table(by_split(trials, "log_density"), LOG_DENSITY, "a")
    assert found.rows[0][2][1] == Cell("+1.30", "0.58")


def test_a_difference_of_one_split_is_not_marked(tmp_path):
    trials = read(write(tmp_path, *table({"x": [9.0], "y": [0.0]}))).trials
    found = difference_table(by_split(trials, "log_density"), LOG_DENSITY, "a")
    assert found.rows[0][2][1] == Cell("+9.000")


@pytest.mark.parametrize(
    "means, errors, decimals",
    [
        ([1.0], [0.012], 3),
        ([1.0], [12.0], 0),
        ([1.0], [1234.0], 0),
        ([1.0], [1e-12], 6),
        ([123.0], [np.nan], 1),
        ([0.0], [0.0], 3),
    ],
)
def test_decimals(means, errors, decimals):
    assert decimals_for(np.array(means), np.array(errors)) == decimals


def test_numbers():
    assert number(-1.25, 1) == "−1.2"
    assert number(0.5, 2, sign=True) == "+0.50"
    assert number(-1.5e12, 3) == "−1.5e+12"


# Published


def test_published_numbers_are_complete():
    found = read_published()
    assert len(found) == 315
    assert set(found["metric"]) == {"elbo", "log_density", "rmse", "crps"} <= set(METRICS)
    for column in ("dataset", "method", "mean", "spread", "spread_is", "split", "source"):
        assert (found[column] != "").all()
    assert np.isfinite(found["mean"].astype(float)).all()
    assert not found.duplicated(["dataset", "method", "metric", "source"]).any()


def cells_of(found, dataset):
    column = found.datasets.index(dataset)
    return {(method, spread): cells[column] for (method, _, spread), cells in found.rows}


def test_published_numbers_stand_with_their_protocol():
    found = published(read_published(), "log_density", {"yacht", "mine"})
    assert found.datasets == ["yacht"]
    cells = cells_of(found, "yacht")
    assert cells["MC_dropout", "standard error"] == "−1.25 ± 0.01"
    assert cells["VI", "sd"] == "−2.588 ± 0.0968"
    letters = {method: letter for (method, letter, _), _ in found.rows}
    assert "standard error over splits" in found.sources[letters["MC_dropout"]]
    assert "20 standard 90/10 splits" in found.sources[letters["MC_dropout"]]
    assert "sd over 20 splits" in found.sources[letters["VI"]]
    assert "80/20" in found.sources[letters["VI"]]
    assert "deep Wishart process" in found.sources[letters["DWP_5"]]


def test_published_bounds():
    found = published(read_published(), "elbo", {"energy", "yacht"})
    assert cells_of(found, "energy")["DGP_GI_5", "not stated"] == "1.37 ± 0.00*"
    assert cells_of(found, "yacht")["DWP_5", "not stated"] == "1.63 ± 0.01*"
    assert "no skip connections" in found.notes[0]


def test_notes_on_published_numbers():
    found = published(read_published(), "log_density", {"boston"})
    stars = cells_of(found, "boston")["fBNN", "sd"].removeprefix("−3.193 ± 0.687")
    assert f"{stars} a failed run recorded as a result." in found.notes


def test_nothing_published():
    assert published(read_published(), "crps", {"mine"}) is None
    assert published(read_published(), "rmse", {"mine"}) is None
