"""Which tasks make a lead: what is left of a mean difference without some of its tasks.

For a mean with equal weights the sign is that of the sum, and leaving out tasks changes the sum by their own
differences only. So taking out the most helpful tasks first is exact, not a heuristic:
    tie set: fewest tasks without which the mean difference is 0 or beyond (`tie_k` of them),
    flip set: fewest without which it is on the other side (`flip_k`).
Equal differences are taken in the order of the task names. Neither may empty the comparison: where only the removal of
all tasks would do, or nothing can, there is no such set.

Narrow: `tie_k` is at most a share of the tasks and the 10 %-trimmed mean difference is at most half the mean one. The
first alone only says that the lead is small.

All differences are whole numbers of one step (`units.TaskUnits`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from shellbench_lib.statistics.units import IntArray

TRIM_SHARE = Fraction(1, 10)
TOP_SHARE = Fraction(1, 20)  # of the tasks, for the concentration of a gain


@dataclass(frozen=True, slots=True)
class Influence:
    """A lead taken apart.

    Attributes:
        order: indices of the tasks, the most helpful to the lead first; `(n_tasks,)`.
        tie_k: size of the tie set, the first of `order`; None where there is none.
        flip_k: size of the flip set; None where there is none.
        trimmed: sum of the differences left after trimming, and their number.
        narrow: None where there is no lead.
        concentration: share of the tasks' gains (differences in the lead's favour) that the top 5 % of tasks carry;
            None where there is no lead.
    """

    order: npt.NDArray[np.intp]
    tie_k: int | None
    flip_k: int | None
    trimmed: tuple[int, int]
    narrow: bool | None
    concentration: float | None


def influence(units: IntArray, *, narrow_share: float) -> Influence:
    """Take the lead apart.

    Args:
        units: differences in order of the task names, `(n_tasks,)`.
        narrow_share: share of the tasks whose removal must tie a narrow lead.
    """
    total = int(units.sum())
    helpful = units if total >= 0 else -units
    order = np.argsort(-helpful, kind="stable")
    trimmed = trimmed_sum(units)
    if total == 0:
        return Influence(order, None, None, trimmed, narrow=None, concentration=None)
    left = abs(total) - np.cumsum(helpful[order])[:-1]  # never without any task
    tie_k, flip_k = _first(left <= 0), _first(left < 0)
    narrow = tie_k is not None and tie_k <= Fraction(str(narrow_share)) * len(units)
    mostly_tails = 2 * Fraction(*trimmed) * (1 if total > 0 else -1) <= Fraction(abs(total), len(units))
    return Influence(order, tie_k, flip_k, trimmed, narrow and mostly_tails, _concentration(helpful, order))


def _first(reached: npt.NDArray[np.bool_]) -> int | None:
    """Return after how many removals a condition holds first."""
    return int(np.argmax(reached)) + 1 if reached.any() else None


def trimmed_sum(units: IntArray) -> tuple[int, int]:
    """Return sum and number of the differences without the tenth at each end (rounded down, as scipy trims)."""
    cut = int(len(units) * TRIM_SHARE)
    kept = np.sort(units)[cut : len(units) - cut]
    return int(kept.sum()), len(kept)


def _concentration(helpful: IntArray, order: npt.NDArray[np.intp]) -> float:
    top = math.ceil(len(helpful) * TOP_SHARE)
    gains = np.maximum(helpful, 0)
    return int(gains[order[:top]].sum()) / int(gains.sum())


def removal_sums(units: IntArray, order: npt.NDArray[np.intp]) -> IntArray:
    """Return the sum of the differences after each removal in `order`, `(n_tasks,)`; the last is 0: no task is left."""
    sums: IntArray = int(units.sum()) - np.cumsum(units[order])
    return sums
