"""The paired test: how often would random signs of the task differences give a mean at least this far from 0?

Exact sign-flip (Fisher randomisation) test, two-sided. The differences are whole numbers on the common denominator of
the repetitions, so the distribution of the signed sum follows from adding one task after the other. On differences
of -1, 0 and 1 it equals McNemar's exact test. Where the sum has too many values (continuous rewards), 99,999
random sign vectors, the observed one counted in (Phipson and Smyth 2010). Zero differences do not matter.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from shellbench_lib.statistics.settings import raw_bytes, stream
from shellbench_lib.statistics.units import IntArray

RESAMPLES = 99_999
MAX_SUM = 200_000  # values of the signed sum up to which the distribution is enumerated: milliseconds
_BYTE = 8
TestMethod = Literal["exact", "resampled"]


def sign_flip_p(units: IntArray, *, seed: int, name: str = "") -> tuple[float, TestMethod]:
    """Return the two-sided p and how it was found; 1 where all differences are 0.

    Args:
        units: differences as whole numbers, `(n_tasks,)`, in any order.
        seed: the report's seed; only continuous differences need it.
        name: the dataset. All pairs of a dataset share one stream, so that labels and order do not matter.
    """
    sizes = np.sort(np.abs(units[units != 0]))
    if len(sizes) == 0:
        return 1.0, "exact"
    observed = abs(int(units.sum()))
    divisor = int(np.gcd.reduce(sizes))
    sizes, observed = sizes // divisor, observed // divisor
    if int(sizes.sum()) <= MAX_SUM:
        return _exact_p(sizes, observed), "exact"
    return _resampled_p(sizes, observed, seed=seed, name=name), "resampled"


def _exact_p(sizes: IntArray, observed: int) -> float:
    """Return P(|signed sum| >= observed): the signed sum is twice the sum of a random subset less the total."""
    if observed == 0:
        return 1.0
    total = int(sizes.sum())
    chance = np.zeros(total + 1)
    chance[0] = 1.0
    reached = 0
    for size in sizes.tolist():
        reached += size
        half = 0.5 * chance[: reached + 1]
        chance[: reached + 1] = half
        chance[size : reached + 1] += half[: reached + 1 - size]
    return min(1.0, 2 * math.fsum(chance[-(-(total + observed) // 2) :].tolist()))


def _resampled_p(sizes: IntArray, observed: int, *, seed: int, name: str) -> float:
    """Return (1 + random sums at least as extreme) / (1 + RESAMPLES); eight signs come from one random byte."""
    groups = -(-len(sizes) // _BYTE)
    draws = raw_bytes(stream(seed, "sign-flip", name), RESAMPLES * groups).reshape(groups, RESAMPLES)
    padded = np.zeros(groups * _BYTE, dtype=np.int64)
    padded[: len(sizes)] = sizes
    signs = 1 - 2 * np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(np.int64)
    sums = np.zeros(RESAMPLES, dtype=np.int64)
    for group, drawn in zip(padded.reshape(groups, _BYTE), draws, strict=True):
        sums += (signs @ group)[drawn]
    return (1 + int(np.sum(np.abs(sums) >= observed))) / (1 + RESAMPLES)
