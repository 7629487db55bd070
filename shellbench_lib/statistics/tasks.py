"""What each cell scored on each task, and on which tasks the cells differ most.

Upstream's definitions: a cell's score on a task is the mean reward over its eligible repetitions; the range of a task
is the highest less the lowest of those means over all cells; standard deviations are sample ones and 0 for a single
value. They are correctly rounded (`statistics.stdev`), so that neither the order of the values nor the processor
changes a digit. A mean over no value is empty, and so is everything that would follow from it.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from shellbench_lib.columns import TABLES, names
from shellbench_lib.outcomes import PASS_REWARD
from shellbench_lib.statistics.cells import DatasetScores, FloatArray, MissingReward, exact_sums

CELLS_FILE = "task_cell_summary.csv"
DIAGNOSTICS_FILE = "task_variance_diagnostics.csv"
# Means of repetitions are multiples of a fraction such as 1/3: two equal ones may differ in their last bits.
TOLERANCE = 1e-9


def task_cells(datasets: Sequence[DatasetScores], *, missing_reward: MissingReward) -> pd.DataFrame:
    """Return one row per dataset, cell and attempted task; columns of task_cell_summary.csv.

    Under `exclude` a task whose every reward is missing keeps its row: no repetitions, and no mean, standard
    deviation, minimum or maximum (NaN).
    """
    return _stacked(CELLS_FILE, datasets, lambda dataset: _cell_columns(dataset, missing_reward))


def task_diagnostics(datasets: Sequence[DatasetScores], *, missing_reward: MissingReward) -> pd.DataFrame:
    """Return one row per dataset and task that a cell has a mean for; columns of task_variance_diagnostics.csv.

    The widest range stands first, then the highest standard deviation, then the task's name.
    """
    return _stacked(DIAGNOSTICS_FILE, datasets, lambda dataset: _diagnostic_columns(dataset, missing_reward))


def is_large(values: pd.Series[Any], threshold: float) -> pd.Series[bool]:
    """Return which values reach a threshold in size, a shortfall below `TOLERANCE` not counting as one."""
    return values.abs() >= threshold - TOLERANCE


def dataset_columns(dataset: DatasetScores, rows: int) -> dict[str, list[Any]]:
    """Return the three columns that name the dataset in every row of a table."""
    return {
        "dataset_key": [dataset.dataset_key] * rows,
        "task_revision": [dataset.task_revision] * rows,
        "suite_task_count": [dataset.suite_task_count] * rows,
    }


def typed_columns(file_name: str, columns: dict[str, Any]) -> pd.DataFrame:
    """Return columns as a frame in a table's order: texts as objects, integers as `int64`, numbers as `float64`."""
    kinds = {"text": object, "integer": np.int64, "number": np.float64}
    return pd.DataFrame({column.name: pd.Series(columns[column.name], dtype=kinds[column.type])
                         for column in TABLES[file_name]})  # fmt: skip


def _stacked(
    file_name: str, datasets: Sequence[DatasetScores], columns_of: Callable[[DatasetScores], dict[str, Any]]
) -> pd.DataFrame:
    return stack_tables(file_name, [columns_of(dataset) for dataset in datasets])


def stack_tables(file_name: str, parts: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """Return one table of several datasets' columns, one below the other; no dataset gives a table without rows."""
    empty: dict[str, list[Any]] = {name: [] for name in names(TABLES[file_name])}
    return pd.concat([typed_columns(file_name, part) for part in (parts or [empty])], ignore_index=True)


@lru_cache(maxsize=65536)
def _stdev(values: tuple[float, ...]) -> float:
    return statistics.stdev(values) if len(values) > 1 else 0.0


def _stdevs(values: FloatArray) -> list[float]:
    """Return the sample standard deviation of each row's numbers, 0 for one number, NaN for none."""
    rows = np.sort(values, axis=1)  # numbers first, NaN last
    counts = np.sum(~np.isnan(rows), axis=1)
    flat = rows[:, 0] == _extreme(values, highest=True)
    return [
        0.0 if is_flat else (_stdev(tuple(row[:count])) if count else np.nan)
        for row, count, is_flat in zip(rows.tolist(), counts.tolist(), flat.tolist(), strict=True)
    ]


def _extreme(values: FloatArray, *, highest: bool) -> FloatArray:
    """Return the highest or lowest number of each row, NaN where there is none."""
    bound = -np.inf if highest else np.inf
    filled = np.where(np.isnan(values), bound, values)
    found: FloatArray = filled.max(axis=1) if highest else filled.min(axis=1)
    return np.where(np.isinf(found), np.nan, found)


def _cell_columns(dataset: DatasetScores, missing_reward: MissingReward) -> dict[str, Any]:
    cell_index, task_index = np.nonzero(dataset.attempted.any(axis=2))
    scores = dataset.scores(missing_reward)[cell_index, task_index]
    cells = [dataset.cells[index] for index in cell_index.tolist()]
    return dataset_columns(dataset, len(cells)) | {
        "harness": [cell.harness for cell in cells],
        "model_slug": [cell.model_slug for cell in cells],
        "model_id": [",".join(cell.model_ids) for cell in cells],
        "reasoning_effort": [cell.reasoning_effort for cell in cells],
        "task_name": [dataset.tasks[index] for index in task_index.tolist()],
        "repetitions": np.sum(~np.isnan(scores), axis=1),
        "mean_reward": dataset.task_means(missing_reward)[cell_index, task_index],
        "reward_stdev": _stdevs(scores),
        "min_reward": _extreme(scores, highest=False),
        "max_reward": _extreme(scores, highest=True),
        "nonzero_repetitions": np.sum(scores > 0, axis=1),
        "exact_passes": np.sum(scores >= PASS_REWARD, axis=1),
        "missing_rewards": np.sum(dataset.missing[cell_index, task_index], axis=1),
    }


def _diagnostic_columns(dataset: DatasetScores, missing_reward: MissingReward) -> dict[str, Any]:
    means = dataset.task_means(missing_reward).T
    tasks = np.array(dataset.tasks, dtype=object)
    known = ~np.isnan(means).all(axis=1)
    means, tasks = means[known], tasks[known]
    counts = np.sum(~np.isnan(means), axis=1)
    stdevs = np.array(_stdevs(means), dtype=np.float64)
    lowest, highest = _extreme(means, highest=False), _extreme(means, highest=True)
    order = sorted(range(len(tasks)), key=lambda i: (lowest[i] - highest[i], -stdevs[i], tasks[i]))
    labels = np.array([cell.label for cell in dataset.cells], dtype=object)
    columns = {
        "task_name": tasks,
        "cell_count": counts,
        "nonzero_cells": np.sum(means > 0, axis=1),
        "mean_cell_reward": exact_sums(np.nan_to_num(means, nan=0.0)) / counts,
        "cell_reward_stdev": stdevs,
        "min_cell_reward": lowest,
        "max_cell_reward": highest,
        "range_across_cells": highest - lowest,
        "best_cell": _labels(labels, means >= highest[:, None] - TOLERANCE),
        "worst_cell": _labels(labels, means <= lowest[:, None] + TOLERANCE),
    }
    return dataset_columns(dataset, len(tasks)) | {name: values[order] for name, values in columns.items()}


def _labels(labels: Any, chosen: Any) -> Any:
    return np.array([";".join(sorted(labels[row])) for row in chosen], dtype=object)
