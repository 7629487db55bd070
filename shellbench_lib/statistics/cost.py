"""What a cell spent: tokens, cost and time per trial, per run and per solved task, with how many were known.

Nothing is zero because it is unknown. A mean per trial runs over the known trials; totals per run and per solved task
take only the runs whose every trial is known, so that no gap makes a run look cheap.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from shellbench_lib.columns import TABLES, names
from shellbench_lib.outcomes import PASS_REWARD
from shellbench_lib.statistics.cells import Cell, DatasetScores

FILE = "cost_summary.csv"
# Column of the task table -> name shown and unit.
QUANTITIES = {
    "n_input_tokens": ("input tokens", "tokens"),
    "n_cache_tokens": ("cached input tokens", "tokens"),
    "n_output_tokens": ("output tokens", "tokens"),
    "cost_usd": ("cost", "US dollars"),
    "duration_sec": ("trial time", "seconds"),
}


def cost_table(datasets: Sequence[DatasetScores], tasks: pd.DataFrame) -> pd.DataFrame:
    """Return one row per dataset, cell and quantity; columns of cost_summary.csv.

    Args:
        datasets: the cells, whose run paths name the eligible runs.
        tasks: the task table; rows that do not score are left out. A negative duration counts as unknown.
    """
    scorable = tasks[tasks["scorable"].astype(bool)]
    by_run = {str(path): rows for path, rows in scorable.groupby("run_path", sort=False)}
    rows = [
        _row(dataset, cell, by_run, column) for dataset in datasets for cell in dataset.cells for column in QUANTITIES
    ]
    return pd.DataFrame(rows, columns=names(TABLES[FILE]))


def _row(dataset: DatasetScores, cell: Cell, by_run: dict[str, pd.DataFrame], column: str) -> dict[str, object]:
    known_totals, solved, values, trials = [], 0, [], 0
    for path in cell.run_paths:
        run = by_run[path]
        found = run[column].to_numpy(dtype=np.float64)
        found = np.where(found < 0, math.nan, found)
        known = found[~np.isnan(found)]
        values += known.tolist()
        trials += len(found)
        if len(known) == len(found):
            known_totals.append(math.fsum(known))
            solved += int((run["reward"].to_numpy(dtype=np.float64) >= PASS_REWARD).sum())
    name, unit = QUANTITIES[column]
    return {
        "dataset_key": dataset.dataset_key,
        "cell": cell.label,
        "quantity": name,
        "unit": unit,
        "known_trials": len(values),
        "trials": trials,
        "known_total": math.fsum(values) if values else math.nan,
        "per_trial": math.fsum(values) / len(values) if values else math.nan,
        "known_runs": len(known_totals),
        "runs": len(cell.run_paths),
        "per_run": math.fsum(known_totals) / len(known_totals) if known_totals else math.nan,
        "solved": solved if known_totals else None,
        "per_solved": math.fsum(known_totals) / solved if solved else math.nan,
        "reason": _reason(len(values), trials, len(known_totals), solved),
    }


def _reason(known: int, trials: int, known_runs: int, solved: int) -> str:
    if not known:
        return "not recorded in any trial"
    if not known_runs:
        return f"known in {known} of {trials} trials and in no whole run"
    return "" if solved else "no task solved in a fully known run"
