"""A run's values, acceptance, gates and reasons, on runs that are read from disk."""

import pytest
from native_trees import ABSENT, Export, failure, graded, result, write, write_run

TASKS = tuple("abcdefgh")
NATIVE = {"runner": "shellbench-native", "trajectory_mode": "real_harness_events"}
REAL = {"agent_result": {"canonical_model_identity": True, "trajectory_status": "real"}}


def run(root, trials, tasks=None, **values):
    trials = {task: value if not isinstance(value, dict) else result(task, **value) for task, value in trials.items()}
    write_run(root, trials=trials, tasks=tasks or tuple(trials), **values)
    return graded(root)[0]


def test_the_values_of_a_run_by_hand(tmp_path):
    found = run(
        tmp_path,
        {
            "a": 1.0,
            "b": 0.5,
            "c": 0.0,
            "d": failure("AgentTimeoutError") | {"reward": 1.0},
            "e": None,
            "f": failure("VerifierTimeoutError") | {"reward": 1.0},
            "g": 1.5,
        },
        TASKS,
    )
    assert found.score == (1.0 + 0.5 + 0.0 + 1.0 + 1.5) / 8
    assert found.score_observed == (1.0 + 0.5 + 0.0 + 1.0 + 1.5) / 5
    assert found.coverage == 7 / 8
    assert found.counts == {
        "result_file_count": 7, "valid_result_count": 7, "completed_result_count": 7, "exact_passes": 2, "nonzero": 4,
        "infra": 2, "clean_completed": 4, "scored_trials": 7, "missing_rewards": 3, "full_rewards": 3,
        "missing_tasks": 1, "duplicate_results": 0, "unexpected_results": 0,
    }  # fmt: skip
    assert found.classes == {
        "pass": 2, "partial": 1, "clean_fail": 1, "agent_exit": 1, "verifier_missing_reward": 1, "infra": 2,
    }  # fmt: skip
    assert found.exclusion_reasons == ["incomplete"]


def test_a_run_without_a_result_divides_by_nothing(tmp_path):
    found = run(tmp_path, {}, ("a", "b"))
    assert (found.score, found.score_observed, found.coverage) == (0.0, None, 0.0)
    assert found.exclusion_reasons[0] == "incomplete"


def test_an_expected_count_of_zero(tmp_path):
    write_run(tmp_path, tasks=[], expected_task_count=0, trials={})
    found, _ = graded(tmp_path)
    assert (found.expected_task_count, found.score, found.coverage, found.incomplete) == (0, 0.0, 0.0, True)


@pytest.mark.parametrize(
    ("trials", "reasons"),
    [
        ({"a": 1.0, "b": 1.0}, []),
        ({"a": 1.0}, ["incomplete"]),
        ({"a": 1.0, "b": {"finished_at": None}}, ["incomplete"]),
        ({"a": 1.0, "b": "not json"}, ["incomplete"]),
        ({"a": 1.0, "b": 1.0, "b__2": 0.0}, []),
        ({"a": 1.0, "b": 1.0, "zz": 0.0}, []),
        ({"a": 1.0, "a__2": 0.0}, ["incomplete"]),
        ({"a": 1.0, "zz": 0.0}, ["incomplete"]),
    ],
    ids=["whole", "missing", "unfinished", "broken", "duplicate", "intruder", "duplicate for a missing", "intruder for a missing"],
)  # fmt: skip
def test_completeness_is_judged_by_task_not_by_count(tmp_path, trials, reasons):
    trials = {name: result(name, **value) if isinstance(value, dict) else value for name, value in trials.items()}
    write_run(tmp_path, trials=trials)
    assert graded(tmp_path)[0].exclusion_reasons == reasons


def test_more_than_half_infra_dominates_and_half_does_not(tmp_path):
    broken = failure("DockerStartupError")
    half = run(tmp_path / "half", {"a": broken, "b": broken, "c": 1.0, "d": 1.0})
    more = run(tmp_path / "more", {"a": broken, "b": broken, "c": broken, "d": 1.0})
    assert (half.infra_dominated, more.infra_dominated) == (False, True)
    assert more.exclusion_reasons == ["infra_dominated", "harness_wide_failure"]


@pytest.mark.parametrize(("count", "wide"), [(2, ""), (3, "dockerstartuperror: box <number> <hex> down")])
def test_a_failure_is_harness_wide_from_a_quarter_of_the_tasks_and_three(tmp_path, count, wide):
    trials = dict.fromkeys(TASKS, 1.0)
    for number, task in enumerate(TASKS[:count]):
        trials[task] = failure("DockerStartupError", f"Box {number}  deadbeef{number} DOWN")
    found = run(tmp_path, trials)
    assert found.wide_failure == wide
    assert found.exclusion_reasons == (["harness_wide_failure"] if wide else [])


def test_a_quarter_of_many_tasks_is_more_than_three(tmp_path):
    tasks = tuple(f"t{number:02}" for number in range(20))
    trials = dict.fromkeys(tasks, 1.0) | dict.fromkeys(tasks[:4], failure("DockerStartupError"))
    assert run(tmp_path / "four", trials).wide_failure == ""
    trials[tasks[4]] = failure("DockerStartupError")
    assert run(tmp_path / "five", trials).wide_failure == "dockerstartuperror: it broke"


def test_intruders_and_duplicates_are_no_gate_but_count_as_infra(tmp_path):
    trials = dict.fromkeys(("a", "b"), 1.0) | {f"z{number}": 1.0 for number in range(5)} | {"a__2": 1.0}
    write_run(tmp_path, trials=trials)
    found, _ = graded(tmp_path)
    assert (found.counts["infra"], found.infra_dominated, found.wide_failure) == (6, False, "")
    assert (found.counts["unexpected_results"], found.counts["duplicate_results"], found.eligible) == (5, 1, True)


EXIT_71 = failure("NonZeroAgentExitCodeError", "exit code 71") | {"reward": 0.5}


@pytest.mark.parametrize(
    ("trials", "harness", "accepted"),
    [
        ({"a": EXIT_71, "b": EXIT_71}, "openclaw", False),
        ({"a": EXIT_71, "b": EXIT_71}, "codex", True),
        ({"a": EXIT_71, "b": 0.5}, "openclaw", True),
        ({"a": None, "b": None}, "openclaw", True),
        ({"a": failure("RewardFileEmptyError"), "b": failure("RewardFileNotFoundError")}, "openclaw", False),
        ({"a": {"execution_outcome": {"kind": "verifier_error"}}, "b": EXIT_71}, "openclaw", False),
    ],
)
def test_a_run_of_which_no_trial_reached_the_agent_is_rejected(tmp_path, trials, harness, accepted):
    found = run(tmp_path, trials, harness=harness)
    assert found.accepted is accepted
    assert found.acceptance_reason == ("" if accepted else "all_trials_harness_or_infrastructure_errors")
    assert ("run_rejected" in found.exclusion_reasons) is not accepted


@pytest.mark.parametrize(
    ("verdict", "accepted", "reason"),
    [
        ({"accepted": False, "reason": "incomplete_result_coverage"}, False, "incomplete_result_coverage"),
        ({"accepted": False}, False, ""),
        ({"accepted": "false"}, False, ""),
        ({"accepted": True}, True, ""),
        ({"accepted": None}, True, ""),
        ({"accepted": "who knows"}, True, ""),
        ("no object", True, ""),
    ],
)
def test_the_manifests_verdict_wins_over_clean_trials(tmp_path, verdict, accepted, reason):
    found = run(tmp_path, {"a": 1.0}, execution_acceptance=verdict)
    assert (found.accepted, found.acceptance_reason) == (accepted, reason)


def test_an_accepting_verdict_wins_over_trials_that_all_failed(tmp_path):
    found = run(tmp_path, {"a": EXIT_71}, execution_acceptance={"accepted": True})
    assert found.accepted
    assert found.exclusion_reasons == ["infra_dominated"]


@pytest.mark.parametrize(
    ("values", "reasons"),
    [
        ({"phase": "r0"}, ["r0_non_scoring_qualification"]),
        ({"phase": " R0 "}, ["r0_non_scoring_qualification"]),
        ({"repetition": 0}, ["r0_non_scoring_qualification"]),
        ({"repetition": "0"}, ["r0_non_scoring_qualification"]),
        ({"phase": "full", "repetition": 1}, []),
        ({"repetition": ABSENT}, []),
        ({"leaderboard_eligible": False, "repetition": 0}, ["explicitly_excluded", "r0_non_scoring_qualification"]),
        ({"leaderboard_eligible": False, "exclusion_reason": "smoke"}, ["smoke"]),
        ({"leaderboard_eligible": None, "exclusion_reason": "smoke"}, []),
        ({"leaderboard_eligible": False, "exclusion_reason": "incomplete"}, ["incomplete"]),
    ],
)
def test_qualification_and_explicit_exclusion(tmp_path, values, reasons):
    assert run(tmp_path, {"a": 1.0}, **values).exclusion_reasons == reasons


@pytest.mark.parametrize(
    ("agent", "values", "reasons"),
    [
        (REAL, NATIVE, []),
        ({}, NATIVE, ["canonical_model_identity_not_preserved", "trajectory_unavailable"]),
        (REAL, NATIVE | {"trajectory_mode": "replayed"}, ["trajectory_unavailable"]),
        ({"agent_result": {"canonical_model_identity": "true", "trajectory_status": "real"}}, NATIVE, ["canonical_model_identity_not_preserved"]),
        ({"agent_result": {"canonical_model_identity": True}}, NATIVE, ["trajectory_unavailable"]),
        ({}, {}, []),
        ({"source": "shellbench-native"}, {}, ["canonical_model_identity_not_preserved", "trajectory_unavailable"]),
        (failure("AgentTimeoutError"), NATIVE, ["canonical_model_identity_not_preserved"]),
        (failure("AgentTimeoutError") | REAL, NATIVE, []),
    ],
)  # fmt: skip
def test_identity_and_trajectory_gate_native_runs_only(tmp_path, agent, values, reasons):
    assert run(tmp_path, {"a": agent}, **values).exclusion_reasons == reasons


def test_an_agent_exit_without_a_real_trajectory_is_not_judged(tmp_path):
    trials = {"a": REAL, "b": failure("AgentTimeoutError"), "c": failure("DockerStartupError")}
    assert run(tmp_path, trials, **NATIVE).exclusion_reasons == []


def test_parity_is_no_gate(tmp_path):
    found = run(tmp_path, {"a": REAL}, **NATIVE, parity_validated=False)
    assert (found.parity.status, found.eligible) == ("not_validated", True)


def test_all_reasons_are_kept_in_the_order_of_the_gates(tmp_path):
    found = run(
        tmp_path, dict.fromkeys("abc", EXIT_71), ("a", "b", "c", "d"), runner="shellbench-native", phase="r0",
        leaderboard_eligible=0, execution_acceptance={"accepted": False},
    )  # fmt: skip
    assert found.exclusion_reasons == [
        "explicitly_excluded", "r0_non_scoring_qualification", "incomplete", "infra_dominated", "run_rejected",
        "harness_wide_failure", "canonical_model_identity_not_preserved", "trajectory_unavailable",
    ]  # fmt: skip


def copies(root, names, ids, **values):
    for name in names:
        trials = {task: result(task, 1.0, **({"id": f"id-{task}"} if ids else {})) for task in "ab"}
        write_run(root, name, trials, **values.get(name, {}))
    return {path.removeprefix("jobs/"): row["exclusion_reasons"] for path, row in Export(root).runs.items()}


@pytest.mark.parametrize("ids", [True, False])
def test_a_run_that_is_stored_twice_counts_once(tmp_path, ids):
    assert copies(tmp_path, ["r1", "r2", "r3"], ids) == {"r1": "", "r2": "duplicate_run", "r3": "duplicate_run"}


def test_equal_files_without_ids_are_copies_under_one_condition_only(tmp_path):
    low = {"r2": {"reasoning_effort": "low"}}
    assert copies(tmp_path / "files", ["r1", "r2"], False, **low) == {"r1": "", "r2": ""}
    assert copies(tmp_path / "ids", ["r1", "r2"], True, **low) == {"r1": "", "r2": "duplicate_run"}


def test_a_copy_counts_while_the_earlier_one_does_not(tmp_path):
    excluded = {"r1": {"leaderboard_eligible": False}}
    assert copies(tmp_path, ["r1", "r2", "r3"], True, **excluded) == {
        "r1": "explicitly_excluded", "r2": "", "r3": "duplicate_run",
    }  # fmt: skip


def test_a_hostile_count_repetition_and_reward_stop_nothing(tmp_path):
    write_run(tmp_path, "sound")
    folder = write_run(tmp_path, "hostile", {"a": 1.7e308, "b": 1.7e308}, repetition=1e30)
    manifest = (folder / "run_manifest.json").read_text()
    text = manifest.replace('"expected_task_count": 2', '"x": NaN, "expected_task_count": 1' + "0" * 400)
    write(folder / "run_manifest.json", text)
    write(folder / "a/result.json", "\ufeff" + (folder / "a/result.json").read_text())
    out = Export(tmp_path)
    assert out.runs["jobs/sound"]["score"] == "1.0"
    assert out.runs["jobs/hostile"]["score"] == ""
    assert out.runs["jobs/hostile"]["repetition"] == ""
    assert {"unreadable_number", "unreadable_repetition", "reward_out_of_range"} <= out.codes("jobs/hostile")
