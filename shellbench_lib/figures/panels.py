"""Figures of several lines or points: influence curves, score against cost, and what a larger design would buy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from shellbench_lib.figures.boxes import LABEL_SIZE, SIDE, Drawn, head_lines, no_figure, render, text_width
from shellbench_lib.figures.ranges import OPPOSITE, SIGNIFICANT, STRONG
from shellbench_lib.text import printable, shorten

CURVES, COST, PLAN = "influence-curves", "score-against-cost", "planned-designs"
MAX_CURVES, CURVE_COLUMNS = 6, 2
PANEL_WIDTH, PANEL_HEIGHT, PANEL_TOP, PANEL_BOTTOM, GAP = 5.0, 1.7, 0.64, 0.42, 0.65  # inches
HEAD = 0.62
NAME_LIMIT = 80  # characters of a cell's label in a panel's title or in a key
KEY_LINE = 0.155  # inches of a line of the key
COMPARISON_KEYS = ["factor", "left_cell", "right_cell"]


def influence_curves(dataset_key: str, pairs: pd.DataFrame, influence: pd.DataFrame, *, file_stem: str) -> Drawn:
    """Return how significant leads shrink as their most helpful tasks are taken out one by one.

    Args:
        dataset_key: the dataset.
        pairs: its rows of paired_comparisons.csv.
        influence: its rows of task_influence.csv.
        file_stem: the file-name form of the dataset key.

    Returns:
        The comparisons of one factor with the smallest p, narrow ones first, at most `MAX_CURVES`.
    """
    found = pairs[(pairs["factor"] != "leader") & pairs["verdict"].isin(SIGNIFICANT)]
    if found.empty:
        return no_figure(CURVES, dataset_key, "no comparison of one factor is significant")
    chosen = (
        found.assign(broad=~found["narrow"].eq(other=True))
        .sort_values(["broad", "p_holm", *COMPARISON_KEYS], kind="stable")
        .head(MAX_CURVES)
    )
    title = f"Influence curves, dataset {dataset_key}"
    note = (
        f"The lead as its most helpful tasks are taken out one by one; {len(chosen)} of {len(found)} significant "
        "comparisons, narrow ones first."
    )
    svg = render(lambda: _curve_figure(chosen, influence, title, note), title=title)
    return Drawn(CURVES, dataset_key, ((f"{file_stem}-{CURVES}.svg", svg),))


def _curve_figure(chosen: pd.DataFrame, influence: pd.DataFrame, title: str, note: str) -> Figure:
    columns = min(CURVE_COLUMNS, len(chosen))
    rows = math.ceil(len(chosen) / columns)
    width = max(columns * (PANEL_WIDTH + GAP) + SIDE, _head_width(title, note))
    pitch = PANEL_TOP + PANEL_HEIGHT + PANEL_BOTTOM
    height = HEAD + rows * pitch
    figure = Figure(figsize=(width, height))
    FigureCanvasSVG(figure)
    head_lines(figure, title=title, note=note)
    by_pair = dict(list(influence.groupby(COMPARISON_KEYS, sort=False)))
    for place, row in enumerate(_records(chosen)):
        left = GAP + (place % columns) * (PANEL_WIDTH + GAP)
        top = HEAD + (place // columns) * pitch + PANEL_TOP
        axes = figure.add_axes(
            (left / width, 1 - (top + PANEL_HEIGHT) / height, PANEL_WIDTH / width, PANEL_HEIGHT / height)
        )
        _draw_curve(axes, row, by_pair[tuple(row[name] for name in COMPARISON_KEYS)])
    return figure


def _draw_curve(axes: Axes, row: dict[str, Any], tasks: pd.DataFrame) -> None:
    sign = 1.0 if row["mean_delta"] > 0 else -1.0
    left_over = tasks.sort_values("removal_order", kind="stable")["mean_after_removal"].to_numpy(dtype=np.float64)[:-1]
    lead = sign * np.concatenate([[row["mean_delta"]], left_over])
    first, second = (row["left_cell"], row["right_cell"]) if sign > 0 else (row["right_cell"], row["left_cell"])
    tie = None if pd.isna(row["tie_k"]) else int(row["tie_k"])
    end = len(lead) if tie is None else min(len(lead), max(2 * tie, 10) + 1)
    axes.plot(np.arange(end), lead[:end], color=STRONG, linewidth=1.6, marker=".", markersize=4)
    axes.axhline(0.0, color="0.6", linewidth=0.8)
    if tie is not None:
        axes.plot([tie], [lead[tie]], marker="o", markersize=7, color=OPPOSITE)
    narrow = " and narrow" if row["narrow"] is True else ""
    gone = f"gone after {tie} of {int(row['n_tasks'])} tasks" if tie else "no removal ends it"
    lines = [
        f"{_name(first)}",
        f"over {_name(second)}:",
        f"better{narrow} (p {_p(row['p_holm'])}, Holm), {gone}",
    ]
    axes.set_title("\n".join(lines), size=LABEL_SIZE, loc="left")
    axes.set_xlabel("Tasks taken out", size=LABEL_SIZE)
    _dress(axes)


def score_against_cost(dataset_key: str, board: pd.DataFrame, cost: pd.DataFrame, *, file_stem: str) -> Drawn:
    """Return mean score against cost per trial, with the cells that no other one beats in both.

    Cells without a known cost are named in a sentence. A cell whose cost is known in some trials only is hollow.
    """
    spent = cost[cost["quantity"] == "cost"].set_index("cell")
    shown = board[board["mean_score"].notna()].copy()
    for name in ("per_trial", "known_trials", "trials"):
        shown[name] = [spent[name].get(cell, np.nan) for cell in shown["cell"]]
    known = shown[shown["per_trial"].notna()]
    if known.empty:
        return no_figure(COST, dataset_key, "no cost was recorded")
    title = f"Score against cost, dataset {dataset_key}"
    note = "Line: cells that no other one beats in both. Hollow: cost known in some trials only (mean over those)."
    svg = render(lambda: _cost_figure(known, title, note), title=title)
    unknown = shown.loc[shown["per_trial"].isna(), "cell"]
    sentences = tuple(f"{title}: left out for want of a cost: {printable(cell)}." for cell in unknown)
    return Drawn(COST, dataset_key, ((f"{file_stem}-{COST}.svg", svg),), sentences)


def frontier(costs: Sequence[float], scores: Sequence[float]) -> list[int]:
    """Return the points that no other one matches at lower cost or betters at no higher cost, the cheapest first."""
    order = sorted(range(len(costs)), key=lambda i: (costs[i], -scores[i]))
    kept: list[int] = []
    for index in order:
        if not kept or scores[index] > scores[kept[-1]]:
            kept.append(index)
    return kept


def _cost_figure(known: pd.DataFrame, title: str, note: str) -> Figure:
    names = [f"{number}  {_name(cell)}" for number, cell in enumerate(known["cell"], start=1)]
    key_width = max(text_width(name, LABEL_SIZE) for name in names)
    plot_width, plot_height = 5.6, max(3.6, KEY_LINE * len(names))
    width = max(GAP + plot_width + GAP / 2 + key_width + SIDE, _head_width(title, note))
    height = HEAD + plot_height + PANEL_BOTTOM + 0.1
    figure = Figure(figsize=(width, height))
    FigureCanvasSVG(figure)
    head_lines(figure, title=title, note=note)
    axes = figure.add_axes((GAP / width, (PANEL_BOTTOM + 0.1) / height, plot_width / width, plot_height / height))
    costs, scores = known["per_trial"].tolist(), known["mean_score"].tolist()
    best = frontier(costs, scores)
    axes.plot([costs[i] for i in best], [scores[i] for i in best], color="0.6", linewidth=1.2, zorder=1)
    whole = (known["known_trials"] == known["trials"]).tolist()
    for number, (x, y, full) in enumerate(zip(costs, scores, whole, strict=True), start=1):
        axes.plot([x], [y], marker="o", markersize=6, markeredgecolor=STRONG, markerfacecolor=STRONG if full else "w")
        axes.annotate(str(number), (x, y), xytext=(4, 3), textcoords="offset points", size=LABEL_SIZE)
    for number, name in enumerate(names):
        figure.text(
            (GAP + plot_width + GAP / 2) / width, 1 - (HEAD + KEY_LINE * (number + 0.7)) / height, name, size=LABEL_SIZE
        )
    axes.set_xlabel("Cost per trial, US dollars", size=LABEL_SIZE)
    axes.set_ylabel("Mean score", size=LABEL_SIZE)
    _dress(axes)
    return figure


def planned_designs(dataset_key: str, components: pd.DataFrame, *, file_stem: str) -> Drawn:
    """Return the shares of the variance and the difference that planned designs would detect."""
    plans = components[(components["quantity"] == "planned design") & components["minimum_detectable_effect"].notna()]
    shares = components[components["share"].notna()]
    if plans.empty or shares.empty:
        return no_figure(PLAN, dataset_key, "its variance cannot be split into components")
    title = f"Signal, noise and what more would buy, dataset {dataset_key}"
    note = "Left: shares of the variance of one attempt. Right: difference of two cells found with 80 % power."
    svg = render(lambda: _plan_figure(shares, plans, title, note), title=title)
    return Drawn(PLAN, dataset_key, ((f"{file_stem}-{PLAN}.svg", svg),))


def _plan_figure(shares: pd.DataFrame, plans: pd.DataFrame, title: str, note: str) -> Figure:
    width = max(2 * (PANEL_WIDTH + 2 * GAP), _head_width(title, note))
    height = HEAD + PANEL_HEIGHT + PANEL_BOTTOM + 0.1
    figure = Figure(figsize=(width, height))
    FigureCanvasSVG(figure)
    head_lines(figure, title=title, note=note)
    label_room = 1.5 * GAP
    size = ((PANEL_WIDTH - label_room) / width, PANEL_HEIGHT / height)
    bottom = (PANEL_BOTTOM + 0.1) / height
    left = figure.add_axes(((SIDE + label_room) / width, bottom, *size))
    right = figure.add_axes(((SIDE + PANEL_WIDTH + 3 * label_room) / width, bottom, *size))
    _bars(left, shares["quantity"].tolist(), shares["share"].tolist(), "Share of the variance")
    designs = [f"{int(row['tasks'])} tasks x {int(row['repetitions'])}" for row in _records(plans)]
    _bars(right, designs, plans["minimum_detectable_effect"].tolist(), "Minimum detectable effect")
    return figure


def _bars(axes: Axes, labels: Sequence[str], values: Sequence[float], axis_label: str) -> None:
    places = np.arange(len(labels))[::-1]
    axes.barh(places, values, color=STRONG, height=0.6)
    for place, value in zip(places, values, strict=True):
        axes.annotate(f"{value:.3f}", (value, place), xytext=(3, 0), textcoords="offset points", size=7, va="center")
    axes.set_yticks(places, labels, size=LABEL_SIZE)
    axes.set_xlim(0, max(values) * 1.15 or 1.0)
    axes.set_xlabel(axis_label, size=LABEL_SIZE)
    _dress(axes)


def _dress(axes: Axes) -> None:
    axes.tick_params(labelsize=LABEL_SIZE)
    axes.grid(color="0.92", linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _name(label: str) -> str:
    return shorten(printable(label), NAME_LIMIT)


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"= {value:.3f}"


def _head_width(title: str, note: str) -> float:
    return 2 * SIDE + max(text_width(printable(title), 11.0, "bold"), text_width(note, 8.0))


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = frame.to_dict("records")  # type: ignore[assignment]
    return found
