"""Repairs: never counted beside their original, compared with it only where that means something."""

import json
from itertools import permutations

import pytest
from native_trees import ABSENT, Export, write_run

LINEAGE = [{"source_kind": "canonical"}, {"source_kind": "repair"}]


def repair(original="orig", **values):
    overlay = {"rerun_of_canonical_run": original, "task_lineage": LINEAGE} | values
    return {"repair_overlay": overlay, "repetition": 2}


def sensitivity(root):
    out = Export(root)
    return out, {row["run_path"]: row for row in out.table("repair_overlay_sensitivity")}


def test_a_repair_of_an_eligible_run_is_excluded_and_compared(tmp_path):
    write_run(tmp_path, "orig", {"a": 1.0, "b": 0.25})
    write_run(tmp_path, "repaired", {"a": 1.0, "b": 1.0}, **repair())
    out, rows = sensitivity(tmp_path)
    assert (out.runs["jobs/orig"]["eligible"], out.runs["jobs/repaired"]["eligible"]) == ("True", "False")
    assert out.runs["jobs/repaired"]["exclusion_reasons"] == "repair_of_eligible_run"
    row = rows["jobs/repaired"]
    assert {name: row[name] for name in list(row)[3:14]} == {
        "original_run_label": "orig", "expected_task_count": "2", "original_task_count": "1", "repaired_task_count": "1",
        "unknown_source_task_count": "0", "original_result_count": "2", "repaired_result_count": "2",
        "original_score": "0.625", "repaired_score": "1.0", "score_delta": "0.375", "delta_status": "available",
    }  # fmt: skip
    assert row["original_run_path"] == "jobs/orig"
    document = json.loads((out.folder / "repair_overlay_sensitivity.json").read_bytes())
    assert (document["schema_version"], document["overlay_run_count"]) == (1, 1)
    assert document["runs"][0]["score_delta"] == 0.375
    assert out.json["repair_overlay_sensitivity"] == document


@pytest.mark.parametrize(
    ("original", "overlay", "status", "repair_eligible"),
    [
        ({}, {"rerun_of_canonical_run": ""}, "original_label_unavailable", True),
        ({}, {"rerun_of_canonical_run": "elsewhere"}, "original_unavailable", True),
        ({}, {"rerun_of_canonical_run": "repaired"}, "original_is_itself", True),
        ({"leaderboard_eligible": False}, {}, "original_not_eligible", True),
        ({"public_tasks_commit": "rev2"}, {}, "dataset_mismatch", False),
        ({"tasks": ("a", "c")}, {}, "dataset_mismatch", False),
        ({"tasks": ("a", "b", "c")}, {}, "task_count_mismatch", False),
    ],
)
def test_a_delta_needs_an_eligible_original_of_the_same_dataset(tmp_path, original, overlay, status, repair_eligible):
    write_run(tmp_path, "orig", **original)
    write_run(tmp_path, "repaired", **repair(**overlay))
    out, rows = sensitivity(tmp_path)
    row = rows["jobs/repaired"]
    assert (row["delta_status"], row["score_delta"], row["original_score"]) == (status, "", "")
    assert (out.runs["jobs/repaired"]["eligible"] == "True") is repair_eligible


def test_an_ambiguous_original_is_said_and_the_repair_does_not_count_beside_it(tmp_path):
    write_run(tmp_path, "one", run_label="orig")
    write_run(tmp_path, "two", run_label="orig", repetition=3)
    write_run(tmp_path, "repaired", **repair())
    out, rows = sensitivity(tmp_path)
    assert rows["jobs/repaired"]["delta_status"] == "original_ambiguous"
    assert out.runs["jobs/repaired"]["exclusion_reason"] == "repair_of_eligible_run"


@pytest.mark.parametrize("names", list(permutations(["x", "y", "z"])))
def test_in_a_chain_only_the_first_run_that_counts_stays(tmp_path, names):
    first, second, third = names  # the order of the folders must not matter
    write_run(tmp_path, first)
    write_run(tmp_path, second, **repair(first))
    write_run(tmp_path, third, **repair(second))
    out, rows = sensitivity(tmp_path)
    eligible = {path for path, row in out.runs.items() if row["eligible"] == "True"}
    assert eligible == {f"jobs/{first}"}
    assert rows[f"jobs/{second}"]["delta_status"] == "available"
    assert rows[f"jobs/{third}"]["delta_status"] == "original_not_eligible"


def test_a_repair_of_a_broken_repair_still_descends_from_the_run_that_counts(tmp_path):
    write_run(tmp_path, "orig")
    write_run(tmp_path, "middle", {"a": 1.0}, **repair("orig"))
    write_run(tmp_path, "last", **repair("middle"))
    out, _ = sensitivity(tmp_path)
    assert out.runs["jobs/last"]["exclusion_reasons"] == "repair_of_eligible_run"


@pytest.mark.parametrize(
    ("values", "counts", "finding"),
    [
        (repair(), ("1", "1", "0"), False),
        (repair(task_lineage=[*LINEAGE, {"source_kind": "alien"}, 5]), ("1", "1", "2"), True),
        (repair(task_lineage=LINEAGE[:1]), ("1", "0", "0"), True),
        (repair(task_lineage=[], repair_task_names=["b", "b"]), ("1", "1", "0"), False),
        (repair(task_lineage=None), ("0", "0", "2"), False),
        (repair(task_lineage=[]), ("0", "0", "2"), False),
        ({"repair_task_names": ["b", "b"], "rerun_of_canonical_run": "orig"}, ("1", "1", "0"), False),
        ({"repair_task_names": ["b", "c", "d"], "rerun_of_canonical_run": "orig"}, ("0", "3", "0"), True),
    ],
)
def test_the_lineage_tells_where_each_task_comes_from(tmp_path, values, counts, finding):
    write_run(tmp_path, "orig")
    write_run(tmp_path, "repaired", **values)
    out, rows = sensitivity(tmp_path)
    row = rows["jobs/repaired"]
    names = ("original_task_count", "repaired_task_count", "unknown_source_task_count")
    assert tuple(row[name] for name in names) == counts
    assert ("repair_lineage_mismatch" in out.codes("jobs/repaired")) is finding
    assert "repair_overlay" in out.codes("jobs/repaired")


@pytest.mark.parametrize(
    "values", [{"rerun_of_canonical_run": "orig"}, {"repair_task_names": []}, {"repair_overlay": None}, {"repair_overlay": ABSENT}]
)  # fmt: skip
def test_what_is_no_repair(tmp_path, values):
    write_run(tmp_path, "orig")
    write_run(tmp_path, "other", repetition=2, **values)
    out, rows = sensitivity(tmp_path)
    assert rows == {}
    assert out.runs["jobs/other"]["eligible"] == "True"
