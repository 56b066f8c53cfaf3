"""The statements of docs/datasets.md on the UCI sets."""

import re
from pathlib import Path

import pytest

from gpflow_gi.datasets import UCI_SETS

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "datasets.md").read_text("utf-8")


def rows_of_the_table_below(heading):
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return [line for line in section.splitlines() if line.startswith("|")][2:]


def test_the_table_of_sets():
    expected = [
        f"| {name} | {known.folder} | {known.num_rows} | {len(known.input_names)} | "
        f"{known.target_name} | {known.num_splits} |"
        for name, known in UCI_SETS.items()
    ]
    assert rows_of_the_table_below("The sets") == expected


@pytest.mark.longest
def test_the_table_of_duplicates_is_what_its_script_prints(published, capsys):
    (script,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(script, {})
    expected = capsys.readouterr().out.splitlines()
    assert rows_of_the_table_below("Rows that are both trained and tested on") == expected
