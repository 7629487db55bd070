"""The scores of one dataset as an array: which cells there are, which tasks, and what every repetition scored.

Every statistic starts from `DatasetScores`. A cell is dataset x harness x model x effort (and the separating fields
of `split_by`); a repetition is one eligible run of the cell.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt
import pandas as pd

from shellbench_lib.conditions import cell_label, cell_names, dataset_keys, dataset_name, effort_rank
from shellbench_lib.errors import InputError
from shellbench_lib.summaries import TASKS_FILE, SummaryTables

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

        Sums are exactly rounded, so that the order of the repetitions cannot change the last bit.
        """
        scores = self.scores(missing_reward)
        counts = np.sum(~np.isnan(scores), axis=2)
        sums = exact_sums(np.nan_to_num(scores, nan=0.0))
        means: FloatArray = np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)
        return means


def exact_sums(values: FloatArray) -> FloatArray:
    """Return the exactly rounded sums over the last axis, the same on every processor and for every order."""
    rows = values.reshape(-1, values.shape[-1]).tolist()
    return np.array([math.fsum(row) for row in rows], dtype=np.float64).reshape(values.shape[:-1])


@dataclass(frozen=True, slots=True)
class DatasetRuns:
    """How many runs of a dataset there are and how many of them count; `eligible_runs` may be 0."""

    dataset_key: str
    task_revision: str
    suite_task_count: int | None
    total_runs: int
    eligible_runs: int

    @property
    def excluded_runs(self) -> int:
        """Runs that enter no statistic."""
        return self.total_runs - self.eligible_runs


def placed_runs(runs: pd.DataFrame, *, split_by: Sequence[str] = ()) -> pd.DataFrame:
    """Return the run table with the place of each run added: `dataset`, `cell_harness`, `cell_model`, `cell_effort`.

    Args:
        runs: the run table.
        split_by: extra condition fields. Those of the harness and of the model stand in brackets behind its name and
            separate cells; the judge, the suite and the task set stand behind the dataset key, because scores under
            different ones are neither pooled nor compared.
    """
    records = _records(runs)
    identities = [(row["task_revision"], _count(row["expected_task_count"]), row["task_set_sha256"]) for row in records]
    keys = dataset_keys(identities)
    cells = [cell_names(row, split_by) for row in records]
    return runs.assign(
        dataset=[dataset_name(keys[i], row, split_by) for i, row in zip(identities, records, strict=True)],
        cell_harness=[harness for harness, _, _ in cells],
        cell_model=[model for _, model, _ in cells],
        cell_effort=[effort for _, _, effort in cells],
    )


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    return cast("list[dict[str, Any]]", frame.to_dict("records"))


def _count(value: float) -> int | None:
    return None if np.isnan(value) else int(value)


def dataset_overview(tables: SummaryTables, *, split_by: Sequence[str] = ()) -> list[DatasetRuns]:
    """Count the runs of every dataset, in order of the dataset key; datasets without an eligible run are included."""
    placed = placed_runs(tables.runs, split_by=split_by)
    return [
        DatasetRuns(
            dataset_key=str(key),
            task_revision=group["task_revision"].iloc[0],
            suite_task_count=_count(group["expected_task_count"].iloc[0]),
            total_runs=len(group),
            eligible_runs=int(group["eligible"].sum()),
        )
        for key, group in placed.groupby("dataset", sort=True, dropna=False)
    ]


def build_datasets(tables: SummaryTables, *, split_by: Sequence[str] = ()) -> list[DatasetScores]:
    """Return the scores of every dataset that has an eligible run, in order of the dataset key.

    Only rows that may score (`scorable`) of eligible runs are taken. A cell's repetitions stand in order of their
    number (unknown last), label and path.

    Args:
        tables: the run and task tables.
        split_by: see `placed_runs`.

    Raises:
        InputError: a run has two scorable rows for one task.
    """
    # Excluded runs take part in the naming, so that a dataset has one name everywhere.
    placed = placed_runs(tables.runs, split_by=split_by)
    placed = placed[placed["eligible"]]
    tasks = tables.tasks
    scorable = tasks.loc[tasks["scorable"], ["run_path", "task_name", "reward"]]
    rows = scorable.assign(dataset=scorable["run_path"].map(placed.set_index("run_path")["dataset"]))
    return [
        _dataset(str(key), group, rows[rows["dataset"] == key])
        for key, group in placed.groupby("dataset", sort=True, dropna=False)
    ]


def _dataset(key: str, runs: pd.DataFrame, rows: pd.DataFrame) -> DatasetScores:
    records = sorted(_records(runs), key=_run_order)
    cells: list[Cell] = []
    place: dict[str, tuple[int, int]] = {}
    for names, group in groupby(records, key=lambda row: (row["cell_harness"], row["cell_model"], row["cell_effort"])):
        members = list(group)
        paths = tuple(row["run_path"] for row in members)
        place |= {path: (len(cells), repetition) for repetition, path in enumerate(paths)}
        cells.append(Cell(*names, model_ids=tuple(sorted({row["model_id"] for row in members})), run_paths=paths))
    tasks = tuple(sorted(set(rows["task_name"])))
    position = {task: index for index, task in enumerate(tasks)}
    where = (
        rows["run_path"].map({path: cell for path, (cell, _) in place.items()}).to_numpy(dtype=np.intp),
        rows["task_name"].map(position).to_numpy(dtype=np.intp),
        rows["run_path"].map({path: repetition for path, (_, repetition) in place.items()}).to_numpy(dtype=np.intp),
    )
    shape = (len(cells), len(tasks), max(len(cell.run_paths) for cell in cells))
    _refuse_repeats(rows, where, shape)
    rewards, attempted = np.full(shape, np.nan), np.zeros(shape, dtype=np.bool_)
    rewards[where] = rows["reward"].to_numpy(dtype=np.float64)
    attempted[where] = True
    first = records[0]
    return DatasetScores(
        key, first["task_revision"], int(first["expected_task_count"]), tuple(cells), tasks, rewards, attempted
    )


def _run_order(row: dict[str, Any]) -> tuple[Any, ...]:
    repetition = row["repetition"]
    unknown = bool(np.isnan(repetition))
    return (
        row["cell_harness"],
        row["cell_model"],
        effort_rank(row["cell_effort"]),
        (unknown, 0.0 if unknown else repetition),
        row["run_label"],
        row["run_path"],
    )


def _refuse_repeats(rows: pd.DataFrame, where: tuple[Any, ...], shape: tuple[int, ...]) -> None:
    if len(rows) == 0:
        return
    flat = np.ravel_multi_index(where, shape)
    counts = np.bincount(flat)
    if counts.max() > 1:
        row = rows.iloc[int(np.argmax(counts[flat] > 1))]
        raise InputError(
            f"{TASKS_FILE}: run {row['run_path']!r} has two scorable rows for task {row['task_name']!r}; "
            "export the matrix again"
        )
