"""What a column is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

ColumnType = Literal["text", "integer", "number", "boolean", "time"]
Origin = Literal["upstream", "new"]


@dataclass(frozen=True, slots=True)
class Column:
    """One column: an empty cell always means unknown, never zero. `unit` is empty for texts and flags.

    `time` is ISO text; `number` may hold fractions; `origin` tells whether upstream's files have the column.
    """

    name: str
    type: ColumnType
    meaning: str
    unit: str = ""
    origin: Origin = "upstream"


def names(columns: Sequence[Column]) -> list[str]:
    """Return the header of a table."""
    return [column.name for column in columns]
