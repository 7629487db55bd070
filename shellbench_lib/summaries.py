"""The run and task tables of a summaries folder as typed frames.

Texts and times are `str` (`""` where missing), integers and numbers `float64` (NaN where missing), flags `True`,
`False` or `None`. The flags that decide what is analysed (`eligible`, `run_eligible`, `scorable`) are plain `bool`.
Names that look like something else (`NA`, `null`, `007`, `1e3`) stay the texts that they are.

Only files that this project wrote are read here; other tools' exports are first brought into this form by
`shellbench_lib.export`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from shellbench_lib.columns import TABLES, Column, names
from shellbench_lib.errors import InputError
from shellbench_lib.tables import read_csv

RUNS_FILE = "aggregate_results.csv"
TASKS_FILE = "per_task_results.csv"
FINDINGS_FILE = "findings.csv"
# What may be analysed must be said outright: an empty cell here is an error, not a False.
DECIDING_FLAGS = frozenset({"eligible", "run_eligible", "scorable"})
_FLAGS: dict[str, bool | None] = {"True": True, "False": False, "": None}
MAX_INTEGER_DIGITS = 18  # what fits a 64-bit integer; longer ones are taken as floats
_NUMBER_CHARACTERS = frozenset("0123456789+-.eE")


@dataclass(frozen=True, slots=True)
class SummaryTables:
    """The run table and the task table, columns as in `TABLES`, rows in the files' order."""

    runs: pd.DataFrame
    tasks: pd.DataFrame


def read_summaries(summaries_dir: Path) -> SummaryTables:
    """Return the run and task tables of a summaries folder.

    Raises:
        InputError: a file or a column is missing, a cell does not hold what its column promises, one run path stands
            twice, or a task row belongs to no run.
    """
    runs = _read_table(summaries_dir, RUNS_FILE)
    tasks = _read_table(summaries_dir, TASKS_FILE)
    repeated = runs.loc[runs["run_path"].duplicated(), "run_path"]
    if len(repeated):
        raise InputError(f"{RUNS_FILE}: run_path {repeated.iloc[0]!r} stands twice; export the matrix again")
    uncounted = runs.loc[runs["eligible"] & runs["expected_task_count"].isna(), "run_path"]
    if len(uncounted):
        raise InputError(
            f"{RUNS_FILE}: run {uncounted.iloc[0]!r} is eligible without an expected_task_count; export it again"
        )
    strangers = sorted(set(tasks["run_path"]) - set(runs["run_path"]))
    if strangers:
        raise InputError(f"{TASKS_FILE}: run_path {strangers[0]!r} is not in {RUNS_FILE}; export the matrix again")
    return SummaryTables(runs, tasks)


def read_findings(summaries_dir: Path) -> pd.DataFrame:
    """Return the findings of a summaries folder, columns as in `TABLES`, the most serious first.

    Raises:
        InputError: the file or a column is missing.
    """
    return _read_table(summaries_dir, FINDINGS_FILE)


def _read_table(folder: Path, name: str) -> pd.DataFrame:
    columns = TABLES[name]
    path = folder / name
    if not path.is_file():
        raise InputError(f"{name}: not found in {folder.name}; write it with `shellbench export`")
    header, rows = read_csv(path)
    missing = [column for column in names(columns) if column not in header]
    if missing:
        raise InputError(
            f"{name}: columns missing: {', '.join(missing)}; write the file again with `shellbench export`"
        )
    cells = dict(zip(header, zip(*rows, strict=True), strict=True)) if rows else dict.fromkeys(header, ())
    return typed_frame(columns, {column.name: cells[column.name] for column in columns}, source=name)


def typed_frame(columns: Sequence[Column], cells: Mapping[str, Sequence[str]], *, source: str) -> pd.DataFrame:
    """Return the texts of a table as a frame typed by its columns.

    Args:
        columns: the columns, in the frame's order.
        cells: the texts of each column.
        source: file name for errors.

    Raises:
        InputError: a text is no number or no flag where its column holds one.
    """
    return pd.DataFrame({column.name: _series(column, cells[column.name], source) for column in columns})


def _series(column: Column, texts: Sequence[str], source: str) -> pd.Series[Any]:
    if column.type in {"text", "time"}:
        return pd.Series(list(texts), dtype=object)
    parse: Callable[[str], float | bool | None] = _flag if column.type == "boolean" else _number
    try:
        values = {text: parse(text) for text in set(texts)}
    except ValueError as error:
        raise InputError(f"{source}: column {column.name} holds {error}; export the matrix again") from error
    parsed = [values[text] for text in texts]
    if column.name in DECIDING_FLAGS:
        if "" in values:
            raise InputError(f"{source}: column {column.name} is empty in a row; it must be True or False")
        return pd.Series(parsed, dtype=bool)
    return pd.Series(parsed, dtype=object if column.type == "boolean" else np.float64)


def _flag(text: str) -> bool | None:
    if text not in _FLAGS:
        raise ValueError(f"{text!r}, which is neither True nor False")
    return _FLAGS[text]


def _number(text: str) -> float:
    if not text:
        return math.nan
    value = exact_number(text)
    if value is None:
        raise ValueError(f"{text!r}, which is no finite number")
    return float(value)


def exact_number(text: str) -> int | float | None:
    """Return the finite number that a text spells, None where it spells none.

    A plain integer stays an integer, so that writing it again gives the same text. Underscores, blanks, `nan` and
    `inf`, which Python would also take, are no numbers in a table.
    """
    if text.isascii() and text.removeprefix("-").isdecimal() and len(text) <= MAX_INTEGER_DIGITS:
        return int(text)
    if not set(text) <= _NUMBER_CHARACTERS:
        return None
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
