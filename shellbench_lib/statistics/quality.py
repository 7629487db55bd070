"""Which tasks tell the cells apart, and which do not: saturated, impossible, flaky, misleading or broken ones.

Discrimination is the corrected item-total correlation: the Pearson correlation, over cells, of a task's mean with the
mean of all other tasks. Signal is the variance of the cell means less the part that the repetitions make, noise is
that part. The limits are stated in the constants.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from shellbench_lib.columns import TABLES, names
from shellbench_lib.statistics.cells import DatasetScores, FloatArray, MissingReward

FILE = "task_quality.csv"
SATURATED, IMPOSSIBLE = 0.95, 0.05
FLAKY_SHARE = 0.5  # of the cells with repetitions
INFRA_PRONE_SHARE = 0.1  # of the trials
# A correlation over fewer cells says nothing: two points always lie on a line.
MIN_CELLS = 4
TOLERANCE = 1e-9


def quality_table(
    datasets: Sequence[DatasetScores], tasks: pd.DataFrame, *, missing_reward: MissingReward
) -> pd.DataFrame:
    """Return one row per dataset and task; columns of task_quality.csv.

    Args:
        datasets: the scores.
        tasks: the task table, for the infrastructure failures of eligible runs.
        missing_reward: the policy for trials without a reward.
    """
    parts = [_dataset_frame(dataset, tasks, missing_reward) for dataset in datasets]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=names(TABLES[FILE]))


def discrimination(task_means: FloatArray) -> FloatArray:
    """Return each task's correlation over cells with the mean of the other tasks, `(n_tasks,)`.

    Args:
        task_means: `(n_cells, n_tasks)`; a task with a gap has no value.

    NaN where fewer than `MIN_CELLS` cells exist, or where the task or the rest does not vary.
    """
    cells, tasks = task_means.shape
    result = np.full(tasks, math.nan)
    complete = ~np.isnan(task_means).any(axis=0)
    if cells < MIN_CELLS or complete.sum() < 2:
        return result
    kept = task_means[:, complete]
    rest = (kept.sum(axis=1, keepdims=True) - kept) / (kept.shape[1] - 1)
    a, b = kept - kept.mean(axis=0), rest - rest.mean(axis=0)
    scale = np.sqrt((a**2).sum(axis=0) * (b**2).sum(axis=0))
    correlation = np.divide((a * b).sum(axis=0), scale, out=np.full(scale.shape, math.nan), where=scale > TOLERANCE)
    result[complete] = np.clip(correlation, -1, 1)
    return result


def signal_and_noise(scores: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return signal and noise of each task, `(n_tasks,)` each, from scores `(n_cells, n_tasks, n_reps)`.

    Only cells with at least two repetitions of the task tell the noise; NaN where fewer than two do.
    """
    counts = np.sum(~np.isnan(scores), axis=2)
    repeated = counts >= 2
    filled = np.nan_to_num(scores)
    means = np.divide(filled.sum(axis=2), counts, out=np.zeros(counts.shape), where=counts > 0)
    squares = np.where(np.isnan(scores), 0.0, (scores - means[:, :, None]) ** 2).sum(axis=2)
    within = np.where(repeated, squares / np.maximum(counts - 1, 1) / np.maximum(counts, 1), 0.0)
    cells = repeated.sum(axis=0)
    enough = cells >= 2
    safe = np.maximum(cells, 2)
    noise = within.sum(axis=0) / safe
    kept = np.where(repeated, means, 0.0)
    centre = kept.sum(axis=0) / safe
    between = np.where(repeated, (means - centre) ** 2, 0.0).sum(axis=0) / (safe - 1)
    signal = np.maximum(between - noise, 0.0)
    return np.where(enough, signal, math.nan), np.where(enough, noise, math.nan)


def _dataset_frame(dataset: DatasetScores, tasks: pd.DataFrame, policy: MissingReward) -> pd.DataFrame:
    scores, means = dataset.scores(policy), dataset.task_means(policy)
    known = ~np.isnan(means)
    counts = np.sum(~np.isnan(scores), axis=2)
    spread = _spread(scores)
    repeated = np.sum(counts >= 2, axis=0)
    flaky = np.sum((counts >= 2) & (spread > TOLERANCE), axis=0)
    lowest = np.where(known, means, math.inf).min(axis=0, initial=math.inf)
    highest = np.where(known, means, -math.inf).max(axis=0, initial=-math.inf)
    cells = known.sum(axis=0)
    item = discrimination(means)
    signal, noise = signal_and_noise(scores)
    trials, infra = _infra_counts(dataset, tasks)
    columns = {
        "dataset_key": [dataset.dataset_key] * len(dataset.tasks),
        "task_name": list(dataset.tasks),
        "cells": cells,
        "mean_score": np.divide(np.nansum(means, axis=0), cells, out=np.full(cells.shape, math.nan), where=cells > 0),
        "min_cell_score": np.where(cells > 0, lowest, math.nan),
        "max_cell_score": np.where(cells > 0, highest, math.nan),
        "saturated": (cells > 0) & (lowest >= SATURATED - TOLERANCE),
        "impossible": (cells > 0) & (highest <= IMPOSSIBLE + TOLERANCE),
        "flaky_cells": flaky,
        "repeated_cells": repeated,
        "flaky": [bool(f >= FLAKY_SHARE * r) if r else None for f, r in zip(flaky, repeated, strict=True)],
        "discrimination": item,
        "negative_discrimination": [None if math.isnan(value) else bool(value < -TOLERANCE) for value in item],
        "signal": signal,
        "noise": noise,
        "signal_to_noise": np.divide(signal, noise, out=np.full(noise.shape, math.nan), where=noise > TOLERANCE),
        "infra_failures": infra.astype(np.int64),
        "trials": trials.astype(np.int64),
        "infra_prone": (trials > 0) & (infra >= INFRA_PRONE_SHARE * trials),
    }
    return pd.DataFrame(columns, columns=names(TABLES[FILE]))


def _spread(scores: FloatArray) -> FloatArray:
    known = ~np.isnan(scores)
    high = np.where(known, scores, -math.inf).max(axis=2, initial=-math.inf)
    low = np.where(known, scores, math.inf).min(axis=2, initial=math.inf)
    return np.where(known.any(axis=2), high - low, math.nan)


def _infra_counts(dataset: DatasetScores, tasks: pd.DataFrame) -> tuple[FloatArray, FloatArray]:
    """Return the scoring trials of the dataset's eligible runs, and those of class infra, by task."""
    paths = {path for cell in dataset.cells for path in cell.run_paths}
    own = tasks[tasks["scorable"].astype(bool) & tasks["run_path"].isin(paths)]
    trials = own.groupby("task_name").size().reindex(dataset.tasks, fill_value=0)
    infra = own[own["classification"] == "infra"].groupby("task_name").size().reindex(dataset.tasks, fill_value=0)
    return np.asarray(trials, dtype=np.float64), np.asarray(infra, dtype=np.float64)
