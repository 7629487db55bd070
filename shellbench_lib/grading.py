"""What a run is worth and whether it counts: values, acceptance, gates and exclusion reasons.

The gates and their order are upstream's; those that this project adds stand behind them, except that a manifest that
cannot be read and an explicit exclusion come first. All reasons are kept, the first one is the `exclusion_reason`.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from shellbench_lib.conditions import EXPERIMENT_FIELDS, experiment_key, split_repetition
from shellbench_lib.findings import Finding
from shellbench_lib.outcomes import FAILED_BEFORE_AGENT, PASS_REWARD
from shellbench_lib.parity import Parity, parity_of
from shellbench_lib.reconcile import COUNTED_ROLES, GradedTrial, reconcile
from shellbench_lib.records import ID_PREFIX, RunRecord

REAL_TRAJECTORY = "real"
REAL_EVENTS = "real_harness_events"
ALL_FAILED = "all_trials_harness_or_infrastructure_errors"
SIGNATURE_LENGTH = 240
_WIDE_FAILURE_MIN, _WIDE_FAILURE_SHARE = 3, 0.25  # upstream's: a quarter of the tasks, at least three
_HEXADECIMAL = re.compile(r"\b[0-9a-f]{8,}\b")
_WHOLE_NUMBER = re.compile(r"\b\d+\b")
CLEAN_CLASSES = frozenset({"clean_fail", "partial", "pass"})


@dataclass(slots=True)
class GradedRun:
    """One run with its rows and everything that is derived from them. Shares and scores are fractions of E."""

    record: RunRecord
    rows: list[GradedTrial]
    expected_task_count: int
    pair_label: str
    experiment_key: str
    parity: Parity
    score: float = 0.0
    score_observed: float | None = None
    coverage: float = 0.0
    counts: dict[str, int] = field(default_factory=dict)
    classes: dict[str, int] = field(default_factory=dict)
    incomplete: bool = True
    infra_dominated: bool = False
    wide_failure: str = ""
    accepted: bool = True
    acceptance_reason: str = ""
    identity_preserved: bool = True
    trajectory_complete: bool = True
    exclusion_reasons: list[str] = field(default_factory=list)

    @property
    def eligible(self) -> bool:
        """Whether the run counts in cells and comparisons."""
        return not self.exclusion_reasons

    @property
    def counted(self) -> list[GradedTrial]:
        """Upstream's scored rows: one per expected task, placeholders included."""
        return [row for row in self.rows if row.role in COUNTED_ROLES]


def pair_label_of(run: RunRecord) -> str:
    """Return the legacy grouping label: the manifest's own, else harness and model, else the bare run label."""
    if run.pair_label:
        return run.pair_label
    if run.condition.harness and run.condition.model_slug:
        return f"{run.condition.harness}-{run.condition.model_slug}"
    return split_repetition(run.run_label, run.condition.model_slug)[0]


def grade_run(run: RunRecord, findings: list[Finding]) -> GradedRun:
    """Return a run with its rows, values and every gate that it fails by itself."""
    rows = reconcile(run, findings)
    declared = run.expected_task_count
    expected = declared if declared is not None else sum(row.role in COUNTED_ROLES for row in rows)
    key = experiment_key(
        [getattr(run.condition, name) for name in EXPERIMENT_FIELDS], expected, run.condition.task_set_sha256
    )
    graded = GradedRun(run, rows, expected, pair_label_of(run), key, parity_of(run))
    _count(graded)
    _score(graded)
    _judge(graded)
    graded.exclusion_reasons = _own_reasons(graded)
    return graded


def _count(run: GradedRun) -> None:
    rows = [row for row in run.rows if row.role not in {"missing", "padding"}]
    trials = [row.trial for row in rows]
    counted = run.counted
    scoring = [row for row in run.rows if row.role == "scoring"]
    rewards = [row.outcome.reward for row in counted]
    classes = Counter(row.outcome.classification for row in counted)
    run.classes = dict(classes)
    run.counts = {
        "result_file_count": sum(trial.result_state != "missing" for trial in trials),
        "valid_result_count": sum(trial.result_state == "valid" for trial in trials),
        "completed_result_count": sum(trial.result_state == "valid" and bool(trial.finished_at) for trial in trials),
        "exact_passes": sum(
            row.outcome.classification == "pass" and (row.outcome.reward or 0) >= PASS_REWARD for row in counted
        ),
        "nonzero": sum(reward is not None and reward > 0 for reward in rewards),
        "infra": sum(row.outcome.classification == "infra" for row in run.rows),
        "clean_completed": sum(classes[name] for name in CLEAN_CLASSES),
        "scored_trials": len(scoring),
        "missing_rewards": sum(reward is None for reward in rewards),
        "full_rewards": sum(reward is not None and reward >= PASS_REWARD for reward in rewards),
        "missing_tasks": sum(row.role in {"missing", "padding"} for row in run.rows)
        + sum(row.trial.result_state == "missing" for row in scoring),
        "duplicate_results": sum(row.role == "duplicate" for row in run.rows),
        "unexpected_results": sum(row.role == "unexpected" for row in run.rows),
    }


def _score(run: GradedRun) -> None:
    rewards = [row.outcome.reward for row in run.counted if row.outcome.reward is not None]
    total = run.expected_task_count
    run.score = sum(rewards) / total if total > 0 else 0.0
    run.score_observed = sum(rewards) / len(rewards) if rewards else None
    run.coverage = min(run.counts["completed_result_count"] / total, 1.0) if total > 0 else 0.0


def _judge(run: GradedRun) -> None:
    total, counted = run.expected_task_count, run.counted
    finished = [row for row in counted if row.trial.result_state == "valid" and row.trial.finished_at]
    run.incomplete = total <= 0 or len(counted) != total or len(finished) != total
    infra = [row for row in counted if row.outcome.classification == "infra"]
    run.infra_dominated = total > 0 and len(infra) > total / 2
    run.wide_failure = _wide_failure(infra, total)
    _accept(run, counted)
    if run.record.native_runner:
        run.identity_preserved = _identity_preserved(counted)
        run.trajectory_complete = run.record.trajectory_mode == REAL_EVENTS and all(
            row.trial.trajectory_status == REAL_TRAJECTORY
            for row in counted
            if row.trial.result_state == "valid" and row.outcome.classification not in {"infra", "agent_exit"}
        )


def _wide_failure(infra: Sequence[GradedTrial], total: int) -> str:
    """Return the signature that most infrastructure failures share, empty where it does not recur often enough."""
    signatures = Counter(_signature(row) for row in infra)
    if not signatures:
        return ""
    signature, count = min(signatures.items(), key=lambda item: (-item[1], item[0]))
    return signature if count >= max(_WIDE_FAILURE_MIN, math.ceil(_WIDE_FAILURE_SHARE * total)) else ""


def _signature(row: GradedTrial) -> str:
    text = f"{row.outcome.exception_type}: {row.outcome.exception_message}".lower()
    text = _WHOLE_NUMBER.sub("<number>", _HEXADECIMAL.sub("<hex>", text))
    return " ".join(text.split())[:SIGNATURE_LENGTH]


def _accept(run: GradedRun, counted: Sequence[GradedTrial]) -> None:
    all_failed = (
        run.expected_task_count > 0
        and len(counted) == run.expected_task_count
        and all(row.outcome.kind in FAILED_BEFORE_AGENT for row in counted)
    )
    declared = run.record.accepted
    run.accepted = declared if declared is not None else not all_failed
    run.acceptance_reason = run.record.acceptance_reason
    if not run.accepted and not run.acceptance_reason:
        run.acceptance_reason = ALL_FAILED if all_failed else ""


def _identity_preserved(counted: Sequence[GradedTrial]) -> bool:
    judged = [
        row.trial.canonical_model_identity is True
        for row in counted
        if row.trial.result_state == "valid"
        and row.outcome.classification != "infra"
        and (row.outcome.classification != "agent_exit" or row.trial.trajectory_status == REAL_TRAJECTORY)
    ]
    return bool(judged) and all(judged)


def _own_reasons(run: GradedRun) -> list[str]:
    """Return every gate that the run fails, in the order in which the first one is reported."""
    record = run.record
    r0 = record.source_kind == "native" and (record.phase.strip().lower() == "r0" or record.repetition == 0)
    gates = (
        ("invalid_manifest", bool(record.manifest_error)),
        (record.declared_exclusion_reason or "explicitly_excluded", record.declared_eligible is False),
        ("r0_non_scoring_qualification", r0),
        ("incomplete", run.incomplete),
        ("infra_dominated", run.infra_dominated),
        ("run_rejected", not run.accepted),
        ("harness_wide_failure", bool(run.wide_failure)),
        ("canonical_model_identity_not_preserved", not run.identity_preserved),
        ("trajectory_unavailable", not run.trajectory_complete),
    )
    return list(dict.fromkeys(reason for reason, failed in gates if failed))


def exclude_duplicates(runs: Sequence[GradedRun], findings: list[Finding]) -> None:
    """Exclude the later of two run folders that hold the same trials: they are one run, stored twice.

    Trials are the same when their recorded ids are; where ids are lacking, when the result files are byte-identical
    and the condition is equal. While no earlier copy is eligible, a later one may count.
    """
    seen: dict[tuple[str, tuple[str, ...]], list[GradedRun]] = defaultdict(list)
    for run in sorted(runs, key=lambda run: run.record.run_path):
        prints = tuple(sorted(trial.fingerprint for trial in run.record.trials if trial.fingerprint))
        if not prints:
            continue
        condition = "" if all(fingerprint.startswith(ID_PREFIX) for fingerprint in prints) else run.experiment_key
        earlier = seen[condition, prints]
        if earlier:
            first = earlier[0].record.run_path
            findings.append(Finding("duplicate_run", run.record.run_path, "", "result.json", f"same trials as {first}"))
            if any(other.eligible for other in earlier):
                run.exclusion_reasons.append("duplicate_run")
        earlier.append(run)


def grade(records: Sequence[RunRecord], findings: list[Finding]) -> list[GradedRun]:
    """Return all runs graded by themselves and cleared of copies; repairs are judged by `repairs.compare_repairs`."""
    runs = [grade_run(record, findings) for record in records]
    exclude_duplicates(runs, findings)
    return runs
