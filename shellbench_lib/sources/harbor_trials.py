"""One Harbor trial: the condition it ran under, and what only Harbor records (steps, policies, regrades, trajectories).

Identity is read from the trial itself. A field that can be read in several places is taken from the first that has it;
where none has, it stays empty and an override may set it.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

import orjson

from shellbench_lib.harbor_outcome import keeps_reward
from shellbench_lib.records import Condition, TrialRecord
from shellbench_lib.sources.files import MatrixFolder, UnreadableFileError, join, shown
from shellbench_lib.sources.harbor_jobs import RESULT, Place
from shellbench_lib.sources.native import trial_stem
from shellbench_lib.sources.trials import Note, exception_of, task_path_of, trial_from_result, usage_of
from shellbench_lib.sources.values import first_text, mapping, text

TRAJECTORY = "agent/trajectory.json"
MAX_TRAJECTORY_BYTES = 32 * 2**20  # only four sums at its end are wanted
USAGE_FIELDS = ("n_input_tokens", "n_cache_tokens", "n_output_tokens", "cost_usd")
_TRAJECTORY_TOTALS = {
    "n_input_tokens": "total_prompt_tokens",
    "n_cache_tokens": "total_cached_tokens",
    "n_output_tokens": "total_completion_tokens",
    "cost_usd": "total_cost_usd",
}
_EFFORT_KWARGS = ("reasoning_effort", "reasoning-effort", "thinking")
_THINKING_TOKENS = "max_thinking_tokens"
_EFFORT_VARIABLES = ("CLAUDE_CODE_EFFORT_LEVEL", "LLM_REASONING_EFFORT")
_EFFORT_IN_MODEL = re.compile(r"\beffort=([A-Za-z]+)")
_UNDETECTED_VERSION = "unknown"  # what Harbor writes when it could not tell the agent's version
_Notes = list[tuple[str, str, str]]


@dataclass(frozen=True, slots=True)
class AgentSetting:
    """What a trial's agent was asked to be. `config` identifies it; `kwargs` are the arguments, as sorted JSON each.

    The argument that the effort was read from is not among `kwargs`.
    """

    condition: Condition
    config: bytes
    kwargs: dict[str, bytes]


@dataclass(slots=True)
class HarborTrial:
    """A trial before it belongs to a run.

    `condition` has no model slug yet where the trial names none. `notes` wait for the run's path.
    """

    record: TrialRecord
    condition: Condition
    setting: AgentSetting
    job_id: str
    notes: _Notes


def _canonical(value: Any) -> bytes:
    """Return a JSON value as sorted JSON, to tell equal ones; the slow writer takes what the fast one refuses."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:  # an integer of more than 64 bits, or deep nesting
        try:
            return json.dumps(value, sort_keys=True).encode()
        except RecursionError:
            return b'"nested too deeply"'


class TrialReader:
    """Reads the trials of one matrix; trials of one setting share it."""

    def __init__(self, folder: MatrixFolder, reward_key: str) -> None:
        self._folder = folder
        self._reward_key = reward_key
        self._settings: dict[tuple[bytes, bytes], AgentSetting] = {}

    def read(self, place: Place) -> HarborTrial:
        """Return a trial with a readable result, or one with an unreadable result as its `config.json` tells it."""
        notes: _Notes = []

        def note(code: str, field_name: str, message: str) -> None:
            notes.append((code, field_name, message))

        if place.kind == "trial":
            result, record = _readable(self._folder, place, self._reward_key, note)
        else:
            result, record = _unreadable(place, note)
        config = mapping(result.get("config"))
        setting = self._setting(result, mapping(config.get("agent")))
        return HarborTrial(record, setting.condition, setting, text(config.get("job_id")), notes)

    def _setting(self, result: dict[str, Any], agent: dict[str, Any]) -> AgentSetting:
        task = mapping(result.get("task_id"))
        told = [result.get("agent_info"), result.get("source"), task.get("git_commit_id"), task.get("ref")]
        key = _canonical(agent), _canonical(told)
        known = self._settings.get(key)
        if known is None:
            condition, effort_key = condition_of(result, agent)
            kwargs = mapping(agent.get("kwargs"))
            others = {name: _canonical(value) for name, value in sorted(kwargs.items()) if name != effort_key}
            known = self._settings[key] = AgentSetting(condition, key[0], others)
        return known


def _unreadable(place: Place, note: Note) -> tuple[dict[str, Any], TrialRecord]:
    path = shown(join(place.path, RESULT))
    name = shown(place.path).rpartition("/")[2]
    note("malformed_result", RESULT, f"{path} {place.fault}")
    task = mapping(place.config.get("task"))
    result: dict[str, Any] = {"config": place.config, "task_id": {**task, **package_of(text(task.get("name")), task)}}
    result["source"] = task.get("source")
    record = TrialRecord(name, name, result_path=path, result_state="invalid", task_path=_task_path(result))
    return result, record


def package_of(name: str, task: dict[str, Any]) -> dict[str, str]:
    """Return organisation and name of a package task's configuration, nothing for other tasks."""
    if text(task.get("path")) or "/" not in name:
        return {}
    organisation, _, rest = name.partition("/")
    return {"org": organisation, "name": rest}


def _readable(folder: MatrixFolder, place: Place, reward_key: str, note: Note) -> tuple[dict[str, Any], TrialRecord]:
    result = place.result
    recorded = result.get("step_results")
    steps = [mapping(step) for step in recorded] if isinstance(recorded, list) else []
    exceptions = [info for info in (result, *steps) if info.get("exception_info") is not None]
    if exceptions:
        result = {**result, "exception_info": _deciding(exceptions)}
    record = trial_from_result(
        result, place.data, directory=shown(place.path).rpartition("/")[2],
        result_path=shown(join(place.path, RESULT)), reward_key=reward_key, note=note,
    )  # fmt: skip
    record.task_path = _task_path(result) or record.task_title or trial_stem(record.directory)
    record.policy_reward_valid = _recorded_policy(result, exceptions)
    if text(mapping(mapping(result.get("config")).get("source_trial")).get("action")) == "regrade":
        note("regraded_trial", "source_trial", "tokens and cost are the verified trial's; left unknown here")
        _set_usage(record, dict.fromkeys(USAGE_FIELDS))
    elif steps and not isinstance(result.get("agent_result"), dict):
        _set_usage(record, _summed_usage(steps, note))
    elif all(getattr(record, name) is None for name in USAGE_FIELDS):
        _set_usage(record, _trajectory_usage(folder, place, note))
    return result, record


def _deciding(exceptions: list[dict[str, Any]]) -> Any:
    """Return the first exception that makes the reward invalid, else the first of all."""
    ignore: Note = lambda *_: None  # noqa: E731 - the record's own reading files what is unusual
    for holder in exceptions:
        if not keeps_reward(exception_of(holder["exception_info"], ignore)[0]):
            return holder["exception_info"]
    return exceptions[0]["exception_info"]


def _recorded_policy(result: dict[str, Any], exceptions: list[dict[str, Any]]) -> bool | None:
    """Return whether the file itself calls the reward valid; None where it says nothing or there is no reward."""
    policies = [mapping(mapping(holder["exception_info"]).get("policy")) for holder in exceptions]
    answers = [policy.get("has_valid_reward") for policy in policies]
    recorded = [answer for answer in answers if isinstance(answer, bool)]
    if recorded:
        return all(recorded)
    valid = result.get("reward_valid")
    has_reward = bool(mapping(mapping(result.get("verifier_result")).get("rewards")))
    return valid if isinstance(valid, bool) and has_reward else None


def _set_usage(record: TrialRecord, usage: dict[str, float | None]) -> None:
    for name in USAGE_FIELDS:
        setattr(record, name, usage[name])


def _summed_usage(steps: list[dict[str, Any]], note: Note) -> dict[str, float | None]:
    parts = [usage_of(mapping(step.get("agent_result")), note) for step in steps]
    usage: dict[str, float | None] = {}
    for name in USAGE_FIELDS:
        known = [value for part in parts if (value := part[name]) is not None]
        usage[name] = sum(known) if known else None
        if 0 < len(known) < len(parts):
            note("partial_usage", name, f"recorded by {len(known)} of {len(parts)} steps")
    return usage


def _trajectory_usage(folder: MatrixFolder, place: Place, note: Note) -> dict[str, float | None]:
    try:
        found = folder.read_object(join(place.path, TRAJECTORY), limit=MAX_TRAJECTORY_BYTES)
    except UnreadableFileError:
        found = None  # a trace that cannot be used leaves its sums unknown
    if found is None:
        return dict.fromkeys(USAGE_FIELDS)
    totals = mapping(found[0].get("final_metrics"))
    return usage_of({name: totals.get(total) for name, total in _TRAJECTORY_TOTALS.items()}, note)


def _task_path(result: dict[str, Any]) -> str:
    task = mapping(result.get("task_id"))
    path = task_path_of(result)
    if not path and text(task.get("name")):
        path = "/".join(filter(None, (text(task.get("org")), text(task.get("name")))))
    return path


def condition_of(result: dict[str, Any], agent: dict[str, Any]) -> tuple[Condition, str]:
    """Return the condition that a trial records, and the agent argument that its effort was read from.

    The slug, and the provider where the model id begins with it, are left to `with_names`: an override of the model id
    then decides them too.
    """
    info = mapping(result.get("agent_info"))
    model = mapping(info.get("model_info"))
    named = "/".join(filter(None, (text(model.get("provider")), text(model.get("name")))))
    model_id = text(agent.get("model_name")) or named
    effort, effort_key = _effort(agent, model_id)
    version = text(info.get("version"))
    task = mapping(result.get("task_id"))
    condition = Condition(
        harness=text(info.get("name")) or first_text(agent, "name", "import_path"),
        harness_version="" if version == _UNDETECTED_VERSION else version,
        model_id=model_id,
        model_provider="" if "/" in model_id else text(model.get("provider")),
        reasoning_effort=effort,
        task_revision=first_text(task, "git_commit_id", "ref"),
        task_suite=text(result.get("source")),
    )
    return condition, effort_key


def _effort(agent: dict[str, Any], model_id: str) -> tuple[str, str]:
    """Return the reasoning effort and the argument it came from; empty means the agent's default, not `none`."""
    kwargs, variables = mapping(agent.get("kwargs")), mapping(agent.get("env"))
    for key in _EFFORT_KWARGS:
        value = kwargs.get(key)
        if isinstance(value, str) and value.strip():
            return value, key
    if tokens := text(kwargs.get(_THINKING_TOKENS)):
        return f"{_THINKING_TOKENS}={tokens}", _THINKING_TOKENS
    for name in _EFFORT_VARIABLES:
        value = text(variables.get(name))
        if value and "${" not in value:  # a template stands for a value that the file does not hold
            return value, ""
    match = _EFFORT_IN_MODEL.search(model_id)
    return (match.group(1) if match else ""), ""
