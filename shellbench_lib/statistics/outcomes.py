"""How the trials of each cell ended, and what the missing-reward policy changes in each cell's mean."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from shellbench_lib.statistics.cells import DatasetScores, FloatArray

CLASSES = ("pass", "partial", "clean_fail", "agent_exit", "verifier_missing_reward", "infra")


def outcomes_by_cell(datasets: Sequence[DatasetScores], tasks: pd.DataFrame) -> pd.DataFrame:
    """Count the trials of each class in each cell.

    Args:
        datasets: the cells, whose run paths name the eligible runs.
        tasks: the task table; rows that do not score are left out.

    Returns:
        One row per dataset and cell: `dataset_key`, `cell`, `trials`, one count per class, `missing_rewards` (trials
        without a scored reward, agent exits included).
    """
    scorable = tasks[tasks["scorable"].astype(bool)]
    counts = pd.crosstab(scorable["run_path"], scorable["classification"])
    missing = scorable["reward"].isna().groupby(scorable["run_path"]).sum()
    rows = []
    for dataset in datasets:
        for cell in dataset.cells:
            paths = list(cell.run_paths)
            cell_counts = counts.reindex(paths, fill_value=0).sum()
            classes = {name: int(cell_counts.get(name, 0)) for name in CLASSES}
            rows.append(
                {
                    "dataset_key": dataset.dataset_key,
                    "cell": cell.label,
                    "trials": int(cell_counts.sum()),
                    **classes,
                    "missing_rewards": int(missing.reindex(paths, fill_value=0).sum()),
                }
            )
    return pd.DataFrame(rows, columns=["dataset_key", "cell", "trials", *CLASSES, "missing_rewards"])


def _mean_over_tasks(task_means: FloatArray) -> FloatArray:
    counts = np.sum(~np.isnan(task_means), axis=1)
    sums = np.nansum(task_means, axis=1)
    means: FloatArray = np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)
    return means


def policy_by_cell(datasets: Sequence[DatasetScores]) -> pd.DataFrame:
    """Compare each cell's mean score under both missing-reward policies.

    Returns:
        One row per dataset and cell: `dataset_key`, `cell`, `missing_rewards`, `mean_zero` (a missing reward scores
        0), `mean_exclude` (it is left out; a task without any reward leaves the mean), `difference` (exclude less
        zero). NaN where no reward exists.
    """
    frames = [
        pd.DataFrame(
            {
                "dataset_key": dataset.dataset_key,
                "cell": [cell.label for cell in dataset.cells],
                "missing_rewards": dataset.missing.sum(axis=(1, 2)),
                "mean_zero": _mean_over_tasks(dataset.task_means("zero")),
                "mean_exclude": _mean_over_tasks(dataset.task_means("exclude")),
            }
        )
        for dataset in datasets
    ]
    columns = ["dataset_key", "cell", "missing_rewards", "mean_zero", "mean_exclude"]
    result = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=columns)
    return result.assign(difference=result["mean_exclude"] - result["mean_zero"])
