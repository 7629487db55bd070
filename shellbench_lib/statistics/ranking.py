"""How firm is the order of the cells: their ranks over task bootstraps, and who is tied with the leader.

Tasks are drawn with replacement, the same ones for every cell (common indices), repetitions staying in their task. The
share of resamples in which a cell is best counts shared first places in equal parts; the rank interval holds the best
rank that ties allow at its lower and the worst at its upper end. A tie with the leader is no matter of overlapping
intervals: the leader's paired difference to the cell is not significant in the family of all such differences.

Means are ratios of whole numbers, so ties are exact and no processor decides them. Ranks need two tasks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

from shellbench_lib.statistics.cells import BoolArray, FloatArray
from shellbench_lib.statistics.comparisons import ScoredCells
from shellbench_lib.statistics.settings import raw_indices, stream


@dataclass(frozen=True, slots=True)
class Ranks:
    """Ranks of cells, 1 the best; NaN where they cannot be known.

    Attributes:
        rank: `(n_cells,)`, equal means sharing the better rank.
        low, high: interval, `(n_cells,)`.
        best: share of the resamples in which the cell is best, `(n_cells,)`.
    """

    rank: FloatArray
    low: FloatArray
    high: FloatArray
    best: FloatArray


def bootstrap_ranks(scored: ScoredCells) -> Ranks:
    """Return the ranks of a dataset's cells; a cell without a score has none."""
    settings, units = scored.settings, scored.units
    n_cells, n_tasks = units.units.shape
    known = units.present.sum(axis=1) > 0
    rank, low, high, best = (np.full(n_cells, np.nan) for _ in range(4))
    means = np.array([scored.mean(cell) for cell in np.flatnonzero(known).tolist()])
    rank[known] = rankdata(-means, method="min")
    if n_tasks > 1 and known.any():
        weights = _resampled_weights(settings.seed, scored.dataset.dataset_key, settings.bootstrap_resamples, n_tasks)
        drawn = _resampled_means(weights, scored, known)
        first: BoolArray = np.equal(drawn, drawn.max(axis=1, keepdims=True))
        best[known] = (first / first.sum(axis=1, keepdims=True)).mean(axis=0)
        tail = settings.alpha / 2
        low[known] = _quantile(rankdata(-drawn, method="min", axis=1), tail)
        high[known] = _quantile(rankdata(-drawn, method="max", axis=1), 1 - tail)
    return Ranks(rank, low, high, best)


def _resampled_weights(seed: int, dataset_key: str, resamples: int, n_tasks: int) -> FloatArray:
    """Return how often each resample holds each task, `(resamples, n_tasks)`."""
    drawn = raw_indices(stream(seed, "rank-bootstrap", dataset_key), (resamples, n_tasks), n_tasks)
    flat = drawn + n_tasks * np.arange(resamples)[:, None]
    return np.bincount(flat.ravel(), minlength=resamples * n_tasks).reshape(resamples, n_tasks).astype(np.float64)


def _resampled_means(weights: FloatArray, scored: ScoredCells, known: BoolArray) -> FloatArray:
    """Return the means in units, `(resamples, n_known)`. A resample without a task of the cell puts it last."""
    units = scored.units.units[known].T.astype(np.float64)  # whole numbers: the products are exact in any order
    counts = weights @ scored.units.present[known].T.astype(np.float64)
    means: FloatArray = np.divide(weights @ units, counts, out=np.full(counts.shape, -np.inf), where=counts > 0)
    return means


def _quantile(ranks: FloatArray, probability: float) -> FloatArray:
    """Return a quantile of the observed ranks of each cell, a rank that occurred."""
    found: FloatArray = np.quantile(ranks, probability, axis=0, method="inverted_cdf")
    return found
