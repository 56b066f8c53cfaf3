"""Reports of records whose names are anything that JSON can hold: none ends them, none is lost."""

import csv
import os
import re
import warnings

import numpy as np
import pandas as pd
import pytest

from gpflow_gi.benchmark.report import contents, files, making, markdown, reading
from gpflow_gi.benchmark.report.figures import svg
from gpflow_gi.cli import main
from gpflow_gi.core.printable import labels, printable

from .record_files import QUICK, record, table, write
from .test_report import Page

ODD = [
    "back\\slash \\1 \\g<0> \\U",
    "not UTF-8 \udcff\udc80",
    "../../etc/passwd",
    "a/b\\c:d*?",
    "\0\x07\x1b[31mred\x1b[0m\r\n\tend",
    "| ** __ ` [link](http://x) <b>&amp; # ~~no~~ $x_1$ ![](y)",
    "</title><script>alert(1)</script>",
    "\" onload='x' {{ 7 * 7 }} {% raw %}",
    "$\\frac{ % \\end{document} ^_",
    "=cmd|' /C calc'!A0",
    "+1",
    "-1",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "comma, \"quote\"; 'semicolon'",
    "name",
    "Name",
    "NAME",
    "",
    " ",
    "  name ",
    "x" * 5000,
    "x" * 4999,
    "‮right to left‬​﻿",
    "東京 😀 é é",
    "nan",
    "None",
    "dataset",
    "value",
    "#222222",
    "CON.json",
    "0",
    "1e5",
    "True",
]

ALPHABET = [
    *map(chr, range(128)), "\\1", "\\g", "\udc80", "\udfff", "\u2028", "é", "😀", "中", "\u202e",
    "=", "|", "{{", "}}", "<!--", "-->", "]]>", "$", "__", "`", "%s", "{0}", "\x85", "\xa0",
]  # fmt: skip


def random_name(rng):
    letters = rng.choice(ALPHABET, size=rng.integers(0, 30 if rng.random() < 0.9 else 3000))
    return "".join(letters)


def sweep_of(folder, names, methods=("gp", "svgp"), **changes):
    """Two methods on two splits of each set."""
    for i, name in enumerate(names):
        write(
            folder,
            *table(
                {method: [-1.0 - i - k, -2.0 - i] for k, method in enumerate(methods)},
                name,
                sha256=f"{i:064}",
                **changes,
            ),
        )
    return folder


def check(folder, names):
    """Make the report, and find every set in all of its files."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = making.make(folder, folder / "report")
    assert made.report.records.left_out == {} and made.report.records.damaged == {}
    (budget,) = made.report.budgets
    shown = [dataset for dataset, _, _ in budget.metrics[0].table.rows]
    assert len(set(shown)) == len(set(names))
    out = folder / "report"
    page = Page((out / "report.html").read_text("utf-8"))
    assert not {"script", "b", "i", "img"} & {tag for tag, _ in page.tags}
    text = " ".join(page.text.split())
    lines = (out / "report.md").read_text("utf-8").splitlines()
    for name in shown:
        assert name.isprintable() and " ".join(name.split()) in text
        row = next(line for line in lines if line.startswith(f"| {markdown.escaped(name)} "))
        # As many cells as there are columns, whatever is in the name.
        assert len(re.findall(r"(?<!\\)\|", row.replace("\\\\", ""))) == 5
    for name in ("summary.csv", "records.csv"):
        with (out / name).open(encoding="utf-8", newline="") as file:
            header, *rows = csv.reader(file)
        assert all(len(row) == len(header) for row in rows)
        found = {row[header.index("dataset")].removeprefix("'") for row in rows}
        assert found == {one.removeprefix("'") for one in shown}
        texts = [row[header.index(name)] for row in rows for name in ("dataset", "method")]
        assert not any(cell.startswith(tuple("=+-@\t\r")) for cell in texts)
    assert sorted(path.name for path in out.iterdir()) == sorted(files.FILES)
    assert {path.parent.name for path in out.rglob("*.png")} == {"figures"}
    return made


@pytest.mark.longest
def test_odd_names_of_data_sets(tmp_path):
    check(sweep_of(tmp_path, ODD), ODD)


@pytest.mark.longest
def test_odd_names_of_methods_budgets_hosts_and_errors(tmp_path):
    """The names of one column in turn: what a record says of itself is anybody's."""
    for i, name in enumerate(ODD):
        write(
            tmp_path,
            *table({method: [-1.0, -2.0] for method in (name, "gp", "value")}, "a"),
            record("b", i, "gp", error=(name, name), host=name, version=name, started=name),
            record("c", i, "gp", -1.0, versions={"python": name}, settings={name: name}),
        )
    for i, name in enumerate(ODD[::4]):
        write(
            tmp_path,
            record("c", i, "gp", -1.0, budget={"name": name, name: name}, notes=[name]),
        )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = making.make(tmp_path, tmp_path / "report")
    assert made.report.records.left_out == {} and made.report.records.damaged == {}
    assert len(made.report.budgets) == len(ODD[::4]) + 1
    Page((tmp_path / "report" / "report.html").read_text("utf-8"))
    records = pd.read_csv(tmp_path / "report" / "records.csv", keep_default_na=False, dtype=str)
    texts = records[["budget", "method", "host", "version", "error_type", "error_message"]]
    assert not texts.map(lambda cell: cell.startswith(tuple("=+-@\t\r"))).any(axis=None)


@pytest.mark.longest
@pytest.mark.parametrize("reports", [range(6), range(6, 106)], ids=["six", "hundred"])
def test_random_names(tmp_path, reports):
    """Twenty in each report."""
    for seed in reports:
        rng = np.random.default_rng(seed)
        names = list(dict.fromkeys(random_name(rng) for _ in range(20)))
        check(sweep_of(tmp_path / str(seed), names), names)


def test_labels_are_short_printable_and_different():
    rng = np.random.default_rng(3)
    names = {*ODD, *(random_name(rng) for _ in range(2000)), "\\x00", "\0", "(1 spaces)"}
    shown = labels(names)
    assert len(set(shown.values())) == len(names) == len(shown)
    assert all(label.isprintable() and 0 < len(label) <= 52 for label in shown.values())
    assert shown["Name"] == "Name" and shown["東京 😀 é é"] == "東京 😀 é é"
    assert labels(["a\\b", "a\tb"]) == {"a\\b": "a\\b", "a\tb": "a\\tb"}
    assert labels(["  name "]) == {"  name ": r"\x20\x20name\x20"}
    assert printable("a\0\udcffb\n") == r"a\x00\udcffb\n"


def test_numbers_are_no_formulas(tmp_path):
    sweep_of(tmp_path, ["-1", "=1+1", "plain"])
    making.make(tmp_path, tmp_path / "report")
    text = (tmp_path / "report" / "records.csv").read_text()
    assert "quick,'-1,0,gp,0,done,True,True,-1.0," in text
    assert "quick,'=1+1,0,gp,0,done,True,True,-2.0," in text
    assert "quick,plain,0,gp,0,done,True,True,-3.0," in text


def test_names_in_figures_keep_what_looks_like_a_colour():
    from gpflow_gi.benchmark.report.figures import dot_panel
    from gpflow_gi.benchmark.report.statistics import METRICS

    figure = dot_panel(pd.DataFrame({"#222222": [1.0, 2.0]}), METRICS["rmse"])
    text = svg(figure, "a\\1", {"#222222": "currentColor"})
    assert ">#222222<" in text and 'aria-label="a\\1"' in text and "currentColor" in text


# What is said of records


def test_records_without_a_checksum_are_counted(tmp_path):
    write(tmp_path, record("a", 0, "gp", -1.0), record("a", 1, "gp", -1.0), sealed=False)
    write(tmp_path, record("a", 2, "gp", -1.0))
    report = contents.report(tmp_path, reading.read(tmp_path))
    assert (
        "2 records unverified: of before records had checksums. "
        "Damage to the results in them would not be noticed." in report.overview
    )
    assert list(report.records.trials["verified"]) == [False, False, True]
    sealed = write(tmp_path / "sealed", record("a", 0, "gp", -1.0))
    assert "unverified" not in " ".join(contents.report(sealed, reading.read(sealed)).overview)


def test_results_that_were_changed_are_not_reported(tmp_path):
    write(tmp_path, record("a", 0, "gp", -1.5), record("a", 1, "gp", -1.75))
    path = min((tmp_path / "records").iterdir())
    path.write_text(path.read_text().replace("-1.5", "-1.4"))
    report = contents.report(tmp_path, reading.read(tmp_path))
    said = f"1 file damaged and left out: {path.name} does not match its checksum. The same"
    assert said in " ".join(report.overview)
    assert list(report.records.trials["log_density"]) == [-1.75]


def test_what_was_set_aside_is_said(tmp_path):
    write(tmp_path, record("a", 0, "gp", -1.5))
    (tmp_path / "records" / "b.json.damaged").write_text("")
    (tmp_path / "records" / "b.json.damaged-2").mkdir()
    assert (
        "2 files set aside by `gpflow-gi benchmark`, which found them damaged and ran their "
        "trials again: b.json.damaged, b.json.damaged-2."
        in contents.report(tmp_path, reading.read(tmp_path)).overview
    )


def test_notes_are_in_the_report(tmp_path):
    write(
        tmp_path,
        record("a", 0, "gp", -1.0, notes=["At step 7 the jitter was raised\nto 1e-5."]),
        record("a", 1, "gp", -1.0, notes="no list"),
        *(record("b", i, "gp", -1.0, notes=["so"]) for i in range(10)),
    )
    report = contents.report(tmp_path, reading.read(tmp_path))
    notices = report.budgets[0].notices
    assert notices[:2] == [
        "a split 0 gp: At step 7 the jitter was raised to 1e-5.",
        "a split 1 gp: no list",
    ]
    assert notices[10:] == ["2 trials more with notes: see records.csv."]
    making.make(tmp_path, tmp_path / "report")
    assert set(pd.read_csv(tmp_path / "report" / "records.csv")["notes"]) == {
        "At step 7 the jitter was raised to 1e-5.", "no list", "so"
    }  # fmt: skip


@pytest.mark.parametrize("where", ["split", "seed"])
@pytest.mark.parametrize("number", [-1, 10**30])
def test_numbers_of_trials_that_no_table_can_hold_are_damage(tmp_path, where, number):
    good = record("a", 0, "gp", -1.0)
    split, seed = (number, 0) if where == "split" else (0, number)
    write(tmp_path, good, record("a", split, "gp", -1.0, seed=seed))
    records = reading.read(tmp_path)
    assert list(records.damaged.values()) == [f"has no {where!r} of the type that a record has"]


# Sets that cannot be reported


@pytest.fixture
def one_bad_set(tmp_path, monkeypatch):
    """Three sets, the second of which ends whatever draws it."""
    draw = files.dot_plot

    def fails(values, metric, failed):
        if "second" in values.index.unique("dataset"):
            raise RuntimeError("it cannot\nbe drawn")
        return draw(values, metric, failed)

    monkeypatch.setattr(files, "dot_plot", fails)
    return sweep_of(tmp_path, ["first", "second", "third"])


@pytest.mark.slow
def test_one_bad_set_is_named_and_the_others_are_reported(one_bad_set, capsys):
    assert main(["report", str(one_bad_set)]) == 1
    said = capsys.readouterr()
    reason = "RuntimeError: it cannot be drawn"
    assert said.err == (
        f"gpflow-gi: error: left out, because they cannot be reported: second ({reason}).\n"
    )
    sentence = f"Data set second is left out, because it cannot be reported: {reason}."
    assert sentence in " ".join(said.out.split())
    out = one_bad_set / "report"
    for name in ("report.html", "report.md"):
        assert sentence in (out / name).read_text()
    for name in ("summary.csv", "records.csv"):
        assert set(pd.read_csv(out / name)["dataset"]) == {"first", "third"}
    assert sorted(path.name for path in out.iterdir()) == sorted(files.FILES)


def test_nothing_but_bad_sets(tmp_path, monkeypatch, capsys):
    def fails(*arguments):
        raise ZeroDivisionError("no")

    monkeypatch.setattr(files, "dot_plot", fails)
    assert main(["report", str(sweep_of(tmp_path, ["a", "b"]))]) == 2
    assert capsys.readouterr().err == (
        f"gpflow-gi: error: {tmp_path}: none of its data sets can be reported "
        "(a: ZeroDivisionError: no; b: ZeroDivisionError: no).\n"
    )
    assert not (tmp_path / "report").exists()


@pytest.mark.slow
def test_sets_that_are_bad_only_together(tmp_path, monkeypatch, capsys):
    draw = files.dot_plot

    def fails(values, metric, failed):
        if len(values.index.unique("dataset")) > 1:
            raise ZeroDivisionError("no")
        return draw(values, metric, failed)

    monkeypatch.setattr(files, "dot_plot", fails)
    assert main(["report", str(sweep_of(tmp_path, ["a", "b"]))]) == 2
    error = capsys.readouterr().err
    assert error == f"gpflow-gi: error: {tmp_path} cannot be reported: ZeroDivisionError: no.\n"


@pytest.mark.slow
@pytest.mark.parametrize("largest", [1e300, 1.7e308])
def test_a_set_with_numbers_that_overflow_leaves_the_others(tmp_path, largest):
    sweep_of(tmp_path, ["a", "b"])
    write(
        tmp_path,
        *table({"gp": [largest, -largest, largest], "svgp": [1.0, 2.0, 3.0]}, "wild"),
        *table({"gp": [-largest, 5e-324, 0.0], "svgp": 3 * [largest]}, "wilder"),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = making.make(tmp_path, tmp_path / "report")
    shown = [dataset for dataset, _, _ in made.report.budgets[0].metrics[0].table.rows]
    assert shown == ["a", "b", "wild", "wilder"] and made.report.records.left_out == {}


def test_folders_and_files_that_are_no_utf_8(tmp_path, capsys):
    folder = tmp_path / os.fsdecode(b"caf\xe9\n")
    try:
        sweep_of(folder, ["a"])
    except OSError:
        pytest.skip("this file system takes no such names")
    key = record("b", 0, "gp", -1.0)["key"]
    (folder / "records" / os.fsdecode(b"\xff-%s.json" % key.encode())).write_text("{")
    assert main(["report", str(folder)]) == 0
    said = capsys.readouterr().out
    assert rf"\udcff-{key}.json is not a complete record of a trial" in " ".join(said.split())
    assert r"caf\udce9\n" in (folder / "report" / "report.html").read_text("utf-8")
    assert QUICK["name"] in said
