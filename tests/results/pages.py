"""Pages and scripts of docs/results."""

import importlib.util
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "docs" / "results"
OF_STANDARD = RESULTS / "standard"

NINE_SETS = "boston concrete energy kin8nm naval power protein wine yacht".split()
COUNTS = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def words_of(page):
    """The text of a page with single spaces; the page by its path from the root."""
    return " ".join((ROOT / page).read_text("utf-8").split())


def rows_of(page, heading):
    """The rows of the first table after some words of a page: lists of cells without bold."""
    text = (ROOT / page).read_text("utf-8")
    after = text[text.index(heading) :]
    table = re.search(r"(^\|.*\n)+", after, re.MULTILINE).group(0)
    rows = [line[1:-1].replace("**", "").split("|") for line in table.splitlines()]
    return [[cell.strip() for cell in row] for row in rows if not set("".join(row)) <= set("-:")]


def script(folder, name):
    """A script of docs/results, as a module."""
    spec = importlib.util.spec_from_file_location(Path(name).stem, RESULTS / folder / name)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def listed(names):
    """The names with commas and a last "and"."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def without_split_0(forms, depth, dataset):
    """Global minus local bounds on the splits that chose no rate and no form."""
    row = forms.comparisons(depth).loc[dataset]
    bounds = forms.candidates(depth)["elbo"].loc[dataset]
    return (bounds.loc[row["global"]] - bounds.loc[row["local"]]).drop(0)


def of_one_draw_on_yacht(forms):
    """Forms of three layers that were trained with one draw a step."""
    trials = forms.candidates(3).loc["yacht"]
    return trials[~trials.index.str.contains("four draws")]
