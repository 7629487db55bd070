"""Which trial scores which expected task: exact, by task and not by count.

Every expected task has at most one scoring row. Of several results the earliest `started_at` scores (ties by trial
name); the others are duplicates. A result of a task that was not expected never scores. An expected task without any
result gets a placeholder row, and so does every task that the declared count promises beyond the declared list.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from shellbench_lib.findings import Finding
from shellbench_lib.outcomes import Outcome, outcome_of
from shellbench_lib.records import ExpectedTask, RunRecord, TrialRecord
from shellbench_lib.sources.native import expected_stem, trial_stem
from shellbench_lib.sources.values import instant

Role = Literal["scoring", "duplicate", "unexpected", "missing", "padding", "unjudged"]
COUNTED_ROLES = frozenset({"scoring", "missing", "padding"})  # upstream's "scored rows"
_STATE_ORDER = {"valid": 0, "invalid": 1, "missing": 2}  # a result that can be read scores before one that cannot
MAX_PLACEHOLDERS = 100_000  # a larger declared count is a slip; the run is incomplete all the same
_PLACEHOLDER = Outcome("infra", "infra_error", None, "", None, "MissingResultError", "no result was found")


@dataclass(slots=True)
class GradedTrial:
    """One row of a run: a trial or a placeholder, its outcome and its role.

    `task_path` identifies the task within the run (a leaf where only a name is known). `task_name` is the identity
    within the dataset and is filled in once the dataset's tasks are known.
    """

    trial: TrialRecord
    outcome: Outcome
    role: Role
    task_path: str
    task_name: str = ""


def leaf(path: str) -> str:
    """Return the last component of a task path."""
    return path.rstrip("/").rpartition("/")[2]


def own_task_path(trial: TrialRecord) -> str:
    """Return what the trial itself says of its task: its path, else the leaf of its title, else its name."""
    path = trial.task_path.rstrip("/")
    if path:
        return path
    if trial.result_state == "valid":
        return leaf(trial.task_title) or trial.trial_name
    return trial_stem(trial.directory)


class _ExpectedIndex:
    """Finds the expected task of a trial: by its path, its title, its leaf, then by its directory's name.

    Each step counts only where it names one expected task; a title may stand for the end of a path.
    """

    def __init__(self, tasks: Iterable[ExpectedTask]) -> None:
        self.tasks = list(tasks)
        self._paths: dict[str, int] = {}
        names: dict[str, set[int]] = defaultdict(set)
        self._stems: dict[str, set[int]] = defaultdict(set)
        for index, task in enumerate(self.tasks):
            if task.path:
                self._paths[task.path] = index
            for name in {task.name, leaf(task.path)} - {""}:
                names[name].add(index)
            self._stems[expected_stem(task)].add(index)
        self._names = {name: indices.pop() for name, indices in names.items() if len(indices) == 1}

    def find(self, trial: TrialRecord) -> int | None:
        """Return the position of the trial's task, None where it was not expected."""
        path = own_task_path(trial)
        if path in self._paths:
            return self._paths[path]
        if not trial.task_path and trial.task_title:
            titled = self._by_title(trial.task_title)
            if titled is not None:
                return titled
        found = self._names.get(leaf(path))
        if found is not None and self._compatible(found, path):
            return found
        if trial.task_path and trial.result_state == "valid":
            return None
        stems = self._stems.get(trial_stem(trial.directory).rstrip("_-"), set())
        return next(iter(stems)) if len(stems) == 1 else None

    def _by_title(self, title: str) -> int | None:
        named = [index for index, task in enumerate(self.tasks) if task.name.replace("\\", "/") == title]
        ending = [index for index, task in enumerate(self.tasks) if f"/{task.path}".endswith(f"/{title}")]
        candidates = named or ending
        return candidates[0] if len(candidates) == 1 else None

    def _compatible(self, index: int, path: str) -> bool:
        """A leaf alone names a task; two paths with one leaf name one task only if one ends with the other."""
        expected = self.tasks[index].path
        shorter, longer = sorted((expected, path), key=len)
        return not expected or "/" not in shorter or longer.endswith("/" + shorter)


def _order(row: GradedTrial) -> tuple[int, float, str, str]:
    trial = row.trial
    return _STATE_ORDER[trial.result_state], instant(trial.started_at), trial.trial_name, trial.directory


def _mark_duplicate(row: GradedTrial, scoring: GradedTrial, run: RunRecord, findings: list[Finding]) -> None:
    row.role = "duplicate"
    message = f"{scoring.trial.directory or scoring.trial.trial_name} scores; {row.trial.directory} does not"
    row.outcome = _unscored(row.outcome, "DuplicateTaskResultError", message)
    findings.append(Finding("duplicate_result", run.run_path, row.trial.trial_name, "task_id", message))


def _unscored(outcome: Outcome, exception_type: str, message: str) -> Outcome:
    return Outcome("infra", outcome.kind, outcome.exit_code, outcome.reason, None, exception_type, message)


def _group(run: RunRecord, rows: list[GradedTrial], findings: list[Finding]) -> dict[str, list[GradedTrial]]:
    """Sort the rows under the tasks they belong to; rows of unexpected tasks are marked and left out."""
    groups: dict[str, list[GradedTrial]] = defaultdict(list)
    if run.expected_tasks is None:
        for row in rows:
            groups[row.task_path].append(row)
        return groups
    index = _ExpectedIndex(run.expected_tasks)
    for row in rows:
        found = index.find(row.trial)
        if found is None:
            row.role = "unexpected"
            message = f"task {row.task_path} is not among the run's expected tasks"
            row.outcome = _unscored(row.outcome, "UnexpectedTaskResultError", message)
            findings.append(Finding("unexpected_result", run.run_path, row.trial.trial_name, "task_id", message))
            continue
        task = index.tasks[found]
        row.task_path = task.path or row.task_path
        groups[task.path or task.name].append(row)
    return groups


def _placeholder(task_path: str, role: Role) -> GradedTrial:
    trial = TrialRecord(trial_name="", result_state="missing", task_path=task_path)
    return GradedTrial(trial, _PLACEHOLDER, role, task_path)


def reconcile(run: RunRecord, findings: list[Finding]) -> list[GradedTrial]:
    """Return a run's rows with their roles, adding what is noticed to `findings`."""
    rows = [GradedTrial(trial, outcome_of(trial, run), "scoring", own_task_path(trial)) for trial in run.trials]
    if run.manifest_error:
        for row in rows:
            row.role = "unjudged"
            row.outcome = _unscored(row.outcome, row.outcome.exception_type, row.outcome.exception_message)
        return rows
    groups = _group(run, rows, findings)
    dropped = set()
    for group in groups.values():
        scoring, *others = sorted(group, key=_order)
        for row in others:
            if row.trial.result_state == "missing":
                dropped.add(id(row))  # an unfinished attempt beside a result: a finding says so, it is no result
            else:
                _mark_duplicate(row, scoring, run, findings)
    rows = [row for row in rows if id(row) not in dropped]
    for task in run.expected_tasks or ():
        identity = task.path or task.name
        if identity not in groups:
            rows.append(_placeholder(identity, "missing"))
        if identity not in groups or min(groups[identity], key=_order).trial.result_state == "missing":
            message = "the expected task has no result; the run is incomplete"
            findings.append(Finding("missing_task", run.run_path, leaf(identity), "tasks", message))
    counted = sum(row.role in COUNTED_ROLES for row in rows)
    for number in range(1, min((run.expected_task_count or 0) - counted, MAX_PLACEHOLDERS) + 1):
        rows.append(_placeholder(f"<missing-{number}>", "padding"))
    return rows
