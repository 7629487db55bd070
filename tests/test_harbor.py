"""Harbor job directories become runs: layouts, conditions, attempts, planned tasks, and what is noticed on the way."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from harbor_trees import COMMIT, failed, trial_result, write_job, write_json, write_trial, write_unfinished
from hypothesis import given, settings
from hypothesis import strategies as st

from shellbench_lib.conditions import task_set_digest
from shellbench_lib.errors import InputError
from shellbench_lib.params import Override
from shellbench_lib.sources import SourceSettings, read_matrix
from shellbench_lib.sources.files import MatrixFolder
from shellbench_lib.sources.harbor import looks_like_harbor

SHARED = Path(__file__).resolve().parents[1].parent / "shared" / "data" / "harbor"


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "matrix"
    folder.mkdir()
    return folder


def read(path, **settings):
    return read_matrix(path, SourceSettings(**settings))


def only_run(path, **settings):
    (run,) = read(path, **settings).runs
    return run


def only_trial(path, **settings):
    (trial,) = only_run(path, **settings).trials
    return trial


def codes(matrix):
    return [finding.code for finding in matrix.findings]


def tasks(run):
    return sorted(trial.task_path for trial in run.trials)


# Finding jobs and trials


@pytest.mark.parametrize("place", ["", "jobs", "one", "results/host/model/task", "a/b/c/d/e/f"])
def test_jobs_are_found_at_any_depth(root, place):
    write_job(root / place / "job-1", [trial_result("alpha"), trial_result("beta")])
    run = only_run(root)
    assert run.run_path == f"{place}/job-1".lstrip("/") + "#claude-code-claude-opus-4-6-r1"
    assert tasks(run) == ["alpha", "beta"]
    assert run.source_kind == "harbor"


def test_a_job_folder_and_a_trial_folder_may_be_given_themselves(root):
    job = write_job(root / "job-1", [trial_result("alpha")])
    assert only_run(job).run_path == "job-1#claude-code-claude-opus-4-6-r1"
    trial = job / "alpha__AbCdEf1"
    run = only_run(trial)
    assert run.run_path == "alpha__AbCdEf1#claude-code-claude-opus-4-6-r1"
    assert (run.expected_task_count, tasks(run)) == (1, ["alpha"])
    assert run.trials[0].result_path == "result.json"


def test_trials_without_job_level_files_are_counted_by_the_tasks_found(root):
    for task in ("alpha", "beta"):
        write_trial(root / "loose", trial_result(task))
    run = only_run(root)
    assert (run.expected_task_count, tasks(run)) == (2, ["alpha", "beta"])


def test_nested_jobs_are_two_jobs(root):
    outer = write_job(root / "outer", [trial_result("alpha")])
    write_job(outer / "inner", [trial_result("alpha", suffix="Second1")])
    assert [run.run_path.partition("#")[0] for run in read(root).runs] == ["outer", "outer/inner"]


def test_a_copied_trial_counts_once_and_is_noticed(root):
    job = write_job(root / "job", [trial_result("alpha"), trial_result("beta")])
    shutil.copytree(job, root / "copies" / "job")
    changed = trial_result("beta") | {"verifier_result": {"rewards": {"reward": 0.0}}}
    write_trial(root / "copies" / "job", changed)
    matrix = read(root)
    (run,) = matrix.runs
    assert run.run_path.startswith("job#")
    assert tasks(run) == ["alpha", "beta"]
    found = [finding for finding in matrix.findings if finding.code == "duplicate_trial"]
    assert [(finding.run_path, finding.task) for finding in found] == [
        ("copies/job", "alpha__AbCdEf1"), ("copies/job", "beta__AbCdEf1"),
    ]  # fmt: skip
    assert ["differ" in finding.message for finding in found] == [False, True]
    assert "2 trials found" in matrix.description


def test_nothing_below_a_trial_is_a_job(root):
    write_job(root / "job", [trial_result("alpha")])
    write_job(root / "job" / "alpha__AbCdEf1" / "artifacts" / "jobs" / "x", [trial_result("gamma")])
    assert tasks(only_run(root)) == ["alpha"]


def test_a_link_in_a_circle_does_not_repeat_a_job(root):
    write_job(root / "a" / "job", [trial_result("alpha")])
    (root / "b").mkdir()
    (root / "a" / "to-b").symlink_to(root / "b")
    (root / "b" / "to-a").symlink_to(root / "a")
    matrix = read(root)
    assert [run.run_path.partition("#")[0] for run in matrix.runs] == ["a/job"]
    assert "duplicate_trial" not in codes(matrix)


def test_job_level_files_alone_are_refused_with_what_to_give(root):
    write_job(root / "job", [], planned=5, result={"stats": {"evals": {"a__m__d": {"reward_stats": {}}}}})
    with pytest.raises(InputError, match=r"job-level.*no trial's.*Give the whole job directories"):
        read(root)


def test_directories_in_which_nothing_finished_are_refused(root):
    write_unfinished(root / "job", "alpha")
    assert looks_like_harbor(MatrixFolder(root))
    with pytest.raises(InputError, match="nothing has finished"):
        read(root)


def test_terminal_bench_results_are_not_taken_for_harbor(root):
    write_json(root / "runs" / "r1" / "results.json", {"id": "x", "results": [], "n_resolved": 0})
    write_json(root / "runs" / "r1" / "t" / "t.1-of-1.r1" / "results.json", {"task_id": "t", "is_resolved": True})
    assert not looks_like_harbor(MatrixFolder(root))
    with pytest.raises(InputError, match="nothing recognised"):
        read(root)


def test_files_of_another_make_beside_a_job_are_noticed(root):
    write_job(root / "job", [trial_result("alpha")])
    write_json(root / "hand" / "result.json", {"job_name": "x", "summary": {}, "tasks": []})
    write_json(root / "old" / "results.json", {"results": []})
    matrix = read(root)
    assert [(finding.code, finding.field) for finding in matrix.findings] == [
        ("foreign_result_file", "hand/result.json"), ("foreign_result_file", "old/results.json"),
    ]  # fmt: skip
    assert len(matrix.runs) == 1


def test_unfinished_trials_and_jobs_are_findings_and_nothing_else(root):
    job = write_job(root / "job", [trial_result("alpha")], planned=3, result={"finished_at": None})
    write_unfinished(job, "beta")
    (job / "gamma__AbCdEf1" / "agent").mkdir(parents=True)
    matrix = read(root)
    assert sorted((finding.code, finding.run_path, finding.task) for finding in matrix.findings) == [
        ("not_a_trial", "job", "gamma__AbCdEf1"),
        ("unfinished_job", "job", ""),
        ("unfinished_trial", "job", "beta__Unfini1"),
    ]
    (run,) = matrix.runs
    assert (tasks(run), run.expected_task_count) == (["alpha"], 3)
    assert "1 trials found, 1 scored, 1 solved" in matrix.description


def test_a_finished_job_with_fewer_trials_than_planned_is_unfinished(root):
    write_job(root / "job", [trial_result("alpha")], planned=2)
    assert codes(read(root)) == ["unfinished_job"]


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"\x80"])
def test_an_unreadable_result_costs_its_own_trial(root, data):
    job = write_job(root / "job", [trial_result("alpha"), trial_result("beta")])
    config = json.loads((job / "beta__AbCdEf1" / "config.json").read_text())
    write_json(job / "beta__AbCdEf1" / "config.json", config | {"task": {"path": "beta"}})
    (job / "beta__AbCdEf1" / "result.json").write_bytes(data)
    matrix = read(root)
    (run,) = matrix.runs
    assert [(trial.task_path, trial.result_state) for trial in run.trials] == [("alpha", "valid"), ("beta", "invalid")]
    (finding,) = [finding for finding in matrix.findings if finding.code == "malformed_result"]
    assert (finding.run_path, finding.task) == (run.run_path, "beta__AbCdEf1")


def test_an_unreadable_result_without_a_config_is_known_by_its_directory(root):
    job = write_job(
        root / "job", [trial_result("alpha"), trial_result("alpha", suffix="Second1")], config={"n_attempts": 2}
    )
    (job / "alpha__Second1" / "config.json").unlink()
    (job / "alpha__Second1" / "result.json").write_text("{")
    runs = read(root).runs
    assert [(run.repetition, tasks(run), run.trials[0].result_state) for run in runs] == [
        (1, ["alpha"], "valid"), (2, ["alpha"], "invalid"),
    ]  # fmt: skip


def test_unreadable_job_files_leave_the_count_to_the_tasks_found(root):
    job = write_job(root / "job", [trial_result("alpha"), trial_result("beta")], planned=7)
    (job / "result.json").write_text("{")
    (job / "config.json").write_text("[]")
    matrix = read(root)
    assert codes(matrix) == ["malformed_job_file", "malformed_job_file"]
    assert matrix.runs[0].expected_task_count == 2


# What one trial says


def test_the_condition_is_read_from_the_trial(root):
    write_job(root / "job", [trial_result("alpha", agent={"kwargs": {"reasoning_effort": "high"}})])
    condition = only_run(root).condition
    assert (condition.harness, condition.harness_version) == ("claude-code", "2.0.1")
    assert (condition.model_id, condition.model_slug, condition.model_provider) == (
        "anthropic/claude-opus-4-6", "claude-opus-4-6", "anthropic",
    )  # fmt: skip
    assert (condition.reasoning_effort, condition.task_suite, condition.task_revision) == ("high", "suite", COMMIT)
    assert (condition.task_set_sha256, condition.judge_model_id, condition.tool_mode) == ("", "", "")


@pytest.mark.parametrize(
    ("agent", "info", "expected"),
    [
        ({"model_name": None}, {"name": "z-ai/glm-5", "provider": "openai"}, ("openai/z-ai/glm-5", "glm-5", "openai")),
        ({"model_name": None}, {"name": "gpt-5", "provider": None}, ("gpt-5", "gpt-5", "")),
        ({"model_name": "gpt-5"}, None, ("gpt-5", "gpt-5", "")),
        ({"model_name": "openrouter/x/y"}, None, ("openrouter/x/y", "y", "openrouter")),
        ({"model_name": None}, None, ("", "", "")),
    ],
)
def test_where_the_model_is_read(root, agent, info, expected):
    fields = {"agent_info": {"name": "claude-code", "version": "unknown", "model_info": info}}
    write_job(root / "job", [trial_result("alpha", agent=agent, **fields)])
    condition = only_run(root).condition
    assert (condition.model_id, condition.model_slug, condition.model_provider) == expected
    assert condition.harness_version == ""


@pytest.mark.parametrize(
    ("agent", "effort"),
    [
        ({"kwargs": {"reasoning_effort": "xhigh", "thinking": "low"}}, "xhigh"),
        ({"kwargs": {"reasoning-effort": "low"}}, "low"),
        ({"kwargs": {"thinking": "medium"}}, "medium"),
        ({"kwargs": {"max_thinking_tokens": 8000}}, "max_thinking_tokens=8000"),
        ({"env": {"CLAUDE_CODE_EFFORT_LEVEL": "max"}}, "max"),
        ({"env": {"LLM_REASONING_EFFORT": "high"}}, "high"),
        ({"env": {"LLM_REASONING_EFFORT": "${EFFORT}"}}, ""),
        ({"model_name": "cursor/gpt-5[effort=high]"}, "high"),
        ({"kwargs": {"reasoning_effort": 3}}, ""),
        ({}, ""),
    ],
)
def test_where_the_effort_is_read(root, agent, effort):
    write_job(root / "job", [trial_result("alpha", agent=agent)])
    assert only_run(root).condition.reasoning_effort == effort


def test_a_custom_agent_is_named_by_itself_else_by_its_import_path(root):
    agent = {"name": None, "import_path": "mine:Agent"}
    own = {"name": "my-agent", "version": "1", "model_info": None}
    write_job(root / "a", [trial_result("alpha", agent=agent, agent_info=own)])
    write_job(root / "b", [trial_result("alpha", suffix="Second1", agent=agent, agent_info=None)])
    assert [run.condition.harness for run in read(root).runs] == ["my-agent", "mine:Agent"]


def test_a_version_unknown_to_a_failed_agent_is_that_of_its_job(root):
    unknown = {"agent_info": {"name": "claude-code", "version": "unknown", "model_info": None}}
    early = trial_result("beta", **failed("AgentSetupTimeoutError"), **unknown)
    write_job(root / "job", [trial_result("alpha"), early])
    run = only_run(root)
    assert (run.condition.harness_version, tasks(run)) == ("2.0.1", ["alpha", "beta"])


def test_a_version_stays_unknown_where_the_job_ran_two(root):
    def version(value):
        return {"agent_info": {"name": "claude-code", "version": value, "model_info": None}}

    trials = [
        trial_result("alpha", **version("1")),
        trial_result("beta", **version("2")),
        trial_result("gamma", **version("unknown")),
    ]
    write_job(root / "job", trials)
    runs = read(root).runs
    assert sorted((run.condition.harness_version, *tasks(run)) for run in runs) == [
        ("", "gamma"),
        ("1", "alpha"),
        ("2", "beta"),
    ]
    assert len({run.run_path for run in runs}) == 3


def test_package_and_local_tasks(root):
    package = trial_result("org/alpha", task_id={"org": "org", "name": "alpha", "ref": "v3"})
    write_job(root / "a", [package])
    local = [
        trial_result("one", suffix="Local01", task_id={"path": "/home/someone/tasks/easy/one"}),
        trial_result("one", suffix="Local02", task_id={"path": "/home/someone/tasks/hard/one"}),
        trial_result("two", suffix="Local03", task_id={"path": "tasks/two"}),
    ]
    write_job(root / "b", local)
    first, second = read(root).runs
    assert (tasks(first), first.condition.task_revision) == (["org/alpha"], "v3")
    assert (tasks(second), second.condition.task_revision) == (["easy/one", "hard/one", "tasks/two"], "")
    assert [task.path for task in second.expected_tasks] == ["easy/one", "hard/one", "tasks/two"]


@pytest.mark.parametrize(
    ("datasets", "revision"), [([{"name": "suite", "ref": "sha256:whole"}], "sha256:whole"), ([], None)]
)
def test_refs_that_are_contents_of_single_tasks_do_not_split_a_suite(root, datasets, revision):
    trials = [
        trial_result(f"org/{name}", task_id={"org": "org", "name": name, "ref": f"sha256:{name}"})
        for name in ("alpha", "beta")
    ]
    write_job(root / "job", trials, config={"datasets": datasets})
    run = only_run(root)
    assert tasks(run) == ["org/alpha", "org/beta"]
    found = run.condition.task_revision
    assert found == revision if revision else found.startswith("tasks-")


def test_two_commits_are_two_datasets(root):
    other = {"git_url": "u", "git_commit_id": "b" * 40, "path": "beta"}
    write_job(root / "job", [trial_result("alpha"), trial_result("beta", task_id=other)])
    assert sorted((run.condition.task_revision[0], run.expected_task_count) for run in read(root).runs) == [
        ("a", 1),
        ("b", 1),
    ]


def test_only_the_declared_reward_key_is_read(root):
    several = {"verifier_result": {"rewards": {"score": 0.25, "f2p_total": 25}}}
    write_job(root / "job", [trial_result("alpha", **several)])
    matrix = read(root)
    assert (matrix.runs[0].trials[0].recorded_reward, matrix.runs[0].trials[0].reward_flags) == (
        None,
        ("reward_key_absent",),
    )
    (finding,) = matrix.findings
    assert (finding.code, finding.run_path) == ("reward_key_absent", matrix.runs[0].run_path)
    assert "f2p_total, score" in finding.message
    assert only_trial(root, reward_key="score").recorded_reward == 0.25


def test_a_timeout_with_a_reward_of_one_is_solved_and_an_api_error_is_not(root):
    trials = [
        trial_result("alpha", **failed("AgentTimeoutError", 1.0)),
        trial_result("beta", **failed("ApiRateLimitError", 1.0)),
        trial_result("gamma", **failed("ProcessLookupError")),
    ]
    write_job(root / "job", trials)
    assert read(root).description.endswith("3 trials found, 1 scored, 1 solved")


def step(exception=None, **usage):
    info = exception and failed(exception)["exception_info"]
    return {"step_name": "s", "agent_result": usage or None, "exception_info": info}


def test_a_multi_step_trial_takes_failure_and_usage_from_its_steps(root):
    steps = [
        step("AgentTimeoutError", n_input_tokens=10, n_output_tokens=1, cost_usd=0.25),
        step("ApiError", n_input_tokens=5, n_output_tokens=2),
        step(),
    ]
    write_job(root / "job", [trial_result("alpha", agent_result=None, step_results=steps)])
    matrix = read(root)
    (trial,) = matrix.runs[0].trials
    assert trial.exception_type == "ApiError"  # the one that makes the reward invalid
    assert (trial.n_input_tokens, trial.n_output_tokens, trial.cost_usd, trial.n_cache_tokens) == (15, 3, 0.25, None)
    assert trial.recorded_reward == 1.0
    assert [(finding.code, finding.field) for finding in matrix.findings] == [
        ("partial_usage", "n_input_tokens"), ("partial_usage", "n_output_tokens"), ("partial_usage", "cost_usd"),
    ]  # fmt: skip


def test_steps_that_know_nothing_leave_usage_unknown(root):
    write_job(
        root / "job", [trial_result("alpha", agent_result=None, step_results=[step(), step("AgentTimeoutError")])]
    )
    trial = only_trial(root)
    assert (trial.n_input_tokens, trial.cost_usd, trial.exception_type) == (None, None, "AgentTimeoutError")


@pytest.mark.parametrize(
    ("fields", "valid"),
    [
        ({}, None),
        ({"reward_valid": True}, True),
        ({"reward_valid": False}, False),
        ({"reward_valid": False, "verifier_result": None}, None),  # no reward is no verdict on the exception
        ({"exception_info": {"exception_type": "ApiError", "policy": {"has_valid_reward": True}}}, True),
        (
            {"exception_info": {"exception_type": "New", "policy": {"has_valid_reward": False}}, "reward_valid": False},
            False,
        ),
    ],
)
def test_a_recorded_error_policy_is_kept(root, fields, valid):
    write_job(root / "job", [trial_result("alpha", **fields)])
    assert only_trial(root).policy_reward_valid is valid


def test_a_regrade_copies_no_tokens(root):
    write_job(root / "job", [trial_result("alpha", config={"source_trial": {"action": "regrade", "trial_id": "x"}})])
    matrix = read(root)
    (trial,) = matrix.runs[0].trials
    assert (trial.n_input_tokens, trial.cost_usd, trial.recorded_reward) == (None, None, 1.0)
    assert codes(matrix) == ["regraded_trial"]


def test_usage_comes_from_the_trajectory_only_where_the_trial_has_none(root):
    job = write_job(root / "job", [trial_result("alpha"), trial_result("beta", agent_result=None)])
    totals = {
        "total_prompt_tokens": 900,
        "total_cached_tokens": 400,
        "total_completion_tokens": 70,
        "total_cost_usd": None,
    }
    for task in ("alpha", "beta"):
        write_json(job / f"{task}__AbCdEf1" / "agent" / "trajectory.json", {"steps": [], "final_metrics": totals})
    alpha, beta = only_run(root).trials
    assert (alpha.n_input_tokens, alpha.cost_usd) == (100, 0.5)
    assert (beta.n_input_tokens, beta.n_cache_tokens, beta.n_output_tokens, beta.cost_usd) == (900, 400, 70, None)


@pytest.mark.parametrize(
    "data", ["{", "[]", '{"final_metrics": null}', '{"final_metrics": {"total_prompt_tokens": "many"}}']
)
def test_a_trajectory_that_tells_nothing_leaves_usage_unknown(root, data):
    job = write_job(root / "job", [trial_result("alpha", agent_result=None)])
    (job / "alpha__AbCdEf1" / "agent").mkdir()
    (job / "alpha__AbCdEf1" / "agent" / "trajectory.json").write_text(data)
    assert only_trial(root).n_input_tokens is None


def test_files_of_the_first_releases_are_read(root):
    old = trial_result("alpha", agent_result={"n_input_tokens": 7, "output_logprobs": None, "cost_usd": None})
    old |= {"started_at": "2025-09-01T10:00:00.5", "finished_at": "2025-09-01T10:01:00.5"}
    config = {"orchestrator": {"type": "local", "n_concurrent_trials": 4}}
    stats = {"n_trials": 1, "n_errors": 0, "evals": {}}
    write_job(root / "job", [old], config=config, result={"stats": stats})
    matrix = read(root)
    assert codes(matrix) == []
    assert (matrix.runs[0].trials[0].n_input_tokens, matrix.runs[0].trials[0].cost_usd) == (7, None)


def test_keys_of_forks_and_of_the_newest_release_are_ignored(root):
    trial = trial_result("alpha", schema_version=1, verifier_environment_mode="shared", fork={"deep": [1]})
    trial["agent_result"] |= {
        "rollout_details": [],
        "peak_context_tokens": 9,
        "model_usage": {"m": {"n_input_tokens": 1}},
    }
    write_job(root / "job", [trial], result={"schema_version": 1})
    assert codes(read(root)) == []


def test_no_absolute_path_reaches_a_record(root):
    write_job(root / "job", [trial_result("alpha", task_id={"path": "/home/someone/tasks/alpha"})])
    assert "/home/" not in repr(read(root).runs)
    assert str(root) not in repr(read(root))


def test_arguments_that_no_fast_writer_takes_are_still_compared(root):
    write_job(root / "a", [trial_result("alpha", agent={"kwargs": {"seed": 10**400}})])
    write_job(root / "b", [trial_result("alpha", suffix="Second1", agent={"kwargs": {"seed": 10**400 + 1}})])
    findings = [finding for finding in read(root).findings if finding.code == "mixed_condition"]
    assert [finding.field for finding in findings] == ["agent.kwargs.seed"]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=80, deadline=None)
@given(
    field=st.sampled_from([*sorted(set(trial_result()) - {"trial_name"}), "step_results", "reward_valid"]),
    value=json_values,
)
def test_a_field_of_any_shape_never_costs_the_trial_beside_it(tmp_path_factory, field, value):
    folder = tmp_path_factory.mktemp("matrix")
    write_job(folder / "job", [trial_result("alpha"), trial_result("beta") | {field: value}])
    matrix = read(folder)
    found = [trial for run in matrix.runs for trial in run.trials if trial.trial_name == "alpha__AbCdEf1"]
    assert [(trial.task_path, trial.recorded_reward, trial.n_input_tokens) for trial in found] == [("alpha", 1.0, 100)]
    assert sum(len(run.trials) for run in matrix.runs) == 2


# Runs


def at(minute, **fields):
    return {"started_at": f"2026-05-10T10:{minute:02}:00Z", **fields}


def test_attempts_are_numbered_by_their_start_within_each_task(root):
    trials = [
        trial_result("alpha", suffix="Zzzzzz1", **at(1)),
        trial_result("alpha", suffix="Aaaaaa1", **at(2)),
        trial_result("beta", suffix="Aaaaaa1", **at(9)),
        trial_result("beta", suffix="Bbbbbb1", **at(9)),  # a tie goes by the trial's name
    ]
    write_job(root / "job", trials, config={"n_attempts": 2})
    first, second = read(root).runs
    assert [trial.trial_name for trial in first.trials] == ["alpha__Zzzzzz1", "beta__Aaaaaa1"]
    assert [trial.trial_name for trial in second.trials] == ["alpha__Aaaaaa1", "beta__Bbbbbb1"]
    assert [(run.repetition, run.expected_task_count) for run in (first, second)] == [(1, 2), (2, 2)]
    assert first.run_path == "job#claude-code-claude-opus-4-6-r1"


@pytest.mark.parametrize(
    ("planned", "attempts", "agents", "expected"),
    [(12, 2, 2, 3), (89, 1, 1, 89), (75, 5, 1, 15), (5, 2, 1, 3), (6, 2, 3, 1)],
)
def test_the_planned_count_is_divided_by_attempts_and_agents(root, planned, attempts, agents, expected):
    config = {"n_attempts": attempts, "agents": [{"name": str(number)} for number in range(agents)]}
    write_job(root / "job", [trial_result("alpha")], planned=planned, config=config)
    assert only_run(root).expected_task_count == expected


def test_a_count_given_by_the_analyst_wins(root):
    write_job(root / "job", [trial_result("alpha")], planned=9)
    assert only_run(root, expected_task_count=4).expected_task_count == 4


def test_two_suites_of_one_job_share_what_it_planned(root):
    trials = [trial_result("alpha"), trial_result("beta"), trial_result("gamma", source="other")]
    write_job(root / "whole", trials)
    assert sorted((run.condition.task_suite, run.expected_task_count) for run in read(root).runs) == [
        ("other", 1),
        ("suite", 2),
    ]
    write_job(root / "whole", [], planned=4)
    assert sorted((run.condition.task_suite, run.expected_task_count) for run in read(root).runs) == [
        ("other", 2),
        ("suite", 3),
    ]


def test_the_task_set_is_what_all_jobs_of_the_dataset_found(root):
    write_job(root / "a", [trial_result("alpha"), trial_result("beta")])
    write_job(root / "b", [trial_result("alpha", suffix="Second1")], planned=2)
    for run in read(root).runs:
        assert [task.path for task in run.expected_tasks] == ["alpha", "beta"]
        assert (run.expected_task_count, run.condition.task_set_sha256) == (2, "")


def test_more_tasks_than_planned_separate_the_datasets_on_all_sides(root):
    write_job(root / "a", [trial_result("alpha"), trial_result("beta")])
    write_job(root / "b", [trial_result("beta", suffix="Second1"), trial_result("gamma")])
    first, second = read(root).runs
    assert first.condition.task_set_sha256 == task_set_digest(["alpha", "beta"])
    assert second.condition.task_set_sha256 == task_set_digest(["beta", "gamma"])
    assert [task.path for task in second.expected_tasks] == ["beta", "gamma"]


def test_merged_jobs_are_numbered_together(root):
    write_job(root / "a", [trial_result("alpha", **at(5))], planned=3)
    write_job(root / "b", [trial_result("alpha", suffix="Second1", **at(1)), trial_result("beta", **at(2))])
    first, second = read(root, merge_jobs=True).runs
    assert first.run_path == "merged/claude-code-claude-opus-4-6-r1"
    assert [trial.trial_name for trial in first.trials] == ["alpha__Second1", "beta__AbCdEf1"]
    assert [trial.trial_name for trial in second.trials] == ["alpha__AbCdEf1"]
    assert [run.expected_task_count for run in (first, second)] == [3, 3]


def test_merging_keeps_conditions_apart(root):
    write_job(root / "a", [trial_result("alpha")])
    write_job(root / "b", [trial_result("alpha", suffix="Second1", agent={"model_name": "openai/gpt-5"})])
    assert sorted(run.run_path for run in read(root, merge_jobs=True).runs) == [
        "merged/claude-code-claude-opus-4-6-r1", "merged/claude-code-gpt-5-r1",
    ]  # fmt: skip


def test_trials_of_two_jobs_in_one_directory_are_attempts_and_noticed(root):
    second = trial_result("alpha", suffix="Second1", config={"job_id": "job-2"}, **at(30))
    write_job(root / "job", [trial_result("alpha"), second], planned=1)
    matrix = read(root)
    assert [run.trials[0].trial_name for run in matrix.runs] == ["alpha__AbCdEf1", "alpha__Second1"]
    assert codes(matrix) == ["several_jobs_in_one"]


def test_arguments_that_differ_inside_a_cell_are_noticed_without_their_texts(root):
    write_job(root / "a", [trial_result("alpha", agent={"kwargs": {"turns": 10, "token": "s3cret", "same": 1}})])
    write_job(root / "b", [trial_result("alpha", suffix="Second1", agent={"kwargs": {"turns": 20, "same": 1}})])
    findings = [finding for finding in read(root).findings if finding.code == "mixed_condition"]
    assert [finding.field for finding in findings] == ["agent.kwargs.token", "agent.kwargs.turns"]
    assert "10, 20" in findings[1].message
    assert "s3cret" not in findings[0].message


def test_efforts_are_two_conditions_and_no_mixture(root):
    trials = [
        trial_result("alpha", suffix=f"Effort{number}", agent={"kwargs": {"reasoning_effort": effort}})
        for number, effort in enumerate(("low", "high"))
    ]
    write_job(root / "job", trials, config={"agents": [{}, {}]})
    matrix = read(root)
    assert [run.run_path.rpartition("#")[2] for run in matrix.runs] == [
        "claude-code-claude-opus-4-6-high-r1", "claude-code-claude-opus-4-6-low-r1",
    ]  # fmt: skip
    assert codes(matrix) == []


# Overrides


def nameless(task, suffix="AbCdEf1"):
    return trial_result(
        task, suffix, agent={"model_name": None}, agent_info={"name": "mine", "version": "1", "model_info": None}
    )


def test_overrides_match_the_jobs_path_and_come_before_runs_are_formed(root):
    write_job(root / "small-model__40" / "jobs" / "j", [nameless("alpha")])
    write_job(root / "large-model__50" / "jobs" / "j", [nameless("alpha", "Second1")])
    overrides = (
        Override(match="small-*", set={"model_id": "maker/small"}),
        Override(match="*/jobs/j", set={"reasoning_effort": "high"}),
        Override(match="middle-*", set={"model_slug": "middle"}),
    )
    matrix = read(root, overrides=overrides)
    assert [(run.condition.model_slug, run.condition.model_provider) for run in matrix.runs] == [
        ("", ""),
        ("small", "maker"),
    ]
    assert {run.condition.reasoning_effort for run in matrix.runs} == {"high"}
    assert [run.run_path.rpartition("#")[2] for run in matrix.runs] == ["mine-high-r1", "mine-small-high-r1"]
    assert codes(matrix) == ["override_unused"]
    assert len(read(root, overrides=overrides[:1], merge_jobs=True).runs) == 2


# Real job directories


@pytest.mark.shared_data
@pytest.mark.skipif(not SHARED.is_dir(), reason="the public job directories are not there")
class TestRealJobs:
    def test_two_models_named_only_by_their_folders(self):
        overrides = (
            Override(match="predev-haiku*", set={"model_slug": "haiku"}),
            Override(match="predev-sonnet*", set={"model_slug": "sonnet"}),
        )
        matrix = read(SHARED / "predev-haiku-sonnet", overrides=overrides)
        solved = {
            run.condition.model_slug: {trial.task_path for trial in run.trials if trial.recorded_reward == 1}
            for run in matrix.runs
        }
        every = {task.path for task in matrix.runs[0].expected_tasks}
        assert [len(run.trials) for run in matrix.runs] == [89, 89]
        haiku, sonnet = solved["haiku"], solved["sonnet"]
        assert (len(haiku), len(sonnet), len(every)) == (37, 50, 89)
        assert (len(every - haiku - sonnet), len(haiku & sonnet), len(sonnet - haiku), len(haiku - sonnet)) == (
            34,
            32,
            18,
            5,
        )
        assert matrix.findings == []

    def test_many_jobs_of_one_condition_merged(self):
        matrix = read(SHARED / "opus-many-jobs", merge_jobs=True)
        assert [len(run.trials) for run in matrix.runs] == [89, 43, 36, 11, 8, 4, 3]
        assert {run.expected_task_count for run in matrix.runs} == {89}
        assert "194 trials found" in matrix.description
        assert "90 solved" in matrix.description
        assert codes(matrix).count("unfinished_job") == 8
        assert codes(matrix).count("unfinished_trial") == 8
        assert sum(trial.recorded_reward == 1 for trial in matrix.runs[0].trials) == 34

    def test_many_jobs_of_one_condition_apart(self):
        runs = {run.run_path[len("jobs/") :].partition("#")[0]: run for run in read(SHARED / "opus-many-jobs").runs}
        assert len(runs) == 19  # one job of the twenty holds no finished trial
        assert sum(len(run.trials) for run in runs.values()) == 194
        five_attempts = runs["2026-04-01__13-57-24"]  # 75 trials planned as five attempts
        assert five_attempts.expected_task_count == 15
        started = runs["2026-03-31__14-11-50"]  # 89 planned, one done
        assert (started.expected_task_count, len(started.trials)) == (89, 1)
        of_25 = [run for run in runs.values() if run.expected_task_count == 25]
        assert len(of_25) == 5
        assert all(run.condition.task_set_sha256 for run in of_25)
