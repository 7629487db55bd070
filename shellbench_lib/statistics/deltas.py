"""Matched differences: what changes on each task when one factor changes and everything else is held fixed.

Harness deltas hold model and effort fixed, effort deltas harness and model, model deltas harness and effort. A delta
is taken only on tasks that both cells have a mean for; nothing is filled in for the others. Efforts are compared with
the next one that is present, in the order of `conditions.EFFORT_ORDER`; a blank or unknown effort has no place in that
order and takes no part in effort deltas.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pandas as pd

from shellbench_lib.conditions import EFFORT_ORDER, effort_rank
from shellbench_lib.statistics.cells import Cell, DatasetScores, FloatArray, MissingReward
from shellbench_lib.statistics.tasks import dataset_columns, stack_tables

HARNESS_FILE = "harness_task_deltas.csv"
EFFORT_FILE = "reasoning_task_deltas.csv"
MODEL_FILE = "model_task_deltas.csv"


@dataclass(frozen=True, slots=True)
class ConditionPairs:
    """What is held fixed (`key`), and the cells, by index, that are compared under it."""

    key: tuple[str, str]
    pairs: list[tuple[int, int]]


def harness_pairs(dataset: DatasetScores) -> list[ConditionPairs]:
    """Return every two harnesses at one (model, effort), the first in the alphabet first."""
    groups = _groups(dataset, lambda cell: (cell.model_slug, cell.reasoning_effort), has_effort=True)
    return [_every_two(key, cells, lambda index: dataset.cells[index].harness) for key, cells in groups]


def model_pairs(dataset: DatasetScores) -> list[ConditionPairs]:
    """Return every two models at one (harness, effort), the first in the alphabet first."""
    groups = _groups(dataset, lambda cell: (cell.harness, cell.reasoning_effort), has_effort=True)
    return [_every_two(key, cells, lambda index: dataset.cells[index].model_slug) for key, cells in groups]


def effort_pairs(dataset: DatasetScores) -> list[ConditionPairs]:
    """Return the neighbouring known efforts of each (harness, model), the lower one first."""
    groups = _groups(dataset, lambda cell: (cell.harness, cell.model_slug), has_effort=False)
    known = [(key, [i for i in cells if dataset.cells[i].reasoning_effort in EFFORT_ORDER]) for key, cells in groups]
    return [ConditionPairs(key, list(pairwise(cells))) for key, cells in known]


def harness_deltas(datasets: Sequence[DatasetScores], *, missing_reward: MissingReward) -> pd.DataFrame:
    """Return left less right harness on each task, model and effort held fixed; columns of harness_task_deltas.csv.

    Rows by dataset, model, effort, task and pair of harnesses, the first in the alphabet to the left.
    """

    def columns(dataset: DatasetScores) -> dict[str, Any]:
        rows = _matched(dataset, missing_reward, harness_pairs(dataset))
        return rows.left_right(dataset, ("model_slug", "reasoning_effort"), "harness", lambda cell: cell.harness)

    return stack_tables(HARNESS_FILE, [columns(dataset) for dataset in datasets])


def model_deltas(datasets: Sequence[DatasetScores], *, missing_reward: MissingReward) -> pd.DataFrame:
    """Return left less right model on each task, harness and effort held fixed; columns of model_task_deltas.csv.

    Rows by dataset, harness, effort, task and pair of models, the first in the alphabet to the left.
    """

    def columns(dataset: DatasetScores) -> dict[str, Any]:
        rows = _matched(dataset, missing_reward, model_pairs(dataset))
        return rows.left_right(dataset, ("harness", "reasoning_effort"), "model", lambda cell: cell.model_slug)

    return stack_tables(MODEL_FILE, [columns(dataset) for dataset in datasets])


def effort_deltas(datasets: Sequence[DatasetScores], *, missing_reward: MissingReward) -> pd.DataFrame:
    """Return higher less lower effort on each task, harness and model fixed; columns of reasoning_task_deltas.csv.

    Rows by dataset, harness, model, task and effort. `levels_skipped` counts the known levels between two neighbours.
    """
    return stack_tables(EFFORT_FILE, [_effort_columns(dataset, missing_reward) for dataset in datasets])


@dataclass(slots=True)
class _Matched:
    """Rows of a delta table: what is held fixed, the task, and both cells with their means."""

    keys: list[tuple[str, str]] = field(default_factory=list)
    tasks: list[str] = field(default_factory=list)
    first: list[int] = field(default_factory=list)
    second: list[int] = field(default_factory=list)
    first_mean: FloatArray = field(default_factory=lambda: np.empty(0))
    second_mean: FloatArray = field(default_factory=lambda: np.empty(0))

    def left_right(
        self, dataset: DatasetScores, fixed: tuple[str, str], factor: str, level: Callable[[Cell], str]
    ) -> dict[str, Any]:
        """Return the columns of a table that compares two levels of a factor, left less right."""
        levels = [level(cell) for cell in dataset.cells]
        return self.head(dataset, fixed) | {
            f"left_{factor}": [levels[index] for index in self.first],
            f"right_{factor}": [levels[index] for index in self.second],
            "left_reward": self.first_mean,
            "right_reward": self.second_mean,
            "delta": self.first_mean - self.second_mean,
        }

    def head(self, dataset: DatasetScores, fixed: tuple[str, str]) -> dict[str, Any]:
        """Return the columns that every delta table begins with."""
        return dataset_columns(dataset, len(self.tasks)) | {
            fixed[0]: [key[0] for key in self.keys],
            fixed[1]: [key[1] for key in self.keys],
            "task_name": self.tasks,
        }


def _matched(dataset: DatasetScores, missing_reward: MissingReward, groups: Sequence[ConditionPairs]) -> _Matched:
    """Return both means of every pair on every task that both cells have, by group, task and pair."""
    means = dataset.task_means(missing_reward)
    tasks = np.array(dataset.tasks, dtype=object)
    rows = _Matched()
    parts: list[tuple[FloatArray, FloatArray]] = []
    for group in groups:
        if not group.pairs:
            continue
        first, second = np.array(group.pairs, dtype=np.intp).T
        left, right = means[first].T, means[second].T
        task_index, pair_index = np.nonzero(~np.isnan(left) & ~np.isnan(right))
        rows.keys += [group.key] * len(task_index)
        rows.tasks += tasks[task_index].tolist()
        rows.first += first[pair_index].tolist()
        rows.second += second[pair_index].tolist()
        parts.append((left[task_index, pair_index], right[task_index, pair_index]))
    if parts:
        rows.first_mean, rows.second_mean = (np.concatenate(side) for side in zip(*parts, strict=True))
    return rows


def _effort_columns(dataset: DatasetScores, missing_reward: MissingReward) -> dict[str, Any]:
    rows = _matched(dataset, missing_reward, effort_pairs(dataset))
    efforts = [cell.reasoning_effort for cell in dataset.cells]
    lower, higher = [efforts[index] for index in rows.first], [efforts[index] for index in rows.second]
    return rows.head(dataset, ("harness", "model_slug")) | {
        "lower_reasoning": lower,
        "higher_reasoning": higher,
        "lower_reward": rows.first_mean,
        "higher_reward": rows.second_mean,
        "delta": rows.second_mean - rows.first_mean,
        "levels_skipped": [
            EFFORT_ORDER.index(high) - EFFORT_ORDER.index(low) - 1 for low, high in zip(lower, higher, strict=True)
        ],
    }


def _every_two(key: tuple[str, str], cells: Sequence[int], level: Callable[[int], str]) -> ConditionPairs:
    return ConditionPairs(key, list(combinations(sorted(cells, key=level), 2)))


def _groups(
    dataset: DatasetScores, key_of: Callable[[Cell], tuple[str, str]], *, has_effort: bool
) -> list[tuple[tuple[str, str], list[int]]]:
    """Return the cells of each group in the dataset's order, groups by key; an effort in the order of efforts."""
    groups: dict[tuple[str, str], list[int]] = defaultdict(list)
    for index, cell in enumerate(dataset.cells):
        groups[key_of(cell)].append(index)

    def order(item: tuple[tuple[str, str], list[int]]) -> tuple[str, Any]:
        first, second = item[0]
        return first, (effort_rank(second) if has_effort else second)

    return sorted(groups.items(), key=order)
