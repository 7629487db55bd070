"""Figures of labelled rows with a dot on a line from low to high: leaderboard, comparisons, policies, tasks.

What the line is, is said in the figure's note; nothing is computed here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from shellbench_lib.figures.boxes import Drawn, dress, no_figure, pages, render, row_canvas, row_labels
from shellbench_lib.text import printable

LEADERBOARD, COMPARISONS = "leaderboard-intervals", "paired-comparisons"
SENSITIVITY, RELIABILITY, QUALITY = "missing-reward-sensitivity", "reliability", "task-quality"
STRONG, OPPOSITE, MUTED = "#0173b2", "#d55e00", "0.55"  # of seaborn's colour-blind palette, and grey
MARGIN = 0.04  # of the axis beside the outermost value
DOT, LINE = 6.0, 1.6  # points
SIGNIFICANT = frozenset({"better", "worse"})


@dataclass(frozen=True, slots=True)
class Range:
    """One row: label, dot, ends of its line (NaN: no line), colour, and whether the dot is filled."""

    label: tuple[str, ...]
    value: float
    low: float
    high: float
    colour: str = STRONG
    filled: bool = True


@dataclass(frozen=True, slots=True)
class RangePlot:
    """A figure of rows; `reason` ends the sentence that stands for it where there is no row."""

    kind: str
    title: str
    axis_label: str
    note: str
    ranges: tuple[Range, ...]
    reason: str
    marks_zero: bool = False


def draw_ranges(plot: RangePlot, *, dataset_key: str, file_stem: str) -> Drawn:
    """Return the pages of a figure; rows without a value are named in a sentence."""
    shown = tuple(row for row in plot.ranges if np.isfinite(row.value))
    if not shown:
        return no_figure(plot.kind, dataset_key, plot.reason)
    limits = _limits(shown, marks_zero=plot.marks_zero)
    files = tuple(
        (f"{file_stem}-{plot.kind}{suffix}.svg", _page(plot, title, shown[rows], limits))
        for suffix, title, rows in pages(plot.title, len(shown))
    )
    left_out = [row for row in plot.ranges if not np.isfinite(row.value)]
    names = (f"{plot.title}: left out for want of a value: {printable(' '.join(row.label))}." for row in left_out)
    return Drawn(plot.kind, dataset_key, files, tuple(names))


def _limits(rows: Sequence[Range], *, marks_zero: bool) -> tuple[float, float]:
    values = np.array([[row.value, row.low, row.high] for row in rows])
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    if marks_zero:
        low, high = min(low, 0.0), max(high, 0.0)
    margin = MARGIN * (high - low) or MARGIN
    return low - margin, high + margin


def _page(plot: RangePlot, title: str, rows: Sequence[Range], limits: tuple[float, float]) -> bytes:
    def make() -> Figure:
        canvas = row_canvas(row_labels([row.label for row in rows]), title=title, note=plot.note)
        for row, place in zip(rows, canvas.rows, strict=True):
            canvas.axes.plot([row.low, row.high], [place, place], color=row.colour, linewidth=LINE, zorder=2)
            face = row.colour if row.filled else "white"
            canvas.axes.plot(
                [row.value], [place], marker="o", markersize=DOT, markerfacecolor=face, markeredgecolor=row.colour,
                linestyle="none", zorder=3,
            )  # fmt: skip
        dress(canvas, limits=limits, axis_label=plot.axis_label, marks_zero=plot.marks_zero)
        return canvas.figure

    return render(make, title=title)


def cell_parts(harness: str, model: str, effort: str) -> tuple[str, ...]:
    """Return the parts of a cell's label."""
    return f"{harness} /", f"{model} /", effort or "(no effort)"


def leaderboard_plot(dataset_key: str, board: pd.DataFrame, *, confidence_level: float) -> RangePlot:
    """Return the mean scores with their intervals, the best first, and what the leader's comparison says."""
    rows = [
        Range(
            (*cell_parts(row["harness"], row["model_slug"], row["reasoning_effort"]), f"- {_standing(row)}"),
            row["mean_score"],
            row["score_low"],
            row["score_high"],
            STRONG if row["standing"] != "behind the leader" else MUTED,
        )
        for row in _records(board)
    ]
    return RangePlot(
        LEADERBOARD,
        f"Mean scores, dataset {dataset_key}",
        "Mean score",
        f"Line: {confidence_level:.0%} interval for other tasks of this kind. Grey: behind the leader, by the paired "
        "test, not by these lines.",
        tuple(rows),
        "it has no eligible run",
    )


def _standing(row: Mapping[str, Any]) -> str:
    if row["lead_verdict"] == "better" and row["lead_narrow"]:
        return f"{row['standing']} (leader better, its lead narrow)"
    return str(row["standing"])


def comparison_plot(dataset_key: str, pairs: pd.DataFrame, *, confidence_level: float) -> RangePlot:
    """Return the mean deltas of all pairs that differ in one factor, with their intervals."""
    rows = [
        Range(_pair_label(row), row["mean_delta"], row["delta_low"], row["delta_high"], *_verdict_style(row["verdict"]))
        for row in _records(pairs[pairs["factor"] != "leader"])
    ]
    return RangePlot(
        COMPARISONS,
        f"Paired comparisons, dataset {dataset_key}",
        "Mean delta over the tasks that both have",
        f"Line: {confidence_level:.0%} interval. Filled: significant after Holm's adjustment (blue better, orange worse"
        "); hollow: not.",
        tuple(rows),
        "no two cells differ in one factor only",
        marks_zero=True,
    )


def _verdict_style(verdict: str) -> tuple[str, bool]:
    if verdict in SIGNIFICANT:
        return (STRONG if verdict == "better" else OPPOSITE), True
    return MUTED, False


def _pair_label(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what differs, then what both sides share."""
    harness, model, effort = (
        (row[f"left_{name}"], row[f"right_{name}"]) for name in ("harness", "model_slug", "reasoning_effort")
    )
    differs = {"harness": harness, "model": model, "effort": effort}[row["factor"]]
    shared = [name[0] or "(no effort)" for name in (harness, model, effort) if name is not differs]
    narrow = f" - {row['verdict']} but narrow" if row["narrow"] and row["verdict"] in SIGNIFICANT else ""
    return f"{differs[0]} \u2212", f"{differs[1]},", f"{shared[0]} /", f"{shared[1]}{narrow}"


def sensitivity_plot(dataset_key: str, rows: pd.DataFrame) -> RangePlot:
    """Return the mean deltas under both policies, for the comparisons that miss a reward."""
    affected = rows[rows["missing_rewards"].astype(int).gt(0) & (rows["factor"] != "leader")]
    ranges = [
        Range(
            (f"{row['factor']}:", f"{row['left_cell']} \u2212", f"{row['right_cell']}{_changed(row)}"),
            row["mean_delta_zero"],
            row["mean_delta_zero"],
            row["mean_delta_exclude"],
            OPPOSITE if row["changes"] else STRONG,
        )
        for row in _records(affected)
    ]
    return RangePlot(
        SENSITIVITY,
        f"Mean deltas under both missing-reward policies, dataset {dataset_key}",
        "Mean delta",
        "Dot: a missing reward counts 0; other end of the line: it is left out. Orange: the verdict changes.",
        tuple(ranges),
        "no comparison misses a reward",
        marks_zero=True,
    )


def _changed(row: Mapping[str, Any]) -> str:
    return f", {row['verdict_zero']} / {row['verdict_exclude']}" if row["changes"] else ""


def reliability_plot(dataset_key: str, rows: pd.DataFrame) -> RangePlot:
    """Return what each cell solves every time, on average and at least once, at its highest known k."""
    ranges = []
    for cell, found in rows[rows["pass_at_k"].notna()].groupby("cell", sort=False):
        first, last = found.iloc[0], found.iloc[-1]
        label = (str(cell), f"(k = {int(last['k'])})")
        ranges.append(Range(label, first["pass_at_k"], last["pass_hat_k"], last["pass_at_k"]))
    return RangePlot(
        RELIABILITY,
        f"Solved every time, on average and at least once, dataset {dataset_key}",
        "Share of tasks",
        "Dot: one attempt; line: from all k attempts (pass^k) to at least one of k (pass@k).",
        tuple(ranges),
        "no cell has a scored attempt",
    )


QUALITY_FLAGS = ("saturated", "impossible", "flaky", "negative_discrimination", "infra_prone")


def quality_plot(dataset_key: str, tasks: pd.DataFrame, *, limit: int) -> RangePlot:
    """Return the flagged tasks, those with most flags first, at most `limit`."""
    flags = tasks[list(QUALITY_FLAGS)].eq(other=True)
    counts = flags.sum(axis=1)
    order = tasks.assign(_flags=counts)[counts > 0].sort_values(
        ["_flags", "task_name"], ascending=[False, True], kind="stable"
    )
    ranges = [
        Range(
            (row["task_name"], f"- {', '.join(f.replace('_', ' ') for f in QUALITY_FLAGS if row[f] is True)}"),
            row["mean_score"],
            row["min_cell_score"],
            row["max_cell_score"],
        )
        for row in _records(order.head(limit))
    ]
    return RangePlot(
        QUALITY,
        f"Tasks with a flag, dataset {dataset_key}",
        "Score",
        f"Dot: mean over cells; line: lowest to highest cell. {len(ranges)} of {int((counts > 0).sum())} flagged tasks "
        f"(of {len(tasks)}), most flags first.",
        tuple(ranges),
        "no task is flagged",
    )


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = frame.to_dict("records")  # type: ignore[assignment]
    return found
