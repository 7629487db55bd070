"""Reading and writing of CSV and JSON, the same for every table.

CSV: UTF-8, line feeds as line ends, booleans `True`/`False`, a missing value empty, numbers with full precision,
and no text that a spreadsheet would run. JSON: strict, indented by 2, keys sorted, a missing number `null`.
"""

from __future__ import annotations

import csv
import io
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from shellbench_lib.columns import Column, names
from shellbench_lib.errors import InputError
from shellbench_lib.text import FORMULA_STARTS, guard_cell, unguard_cell

_NEEDS_QUOTES = re.compile('[",\r\n]')
_SPECIAL = re.compile(f"\\A[{re.escape(''.join(sorted(FORMULA_STARTS)))}]|{_NEEDS_QUOTES.pattern}")
_CHUNK = 500  # rows that are written at a time: their texts then still lie in the processor's cache
_NOT_FINITE = frozenset({"nan", "inf", "-inf"})
_TEXT_TYPES = frozenset({"text", "time"})
_JSON_OPTIONS = orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE | orjson.OPT_SERIALIZE_NUMPY
OUR_MARK = "run_path"  # a summaries file of ours has this column, and its texts are guarded


def _quoted(text: str) -> str:
    """Return a guarded text as a CSV cell, in quotes only where RFC 4180 asks for them (or a lone CR stands in it)."""
    text = guard_cell(text)
    return '"' + text.replace('"', '""') + '"' if _NEEDS_QUOTES.search(text) else text


def _written(column: Column, values: Iterable[object]) -> list[str]:
    """Return a column's cells as they are written; only the few distinct texts that need care are touched."""
    cells = ["" if value is None else str(value) for value in values]
    if column.type in _TEXT_TYPES:
        special = {text: _quoted(text) for text in set(cells) if _SPECIAL.search(text)}
    else:
        special = dict.fromkeys(_NOT_FINITE.intersection(cells), "")
    return [special.get(text, text) for text in cells] if special else cells


def csv_text(columns: Sequence[Column], rows: Iterable[Sequence[object]]) -> str:
    """Return a table as CSV text. `rows` hold their values in the order of `columns`; None and NaN become empty."""
    lines = [",".join(map(_quoted, names(columns)))]
    remaining = iter(rows)
    while chunk := list(islice(remaining, _CHUNK)):
        cells = map(_written, columns, zip(*chunk, strict=True))
        lines += map(",".join, zip(*cells, strict=True))
    return "\n".join([*lines, ""])


def write_csv(path: Path, columns: Sequence[Column], rows: Iterable[Sequence[object]]) -> None:
    """Write a table to a CSV file; see `csv_text`."""
    path.write_text(csv_text(columns, rows), encoding="utf-8", newline="")


def read_csv(path: Path) -> tuple[list[str], list[list[str]]]:
    """Return the header and the rows of a CSV file as text, every row as long as the header.

    A file with our `run_path` column gets one leading `'` taken off each text again; other files are read as they
    are. Raises:
        InputError: the file cannot be read, is not UTF-8, is empty, repeats a column or has a row of another length.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            text = stream.read()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path.name}: cannot be read as UTF-8 text ({type(error).__name__})") from error
    previous_limit = csv.field_size_limit(sys.maxsize)
    try:
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if row]
    except csv.Error as error:
        raise InputError(f"{path.name}: not a CSV file ({error})") from error
    finally:
        csv.field_size_limit(previous_limit)
    if not rows:
        raise InputError(f"{path.name}: empty; a header row is needed")
    header, body = rows[0], rows[1:]
    if len(set(header)) != len(header):
        repeated = sorted({name for name in header if header.count(name) > 1})
        raise InputError(f"{path.name}: columns stand twice: {', '.join(repeated)}")
    for number, row in enumerate(body, start=2):
        if len(row) != len(header):
            raise InputError(f"{path.name}: row {number} has {len(row)} cells, the header has {len(header)}")
    if OUR_MARK in header:
        header = [unguard_cell(name) for name in header]
        body = [[unguard_cell(cell) if cell[:1] == "'" else cell for cell in row] for row in body]
    return header, body


def json_bytes(value: Mapping[str, Any] | Sequence[Any]) -> bytes:
    """Return strict JSON: indent 2, sorted keys, final newline, NaN and infinity as null."""
    return orjson.dumps(value, option=_JSON_OPTIONS)


def write_json(path: Path, value: Mapping[str, Any] | Sequence[Any]) -> None:
    """Write strict JSON; see `json_bytes`."""
    path.write_bytes(json_bytes(value))
