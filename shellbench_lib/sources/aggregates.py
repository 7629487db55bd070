"""Aggregate exports as input: `aggregate_results.csv` with `per_task_results.csv`, ours or upstream's.

Columns are found by name, wherever they stand and whatever else the files hold. The condition must be in the run
table: historical exports without it are refused, because a condition guessed from a label would pool what differs.
Rows are joined by `run_path`, in upstream's files by `run_label`. What the run table says of a run wins over the copy
of it in the task table. A row that upstream marks as not scoring (a duplicate, an intruder, a placeholder) is kept and
never analysed.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shellbench_lib.columns import TABLES, Column, names
from shellbench_lib.conditions import EXPERIMENT_FIELDS, experiment_key
from shellbench_lib.errors import InputError
from shellbench_lib.findings import Finding
from shellbench_lib.sources.files import MatrixFolder, UnreadableFileError
from shellbench_lib.summaries import RUNS_FILE, TASKS_FILE, exact_number
from shellbench_lib.tables import OUR_MARK, read_csv

CONDITION_REQUIRED = ("harness", "model_slug", "reasoning_effort", "task_revision")
RUN_REQUIRED = ("run_label", "expected_task_count", "score", "eligible")
TASK_REQUIRED = ("task_name", "reward")
TRUE_SPELLINGS = frozenset({"True", "true", "TRUE", "1"})
FALSE_SPELLINGS = frozenset({"False", "false", "FALSE", "0"})
UNSCORED_CLASSES = frozenset({"infra", "verifier_missing_reward"})
UNSCORED_EXCEPTIONS = frozenset(
    {"DuplicateTaskResultError", "UnexpectedTaskResultError", "InvalidManifestError", "MissingResultError"}
)
SCORE_TOLERANCE = 1e-6  # what an export may have lost by rounding
QUALIFICATION_REASON = "r0_non_scoring_qualification"
_PLACEHOLDER_TASK = re.compile(r"<(?:missing-\d+|run-manifest)>")
# Copies of a run's values in its task rows: column of the task table -> column of the run table.
_RUN_COPIES = {
    "run_expected_task_count": "expected_task_count", "run_score": "score", "run_coverage": "coverage",
    "run_exact_passes": "exact_passes", "run_eligible": "eligible", "run_exclusion_reason": "exclusion_reason",
}  # fmt: skip
_TASK_OWN = frozenset({"canonical_model_identity", "n_input_tokens", "n_cache_tokens", "n_output_tokens", "cost_usd"})
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class AggregateExport:
    """The rows of the run and task tables, in the order of `TABLES`, and what was noticed.

    Absent texts are `""`, absent numbers and flags `None`; `eligible` and `scorable` are always True or False.
    """

    run_rows: list[list[Any]]
    task_rows: list[list[Any]]
    findings: list[Finding]
    description: str
    input_sha256: str


@dataclass(slots=True)
class _Table:
    """One file as read: the texts of each column."""

    name: str
    texts: dict[str, Sequence[str]]
    length: int
    findings: list[Finding] = field(default_factory=list)

    def values(self, column: Column, rows: Sequence[str]) -> list[Any]:
        """Return a column's typed values; what cannot be read is noted under the row's run and is missing."""
        texts = self.texts.get(column.name)
        if texts is None:
            return ["" if column.type in {"text", "time"} else None] * self.length
        if column.type in {"text", "time"}:
            return list(texts)
        parse = _PARSERS[column.type]
        parsed = {text: parse(text) for text in set(texts)}
        wrong = {text for text, value in parsed.items() if value is None and text}
        if wrong and column.name != "reward":  # rewards have their own finding
            code = "unreadable_flag" if column.type == "boolean" else "unreadable_number"
            self.findings += [
                Finding(code, run, "", column.name, f"{self.name}: {text!r} is no {column.type}; treated as missing")
                for run, text in zip(rows, texts, strict=True)
                if text in wrong
            ]
        return [parsed[text] for text in texts]


def looks_like_aggregates(path: Path) -> bool:
    """Return whether a folder holds an aggregate export and no job directories, which would be the better source."""
    return (path / RUNS_FILE).is_file() and not (path / "jobs").is_dir()


def read_aggregates(path: Path) -> AggregateExport:
    """Return the rows of an aggregate export.

    Raises:
        InputError: a file is missing or no table, or lacks a column without which its rows mean nothing. Exports
            without the condition columns must be made again from the raw job directories.
    """
    folder = MatrixFolder(path.resolve())
    runs_table, tasks_table = _read(folder, RUNS_FILE), _read(folder, TASKS_FILE)
    _require_condition(runs_table)
    _require(runs_table, RUN_REQUIRED)
    key = OUR_MARK if OUR_MARK in runs_table.texts and OUR_MARK in tasks_table.texts else "run_label"
    _require(tasks_table, (key, *TASK_REQUIRED))
    findings = [*_absent_columns(runs_table), *_absent_columns(tasks_table)]
    runs = _run_rows(runs_table, key)
    tasks = _task_rows(tasks_table, key, {row[key]: row for row in reversed(runs)})
    if not runs:
        raise InputError(f"{RUNS_FILE}: holds no run")
    _exclude_without_rows(runs, tasks)
    findings += [*runs_table.findings, *tasks_table.findings, *_coverage(runs, tasks), *_score_findings(runs, tasks)]
    kind = "this project's own" if key == OUR_MARK else "upstream's"
    return AggregateExport(
        run_rows=[list(row.values()) for row in runs],
        task_rows=[list(row.values()) for row in tasks],
        findings=findings,
        description=f"aggregate export ({kind} columns): {len(runs)} runs, {len(tasks)} task rows",
        input_sha256=folder.digest(),
    )


def _read(folder: MatrixFolder, name: str) -> _Table:
    try:
        data = folder.read_bytes(name)
    except UnreadableFileError as error:
        raise InputError(f"{name}: {error}") from error
    if data is None:
        raise InputError(f"{name}: not found in {folder.root.name}; an aggregate export holds both tables")
    header, rows = read_csv(folder.root / name)
    columns: Iterable[Sequence[str]] = zip(*rows, strict=True) if rows else ((),) * len(header)
    return _Table(name, dict(zip(header, columns, strict=True)), len(rows))


def _require_condition(table: _Table) -> None:
    missing = [name for name in CONDITION_REQUIRED if name not in table.texts]
    if missing:
        raise InputError(
            f"{table.name}: the condition columns {', '.join(missing)} are missing, so runs of different conditions "
            "could not be told apart; regenerate the export from the raw job directories"
        )


def _require(table: _Table, required: Sequence[str]) -> None:
    missing = [name for name in required if name not in table.texts]
    if missing:
        raise InputError(f"{table.name}: columns missing: {', '.join(missing)}; export the matrix again")


def _absent_columns(table: _Table) -> list[Finding]:
    derived = {OUR_MARK, "experiment_key", "exclusion_reasons", "scorable", *_RUN_COPIES}
    if table.name == TASKS_FILE:
        derived |= set(_shared_columns())
    absent = [name for name in names(TABLES[table.name]) if name not in table.texts and name not in derived]
    if not absent:
        return []
    return [Finding("missing_column", field=table.name, message=f"absent, values unknown: {', '.join(absent)}")]


def _shared_columns() -> list[str]:
    """Return the columns that a task row copies from its run under the same name."""
    run_columns = set(names(TABLES[RUNS_FILE]))
    return [name for name in names(TABLES[TASKS_FILE]) if name in run_columns and name not in _TASK_OWN]


def _flag(text: str) -> bool | None:
    return True if text in TRUE_SPELLINGS else False if text in FALSE_SPELLINGS else None


def _integer(text: str) -> int | None:
    value = exact_number(text)
    return int(value) if value is not None and value == int(value) else None


_PARSERS: dict[str, Callable[[str], Any]] = {"boolean": _flag, "integer": _integer, "number": exact_number}


def _typed_rows(table: _Table, identities: Sequence[str]) -> list[Row]:
    columns = [column for column in TABLES[table.name] if column.name != "eligible" or table.name != RUNS_FILE]
    values = {column.name: table.values(column, identities) for column in columns}
    return [dict(zip(values, cells, strict=True)) for cells in zip(*values.values(), strict=True)]


# Runs


def _run_rows(table: _Table, key: str) -> list[Row]:
    identities = table.texts[key]
    counts = Counter(identities)
    seen: Counter[str] = Counter()
    rows = []
    for identity, eligible, values in zip(
        identities, table.texts["eligible"], _typed_rows(table, identities), strict=True
    ):
        if not identity:
            table.findings.append(Finding("missing_name", field=key, message=f"{table.name}: a run without a {key}"))
            continue
        seen[identity] += 1
        values["run_path"] = identity if seen[identity] == 1 else f"{identity}#{seen[identity]}"
        values["experiment_key"] = values["experiment_key"] or _experiment_key(values)
        _decide(values, eligible, table.findings, ambiguous=counts[identity] > 1)
        rows.append({name: values[name] for name in names(TABLES[RUNS_FILE])})
    return sorted(rows, key=lambda row: (row["run_label"], row["run_path"]))


def _experiment_key(row: Mapping[str, Any]) -> str:
    count = row["expected_task_count"]
    return experiment_key([row[name] for name in EXPERIMENT_FIELDS], count or 0, row["task_set_sha256"])


def _decide(row: Row, eligible: str, findings: list[Finding], *, ambiguous: bool) -> None:
    """Set `eligible` and the reasons; a run that the export calls eligible keeps that only if its row can be used."""
    flag = _flag(eligible)
    reasons = []
    if flag is None:
        message = f"{eligible!r} is neither true nor false; the run is not eligible"
        findings.append(Finding("unreadable_eligibility", row["run_path"], "", "eligible", message))
        reasons.append("unreadable_eligibility")
    elif flag:
        reasons += ["duplicate_run_label"] * ambiguous
        reasons += [QUALIFICATION_REASON] * (row["repetition"] == 0 or row["phase"] == "r0")
        reasons += [f"unreadable_{name}" for name in ("expected_task_count", "score") if row[name] is None]
        reasons += ["incomplete"] * (row["expected_task_count"] is not None and row["expected_task_count"] <= 0)
    row["eligible"] = flag is True and not reasons
    if row["eligible"]:
        return
    row["exclusion_reason"] = row["exclusion_reason"] or (reasons or ["explicitly_excluded"])[0]
    row["exclusion_reasons"] = row["exclusion_reasons"] or ";".join(dict.fromkeys([row["exclusion_reason"], *reasons]))


# Tasks


def _task_rows(table: _Table, key: str, runs: Mapping[str, Row]) -> list[Row]:
    identities = table.texts[key]
    own_scorable = "scorable" in table.texts
    shared = {**{name: name for name in _shared_columns()}, **_RUN_COPIES}
    grouped: dict[str, list[Row]] = defaultdict(list)
    strangers: Counter[str] = Counter()
    for identity, text, row in zip(identities, table.texts["reward"], _typed_rows(table, identities), strict=True):
        run = runs.get(identity)
        if run is None or not row["task_name"]:
            _note_left_out(table, identity, row, strangers, known=run is not None)
            continue
        row |= {name: run[source] for name, source in shared.items()}
        row["scorable"] = bool(row["scorable"]) if own_scorable else _may_score(row)
        _judge_reward(row, text, table)
        grouped[run["run_path"]].append(row)
    table.findings += [
        Finding("unknown_run", run, "", key, f"{table.name}: {count} rows belong to no run of {RUNS_FILE}")
        for run, count in sorted(strangers.items())
    ]
    for rows in grouped.values():
        _score_once(rows, table.findings)
    order = sorted({row["run_path"]: row for row in runs.values()}.values(), key=_run_order)
    return [row for run in order for row in grouped[run["run_path"]]]


def _run_order(row: Row) -> tuple[str, str]:
    return row["run_label"], row["run_path"]


def _note_left_out(table: _Table, identity: str, row: Row, strangers: Counter[str], *, known: bool) -> None:
    if identity and not known:
        strangers[identity] += 1
        return
    lacks = "task_name" if identity else "run"
    message = f"{table.name}: a row of trial {row['trial_name'] or '(unnamed)'} without a {lacks} is left out"
    table.findings.append(Finding("missing_name", identity, row["trial_name"], lacks, message))


def _may_score(row: Mapping[str, Any]) -> bool:
    """Return whether a row of upstream's, which has no such column, is a trial that counts."""
    return row["exception_type"] not in UNSCORED_EXCEPTIONS and not _PLACEHOLDER_TASK.fullmatch(row["task_name"])


def _judge_reward(row: Row, text: str, table: _Table) -> None:
    """Apply the reward rules to a row: no number is no reward, and some outcomes never score."""
    reward = row["reward"]

    def note(code: str, message: str) -> None:
        table.findings.append(Finding(code, row["run_path"], row["task_name"], "reward", message))

    if reward is None:
        if text:
            note("reward_not_a_number", f"{text!r} is no finite number; treated as no reward")
            flags = [*filter(None, row["reward_flags"].split(";")), "reward_not_a_number"]
            row["reward_flags"] = ";".join(dict.fromkeys(flags))
        elif row["scorable"] and row["classification"] != "infra":
            note("missing_reward", f"class {row['classification'] or '(not recorded)'} without a reward")
        return
    if row["classification"] in UNSCORED_CLASSES:
        row["recorded_reward"], row["reward"] = reward, None
        note("reward_not_scored", f"reward {reward} beside class {row['classification']} does not score")
    elif not 0 <= reward <= 1:
        note("reward_out_of_range", f"reward {reward} lies outside 0..1; kept")


def _score_once(rows: Sequence[Row], findings: list[Finding]) -> None:
    """Let the earliest of several scorable rows for one task score, as everywhere."""
    tasks: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if row["scorable"]:
            tasks[row["task_name"]].append(row)
    for task, group in tasks.items():
        ranked = sorted(group, key=lambda row: (row["started_at"] or "\U0010ffff", row["trial_name"]))
        for row in ranked[1:]:
            row["scorable"] = False
            message = f"{len(group)} rows score for one task; the earliest counts"
            findings.append(Finding("duplicate_result", row["run_path"], task, "task_name", message))


def _exclude_without_rows(runs: Sequence[Row], tasks: Sequence[Row]) -> None:
    """Take eligibility from a run without one task row that scores: no cell could be made of it."""
    found = {row["run_path"] for row in tasks if row["scorable"]}
    for run in runs:
        if run["eligible"] and run["run_path"] not in found:
            run["eligible"] = False
            run["exclusion_reason"] = run["exclusion_reasons"] = "incomplete"
    excluded = {run["run_path"] for run in runs if not run["eligible"]}
    for row in tasks:
        if row["run_path"] in excluded and row["run_eligible"]:
            row["run_eligible"], row["run_exclusion_reason"] = False, "incomplete"


def _score_findings(runs: Iterable[Row], tasks: Iterable[Row]) -> list[Finding]:
    """Note eligible runs whose recorded score is not the sum of their scored rewards over the expected tasks."""
    rewards: dict[str, list[float]] = defaultdict(list)
    for row in tasks:
        if row["scorable"] and row["reward"] is not None:
            rewards[row["run_path"]].append(row["reward"])
    found = []
    for run in runs:
        if not run["eligible"]:
            continue
        computed = math.fsum(rewards[run["run_path"]]) / run["expected_task_count"]
        if abs(computed - run["score"]) > SCORE_TOLERANCE:
            message = f"recorded score {run['score']:g}, its task rows give {computed:g}; cells use the rows"
            found.append(Finding("score_mismatch", run["run_path"], "", "score", message))
    return found


def _coverage(runs: Iterable[Row], tasks: Iterable[Row]) -> list[Finding]:
    """Note eligible runs whose task rows do not cover the expected tasks; their cells cover the fewer tasks."""
    found = Counter(row["run_path"] for row in tasks if row["scorable"])
    return [
        Finding(
            "missing_task",
            run["run_path"],
            "",
            "expected_task_count",
            f"{TASKS_FILE}: {found[run['run_path']]} of {run['expected_task_count']} expected tasks have a row that "
            "scores; the run's task scores cover those only",
        )
        for run in runs
        if run["eligible"] and found[run["run_path"]] < run["expected_task_count"]
    ]
