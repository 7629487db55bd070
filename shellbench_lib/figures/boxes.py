"""Box-and-whisker figures as SVG: one row per group, every value as a dot over its box.

Box: quartiles and median (Tukey 1977); whiskers: the furthest value within 1.5 interquartile ranges; diamond: mean.
Dots are placed by rule (equal values side by side), never at random, so the same values give the same bytes. Names are
text: no mathematics in them, control characters replaced, long ones wrapped or shortened in the middle. Text stays
text in the SVG, so that names in any script are shown by the reader's own fonts and can be searched.

A group without a value is left out with a sentence, a figure without a group is a sentence, and more groups than
`MAX_ROWS` go on to further pages.
"""

from __future__ import annotations

import io
import math
import textwrap
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import matplotlib as mpl
import numpy as np
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

from shellbench_lib.statistics.cells import FloatArray
from shellbench_lib.text import printable, shorten

MAX_ROWS = 40
NAME_LIMIT, LINE_LIMIT = 80, 48  # characters of one name, and of one line of a row's label
LABEL_SIZE, TITLE_SIZE, NOTE_SIZE, AXIS_SIZE = 8.0, 11.0, 8.0, 9.0  # points
# Inches. What the labels need comes on top of the plot's width.
PLOT_WIDTH, LINE_HEIGHT, ROW_PADDING, BOX_HEIGHT = 5.6, 0.15, 0.16, 0.19
TOP, BOTTOM, SIDE, LABEL_GAP = 0.68, 0.5, 0.2, 0.1
DOT_SIZE, LARGE_DOT_SIZE, FEW_VALUES = 3.0, 5.0, 12  # points; large ones where every group has few values
COLUMN_HEIGHT = 0.29  # inches; a column of dots stays inside its row
MAX_DOT_SHIFT = 0.015  # share of the axis by which a dot may stand beside its value
POINTS_PER_INCH = 72.0
BLANK = "(blank)"
HASH_SALT = "shellbench"
PALETTE = "colorblind"
_RC: Any = {"svg.hashsalt": HASH_SALT, "svg.fonttype": "none", "text.parse_math": False}
_NO_METADATA = dict.fromkeys(("Date", "Creator", "Format", "Type"))


@dataclass(frozen=True, slots=True)
class Group:
    """One row of a figure: the parts of its label, its values, and what its colour stands for."""

    label: tuple[str, ...]
    values: FloatArray
    hue: str = ""

    @property
    def name(self) -> str:
        """The whole label on one line."""
        return " ".join(self.label)


@dataclass(frozen=True, slots=True)
class BoxPlot:
    """A figure to draw. `limits` are shown at least; `marks_zero` draws a line at 0; `hues` fix the colours' order."""

    title: str
    axis_label: str
    note: str
    groups: tuple[Group, ...]
    limits: tuple[float, float] | None = None
    marks_zero: bool = False
    hues: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Drawn:
    """What became of one kind of figure in one dataset: the SVG files by name, and sentences on what was left out."""

    kind: str
    dataset_key: str
    files: tuple[tuple[str, bytes], ...] = ()
    sentences: tuple[str, ...] = ()


def draw(plot: BoxPlot, *, kind: str, dataset_key: str, file_stem: str, empty: str) -> Drawn:
    """Return the pages of a figure.

    Args:
        plot: what to draw.
        kind: the end of the file names, `<file_stem>-<kind>.svg`, then `<file_stem>-<kind>-page-2.svg` and so on.
        dataset_key: the dataset, for sentences.
        file_stem: the file-name form of the dataset key.
        empty: why there may be nothing to draw, the end of a sentence.
    """
    groups = tuple(group for group in plot.groups if np.isfinite(group.values).any())
    sentences = [
        f"{plot.title}: left out for want of a value: {printable(group.name)}."
        for group in plot.groups
        if not np.isfinite(group.values).any()
    ]
    if not groups:
        return no_figure(kind, dataset_key, empty)
    plot = replace(plot, limits=_limits(plot, groups), hues=tuple(sorted({group.hue for group in groups})))
    files = [
        (f"{file_stem}-{kind}{suffix}.svg", box_svg(replace(plot, title=title, groups=groups[rows])))
        for suffix, title, rows in pages(plot.title, len(groups))
    ]
    return Drawn(kind, dataset_key, tuple(files), tuple(sentences))


def pages(title: str, count: int) -> Iterator[tuple[str, str, slice]]:
    """Yield the end of the file name, the title and the rows of every page of a figure of `count` rows."""
    number = math.ceil(count / MAX_ROWS)
    for page in range(number):
        first, last = page * MAX_ROWS, min((page + 1) * MAX_ROWS, count)
        place = f" (page {page + 1} of {number}: rows {first + 1} to {last} of {count})" if number > 1 else ""
        yield "" if page == 0 else f"-page-{page + 1}", title + place, slice(first, last)


def no_figure(kind: str, dataset_key: str, reason: str) -> Drawn:
    """Return the sentence that stands for a figure without anything to draw."""
    sentence = f"No figure of {kind.replace('-', ' ')} for dataset {printable(dataset_key)}: {reason}."
    return Drawn(kind, dataset_key, (), (sentence,))


def _limits(plot: BoxPlot, groups: Sequence[Group]) -> tuple[float, float]:
    """Return the axis limits: what the plot asks for, widened to every value of every page."""
    values = np.concatenate([group.values[np.isfinite(group.values)] for group in groups])
    low, high = float(values.min()), float(values.max())
    if plot.limits is not None:
        low, high = min(low, plot.limits[0]), max(high, plot.limits[1])
    margin = (MAX_DOT_SHIFT + 0.01) * (high - low) or 0.05
    return low - margin, high + margin


def box_svg(plot: BoxPlot) -> bytes:
    """Return one page as SVG. Every group must have a finite value; `plot.limits` are the exact limits."""
    return render(lambda: _figure(plot), title=plot.title)


def render(make: Callable[[], Figure], *, title: str) -> bytes:
    """Return the figure that `make` draws as SVG: matplotlib's own defaults, no date, no random id."""
    with mpl.rc_context(), warnings.catch_warnings():
        mpl.rcdefaults()
        mpl.rcParams.update(_RC)
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from")  # the reader's fonts show it
        buffer = io.BytesIO()
        make().savefig(buffer, format="svg", metadata={**_NO_METADATA, "Title": printable(title)})
    return buffer.getvalue()


@dataclass(frozen=True, slots=True)
class RowCanvas:
    """An empty figure of labelled rows: `rows` are their places above the axis in inches, of `height` in all."""

    figure: Figure
    axes: Axes
    rows: FloatArray
    labels: tuple[str, ...]
    height: float


def row_canvas(labels: Sequence[str], *, title: str, note: str) -> RowCanvas:
    """Return a figure with room for every label, for the title and for the note under it."""
    heights = np.array([(label.count("\n") + 1) * LINE_HEIGHT + ROW_PADDING for label in labels])
    rows = heights.sum() - np.cumsum(heights) + heights / 2  # the first row on top
    label_width = max(text_width(line, LABEL_SIZE) for label in labels for line in label.split("\n"))
    left = SIDE + label_width + LABEL_GAP
    head = max(text_width(printable(title), TITLE_SIZE, "bold"), text_width(note, NOTE_SIZE))
    width = max(left + PLOT_WIDTH, SIDE + head) + SIDE
    height = TOP + float(heights.sum()) + BOTTOM
    figure = Figure(figsize=(width, height))
    FigureCanvasSVG(figure)
    axes = figure.add_axes((left / width, BOTTOM / height, 1 - (left + SIDE) / width, 1 - (TOP + BOTTOM) / height))
    head_lines(figure, title=title, note=note)
    return RowCanvas(figure, axes, rows, tuple(labels), float(heights.sum()))


def head_lines(figure: Figure, *, title: str, note: str) -> None:
    """Write the title and the note into the room that is kept for them."""
    width, height = figure.get_size_inches()
    figure.text(SIDE / width, 1 - 0.28 / height, printable(title), size=TITLE_SIZE, weight="bold")
    figure.text(SIDE / width, 1 - 0.48 / height, note, size=NOTE_SIZE, color="0.35")


def _figure(plot: BoxPlot) -> Figure:
    canvas = row_canvas(row_labels([group.label for group in plot.groups]), title=plot.title, note=plot.note)
    _draw_groups(canvas.axes, plot, canvas.rows)
    dress(canvas, limits=plot.limits, axis_label=plot.axis_label, marks_zero=plot.marks_zero)
    return canvas.figure


def _draw_groups(axes: Axes, plot: BoxPlot, rows: FloatArray) -> None:
    colours = dict(zip(plot.hues, sns.color_palette(PALETTE, len(plot.hues)), strict=True))
    values = [group.values[np.isfinite(group.values)] for group in plot.groups]
    size = LARGE_DOT_SIZE if max(len(found) for found in values) <= FEW_VALUES else DOT_SIZE
    median_level = 2.5 if size == LARGE_DOT_SIZE else 4  # over a crowd of dots, under a few
    drawn: dict[str, Any] = axes.boxplot(
        values, positions=rows, orientation="horizontal", widths=BOX_HEIGHT, patch_artist=True, showfliers=False,
        showmeans=True, manage_ticks=False, medianprops={"color": "0.1", "linewidth": 1.6, "zorder": median_level},
        whiskerprops={"color": "0.4"}, capprops={"color": "0.4"},
        meanprops={"marker": "D", "markersize": 4, "markerfacecolor": "white", "markeredgecolor": "0.1", "zorder": 5},
    )  # fmt: skip
    for box, group in zip(drawn["boxes"], plot.groups, strict=True):
        box.set(facecolor=(*colours[group.hue], 0.25), edgecolor="0.4", linewidth=0.8)
    for mean, found in zip(drawn["means"], values, strict=True):
        mean.set_visible(found.min() < found.max())  # it would hide the dots of a lone value
    low, high = plot.limits or (0.0, 1.0)
    for hue, colour in colours.items():
        chosen = [index for index, group in enumerate(plot.groups) if group.hue == hue]
        if not chosen:
            continue
        shifts = [dot_shifts(values[index], low, high, size=size) for index in chosen]
        x = np.concatenate([values[index] + shift[:, 0] for index, shift in zip(chosen, shifts, strict=True)])
        y = np.concatenate([rows[index] + shift[:, 1] for index, shift in zip(chosen, shifts, strict=True)])
        axes.plot(
            x, y, linestyle="none", marker="o", markersize=size, color=colour, alpha=0.8, markeredgewidth=0,
            zorder=3,
        )  # fmt: skip


def dress(canvas: RowCanvas, *, limits: tuple[float, float] | None, axis_label: str, marks_zero: bool) -> None:
    """Give the axes of labelled rows their labels, limits and grid."""
    axes = canvas.axes
    if marks_zero:
        axes.axvline(0.0, color="0.6", linewidth=0.8, zorder=0)
    axes.set_yticks(canvas.rows, canvas.labels, size=LABEL_SIZE, linespacing=1.1)
    axes.set_xlim(limits)
    axes.set_ylim(0.0, canvas.height)
    axes.set_xlabel(axis_label, size=AXIS_SIZE)
    axes.tick_params(axis="x", labelsize=LABEL_SIZE)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color="0.9", linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)


def dot_shifts(values: FloatArray, low: float, high: float, *, size: float) -> FloatArray:
    """Return how far each dot stands from its value's place: `(n, 2)`, along the axis and, in inches, across it.

    Values nearer than a dot share a column of `COLUMN_HEIGHT`; further dots go into columns beside it, never further
    away than `MAX_DOT_SHIFT` of the axis. A lone value is not shifted.

    Args:
        values: finite values, `(n,)`.
        low: left end of the axis.
        high: right end of the axis.
        size: diameter of a dot in points.
    """
    dot = size / POINTS_PER_INCH
    per_column = int(COLUMN_HEIGHT / dot)
    bins = np.rint((values - low) / (high - low) * PLOT_WIDTH / dot).astype(int)
    shifts = np.zeros((len(values), 2))
    for chosen in np.unique(bins):
        (members,) = np.nonzero(bins == chosen)
        members = members[np.argsort(values[members], kind="stable")]
        columns = math.ceil(len(members) / per_column)
        pitch = min(dot / PLOT_WIDTH, 2 * MAX_DOT_SHIFT / max(columns - 1, 1)) * (high - low)
        for column, part in enumerate(np.array_split(members, columns)):
            shifts[part, 0] = (column - (columns - 1) / 2) * pitch
            shifts[part, 1] = (np.arange(len(part)) - (len(part) - 1) / 2) * dot
    return shifts


def row_labels(labels: Sequence[tuple[str, ...]], *, line_limit: int = LINE_LIMIT) -> list[str]:
    """Return the labels as they are drawn: lines of at most `line_limit` characters, all labels different.

    A part of more than `NAME_LIMIT` characters is shortened in the middle, a blank one is said to be blank, and labels
    that have become equal are numbered.
    """
    drawn = [_wrapped(parts, line_limit) for parts in labels]
    counts, seen = Counter(drawn), Counter[str]()
    result = []
    for label in drawn:
        seen[label] += 1
        result.append(f"{label} ({seen[label]})" if counts[label] > 1 else label)
    return result


def _wrapped(parts: Sequence[str], line_limit: int) -> str:
    shown = (shorten(printable(part).strip(), NAME_LIMIT) or BLANK for part in parts)
    return "\n".join(textwrap.wrap(" ".join(shown), line_limit))


def text_width(text: str, size: float, weight: str = "normal") -> float:
    """Return the width of a line in inches."""
    font = FontProperties(size=size, weight=weight)
    width, _, _ = text_to_path.get_text_width_height_descent(text, font, ismath=False)
    return math.ceil(float(width)) / POINTS_PER_INCH
