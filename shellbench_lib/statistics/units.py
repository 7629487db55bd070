"""The task means as whole numbers of one small step, so that ties and signs are decided without rounding errors.

The mean of repetitions is a fraction: with rewards that are multiples of 1/q and cells of c repetitions, every mean of
a dataset is a multiple of 1/(q * lcm of the c). On that denominator equal means are equal numbers, a sum is exact in
any order, and the sign-flip distribution can be enumerated. Where no small denominator exists (continuous rewards), the
means are rounded to a binary step near 1e-12; then two means closer than that count as equal.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from shellbench_lib.statistics.cells import BoolArray, DatasetScores, FloatArray, MissingReward

IntArray = npt.NDArray[np.int64]
MAX_DENOMINATOR = 1000  # of a reward; finer ones are taken as continuous
CLOSE = 1e-12  # a recorded 0.3333333333333333 is 1/3
STEP_BITS = 40  # binary digits behind the point of continuous means: a sum of 8,192 of them stays exact in a float
EXACT_BITS = 53


@dataclass(frozen=True, slots=True)
class TaskUnits:
    """The mean scores of a dataset: `units * step`.

    Attributes:
        units: whole numbers, `(n_cells, n_tasks)`; 0 where not present.
        present: whether the cell has a mean for the task, same shape.
        step: the size of one unit.
        on_grid: whether the means are exact; else they are rounded to `step`.
    """

    units: IntArray
    present: BoolArray
    step: Fraction
    on_grid: bool

    def value(self, units: int, count: int = 1) -> float:
        """Return a sum of units as a score, divided by `count`, correctly rounded."""
        return float(Fraction(units, count) * self.step)


def reward_denominator(rewards: FloatArray) -> int | None:
    """Return the smallest number of which all rewards are multiples of its inverse; None above `MAX_DENOMINATOR`."""
    common = 1
    for reward in np.unique(rewards[~np.isnan(rewards)]).tolist():
        near = Fraction(reward).limit_denominator(MAX_DENOMINATOR)
        common = math.lcm(common, near.denominator)
        if abs(float(near) - reward) > CLOSE or common > MAX_DENOMINATOR:
            return None
    return common


def task_units(dataset: DatasetScores, missing_reward: MissingReward) -> TaskUnits:
    """Return the task means of every cell as whole numbers."""
    scores = dataset.scores(missing_reward)
    counts = np.sum(~np.isnan(scores), axis=2)
    present = counts > 0
    denominator = reward_denominator(scores)
    repetitions = math.lcm(*np.unique(counts[present]).tolist()) if present.any() else 1
    largest = float(np.nanmax(np.abs(scores))) if present.any() else 0.0
    if denominator is not None:
        step = denominator * repetitions
        if largest * step * max(len(dataset.tasks), 1) < 2**EXACT_BITS:
            sums = np.rint(np.nansum(scores, axis=2) * denominator).astype(np.int64)
            units = sums * (repetitions // np.maximum(counts, 1))
            return TaskUnits(units, present, Fraction(1, step), on_grid=True)
    bits = STEP_BITS - max(math.frexp(largest)[1], 0)
    means = np.nan_to_num(dataset.task_means(missing_reward), nan=0.0)
    units = np.rint(np.ldexp(means, bits)).astype(np.int64)
    return TaskUnits(units, present, Fraction(2) ** -bits, on_grid=False)
