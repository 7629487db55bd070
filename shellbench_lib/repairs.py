"""Repair overlays: what a repair changed, and that a repair and its original never both count."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shellbench_lib.findings import Finding
from shellbench_lib.grading import GradedRun
from shellbench_lib.records import RepairRecord

_CANONICAL, _REPAIR = "canonical", "repair"


@dataclass(frozen=True, slots=True)
class RepairComparison:
    """One repair run beside its original. `delta` is repaired less original score, None with the status saying why."""

    run: GradedRun
    original_run_label: str
    original: GradedRun | None
    original_tasks: int
    repaired_tasks: int
    unknown_tasks: int
    status: str

    @property
    def delta(self) -> float | None:
        """Repaired less original score; None unless the status is `available`."""
        if self.status != "available" or self.original is None:
            return None
        return self.run.score - self.original.score


def _task_sources(run: GradedRun, repair: RepairRecord, findings: list[Finding]) -> tuple[int, int, int]:
    """Return how many tasks come from the original, from the repair and from an unknown source."""
    expected = run.expected_task_count
    if repair.lineage_kinds:
        original = repair.lineage_kinds.count(_CANONICAL)
        repaired = repair.lineage_kinds.count(_REPAIR)
        counts = original, repaired, len(repair.lineage_kinds) - original - repaired
    elif repair.task_names:
        counts = max(expected - len(repair.task_names), 0), len(repair.task_names), 0
    else:
        counts = 0, 0, expected
    if sum(counts) != expected:
        message = f"the lineage accounts for {sum(counts)} tasks, {expected} are expected"
        findings.append(Finding("repair_lineage_mismatch", run.record.run_path, "", "repair_overlay", message))
    return counts


def _status(run: GradedRun, label: str, originals: Sequence[GradedRun], datasets: Mapping[str, str]) -> str:
    if not label:
        return "original_label_unavailable"
    others = [other for other in originals if other is not run]
    if not others:
        return "original_is_itself" if originals else "original_unavailable"
    if len(others) > 1:
        return "original_ambiguous"
    original = others[0]
    if original.expected_task_count != run.expected_task_count:
        return "task_count_mismatch"
    if datasets[original.record.run_path] != datasets[run.record.run_path]:
        return "dataset_mismatch"
    return "available" if original.eligible else "original_not_eligible"


def compare_repairs(
    runs: Sequence[GradedRun], datasets: Mapping[str, str], findings: list[Finding]
) -> list[RepairComparison]:
    """Compare each repair with its original, then exclude the repairs whose original counts.

    Args:
        runs: all runs, graded by themselves.
        datasets: dataset key of each run path.
        findings: receives what is noticed.
    """
    by_label: dict[str, list[GradedRun]] = defaultdict(list)
    for run in runs:
        by_label[run.record.run_label].append(run)
    repairs = [(run, run.record.repair) for run in runs if run.record.repair is not None]
    candidates = {id(run): by_label.get(repair.original_run_label, []) for run, repair in repairs}
    _exclude([run for run, _ in repairs], candidates)
    comparisons = []
    for run, repair in repairs:
        label = repair.original_run_label
        originals = candidates[id(run)] if label else []
        others = [other for other in originals if other is not run]
        original = others[0] if len(others) == 1 else None
        sources = _task_sources(run, repair, findings)
        comparisons.append(RepairComparison(run, label, original, *sources, _status(run, label, originals, datasets)))
        message = f"repairs {label or 'a run that is not named'}; original and repair never count together"
        findings.append(Finding("repair_overlay", run.record.run_path, "", "repair_overlay", message))
    return comparisons


def _exclude(repairs: Sequence[GradedRun], candidates: Mapping[int, Sequence[GradedRun]]) -> None:
    """Exclude each repair of which an original, or the original's own original, counts by itself.

    Where several runs bear the original's label, one that counts is enough. The order of the runs is without
    influence: what counts is looked up before anything is excluded.
    """
    counting = {id(run) for run in (original for found in candidates.values() for original in found) if run.eligible}
    excluded = []
    for repair in repairs:
        visited, pending = {id(repair)}, list(candidates[id(repair)])
        while pending:
            ancestor = pending.pop()
            if id(ancestor) in visited:
                continue
            if id(ancestor) in counting:
                excluded.append(repair)
                break
            visited.add(id(ancestor))
            pending += candidates.get(id(ancestor), ())
    for repair in excluded:
        repair.exclusion_reasons.append("repair_of_eligible_run")
