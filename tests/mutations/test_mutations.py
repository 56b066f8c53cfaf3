import json
from pathlib import Path

import pytest

from . import running
from .listing import MUTATIONS
from .mutation import PACKAGE, Mutation


def test_every_fault_has_one_place():
    texts = {path: path.read_text() for path in PACKAGE.rglob("*.py")}
    assert len({mutation.fault for mutation in MUTATIONS}) == len(MUTATIONS) == 69
    for mutation in MUTATIONS:
        places = [path for path, text in texts.items() if mutation.old in text]
        assert mutation.places() == places and len(places) == 1, mutation.fault
        text = texts[places[0]]
        assert text.count(mutation.old) == 1 and mutation.new != mutation.old
        compile(text.replace(mutation.old, mutation.new), str(places[0]), "exec")
        for path in mutation.tests.split():
            assert (PACKAGE.parent / "tests" / path).is_file(), path


def _repository(folder: Path, value: int) -> Path:
    root = folder / "checkout"
    (root / "gpflow_gi").mkdir(parents=True)
    (root / "gpflow_gi" / "__init__.py").touch()
    (root / "gpflow_gi" / "code.py").write_text(f"VALUE = {value}\n")
    (root / "tests").mkdir()
    (root / "tests" / "test_likely.py").write_text("def test_nothing():\n    assert True\n")
    (root / "tests" / "test_other.py").write_text(
        "import pytest\n\nfrom gpflow_gi.code import VALUE\n\n\n"
        "@pytest.mark.slow\ndef test_slowly():\n    assert VALUE == 1\n\n\n"
        "def test_it():\n    assert VALUE < 3\n"
    )
    return root


@pytest.mark.slow
@pytest.mark.parametrize(("new", "found_by"), [("3", "tests/test_other.py::test_it"), ("2", "")])
def test_a_copy_has_the_fault_and_fast_tests_find_it(tmp_path, monkeypatch, new, found_by):
    root = _repository(tmp_path, 1)
    fault = Mutation("another value", "VALUE = 1", f"VALUE = {new}", "test_likely.py")
    monkeypatch.setattr(running, "ROOT", root)
    monkeypatch.setattr(running, "MUTATIONS", [fault])
    out = tmp_path / "results.jsonl"
    (result,) = running.run([1], out)
    assert (result["file"], result["found_by"]) == ("gpflow_gi/code.py", found_by)
    assert json.loads(out.read_text()) == result
    assert (root / "gpflow_gi" / "code.py").read_text() == "VALUE = 1\n"

    assert (running.run([1], None, likely_only=True)[0]["found_by"]) == ""

    # What is in the file is not tried again; what the list says otherwise by now, is.
    monkeypatch.setattr(running, "_tried", lambda *_: {"file": "", "found_by": "again"})
    assert running.run([1], out) == [result]
    changed = Mutation(fault.fault, fault.old, "VALUE = 4", fault.tests)
    monkeypatch.setattr(running, "MUTATIONS", [changed])
    assert running.run([1], out)[0]["found_by"] == "again"
    assert len(out.read_text().splitlines()) == 2


@pytest.mark.slow
def test_tests_that_cannot_be_run_find_nothing(tmp_path, monkeypatch):
    root = _repository(tmp_path, 1)
    (root / "tests" / "test_likely.py").write_text("not Python")
    monkeypatch.setattr(running, "ROOT", root)
    monkeypatch.setattr(
        running, "MUTATIONS", [Mutation("none", "VALUE = 1", "VALUE = 2", "test_likely.py")]
    )
    with pytest.raises(RuntimeError, match="cannot be run"):
        running.run([1], None)


def test_a_text_that_is_not_there_or_there_twice(tmp_path):
    for content in ("", "VALUE = 1\nVALUE = 1\n"):
        (tmp_path / "code.py").write_text(content)
        with pytest.raises(ValueError, match="must occur once"):
            Mutation("any", "VALUE = 1", "VALUE = 2", "").apply(tmp_path)
