"""What a source hands on: the facts of one trial and one run, cleaned of their spelling, judged by nobody yet.

Sources (`shellbench_lib.sources`) fill these records; grading decides what they mean. An absent text is `""`, an
absent number or flag is `None`. Nothing here refers to an absolute path.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

ResultState = Literal["valid", "missing", "invalid"]
ID_PREFIX = "id:"  # a fingerprint made of a recorded id, not of the file's bytes
PHASES = ("environment_setup", "agent_setup", "agent_execution", "verifier")


@dataclass(frozen=True, slots=True)
class Condition:
    """Everything that is held fixed within a run. Texts as recorded; absent is empty."""

    harness: str = ""
    harness_version: str = ""
    tool_mode: str = ""
    model_slug: str = ""
    model_id: str = ""
    model_provider: str = ""
    reasoning_effort: str = ""
    judge_model_id: str = ""
    judge_reasoning_effort: str = ""
    task_revision: str = ""
    task_suite: str = ""
    task_set_sha256: str = ""


class Interval(NamedTuple):
    """One phase's time stamps, ISO text as recorded."""

    started_at: str = ""
    finished_at: str = ""


NO_INTERVAL = Interval()


@dataclass(slots=True)
class TrialRecord:
    """One attempt at one task, as its files tell it.

    `recorded_reward` is the finite number under the declared reward key, unclipped, whatever the outcome was.
    `reward_flags` holds findings codes about it (`reward_from_text`, `reward_not_a_number`, `reward_out_of_range`,
    `reward_key_absent`). `exception_type` is `""` when none was recorded. `policy_reward_valid` is a recorded
    error policy's own answer (Harbor 0.26), `None` where none is recorded. Token counts are tokens, cost is US
    dollars; `None` means not observed. `fingerprint` identifies the attempt: `id:` and its recorded id, else
    `sha256:` and the digest of the file's bytes; empty when there is no result file.
    """

    trial_name: str
    directory: str = ""
    task_path: str = ""
    task_title: str = ""
    result_path: str = ""
    result_state: ResultState = "valid"
    fingerprint: str = ""
    recorded_reward: float | None = None
    reward_flags: tuple[str, ...] = ()
    exception_type: str = ""
    exception_message: str = ""
    exception_occurred_at: str = ""
    started_at: str = ""
    finished_at: str = ""
    environment_setup: Interval = NO_INTERVAL
    agent_setup: Interval = NO_INTERVAL
    agent_execution: Interval = NO_INTERVAL
    verifier: Interval = NO_INTERVAL
    n_input_tokens: float | None = None
    n_cache_tokens: float | None = None
    n_output_tokens: float | None = None
    cost_usd: float | None = None
    source: str = ""
    trajectory_status: str = ""
    runtime_model_name: str = ""
    canonical_model_identity: bool | None = None
    outcome_kind: str = ""
    outcome_exit_code: int | None = None
    outcome_reason: str = ""
    scorecard_infra_message: str | None = None
    policy_reward_valid: bool | None = None


@dataclass(frozen=True, slots=True)
class ExpectedTask:
    """One task that a run was planned to attempt: its path with `/`, and its name where only a name is declared."""

    path: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class ParityRecord:
    """What a manifest says of its parity with Harbor; JSON values as recorded, `None` where absent."""

    validation: object = None
    scope: object = None
    legacy_validated: object = None
    manifest_values: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RepairRecord:
    """What a manifest says of a repair: declared task names, the source kind of each task, the original's label."""

    has_overlay: bool = False
    task_names: tuple[str, ...] = ()
    lineage_kinds: tuple[str, ...] | None = None
    original_run_label: str = ""


@dataclass(slots=True)
class RunRecord:
    """One independent repetition of the suite under one condition.

    `run_path` is unique within the matrix and relative to matrix_path. `expected_tasks` is `None` where no list is
    declared; `expected_task_count` is `None` where no count is declared. `source_kind` chooses the outcome rules.
    `declared_eligible` is `None` when the manifest says nothing about eligibility.
    """

    run_path: str
    run_label: str
    source_kind: Literal["native", "harbor"]
    condition: Condition = Condition()
    pair_label: str = ""
    repetition: int | None = None
    phase: str = ""
    expected_tasks: tuple[ExpectedTask, ...] | None = None
    expected_task_count: int | None = None
    native_runner: bool = False
    trajectory_mode: str = ""
    declared_eligible: bool | None = None
    declared_exclusion_reason: str = ""
    accepted: bool | None = None
    acceptance_reason: str = ""
    parity: ParityRecord = field(default_factory=ParityRecord)
    repair: RepairRecord | None = None
    manifest_error: str = ""
    trials: list[TrialRecord] = field(default_factory=list)
