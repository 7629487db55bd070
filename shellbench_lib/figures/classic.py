"""The four figures of the classic task analysis: run scores, harness and effort deltas, highest-variance tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from shellbench_lib.figures.boxes import NAME_LIMIT, BoxPlot, Drawn, Group, draw
from shellbench_lib.statistics.cells import Cell, DatasetScores, MissingReward
from shellbench_lib.statistics.deltas import ConditionPairs, effort_pairs, harness_pairs
from shellbench_lib.text import shorten

RUN_SCORES, HARNESS_DELTAS = "run-score-distributions", "harness-task-deltas"
EFFORT_DELTAS, VARIANCE = "reasoning-task-deltas", "highest-variance-tasks"
CLASSIC_KINDS = (RUN_SCORES, HARNESS_DELTAS, EFFORT_DELTAS, VARIANCE)
WHY_EMPTY = {
    RUN_SCORES: "it has no eligible run",
    HARNESS_DELTAS: "no two harnesses share a model, an effort and a task with a score",
    EFFORT_DELTAS: "no two known efforts share a harness, a model and a task with a score",
    VARIANCE: "no task has a score",
}
_BOXES = "Box: quartiles, median; whiskers: 1.5 interquartile ranges; diamond: mean; dots, equal ones side by side: "


def run_score_plot(dataset: DatasetScores, run_scores: Mapping[str, float]) -> BoxPlot:
    """Return the scores of each cell's runs; `run_scores` by run path, a missing reward counting 0."""
    groups = [
        Group(_cell_parts(cell), np.array([run_scores[path] for path in cell.run_paths]), cell.harness)
        for cell in dataset.cells
    ]
    return BoxPlot(
        f"Run scores by cell, dataset {shorten(dataset.dataset_key, NAME_LIMIT)}",
        "Run score (a missing reward counts 0)",
        f"{_BOXES}runs. Colour: harness.",
        tuple(groups),
    )


def harness_plot(dataset: DatasetScores, missing_reward: MissingReward) -> BoxPlot:
    """Return the task deltas of every two harnesses at one model and effort."""
    groups = _delta_groups(dataset, harness_pairs(dataset), missing_reward, "harness")
    return BoxPlot(
        f"Harness task deltas, dataset {shorten(dataset.dataset_key, NAME_LIMIT)}",
        "Left less right harness, mean reward of a task",
        f"{_BOXES}tasks. Colour: model.",
        groups,
        limits=(-1.0, 1.0),
        marks_zero=True,
    )


def effort_plot(dataset: DatasetScores, missing_reward: MissingReward) -> BoxPlot:
    """Return the task deltas of neighbouring efforts of one harness and model."""
    groups = _delta_groups(dataset, effort_pairs(dataset), missing_reward, "effort")
    return BoxPlot(
        f"Reasoning-effort task deltas, dataset {shorten(dataset.dataset_key, NAME_LIMIT)}",
        "Higher less lower effort, mean reward of a task",
        f"{_BOXES}tasks. Colour: harness.",
        groups,
        limits=(-1.0, 1.0),
        marks_zero=True,
    )


def variance_plot(dataset: DatasetScores, tasks: Sequence[str], missing_reward: MissingReward) -> BoxPlot:
    """Return the cell means of some tasks, in the given order."""
    means = dataset.task_means(missing_reward)
    position = {task: index for index, task in enumerate(dataset.tasks)}
    groups = tuple(Group((task,), means[:, position[task]]) for task in tasks)
    return BoxPlot(
        f"Tasks with the widest range across cells, dataset {shorten(dataset.dataset_key, NAME_LIMIT)}",
        "Mean reward of a cell",
        f"{_BOXES}cells.",
        groups,
        limits=(0.0, 1.0),
    )


def classic_figures(
    dataset: DatasetScores,
    *,
    file_stem: str,
    run_scores: Mapping[str, float],
    top_tasks: Sequence[str],
    missing_reward: MissingReward,
) -> list[Drawn]:
    """Return the four figures of a dataset.

    Args:
        dataset: the scores.
        file_stem: the file-name form of the dataset key.
        run_scores: score of each run path.
        top_tasks: the tasks of the highest-variance figure, the widest range first.
        missing_reward: policy of the cell means.
    """
    plots = {
        RUN_SCORES: run_score_plot(dataset, run_scores),
        HARNESS_DELTAS: harness_plot(dataset, missing_reward),
        EFFORT_DELTAS: effort_plot(dataset, missing_reward),
        VARIANCE: variance_plot(dataset, top_tasks, missing_reward),
    }
    return [
        draw(plot, kind=kind, dataset_key=dataset.dataset_key, file_stem=file_stem, empty=WHY_EMPTY[kind])
        for kind, plot in plots.items()
    ]


def _cell_parts(cell: Cell) -> tuple[str, ...]:
    return f"{cell.harness} /", f"{cell.model_slug} /", cell.reasoning_effort or "(no effort)"


def _delta_groups(
    dataset: DatasetScores, conditions: Sequence[ConditionPairs], missing_reward: MissingReward, factor: str
) -> tuple[Group, ...]:
    means = dataset.task_means(missing_reward)
    groups: list[Group] = []
    label: tuple[str, ...]
    for condition in conditions:
        for first, second in condition.pairs:
            one, other = dataset.cells[first], dataset.cells[second]
            if factor == "harness":
                delta = means[first] - means[second]
                label = (f"{one.harness} \u2212", f"{other.harness},", *_cell_parts(one)[1:])
                groups.append(Group(label, delta, one.model_slug))
            else:
                delta = means[second] - means[first]
                efforts = f"{other.reasoning_effort} \u2212 {one.reasoning_effort},"
                label = (efforts, f"{one.harness} /", one.model_slug)
                groups.append(Group(label, delta, one.harness))
    return tuple(groups)
