"""Would it solve the task again? pass@k and pass^k of each cell, and how many tasks its repetitions disagree on.

pass@k, the chance that at least one of k attempts solves a task, is 1 - C(n - c, k) / C(n, k) (Chen et al. 2021,
arXiv:2107.03374); pass^k, the chance that all k do, is C(c, k) / C(n, k) (Yao et al. 2024, arXiv:2406.12045), with n
attempts of which c solved the task. Both are unbiased only for n >= k: a task with fewer attempts has no value.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from shellbench_lib.columns import TABLES, names
from shellbench_lib.outcomes import PASS_REWARD
from shellbench_lib.statistics.cells import DatasetScores, MissingReward

FILE = "reliability.csv"


def pass_at_k(attempts: int, solved: int, k: int) -> float:
    """Return the chance that at least one of k attempts solves the task; NaN with fewer than k attempts."""
    if attempts < k:
        return math.nan
    return 1 - math.comb(attempts - solved, k) / math.comb(attempts, k)


def pass_hat_k(attempts: int, solved: int, k: int) -> float:
    """Return the chance that all of k attempts solve the task; NaN with fewer than k attempts."""
    if attempts < k:
        return math.nan
    return math.comb(solved, k) / math.comb(attempts, k)


def reliability_table(datasets: Sequence[DatasetScores], *, missing_reward: MissingReward) -> pd.DataFrame:
    """Return one row per dataset, cell and k up to the dataset's most repetitions; columns of reliability.csv.

    Under `zero` a missing reward is a failed attempt, under `exclude` it is no attempt. A cell with fewer than k
    repetitions keeps its row, without a value and with the reason.
    """
    rows = [row for dataset in datasets for row in _dataset_rows(dataset, missing_reward)]
    return pd.DataFrame(rows, columns=names(TABLES[FILE]))


def _dataset_rows(dataset: DatasetScores, policy: MissingReward) -> list[dict[str, object]]:
    scores = dataset.scores(policy)
    attempts = np.sum(~np.isnan(scores), axis=2)
    solved = np.sum(scores >= PASS_REWARD, axis=2)
    rows = []
    for cell, n, c in zip(dataset.cells, attempts, solved, strict=True):
        repeated = n >= 2
        flaky = int(np.sum(repeated & (c > 0) & (c < n)))
        pairs = list(zip(n.tolist(), c.tolist(), strict=True))
        for k in range(1, scores.shape[2] + 1):
            usable = [(total, good) for total, good in pairs if total >= k]
            rows.append(
                {
                    "dataset_key": dataset.dataset_key,
                    "cell": cell.label,
                    "k": k,
                    "repetitions": len(cell.run_paths),
                    "tasks": len(usable),
                    "pass_at_k": _mean([pass_at_k(total, good, k) for total, good in usable]),
                    "pass_hat_k": _mean([pass_hat_k(total, good, k) for total, good in usable]),
                    "flaky_tasks": flaky if repeated.any() else None,
                    "flaky_share": flaky / int(repeated.sum()) if repeated.any() else math.nan,
                    "reason": "" if usable else f"no task has {k} scored attempts",
                }
            )
    return rows


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else math.nan
