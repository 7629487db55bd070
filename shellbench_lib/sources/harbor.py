"""Harbor job directories of every release, read into runs.

Which directories are jobs and trials is `harbor_jobs`' matter, what one trial says is `harbor_trials`', how trials
become runs is `harbor_runs`'. This module joins them: each trial once, the analyst's overrides before runs are formed,
unknown fields filled only where the job leaves no doubt. Refused: a folder without a single trial's `result.json`.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from shellbench_lib.conditions import cell_label, normal_effort
from shellbench_lib.errors import InputError
from shellbench_lib.findings import Finding
from shellbench_lib.harbor_outcome import harbor_outcome
from shellbench_lib.records import ID_PREFIX, Condition, ExpectedTask, RunRecord
from shellbench_lib.sources.files import MatrixFolder
from shellbench_lib.sources.harbor_jobs import find_jobs, looks_like_harbor
from shellbench_lib.sources.harbor_runs import Job, form_runs
from shellbench_lib.sources.harbor_trials import HarborTrial, TrialReader
from shellbench_lib.sources.matrix import Matrix, SourceSettings
from shellbench_lib.sources.native import NATIVE_RUNNER, expected_stem, trial_stem
from shellbench_lib.sources.overrides import OverrideRules
from shellbench_lib.sources.values import first_text, mapping, text

__all__ = ["looks_like_harbor", "read_harbor"]
_ABSOLUTE = re.compile(r"^(?:/|~|[A-Za-z]:/)")
_CONTENT_REF = "sha256:"  # such a package ref is one task's content, not a version of the suite
_DIGEST_LENGTH = 12
_SHOWN_LENGTH = 40  # characters of an argument's value in a finding
_SCORED_KINDS = frozenset({"clean", "agent_error"})


def read_harbor(folder: MatrixFolder, settings: SourceSettings) -> Matrix:
    """Read every Harbor job under a folder.

    Raises:
        InputError: no trial has a `result.json`, as where only job-level files were kept.
    """
    rules = OverrideRules(settings.overrides)
    jobs = [job for job in _read_jobs(folder, settings, rules) if job.trials]
    if not jobs:
        raise InputError(
            "matrix_path: every trial here is a native ShellBench one and no run_manifest.json says which run it is of"
        )
    runs = form_runs(jobs, merge_jobs=settings.merge_jobs, declared_count=settings.expected_task_count)
    _file_notes(folder, runs, jobs)
    folder.findings += [*_mixed_arguments(jobs), *rules.unused()]
    return Matrix("harbor", _describe(jobs), runs, folder.findings, folder.digest())


def _read_jobs(folder: MatrixFolder, settings: SourceSettings, rules: OverrideRules) -> list[Job]:
    jobs = find_jobs(folder, TrialReader(folder, settings.reward_key).read)
    _leave_native_out(folder, jobs)
    for job in jobs:
        _settle_tasks(job)
        _settle_conditions(job, rules)
    _count_once(folder, jobs)
    for job in jobs:
        _note_several_jobs(folder, job)
    return jobs


def _leave_native_out(folder: MatrixFolder, jobs: Sequence[Job]) -> None:
    """Take native ShellBench trials out: without their manifest neither their condition nor their gates are known."""
    for job in jobs:
        kept = []
        for trial in job.trials:
            if trial.record.source != NATIVE_RUNNER:
                kept.append(trial)
                continue
            message = f"{trial.record.result_path}: a native ShellBench trial without a run_manifest.json; not read"
            folder.note("foreign_result_file", job.name, trial.record.trial_name, "source", message)
        job.trials = kept


def _count_once(folder: MatrixFolder, jobs: Sequence[Job]) -> None:
    """Keep one copy of each trial: that of the job nearest to the root, then the first by path."""
    kept: dict[tuple[str, Condition | None], HarborTrial] = {}
    for job in sorted(jobs, key=lambda job: (job.name.count("/"), job.name)):
        own = []
        for trial in job.trials:
            print_ = trial.record.fingerprint
            # Without a recorded id, equal bytes under another condition may be two attempts that both failed early.
            identity = print_, None if print_.startswith(ID_PREFIX) else trial.condition
            first = kept.setdefault(identity, trial) if print_ else trial
            if first is trial:
                own.append(trial)
                continue
            copied = replace(trial.record, result_path=first.record.result_path, directory=first.record.directory)
            same = first.record == copied
            difference = "" if same else "; the two differ"
            message = f"the trial of {first.record.result_path} again; the first counts{difference}"
            folder.note("duplicate_trial", job.name, trial.record.trial_name, "id", message)
        job.trials = own


def _settle_tasks(job: Job) -> None:
    """Give every trial a task path that tells no absolute path, and an unreadable one the task its name fits."""
    absolute = {trial.record.task_path for trial in job.trials if _ABSOLUTE.match(trial.record.task_path)}
    shortened = _short_paths(absolute)
    by_stem: dict[str, set[str]] = defaultdict(set)
    for trial in job.trials:
        path = trial.record.task_path = shortened.get(trial.record.task_path, trial.record.task_path)
        if path:
            by_stem[expected_stem(ExpectedTask(path))].add(path)
    for trial in job.trials:
        fitting = by_stem.get(trial_stem(trial.record.directory).rstrip("_-"), set())
        if not trial.record.task_path and len(fitting) == 1:
            trial.record.task_path = next(iter(fitting))


def _short_paths(paths: Iterable[str]) -> dict[str, str]:
    """Return the shortest ends of the paths that still tell all of them apart."""
    parts = {path: path.rstrip("/").split("/") for path in paths}
    length = 1
    while parts:
        ends = {path: "/".join(names[-length:]) for path, names in parts.items()}
        if len(set(ends.values())) == len({tuple(names) for names in parts.values()}):
            return ends
        length += 1
    return {}


def _settle_conditions(job: Job, rules: OverrideRules) -> None:
    """Bring the trials' conditions to their final form; trials of one condition share one object."""
    _fill_unreadable(job.trials)
    _fill_versions(job.trials)
    _settle_package_revisions(job)
    final: dict[Condition, Condition] = {}
    for trial in job.trials:
        recorded = trial.condition
        if recorded not in final:
            final[recorded] = with_names(rules.apply(recorded, job.name))
        trial.condition = final[recorded]


def with_names(condition: Condition) -> Condition:
    """Return the condition with model slug and provider taken from the model id where they are empty."""
    provider, _, rest = condition.model_id.partition("/")
    return replace(
        condition,
        model_slug=condition.model_slug or condition.model_id.rpartition("/")[2],
        model_provider=condition.model_provider or (provider if rest else ""),
    )


def _fill_unreadable(trials: Iterable[HarborTrial]) -> None:
    """Give an unreadable trial the condition of the readable ones with its agent's configuration, if that is one."""
    known: dict[bytes, set[Condition]] = defaultdict(set)
    for trial in trials:
        if trial.record.result_state == "valid":
            known[trial.setting.config].add(trial.condition)
    every = set().union(*known.values())
    for trial in trials:
        if trial.record.result_state == "invalid":
            candidates = known.get(trial.setting.config, set()) or every
            if len(candidates) == 1:
                trial.condition = next(iter(candidates))


def _fill_versions(trials: Sequence[HarborTrial]) -> None:
    """An agent that failed before its version was known ran the version of the job's other trials, if that is one."""
    distinct = {trial.condition for trial in trials}
    versions: dict[Condition, set[str]] = defaultdict(set)
    for condition in distinct:
        if condition.harness_version:
            versions[replace(condition, harness_version="")].add(condition.harness_version)
    filled = {
        unversioned: replace(unversioned, harness_version=next(iter(known)))
        for unversioned, known in versions.items()
        if len(known) == 1 and unversioned in distinct
    }
    for trial in trials:
        trial.condition = filled.get(trial.condition, trial.condition)


def _settle_package_revisions(job: Job) -> None:
    """Where package refs are the contents of single tasks, take the suite's declared ref, else one digest of them."""
    pinned: dict[str, list[HarborTrial]] = defaultdict(list)
    for trial in job.trials:
        if trial.condition.task_revision.startswith(_CONTENT_REF):
            pinned[trial.condition.task_suite].append(trial)
    for suite, trials in pinned.items():
        refs = {(trial.record.task_path, trial.condition.task_revision) for trial in trials}
        if len({ref for _, ref in refs}) == 1 or len({task for task, _ in refs}) < len(refs):
            continue  # one ref for all, or a task in two contents: then the contents do tell versions apart
        revision = _declared_ref(job, suite) or _digest_of(refs)
        for trial in trials:
            trial.condition = replace(trial.condition, task_revision=revision)


def _declared_ref(job: Job, suite: str) -> str:
    datasets = job.config.get("datasets")
    for dataset in map(mapping, datasets if isinstance(datasets, list) else ()):
        if suite and text(dataset.get("name")) == suite:
            return first_text(dataset, "ref", "version")
    return ""


def _digest_of(refs: Iterable[tuple[str, str]]) -> str:
    lines = "\n".join(f"{task} {ref}" for task, ref in sorted(refs))
    return f"tasks-{hashlib.sha256(lines.encode('utf-8', 'surrogatepass')).hexdigest()[:_DIGEST_LENGTH]}"


def _note_several_jobs(folder: MatrixFolder, job: Job) -> None:
    count = len({trial.job_id for trial in job.trials} - {""})
    if count > 1:
        message = f"trials of {count} jobs; attempts at one task are ordered by their start"
        folder.note("several_jobs_in_one", job.name, field_name="job_id", message=message)


def _file_notes(folder: MatrixFolder, runs: Iterable[RunRecord], jobs: Iterable[Job]) -> None:
    notes = {id(trial.record): trial.notes for job in jobs for trial in job.trials}
    for run in runs:
        for record in run.trials:
            for code, field_name, message in notes[id(record)]:
                folder.note(code, run.run_path, record.trial_name, field_name, message)


def _mixed_arguments(jobs: Sequence[Job]) -> list[Finding]:
    """Return a finding for each agent argument that differs inside one cell. Texts may be secret and are not shown."""
    cells: dict[tuple[str, str, str], list[HarborTrial]] = defaultdict(list)
    for job in jobs:
        for trial in job.trials:
            if trial.record.result_state == "valid":
                cells[_cell_of(trial.condition)].append(trial)
    findings = []
    for (suite, revision, label), trials in sorted(cells.items()):
        for key in sorted({key for trial in trials for key in trial.setting.kwargs}):
            values = {trial.setting.kwargs.get(key) for trial in trials}
            if len(values) > 1:
                shown = ", ".join(sorted({_shown_value(value) for value in values}))
                message = f"cell {label} ({suite or 'no suite'}, {revision or 'no revision'}): {key} is {shown}"
                findings.append(Finding("mixed_condition", field=f"agent.kwargs.{key}", message=message))
    return findings


def _cell_of(condition: Condition) -> tuple[str, str, str]:
    label = cell_label(condition.harness, condition.model_slug, normal_effort(condition.reasoning_effort))
    return condition.task_suite, condition.task_revision, label


def _shown_value(value: bytes | None) -> str:
    if value is None:
        return "(not given)"
    return "(a text, list or object)" if value[:1] in b'"[{' else value.decode()[:_SHOWN_LENGTH]


def _describe(jobs: Sequence[Job]) -> str:
    trials = [trial.record for job in jobs for trial in job.trials if trial.record.result_state == "valid"]
    scored = [
        trial.recorded_reward
        for trial in trials
        if trial.recorded_reward is not None and harbor_outcome(trial)[0] in _SCORED_KINDS
    ]
    solved = sum(reward >= 1 for reward in scored)
    return (
        f"Harbor job directories: {len(jobs)} jobs with trials; {len(trials)} trials found, {len(scored)} scored, "
        f"{solved} solved"
    )
