"""Is a gap real? Two cells compared on the tasks that both have, everything but one factor held fixed.

The unit is the task: d_t is the difference of both cells' means on task t (Miller 2024, arXiv:2411.00640). The mean of
d has a t interval; the test is the sign-flip test (`signflip`); families for Holm's (1979) adjustment are dataset x
factor, and the leader against every other cell is a family of its own.

Verdicts, about the left cell:
    better, worse: the adjusted p is below the level.
    no evidence of a difference: it is not. That is no proof of equality: see the minimum detectable effect.
    too few tasks: so few that no result could be significant (smallest two-sided p 2/2^T above the level).

Nothing is filled in for a task that one side lacks: it leaves the pair and is listed.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from statsmodels.stats.multitest import multipletests

from shellbench_lib.statistics.cells import BoolArray, DatasetScores, FloatArray
from shellbench_lib.statistics.deltas import effort_pairs, harness_pairs, model_pairs
from shellbench_lib.statistics.influence import Influence, influence
from shellbench_lib.statistics.intervals import (
    NAN,
    Interval,
    minimum_detectable_effect,
    population_error,
    t_interval,
)
from shellbench_lib.statistics.settings import InferenceSettings
from shellbench_lib.statistics.signflip import sign_flip_p
from shellbench_lib.statistics.units import IntArray, TaskUnits, task_units

Factor = Literal["harness", "effort", "model", "leader"]
Verdict = Literal["better", "worse", "no evidence of a difference", "too few tasks"]
BETTER: Verdict = "better"
WORSE: Verdict = "worse"
NO_EVIDENCE: Verdict = "no evidence of a difference"
TOO_FEW: Verdict = "too few tasks"
NO_SHARED_TASK = "no task has a score on both sides"
ONE_TASK = "one shared task: neither spread nor test"
ALL_EQUAL = "both sides are equal on every task"
CONSTANT = "every task differs by the same amount: the spread between tasks is unknown"


@dataclass(frozen=True, slots=True)
class Pair:
    """Two cells by index; a positive difference favours `left`."""

    factor: Factor
    left: int
    right: int


@dataclass(frozen=True, slots=True)
class ScoredCells:
    """A dataset under one missing-reward policy, with its means as whole numbers."""

    dataset: DatasetScores
    scores: FloatArray
    units: TaskUnits
    settings: InferenceSettings

    @classmethod
    def of(cls, dataset: DatasetScores, settings: InferenceSettings) -> ScoredCells:
        """Return the scored cells of a dataset."""
        policy = settings.missing_reward
        return cls(dataset, dataset.scores(policy), task_units(dataset, policy), settings)

    def mean(self, cell: int) -> float:
        """Return the mean of a cell's task means, correctly rounded; NaN without a task."""
        count = int(self.units.present[cell].sum())
        return self.units.value(int(self.units.units[cell].sum()), count) if count else NAN


@dataclass(frozen=True)
class Comparison:
    """One paired comparison; numbers that cannot be known are NaN, with the reason in `note`.

    Attributes:
        tasks: indices of the shared tasks, in order of their names.
        units: their differences, left less right, in units of `scored.units.step`.
        dropped: indices of tasks that only one side has.
        imputed: shared task scores (task and side) in which a missing reward counts as 0.
        improvement: P(a repetition of left beats one of right), ties half, mean over tasks; Agarwal et al. 2021.
        influence: None without a shared task.
    """

    pair: Pair
    scored: ScoredCells
    tasks: tuple[int, ...]
    units: IntArray
    dropped: tuple[int, ...]
    imputed: int
    mean: float
    error: float
    interval: Interval
    p: float
    test: str
    improvement: float
    influence: Influence | None
    note: str
    p_holm: float = NAN
    family_size: int = 0

    @property
    def n_tasks(self) -> int:
        """Shared tasks."""
        return len(self.tasks)

    @property
    def signs(self) -> tuple[int, int, int]:
        """Tasks on which left is ahead, behind and equal."""
        return int(np.sum(self.units > 0)), int(np.sum(self.units < 0)), int(np.sum(self.units == 0))

    @cached_property
    def trimmed_mean(self) -> float:
        """Mean difference without the tenth of the tasks at each end; NaN without a task."""
        return NAN if self.influence is None else self.scored.units.value(*self.influence.trimmed)

    @property
    def detectable(self) -> float:
        """Minimum detectable effect of one unadjusted test."""
        return minimum_detectable_effect(self.error, self.n_tasks - 1, alpha=self.scored.settings.alpha)

    @property
    def verdict(self) -> Verdict:
        """The verdict on the left cell."""
        alpha = self.scored.settings.alpha
        if self.n_tasks < 2 or 2.0 ** (1 - self.n_tasks) > alpha:
            return TOO_FEW
        if not self.p_holm < alpha:
            return NO_EVIDENCE
        return BETTER if self.mean > 0 else WORSE

    @property
    def narrow(self) -> bool | None:
        """Whether the lead hangs on few tasks; None where there is no lead."""
        return None if self.influence is None else self.influence.narrow

    def labels(self) -> tuple[str, str]:
        """Return the labels of both cells."""
        cells = self.scored.dataset.cells
        return cells[self.pair.left].label, cells[self.pair.right].label


def factor_pairs(dataset: DatasetScores) -> list[Pair]:
    """Return the pairs that differ in one factor: harnesses, neighbouring efforts (higher to the left), models."""
    pairs = [Pair("harness", a, b) for group in harness_pairs(dataset) for a, b in group.pairs]
    pairs += [Pair("effort", high, low) for group in effort_pairs(dataset) for low, high in group.pairs]
    return pairs + [Pair("model", a, b) for group in model_pairs(dataset) for a, b in group.pairs]


def leader_pairs(scored: ScoredCells) -> list[Pair]:
    """Return the leader against every other cell, the best first; none where no cell has a score."""
    order = ranked_cells(scored)
    return [Pair("leader", order[0], other) for other in order[1:]]


def ranked_cells(scored: ScoredCells) -> list[int]:
    """Return the cells that have a score, the highest mean first.

    Of equal means the one with more tasks comes first, then the one that scores more on the first task on which they
    differ: a name decides only between cells that are equal on every task.
    """
    cells = scored.dataset.cells
    means = {cell: scored.mean(cell) for cell in range(len(cells))}

    def order(cell: int) -> tuple[float, int, list[int], str]:
        present = scored.units.present[cell]
        units = np.where(present, -scored.units.units[cell], 1)
        return -means[cell], -int(present.sum()), units.tolist(), cells[cell].label

    return sorted((cell for cell in means if not math.isnan(means[cell])), key=order)


def compare(scored: ScoredCells, pairs: Iterable[Pair]) -> list[Comparison]:
    """Return the comparisons with their p adjusted within each factor, in the order of the pairs."""
    return adjusted([_comparison(scored, pair) for pair in pairs])


def _comparison(scored: ScoredCells, pair: Pair) -> Comparison:
    settings, units = scored.settings, scored.units
    sides = [pair.left, pair.right]
    shared = units.present[pair.left] & units.present[pair.right]
    attempted = scored.dataset.attempted[sides].any(axis=(0, 2))
    difference = (units.units[pair.left] - units.units[pair.right])[shared]
    count = len(difference)
    mean = units.value(int(difference.sum()), count) if count else NAN
    values = difference.astype(np.float64) * float(units.step)
    error = population_error(values)
    constant = count > 1 and bool((difference == difference[0]).all())
    p, test = sign_flip_p(difference, seed=settings.seed, name=scored.dataset.dataset_key) if count > 1 else (NAN, "")
    return Comparison(
        pair=pair,
        scored=scored,
        tasks=tuple(np.flatnonzero(shared).tolist()),
        units=difference,
        dropped=tuple(np.flatnonzero(attempted & ~shared).tolist()),
        imputed=_imputed(scored, sides, shared),
        mean=mean,
        error=NAN if constant else error,
        interval=Interval() if constant else t_interval(mean, error, count, confidence_level=settings.confidence_level),
        p=p,
        test=test,
        improvement=_improvement(scored.scores[pair.left][shared], scored.scores[pair.right][shared]),
        influence=influence(difference, narrow_share=settings.narrow_share) if count else None,
        note=_note(difference),
    )


def _note(difference: IntArray) -> str:
    if len(difference) == 0:
        return NO_SHARED_TASK
    if len(difference) == 1:
        return ONE_TASK
    if not difference.any():
        return ALL_EQUAL
    return CONSTANT if (difference == difference[0]).all() else ""


def _imputed(scored: ScoredCells, sides: list[int], shared: BoolArray) -> int:
    if scored.settings.missing_reward != "zero":
        return 0
    return int((scored.dataset.missing[sides].any(axis=2) & shared).sum())


def _improvement(left: FloatArray, right: FloatArray) -> float:
    """Return mean_t P(X_t > Y_t), ties half, over all pairs of repetitions; NaN without a task."""
    if len(left) == 0:
        return NAN
    x, y = left[:, :, None], right[:, None, :]
    pairs = (~np.isnan(x) & ~np.isnan(y)).sum(axis=(1, 2))
    chances = ((x > y).sum(axis=(1, 2)) + 0.5 * (x == y).sum(axis=(1, 2))) / pairs
    return math.fsum(chances.tolist()) / len(chances)


def adjusted(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Return the comparisons with Holm-adjusted p within dataset and factor; those without a p belong to no family."""
    families: dict[tuple[str, str], list[int]] = defaultdict(list)
    for index, found in enumerate(comparisons):
        if not math.isnan(found.p):
            families[found.scored.dataset.dataset_key, found.pair.factor].append(index)
    result = list(comparisons)
    for members in families.values():
        for index, p in zip(members, holm([comparisons[i].p for i in members]), strict=True):
            result[index] = replace(comparisons[index], p_holm=p, family_size=len(members))
    return result


def holm(p_values: Sequence[float]) -> list[float]:
    """Return Holm's step-down adjusted p; the values must be known."""
    if len(p_values) < 2:  # nothing to adjust, and the library collects garbage at every call
        return list(p_values)
    adjusted_values: list[float] = multipletests(p_values, method="holm")[1].tolist()
    return adjusted_values
