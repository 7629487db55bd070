"""Tasks that succeed and fail together: a triage picture, on which no test is run.

Average-linkage clustering on 1 less the correlation of task columns over cells, cut at a declared height. A task with
the same score in every cell has no correlation and stands apart; so does one that some cell did not score. With fewer
than six cells a correlation is mostly chance: there are no clusters, and a sentence says so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.cluster import hierarchy
from scipy.spatial.distance import squareform

from shellbench_lib.columns import TABLES, names
from shellbench_lib.statistics.cells import DatasetScores, FloatArray, MissingReward

FILE = "task_clusters.csv"
CUT_HEIGHT = 0.5  # tasks below it share, on average, a correlation of at least a half
MIN_CELLS = 6
TOLERANCE = 1e-9
_DECIMALS = 9  # the last bits of a correlation differ between processors and could turn a tie


@dataclass(frozen=True, slots=True)
class TaskOrder:
    """Tasks in the order of the heat map, and the cluster of each (0: constant or incomplete, no cluster)."""

    order: npt.NDArray[np.int64]
    cluster: npt.NDArray[np.int64]


def too_few_cells(dataset: DatasetScores) -> str:
    """Return the sentence that stands in place of clusters, empty where there are enough cells."""
    cells = len(dataset.cells)
    if cells >= MIN_CELLS:
        return ""
    return f"{dataset.dataset_key}: no task clusters, which need at least {MIN_CELLS} cells; there are {cells}."


def cluster_tasks(task_means: FloatArray) -> TaskOrder:
    """Return the order and the cluster of every task from means `(n_cells, n_tasks)`.

    Clusters are numbered from 1 in the order in which their first task stands; constant and incomplete tasks follow
    all others by their mean, the highest first.
    """
    tasks = task_means.shape[1]
    varied = np.ptp(task_means, axis=0) > TOLERANCE  # NaN compares false
    kept = np.flatnonzero(varied)
    labels = np.zeros(tasks, dtype=np.int64)
    ordered = kept
    if len(kept) > 1:
        distance = np.round(1 - np.corrcoef(task_means[:, kept], rowvar=False), _DECIMALS)
        np.fill_diagonal(distance, 0.0)
        tree = hierarchy.linkage(squareform(np.maximum(distance, 0.0), checks=False), method="average")
        ordered = kept[hierarchy.leaves_list(tree)]
        labels[kept] = hierarchy.fcluster(tree, CUT_HEIGHT, criterion="distance")
    elif len(kept) == 1:
        labels[kept] = 1
    apart = np.flatnonzero(~varied)
    means = np.array([_mean(task_means[:, index]) for index in apart])
    apart = apart[np.lexsort((apart, -np.nan_to_num(means, nan=-1.0)))] if len(apart) else apart
    numbers: dict[int, int] = {}
    for label in labels[ordered].tolist():
        numbers.setdefault(label, len(numbers) + 1)
    renumbered = np.array([numbers.get(label, 0) for label in labels.tolist()], dtype=np.int64)
    return TaskOrder(np.concatenate([ordered, apart]).astype(np.int64), renumbered)


def _mean(values: FloatArray) -> float:
    known = values[~np.isnan(values)]
    return math.fsum(known) / len(known) if len(known) else math.nan


def cluster_table(datasets: Sequence[DatasetScores], *, missing_reward: MissingReward) -> pd.DataFrame:
    """Return one row per task of each dataset with enough cells, in the heat map's order.

    The columns are those of task_clusters.csv.
    """
    rows: list[dict[str, object]] = []
    for dataset in datasets:
        if too_few_cells(dataset):
            continue
        means = dataset.task_means(missing_reward)
        found = cluster_tasks(means)
        sizes = np.bincount(found.cluster)
        for position, index in enumerate(found.order.tolist(), start=1):
            cluster = int(found.cluster[index])
            column = means[:, index]
            rows.append(
                {
                    "dataset_key": dataset.dataset_key,
                    "task_name": dataset.tasks[index],
                    "position": position,
                    "cluster": cluster or None,
                    "cluster_size": int(sizes[cluster]) if cluster else None,
                    "constant": None if np.isnan(column).any() else bool(np.ptp(column) <= TOLERANCE),
                    "mean_score": _mean(column),
                    "cells": len(dataset.cells),
                    "cut_height": CUT_HEIGHT,
                }
            )
    return pd.DataFrame(rows, columns=names(TABLES[FILE]))
