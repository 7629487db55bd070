"""Graded runs as rows of the run, task, infrastructure and repair tables, in the order of `columns.SUMMARY_TABLES`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from shellbench_lib.columns import SUMMARY_TABLES, names
from shellbench_lib.conditions import dataset_keys
from shellbench_lib.findings import Finding
from shellbench_lib.grading import GradedRun
from shellbench_lib.reconcile import COUNTED_ROLES, GradedTrial, leaf
from shellbench_lib.records import PHASES, Condition
from shellbench_lib.repairs import RepairComparison
from shellbench_lib.sources.values import duration

RUN_COLUMNS = names(SUMMARY_TABLES["aggregate_results.csv"])
TASK_COLUMNS = names(SUMMARY_TABLES["per_task_results.csv"])
INFRA_COLUMNS = names(SUMMARY_TABLES["infra_failures.csv"])
MANIFEST_ROW = "<run-manifest>"
_CONDITION_FIELDS = [item.name for item in fields(Condition)]
_CONDITION_START = TASK_COLUMNS.index(_CONDITION_FIELDS[0])
_TIME_MESSAGES = {
    "unreadable_time": "a time stamp cannot be read; the duration is empty",
    "mixed_time_zones": "only one end has a time zone; the duration is empty",
    "negative_duration": "it ends before it starts; the duration is shown as recorded",
}


def dataset_of(runs: Iterable[GradedRun]) -> dict[str, str]:
    """Return the dataset key of each run path."""
    identity = {
        run.record.run_path: (
            run.record.condition.task_revision,
            run.expected_task_count,
            run.record.condition.task_set_sha256,
        )
        for run in runs
    }
    keys = dataset_keys(identity.values())
    return {run_path: keys[values] for run_path, values in identity.items()}


def name_tasks(runs: Sequence[GradedRun], datasets: Mapping[str, str]) -> None:
    """Give every row its task identity: the leaf of its path where no run of the dataset has that leaf twice.

    Two runs may record one task under different parent folders; only two tasks of one run make a leaf ambiguous.
    """
    ambiguous: dict[str, set[str]] = defaultdict(set)
    for run in runs:
        paths: dict[str, set[str]] = defaultdict(set)
        for row in run.rows:
            if row.role in COUNTED_ROLES:
                paths[leaf(row.task_path)].add(row.task_path)
        ambiguous[datasets[run.record.run_path]].update(name for name, found in paths.items() if len(found) > 1)
    for run in runs:
        repeated = ambiguous[datasets[run.record.run_path]]
        for row in run.rows:
            name = leaf(row.task_path)
            row.task_name = row.task_path if row.role == "padding" or name in repeated or not name else name
        run.rows.sort(key=lambda row: (row.task_name, row.trial.trial_name, row.trial.result_path))


def run_row(run: GradedRun) -> dict[str, Any]:
    """Return one run as a row of aggregate_results.csv, by column name in written order."""
    record, counts, classes = run.record, run.counts, run.classes
    values: dict[str, Any] = {
        "run_label": record.run_label,
        "pair_label": run.pair_label,
        "repetition": record.repetition,
        "expected_task_count": run.expected_task_count,
        "coverage": run.coverage,
        "score": run.score,
        "partials": classes.get("partial", 0),
        "agent_exits": classes.get("agent_exit", 0),
        "missing_reward": classes.get("verifier_missing_reward", 0),
        "clean_coverage": counts["clean_completed"] / run.expected_task_count if run.expected_task_count > 0 else 0.0,
        "incomplete": run.incomplete,
        "infra_dominated": run.infra_dominated,
        "harness_wide_failure": bool(run.wide_failure),
        "harness_wide_failure_signature": run.wide_failure,
        "run_accepted": run.accepted,
        "run_acceptance_reason": run.acceptance_reason,
        "canonical_model_identity": run.identity_preserved,
        "trajectory_complete": run.trajectory_complete,
        "parity_validated": run.parity.validated,
        "parity_validation_status": run.parity.status,
        "parity_validation_scope": run.parity.scope,
        "eligible": run.eligible,
        "exclusion_reason": run.exclusion_reasons[0] if run.exclusion_reasons else "",
        "experiment_key": run.experiment_key,
        "run_path": record.run_path,
        "score_observed": run.score_observed,
        "phase": record.phase,
        "exclusion_reasons": ";".join(reason.replace(";", ",") for reason in run.exclusion_reasons),
        **counts,
        **_usage(run),
        **{name: getattr(record.condition, name) for name in _CONDITION_FIELDS},
    }
    return {name: values[name] for name in RUN_COLUMNS}


def _usage(run: GradedRun) -> dict[str, float | None]:
    trials = [row.trial for row in run.counted]
    totals = {}
    for name in ("n_input_tokens", "n_cache_tokens", "n_output_tokens", "cost_usd"):
        known = [value for trial in trials if (value := getattr(trial, name)) is not None]
        totals[name] = sum(known) if known else None
    return totals


def task_rows(run: GradedRun, values: Mapping[str, Any], findings: list[Finding]) -> list[list[Any]]:
    """Return a run's rows of per_task_results.csv, adding what is noticed about single trials to `findings`.

    Args:
        run: the graded run.
        values: its own row of the run table.
        findings: receives what is noticed.
    """
    head = [values["run_label"], values["pair_label"], values["repetition"]]
    tail = [values[name] for name in (*_CONDITION_FIELDS, "experiment_key", "run_path", "expected_task_count")]
    tail += [values[name] for name in ("score", "coverage", "exact_passes", "eligible", "exclusion_reason")]
    rows = []
    for row in run.rows:
        _note_trial(run, row, findings)
        rows.append(head + _trial_cells(run.record.run_path, row, findings) + tail + _reward_cells(row))
    if run.record.manifest_error:
        rows.append(head + _manifest_cells(run.record.manifest_error) + tail + [False, None, ""])
    return rows


def _manifest_cells(cause: str) -> list[Any]:
    """Return the row that stands for an unreadable manifest: it never scores."""
    values = {
        "task_name": MANIFEST_ROW,
        "classification": "infra",
        "execution_outcome": "infra_error",
        "exception_type": "InvalidManifestError",
        "exception_message": cause,
    }
    return [values.get(name) for name in TASK_COLUMNS[TASK_COLUMNS.index("task_name") : _CONDITION_START]]


def _trial_cells(run_path: str, row: GradedTrial, findings: list[Finding]) -> list[Any]:
    trial, outcome = row.trial, row.outcome
    cells: list[Any] = [
        row.task_name,
        trial.task_path or (row.task_path if row.role != "padding" else ""),
        trial.trial_name,
        trial.result_path,
        outcome.classification,
        outcome.kind,
        outcome.exit_code,
        outcome.reason,
        outcome.reward,
        outcome.exception_type,
        outcome.exception_message,
        trial.exception_occurred_at,
    ]
    intervals = [("trial", trial.started_at, trial.finished_at)]
    for phase in PHASES:
        interval = getattr(trial, phase)
        intervals.append((phase, interval.started_at, interval.finished_at))
    for name, started_at, finished_at in intervals:
        seconds, code = duration(started_at, finished_at)
        if code:
            findings.append(Finding(code, run_path, trial.trial_name, name, _TIME_MESSAGES[code]))
        cells += [started_at, finished_at, seconds]
    cells += [trial.n_input_tokens, trial.n_cache_tokens, trial.n_output_tokens, trial.cost_usd]
    return [*cells, trial.source, trial.trajectory_status, trial.runtime_model_name, trial.canonical_model_identity]


def _reward_cells(row: GradedTrial) -> list[Any]:
    return [row.role == "scoring", row.trial.recorded_reward, ";".join(row.trial.reward_flags)]


def _note_trial(run: GradedRun, row: GradedTrial, findings: list[Finding]) -> None:
    trial, outcome = row.trial, row.outcome
    if row.role != "scoring":
        return

    def note(code: str, field_name: str, message: str) -> None:
        findings.append(Finding(code, run.record.run_path, trial.trial_name, field_name, message))

    for code in outcome.flags:
        note(code, "exception_info" if "exception" in code else "execution_outcome", _flag_message(row))
    if trial.result_state == "valid" and not trial.finished_at:
        note("unfinished_result", "finished_at", "the trial has no finish time; the run is incomplete")
    if outcome.reward is None and trial.recorded_reward is not None:
        message = f"reward {trial.recorded_reward} beside class {outcome.classification} does not score"
        note("reward_not_scored", "reward", message)
    elif outcome.reward is None and outcome.classification != "infra":
        note("missing_reward", "reward", f"class {outcome.classification} without a reward")


def _flag_message(row: GradedTrial) -> str:
    shown = row.trial.exception_type or row.trial.outcome_kind
    return f"{shown}: in no known list; the class is {row.outcome.classification}"


def infra_rows(rows: Iterable[Sequence[Any]]) -> list[list[Any]]:
    """Return the rows of infra_failures.csv: the task rows of class infra."""
    positions = [TASK_COLUMNS.index(name) for name in INFRA_COLUMNS]
    classification = TASK_COLUMNS.index("classification")
    return [[row[position] for position in positions] for row in rows if row[classification] == "infra"]


def repair_row(comparison: RepairComparison) -> list[Any]:
    """Return one repair as a row of repair_overlay_sensitivity.csv."""
    run, original = comparison.run, comparison.original
    shown = comparison.status == "available" and original is not None
    return [
        run.record.run_label,
        run.pair_label,
        run.record.repetition,
        comparison.original_run_label,
        run.expected_task_count,
        comparison.original_tasks,
        comparison.repaired_tasks,
        comparison.unknown_tasks,
        original.counts["valid_result_count"] if original else None,
        run.counts["valid_result_count"],
        original.score if shown and original else None,
        run.score,
        comparison.delta,
        comparison.status,
        run.experiment_key,
        run.record.run_path,
        original.record.run_path if original else "",
    ]
