"""Do the intervals and the test keep what they promise? `python bench/coverage.py [MATRICES]` simulates and prints it.

Every simulated matrix has rewards of 0 and 1, three repetitions, and tasks whose chances to be solved are drawn from
one of three difficulty distributions. Shown in percent:

score: how often the 95 % interval of a cell's mean holds the mean chance of the task population;
paired: how often the 95 % interval of a paired difference holds the true mean difference, for two cells whose chances
    are the same, are the same on most tasks, or differ by a tenth;
type I: how often the sign-flip test finds a difference at 5 % between two cells whose chances are the same, and
    between two whose chances differ from task to task but not on average.

Each must lie in the range that stands beside it; the exit code is 1 where one does not.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from shellbench_lib.statistics.cells import FloatArray
from shellbench_lib.statistics.intervals import population_error, score_interval, t_interval
from shellbench_lib.statistics.signflip import sign_flip_p

TASKS, REPETITIONS, LEVEL = (30, 60, 116), 3, 0.95
MATRICES = 4000  # a coverage of 95 % is then known to 0.35 percentage points (one standard error)
SEED = 20_260_801
Draw = Callable[[np.random.Generator, int], FloatArray]
# Chances of the tasks, and their mean.
DIFFICULTIES: dict[str, tuple[Draw, float]] = {
    "uniform": (lambda rng, n: rng.random(n), 0.5),
    "Beta(.5, .5)": (lambda rng, n: rng.beta(0.5, 0.5, n), 0.5),
    "Beta(5, .5)": (lambda rng, n: rng.beta(5, 0.5, n), 5 / 5.5),
}
SAME_SHARE = 0.7  # tasks on which two otherwise independent cells have the same chance
RANGES = {"score": (93.0, 97.0), "paired": (92.0, 97.0), "type I": (0.0, 5.5)}


@dataclass(frozen=True, slots=True)
class Row:
    """One line: what was simulated, and in how many percent of the matrices it happened."""

    kind: str
    case: str
    difficulty: str
    tasks: int
    percent: float

    @property
    def kept(self) -> bool:
        """Whether the figure lies in its range."""
        low, high = RANGES[self.kind]
        return low <= self.percent <= high


def solved(rng: np.random.Generator, chances: FloatArray) -> FloatArray:
    """Return how many repetitions solve each task, `(n_tasks,)`."""
    return rng.binomial(REPETITIONS, chances).astype(np.float64)


def score_covered(rng: np.random.Generator, draw: Draw, mean: float, tasks: int) -> bool:
    """Return whether one cell's interval holds the mean of the task population."""
    rates = solved(rng, draw(rng, tasks)) / REPETITIONS
    found = score_interval(rates, tasks * REPETITIONS, confidence_level=LEVEL)
    return found.low <= mean <= found.high


def second_chances(rng: np.random.Generator, draw: Draw, first: FloatArray, case: str) -> FloatArray:
    """Return the chances of the second cell."""
    if case == "same chances":
        return first
    if case == "a tenth lower":
        return 0.9 * first
    return np.where(rng.random(len(first)) < SAME_SHARE, first, draw(rng, len(first)))


def differences(rng: np.random.Generator, draw: Draw, tasks: int, case: str) -> FloatArray:
    """Return how many more repetitions of the first cell solve each task, `(n_tasks,)`."""
    first = draw(rng, tasks)
    return solved(rng, first) - solved(rng, second_chances(rng, draw, first, case))


def paired_covered(differ: FloatArray, truth: float) -> bool:
    """Return whether the interval of the paired difference holds the true one; without spread, whether it is met."""
    rates = differ / REPETITIONS
    mean = float(rates.mean())
    found = t_interval(mean, population_error(rates), len(rates), confidence_level=LEVEL)
    return found.low <= truth <= found.high if found.method else mean == truth


def simulate(matrices: int) -> Iterator[Row]:
    """Yield every row; each has its own random stream."""
    for number, (name, (draw, mean)) in enumerate(DIFFICULTIES.items()):
        for tasks in TASKS:
            rng = np.random.default_rng([SEED, number, tasks])
            hits = sum(score_covered(rng, draw, mean, tasks) for _ in range(matrices))
            yield Row("score", "one cell", name, tasks, 100 * hits / matrices)
            for case in ("same chances", "same on most tasks", "a tenth lower"):
                truth = 0.1 * mean if case == "a tenth lower" else 0.0
                drawn = [differences(rng, draw, tasks, case) for _ in range(matrices)]
                hits = sum(paired_covered(differ, truth) for differ in drawn)
                yield Row("paired", case, name, tasks, 100 * hits / matrices)
                if truth == 0.0:
                    found = sum(sign_flip_p(differ.astype(np.int64), seed=0)[0] < 1 - LEVEL for differ in drawn)
                    yield Row("type I", case, name, tasks, 100 * found / matrices)


def main() -> int:
    """Simulate and print; return 1 where a figure lies outside its range."""
    matrices = int(sys.argv[1]) if len(sys.argv) > 1 else MATRICES
    rows = sorted(simulate(matrices), key=lambda row: list(RANGES).index(row.kind))
    print(f"{matrices} matrices for each row, {REPETITIONS} repetitions, nominal {LEVEL:.0%}\n")
    print("| what | case | difficulty | tasks | percent | range | kept |\n|---|---|---|---|---|---|---|")
    for row in rows:
        low, high = RANGES[row.kind]
        print(
            f"| {row.kind} | {row.case} | {row.difficulty} | {row.tasks} | {row.percent:.2f} | {low:g} to {high:g} | "
            f"{'yes' if row.kept else 'NO'} |"
        )
    for kind in RANGES:
        found = [row.percent for row in rows if row.kind == kind]
        print(f"\n{kind}: {min(found):.2f} to {max(found):.2f}")
    return 0 if all(row.kept for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
