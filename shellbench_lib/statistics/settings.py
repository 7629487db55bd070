"""The parameters that the statistics with uncertainty need, and their random streams."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shellbench_lib.statistics.cells import MissingReward

CONFIDENCE_LEVEL = 0.95
BOOTSTRAP_RESAMPLES = 10_000
NARROW_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class InferenceSettings:
    """Policy for missing rewards, level of intervals and tests, resamples of the rank bootstrap, seed, narrow share."""

    missing_reward: MissingReward = "zero"
    confidence_level: float = CONFIDENCE_LEVEL
    bootstrap_resamples: int = BOOTSTRAP_RESAMPLES
    seed: int = 0
    narrow_share: float = NARROW_SHARE

    @property
    def alpha(self) -> float:
        """Level of the tests: 1 less the confidence level, without the last bits of that subtraction."""
        return round(1.0 - self.confidence_level, 12)


def stream(seed: int, *names: str) -> np.random.PCG64:
    """Return the bit stream that belongs to a quantity, whatever else is drawn and in whatever order.

    Only raw 64-bit numbers are taken from it: numpy keeps those the same over its versions, unlike the methods of a
    `Generator` (NEP 19).

    Args:
        seed: the report's seed.
        names: what the stream is for, for example the quantity and the dataset.
    """
    digest = hashlib.sha256("\0".join(names).encode("utf-8", "surrogatepass")).digest()
    return np.random.PCG64(np.random.SeedSequence(entropy=seed, spawn_key=tuple(digest)))


def raw_bytes(bits: np.random.PCG64, count: int) -> npt.NDArray[np.uint8]:
    """Return `count` uniform bytes, in the same order on every processor."""
    words: npt.NDArray[np.uint64] = bits.random_raw(-(-count // 8))
    return words.astype("<u8").view(np.uint8)[:count]


def raw_indices(bits: np.random.PCG64, shape: tuple[int, int], upper: int) -> npt.NDArray[np.intp]:
    """Return uniform integers from 0 to below `upper`; the bias is below `upper` / 2^32."""
    words: npt.NDArray[np.uint64] = bits.random_raw(shape[0] * shape[1])
    scaled = ((words >> np.uint64(32)) * np.uint64(upper)) >> np.uint64(32)
    return scaled.astype(np.intp).reshape(shape)
