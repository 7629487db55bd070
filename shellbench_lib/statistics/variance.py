"""Signal and noise: how much of the spread of scores belongs to tasks, cells, their interaction and repetitions.

Balanced two-way analysis of variance of scores `(n_cells, n_tasks, n_reps)`, random effects, unbiased estimators
(Searle, Casella and McCulloch 1992, *Variance Components*, ch. 4):

    repetition  = MS_e                          task x cell = (MS_ct - MS_e) / R
    cell        = (MS_c - MS_ct) / (T R)        task        = (MS_t - MS_ct) / (C R)

A negative estimate is shown as 0 and said so. It rests on the tasks for which every cell has the smallest common
number of repetitions. The reliability of the ranking is cell / (cell + task x cell / T + repetition / (T R)), that of
absolute scores adds task / T (generalizability theory; Brennan 2001). No mixed model is fitted: on 31 cells x 116
tasks x 3 repetitions it takes minutes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from shellbench_lib.columns import TABLES, names
from shellbench_lib.statistics.cells import DatasetScores, FloatArray, MissingReward

FILE = "variance_components.csv"
POWER = 0.8
PLANNED_REPETITIONS = (1, 2, 3, 5, 10)
PLANNED_TASK_FACTOR = 1.5
COMPONENTS = ("task", "cell", "task x cell", "repetition")
TOO_FEW_TASKS = "fewer than two tasks have the common number of scores in every cell"
ONE_CELL_ONE_REPETITION = "one cell with one repetition: there is nothing to compare"
ONE_REPETITION = "one repetition: task x cell and repetition cannot be told apart"


@dataclass(frozen=True, slots=True)
class VarianceComponents:
    """Variances of the four sources; NaN where a source cannot be estimated, with the reason in `reason`.

    `raw` keeps the unbiased estimates, which may be negative. `cells`, `tasks` and `repetitions` are the shape of the
    balanced data.
    """

    raw: dict[str, float]
    cells: int
    tasks: int
    repetitions: int
    reason: str = ""

    @property
    def shown(self) -> dict[str, float]:
        """The estimates with negative ones as 0."""
        return {name: max(value, 0.0) if not math.isnan(value) else value for name, value in self.raw.items()}

    def reliability(self, *, absolute: bool = False) -> float:
        """Return the reliability of the ranking (or of absolute scores), a fraction; NaN where it is undefined."""
        shown = self.shown
        if math.isnan(shown["cell"]):
            return math.nan
        noise = _noise(shown, self.tasks, self.repetitions, observed=self.repetitions)
        if absolute:
            noise += shown["task"] / self.tasks
        total = shown["cell"] + noise
        return shown["cell"] / total if total > 0 else math.nan


def _noise(shown: dict[str, float], tasks: float, repetitions: float, *, observed: int) -> float:
    """Return the variance of a cell's mean over tasks that does not belong to the cell.

    With one observed repetition both sources stand in `task x cell` together, and only that design can be judged.
    """
    if observed == 1:
        return shown["task x cell"] / tasks if repetitions == 1 else math.nan
    return shown["task x cell"] / tasks + shown["repetition"] / (tasks * repetitions)


def balanced_scores(dataset: DatasetScores, missing_reward: MissingReward) -> FloatArray:
    """Return `(n_cells, n_tasks, n_reps)` without gaps.

    The repetitions are those of the cell with fewest; the tasks are those that every cell has scored that often. A
    cell's scores of a task are taken in the order of its runs.
    """
    scores = dataset.scores(missing_reward)
    known = np.sum(~np.isnan(scores), axis=2)
    if not known.size:
        return scores
    repetitions = int(known.max(axis=1).min())
    kept = scores[:, np.all(known >= repetitions, axis=0), :]
    order = np.argsort(np.isnan(kept), axis=2, kind="stable")
    return np.take_along_axis(kept, order, axis=2)[:, :, :repetitions]


def variance_components(scores: FloatArray) -> VarianceComponents:
    """Return the components of balanced scores `(n_cells, n_tasks, n_reps)` without NaN."""
    cells, tasks, repetitions = scores.shape
    unknown = dict.fromkeys(COMPONENTS, math.nan)
    if tasks < 2 or repetitions < 1:
        return VarianceComponents(unknown, cells, tasks, repetitions, TOO_FEW_TASKS)
    if cells < 2 and repetitions < 2:
        return VarianceComponents(unknown, cells, tasks, repetitions, ONE_CELL_ONE_REPETITION)
    grand, task_cell = scores.mean(), scores.mean(axis=2)
    cell, task = task_cell.mean(axis=1), task_cell.mean(axis=0)
    ms_task = cells * repetitions * np.sum((task - grand) ** 2) / (tasks - 1)
    ms_error = math.nan
    if repetitions > 1:
        ms_error = np.sum((scores - task_cell[:, :, None]) ** 2) / (cells * tasks * (repetitions - 1))
    if cells < 2:
        found = {"task": (ms_task - ms_error) / repetitions, "repetition": ms_error}
        return VarianceComponents({**unknown, **found}, cells, tasks, repetitions, "one cell: no cell component")
    interaction = task_cell - cell[:, None] - task[None, :] + grand
    ms_interaction = repetitions * np.sum(interaction**2) / ((cells - 1) * (tasks - 1))
    ms_cell = tasks * repetitions * np.sum((cell - grand) ** 2) / (cells - 1)
    found = {
        "task": (ms_task - ms_interaction) / (cells * repetitions),
        "cell": (ms_cell - ms_interaction) / (tasks * repetitions),
        "task x cell": ms_interaction if repetitions == 1 else (ms_interaction - ms_error) / repetitions,
        "repetition": ms_error,
    }
    reason = ONE_REPETITION if repetitions == 1 else ""
    return VarianceComponents({name: float(found[name]) for name in COMPONENTS}, cells, tasks, repetitions, reason)


def planned_difference(
    components: VarianceComponents, *, tasks: int, repetitions: int, level: float
) -> tuple[float, float]:
    """Return the standard error of a paired difference in a planned design, and what it detects with 80 % power.

    Both cells run the same tasks, so the task component cancels: SE^2 = 2 (task x cell / T + repetition / (T R)).
    The detectable effect is (t_(1+level)/2 + t_.8) SE with T - 1 degrees of freedom.
    """
    if tasks < 2:
        return math.nan, math.nan
    noise = _noise(components.shown, tasks, repetitions, observed=components.repetitions)
    if math.isnan(noise):
        return math.nan, math.nan
    error = math.sqrt(2 * noise)
    quantiles = stats.t.ppf((1 + level) / 2, tasks - 1) + stats.t.ppf(POWER, tasks - 1)
    return error, float(quantiles * error)


def variance_table(
    datasets: Sequence[DatasetScores], *, missing_reward: MissingReward, confidence_level: float
) -> pd.DataFrame:
    """Return components, reliabilities and planned designs of every dataset; columns of variance_components.csv."""
    rows = [row for dataset in datasets for row in _dataset_rows(dataset, missing_reward, confidence_level)]
    return pd.DataFrame(rows, columns=names(TABLES[FILE]))


def _dataset_rows(dataset: DatasetScores, policy: MissingReward, level: float) -> list[dict[str, object]]:
    found = variance_components(balanced_scores(dataset, policy))
    shape = {
        "dataset_key": dataset.dataset_key,
        "cells": found.cells,
        "tasks": found.tasks,
        "repetitions": found.repetitions,
        "reason": found.reason,
    }
    shown = found.shown
    total = sum(value for value in shown.values() if not math.isnan(value))
    rows: list[dict[str, object]] = [
        {
            **shape,
            "quantity": name,
            "value": value,
            "share": value / total if total > 0 else math.nan,
            "set_to_zero": found.raw[name] < 0,
            "reason": found.reason if math.isnan(value) else "",
        }
        for name, value in shown.items()
    ]
    for name, absolute in (("reliability of the ranking", False), ("reliability of absolute scores", True)):
        value = found.reliability(absolute=absolute)
        reason = (found.reason or "no variance between cells or within") if math.isnan(value) else ""
        rows.append({**shape, "quantity": name, "value": value, "reason": reason})
    return rows + _planned_rows(found, shape, level)


def _planned_rows(found: VarianceComponents, shape: dict[str, object], level: float) -> list[dict[str, object]]:
    designs = [(found.tasks, repetitions) for repetitions in PLANNED_REPETITIONS]
    designs.append((round(found.tasks * PLANNED_TASK_FACTOR), found.repetitions))
    rows = []
    for tasks, repetitions in designs:
        error, detectable = planned_difference(found, tasks=tasks, repetitions=repetitions, level=level)
        rows.append(
            {
                **shape,
                "quantity": "planned design",
                "tasks": tasks,
                "repetitions": repetitions,
                "standard_error": error,
                "minimum_detectable_effect": detectable,
                "reason": (found.reason or "too few tasks") if math.isnan(error) else "",
            }
        )
    return rows
