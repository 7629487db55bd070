"""A matrix on disk becomes the summaries files: run, task, infrastructure, repair and findings tables, leaderboard."""

from __future__ import annotations

import gc
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from shellbench_lib.columns import SUMMARY_TABLES
from shellbench_lib.conditions import EFFORT_ORDER, cell_label, cell_names, dataset_keys, dataset_name, normal_effort
from shellbench_lib.errors import InputError
from shellbench_lib.findings import Finding, ordered
from shellbench_lib.grading import GradedRun, grade
from shellbench_lib.leaderboard import cleaned_leaderboard, legacy_pairs
from shellbench_lib.outcomes import PASS_REWARD
from shellbench_lib.params import SAMPLE_MATRIX, ReportParameters
from shellbench_lib.paths import local_path, refuse_inside
from shellbench_lib.repairs import compare_repairs
from shellbench_lib.rows import (
    RUN_COLUMNS,
    TASK_COLUMNS,
    dataset_of,
    infra_rows,
    name_tasks,
    repair_row,
    run_row,
    task_rows,
)
from shellbench_lib.sample import write_sample
from shellbench_lib.sources import Matrix, SourceSettings, read_matrix
from shellbench_lib.sources.aggregates import AggregateExport, looks_like_aggregates, read_aggregates
from shellbench_lib.staging import staged_folder
from shellbench_lib.tables import write_csv, write_json

SCHEMA_VERSION = 1
JSON_FILES = ("aggregate_results.json", "repair_overlay_sensitivity.json")
LEADERBOARD_FILE = "cleaned_leaderboard.md"
OWN_FILE = "findings.csv"  # other tools' exports do not have it
SUMMARY_FILES = (*SUMMARY_TABLES, *JSON_FILES, LEADERBOARD_FILE)
TAXONOMY = {
    "infra": "The environment, the harness or the verifier's judge failed; the trial says nothing about the agent.",
    "agent_exit": "The agent ended with an error of its own; a recorded reward still counts.",
    "verifier_missing_reward": "The verifier left no usable reward.",
    "clean_fail": "The trial ran cleanly and scored 0 or less.",
    "partial": "The trial ran cleanly and scored between 0 and 1.",
    "pass": "The trial ran cleanly and scored 1 or more.",
}
# Fields that may differ inside a cell without being part of its name.
_MIXABLE = (
    "harness_version", "tool_mode", "model_id", "model_provider", "judge_model_id", "judge_reasoning_effort",
    "task_suite", "task_set_sha256",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ExportSettings:
    """How a matrix is read and which extra condition fields separate cells."""

    source: SourceSettings = field(default_factory=SourceSettings)
    split_by: tuple[str, ...] = ()

    @classmethod
    def of(cls, parameters: ReportParameters) -> ExportSettings:
        """Return the exporting part of the report parameters."""
        return cls(SourceSettings.of(parameters), tuple(parameters.split_by))


@dataclass(frozen=True, slots=True)
class InputSummary:
    """What was found in the whole input, whatever is eligible. Trials are attempts with a readable result."""

    kind: str
    description: str
    run_count: int
    eligible_run_count: int
    trials_found: int
    trials_scored: int
    trials_solved: int
    input_sha256: str


@dataclass(slots=True)
class SummaryRows:
    """Every row that the summaries files hold, in the columns' order."""

    runs: list[dict[str, Any]]
    tasks: list[list[Any]]
    repairs: list[list[Any]]
    findings: list[Finding]
    summary: InputSummary


def export_matrix(matrix_path: str, summaries_dir: Path, settings: ExportSettings | None = None) -> InputSummary:
    """Write the summaries files of a matrix, all of them or none, and return what was found.

    Args:
        matrix_path: a local folder (relative ones from the project root), or `sample` for the built-in matrix.
        summaries_dir: the folder that receives the files; what an earlier export left there is replaced.
        settings: how the input is read.

    Raises:
        InputError: nothing readable is recognised at the path.
        OutputError: the folder holds files that are not ours, or cannot be written.
    """
    if matrix_path != SAMPLE_MATRIX:
        refuse_inside(summaries_dir, local_path(matrix_path, field="matrix_path"), field="matrix_path")
    with collector_paused():
        rows = summary_rows(matrix_path, settings or ExportSettings())
        with staged_folder(summaries_dir, lambda name: name in SUMMARY_FILES) as stage:
            _write(stage, rows, (settings or ExportSettings()).split_by)
    return rows.summary


@contextmanager
def collector_paused() -> Iterator[None]:
    """Keep the garbage collector out: records hold no cycles, and it would walk all of them again and again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@contextmanager
def own_summaries(folder: Path) -> Iterator[Path]:
    """Give a summaries folder of ours: the folder itself, or for another tool's export a temporary translation of it.

    Raises:
        InputError: the export cannot be read; see `sources.aggregates`.
    """
    if not looks_like_aggregates(folder) or (folder / OWN_FILE).is_file():
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="shellbench-summaries-") as temporary:
        translated = Path(temporary) / folder.name
        export_matrix(str(folder), translated)
        yield translated


def summary_rows(matrix_path: str, settings: ExportSettings) -> SummaryRows:
    """Read and grade a matrix; see `export_matrix`."""
    if matrix_path == SAMPLE_MATRIX:
        with tempfile.TemporaryDirectory(prefix="shellbench-sample-") as folder:
            sample = Path(folder) / SAMPLE_MATRIX
            write_sample(sample)
            return _rows_at(sample, settings)
    return _rows_at(local_path(matrix_path, field="matrix_path"), settings)


def _rows_at(path: Path, settings: ExportSettings) -> SummaryRows:
    if looks_like_aggregates(path):
        rows = _rows_of_aggregates(read_aggregates(path))
    else:
        rows = _rows_of_runs(read_matrix(path, settings.source))
    rows.findings = ordered([*rows.findings, *condition_findings(rows.runs, settings.split_by)])
    return rows


def _rows_of_runs(matrix: Matrix) -> SummaryRows:
    if not matrix.runs:
        raise InputError("matrix_path: no run was found")
    findings = list(matrix.findings)
    graded = grade(matrix.runs, findings)
    datasets = dataset_of(graded)
    name_tasks(graded, datasets)
    repairs = compare_repairs(graded, datasets, findings)
    graded.sort(key=lambda run: (run.record.run_label, run.record.run_path))
    run_rows, all_task_rows = [], []
    for run in graded:
        values = run_row(run)
        run_rows.append(values)
        all_task_rows += task_rows(run, values, findings)
    ordered_repairs = sorted(repairs, key=lambda item: (item.run.record.run_label, item.run.record.run_path))
    return SummaryRows(
        run_rows, all_task_rows, [repair_row(item) for item in ordered_repairs], findings, _summary(matrix, graded)
    )


def _summary(matrix: Matrix, graded: Sequence[GradedRun]) -> InputSummary:
    rows = [row for run in graded for row in run.rows if row.trial.result_state == "valid"]
    rewards = [row.outcome.reward for row in rows if row.outcome.reward is not None]
    return InputSummary(
        kind=matrix.kind,
        description=matrix.description,
        run_count=len(graded),
        eligible_run_count=sum(run.eligible for run in graded),
        trials_found=len(rows),
        trials_scored=len(rewards),
        trials_solved=sum(reward >= PASS_REWARD for reward in rewards),
        input_sha256=matrix.input_sha256,
    )


def _rows_of_aggregates(export: AggregateExport) -> SummaryRows:
    reward, scorable = TASK_COLUMNS.index("reward"), TASK_COLUMNS.index("scorable")
    rewards = [row[reward] for row in export.task_rows if row[scorable] and row[reward] is not None]
    runs = [dict(zip(RUN_COLUMNS, row, strict=True)) for row in export.run_rows]
    summary = InputSummary(
        kind="aggregate",
        description=export.description,
        run_count=len(runs),
        eligible_run_count=sum(row["eligible"] for row in runs),
        trials_found=sum(bool(row[scorable]) for row in export.task_rows),
        trials_scored=len(rewards),
        trials_solved=sum(value >= PASS_REWARD for value in rewards),
        input_sha256=export.input_sha256,
    )
    return SummaryRows(runs, export.task_rows, [], list(export.findings), summary)


def run_cells(rows: Iterable[Mapping[str, Any]], split_by: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return the dataset and the cell label of each run path."""
    rows = list(rows)
    keys = dataset_keys((row["task_revision"], row["expected_task_count"], row["task_set_sha256"]) for row in rows)
    return {
        row["run_path"]: (
            dataset_name(keys[row["task_revision"], row["expected_task_count"], row["task_set_sha256"]], row, split_by),
            cell_label(*cell_names(row, split_by)),
        )
        for row in rows
    }


def condition_findings(rows: Sequence[Mapping[str, Any]], split_by: Sequence[str]) -> list[Finding]:
    """Return what is unusual about the runs as a whole: mixed conditions, repeated labels, exclusions and the like."""
    findings = [*_label_findings(rows), *_exclusion_findings(rows)]
    cells = run_cells(rows, split_by)
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        if row["eligible"]:
            groups[cells[row["run_path"]]].append(row)
    datasets = sorted({dataset for dataset, _ in cells.values()})
    if len(datasets) > 1:
        message = f"{len(datasets)} datasets, never pooled: {', '.join(datasets)}"
        findings.append(Finding("several_datasets", field="dataset_key", message=message))
    for (_, label), group in sorted(groups.items()):
        findings += _cell_findings(label, group)
    if not groups:
        findings.append(
            Finding("nothing_eligible", field="eligible", message="no run is eligible; every reason is listed")
        )
    return findings


def _label_findings(rows: Sequence[Mapping[str, Any]]) -> list[Finding]:
    counts = Counter(row["run_label"] for row in rows)
    return [
        Finding(
            "duplicate_run_label", row["run_path"], "", "run_label", f"{row['run_label']} names several run folders"
        )
        for row in rows
        if counts[row["run_label"]] > 1
    ]


def _exclusion_findings(rows: Sequence[Mapping[str, Any]]) -> list[Finding]:
    return [
        Finding("run_excluded", row["run_path"], "", "eligible", row["exclusion_reasons"].replace(";", ", "))
        for row in rows
        if not row["eligible"]
    ]


def _cell_findings(label: str, group: Sequence[Mapping[str, Any]]) -> list[Finding]:
    findings = []
    for name in _MIXABLE:
        values = sorted({row[name] for row in group})
        if len(values) > 1:
            shown = ", ".join(value or "(not recorded)" for value in values)
            findings.append(Finding("mixed_condition", field=name, message=f"cell {label}: {name} is {shown}"))
    for name in ("harness", "model_slug"):
        if not group[0][name].strip():
            message = f"cell {label}: {name} is not recorded; give it as an override, or different ones may be pooled"
            findings.append(Finding("unrecorded_condition", field=name, message=message))
    repetitions = Counter(row["repetition"] for row in group if row["repetition"] is not None)
    for repetition, count in sorted(repetitions.items()):
        if count > 1:
            message = f"cell {label}: repetition {repetition} stands {count} times"
            findings.append(Finding("duplicate_repetition", field="repetition", message=message))
    effort = normal_effort(group[0]["reasoning_effort"])
    if effort not in EFFORT_ORDER:
        message = f"cell {label}: effort {effort or '(blank)'} takes no part in effort deltas"
        findings.append(Finding("unknown_effort", field="reasoning_effort", message=message))
    return findings


def _write(stage: Path, rows: SummaryRows, split_by: Sequence[str]) -> None:
    cells = run_cells(rows.runs, split_by)
    tables: dict[str, Iterable[Sequence[Any]]] = {
        "aggregate_results.csv": [list(row.values()) for row in rows.runs],
        "per_task_results.csv": rows.tasks,
        "infra_failures.csv": infra_rows(rows.tasks),
        "repair_overlay_sensitivity.csv": rows.repairs,
        "findings.csv": [
            (found.severity, found.code, found.run_path, found.task, found.field, found.message)
            for found in rows.findings
        ],
    }
    for name, body in tables.items():
        write_csv(stage / name, SUMMARY_TABLES[name], body)
    columns = [column.name for column in SUMMARY_TABLES["repair_overlay_sensitivity.csv"]]
    repairs = {
        "schema_version": SCHEMA_VERSION,
        "overlay_run_count": len(rows.repairs),
        "runs": [dict(zip(columns, row, strict=True)) for row in rows.repairs],
    }
    write_json(stage / "repair_overlay_sensitivity.json", repairs)
    aggregate = {
        "schema_version": SCHEMA_VERSION,
        "input": asdict(rows.summary),
        "taxonomy": TAXONOMY,
        "runs": rows.runs,
        "pairs": legacy_pairs(rows.runs, {path: dataset for path, (dataset, _) in cells.items()}),
        "repair_overlay_sensitivity": repairs,
    }
    write_json(stage / "aggregate_results.json", aggregate)
    (stage / LEADERBOARD_FILE).write_text(cleaned_leaderboard(rows.runs, cells), encoding="utf-8", newline="")
