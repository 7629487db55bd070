"""Finding Harbor's jobs and trials under a folder, at any depth, in whatever layout they were stored.

A trial is a directory whose `result.json` names a trial and a task; the directory above it is its job, with or without
job-level files. Nothing below a trial is searched. A directory with a trial's `config.json` and no `result.json` is an
unfinished trial: noticed, never counted. A `result.json` of another make and terminal-bench's `results.json` are not
read; they are noticed too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

from shellbench_lib.errors import InputError
from shellbench_lib.sources.files import Entry, MatrixFolder, UnreadableFileError, join, shown
from shellbench_lib.sources.native import TRIAL_PARTS
from shellbench_lib.sources.values import text, whole

RESULT, CONFIG = "result.json", "config.json"
TERMINAL_BENCH_RESULT = "results.json"

PlaceKind = Literal["trial", "broken", "unfinished", "job", "other"]
Trial = TypeVar("Trial")


@dataclass(slots=True)
class Place:
    """One directory and what it is. `result` and `config` are empty where there is no such readable file."""

    kind: PlaceKind
    path: str
    result: dict[str, Any] = field(default_factory=dict)
    data: bytes = b""
    config: dict[str, Any] = field(default_factory=dict)
    fault: str = ""


@dataclass(slots=True)
class JobFolder(Generic[Trial]):
    """A directory that holds trials, or job-level files.

    `name` is its path under the matrix, the matrix's own name where that is the job. `config` and `result` are empty
    where there is no such readable file.
    """

    name: str
    config: dict[str, Any] = field(default_factory=dict)
    result: dict[str, Any] = field(default_factory=dict)
    trials: list[Trial] = field(default_factory=list)

    @property
    def planned_trials(self) -> int | None:
        """How many trials the job planned, None where its result does not say."""
        count = whole(self.result.get("n_total_trials"))
        return count if count is not None and count > 0 else None


def is_trial_result(result: dict[str, Any]) -> bool:
    """Return whether a `result.json` is a trial's."""
    return "trial_name" in result and ("task_name" in result or "task_id" in result)


def is_job_result(result: dict[str, Any]) -> bool:
    """Return whether a `result.json` is a job's."""
    return "n_total_trials" in result or ("stats" in result and "started_at" in result)


def _is_trial_config(config: dict[str, Any]) -> bool:
    return "trial_name" in config or ("task" in config and "agent" in config)


def _is_job_config(config: dict[str, Any]) -> bool:
    return any(key in config for key in ("jobs_dir", "n_attempts", "agents", "orchestrator"))


def _config_of(folder: MatrixFolder, path: str) -> tuple[dict[str, Any], str]:
    """Return a directory's `config.json` (empty where there is none) and why it cannot be read."""
    try:
        found = folder.read_object(join(path, CONFIG))
    except UnreadableFileError as cause:
        return {}, str(cause)
    return (found[0] if found else {}), ""


def _classify(folder: MatrixFolder, path: str) -> Place:
    fault, result = "", {}
    try:
        found = folder.read_object(join(path, RESULT))
    except UnreadableFileError as cause:
        found, fault = None, str(cause)
    if found is not None:
        if is_trial_result(found[0]):
            return Place("trial", path, *found)
        if is_job_result(found[0]):
            result = found[0]
        else:
            _foreign(folder, path, RESULT, "neither a Harbor trial's nor a Harbor job's")
    config, config_fault = _config_of(folder, path)
    if _is_trial_config(config) and not result:
        return Place("broken" if fault else "unfinished", path, config=config, fault=fault)
    if fault and not _is_job_config(config) and not _holds_directories(folder, path):
        return Place("broken", path, fault=fault)
    is_job = bool(result) or bool(fault) or _is_job_config(config)
    for name, cause_text in ((RESULT, fault), (CONFIG, config_fault)):
        if is_job and cause_text:
            folder.note("malformed_job_file", field_name=shown(join(path, name)), message=f"{cause_text}; ignored")
    return Place("job" if is_job else "other", path, result, config=config)


def _holds_directories(folder: MatrixFolder, path: str) -> bool:
    return any(entry.is_directory and entry.name not in TRIAL_PARTS for entry in folder.entries(path))


def _foreign(folder: MatrixFolder, path: str, name: str, message: str) -> None:
    folder.note("foreign_result_file", field_name=shown(join(path, name)), message=f"{message}; not read")


def places(folder: MatrixFolder) -> Iterator[Place]:
    """Yield every directory from the root down, in name order, trials without what lies below them."""
    stack = [("", False)]
    seen: set[tuple[int, int]] = set()
    while stack:
        path, inside_job = stack.pop()
        place = _classify(folder, path)
        yield place
        if place.kind in {"trial", "broken", "unfinished"}:
            continue
        if not _first_visit(folder, path, seen):
            continue
        entries = folder.entries(path)
        if any(entry.name == TERMINAL_BENCH_RESULT and not entry.is_directory for entry in entries):
            _foreign(folder, path, TERMINAL_BENCH_RESULT, "terminal-bench's format before Harbor")
        inside_job = inside_job or place.kind == "job"
        stack.extend((join(path, entry.name), inside_job) for entry in reversed(entries) if _enter(entry, inside_job))


def _first_visit(folder: MatrixFolder, path: str, seen: set[tuple[int, int]]) -> bool:
    """Return whether a directory was not yet reached by another path; links inside the matrix may run in circles."""
    try:
        status = (folder.root / path).stat()
    except OSError as error:
        folder.note("unreadable_directory", field_name=shown(path), message=f"cannot be entered: {error.strerror}")
        return False
    known = len(seen)
    seen.add((status.st_dev, status.st_ino))
    return len(seen) > known


def _enter(entry: Entry, inside_job: bool) -> bool:  # noqa: FBT001 - reads as a sentence where it is called
    return entry.is_directory and not (inside_job and entry.name in TRIAL_PARTS)


def looks_like_harbor(folder: MatrixFolder) -> bool:
    """Return whether a job or a trial of Harbor lies anywhere under the folder. Notes no finding."""
    return any(place.kind in {"trial", "unfinished", "job"} for place in places(MatrixFolder(folder.root)))


def find_jobs(folder: MatrixFolder, read: Callable[[Place], Trial]) -> list[JobFolder[Trial]]:
    """Return every directory that holds trials or job-level files, by path; what is unfinished is noted.

    Args:
        folder: the matrix.
        read: makes a trial of a `trial` or `broken` place at once, so that no parsed file is kept.

    Raises:
        InputError: no trial has a `result.json`.
    """
    jobs: dict[str, JobFolder[Trial]] = {}
    idle, doubtful = [], []

    def job_at(path: str) -> JobFolder[Trial]:
        return jobs.setdefault(path, JobFolder(shown(path or folder.root.name)))

    for place in places(folder):
        if place.kind == "job":
            job = job_at(place.path)
            job.config, job.result = place.config, place.result
        elif place.kind == "other":
            idle.append(place.path)
        elif place.kind == "broken" and not place.config:
            doubtful.append(place)
        elif place.kind == "unfinished":
            _note_unfinished(folder, place, job_at(parent(place.path)).name)
        else:
            job_at(parent(place.path)).trials.append(read(place))
    for place in doubtful:
        if parent(place.path) in jobs:
            job_at(parent(place.path)).trials.append(read(place))
        else:
            _note_stray(folder, place)
    _note_idle(folder, idle, jobs)
    return _finished(folder, [jobs[path] for path in sorted(jobs)])


def _finished(folder: MatrixFolder, jobs: list[JobFolder[Trial]]) -> list[JobFolder[Trial]]:
    if not any(job.trials for job in jobs):
        raise InputError(_nothing_to_read(folder, jobs))
    for job in jobs:
        _note_unfinished_job(folder, job)
    return jobs


def _note_stray(folder: MatrixFolder, place: Place) -> None:
    path = shown(join(place.path, RESULT))
    folder.note("malformed_result", field_name=path, message=f"{place.fault}; belongs to no job")


def parent(path: str) -> str:
    """Return the directory above a path under the matrix; the root stands above itself."""
    return path.rpartition("/")[0]


def _note_unfinished(folder: MatrixFolder, place: Place, job: str) -> None:
    path = shown(place.path or folder.root.name)
    message = f"{path} holds a {CONFIG} and no {RESULT}"
    folder.note("unfinished_trial", job, path.rpartition("/")[2], RESULT, message)


def _note_unfinished_job(folder: MatrixFolder, job: JobFolder[Trial]) -> None:
    planned = job.planned_trials
    if not job.result:
        return  # nothing says what was planned or whether it ended
    open_end = not text(job.result.get("finished_at"))
    if open_end or (planned is not None and len(job.trials) < planned):
        end = "no finish time" if open_end else "finished"
        message = f"{end}; {len(job.trials)} of {planned if planned is not None else 'unknown'} trials have a result"
        folder.note("unfinished_job", job.name, field_name=RESULT, message=message)


def _note_idle(folder: MatrixFolder, idle: list[str], jobs: dict[str, JobFolder[Trial]]) -> None:
    """Note the directories inside a job that are neither a trial nor lead to one."""
    leading = {""}
    for job in jobs:
        path = job
        while path:
            leading.add(path)
            path = parent(path)
    for path in idle:
        if path and path not in leading and parent(path) in jobs:
            message = f"no {RESULT} and no {CONFIG}; ignored"
            folder.note("not_a_trial", jobs[parent(path)].name, shown(path).rpartition("/")[2], "", message)


def _nothing_to_read(folder: MatrixFolder, jobs: list[JobFolder[Trial]]) -> str:
    name = shown(folder.root.name)
    if any(job.result for job in jobs):
        return (
            f"matrix_path: {name} holds job-level {RESULT} files but no trial's; they have neither times, tokens nor "
            f"task identities. Give the whole job directories, <job>/<trial>/{RESULT} included"
        )
    return f"matrix_path: {name} holds Harbor directories, but no trial in them has a {RESULT}; nothing has finished"
