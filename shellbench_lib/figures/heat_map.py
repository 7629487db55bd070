"""The heat map: tasks by cells, tasks that succeed and fail together beside each other. A triage picture, no test.

Every square is drawn as a shape, not as pixels, so the picture stays sharp and searchable at 116 tasks x 31 cells.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure
from matplotlib.path import Path

from shellbench_lib.figures.boxes import LABEL_GAP, SIDE, Drawn, head_lines, no_figure, render, row_labels, text_width
from shellbench_lib.figures.ranges import cell_parts
from shellbench_lib.statistics.cells import DatasetScores, FloatArray, MissingReward

HEAT_MAP = "task-heat-map"
ROW, COLUMN = 0.125, 0.24  # inches of a task and of a cell
TASK_SIZE, CELL_SIZE = 6.5, 7.0  # points
ONE_LINE = 1000  # characters: labels are not wrapped
HEAD, FOOT = 0.62, 0.45
LEVELS = 20  # steps of colour between 0 and 1
COLOURS = "viridis"
_SQUARE = np.array([Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY], dtype=np.uint8)


def heat_map(
    dataset: DatasetScores, clusters: pd.DataFrame, missing_reward: MissingReward, *, file_stem: str, reason: str
) -> Drawn:
    """Return the heat map of a dataset.

    Args:
        dataset: the scores.
        clusters: the dataset's rows of task_clusters.csv, in their order.
        missing_reward: policy of the task means.
        file_stem: the file-name form of the dataset key.
        reason: why there are no clusters, the end of a sentence.
    """
    if clusters.empty:
        return no_figure(HEAT_MAP, dataset.dataset_key, reason)
    place = {task: index for index, task in enumerate(dataset.tasks)}
    order = [place[task] for task in clusters["task_name"]]
    means = dataset.task_means(missing_reward)[:, order].T
    numbers = [None if pd.isna(value) else int(value) for value in clusters["cluster"]]
    title = f"Tasks by cells, dataset {dataset.dataset_key}"

    def make() -> Figure:
        return _figure(dataset, means, [dataset.tasks[index] for index in order], numbers, title)

    return Drawn(HEAT_MAP, dataset.dataset_key, ((f"{file_stem}-{HEAT_MAP}.svg", render(make, title=title)),))


def _figure(
    dataset: DatasetScores, means: FloatArray, tasks: Sequence[str], numbers: Sequence[int | None], title: str
) -> Figure:
    note = "Colour: mean score, 0 dark to 1 bright; white: no score. Lines part clusters (numbered; none: no cluster)."
    rows = row_labels([(task,) for task in tasks], line_limit=ONE_LINE)
    parts = [cell_parts(cell.harness, cell.model_slug, cell.reasoning_effort) for cell in dataset.cells]
    columns = row_labels(parts, line_limit=ONE_LINE)
    left = SIDE + max(text_width(label, TASK_SIZE) for label in rows) + LABEL_GAP
    top = HEAD + max(text_width(label, CELL_SIZE) for label in columns) + LABEL_GAP
    wide, high = COLUMN * len(columns), ROW * len(rows)
    width = max(left + wide + 2 * SIDE, SIDE * 2 + max(text_width(title, 11.0, "bold"), text_width(note, 8.0)))
    height = top + high + FOOT
    figure = Figure(figsize=(width, height))
    FigureCanvasSVG(figure)
    axes = figure.add_axes((left / width, FOOT / height, wide / width, high / height))
    head_lines(figure, title=title, note=note)
    _draw_squares(axes, means)
    _part_clusters(axes, numbers, len(columns))
    axes.set(xlim=(0, len(columns)), ylim=(len(rows), 0))
    axes.set_yticks(np.arange(len(rows)) + 0.5, rows, size=TASK_SIZE)
    axes.set_xticks(np.arange(len(columns)) + 0.5, columns, size=CELL_SIZE, rotation=90)
    axes.tick_params(top=True, bottom=False, labeltop=True, labelbottom=False, length=0)
    return figure


def _draw_squares(axes: Axes, means: FloatArray) -> None:
    """Draw one compound shape for each step of colour."""
    steps = np.clip(np.rint(means * LEVELS), 0, LEVELS)
    palette = colormaps[COLOURS]
    for step in np.unique(steps[~np.isnan(steps)]).tolist():
        y, x = np.nonzero(steps == step)
        corners = np.array([[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]], dtype=np.float64)
        vertices = (np.stack([x, y], axis=1)[:, None, :] + corners).reshape(-1, 2)
        path = Path(vertices, np.tile(_SQUARE, len(x)))
        axes.add_collection(PathCollection([path], facecolors=[palette(step / LEVELS)], edgecolors="none"))


def _part_clusters(axes: Axes, numbers: Sequence[int | None], columns: int) -> None:
    """Draw a line between clusters of more than one task, and their number beside them."""
    start = 0
    for end in range(1, len(numbers) + 1):
        if end < len(numbers) and numbers[end] == numbers[start]:
            continue
        if end < len(numbers):
            axes.plot([0, columns], [end, end], color="white", linewidth=1.0)
        if numbers[start] is not None and end - start > 1:
            axes.text(columns + 0.2, math.fsum((start, end)) / 2, str(numbers[start]), size=TASK_SIZE, va="center")
        start = end
