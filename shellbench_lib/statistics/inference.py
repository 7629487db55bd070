"""All tables about uncertainty, from one pass over the datasets: leaderboard, comparisons, influence, sensitivity.

Each dataset is taken by itself. Numbers are rounded to 12 decimals, because the last bits differ between processors; a
p below 1e-12 is written as 1e-12, never as 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from shellbench_lib.columns import TABLES
from shellbench_lib.outcomes import PASS_REWARD
from shellbench_lib.statistics.cells import DatasetScores, FloatArray
from shellbench_lib.statistics.comparisons import (
    BETTER,
    NO_EVIDENCE,
    TOO_FEW,
    WORSE,
    Comparison,
    ScoredCells,
    Verdict,
    compare,
    factor_pairs,
    leader_pairs,
    ranked_cells,
)
from shellbench_lib.statistics.influence import removal_sums
from shellbench_lib.statistics.intervals import NAN, Interval, fixed_task_error, population_error, score_interval
from shellbench_lib.statistics.ranking import Ranks, bootstrap_ranks
from shellbench_lib.statistics.sensitivity import SENSITIVITY_FILE, sensitivity_rows
from shellbench_lib.statistics.settings import InferenceSettings

LEADERBOARD_FILE = "leaderboard.csv"
COMPARISONS_FILE = "paired_comparisons.csv"
INFLUENCE_FILE = "task_influence.csv"
DECIMALS = 12
SMALLEST_P = 1e-12
_P_COLUMNS = frozenset({"p_value", "p_holm", "lead_p_holm", "p_holm_zero", "p_holm_exclude"})
LEADER, TIED, BEHIND = "leader", "tied with the leader", "behind the leader"
CANNOT_TELL, AHEAD = "too few tasks to tell", "ahead of the leader on the tasks both have"
NO_SCORE = "no score"
_STANDINGS: dict[Verdict, str] = {BETTER: BEHIND, NO_EVIDENCE: TIED, TOO_FEW: CANNOT_TELL, WORSE: AHEAD}


@dataclass(frozen=True, slots=True)
class DatasetInference:
    """What was found in one dataset; `comparisons` hold the factors in order, then the leader's."""

    scored: ScoredCells
    ranks: Ranks
    comparisons: tuple[Comparison, ...]


@dataclass(frozen=True, slots=True)
class InferenceResult:
    """Everything found, the settings that shaped it, and the tables by file name."""

    settings: InferenceSettings
    datasets: tuple[DatasetInference, ...]
    tables: dict[str, pd.DataFrame]


def infer(datasets: Sequence[DatasetScores], settings: InferenceSettings) -> InferenceResult:
    """Return what can be said about the datasets' scores and differences; no dataset gives tables without rows."""
    found = tuple(infer_dataset(dataset, settings) for dataset in datasets)
    tables = {
        LEADERBOARD_FILE: _frame(LEADERBOARD_FILE, [row for item in found for row in leaderboard_rows(item)]),
        COMPARISONS_FILE: _frame(COMPARISONS_FILE, [comparison_row(c) for item in found for c in item.comparisons]),
        INFLUENCE_FILE: _influence_frame([c for item in found for c in item.comparisons]),
        SENSITIVITY_FILE: _frame(SENSITIVITY_FILE, sensitivity_rows([item.comparisons for item in found])),
    }
    return InferenceResult(settings, found, tables)


def infer_dataset(dataset: DatasetScores, settings: InferenceSettings) -> DatasetInference:
    """Return ranks and comparisons of one dataset."""
    scored = ScoredCells.of(dataset, settings)
    comparisons = compare(scored, [*factor_pairs(dataset), *leader_pairs(scored)])
    return DatasetInference(scored, bootstrap_ranks(scored), tuple(comparisons))


def leaderboard_rows(found: DatasetInference) -> list[dict[str, Any]]:
    """Return one row per cell, the best first; cells without a score stand last."""
    ranked = ranked_cells(found.scored)
    unscored = [cell for cell in range(len(found.scored.dataset.cells)) if cell not in set(ranked)]
    against = {c.pair.right: c for c in found.comparisons if c.pair.factor == "leader"}
    return [
        _cell_row(found, cell) | _rank_row(found.ranks, cell) | _lead_row(cell, ranked, against.get(cell))
        for cell in [*ranked, *unscored]
    ]


def _cell_row(found: DatasetInference, index: int) -> dict[str, Any]:
    scored = found.scored
    cell, level = scored.dataset.cells[index], scored.settings.confidence_level
    present = scored.units.present[index]
    scores = scored.scores[index][present]
    means = scored.units.units[index][present] * float(scored.units.step)
    interval = score_interval(means, int(np.sum(~np.isnan(scores))), confidence_level=level)
    rate, solved = solved_rate(scores, confidence_level=level)
    return {
        "dataset_key": scored.dataset.dataset_key,
        "cell": cell.label,
        "harness": cell.harness,
        "model_slug": cell.model_slug,
        "reasoning_effort": cell.reasoning_effort,
        "runs": len(cell.run_paths),
        "tasks": len(scores),
        "missing_rewards": int(scored.dataset.missing[index].sum()),
        "mean_score": scored.mean(index),
        "se_fixed_tasks": fixed_task_error(scores),
        "se_task_population": population_error(means),
        "score_low": interval.low,
        "score_high": interval.high,
        "interval_method": interval.method,
        "run_stdev": run_stdev(scored.scores[index]),
        "solved_rate": rate,
        "solved_low": solved.low,
        "solved_high": solved.high,
    }


def run_stdev(scores: FloatArray) -> float:
    """Return the standard deviation (ddof 1) of the runs' mean scores; NaN with fewer than two runs.

    Args:
        scores: one cell's, `(n_tasks, n_reps)`; a run's mean is over the tasks that it has a score for.
    """
    runs = scores[:, ~np.isnan(scores).all(axis=0)]
    if runs.shape[1] < 2:
        return NAN
    means = [math.fsum(run[~np.isnan(run)].tolist()) / int(np.sum(~np.isnan(run))) for run in runs.T]
    return float(np.std(np.sort(means), ddof=1))


def solved_rate(scores: FloatArray, *, confidence_level: float) -> tuple[float, Interval]:
    """Return the mean over tasks of the share of attempts that solve the task, and its interval.

    Args:
        scores: one cell's, `(n_tasks, n_reps)`, NaN where a repetition does not count; every task has a score.
        confidence_level: of the interval.
    """
    if len(scores) == 0:
        return NAN, Interval()
    attempts = np.sum(~np.isnan(scores), axis=1)
    shares = np.sum(scores >= PASS_REWARD, axis=1) / attempts
    interval = score_interval(shares, int(attempts.sum()), confidence_level=confidence_level)
    return math.fsum(shares.tolist()) / len(shares), interval


def _rank_row(ranks: Ranks, cell: int) -> dict[str, Any]:
    return {
        "rank": _whole(ranks.rank[cell]),
        "rank_low": _whole(ranks.low[cell]),
        "rank_high": _whole(ranks.high[cell]),
        "probability_best": ranks.best[cell],
    }


def _whole(value: float) -> int | None:
    return None if math.isnan(value) else int(value)


def _lead_row(cell: int, ranked: Sequence[int], lead: Comparison | None) -> dict[str, Any]:
    """Return what the leader's comparison with a cell says; empty for the leader and for a cell without a score."""
    if lead is None:
        standing = LEADER if ranked and cell == ranked[0] else NO_SCORE
        empty = dict.fromkeys(("lead_delta", "lead_low", "lead_high", "lead_p_holm"), NAN)
        return {**empty, "standing": standing, "lead_verdict": "", "lead_narrow": None, "lead_tie_k": None}
    return {
        "standing": _STANDINGS[lead.verdict],
        "lead_delta": lead.mean,
        "lead_low": lead.interval.low,
        "lead_high": lead.interval.high,
        "lead_p_holm": lead.p_holm,
        "lead_verdict": lead.verdict,
        "lead_narrow": lead.narrow,
        "lead_tie_k": lead.influence.tie_k if lead.influence else None,
    }


def comparison_names(found: Comparison) -> dict[str, Any]:
    """Return the columns that name a comparison in every table."""
    left, right = found.labels()
    return {
        "dataset_key": found.scored.dataset.dataset_key,
        "factor": found.pair.factor,
        "left_cell": left,
        "right_cell": right,
    }


def comparison_row(found: Comparison) -> dict[str, Any]:
    """Return the row of one comparison."""
    cells, names = found.scored.dataset.cells, found.scored.dataset.tasks
    sides = {"left": cells[found.pair.left], "right": cells[found.pair.right]}
    wins, losses, ties = found.signs
    return {
        **comparison_names(found),
        **{f"{side}_harness": cell.harness for side, cell in sides.items()},
        **{f"{side}_model_slug": cell.model_slug for side, cell in sides.items()},
        **{f"{side}_reasoning_effort": cell.reasoning_effort for side, cell in sides.items()},
        "n_tasks": found.n_tasks,
        "dropped_tasks": len(found.dropped),
        "dropped_task_names": "; ".join(names[task] for task in found.dropped),
        "imputed_scores": found.imputed,
        "mean_delta": found.mean,
        "standard_error": found.error,
        "delta_low": found.interval.low,
        "delta_high": found.interval.high,
        "p_value": found.p,
        "test": found.test,
        "p_holm": found.p_holm,
        "family_size": found.family_size or None,
        "wins": wins,
        "losses": losses,
        "ties": ties,
        "probability_of_improvement": found.improvement,
        "minimum_detectable_effect": found.detectable,
        "tie_k": found.influence.tie_k if found.influence else None,
        "flip_k": found.influence.flip_k if found.influence else None,
        "trimmed_mean_delta": found.trimmed_mean,
        "top_task_share": found.influence.concentration if found.influence else None,
        "narrow": found.narrow,
        "verdict": found.verdict,
        "note": found.note,
    }


def _influence_frame(comparisons: Sequence[Comparison]) -> pd.DataFrame:
    columns: dict[str, list[Any]] = {column.name: [] for column in TABLES[INFLUENCE_FILE]}
    for found in comparisons:
        for name, values in influence_columns(found).items():
            columns[name] += values
    return _typed(INFLUENCE_FILE, columns)


def influence_columns(found: Comparison) -> dict[str, list[Any]]:
    """Return the rows of task_influence.csv of one comparison by column, in order of the task names."""
    if found.influence is None:
        return {}
    units, count, order = found.units, found.n_tasks, found.influence.order
    step, total = float(found.scored.units.step), int(found.units.sum())
    place = np.empty(count, dtype=np.int64)
    place[order] = np.arange(1, count + 1)
    after = np.full(count, np.nan)
    after[order[:-1]] = removal_sums(units, order)[:-1] / np.arange(count - 1, 0, -1) * step
    return {
        **{name: [value] * count for name, value in comparison_names(found).items()},
        "task_name": [found.scored.dataset.tasks[task] for task in found.tasks],
        "delta": (units * step).tolist(),
        "share_of_total": (units / total).tolist() if total else [NAN] * count,
        "mean_without": ((total - units) / (count - 1) * step).tolist() if count > 1 else [NAN],
        "in_tie_set": (place <= (found.influence.tie_k or 0)).tolist(),
        "in_flip_set": (place <= (found.influence.flip_k or 0)).tolist(),
        "removal_order": place.tolist(),
        "mean_after_removal": after.tolist(),
    }


def _frame(file_name: str, rows: Sequence[dict[str, Any]]) -> pd.DataFrame:
    return _typed(file_name, {column.name: [row[column.name] for row in rows] for column in TABLES[file_name]})


def _typed(file_name: str, columns: dict[str, list[Any]]) -> pd.DataFrame:
    """Return a table: numbers `float64` and rounded, all else as objects, a missing integer or flag None."""
    series = {}
    for column in TABLES[file_name]:
        values: Any = columns[column.name]
        if column.type != "number":
            series[column.name] = pd.Series(values, dtype=object)
            continue
        numbers = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
        rounded = np.round(numbers, DECIMALS) + 0.0  # no negative zero
        series[column.name] = pd.Series(np.maximum(rounded, SMALLEST_P) if column.name in _P_COLUMNS else rounded)
    return pd.DataFrame(series)
