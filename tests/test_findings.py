"""Findings: every code is emitted by something, every kind that native runs can give is given here."""

import ast
import os
from functools import cache
from pathlib import Path

import pytest
from native_trees import Export, failure, result, write, write_run

import shellbench_lib
from shellbench_lib.findings import FINDING_KINDS, Finding, ordered
from shellbench_lib.params import Override

LIBRARY = Path(shellbench_lib.__file__).parent


@cache
def texts():
    """Every string constant of the library outside the table of kinds."""
    found = set()
    for path in LIBRARY.rglob("*.py"):
        if path.name != "findings.py":
            tree = ast.parse(path.read_text(encoding="utf-8"))
            found |= {
                node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)
            }
    return found


@pytest.mark.parametrize("code", FINDING_KINDS)
def test_no_code_is_in_the_table_that_nothing_emits(code):
    assert code in texts()


def test_the_most_serious_come_first_and_repeats_go():
    note, error, warning = Finding("lenient_json"), Finding("missing_task", "b"), Finding("missing_reward", "a")
    earlier = Finding("missing_task", "a", "z")
    assert ordered([note, warning, error, note, earlier]) == [earlier, error, warning, note]


def test_a_finding_takes_its_severity_from_its_kind():
    assert [Finding(code).severity for code in ("missing_task", "missing_reward", "lenient_json")] == [
        "error", "warning", "note",
    ]  # fmt: skip


def trials(**values):
    return {"trials": {"a": result("a", **values), "b": 1.0}}


NATIVE = {
    "malformed_result": {"trials": {"a": "{", "b": 1.0}},
    "lenient_json": {"trials": {"a": '\ufeff{"task_id": {"path": "suite/a"}}', "b": 1.0}},
    "text_repaired": trials(trial_name="\udc80"),
    "missing_task": {"trials": {"a": 1.0}},
    "duplicate_result": {"trials": {"a": 1.0, "a__2": 1.0, "b": 1.0}},
    "unexpected_result": {"trials": {"a": 1.0, "zz": 1.0, "b": 1.0}},
    "duplicate_expected_task": {"tasks": ["suite/a", "suite/a"]},
    "expected_count_mismatch": {"expected_task_count": 3},
    "unreadable_number": {"expected_task_count": "many"},
    "missing_name": {"tasks": ["suite/a", 5]},
    "unfinished_result": trials(finished_at=None),
    "malformed_exception": trials(exception_info="text"),
    "unknown_execution_outcome": trials(execution_outcome={"kind": "strange"}),
    "missing_reward": trials(reward=None),
    "reward_not_a_number": trials(reward=True),
    "reward_from_text": trials(reward="1.0"),
    "reward_out_of_range": trials(reward=2),
    "reward_not_scored": trials(**failure("DockerStartupError")),
    "reward_key_absent": trials(verifier_result={"rewards": {"score": 1}}),
    "unreadable_time": trials(started_at="yesterday"),
    "mixed_time_zones": trials(started_at="2026-01-01T00:00:00"),
    "negative_duration": trials(started_at="2027-01-01T00:00:00Z"),
    "negative_value": trials(agent_result={"cost_usd": -1}),
    "run_excluded": {"leaderboard_eligible": False},
    "nothing_eligible": {"leaderboard_eligible": False},
    "unreadable_repetition": {"repetition": "x"},
    "unknown_effort": {"reasoning_effort": "extreme"},
    "repair_lineage_mismatch": {"repair_overlay": {"task_lineage": [{}]}},
    "repair_overlay": {"repair_overlay": {}},
    "unreadable_eligibility": {"leaderboard_eligible": "maybe"},
}


@pytest.mark.parametrize(("code", "values"), NATIVE.items())
def test_one_run_gives_the_finding_and_a_clean_one_does_not(tmp_path, code, values):
    write_run(tmp_path, "clean")
    values = {"trials": {"a": 1.0, "b": 1.0}} | values
    write_run(tmp_path, "run", values.pop("trials"), repetition=values.pop("repetition", 2), **values)
    if code == "nothing_eligible":
        write(tmp_path / "jobs/clean/run_manifest.json", {"leaderboard_eligible": False})
    out = Export(tmp_path)
    rows = [row for row in out.findings if row["code"] == code]
    assert rows
    assert {row["severity"] for row in rows} == {FINDING_KINDS[code].severity}
    assert {row["run_path"] for row in rows} <= {"jobs/run", ""} or code in {"run_excluded", "nothing_eligible"}
    assert all(row["message"] and row["field"] for row in rows)


def build_folders(root):
    folder = write_run(root, "run")
    write_run(root, "copy", run_label="run", tool_mode="code")
    write_run(root, "twin", {"a": result("a", 0.25, id=None), "b": 1.0}, tool_mode="x", public_tasks_commit="rev2")
    for name in ("one", "two"):
        write_run(root, name, {"a": result("a", id="1"), "b": result("b", id="2")}, repetition=5)
    (folder / "logs").mkdir()
    (folder / "loop").symlink_to(folder)
    write(folder / "a/verifier/scorecard.json", "{")
    write(folder / "a__9/config.json", {"task": {"path": "suite/a"}})
    write(root / "jobs/bad/run_manifest.json", "{")
    (root / "jobs/none").mkdir()


def test_a_matrix_gives_the_findings_about_folders_and_runs_together(tmp_path):
    build_folders(tmp_path)
    out = Export(tmp_path, overrides=(Override(match="never", set={"harness": "x"}),))
    assert {
        "malformed_manifest", "malformed_scorecard", "symlink_not_followed", "not_a_trial", "not_a_run",
        "unfinished_trial", "duplicate_run", "duplicate_run_label", "duplicate_repetition", "mixed_condition",
        "several_datasets", "override_unused",
    } <= out.codes()  # fmt: skip


def test_a_folder_that_cannot_be_listed_costs_its_own_run(tmp_path, monkeypatch):
    write_run(tmp_path, "sound")
    write_run(tmp_path, "locked", repetition=2)
    scandir = os.scandir

    def refuse(path):
        if Path(path).name == "locked":
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    out = Export(tmp_path)
    assert "unreadable_directory" in out.codes()
    assert {path: row["eligible"] for path, row in out.runs.items()} == {"jobs/locked": "False", "jobs/sound": "True"}
