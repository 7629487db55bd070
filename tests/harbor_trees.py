"""Small Harbor job directories for the tests, written as Harbor writes them; every field can be replaced."""

from __future__ import annotations

import json
import uuid
from pathlib import Path

COMMIT = "a" * 40


def trial_result(task: str = "alpha", suffix: str = "AbCdEf1", **fields) -> dict:
    """A trial's result.json of release 0.6: solved, by claude-code with one model."""
    name = f"{task.rpartition('/')[2][:32]}__{suffix}"
    agent = {
        "name": "claude-code",
        "import_path": None,
        "model_name": "anthropic/claude-opus-4-6",
        "kwargs": {},
        "env": {},
    }
    agent |= fields.pop("agent", {})
    result = {
        "id": str(uuid.uuid5(uuid.NAMESPACE_URL, f"{task}/{suffix}")),
        "task_name": task,
        "trial_name": name,
        "trial_uri": f"file:///home/someone/jobs/{name}",
        "task_id": {"git_url": "https://example.org/suite.git", "git_commit_id": COMMIT, "path": task},
        "source": "suite",
        "task_checksum": "0" * 64,
        "config": {"trial_name": name, "agent": agent, "job_id": "job-1", **fields.pop("config", {})},
        "agent_info": {
            "name": "claude-code",
            "version": "2.0.1",
            "model_info": {"name": "claude-opus-4-6", "provider": "anthropic"},
        },
        "agent_result": {"n_input_tokens": 100, "n_cache_tokens": 40, "n_output_tokens": 10, "cost_usd": 0.5},
        "verifier_result": {"rewards": {"reward": 1.0}},
        "exception_info": None,
        "started_at": "2026-05-10T10:00:00Z",
        "finished_at": "2026-05-10T10:05:00Z",
        "environment_setup": None,
        "agent_setup": None,
        "agent_execution": {"started_at": "2026-05-10T10:01:00Z", "finished_at": "2026-05-10T10:04:00Z"},
        "verifier": None,
    }
    return result | fields


def failed(exception_type: str, reward: float | None = None) -> dict:
    """Fields of a trial with an exception; without a reward the verifier left nothing."""
    return {
        "exception_info": {
            "exception_type": exception_type,
            "exception_message": "it stopped",
            "exception_traceback": "",
            "occurred_at": "2026-05-10T10:04:00",
        },
        "verifier_result": None if reward is None else {"rewards": {"reward": reward}},
    }


def write_json(path: Path, value: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def write_trial(job: Path, result: dict) -> Path:
    """Write one trial's directory and return it."""
    folder = job / result["trial_name"]
    write_json(folder / "config.json", result.get("config"))
    write_json(folder / "result.json", result)
    return folder


def write_job(job: Path, trials: list[dict], *, planned: int | None = None, config=None, result=None) -> Path:
    """Write a finished job that planned as many trials as it holds; `config` and `result` replace single fields."""
    write_json(
        job / "config.json",
        {
            "job_name": job.name,
            "jobs_dir": "jobs",
            "n_attempts": 1,
            "agents": [{"name": "claude-code"}],
            "datasets": [{"name": "suite", "version": "1.0"}],
        }
        | (config or {}),
    )
    write_json(
        job / "result.json",
        {
            "id": "job-1",
            "started_at": "2026-05-10T12:00:00.000001",
            "finished_at": "2026-05-10T13:00:00.000001",
            "n_total_trials": len(trials) if planned is None else planned,
            "stats": {"n_completed_trials": len(trials), "evals": {}},
        }
        | (result or {}),
    )
    for trial in trials:
        write_trial(job, trial)
    return job


def write_unfinished(job: Path, task: str, suffix: str = "Unfini1") -> Path:
    """Write a trial's directory as it is while the trial runs."""
    name = f"{task}__{suffix}"
    write_json(job / name / "config.json", {"task": {"path": task}, "trial_name": name, "agent": {}})
    return job / name
