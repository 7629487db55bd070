"""Builds native run trees concisely: `jobs/<run>/run_manifest.json` and `<trial>/result.json`, one value at a time."""

import csv
import json
from pathlib import Path

from shellbench_lib.export import ExportSettings, export_matrix
from shellbench_lib.grading import GradedRun, grade_run
from shellbench_lib.sources import Matrix, SourceSettings, read_matrix

ABSENT = object()


def manifest(tasks=("a", "b"), **values):
    """A manifest of a run that fails no gate, by the keys that upstream writes."""
    found = {
        "harness": "openclaw",
        "model_slug": "m1",
        "model_id": "lab/m1",
        "reasoning_effort": "high",
        "repetition": 1,
        "public_tasks_commit": "rev1",
        "expected_task_count": len(tasks),
        "tasks": [{"name": task, "path": f"suite/{task}"} for task in tasks],
    } | values
    return {key: value for key, value in found.items() if value is not ABSENT}


def result(task="a", reward=1.0, **values):
    """A trial's result; `reward=ABSENT` leaves the rewards empty."""
    found = {
        "task_name": f"Title of {task}",
        "task_id": {"path": f"suite/{task}"},
        "trial_name": f"{task}__x",
        "started_at": "2026-01-01T00:00:00Z",
        "finished_at": "2026-01-01T00:05:00Z",
        "verifier_result": {"rewards": {} if reward is ABSENT else {"reward": reward}},
        "exception_info": None,
    } | values
    return {key: value for key, value in found.items() if value is not ABSENT}


def failure(kind, message="it broke", **values):
    """An exception_info."""
    return {"exception_info": {"exception_type": kind, "exception_message": message} | values}


def write(path: Path, value) -> Path:
    """Write a JSON value, or text as it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(value, bytes):
        path.write_bytes(value)
    else:
        path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


def write_run(root: Path, name="r1", trials=None, *, jobs="jobs", **values) -> Path:
    """Write one run. `trials` maps a directory to a result (or to a reward of the task before `__`)."""
    tasks = values.pop("tasks", ("a", "b"))
    found = manifest(tasks) | {"run_label": name} | values if isinstance(tasks, tuple) else values | {"tasks": tasks}
    if trials is None:
        trials = dict.fromkeys(tasks, 1.0)
    folder = root / jobs / name
    write(folder / "run_manifest.json", {key: value for key, value in found.items() if value is not ABSENT})
    for directory, value in trials.items():
        task = directory.partition("__")[0]
        content = (
            value
            if isinstance(value, dict | str | bytes)
            else result(task, value, trial_name=directory, id=f"{name} {directory}")
        )
        write(folder / directory / "result.json", content)
    return folder


def read(root: Path, **settings) -> Matrix:
    """Read a matrix."""
    return read_matrix(root, SourceSettings(**settings))


def graded(root: Path, **settings) -> tuple[GradedRun, list]:
    """Read and grade the one run of a matrix; the findings of both steps."""
    matrix = read(root, **settings)
    (run,) = matrix.runs
    findings = list(matrix.findings)
    return grade_run(run, findings), findings


class Export:
    """An exported matrix as other programs read it."""

    def __init__(self, root: Path, out: Path | None = None, split_by=(), **settings):
        out = out or root.with_name(f"{root.name}-summaries")
        self.summary = export_matrix(str(root), out, ExportSettings(SourceSettings(**settings), tuple(split_by)))
        self.folder = out
        self.runs = {row["run_path"]: row for row in self.table("aggregate_results")}
        self.tasks = self.table("per_task_results")
        self.findings = self.table("findings")
        self.json = json.loads((out / "aggregate_results.json").read_bytes(), parse_constant=self._refuse)

    def table(self, name):
        with (self.folder / f"{name}.csv").open(encoding="utf-8", newline="") as stream:
            return list(csv.DictReader(stream))

    def codes(self, run_path=None):
        """Codes of the findings, each once."""
        return {row["code"] for row in self.findings if run_path in (None, row["run_path"])}

    def of(self, run_path, task=None):
        """Task rows of a run."""
        return [row for row in self.tasks if row["run_path"] == run_path and task in (None, row["task_name"])]

    def files(self):
        return {path.name: path.read_bytes() for path in sorted(self.folder.iterdir())}

    @staticmethod
    def _refuse(constant):
        raise AssertionError(f"{constant} is not strict JSON")
