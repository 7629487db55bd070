"""The outcome rules for Harbor trials, against the published error policy's own table."""

from __future__ import annotations

import pytest

from shellbench_lib.harbor_outcome import AGENT_TYPES, INFRA_TYPES, MISSING_REWARD_TYPES, harbor_outcome, keeps_reward
from shellbench_lib.records import TrialRecord


def outcome(exception_type="", reward=None, policy=None):
    return harbor_outcome(
        TrialRecord("t__1", exception_type=exception_type, recorded_reward=reward, policy_reward_valid=policy)
    )


@pytest.mark.parametrize("reward", [None, 0.0, 0.4, 1.0])
def test_without_an_exception_the_reward_decides(reward):
    assert outcome(reward=reward) == ("clean", ())


@pytest.mark.parametrize(
    "exception_type",
    [
        "EnvironmentStartTimeoutError", "AgentSetupTimeoutError", "SandboxBuildFailedError",  # infrastructure
        "ApiRateLimitError", "APIConnectionError", "Timeout",  # provider
        "BadRequestError", "BudgetExceededError", "VerifierTimeoutError",  # bad request and verifier
        "AuthenticationError", "ModelNotFoundError", "CancelledError", "RegradeError",  # authentication, cancellation
    ],
)  # fmt: skip
@pytest.mark.parametrize("reward", [None, 1.0])
def test_failures_around_the_agent_are_infrastructure_even_beside_a_reward(exception_type, reward):
    assert outcome(exception_type, reward) == ("infra_error", ())


@pytest.mark.parametrize(
    "exception_type", ["RewardFileNotFoundError", "RewardFileEmptyError", "VerifierOutputParseError"]
)
def test_a_verifier_without_a_usable_reward_is_a_missing_reward(exception_type):
    assert outcome(exception_type) == ("verifier_error", ())


@pytest.mark.parametrize(
    "exception_type", ["AgentTimeoutError", "NonZeroAgentExitCodeError", "OutputLengthExceededError"]
)
@pytest.mark.parametrize("reward", [None, 0.0, 1.0])
def test_an_agents_own_failure_keeps_its_reward(exception_type, reward):
    assert outcome(exception_type, reward) == ("agent_error", ())


def test_an_unknown_type_is_flagged_only_where_no_reward_stands_beside_it():
    assert outcome("ProcessLookupError") == ("agent_error", ("unknown_exception_type",))
    assert outcome("ProcessLookupError", 0.0) == ("agent_error", ())


def test_an_exception_info_of_another_shape_has_its_own_finding_and_no_second_one():
    assert outcome("MalformedExceptionInfo") == ("agent_error", ())


def test_a_recorded_policy_decides_before_the_groups():
    assert outcome("ApiError", 1.0, policy=True) == ("agent_error", ())
    assert outcome("AgentTimeoutError", 1.0, policy=False) == ("infra_error", ())
    assert outcome("RewardFileEmptyError", policy=False) == ("verifier_error", ())
    assert outcome("SomethingNew", 1.0, policy=False) == ("infra_error", ())
    assert outcome("", 1.0, policy=False) == ("verifier_error", ())


def test_the_groups_are_as_large_as_published_and_share_no_type():
    assert (len(INFRA_TYPES), len(MISSING_REWARD_TYPES), len(AGENT_TYPES)) == (12 + 16 + 7 + 12, 3, 8 + 1)
    assert not INFRA_TYPES & MISSING_REWARD_TYPES
    assert not (INFRA_TYPES | MISSING_REWARD_TYPES) & AGENT_TYPES
    assert all(keeps_reward(kind) for kind in AGENT_TYPES)
