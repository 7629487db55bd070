"""Rows of the run and task tables: each column its own value, identities, durations, and what is said of a trial."""

import json

import pytest
from native_trees import Export, failure, graded, result, write, write_run

from shellbench_lib.columns import TABLES, names
from shellbench_lib.conditions import experiment_key, task_set_digest
from shellbench_lib.rows import run_row

CONDITION = {
    "harness": "harness!", "harness_version": "version!", "tool_mode": "mode!", "model_slug": "slug!",
    "model_id": "id!", "model_provider": "provider!", "reasoning_effort": "effort!", "judge_model_id": "judge!",
    "judge_reasoning_effort": "judge effort!", "public_tasks_commit": "revision!", "task_suite": "suite!",
}  # fmt: skip


def at(minute, second):
    return f"2026-01-01T00:{minute:02}:{second:02}Z"


@pytest.fixture(scope="module")
def distinct(tmp_path_factory):
    """A run whose trial `a` has a value of its own in every column, beside trials that set every count apart."""
    root = tmp_path_factory.mktemp("distinct") / "matrix"
    phases = ("environment_setup", "agent_setup", "agent_execution", "verifier")
    special = result(
        "a",
        1.25,
        trial_name="trial!",
        source="shellbench-native",
        started_at=at(1, 0),
        finished_at=at(2, 1),
        **{p: {"started_at": at(n, n), "finished_at": at(n, 3 * n)} for n, p in enumerate(phases, start=3)},
        agent_result={
            "n_input_tokens": 1001, "n_cache_tokens": 102, "n_output_tokens": 103, "cost_usd": 0.104,
            "trajectory_status": "status!", "runtime_model_name": "runtime!", "canonical_model_identity": True,
        },
        execution_outcome={"kind": "agent_error", "exit_code": 77, "reason": "reason!"},
        **failure("Exception!", "message!", occurred_at=at(9, 9)),
    )  # fmt: skip
    agent = {"agent_result": {"n_input_tokens": 20000, "n_cache_tokens": 3000, "n_output_tokens": 400, "cost_usd": 5}}
    kinds = {
        "pass": (3, 1.0, {}), "partial": (5, 0.5, {}), "fail": (5, 0.0, {}), "none": (8, None, {}),
        "exit": (5, 1.0, failure("AgentTimeoutError")), "exit0": (1, 0.0, failure("AgentTimeoutError")),
        "infra": (3, 1.0, failure("VerifierTimeoutError")),
    }  # fmt: skip
    trials = {"a": special, "unexpected": 1.0, "pass0__2": 1.0, "pass0__3": 1.0, "broken0": "{", "broken1": "{"}
    tasks = ["a", "broken0", "broken1", *(f"missing{number}" for number in range(4))]
    for kind, (count, reward, values) in kinds.items():
        for task in (f"{kind}{number}" for number in range(count)):
            unfinished = {"finished_at": None} if task in {"fail0", "fail1", "fail2"} else {}
            trials[task] = result(
                task, reward, trial_name=task, **values, **unfinished, **(agent if task == "pass0" else {})
            )
            tasks.append(task)
    tasks = tuple(tasks)
    write_run(
        root, "folder", trials, tasks=tasks, run_label="label!", pair_label="pair!", repetition=6, phase="phase!",
        execution_acceptance={"accepted": True, "reason": "acceptance!"}, parity_validation={"validated": False, "scope": {"x": 1}},
        **CONDITION,
    )  # fmt: skip
    out = Export(root)
    digest = task_set_digest(f"suite/{task}" for task in tasks)
    expected = RUN | {
        "task_set_sha256": digest,
        "experiment_key": experiment_key(list(CONDITION.values()), 37, digest),
    }
    return out, out.runs["jobs/folder"], out.of("jobs/folder", "a")[0], expected


# By hand: 37 tasks = 3 pass + 5 partial + 5 fail + 8 without a reward + 7 agent exits + 3 infra + 2 broken + 4 missing.
SUM = 3 * 1.0 + 5 * 0.5 + 5 * 1.0 + 1.25
RUN = {
    "run_label": "label!", "pair_label": "pair!", "repetition": "6", "expected_task_count": "37",
    "result_file_count": "36", "valid_result_count": "34", "completed_result_count": "31", "coverage": str(31 / 37),
    "score": str(SUM / 37), "exact_passes": "3", "partials": "5", "nonzero": "14", "infra": "12", "agent_exits": "7",
    "clean_completed": "13", "missing_reward": "8", "clean_coverage": str(13 / 37), "incomplete": "True",
    "infra_dominated": "False", "harness_wide_failure": "False", "harness_wide_failure_signature": "",
    "run_accepted": "True", "run_acceptance_reason": "acceptance!", "canonical_model_identity": "False",
    "trajectory_complete": "False", "parity_validated": "False", "parity_validation_status": "not_validated",
    "parity_validation_scope": '{"x":1}', "eligible": "False", "exclusion_reason": "incomplete",
    "n_input_tokens": "21001", "n_cache_tokens": "3102", "n_output_tokens": "503", "cost_usd": "5.104",
    "harness": "harness!", "harness_version": "version!", "tool_mode": "mode!", "model_slug": "slug!",
    "model_id": "id!", "model_provider": "provider!", "reasoning_effort": "effort!", "judge_model_id": "judge!",
    "judge_reasoning_effort": "judge effort!", "task_revision": "revision!", "task_suite": "suite!",
    "run_path": "jobs/folder", "score_observed": str(SUM / 20), "scored_trials": "33", "missing_rewards": "17",
    "full_rewards": "9", "missing_tasks": "4", "duplicate_results": "2", "unexpected_results": "1", "phase": "phase!",
    "exclusion_reasons": "incomplete;canonical_model_identity_not_preserved;trajectory_unavailable",
}  # fmt: skip


@pytest.mark.parametrize("name", names(TABLES["aggregate_results.csv"]))
def test_each_run_column_holds_its_own_value(distinct, name):
    assert distinct[1][name] == distinct[3][name]


def test_the_counts_are_all_different(distinct):
    counts = [RUN[column.name] for column in TABLES["aggregate_results.csv"] if column.type == "integer"]
    assert len(set(counts)) == len(counts)


@pytest.mark.parametrize(
    ("attribute", "column"),
    [
        ("incomplete", "incomplete"), ("infra_dominated", "infra_dominated"), ("accepted", "run_accepted"),
        ("identity_preserved", "canonical_model_identity"), ("trajectory_complete", "trajectory_complete"),
    ],
)  # fmt: skip
def test_each_flag_of_a_run_stands_in_its_own_column(tmp_path, attribute, column):
    write_run(tmp_path)
    run, _ = graded(tmp_path)
    before = run_row(run)
    setattr(run, attribute, not getattr(run, attribute))
    after = run_row(run)
    assert {name for name in before if before[name] != after[name]} == {column}


TRIAL = {
    "task_name": "a", "task_path": "suite/a", "trial_name": "trial!", "result_path": "jobs/folder/a/result.json",
    "classification": "agent_exit", "execution_outcome": "agent_error", "execution_exit_code": "77",
    "execution_reason": "reason!", "reward": "1.25", "exception_type": "Exception!", "exception_message": "message!",
    "exception_occurred_at": at(9, 9), "started_at": at(1, 0), "finished_at": at(2, 1), "duration_sec": "61.0",
    "environment_setup_started_at": at(3, 3), "environment_setup_finished_at": at(3, 9), "environment_setup_sec": "6.0",
    "agent_setup_started_at": at(4, 4), "agent_setup_finished_at": at(4, 12), "agent_setup_sec": "8.0",
    "agent_execution_started_at": at(5, 5), "agent_execution_finished_at": at(5, 15), "agent_execution_sec": "10.0",
    "verifier_started_at": at(6, 6), "verifier_finished_at": at(6, 18), "verifier_sec": "12.0",
    "n_input_tokens": "1001", "n_cache_tokens": "102", "n_output_tokens": "103", "cost_usd": "0.104",
    "source": "shellbench-native", "trajectory_status": "status!", "runtime_model_name": "runtime!",
    "canonical_model_identity": "True", "run_expected_task_count": "37", "run_score": RUN["score"],
    "run_coverage": RUN["coverage"], "run_exact_passes": "3", "run_eligible": "False",
    "run_exclusion_reason": "incomplete", "scorable": "True", "recorded_reward": "1.25",
    "reward_flags": "reward_out_of_range",
}  # fmt: skip


@pytest.mark.parametrize("name", names(TABLES["per_task_results.csv"]))
def test_each_task_column_holds_its_own_value(distinct, name):
    assert distinct[2][name] == (distinct[3] | TRIAL)[name]


def test_the_infrastructure_table_holds_the_infra_rows(distinct):
    out, run, *_ = distinct
    rows = out.table("infra_failures")
    assert len(rows) == int(run["infra"])
    wanted = [{name: row[name] for name in rows[0]} for row in out.tasks if row["classification"] == "infra"]
    assert rows == wanted


def test_only_the_scoring_row_of_an_expected_task_is_scorable(distinct):
    rows = distinct[0].tasks
    assert [row["trial_name"] for row in rows if row["task_name"] == "pass0" and row["scorable"] == "True"] == ["pass0"]
    assert {row["scorable"] for row in rows if row["task_name"] in {"unexpected", "missing0", "missing3"}} == {"False"}
    assert sum(row["scorable"] == "True" for row in rows) == 33


def test_the_json_holds_the_same_runs(distinct):
    out, run, *_ = distinct
    (found,) = out.json["runs"]
    assert sorted(found) == sorted(run)
    assert {name: "" if value is None else str(value) for name, value in found.items()} == run


# Rewards in the forms of section 7 rule 4


@pytest.mark.parametrize(
    ("value", "reward", "flags"),
    [
        ("1.0", "1.0", ""), ("0", "0.0", ""), ("-0.0", "-0.0", ""), ("0.9999999999999999", "0.9999999999999999", ""),
        ("-0.5", "-0.5", "reward_out_of_range"), ("1.5", "1.5", "reward_out_of_range"), ("null", "", ""),
        ("true", "", "reward_not_a_number"), ("false", "", "reward_not_a_number"), ("NaN", "", "reward_not_a_number"),
        ("Infinity", "", "reward_not_a_number"), ("-Infinity", "", "reward_not_a_number"),
        ("1e999", "", "reward_not_a_number"), ("[1.0]", "", "reward_not_a_number"), ("{}", "", "reward_not_a_number"),
        ('"pass"', "", "reward_not_a_number"), ('"1e0"', "", "reward_not_a_number"), ('"NaN"', "", "reward_not_a_number"),
        ('""', "", "reward_not_a_number"), ('"1_0"', "", "reward_not_a_number"), ('"1.0"', "1.0", "reward_from_text"),
        ('" .5 "', "0.5", "reward_from_text"), ('"2"', "2.0", "reward_from_text;reward_out_of_range"),
        ("1" + "0" * 400, "", "reward_not_a_number"),
    ],
)  # fmt: skip
def test_what_a_recorded_reward_is_worth(tmp_path, value, reward, flags):
    text = json.dumps(result("a", "HERE")).replace('"HERE"', value)
    write_run(tmp_path, trials={"a": text}, tasks=("a",))
    out = Export(tmp_path)
    (row,) = out.tasks
    assert (row["reward"], row["recorded_reward"], row["reward_flags"]) == (reward, reward, flags)
    assert set(filter(None, flags.split(";"))) <= out.codes()
    assert ("missing_reward" in out.codes()) == (reward == "")
    assert (row["classification"] == "verifier_missing_reward") == (reward == "")


def test_a_reward_beside_infrastructure_is_kept_apart(tmp_path):
    trials = {
        "a": result("a", 0.5, **failure("DockerStartupError")),
        "b": result("b", 0.5, **failure("RewardFileEmptyError")),
    }
    write_run(tmp_path, trials=trials)
    out = Export(tmp_path)
    assert [(row["reward"], row["recorded_reward"]) for row in out.tasks] == [("", "0.5"), ("", "0.5")]
    assert "reward_not_scored" in out.codes("jobs/r1")
    assert out.runs["jobs/r1"]["score"] == "0.0"
    assert out.runs["jobs/r1"]["score_observed"] == ""


# Times


@pytest.mark.parametrize(
    ("start", "end", "seconds", "code"),
    [
        ("2026-01-01T00:00:00Z", "2026-01-01T00:05:00Z", "300.0", ""),
        ("2026-01-01T00:00:00", "2026-01-01T00:05:00", "300.0", ""),
        ("2026-01-01 00:00:00", "2026-01-01 00:05:00", "300.0", ""),
        ("2026-01-01T09:00:00+09:00", "2026-01-01T00:05:00Z", "300.0", ""),
        ("2026-03-08T01:59:00-05:00", "2026-03-08T03:01:00-04:00", "120.0", ""),
        ("2026-01-01T00:00:00.123456789Z", "2026-01-01T00:00:01.623456789Z", "1.5", ""),
        ("2026-01-01T00:05:00Z", "2026-01-01T00:00:00Z", "-300.0", "negative_duration"),
        ("2026-01-01T00:00:00", "2026-01-01T00:05:00Z", "", "mixed_time_zones"),
        ("yesterday", "2026-01-01T00:05:00Z", "", "unreadable_time"),
        (1767225600, 1767225900, "", "unreadable_time"),
        (1701121512301, 1701121512302, "", "unreadable_time"),
        (None, "2026-01-01T00:05:00Z", "", ""),
    ],
)
def test_a_duration_is_known_only_where_both_ends_are(tmp_path, start, end, seconds, code):
    write_run(tmp_path, trials={"a": result("a", verifier={"started_at": start, "finished_at": end})}, tasks=("a",))
    out = Export(tmp_path)
    assert out.tasks[0]["verifier_sec"] == seconds
    found = [row for row in out.findings if row["code"] != "duplicate_run"]
    assert [(row["code"], row["field"]) for row in found] == ([(code, "verifier")] if code else [])


# Identity


def names_of(root):
    return sorted((row["run_path"], row["task_name"], row["task_path"]) for row in Export(root).tasks)


def test_the_title_is_a_label_and_the_path_names_the_task(tmp_path):
    write_run(tmp_path, "title", {"x": result("fix-cron", task_name="Fix the cron job")}, tasks=("fix-cron",))
    write_run(
        tmp_path, "plain", {"y": result("fix-cron", task_name="fix-cron", id="2")}, tasks=("fix-cron",), repetition=2
    )
    without = result(task_name="suite/fix-cron", task_id=None, id="3")
    write_run(tmp_path, "noid", {"z": without}, tasks=("fix-cron",), repetition=3)
    assert {name for _, name, _ in names_of(tmp_path)} == {"fix-cron"}


def test_a_leaf_that_repeats_gives_way_to_the_path_in_all_runs_of_the_dataset(tmp_path):
    paths = ["one/x", "two/x", "one/y"]
    for name in ("r1", "r2"):
        trials = {str(n): result(task_id={"path": path}, id=f"{name}{n}") for n, path in enumerate(paths)}
        if name == "r2":
            del trials["1"]
        write_run(tmp_path, name, trials, tasks=paths, public_tasks_commit="rev")
    assert [(run, name) for run, name, _ in names_of(tmp_path)] == [
        (f"jobs/{run}", name) for run in ("r1", "r2") for name in ("one/x", "two/x", "y")
    ]


def test_an_intruder_with_the_leaf_of_an_expected_task_changes_no_name(tmp_path):
    trials = {"a": 1.0, "z": result(task_id={"path": "elsewhere/a"})}
    write_run(tmp_path, trials=trials, tasks=("a",))
    rows = Export(tmp_path).tasks
    assert [(row["task_name"], row["scorable"]) for row in rows] == [("a", "True"), ("a", "False")]


def test_backslashes_are_slashes(tmp_path):
    trials = {"a": result(task_id={"path": "suite\\a"}), "b": 1.0}
    write_run(tmp_path, trials=trials)
    assert [name for _, name, _ in names_of(tmp_path)] == ["a", "b"]


@pytest.mark.parametrize("word", ["NA", "n/a", "null", "None", "nan", "#N/A", "007", "1e3", "True", " ", "-inf"])
def test_words_that_readers_take_for_missing_stay_names(tmp_path, word):
    path = f"suite|{word.replace('/', '_')}"
    write_run(tmp_path, trials={"x": result(task_id={"path": path})}, tasks=[path])
    ((_, name, shown),) = names_of(tmp_path)
    assert (name, shown) == (path, path)


def test_a_broken_manifest_has_a_row_of_its_own_that_never_scores(tmp_path):
    folder = write_run(tmp_path)
    write(folder / "run_manifest.json", "{")
    out = Export(tmp_path)
    rows = {row["task_name"]: row for row in out.tasks}
    assert sorted(rows) == ["<run-manifest>", "a", "b"]
    assert rows["<run-manifest>"]["exception_type"] == "InvalidManifestError"
    assert {row["scorable"] for row in out.tasks} == {"False"}
    assert {row["reward"] for row in out.tasks} == {""}
