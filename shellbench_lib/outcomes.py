"""What one trial's outcome is: the execution kind, the class and the reward that scores.

Classes (upstream's taxonomy): `infra`, `agent_exit`, `verifier_missing_reward`, `clean_fail`, `partial`, `pass`.
A scorecard that reports an infrastructure error decides first, then a recorded execution outcome, then the exception,
then the reward. The exception's type decides before its text: words of infrastructure are looked for only where the
type says nothing, with the task's and the trial's own names taken out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from shellbench_lib.harbor_outcome import harbor_outcome
from shellbench_lib.records import RunRecord, TrialRecord

PASS_REWARD = 1.0  # solved means a scored reward of at least this, without a tolerance
JUDGE_ERROR = "VerifierJudgeInfraError"
MISSING_REWARD_TYPES = frozenset({"RewardFileEmptyError", "RewardFileNotFoundError"})
INFRA_TYPES = frozenset(
    {
        "AgentSetupError", "AgentSetupTimeoutError", "DockerStartupError", "EnvironmentStartTimeoutError",
        "GatewaySetupError", "GatewayTimeoutError", "InvalidManifestError", "InvalidResultError", "MissingResultError",
        JUDGE_ERROR, "VerifierTimeoutError",
    }
)  # fmt: skip
AGENT_TYPES = frozenset(
    {
        "AgentTimeoutError", "AgentSafetyRefusalError", "ContextWindowExceededError", "ContextLengthExceededError",
        "OutputTokenExceededError", "OutputLengthExceededError", "ContentPolicyViolationError",
        "MalformedExceptionInfo",
    }
)  # fmt: skip
EXIT_CODE_TYPE = "NonZeroAgentExitCodeError"
HARNESS_EXIT_CODES = {"openclaw": frozenset({70, 71})}
INFRA_PHRASES = (
    "connection refused", "connection reset", "docker daemon", "docker startup", "failed to connect", "gateway",
    "host.docker.internal", "litellm", "model not found", "no healthy upstream", "proxy", "service unavailable",
    "timed out waiting for container", "upstream connect",
)  # fmt: skip
KIND_CLASSES = {
    "harness_error": "infra",
    "infra_error": "infra",
    "verifier_error": "verifier_missing_reward",
    "agent_error": "agent_exit",
}
FAILED_BEFORE_AGENT = frozenset({"harness_error", "infra_error", "verifier_error"})
UNSCORED_CLASSES = frozenset({"infra", "verifier_missing_reward"})
_KNOWN_KINDS = frozenset({"clean", "pending", *KIND_CLASSES})
_EXIT_CODE = re.compile(r"\bcode\b[\s:=]*(-?\d{1,9})\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Outcome:
    """One trial's outcome. `reward` is the scored reward, None where none scores; `flags` holds findings codes."""

    classification: str
    kind: str
    exit_code: int | None
    reason: str
    reward: float | None
    exception_type: str
    exception_message: str
    flags: tuple[str, ...] = ()


def exit_code_of(message: str) -> int | None:
    """Return the number after the word `code` in an exception's message."""
    match = _EXIT_CODE.search(message)
    return int(match.group(1)) if match else None


def _smells_of_infra(trial: TrialRecord) -> bool:
    words = f"{trial.exception_type} {trial.exception_message}".lower()
    if not _holds_phrase(words):
        return False
    trial_names = (trial.trial_name, trial.directory)
    names = {*trial_names, *(name.rpartition("__")[0] for name in trial_names)}
    for task in (trial.task_title, trial.task_path):
        names |= {task, task.rpartition("/")[2]}
    # Only a name that holds such a word is taken out: a task called `to` must not break up "failed to connect".
    for name in sorted(filter(_holds_phrase, {name.lower() for name in names}), key=lambda name: (-len(name), name)):
        words = words.replace(name, " ")
    return _holds_phrase(words)


def _holds_phrase(words: str) -> bool:
    return any(phrase in words for phrase in INFRA_PHRASES)


def _exception_kind(trial: TrialRecord, harness: str) -> str:
    """Return the execution kind that an exception speaks for: the type first, its text only where the type is mute."""
    kind = trial.exception_type
    if not kind:
        return "clean"
    if kind == EXIT_CODE_TYPE and exit_code_of(trial.exception_message) in HARNESS_EXIT_CODES.get(harness, ()):
        return "harness_error"
    if kind in MISSING_REWARD_TYPES:
        return "verifier_error"
    if kind in INFRA_TYPES:
        return "infra_error"
    if kind in AGENT_TYPES or not _smells_of_infra(trial):
        return "agent_error"
    return "infra_error"


def _reward_class(reward: float | None) -> str:
    if reward is None:
        return "verifier_missing_reward"
    if reward <= 0:
        return "clean_fail"
    return "partial" if reward < PASS_REWARD else "pass"


def _native_kind(trial: TrialRecord, harness: str) -> tuple[str, str, tuple[str, ...]]:
    """Return (the kind shown, the kind that decides, findings codes) of a native trial."""
    recorded = trial.outcome_kind
    inferred = _exception_kind(trial, harness)
    if not recorded or recorded == "pending":
        return inferred, inferred, ()
    if recorded in KIND_CLASSES:
        return recorded, recorded, ()
    flags = () if recorded in _KNOWN_KINDS else ("unknown_execution_outcome",)
    # Upstream lets the exception decide when the recorded kind is clean or unknown, without the harness exit codes.
    return recorded, "agent_error" if inferred == "harness_error" else inferred, flags


def outcome_of(trial: TrialRecord, run: RunRecord) -> Outcome:
    """Return what a trial's outcome is under the rules of its source."""
    exception_type, message = trial.exception_type, trial.exception_message
    exit_code, reason = trial.outcome_exit_code, trial.outcome_reason
    flags: tuple[str, ...] = ()
    if trial.result_state != "valid":
        shown = deciding = "infra_error"
        exception_type = "MissingResultError" if trial.result_state == "missing" else "InvalidResultError"
    elif trial.scorecard_infra_message is not None:
        shown = deciding = "infra_error"
        exception_type = JUDGE_ERROR
        message = reason = trial.scorecard_infra_message
    elif run.source_kind == "harbor":
        shown, flags = harbor_outcome(trial)
        deciding = shown
    else:
        shown, deciding, flags = _native_kind(trial, run.condition.harness)
    if exit_code is None and trial.outcome_kind in {"", "pending"}:
        exit_code = exit_code_of(trial.exception_message)
    classification = KIND_CLASSES.get(deciding) or _reward_class(trial.recorded_reward)
    reward = None if classification in UNSCORED_CLASSES else trial.recorded_reward
    return Outcome(classification, shown, exit_code, reason, reward, exception_type, message, flags)
