"""One trial's outcome: what decides first, which words count, and which reward scores."""

import pytest

from shellbench_lib.outcomes import AGENT_TYPES, INFRA_PHRASES, INFRA_TYPES, exit_code_of, outcome_of
from shellbench_lib.records import Condition, RunRecord, TrialRecord


def outcome(kind="", message="", reward=0.5, harness="openclaw", **values):
    trial = TrialRecord(
        trial_name=values.pop("trial_name", "t__x"),
        recorded_reward=reward,
        exception_type=kind,
        exception_message=message,
        **values,
    )
    return outcome_of(trial, RunRecord("r", "r", "native", Condition(harness=harness)))


@pytest.mark.parametrize(
    ("reward", "expected"),
    [
        (None, "verifier_missing_reward"), (-0.5, "clean_fail"), (-0.0, "clean_fail"), (0.0, "clean_fail"),
        (5e-324, "partial"), (0.5, "partial"), (0.9999999999999999, "partial"), (1.0, "pass"), (1.5, "pass"),
    ],
)  # fmt: skip
def test_a_clean_trial_is_classed_by_its_reward_without_a_tolerance(reward, expected):
    found = outcome(reward=reward)
    assert (found.classification, found.kind, found.reward) == (expected, "clean", reward)


@pytest.mark.parametrize(
    ("kind", "expected", "scored"),
    [
        *((name, ("infra", "infra_error"), None) for name in sorted(INFRA_TYPES)),
        *((name, ("agent_exit", "agent_error"), 0.5) for name in sorted(AGENT_TYPES)),
        ("RewardFileEmptyError", ("verifier_missing_reward", "verifier_error"), None),
        ("RewardFileNotFoundError", ("verifier_missing_reward", "verifier_error"), None),
        ("NonZeroAgentExitCodeError", ("agent_exit", "agent_error"), 0.5),
        ("SomethingNewError", ("agent_exit", "agent_error"), 0.5),
    ],
)
def test_the_type_of_the_exception_decides_and_an_agent_exit_keeps_its_reward(kind, expected, scored):
    found = outcome(kind, "plain words")
    assert (found.classification, found.kind) == expected
    assert found.reward == scored


@pytest.mark.parametrize("phrase", INFRA_PHRASES)
def test_words_of_infrastructure_count_only_where_the_type_is_mute(phrase):
    message = f"The {phrase.upper()} said no"
    assert outcome("NonZeroAgentExitCodeError", message).classification == "infra"
    assert outcome("SomethingNewError", message).classification == "infra"
    assert outcome("AgentTimeoutError", message).classification == "agent_exit"
    assert outcome("AgentSafetyRefusalError", message).classification == "agent_exit"
    assert outcome("ContextWindowExceededError", message).classification == "agent_exit"
    assert outcome("RewardFileEmptyError", message).classification == "verifier_missing_reward"


@pytest.mark.parametrize(
    "names",
    [
        {"task_path": "suite/nginx-proxy"},
        {"task_title": "Nginx-Proxy"},
        {"trial_name": "nginx-proxy__x"},
        {"directory": "nginx-proxy__x", "trial_name": "t"},
        {"trial_name": "NGINX-PROXY"},
    ],
)
def test_the_trials_own_names_are_taken_out_in_any_case(names):
    assert outcome("NonZeroAgentExitCodeError", "cd /tasks/nginx-proxy failed", **names).classification == "agent_exit"
    both = "cd /tasks/nginx-proxy: connection refused"
    assert outcome("NonZeroAgentExitCodeError", both, **names).classification == "infra"


@pytest.mark.parametrize("name", ["to", "a", "t", "connect", "conn", " "])
def test_a_short_task_name_does_not_break_up_words_of_infrastructure(name):
    found = outcome("NonZeroAgentExitCodeError", "failed to connect", task_path=f"suite/{name}", trial_name=name)
    assert found.classification == "infra"


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("exit code 71", 71), ("exited with code 70.", 70), ("exit code: 1", 1), ("code=2", 2), ("Exit Code 3", 3),
        ("code -9", -9), ("codename 71", None), ("encode 71", None), ("no number", None), ("", None),
        ("code 7100", 7100), ("code 71x", None),
    ],
)  # fmt: skip
def test_the_exit_code_is_the_number_behind_the_word(message, code):
    assert exit_code_of(message) == code


@pytest.mark.parametrize("code", [70, 71])
def test_only_openclaw_has_exit_codes_of_its_harness(code):
    message = f"command failed (exit code {code})"
    found = outcome("NonZeroAgentExitCodeError", message)
    assert (found.classification, found.kind, found.exit_code, found.reward) == ("infra", "harness_error", code, None)
    assert outcome("NonZeroAgentExitCodeError", message, harness="codex").classification == "agent_exit"
    assert outcome("NonZeroAgentExitCodeError", "exit code 72").classification == "agent_exit"
    assert outcome("AgentTimeoutError", message).classification == "agent_exit"


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("harness_error", "infra"), ("infra_error", "infra"), ("verifier_error", "verifier_missing_reward"),
        ("agent_error", "agent_exit"), ("clean", "partial"), ("pending", "partial"), ("", "partial"),
        ("strange", "partial"),
    ],
)  # fmt: skip
def test_a_recorded_execution_outcome_decides_before_the_exception(kind, expected):
    found = outcome(outcome_kind=kind, outcome_exit_code=9, outcome_reason="why")
    assert (found.classification, found.exit_code, found.reason) == (expected, 9, "why")
    assert found.kind == ("clean" if kind in {"pending", ""} else kind)
    assert found.flags == (("unknown_execution_outcome",) if kind == "strange" else ())
    if kind not in {"clean", "pending", "", "strange"}:
        assert outcome("AgentTimeoutError", outcome_kind=kind).classification == expected


def test_an_exception_beside_a_clean_outcome_still_decides_but_not_by_the_exit_code():
    assert outcome("AgentTimeoutError", outcome_kind="clean").classification == "agent_exit"
    assert outcome("VerifierTimeoutError", outcome_kind="clean").classification == "infra"
    found = outcome("NonZeroAgentExitCodeError", "exit code 71", outcome_kind="clean")
    assert (found.classification, found.kind) == ("agent_exit", "clean")


def test_the_scorecard_decides_first():
    found = outcome(
        "AgentTimeoutError", "slow", outcome_kind="agent_error", scorecard_infra_message="the judge is away"
    )
    assert (found.classification, found.kind, found.reward) == ("infra", "infra_error", None)
    assert (found.exception_type, found.exception_message) == ("VerifierJudgeInfraError", "the judge is away")
    assert found.reason == "the judge is away"


@pytest.mark.parametrize(("state", "kind"), [("missing", "MissingResultError"), ("invalid", "InvalidResultError")])
def test_a_trial_without_a_readable_result_is_infrastructure(state, kind):
    found = outcome(result_state=state, reward=None)
    assert (found.classification, found.exception_type, found.reward) == ("infra", kind, None)
