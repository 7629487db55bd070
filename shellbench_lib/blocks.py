"""What a notebook cell shows: tables and sentences as HTML with every value escaped, and plain text beside it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd
from markupsafe import Markup, escape

from shellbench_lib.text import printable

UNKNOWN = "\u2013"  # an unknown value; the report's definitions say so
Format = Literal["text", "integer", "score", "signed", "percent", "money", "seconds"]
_FORMATS: dict[str, str] = {
    "integer": "{:,.0f}",
    "score": "{:.4f}",
    "signed": "{:+.4f}",
    "percent": "{:.1%}",
    "money": "{:,.2f}",
    "seconds": "{:,.0f}",
}


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of a report. Jupyter shows `html`; `text` is what a terminal sees."""

    html: str
    text: str

    def _repr_html_(self) -> str:
        return self.html

    def __repr__(self) -> str:
        """Return the plain text."""
        return self.text


@dataclass(frozen=True, slots=True)
class Shown:
    """One column of a shown table: its field in the frame, its heading and its format."""

    name: str
    heading: str
    format: Format = "text"


def value_text(value: Any, kind: Format) -> str:
    """Return one value as it is shown; unknown is `UNKNOWN`, never 0."""
    if value is None or (isinstance(value, float) and math.isnan(value)) or value is pd.NA:
        return UNKNOWN
    if kind == "text":
        return printable(str(value)) if value != "" else UNKNOWN
    return _FORMATS[kind].format(value).replace("-", "\u2212")


def paragraph(*sentences: str) -> Block:
    """Return sentences as one paragraph."""
    text = " ".join(sentences)
    return Block(str(Markup("<p>{}</p>").format(printable(text))), text)


def bullets(sentences: Sequence[str], *, numbered: bool = False) -> Block:
    """Return sentences as a list."""
    tag = "ol" if numbered else "ul"
    items = Markup("").join(Markup("<li>{}</li>").format(printable(sentence)) for sentence in sentences)
    return Block(f"<{tag}>{items}</{tag}>", "\n".join(f"- {sentence}" for sentence in sentences))


def linked(sentences: Sequence[tuple[str, str]]) -> Block:
    """Return sentences as a numbered list, each with a link to the file that it comes from."""
    items = Markup("").join(
        Markup('<li>{} <a href="{}">{}</a></li>').format(printable(text), target, target.rpartition("/")[2])
        for text, target in sentences
    )
    return Block(f'<ol class="headline">{items}</ol>', "\n".join(f"- {text} [{target}]" for text, target in sentences))


def table(frame: pd.DataFrame, columns: Sequence[Shown], *, caption: str, limit: int | None = None) -> Block:
    """Return a frame as a table.

    Args:
        frame: the rows, already in their shown order.
        columns: which fields to show, under which heading and in which format.
        caption: the sentence above the table; where rows are cut off, the count is added.
        limit: rows shown at the most.
    """
    shown = frame if limit is None else frame.head(limit)
    if len(shown) < len(frame):
        caption = f"{caption} Shown: {len(shown):,} of {len(frame):,} rows."
    if frame.empty:
        return paragraph(caption, "No rows.")
    values = [frame_column.tolist() for frame_column in (shown[column.name] for column in columns)]
    rows = [
        [value_text(value, column.format) for value, column in zip(row, columns, strict=True)]
        for row in zip(*values, strict=True)
    ]
    head = "".join(f'<th scope="col"{_number_class(c)}>{escape(printable(c.heading))}</th>' for c in columns)
    body = "".join(
        "<tr>" + "".join(f"<td{_number_class(c)}>{escape(v)}</td>" for v, c in zip(row, columns, strict=True)) + "</tr>"
        for row in rows
    )
    html = (
        f'<div class="table-box"><table class="data"><caption>{escape(printable(caption))}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )
    lines = [caption, " | ".join(column.heading for column in columns), *(" | ".join(row) for row in rows)]
    return Block(html, "\n".join(lines))


def _number_class(column: Shown) -> str:
    return "" if column.format == "text" else ' class="number"'


def stack(blocks: Sequence[Block]) -> Block:
    """Return blocks one below the other."""
    return Block("\n".join(block.html for block in blocks), "\n\n".join(block.text for block in blocks))
