"""One `result.json` of a Harbor-shaped trial as a trial record: the fields that native runs and Harbor share."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from shellbench_lib.records import ID_PREFIX, NO_INTERVAL, Interval, TrialRecord
from shellbench_lib.sources.values import mapping, number, reward, text, whole
from shellbench_lib.text import without_private

MAX_MESSAGE = 2000  # characters kept of a message; upstream's own limit for judge messages
Note = Callable[[str, str, str], None]
"""Takes a findings code, a field and a message, and files them under the trial at hand."""

_USAGE_ALIASES = (
    ("n_input_tokens", ("n_input_tokens", "input_tokens")),
    ("n_cache_tokens", ("n_cache_tokens", "cache_tokens")),
    ("n_output_tokens", ("n_output_tokens", "output_tokens")),
    ("cost_usd", ("cost_usd", "estimated_cost_usd", "total_cost_usd")),
)


def task_path_of(result: dict[str, Any]) -> str:
    """Return the task's path with `/` as separator; empty where none is recorded."""
    return text(mapping(result.get("task_id")).get("path")).replace("\\", "/")


def is_absolute(path: str) -> bool:
    """Return whether a task path names a place on one machine (`/...`, `C:/...`, `~/...`, `file:...`)."""
    return path.startswith(("/", "~", "file:")) or path[1:3] == ":/"


def portable_paths(paths: Iterable[str]) -> dict[str, str]:
    """Return for each absolute task path the part of it that may be shown and compared between machines.

    That is its leaf, with as many parent folders before it as tell it from the other paths given. Relative paths are
    left out of the result.
    """
    parts = {path: tuple(filter(None, path.split("/"))) for path in set(paths) if is_absolute(path)}
    distinct = set(parts.values())
    endings: dict[tuple[str, ...], tuple[str, ...]] = {}
    length = 0
    while len(endings) < len(distinct):
        length += 1
        counts = Counter(components[-length:] for components in distinct)
        for components in distinct - endings.keys():
            if counts[components[-length:]] == 1 or length >= len(components):
                endings[components] = components[-length:]
    return {path: "/".join(endings[components]) for path, components in parts.items()}


def usage_of(agent_result: dict[str, Any], note: Note) -> dict[str, float | None]:
    """Return tokens and US dollars of an agent_result; the first alias that is a number counts, negative is unknown."""
    usage: dict[str, float | None] = {}
    for name, aliases in _USAGE_ALIASES:
        found = None
        for alias in aliases:
            found = number(agent_result.get(alias))
            if found is not None:
                break
        if found is not None and found < 0:
            note("negative_value", name, f"{found} is no count; treated as unknown")
            found = None
        usage[name] = found
    return usage


def recorded_reward(verifier_result: Any, reward_key: str, note: Note) -> tuple[float | None, tuple[str, ...]]:
    """Return the reward under the declared key and its flags; no other key is ever taken instead."""
    rewards = mapping(mapping(verifier_result).get("rewards"))
    if reward_key not in rewards:
        if rewards:
            note("reward_key_absent", reward_key, f"absent; keys present: {', '.join(sorted(rewards))}")
            return None, ("reward_key_absent",)
        return None, ()
    value, flags = reward(rewards[reward_key])
    for code in flags:
        note(code, reward_key, f"recorded value {text(rewards[reward_key])[:60] or type(rewards[reward_key]).__name__}")
    return value, flags


def message_text(message: str) -> str:
    """Return a recorded message as it is kept: without homes and credentials, cut to `MAX_MESSAGE` characters."""
    return without_private(message)[:MAX_MESSAGE]


def exception_of(info: Any, note: Note) -> tuple[str, str, str]:
    """Return type, message and time of an exception_info; one of another shape is an agent exit, flagged."""
    if info is None:
        return "", "", ""
    details = mapping(info)
    kind = text(details.get("exception_type"))
    if not kind:
        note("malformed_exception", "exception_info", "no object with an exception_type; taken as an agent exit")
        kind = "MalformedExceptionInfo"
    message = text(details.get("exception_message"))
    if not details:
        message = text(info)
    return kind, message_text(message), text(details.get("occurred_at"))


def _interval(value: Any) -> Interval:
    if not isinstance(value, dict):
        return NO_INTERVAL
    return Interval(text(value.get("started_at")), text(value.get("finished_at")))


def trial_from_result(
    result: dict[str, Any], data: bytes, *, directory: str, result_path: str, reward_key: str, note: Note
) -> TrialRecord:
    """Return the record of a readable `result.json`.

    Args:
        result: the parsed file.
        data: its bytes, for the fingerprint of a trial without an id.
        directory: name of the trial's directory.
        result_path: path of the file under matrix_path.
        reward_key: the one key that is read from the trial's rewards.
        note: files what is unusual under this trial.
    """
    agent_result = mapping(result.get("agent_result"))
    outcome = mapping(result.get("execution_outcome"))
    value, flags = recorded_reward(result.get("verifier_result"), reward_key, note)
    kind, message, occurred_at = exception_of(result.get("exception_info"), note)
    usage = usage_of(agent_result, note)
    trial_id = text(result.get("id"))
    identity = agent_result.get("canonical_model_identity")
    return TrialRecord(
        trial_name=text(result.get("trial_name")) or directory,
        directory=directory,
        task_path=task_path_of(result),
        task_title=text(result.get("task_name")).replace("\\", "/"),
        result_path=result_path,
        fingerprint=f"{ID_PREFIX}{trial_id}" if trial_id else f"sha256:{hashlib.sha256(data).hexdigest()}",
        recorded_reward=value,
        reward_flags=flags,
        exception_type=kind,
        exception_message=message,
        exception_occurred_at=occurred_at,
        started_at=text(result.get("started_at")),
        finished_at=text(result.get("finished_at")),
        environment_setup=_interval(result.get("environment_setup")),
        agent_setup=_interval(result.get("agent_setup")),
        agent_execution=_interval(result.get("agent_execution")),
        verifier=_interval(result.get("verifier")),
        n_input_tokens=usage["n_input_tokens"],
        n_cache_tokens=usage["n_cache_tokens"],
        n_output_tokens=usage["n_output_tokens"],
        cost_usd=usage["cost_usd"],
        source=text(result.get("source")),
        trajectory_status=text(agent_result.get("trajectory_status")),
        runtime_model_name=text(agent_result.get("runtime_model_name")),
        canonical_model_identity=identity if isinstance(identity, bool) else None,
        outcome_kind=text(outcome.get("kind")),
        outcome_exit_code=whole(outcome.get("exit_code")),
        outcome_reason=message_text(text(outcome.get("reason"))),
    )
