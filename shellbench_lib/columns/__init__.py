"""Every column of every table that is written: name, type, unit and meaning. Headers, documentation and tests use it.

`TABLES` maps a file name to its columns in their written order. Order and names are a promise; a new column goes
behind the last old one.
"""

from __future__ import annotations

from shellbench_lib.columns.classic import CLASSIC_TABLES
from shellbench_lib.columns.inference import INFERENCE_TABLES
from shellbench_lib.columns.schema import Column, ColumnType, names
from shellbench_lib.columns.summaries import SUMMARY_TABLES
from shellbench_lib.columns.supporting import SUPPORTING_TABLES

TABLES: dict[str, tuple[Column, ...]] = {**SUMMARY_TABLES, **CLASSIC_TABLES, **INFERENCE_TABLES, **SUPPORTING_TABLES}

__all__ = [
    "CLASSIC_TABLES",
    "INFERENCE_TABLES",
    "SUMMARY_TABLES",
    "SUPPORTING_TABLES",
    "TABLES",
    "Column",
    "ColumnType",
    "names",
]
