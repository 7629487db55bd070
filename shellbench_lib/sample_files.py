"""How a synthetic run looks on disk: the JSON of a native ShellBench run manifest, job and trial.

The fields are those that native runs write. What stands in them comes from a `SampleRun`, an `Outcome` and a number
draw; nothing here decides who solves what. Addresses and paths are placeholders of the kind that real manifests hold
(RFC 5737 address, `/srv/example`), so that a report which leaks one of them can be caught.
"""

from __future__ import annotations

import hashlib
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson

SUITE = "shell-suite/tasks"
SUITE_ROOT = "/srv/example/shell-suite/tasks"
JOBS_ROOT = "/srv/example/jobs"
PRIVATE_ADDRESS = "192.0.2.10"
JUDGE = "granite-judge-1"
HARNESS_VERSIONS = {"openclaw": "2026.1.4", "hermes": "0.9.2", "codex": "0.77.0", "claude-code": "2.1.0"}
CONCURRENCY = 4
SLOT = timedelta(minutes=25)  # longer than the longest trial, so that no two trials of one slot overlap
AGENT_TIMEOUT_SECONDS = 900
_FIRST_START = datetime(2026, 1, 5, 8, tzinfo=UTC)
_RUN_SPACING = timedelta(hours=16)
_TEXT = "microseconds"


@dataclass(frozen=True, slots=True)
class SampleModel:
    """An invented model: name, provider, how much easier tasks are for it, US dollars per million output tokens."""

    slug: str
    provider: str
    skill: float
    price: int

    @property
    def model_id(self) -> str:
        """Provider and name, as a native manifest records it."""
        return f"{self.provider}/{self.slug}"


@dataclass(frozen=True, slots=True)
class SampleRun:
    """One run to be written. `fate` says what becomes of it; `index` spaces the runs in time."""

    harness: str
    model: SampleModel
    effort: str
    repetition: int
    tasks: tuple[str, ...]
    index: int
    fate: str = "full"

    @property
    def started(self) -> datetime:
        """When the run starts."""
        return _FIRST_START + self.index * _RUN_SPACING

    @property
    def label(self) -> str:
        """The run label as native runs write it."""
        kind = "qualification" if self.repetition == 0 else "full"
        condition = f"{self.harness}-{self.model.slug}-{self.effort}"
        return f"{condition}-{kind}-{len(self.tasks)}-r{self.repetition}-{self.started:%Y%m%d}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one trial ended.

    `kind`, `exit_code` and `reason` are the recorded execution outcome; `reward` is `None` where none was recorded;
    `judge_failed` writes a scorecard that overrides the reward; `started_agent` is false where the environment never
    came up; `finished` is false where the run ended first.
    """

    reward: float | None
    kind: str = "clean"
    exit_code: int | None = 0
    reason: str | None = None
    exception_type: str = ""
    exception_message: str = ""
    judge_failed: bool = False
    started_agent: bool = True
    finished: bool = True


class Draw:
    """Eight numbers of 0 <= u < 1 that belong to a name: the BLAKE2b-512 digest, 53 bits of each 64-bit word."""

    def __init__(self, name: str) -> None:
        digest = hashlib.blake2b(name.encode()).digest()
        words = [int.from_bytes(digest[start : start + 8], "big") for start in range(0, 64, 8)]
        self._numbers = [(word >> 11) / 2**53 for word in words]

    def __getitem__(self, index: int) -> float:
        return self._numbers[index]

    def between(self, index: int, low: int, high: int) -> int:
        """Return a whole number of low <= n < high."""
        return low + int(self._numbers[index] * (high - low))


def _time(moment: datetime) -> str:
    return moment.isoformat(timespec=_TEXT).replace("+00:00", "Z")


def _uuid(name: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"sample:{name}"))


def _digest(name: str, size: int = 32) -> str:
    return hashlib.blake2b(name.encode(), digest_size=size).hexdigest()


REVISION = _digest(SUITE, 20)


def title(task: str) -> str:
    """Return the display title of a task; native runs write it as `task_name`."""
    return task.replace("-", " ").title()


def _phases(start: datetime, outcome: Outcome, draw: Draw) -> tuple[dict[str, Any], datetime]:
    """Return the four phases, `None` for one that was not reached, and when the last one ended."""
    timed_out = outcome.reason == "agent_timeout"
    agent_seconds = AGENT_TIMEOUT_SECONDS if timed_out else draw.between(5, 60, AGENT_TIMEOUT_SECONDS - 20)
    lengths = {
        "environment_setup": draw.between(2, 20_000, 60_000),
        "agent_setup": draw.between(3, 5_000, 20_000),
        "agent_execution": agent_seconds * 1000 + draw.between(4, 0, 1000),
        "verifier": draw.between(6, 10_000, 50_000),
    }
    reached = len(lengths) if outcome.finished else 3
    phases: dict[str, Any] = dict.fromkeys(lengths)
    now = start
    for name, milliseconds in list(lengths.items())[: reached if outcome.started_agent else 1]:
        end = now + timedelta(milliseconds=milliseconds)
        phases[name] = {"started_at": _time(now), "finished_at": _time(end)}
        now = end
    if not outcome.finished:
        phases["agent_execution"]["finished_at"] = None
    return phases, now


def _usage(run: SampleRun, outcome: Outcome, draw: Draw, *, cost_known: bool) -> dict[str, Any] | None:
    if not outcome.started_agent or not outcome.finished:
        return None
    effort_factor = {"low": 2, "medium": 3, "high": 5, "xhigh": 8}[run.effort]
    output = draw.between(4, 800, 6_000) * effort_factor
    cached = draw.between(6, 4_000, 90_000) * effort_factor
    fresh = draw.between(7, 2_000, 30_000)
    # Micro-dollars in whole numbers: a cached token costs a fiftieth and a fresh one a fifth of an output token.
    micro_dollars = run.model.price * (output * 50 + fresh * 10 + cached) // 50
    return {
        "n_input_tokens": fresh + cached,
        "n_cache_tokens": cached,
        "n_output_tokens": output,
        "cost_usd": micro_dollars / 1_000_000 if cost_known else None,
        "metadata": None,
        "trajectory_status": "real",
        "trajectory_path": "agent/trajectory.json",
        "runtime_model_name": run.model.model_id,
        "canonical_model_identity": True,
        "trajectory_validation": {"observed_models": [run.model.model_id], "schema_valid": True},
    }


def _exception(outcome: Outcome, moment: datetime) -> dict[str, Any] | None:
    if not outcome.exception_type:
        return None
    return {
        "exception_type": outcome.exception_type,
        "exception_message": outcome.exception_message,
        "exception_traceback": "",
        "occurred_at": _time(moment),
    }


def _trial_config(run: SampleRun, task: str, trial_name: str) -> dict[str, Any]:
    return {
        "task": {"path": f"{SUITE}/{task}", "source": "shellbench-native"},
        "trial_name": trial_name,
        "trials_dir": f"jobs/{run.label}",
        "timeout_multiplier": 1.0,
        "agent": {
            "name": run.harness,
            "model_name": run.model.model_id,
            "kwargs": {"native_runner": True},
        },
        "environment": {"type": "docker", "delete": True},
    }


def trial_result(
    run: SampleRun, position: int, outcome: Outcome, draw: Draw, *, cost_known: bool = True
) -> dict[str, Any]:
    """Return the `result.json` of the run's trial at the task with that position.

    The draw's numbers 2 to 7 become durations and token counts; 0 and 1 are left to whoever decides the outcome.
    """
    task = run.tasks[position]
    identity = _uuid(f"{run.label}:{task}")
    trial_name = f"{task[:32]}__{identity[:7]}"
    start = run.started + position // CONCURRENCY * SLOT + timedelta(seconds=7 * (position % CONCURRENCY))
    phases, end = _phases(start, outcome, draw)
    pending = not outcome.finished
    return {
        "id": identity,
        "task_name": title(task),
        "trial_name": trial_name,
        "trial_uri": f"file://{JOBS_ROOT}/{run.label}/{trial_name}",
        "task_id": {"path": f"{SUITE}/{task}"},
        "source": "shellbench-native",
        "task_checksum": _digest(task),
        "config": _trial_config(run, task, trial_name),
        "agent_info": {
            "name": run.harness,
            "version": HARNESS_VERSIONS[run.harness],
            "model_info": {"name": run.model.slug, "provider": run.model.provider},
        },
        "agent_result": _usage(run, outcome, draw, cost_known=cost_known),
        "verifier_result": None if outcome.reward is None else {"rewards": {"reward": outcome.reward}},
        "exception_info": _exception(outcome, end),
        "started_at": _time(start),
        "finished_at": None if pending else _time(end),
        **phases,
        "step_results": None,
        "execution_outcome": {
            "kind": "pending" if pending else outcome.kind,
            "exit_code": None if pending else outcome.exit_code,
            "reason": outcome.reason,
        },
    }


def _run_spec(run: SampleRun) -> dict[str, Any]:
    return {
        "run_label": run.label,
        "harness": run.harness,
        "harness_version": HARNESS_VERSIONS[run.harness],
        "model_slug": run.model.slug,
        "model_id": run.model.model_id,
        "provider": run.model.provider,
        "proxy_model_name": run.model.slug,
        "repetition": run.repetition,
        "expected_task_count": len(run.tasks),
        "run_date": f"{run.started:%Y%m%d}",
        "reasoning_effort": run.effort,
        "openclaw_tool_mode": "direct" if run.harness == "openclaw" else None,
    }


def _acceptance(run: SampleRun, results: list[dict[str, Any]]) -> dict[str, Any]:
    kinds = [result["execution_outcome"]["kind"] for result in results]
    complete = len(results) == len(run.tasks) and "pending" not in kinds
    return {
        "accepted": complete,
        "reason": None if complete else "incomplete_result_coverage",
        "outcome_counts": {kind: kinds.count(kind) for kind in sorted(set(kinds))},
    }


def _manifest(run: SampleRun, results: list[dict[str, Any]], finished_at: str | None) -> dict[str, Any]:
    identity = {
        "provider": run.model.provider,
        "provider_model_id": run.model.model_id,
        "proxy_model_name": run.model.slug,
    }
    spec = _run_spec(run)
    withdrawn = run.fate == "withdrawn"
    return {
        **{name: value for name, value in spec.items() if name not in {"run_date", "openclaw_tool_mode"}},
        "phase": "r0" if run.repetition == 0 else "full",
        "qualification_family": None,
        "runner": "shellbench-native",
        "execution_mode": "native",
        "started_at_utc": _time(run.started),
        "finished_at_utc": finished_at,
        "result_json_count": len(results),
        "openclaw_package": None,
        "provider_model_id": run.model.model_id,
        "model_provider": run.model.provider,
        "judge_model_id": JUDGE,
        "judge_reasoning_effort": "medium",
        "task_suite": SUITE,
        "task_suite_root": SUITE_ROOT,
        "tasks": [{"name": task, "path": f"{SUITE}/{task}", "checksum": _digest(task)} for task in run.tasks],
        "public_tasks_commit": REVISION,
        "repair_mode": None,
        "rerun_of_canonical_run": None,
        "repair_task_names": [],
        "task_concurrency": CONCURRENCY,
        "agent_concurrency": CONCURRENCY,
        "canonical_model_identity": True,
        "intended_model_identity": identity,
        "observed_model_ids": [run.model.model_id],
        "trajectory_mode": "real_harness_events",
        "trajectory_complete": True,
        "parity_validated": False,
        "parity_validation": None,
        "legacy_parity_validated_claim": None,
        "harbor_reference_commit": None,
        "leaderboard_eligible": False if withdrawn else None,
        "exclusion_reason": "withdrawn_wrong_judge_prompt" if withdrawn else None,
        "execution_acceptance": _acceptance(run, results),
        "runner_commit": _digest("runner", 20),
        "runner_patch_hash": None,
        "crabbox_cli_version": "0.3.1",
        "crabbox_slug": "example-box",
        "crabbox_lease_id": f"lease-{_digest(run.label, 6)}",
        "crabbox_instance_type": "example.large",
        "crabbox_ip": PRIVATE_ADDRESS,
        "crabbox_region": "example-region-1",
    }


def _job_result(run: SampleRun, results: list[dict[str, Any]], finished_at: str | None) -> dict[str, Any]:
    errors = sum(result["exception_info"] is not None for result in results)
    done = [result["finished_at"] for result in results if result["finished_at"]]
    return {
        "id": _uuid(run.label),
        "started_at": _time(run.started),
        "updated_at": max(done),
        "finished_at": finished_at,
        "n_total_trials": len(run.tasks),
        "stats": {"n_trials": len(done), "n_errors": errors, "evals": {}},
    }


def _dump(path: Path, value: dict[str, Any]) -> None:
    path.write_bytes(orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))


def _write_scorecard(trial: Path) -> None:
    (trial / "verifier").mkdir()
    card = {"status": "infra_error", "judge_reasons": ["the judge did not answer within 120 s"], "score": None}
    _dump(trial / "verifier" / "scorecard.json", card)


def write_run(jobs: Path, run: SampleRun, trials: list[tuple[dict[str, Any], bool]]) -> None:
    """Write one run folder. `trials` holds each trial's result and whether its judge failed."""
    folder = jobs / run.label
    folder.mkdir()
    results = [result for result, _ in trials]
    complete = len(results) == len(run.tasks) and all(result["finished_at"] for result in results)
    finished_at = max(result["finished_at"] for result in results) if complete else None
    config = {
        "job_name": run.label,
        "jobs_dir": "jobs",
        "n_concurrent_trials": CONCURRENCY,
        "trials": [],
        "native_run": _run_spec(run),
    }
    _dump(folder / "run_manifest.json", _manifest(run, results, finished_at))
    _dump(folder / "config.json", config)
    _dump(folder / "result.json", _job_result(run, results, finished_at))
    for result, judge_failed in trials:
        trial = folder / str(result["trial_name"])
        trial.mkdir()
        _dump(trial / "result.json", result)
        if judge_failed:
            _write_scorecard(trial)
