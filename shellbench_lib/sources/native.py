"""Native ShellBench runs: `jobs/<run>/run_manifest.json` and `<trial>/result.json` become run and trial records.

The keys and aliases are those of the upstream aggregation; "first of" means the first alias whose value is neither
null nor empty.
"""

from __future__ import annotations

import os
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

from shellbench_lib.conditions import split_repetition, task_set_digest
from shellbench_lib.records import Condition, ExpectedTask, ParityRecord, RepairRecord, RunRecord, TrialRecord
from shellbench_lib.sources.files import Entry, MatrixFolder, UnreadableFileError, join, shown
from shellbench_lib.sources.matrix import Matrix, SourceSettings
from shellbench_lib.sources.overrides import OverrideRules
from shellbench_lib.sources.trials import (
    Note,
    is_absolute,
    message_text,
    portable_paths,
    task_path_of,
    trial_from_result,
)
from shellbench_lib.sources.values import first_text, flag, mapping, text, whole

MANIFEST = "run_manifest.json"
TRIAL_PARTS = frozenset({"agent", "user-agent", "verifier", "artifacts", "steps"})  # folders inside a trial's
NATIVE_RUNNER = "shellbench-native"
TRIAL_NAME_LENGTH = 32  # characters of the task's leaf that a trial directory's name keeps
_REPETITION_KEYS = ("repetition", "repetition_index", "repeat", "repeat_index")
_COUNT_KEYS = ("expected_task_count", "task_count", "expected_trials", "n_tasks")
_PAIR_KEYS = ("pair_label", "pair_name", "comparison_pair", "base_label", "pair")
_PARITY_SCOPE_KEYS = (
    "harness", "model_slug", "model_id", "provider_model_id", "execution_mode", "task_suite", "expected_task_count",
)  # fmt: skip


def native_jobs_directory(folder: MatrixFolder) -> str | None:
    """Return the directory that holds the runs (`""` for the root itself), None where there is no native run."""
    if (folder.root / MANIFEST).is_file():
        return ""
    for directory in ("jobs", ""):
        if (folder.root / directory).is_dir() and any(
            (folder.root / directory / entry.name / MANIFEST).is_file()
            for entry in MatrixFolder(folder.root).entries(directory)
            if entry.is_directory
        ):
            return directory
    return None


def native_run_below(folder: MatrixFolder) -> str | None:
    """Return the path of a native run that lies deeper than runs are looked for, None where there is none."""
    for directory, folders, files in os.walk(folder.root):
        folders[:] = sorted(set(folders) - TRIAL_PARTS)
        if MANIFEST in files:
            return shown(Path(directory).relative_to(folder.root).as_posix())
    return None


def read_native(folder: MatrixFolder, settings: SourceSettings) -> Matrix:
    """Read every run of a native matrix: the folder above `jobs/`, `jobs/` itself or one run."""
    rules = OverrideRules(settings.overrides)
    if (folder.root / MANIFEST).is_file():
        name = shown(folder.root.name)
        runs = [_read_run(folder, "", name, name, settings, rules)]
        description = "one native ShellBench run"
    else:
        jobs = native_jobs_directory(folder) or ""
        runs = []
        for entry in folder.entries(jobs):
            directory = join(jobs, entry.name)
            if not entry.is_directory:
                continue
            if not (folder.root / directory / MANIFEST).exists():
                folder.note("not_a_run", shown(directory), field_name=MANIFEST, message="no run_manifest.json; skipped")
                continue
            runs.append(_read_run(folder, directory, shown(directory), shown(entry.name), settings, rules))
        description = f"native ShellBench runs: {len(runs)} run directories"
    for finding in rules.unused():
        folder.findings.append(finding)
    return Matrix("native", description, runs, folder.findings, folder.digest())


def _read_run(
    folder: MatrixFolder, directory: str, run_path: str, name: str, settings: SourceSettings, rules: OverrideRules
) -> RunRecord:
    error = ""
    manifest: dict[str, Any] = {}
    try:
        found = folder.read_object(join(directory, MANIFEST), run_path=run_path)
        manifest = found[0] if found else {}
        error = "" if found else "cannot be read"
    except UnreadableFileError as cause:
        error = str(cause)
    if error:
        message = f"{MANIFEST} {error}; the run is excluded"
        folder.note("malformed_manifest", run_path, field_name=MANIFEST, message=message)
        run = RunRecord(run_path, name, "native", manifest_error=error)
    else:
        run = _run_from_manifest(folder, manifest, directory, run_path, name, settings)
        run.condition = rules.apply(run.condition, run_path)
    for entry in folder.entries(directory):
        if entry.is_directory:
            trial = _read_trial(folder, run, directory, entry, settings.reward_key)
            if trial is not None:
                run.trials.append(trial)
    _drop_machine_paths(run)
    if any(trial.source == NATIVE_RUNNER for trial in run.trials):
        run.native_runner = True
    return run


def _drop_machine_paths(run: RunRecord) -> None:
    """Cut absolute task paths of the trials to what the task list calls the task, else to the part that differs."""
    expected: dict[str, list[str]] = defaultdict(list)
    for task in run.expected_tasks or ():
        expected[task.path.rpartition("/")[2]].append(task.path)
    portable = portable_paths(trial.task_path.rstrip("/") for trial in run.trials)
    for trial in run.trials:
        path = trial.task_path.rstrip("/")
        if is_absolute(path):
            known = [one for one in expected.get(path.rpartition("/")[2], ()) if path.endswith(f"/{one}")]
            trial.task_path = known[0] if len(known) == 1 else portable[path]


def _run_from_manifest(
    folder: MatrixFolder,
    manifest: dict[str, Any],
    directory: str,
    run_path: str,
    name: str,
    settings: SourceSettings,
) -> RunRecord:
    label = text(manifest.get("run_label")) or name
    expected = _expected_tasks(folder, manifest, run_path)
    return RunRecord(
        run_path=run_path,
        run_label=label,
        source_kind="native",
        condition=_condition(folder, manifest, directory, expected),
        pair_label=_pair_label(manifest),
        repetition=_repetition(folder, manifest, label, run_path),
        phase=text(manifest.get("phase")),
        expected_tasks=expected,
        expected_task_count=_expected_count(folder, manifest, expected, run_path, settings),
        native_runner=manifest.get("runner") == NATIVE_RUNNER,
        trajectory_mode=text(manifest.get("trajectory_mode")),
        declared_eligible=_declared_eligible(folder, manifest, run_path),
        declared_exclusion_reason=text(manifest.get("exclusion_reason")),
        accepted=_accepted(mapping(manifest.get("execution_acceptance"))),
        acceptance_reason=text(mapping(manifest.get("execution_acceptance")).get("reason")),
        parity=ParityRecord(
            validation=manifest.get("parity_validation"),
            scope=manifest.get("parity_validation_scope"),
            legacy_validated=manifest.get("parity_validated"),
            manifest_values={key: manifest.get(key) for key in _PARITY_SCOPE_KEYS},
        ),
        repair=_repair(manifest),
    )


def _condition(
    folder: MatrixFolder, manifest: dict[str, Any], directory: str, expected: tuple[ExpectedTask, ...] | None
) -> Condition:
    tool_mode = first_text(manifest, "tool_mode", "openclaw_tool_mode")
    if not tool_mode:
        try:
            found = folder.read_object(join(directory, "config.json"))
        except UnreadableFileError:
            found = None  # the manifest is the run's record; a job configuration only adds the tool mode
        tool_mode = text(mapping(found[0].get("native_run")).get("openclaw_tool_mode")) if found else ""
    return Condition(
        harness=text(manifest.get("harness")),
        harness_version=text(manifest.get("harness_version")),
        tool_mode=tool_mode,
        model_slug=text(manifest.get("model_slug")),
        model_id=first_text(manifest, "model_id", "provider_model_id"),
        model_provider=text(manifest.get("model_provider")),
        reasoning_effort=text(manifest.get("reasoning_effort")),
        judge_model_id=text(manifest.get("judge_model_id")),
        judge_reasoning_effort=text(manifest.get("judge_reasoning_effort")),
        task_revision=text(manifest.get("public_tasks_commit")),
        task_suite=text(manifest.get("task_suite")),
        task_set_sha256=task_set_digest(task.path or task.name for task in expected) if expected else "",
    )


def _pair_label(manifest: dict[str, Any]) -> str:
    for key in _PAIR_KEYS:
        value = manifest.get(key)
        found = first_text(value, "label", "name", "id") if isinstance(value, dict) else text(value)
        if found:
            return found
    return ""


def _present(value: Any) -> bool:
    return value is not None and value != ""


def _repetition(folder: MatrixFolder, manifest: dict[str, Any], label: str, run_path: str) -> int | None:
    for key in _REPETITION_KEYS:
        value = manifest.get(key)
        if _present(value):
            repetition = None if isinstance(value, bool) else whole(value)
            if repetition is None:
                folder.note(
                    "unreadable_repetition",
                    run_path,
                    field_name=key,
                    message=f"{text(value)[:60]!r} is no whole number",
                )
            return repetition
    return split_repetition(label, text(manifest.get("model_slug")))[1]


def _declared_eligible(folder: MatrixFolder, manifest: dict[str, Any], run_path: str) -> bool | None:
    value = manifest.get("leaderboard_eligible")
    if not _present(value):
        return None
    declared = flag(value)
    if declared is None:
        message = f"{text(value)!r} is neither true nor false; the run is not eligible"
        folder.note("unreadable_eligibility", run_path, field_name="leaderboard_eligible", message=message)
    return bool(declared)


def _accepted(acceptance: dict[str, Any]) -> bool | None:
    value = acceptance.get("accepted")
    return flag(value) if _present(value) else None


def _expected_item(item: Any) -> ExpectedTask | None:
    if isinstance(item, str):
        path, name = item, ""
    else:
        details = mapping(item)
        path = ""
        for key in ("path", "task_path"):
            value = details.get(key)
            path = path or text(value.get("path") if isinstance(value, dict) else value)
        name = first_text(details, "task_name", "name", "id")
    path = path.replace("\\", "/").rstrip("/")
    return ExpectedTask(path, name) if path or name else None


def _expected_tasks(folder: MatrixFolder, manifest: dict[str, Any], run_path: str) -> tuple[ExpectedTask, ...] | None:
    for key in ("tasks", "expected_tasks", "task_paths"):
        items = manifest.get(key)
        if not isinstance(items, list):
            continue
        tasks = [task for task in map(_expected_item, items) if task is not None]
        portable = portable_paths(task.path for task in tasks)
        if portable:
            tasks = [replace(task, path=portable.get(task.path, task.path)) for task in tasks]
        distinct = {(task.path or task.name): task for task in tasks}
        if len(tasks) < len(items):
            message = f"{len(items) - len(tasks)} of {len(items)} entries name no task and are left out"
            folder.note("missing_name", run_path, field_name=key, message=message)
        if len(distinct) < len(tasks):
            message = f"{len(tasks)} entries name {len(distinct)} tasks"
            folder.note("duplicate_expected_task", run_path, field_name=key, message=message)
        if distinct:
            return tuple(distinct.values())
    return None


def _expected_count(
    folder: MatrixFolder,
    manifest: dict[str, Any],
    expected: tuple[ExpectedTask, ...] | None,
    run_path: str,
    settings: SourceSettings,
) -> int | None:
    for key in _COUNT_KEYS:
        value = manifest.get(key)
        if not _present(value):
            continue
        count = None if isinstance(value, bool) else whole(value)
        if count is None or count < 0:
            message = f"{text(value)[:60]!r} is no task count; taken as not declared"
            folder.note("unreadable_number", run_path, field_name=key, message=message)
            break
        if expected is not None and count != len(expected):
            message = f"{key} is {count}, the task list names {len(expected)}; the run cannot be complete"
            folder.note("expected_count_mismatch", run_path, field_name=key, message=message)
        return count
    return len(expected) if expected is not None else settings.expected_task_count


def _repair(manifest: dict[str, Any]) -> RepairRecord | None:
    overlay = manifest.get("repair_overlay")
    overlay_names = mapping(overlay).get("repair_task_names")
    names = overlay_names if isinstance(overlay_names, list) and overlay_names else manifest.get("repair_task_names")
    names = tuple(filter(None, map(text, names))) if isinstance(names, list) else ()
    if not isinstance(overlay, dict) and not names:
        return None
    lineage = mapping(overlay).get("task_lineage")
    kinds = tuple(text(mapping(item).get("source_kind")) for item in lineage) if isinstance(lineage, list) else None
    return RepairRecord(
        has_overlay=isinstance(overlay, dict),
        task_names=tuple(dict.fromkeys(names)),
        lineage_kinds=kinds,
        original_run_label=first_text(mapping(overlay), "rerun_of_canonical_run")
        or text(manifest.get("rerun_of_canonical_run")),
    )


def _read_trial(
    folder: MatrixFolder, run: RunRecord, run_directory: str, entry: Entry, reward_key: str
) -> TrialRecord | None:
    directory = join(run_directory, entry.name)
    name = shown(entry.name)
    path = join(directory, "result.json")

    def note(code: str, field_name: str, message: str) -> None:
        folder.note(code, run.run_path, name, field_name, message)

    try:
        found = folder.read_object(path, run_path=run.run_path)
    except UnreadableFileError as cause:
        note("malformed_result", "result.json", f"{shown(path)} {cause}")
        return TrialRecord(
            name,
            name,
            result_path=shown(path),
            result_state="invalid",
            task_path=_planned(folder, directory),
            exception_message=f"result.json {cause}",
        )
    if found is None:
        return _trial_without_result(folder, run, directory, name, note)
    trial = trial_from_result(*found, directory=name, result_path=shown(path), reward_key=reward_key, note=note)
    trial.scorecard_infra_message = _scorecard_message(folder, directory, note)
    return trial


def _trial_without_result(
    folder: MatrixFolder, run: RunRecord, directory: str, name: str, note: Note
) -> TrialRecord | None:
    planned = _planned(folder, directory)
    if planned or (folder.root / directory / "config.json").exists() or _is_expected_directory(run, name):
        note("unfinished_trial", "result.json", "the trial's directory holds no result.json")
        return TrialRecord(name, name, result_state="missing", task_path=planned)
    note("not_a_trial", "", "no result.json, no config.json and no expected task of this name; ignored")
    return None


def _planned(folder: MatrixFolder, directory: str) -> str:
    """Return the task path that a trial's own config.json plans; empty where it says nothing."""
    try:
        found = folder.read_object(join(directory, "config.json"))
    except UnreadableFileError:
        return ""
    return task_path_of({"task_id": found[0].get("task")}) if found else ""


def trial_stem(directory: str) -> str:
    """Return the part of a trial directory's name that comes from the task: all before the last `__`."""
    return directory.rpartition("__")[0] or directory


def expected_stem(task: ExpectedTask) -> str:
    """Return how a trial directory of this task begins: 32 characters of the leaf, trailing `_-` taken off."""
    return (task.path or task.name).rpartition("/")[2][:TRIAL_NAME_LENGTH].rstrip("_-")


def _is_expected_directory(run: RunRecord, name: str) -> bool:
    stem = trial_stem(name).rstrip("_-")
    return any(expected_stem(task) == stem for task in run.expected_tasks or ())


def _scorecard_message(folder: MatrixFolder, directory: str, note: Note) -> str | None:
    try:
        found = folder.read_object(join(directory, "verifier/scorecard.json"))
    except UnreadableFileError as cause:
        note("malformed_scorecard", "verifier/scorecard.json", f"{cause}; ignored")
        return None
    if found is None or text(found[0].get("status")) != "infra_error":
        return None
    reasons = found[0].get("judge_reasons")
    joined = "; ".join(filter(None, map(text, reasons))) if isinstance(reasons, list) else ""
    message = joined or text(found[0].get("reason")) or "the verifier's judge reports an infrastructure error"
    return message_text(message)
