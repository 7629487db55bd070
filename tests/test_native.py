"""Native runs on disk: what is a run, what is a trial, which key says what, and what hostile folders do."""

import json
import os
import threading

import pytest
from native_trees import ABSENT, Export, graded, manifest, read, result, write, write_run

from shellbench_lib.conditions import task_set_digest
from shellbench_lib.errors import InputError
from shellbench_lib.params import Override
from shellbench_lib.sources import SourceSettings, read_matrix


def one(root, **settings):
    (run,) = read(root, **settings).runs
    return run


def codes(matrix):
    return [found.code for found in matrix.findings]


@pytest.mark.parametrize(("given", "expected"), [("", "jobs/r1"), ("jobs", "r1"), ("jobs/r1", "r1")])
def test_a_matrix_is_the_folder_above_jobs_or_jobs_or_one_run(tmp_path, given, expected):
    write_run(tmp_path)
    matrix = read(tmp_path / given)
    assert (matrix.kind, [run.run_path for run in matrix.runs]) == ("native", [expected])
    assert [trial.task_path for trial in matrix.runs[0].trials] == ["suite/a", "suite/b"]


def test_runs_beside_a_jobs_folder_without_runs_are_found(tmp_path):
    (tmp_path / "jobs").mkdir()
    write_run(tmp_path, jobs=".")
    assert [run.run_path for run in read(tmp_path).runs] == ["r1"]


def test_an_empty_and_an_unrecognised_folder_are_errors_that_say_what_was_looked_for(tmp_path):
    with pytest.raises(InputError, match=r"is empty; looked for native ShellBench runs"):
        read(tmp_path)
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(InputError, match=r"nothing recognised in .*Harbor job directories"):
        read(tmp_path)
    with pytest.raises(InputError, match=r"nowhere is not a folder"):
        read(tmp_path / "nowhere")


def test_a_folder_without_a_manifest_is_skipped_and_said(tmp_path):
    write_run(tmp_path)
    write(tmp_path / "jobs/stray/t__a/result.json", result("t"))
    write(tmp_path / "jobs/README", "text")
    matrix = read(tmp_path)
    assert [run.run_path for run in matrix.runs] == ["jobs/r1"]
    assert [(found.code, found.run_path) for found in matrix.findings] == [("not_a_run", "jobs/stray")]


def test_job_files_and_foreign_folders_are_no_trials(tmp_path):
    folder = write_run(tmp_path)
    write(folder / "result.json", {"id": "x", "stats": {"n_completed_trials": 2}, "n_total_trials": 2})
    (folder / "logs").mkdir()
    (folder / ".cache").mkdir()
    (folder / "loop").symlink_to(folder)
    matrix = read(tmp_path)
    assert [trial.directory for trial in matrix.runs[0].trials] == ["a", "b"]
    assert sorted((found.code, found.task) for found in matrix.findings) == [
        ("not_a_trial", ".cache"),
        ("not_a_trial", "logs"),
        ("symlink_not_followed", ""),
    ]


@pytest.mark.parametrize("name", ["a", "a__Zq3", "fix-a-very-long-task-name-of-mor__x"])
def test_a_trial_directory_without_a_result_is_an_unfinished_trial_of_its_expected_task(tmp_path, name):
    folder = write_run(tmp_path, trials={"b": 1.0}, tasks=("a", "b", "fix-a-very-long-task-name-of-more-than-32"))
    (folder / name).mkdir()
    matrix = read(tmp_path)
    assert [(trial.directory, trial.result_state) for trial in matrix.runs[0].trials if trial.directory != "b"] == [
        (name, "missing")
    ]
    assert codes(matrix) == ["unfinished_trial"]


def test_a_planned_trial_without_a_result_takes_its_task_from_its_own_config(tmp_path):
    folder = write_run(tmp_path, trials={"b": 1.0})
    write(folder / "odd-name/config.json", {"task": {"path": "suite\\a"}})
    run = one(tmp_path)
    assert [trial.task_path for trial in run.trials] == ["suite/b", "suite/a"]


LINKS = ["trial", "result", "scorecard", "run", "jobs"]


@pytest.mark.parametrize("kind", LINKS)
def test_links_out_of_the_matrix_are_not_followed(tmp_path, kind):
    matrix, secret = tmp_path / "matrix", tmp_path / "secret"
    folder = write_run(matrix)
    write(secret / "result.json", result("a", 0.25, trial_name="SECRET"))
    write(secret / "scorecard.json", {"status": "infra_error", "reason": "SECRET"})
    write_run(secret, "SECRET")
    if kind == "trial":
        (folder / "c").symlink_to(secret)
    elif kind == "result":
        (folder / "a/result.json").unlink()
        (folder / "a/result.json").symlink_to(secret / "result.json")
    elif kind == "scorecard":
        (folder / "a/verifier").symlink_to(secret)
    elif kind == "run":
        (matrix / "jobs/r2").symlink_to(secret / "jobs/SECRET")
    else:
        (matrix / "jobs").rename(tmp_path / "elsewhere")
        (matrix / "jobs").symlink_to(tmp_path / "elsewhere")
        with pytest.raises(InputError, match="nothing recognised"):
            read(matrix)
        return
    found = read(matrix)
    assert len(found.runs) == 1
    assert "SECRET" not in repr(found)
    expected = {"trial": "symlink_not_followed", "run": "symlink_not_followed", "result": "malformed_result"}
    assert expected.get(kind, "malformed_scorecard") in codes(found)


def test_a_link_inside_the_matrix_is_read_and_the_copy_is_one_run(tmp_path):
    write_run(tmp_path)
    (tmp_path / "jobs/r2").symlink_to(tmp_path / "jobs/r1")
    out = Export(tmp_path)
    assert out.runs["jobs/r1"]["eligible"] == "True"
    assert out.runs["jobs/r2"]["exclusion_reason"] == "duplicate_run"


UNREADABLE = {
    "text": "not json",
    "list": "[1]",
    "number": "3",
    "empty": "",
    "cut": '{"task_name": "a", ',
    "deep": "[" * 20000,
    "latin1": '{"task_name": "é"}'.encode("latin-1"),
}


@pytest.mark.parametrize("kind", [*UNREADABLE, "directory", "fifo", "huge", "dangling", "loop"])
@pytest.mark.parametrize("name", ["result.json", "run_manifest.json", "verifier/scorecard.json", "config.json"])
def test_a_broken_file_costs_its_own_trial_or_run_only(tmp_path, kind, name):
    folder = write_run(tmp_path)
    write_run(tmp_path, "sound")
    path = folder / name if name == "run_manifest.json" else folder / "a" / name
    if path.exists():
        path.unlink()
    break_file(path, kind)
    timer = threading.Timer(20, os._exit, [1])
    timer.start()
    out = Export(tmp_path)
    timer.cancel()
    assert out.runs["jobs/sound"]["eligible"] == "True"
    run = out.runs.get("jobs/r1")
    if name == "run_manifest.json":
        if run is None:  # a link that leads nowhere names no manifest at all
            assert kind in {"dangling", "loop"}
            assert "not_a_run" in out.codes("jobs/r1")
            return
        assert (run["eligible"], run["exclusion_reason"]) == ("False", "invalid_manifest")
        assert "malformed_manifest" in out.codes("jobs/r1")
    elif name == "result.json":
        assert (run["eligible"], run["exclusion_reason"]) == ("False", "incomplete")
        (row,) = out.of("jobs/r1", "a")
        assert (row["exception_type"], row["reward"]) == ("InvalidResultError", "")
        (other,) = out.of("jobs/r1", "b")
        assert other["reward"] == "1.0"
        assert "malformed_result" in out.codes("jobs/r1")
    else:
        assert run["eligible"] == "True"
        assert ("malformed_scorecard" in out.codes()) == (name == "verifier/scorecard.json")


def break_file(path, kind):
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "directory":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "huge":
        with path.open("wb") as stream:
            stream.truncate(200 * 2**20)
    elif kind == "dangling":
        path.symlink_to("nowhere")
    elif kind == "loop":
        path.symlink_to(path.name)
    else:
        write(path, UNREADABLE[kind])


@pytest.mark.parametrize(
    ("content", "reward"),
    [
        (b"\xef\xbb\xbf" + json.dumps(result("a", 0.5)).encode(), 0.5),
        (json.dumps(result("a", 0.5)).encode("utf-16"), 0.5),
        (json.dumps(result("a", 0.5, extra=float("nan"))), 0.5),
        (json.dumps(result("a", 0.5))[:-1] + ', "extra": 1e999}', 0.5),
        (json.dumps(result("a", 0.5)).replace('"reward": 0.5', '"reward": 0.25, "reward": 0.5'), 0.5),
    ],
    ids=["byte-order mark", "utf-16", "NaN", "1e999", "repeated key: the last wins"],
)
def test_what_the_fast_reader_refuses_is_read_once_more(tmp_path, content, reward):
    write_run(tmp_path, trials={"a": content, "b": 1.0})
    run = one(tmp_path)
    assert [trial.recorded_reward for trial in run.trials] == [reward, 1.0]


def test_a_lone_surrogate_becomes_the_replacement_character_with_a_finding(tmp_path):
    text = json.dumps(result("a", trial_name="bad\udc80name"))
    write_run(tmp_path, trials={"a": text, "b": 1.0})
    matrix = read(tmp_path)
    assert matrix.runs[0].trials[0].trial_name == "bad\ufffdname"
    assert "text_repaired" in codes(matrix)


def test_names_that_are_no_utf8_stay_apart(tmp_path):
    write_run(tmp_path)
    for byte in (b"\xfe", b"\xff"):
        (tmp_path / "jobs/r1").rename(tmp_path / "jobs" / os.fsdecode(b"r" + byte))
        write_run(tmp_path)
    paths = [run.run_path for run in read(tmp_path).runs]
    assert len(set(paths)) == 3
    assert all(path.encode("utf-8") for path in paths)


# Keys and aliases


@pytest.mark.parametrize("key", ["repetition", "repetition_index", "repeat", "repeat_index"])
@pytest.mark.parametrize(
    ("value", "expected"),
    [(0, 0), (3, 3), ("2", 2), (2.0, 2), (True, None), ("x", None), (1.5, None), ([1], None), (1e30, None)],
)
def test_the_repetition_is_the_first_alias_and_zero_is_a_value(tmp_path, key, value, expected):
    write_run(tmp_path, "run-r7", **{"repetition": ABSENT, key: value})
    matrix = read(tmp_path)
    assert matrix.runs[0].repetition == expected
    assert ("unreadable_repetition" in codes(matrix)) == (expected is None)


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("x-r3", 3), ("x_rep12", 12), ("x-Repeat-2", 2), ("repetition_4", 4), ("r9", 9), ("x-r1-20260729", None),
        ("xr3", None), ("x-r3-rerun1", None), ("openclaw-deepseek-r1", None), ("x-r" + "9" * 30, None),
        ("openclaw-deepseek-r1-r2", 2),
    ],
)  # fmt: skip
def test_without_a_key_the_label_gives_the_repetition(tmp_path, label, expected):
    write_run(tmp_path, repetition=ABSENT, run_label=label, model_slug="deepseek-r1")
    assert one(tmp_path).repetition == expected


@pytest.mark.parametrize("key", ["pair_label", "pair_name", "comparison_pair", "base_label", "pair"])
@pytest.mark.parametrize("value", ["P", {"label": "P"}, {"label": "", "name": "P"}, {"id": "P", "label": None}])
def test_the_pair_label_is_the_first_alias_that_says_something(tmp_path, key, value):
    write_run(tmp_path, **{"pair_label": "", key: value})
    assert graded(tmp_path)[0].pair_label == "P"


@pytest.mark.parametrize(
    ("harness", "slug", "label", "expected"),
    [
        ("openclaw", "m1", "x-r1", "openclaw-m1"),
        ("openclaw", "deepseek-r1", "x-r1", "openclaw-deepseek-r1"),
        (ABSENT, "m1", "x-r1", "x"),
        ("openclaw", "", "x_rep-2", "x"),
        (ABSENT, "deepseek-r1", "openclaw-deepseek-r1", "openclaw-deepseek-r1"),
        (ABSENT, ABSENT, "r1", "r1"),
        (ABSENT, ABSENT, "x-r1-20260729", "x-r1-20260729"),
    ],
)
@pytest.mark.parametrize("effort", ["high", "", ABSENT])
def test_the_derived_pair_label_never_holds_the_effort(tmp_path, harness, slug, label, expected, effort):
    write_run(tmp_path, harness=harness, model_slug=slug, run_label=label, reasoning_effort=effort)
    assert graded(tmp_path)[0].pair_label == expected


@pytest.mark.parametrize(
    ("values", "count", "tasks", "code"),
    [
        ({}, 2, 2, ""),
        ({"expected_task_count": ABSENT}, 2, 2, ""),
        ({"expected_task_count": ABSENT, "task_count": 2}, 2, 2, ""),
        ({"expected_task_count": "", "n_tasks": "2"}, 2, 2, ""),
        ({"expected_task_count": 3}, 3, 2, "expected_count_mismatch"),
        ({"expected_task_count": -1}, 2, 2, "unreadable_number"),
        ({"expected_task_count": "many"}, 2, 2, "unreadable_number"),
        ({"expected_task_count": True}, 2, 2, "unreadable_number"),
        ({"expected_task_count": 10**12}, 10**12, 2, "expected_count_mismatch"),
        ({"expected_task_count": 0}, 0, 2, "expected_count_mismatch"),
    ],
)
def test_the_expected_count_is_declared_or_the_length_of_the_list(tmp_path, values, count, tasks, code):
    write_run(tmp_path, **values)
    matrix = read(tmp_path)
    run = matrix.runs[0]
    assert (run.expected_task_count, len(run.expected_tasks)) == (count, tasks)
    assert codes(matrix) == ([code] if code else [])


def test_the_parameter_gives_a_count_only_where_the_manifest_gives_none(tmp_path):
    folder = write_run(tmp_path)
    write(folder / "run_manifest.json", {"harness": "h"})
    assert one(tmp_path, expected_task_count=5).expected_task_count == 5
    write(folder / "run_manifest.json", {"harness": "h", "n_tasks": 4})
    assert one(tmp_path, expected_task_count=5).expected_task_count == 4


@pytest.mark.parametrize("key", ["tasks", "expected_tasks", "task_paths"])
@pytest.mark.parametrize(
    "item",
    ["suite/a", "suite\\a", {"path": "suite/a"}, {"task_path": "suite/a/"}, {"path": {"path": "suite/a"}, "name": "a"}],
)
def test_an_expected_task_is_a_path_in_any_of_its_forms(tmp_path, key, item):
    folder = write_run(tmp_path)
    write(folder / "run_manifest.json", manifest() | {"tasks": [], key: [item, 5, {}, None]})
    matrix = read(tmp_path)
    assert [task.path for task in matrix.runs[0].expected_tasks] == ["suite/a"]
    assert "missing_name" in codes(matrix)


def test_a_task_that_is_listed_twice_is_one_task_and_a_finding(tmp_path):
    write_run(tmp_path, tasks=["suite/a", "suite/a"], expected_task_count=1, trials={"a": 1.0})
    run, findings = graded(tmp_path)
    assert (len(run.record.expected_tasks), run.eligible) == (1, True)
    assert [found.code for found in findings] == ["duplicate_expected_task"]


@pytest.mark.parametrize(
    "prefix", ["/home/someone/suite", "C:\\Users\\someone\\suite", "~/suite", "file:///srv/someone"]
)
def test_a_machine_path_of_a_task_never_shows(tmp_path, prefix):
    sep = "\\" if "\\" in prefix else "/"
    paths = [f"{prefix}{sep}one{sep}x", f"{prefix}{sep}two{sep}x", f"{prefix}{sep}y"]
    trials = {name: result(task_id={"path": path}, trial_name=name) for name, path in zip("pqr", paths, strict=True)}
    write_run(tmp_path, tasks=[{"path": path} for path in paths], harness="h", trials=trials)
    out = Export(tmp_path)
    assert out.runs["jobs/r1"]["eligible"] == "True"
    assert sorted((row["task_name"], row["task_path"]) for row in out.tasks) == [
        ("one/x", "one/x"), ("two/x", "two/x"), ("y", "y"),
    ]  # fmt: skip
    assert all(b"someone" not in data for data in out.files().values())
    assert out.runs["jobs/r1"]["task_set_sha256"] == task_set_digest(["one/x", "two/x", "y"])


def test_absolute_trial_paths_meet_a_relative_task_list(tmp_path):
    trials = {"p": result(task_id={"path": "/tmp/copy/suite/a"}), "q": result(task_id={"path": "/elsewhere/b"})}
    write_run(tmp_path, trials=trials)
    run, findings = graded(tmp_path)
    assert [row.task_path for row in run.rows] == ["suite/a", "suite/b"]
    assert (run.eligible, findings) == (True, [])


CONDITION = {
    "harness": "harness", "harness_version": "harness_version", "openclaw_tool_mode": "tool_mode", "tool_mode": "tool_mode",
    "model_slug": "model_slug", "model_id": "model_id", "provider_model_id": "model_id", "model_provider": "model_provider",
    "reasoning_effort": "reasoning_effort", "judge_model_id": "judge_model_id",
    "judge_reasoning_effort": "judge_reasoning_effort", "public_tasks_commit": "task_revision", "task_suite": "task_suite",
}  # fmt: skip


@pytest.mark.parametrize(("key", "name"), CONDITION.items())
def test_each_condition_field_comes_from_its_own_key(tmp_path, key, name):
    folder = write_run(tmp_path)
    write(folder / "run_manifest.json", {key: "only this"})
    condition = one(tmp_path).condition
    assert {field for field in condition.__slots__ if getattr(condition, field)} == {name}


def test_the_tool_mode_stands_in_the_job_configuration_where_the_manifest_has_none(tmp_path):
    folder = write_run(tmp_path)
    write(folder / "config.json", {"native_run": {"openclaw_tool_mode": "code"}})
    assert one(tmp_path).condition.tool_mode == "code"


@pytest.mark.parametrize("value", [False, "false", "False", 0, "no", "0"])
def test_an_exclusion_counts_in_any_spelling(tmp_path, value):
    write_run(tmp_path, leaderboard_eligible=value)
    run, findings = graded(tmp_path)
    assert (run.exclusion_reasons, findings) == (["explicitly_excluded"], [])


@pytest.mark.parametrize("value", [None, "", True, "true", 1, "yes", ABSENT])
def test_what_does_not_exclude(tmp_path, value):
    write_run(tmp_path, leaderboard_eligible=value)
    assert graded(tmp_path)[0].eligible


@pytest.mark.parametrize("value", ["maybe", [], {}, 2, "nein"])
def test_an_eligibility_that_is_neither_is_not_eligible_and_said(tmp_path, value):
    write_run(tmp_path, leaderboard_eligible=value)
    run, findings = graded(tmp_path)
    assert not run.eligible
    assert [found.code for found in findings] == ["unreadable_eligibility"]


@pytest.mark.parametrize(
    ("agent_result", "expected"),
    [
        ({"n_input_tokens": 5, "input_tokens": 6}, 5),
        ({"n_input_tokens": None, "input_tokens": "6"}, 6),
        ({"n_input_tokens": True, "input_tokens": 6}, 6),
        ({"n_input_tokens": "NaN", "input_tokens": float("inf")}, None),
        ({"n_input_tokens": 0}, 0),
        ({}, None),
    ],
)
def test_tokens_are_the_first_alias_that_is_a_number(tmp_path, agent_result, expected):
    write_run(tmp_path, trials={"a": result(agent_result=agent_result)}, tasks=("a",))
    assert one(tmp_path).trials[0].n_input_tokens == expected


@pytest.mark.parametrize("key", ["cost_usd", "estimated_cost_usd", "total_cost_usd"])
def test_a_negative_cost_is_unknown_and_said(tmp_path, key):
    write_run(tmp_path, trials={"a": result(agent_result={key: -0.5})}, tasks=("a",))
    matrix = read(tmp_path)
    assert matrix.runs[0].trials[0].cost_usd is None
    assert [(found.code, found.field) for found in matrix.findings] == [("negative_value", "cost_usd")]


def test_only_the_declared_reward_key_is_read(tmp_path):
    write_run(tmp_path, trials={"a": result(verifier_result={"rewards": {"score": 0.5, "overall": 1}})}, tasks=("a",))
    matrix = read(tmp_path)
    assert matrix.runs[0].trials[0].recorded_reward is None
    (finding,) = matrix.findings
    assert (finding.code, finding.message) == ("reward_key_absent", "absent; keys present: overall, score")
    assert one(tmp_path, reward_key="score").trials[0].recorded_reward == 0.5


def test_overrides_apply_to_the_run_paths_that_they_match(tmp_path):
    write_run(tmp_path, "one")
    write_run(tmp_path, "two")
    matrix = read(
        tmp_path,
        overrides=(
            Override(match="jobs/one", set={"harness": "other"}),
            Override(match="jobs/three", set={"harness": "never"}),
        ),
    )
    assert [run.condition.harness for run in matrix.runs] == ["other", "openclaw"]
    assert codes(matrix) == ["override_unused"]


@pytest.mark.parametrize("info", ["gateway", [1], {}, {"exception_type": None}, 5, False])
def test_an_exception_of_another_shape_is_flagged_and_never_ignored(tmp_path, info):
    write_run(tmp_path, trials={"a": result(exception_info=info)}, tasks=("a",))
    run, findings = graded(tmp_path)
    assert run.rows[0].outcome.classification == "agent_exit"
    assert [found.code for found in findings] == ["malformed_exception"]


def test_runs_that_lie_too_deep_are_refused_and_never_read_as_another_format(tmp_path):
    write_run(tmp_path / "campaign")
    with pytest.raises(InputError, match=r"campaign/jobs/r1/run_manifest.json.*give the folder above jobs/"):
        read_matrix(tmp_path, SourceSettings())


def test_native_trials_without_a_manifest_are_no_harbor_job(tmp_path):
    run = write_run(tmp_path, trials={"a__x": result("a", source="shellbench-native")})
    (run / "run_manifest.json").unlink()
    with pytest.raises(InputError, match=r"no run_manifest.json says which run"):
        read_matrix(tmp_path, SourceSettings())


def test_an_unreadable_result_says_why_in_its_row(tmp_path):
    run = write_run(tmp_path)
    trial = next(path for path in run.iterdir() if path.is_dir())
    (trial / "result.json").write_text("{")
    (broken,) = [found for found in read(tmp_path).runs[0].trials if found.result_state == "invalid"]
    assert broken.exception_message == "result.json is not JSON"
