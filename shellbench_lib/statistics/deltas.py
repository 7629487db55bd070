"""Matched differences: what changes on each task when one factor changes and everything else is held fixed.

Harness deltas hold model and effort fixed, effort deltas harness and model, model deltas harness and effort. A delta
is taken only on tasks that both cells have a mean for; nothing is filled in for the others. Efforts are compared with
the next one that is present, in the order of `conditions.EFFORT_ORDER`; a blank or unknown effort has no place in that
order and takes no part in effort deltas.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
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
IndexPairs = list[tuple[int, int]]


def harness_deltas(datasets: Sequence[DatasetScores], *, missing_reward: MissingReward) -> pd.DataFrame:
    """Return left less right harness on each task, model and effort held fixed; columns of harness_task_deltas.csv.

    Rows by dataset, model, effort, task and pair of harnesses, the first in the alphabet to the left.
    """

    def columns(dataset: DatasetScores) -> dict[str, Any]:
        groups = _groups(dataset, lambda cell: (cell.model_slug, cell.reasoning_effort), effort_at=1)
        return _left_right(dataset, missing_reward, groups, ("model_slug", "reasoning_effort"), "harness")

    return stack_tables(HARNESS_FILE, [columns(dataset) for dataset in datasets])


def model_deltas(datasets: Sequence[DatasetScores], *, missing_reward: MissingReward) -> pd.DataFrame:
    """Return left less right model on each task, harness and effort held fixed; columns of model_task_deltas.csv.

    Rows by dataset, harness, effort, task and pair of models, the first in the alphabet to the left.
    """

    def columns(dataset: DatasetScores) -> dict[str, Any]:
        groups = _groups(dataset, lambda cell: (cell.harness, cell.reasoning_effort), effort_at=1)
        return _left_right(dataset, missing_reward, groups, ("harness", "reasoning_effort"), "model")

    return stack_tables(MODEL_FILE, [columns(dataset) for dataset in datasets])


def effort_deltas(datasets: Sequence[DatasetScores], *, missing_reward: MissingReward) -> pd.DataFrame:
    """Return higher less lower effort on each task, harness and model fixed; columns of reasoning_task_deltas.csv.

    Rows by dataset, harness, model, task and effort. `levels_skipped` counts the known levels between two neighbours.
    """
    return stack_tables(EFFORT_FILE, [_effort_columns(dataset, missing_reward) for dataset in datasets])


def _effort_columns(dataset: DatasetScores, missing_reward: MissingReward) -> dict[str, Any]:
    groups = []
    for key, cells in _groups(dataset, lambda cell: (cell.harness, cell.model_slug), effort_at=None):
        known = [index for index in cells if dataset.cells[index].reasoning_effort in EFFORT_ORDER]
        groups.append((key, list(pairwise(known))))
    rows = _matched(dataset, missing_reward, groups)
    efforts = [cell.reasoning_effort for cell in dataset.cells]
    lower, higher = [efforts[i] for i in rows["first"]], [efforts[i] for i in rows["second"]]
    return dataset_columns(dataset, len(lower)) | {
        "harness": [key[0] for key in rows["keys"]],
        "model_slug": [key[1] for key in rows["keys"]],
        "task_name": rows["tasks"],
        "lower_reasoning": lower,
        "higher_reasoning": higher,
        "lower_reward": rows["first_mean"],
        "higher_reward": rows["second_mean"],
        "delta": rows["second_mean"] - rows["first_mean"],
        "levels_skipped": [
            EFFORT_ORDER.index(high) - EFFORT_ORDER.index(low) - 1 for low, high in zip(lower, higher, strict=True)
        ],
    }


def _left_right(
    dataset: DatasetScores,
    missing_reward: MissingReward,
    groups: Sequence[tuple[tuple[str, str], list[int]]],
    fixed: tuple[str, str],
    factor: str,
) -> dict[str, Any]:
    """Return the columns of a table that compares every two levels of a factor within each group."""
    levels = [cell.harness if factor == "harness" else cell.model_slug for cell in dataset.cells]
    pairs = [(key, list(combinations(sorted(cells, key=lambda i: levels[i]), 2))) for key, cells in groups]
    rows = _matched(dataset, missing_reward, pairs)
    return dataset_columns(dataset, len(rows["tasks"])) | {
        fixed[0]: [key[0] for key in rows["keys"]],
        fixed[1]: [key[1] for key in rows["keys"]],
        "task_name": rows["tasks"],
        f"left_{factor}": [levels[i] for i in rows["first"]],
        f"right_{factor}": [levels[i] for i in rows["second"]],
        "left_reward": rows["first_mean"],
        "right_reward": rows["second_mean"],
        "delta": rows["first_mean"] - rows["second_mean"],
    }


def _groups(
    dataset: DatasetScores, key_of: Callable[[Cell], tuple[str, str]], *, effort_at: int | None
) -> list[tuple[tuple[str, str], list[int]]]:
    """Return the cells of each group in the dataset's order, the groups by key (an effort in the order of efforts)."""
    groups: dict[tuple[str, str], list[int]] = defaultdict(list)
    for index, cell in enumerate(dataset.cells):
        groups[key_of(cell)].append(index)
    return sorted(
        groups.items(), key=lambda item: item[0] if effort_at is None else (item[0][0], effort_rank(item[0][1]))
    )


def _matched(
    dataset: DatasetScores, missing_reward: MissingReward, groups: Sequence[tuple[tuple[str, str], IndexPairs]]
) -> dict[str, Any]:
    """Return both means of every pair on every task that both cells have, by group, task and pair."""
    means = dataset.task_means(missing_reward)
    tasks = np.array(dataset.tasks, dtype=object)
    found: dict[str, list[Any]] = {name: [] for name in ("keys", "tasks", "first", "second")}
    means_found: dict[str, list[FloatArray]] = {"first_mean": [], "second_mean": []}
    for key, pairs in groups:
        if not pairs:
            continue
        first, second = np.array(pairs, dtype=np.intp).T
        left, right = means[first].T, means[second].T
        task_index, pair_index = np.nonzero(~np.isnan(left) & ~np.isnan(right))
        found["keys"] += [key] * len(task_index)
        found["tasks"] += tasks[task_index].tolist()
        found["first"] += first[pair_index].tolist()
        found["second"] += second[pair_index].tolist()
        means_found["first_mean"].append(left[task_index, pair_index])
        means_found["second_mean"].append(right[task_index, pair_index])
    return found | {name: np.concatenate([np.empty(0), *parts]) for name, parts in means_found.items()}
