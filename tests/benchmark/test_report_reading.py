import json
import math

import pytest

from gpflow_gi.benchmark.report.reading import RecordsError, read
from gpflow_gi.datasets import UCI_SETS

from .record_files import QUICK, record, write


def test_a_row_for_each_trial(tmp_path):
    write(
        tmp_path,
        record("b", 1, "gp", -1.5, elbo=-0.5, rmse=2, seconds=12.5, coverage_90=0.875),
        record("a", 0, "gp", error=("TimeLimit", "stopped after\n 60 s"), seconds=60.0),
    )
    records = read(tmp_path)
    assert records.damaged == {}
    failed, done = records.trials.to_dict("records")
    assert (done["dataset"], done["split"], done["method"], done["seed"]) == ("b", 1, "gp", 0)
    assert (done["log_density"], done["elbo"], done["rmse"]) == (-1.5, -0.5, 2.0)
    assert (done["coverage_90"], done["seconds"], done["num_train"]) == (0.875, 12.5, 90)
    assert done["done"] and not failed["done"] and done["used"] and failed["used"]
    assert (failed["error_type"], failed["error_message"]) == ("TimeLimit", "stopped after 60 s")
    assert failed["seconds"] == 60 and math.isnan(failed["log_density"])


@pytest.mark.parametrize("value", ["null", '"low"', "true", "NaN", "-Infinity", "1" + 400 * "0"])
def test_what_is_no_finite_number_is_missing(tmp_path, value):
    write(tmp_path, record("a", 0, "gp", -1.5, elbo=-0.25), sealed=False)
    (path,) = (tmp_path / "records").iterdir()
    path.write_text(path.read_text().replace("-0.25", value))
    trial = read(tmp_path).trials.iloc[0]
    assert math.isnan(trial["elbo"]) and trial["log_density"] == -1.5


def test_damaged_files_are_counted_and_the_others_read(tmp_path):
    write(tmp_path, record("a", 0, "gp", -1.0), sealed=False)
    folder = tmp_path / "records"
    (path,) = folder.iterdir()
    whole, key = path.read_text(), json.loads(path.read_text())["key"]
    damaged = {
        "cut": whole[:100],
        "empty": "",
        "list": "[1, 2]",
        "nothing": "{}",
        "status": whole.replace('"done"', '"underway"'),
        "split": whole.replace('"split": 0', '"split": 1'),
        "metrics": whole.replace('"metrics"', '"numbers"'),
        "deep": 100_000 * "[",
    }
    for name, text in damaged.items():
        assert text != whole
        (folder / f"{name}-{key}.json").write_text(text)
    (folder / f"binary-{key}.json").write_bytes(b"\xff\xfe\x00")
    (folder / "other-key.json").write_text(whole)
    (folder / "folder.json").mkdir()
    (folder / f"trial-{key}.json.part").write_text("{")
    records = read(tmp_path)
    assert len(records.trials) == 1
    why = records.damaged
    assert why.pop("folder.json") == "is a folder, where the record of a trial should be"
    names = {f"{name}-{key}.json" for name in (*damaged, "binary")} | {"other-key.json"}
    assert why == dict.fromkeys(names, "is not a complete record of a trial")


@pytest.mark.parametrize(
    "name, changes",
    [("split", {"split": "first"}), ("seed", {"seed": True}), ("name", {"budget": {"steps": 1}})],
)
def test_whole_records_that_say_something_else_are_damaged_too(tmp_path, name, changes):
    """Their keys are right: whoever wrote them meant something else."""
    write(
        tmp_path,
        record("a", 0, "gp", -1.0),
        record(**{"dataset": "a", "split": 1, "method": "gp", "log_density": -1.0, **changes}),
    )
    records = read(tmp_path)
    assert len(records.trials) == 1
    assert list(records.damaged.values()) == [f"has no {name!r} of the type that a record has"]


def test_the_newest_record_of_a_trial_is_used(tmp_path):
    write(
        tmp_path,
        # In another time zone: half past ten in UTC.
        record("a", 0, "gp", -3.0, version="1.1", started="2026-01-01T12:30:00+02:00"),
        record("a", 0, "gp", -2.0, version="1.2", started="2026-01-01T11:00:00+00:00"),
        record("a", 0, "gp", -1.0, version="1.0", started="yesterday"),
        record("a", 1, "gp", -4.0),
        record("a", 0, "gp", -5.0, seed=1),
    )
    trials = read(tmp_path).trials
    assert sorted(trials[trials["used"]]["log_density"]) == [-5, -4, -2]
    assert sorted(trials[~trials["used"]]["version"]) == ["1.0", "1.1"]


def test_budgets_of_one_name_are_told_apart(tmp_path):
    more = {**QUICK, "steps": 900}
    write(
        tmp_path,
        record("a", 0, "gp", -1.0),
        record("a", 0, "gp", -2.0, budget=more),
        record("a", 0, "gp", -3.0, budget={"name": "paper", "steps": 20000}),
    )
    trials = read(tmp_path).trials
    assert trials["used"].all()
    assert dict(zip(trials["budget"], trials["log_density"], strict=True)) == {
        "quick (steps=500)": -1.0,
        "quick (steps=900)": -2.0,
        "paper": -3.0,
    }


def test_data_of_one_name_are_told_apart(tmp_path):
    """UCI's data keep the plain name."""
    uci = UCI_SETS["yacht"].sha256
    of_other_target = record("mine", 0, "gp", -6.0, sha256="222222222223")
    of_other_target["data"]["target"] = "z"
    write(
        tmp_path,
        record("yacht", 0, "gp", -1.0, sha256=uci),
        record("yacht", 0, "gp", -2.0, sha256="0123456789ab"),
        record("mine", 0, "gp", -3.0, sha256="111111111111"),
        record("mine", 0, "gp", -4.0, sha256="222222222222"),
        of_other_target,
        record("other", 0, "gp", -5.0, sha256="333333333333"),
    )
    trials = read(tmp_path).trials
    assert trials["used"].all()
    assert dict(zip(trials["dataset"], trials["log_density"], strict=True)) == {
        "yacht": -1.0,
        "yacht (y, 01234567)": -2.0,
        "mine (y, 11111111)": -3.0,
        "mine (y, 22222222)": -4.0,
        "mine (z, 22222222)": -6.0,
        "other": -5.0,
    }
    assert list(trials.loc[trials["uci"], "dataset"]) == ["yacht"]


def test_folders_without_records(tmp_path):
    with pytest.raises(RecordsError, match="there is no such folder"):
        read(tmp_path / "nothing")
    with pytest.raises(RecordsError, match="holds no records of trials"):
        read(tmp_path)
    (tmp_path / "records").mkdir()
    with pytest.raises(RecordsError, match="holds no records of trials"):
        read(tmp_path)
    (tmp_path / "records" / "cut.json").write_text("{")
    with pytest.raises(
        RecordsError, match=r"none of 1 files .* cut\.json is not a complete record"
    ):
        read(tmp_path)
