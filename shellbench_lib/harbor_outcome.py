"""What became of a Harbor trial: the execution kind that Harbor's own error policy speaks for.

The groups are those of Harbor 0.26's published error policy. A policy that the file itself records decides before
them, so that the release which ran the trial is believed. An agent's own failure keeps its reward: a timed-out trial
is verified like any other, and a reward of 1 beside `AgentTimeoutError` is a real pass.
"""

from __future__ import annotations

from typing import Literal

from shellbench_lib.records import TrialRecord

Kind = Literal["clean", "agent_error", "infra_error", "verifier_error"]

MISSING_REWARD_TYPES = frozenset({"RewardFileNotFoundError", "RewardFileEmptyError", "VerifierOutputParseError"})
AGENT_TYPES = frozenset(
    {
        "NonZeroAgentExitCodeError", "AgentTimeoutError", "ContextWindowExceededError", "OutputTokenExceededError",
        "ContextLengthExceededError", "OutputLengthExceededError", "AgentSafetyRefusalError",
        "ContentPolicyViolationError",
        "MalformedExceptionInfo",  # the readers' own name for an exception_info of another shape
    }
)  # fmt: skip
INFRA_TYPES = frozenset(
    {
        # infrastructure
        "EnvironmentStartTimeoutError", "SandboxBuildFailedError", "AgentSetupTimeoutError", "HealthcheckError",
        "SandboxLikelyOutOfMemoryError", "MemoryLimitExceededError", "SSHAccessError", "GKEExecStreamClosedError",
        "GKEPodNotFoundError", "RuntimeRequestError", "AddTestsDirError", "DownloadVerifierDirError",
        # provider and API
        "ApiError", "ApiRateLimitError", "ApiInternalServerError", "ApiOverloadedError", "ApiConnectionClosedError",
        "ApiResponseStalledError", "UnknownApiError", "NetworkConnectionError", "ApiConnectionError",
        "ApiUsageLimitError", "RateLimitError", "InternalServerError", "ServiceUnavailableError",
        "APIConnectionError", "APIError", "Timeout",
        # bad request and verifier
        "UnsupportedModelParametersError", "BadRequestError", "UnprocessableEntityError", "UnsupportedParamsError",
        "APIResponseValidationError", "BudgetExceededError", "VerifierTimeoutError",
        # authentication, configuration and cancellation
        "AgentAuthenticationError", "ModelNotFoundError", "ApiProviderResourceNotFoundError", "AuthenticationError",
        "PermissionDeniedError", "NotFoundError", "ServiceOperationsUnsupportedError", "VercelScopeError",
        "DspyImportError", "MissingExtraError", "RegradeError", "CancelledError",
    }
)  # fmt: skip


def keeps_reward(exception_type: str) -> bool:
    """Return whether the published policy takes a reward beside this exception as valid; unknown types do."""
    return exception_type not in INFRA_TYPES and exception_type not in MISSING_REWARD_TYPES


def harbor_outcome(trial: TrialRecord) -> tuple[Kind, tuple[str, ...]]:
    """Return the execution kind of a trial with a readable result, and findings codes about it.

    `clean` leaves the class to the reward, `agent_error` keeps the reward, the other two never score. An exception
    of a type in no known list is an agent's failure; it is flagged `unknown_exception_type` when no reward stands
    beside it, since nothing then tells whether the agent ever ran.
    """
    kind = trial.exception_type
    if not kind:
        return ("verifier_error" if trial.policy_reward_valid is False else "clean"), ()
    valid = keeps_reward(kind) if trial.policy_reward_valid is None else trial.policy_reward_valid
    if not valid:
        return ("verifier_error" if kind in MISSING_REWARD_TYPES else "infra_error"), ()
    unknown = keeps_reward(kind) and kind not in AGENT_TYPES
    return "agent_error", ("unknown_exception_type",) if unknown and trial.recorded_reward is None else ()
