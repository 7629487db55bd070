"""The columns of the classic task analysis: cells, task diagnostics and task deltas."""

from __future__ import annotations

from shellbench_lib.columns.schema import Column

_DATASET = (
    Column("dataset_key", "text", "Task revision and task count; datasets are never pooled."),
    Column("task_revision", "text", "Revision of the task suite; empty when not recorded."),
    Column("suite_task_count", "integer", "Tasks a run of this dataset is expected to attempt.", "tasks"),
)
_HARNESS = Column("harness", "text", "Harness; with split_by, the separating fields in brackets behind it.")
_MODEL = Column("model_slug", "text", "Model; with split_by, the separating fields in brackets behind it.")
_EFFORT = Column("reasoning_effort", "text", "Reasoning effort, trimmed and in lower case; empty when not recorded.")
_TASK = Column("task_name", "text", "Task identity: the leaf of its path, the whole path where leaves repeat.")


def _reward(name: str, meaning: str, *, origin: str = "upstream") -> Column:
    return Column(name, "number", meaning, "reward", "new" if origin == "new" else "upstream")


CLASSIC_TABLES: dict[str, tuple[Column, ...]] = {
    "task_cell_summary.csv": (
        *_DATASET,
        _HARNESS,
        _MODEL,
        Column("model_id", "text", "Distinct model ids of the cell's runs, joined by commas."),
        _EFFORT,
        _TASK,
        Column("repetitions", "integer", "Trials that count in the mean.", "trials"),
        _reward("mean_reward", "Mean reward over the repetitions."),
        _reward(
            "reward_stdev",
            "Sample standard deviation of the reward; 0 for one repetition, as upstream has it.",
        ),
        _reward("min_reward", "Lowest reward."),
        _reward("max_reward", "Highest reward."),
        Column("nonzero_repetitions", "integer", "Repetitions with a reward above 0.", "trials"),
        Column("exact_passes", "integer", "Repetitions with a scored reward of at least 1.", "trials"),
        Column(
            "missing_rewards",
            "integer",
            "Trials of the cell and task without a scored reward.",
            "trials",
            "new",
        ),
    ),
    "task_variance_diagnostics.csv": (
        *_DATASET,
        _TASK,
        Column("cell_count", "integer", "Cells that have a mean for the task.", "cells"),
        Column("nonzero_cells", "integer", "Cells with a mean reward above 0.", "cells"),
        _reward("mean_cell_reward", "Mean of the cell means."),
        _reward(
            "cell_reward_stdev",
            "Sample standard deviation of the cell means; 0 for one cell, as upstream has it.",
        ),
        _reward("min_cell_reward", "Lowest cell mean."),
        _reward("max_cell_reward", "Highest cell mean."),
        _reward("range_across_cells", "Highest less lowest cell mean."),
        Column("best_cell", "text", "Labels of all cells at the highest mean, sorted, joined by semicolons."),
        Column("worst_cell", "text", "Labels of all cells at the lowest mean, sorted, joined by semicolons."),
    ),
    "harness_task_deltas.csv": (
        *_DATASET,
        _MODEL,
        _EFFORT,
        _TASK,
        Column("left_harness", "text", "Harness that comes first in alphabetical order."),
        Column("right_harness", "text", "Harness that comes second."),
        _reward("left_reward", "Cell mean of the left harness."),
        _reward("right_reward", "Cell mean of the right harness."),
        _reward("delta", "Left less right."),
    ),
    "reasoning_task_deltas.csv": (
        *_DATASET,
        _HARNESS,
        _MODEL,
        _TASK,
        Column("lower_reasoning", "text", "The lower of two neighbouring efforts."),
        Column("higher_reasoning", "text", "The higher of two neighbouring efforts."),
        _reward("lower_reward", "Cell mean at the lower effort."),
        _reward("higher_reward", "Cell mean at the higher effort."),
        _reward("delta", "Higher less lower."),
        Column(
            "levels_skipped",
            "integer",
            "Known effort levels between the two that have no cell.",
            "levels",
            "new",
        ),
    ),
    "model_task_deltas.csv": (
        *(Column(c.name, c.type, c.meaning, c.unit, "new") for c in _DATASET),
        Column("harness", "text", _HARNESS.meaning, "", "new"),
        Column("reasoning_effort", "text", _EFFORT.meaning, "", "new"),
        Column("task_name", "text", _TASK.meaning, "", "new"),
        Column("left_model", "text", "Model that comes first in alphabetical order.", "", "new"),
        Column("right_model", "text", "Model that comes second.", "", "new"),
        _reward("left_reward", "Cell mean of the left model.", origin="new"),
        _reward("right_reward", "Cell mean of the right model.", origin="new"),
        _reward("delta", "Left less right.", origin="new"),
    ),
}
