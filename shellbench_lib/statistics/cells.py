"""The scores of one dataset as an array: which cells there are, which tasks, and what every repetition scored.

Every statistic starts from `DatasetScores`. A cell is dataset x harness x model x effort (and the separating fields
of `split_by`); a repetition is one eligible run of the cell.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from shellbench_lib.conditions import cell_label

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
MissingReward = Literal["zero", "exclude"]


@dataclass(frozen=True, slots=True)
class Cell:
    """One condition. `harness` and `model_slug` carry separating fields in brackets.

    `run_paths` names the repetitions, in the order of the arrays' last axis.
    """

    harness: str
    model_slug: str
    reasoning_effort: str
    model_ids: tuple[str, ...]
    run_paths: tuple[str, ...]

    @property
    def label(self) -> str:
        """`harness/model_slug/reasoning_effort`."""
        return cell_label(self.harness, self.model_slug, self.reasoning_effort)


@dataclass(frozen=True)
class DatasetScores:
    """All scored trials of one dataset's eligible runs.

    Attributes:
        cells: the cells in order of harness, model and effort; `(n_cells,)`.
        tasks: task identities in alphabetical order; `(n_tasks,)`.
        rewards: scored rewards, `(n_cells, n_tasks, n_reps)`; NaN where the repetition has no scored reward or the
            cell has no such repetition (cells with fewer runs are padded).
        attempted: whether the repetition has a scorable row for the task, same shape. Attempted without a reward is a
            missing reward: 0 under policy `zero`, left out under `exclude`.
    """

    dataset_key: str
    task_revision: str
    suite_task_count: int
    cells: tuple[Cell, ...]
    tasks: tuple[str, ...]
    rewards: FloatArray
    attempted: BoolArray

    @cached_property
    def missing(self) -> BoolArray:
        """Where a trial exists and has no scored reward, `(n_cells, n_tasks, n_reps)`."""
        return self.attempted & np.isnan(self.rewards)

    def scores(self, missing_reward: MissingReward) -> FloatArray:
        """Return the rewards under a policy, `(n_cells, n_tasks, n_reps)`; NaN where nothing counts."""
        if missing_reward == "zero":
            return np.where(self.missing, 0.0, self.rewards)
        return self.rewards

    def task_means(self, missing_reward: MissingReward) -> FloatArray:
        """Return the mean score of each cell and task, `(n_cells, n_tasks)`; NaN where no repetition counts.

        The sum runs over sorted values, so that the order of the repetitions cannot change the last bit.
        """
        scores = np.sort(self.scores(missing_reward), axis=2)
        counts = np.sum(~np.isnan(scores), axis=2)
        sums = np.nansum(scores, axis=2)
        means: FloatArray = np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)
        return means
