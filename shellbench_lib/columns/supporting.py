"""The columns of the tables that support a verdict: clusters, variance, quality, reliability, cost, sensitivity."""

from __future__ import annotations

from shellbench_lib.columns.schema import Column, ColumnType


def _new(name: str, kind: ColumnType, meaning: str, unit: str = "") -> Column:
    return Column(name, kind, meaning, unit, "new")


_DATASET = _new("dataset_key", "text", "Task revision and task count; datasets are never pooled.")
_CELL = _new("cell", "text", "Cell label, harness/model/effort.")
_TASK = _new("task_name", "text", "Task identity.")

SUPPORTING_TABLES: dict[str, tuple[Column, ...]] = {
    "task_clusters.csv": (
        _DATASET,
        _TASK,
        _new("position", "integer", "Row of the task in the heat map, clusters beside each other.", "index"),
        _new(
            "cluster",
            "integer",
            "Number of the cluster; empty for a task whose score is the same in every cell.",
            "index",
        ),
        _new("cluster_size", "integer", "Tasks of the cluster; empty for a constant task.", "tasks"),
        _new("constant", "boolean", "Whether every cell scores the same, so that no correlation exists."),
        _new("mean_score", "number", "Mean over the cells.", "reward"),
        _new("cells", "integer", "Cells of the dataset.", "cells"),
        _new("cut_height", "number", "Distance (1 less correlation) at which the tree is cut.", "1 - correlation"),
    ),
    "variance_components.csv": (
        _DATASET,
        _new("quantity", "text", "Component, reliability or planned design."),
        _new(
            "value",
            "number",
            "Variance of a component, or the coefficient; empty for a design.",
            "reward squared or fraction",
        ),
        _new("share", "number", "Share of the component in the sum of all components.", "fraction 0-1"),
        _new("set_to_zero", "boolean", "Whether the unbiased estimate was negative and is shown as 0."),
        _new("cells", "integer", "Cells that the estimate rests on.", "cells"),
        _new("tasks", "integer", "Tasks: of the estimate, or of the planned design.", "tasks"),
        _new("repetitions", "integer", "Repetitions: of the estimate, or of the planned design.", "repetitions"),
        _new("standard_error", "number", "Expected standard error of a paired difference of two cells.", "reward"),
        _new("minimum_detectable_effect", "number", "Difference found with 80 % power.", "reward"),
        _new("reason", "text", "Why a value is empty."),
    ),
    "task_quality.csv": (
        _DATASET,
        _TASK,
        _new("cells", "integer", "Cells with a score.", "cells"),
        _new("mean_score", "number", "Mean over the cells.", "reward"),
        _new("min_cell_score", "number", "Lowest cell mean.", "reward"),
        _new("max_cell_score", "number", "Highest cell mean.", "reward"),
        _new("saturated", "boolean", "Whether the lowest cell mean is at least 0.95."),
        _new("impossible", "boolean", "Whether the highest cell mean is at most 0.05."),
        _new("flaky_cells", "integer", "Cells with at least two repetitions that disagree.", "cells"),
        _new("repeated_cells", "integer", "Cells with at least two repetitions.", "cells"),
        _new("flaky", "boolean", "Whether repetitions disagree in at least half of the repeated cells."),
        _new("discrimination", "number", "Correlation over cells with the mean of the other tasks.", "correlation"),
        _new("negative_discrimination", "boolean", "Whether that correlation is below 0; empty where it is undefined."),
        _new(
            "signal",
            "number",
            "Variance between cells, less the noise of the repetitions, at least 0.",
            "reward squared",
        ),
        _new("noise", "number", "Variance of a cell mean by its repetitions.", "reward squared"),
        _new("signal_to_noise", "number", "Signal over noise; empty where the noise is 0 or unknown.", "ratio"),
        _new("infra_failures", "integer", "Trials of eligible runs of class infra.", "trials"),
        _new("trials", "integer", "Trials of eligible runs.", "trials"),
        _new("infra_prone", "boolean", "Whether at least a tenth of the trials failed by infrastructure."),
    ),
    "reliability.csv": (
        _DATASET,
        _CELL,
        _new("k", "integer", "Attempts drawn from a task's repetitions.", "attempts"),
        _new("repetitions", "integer", "Repetitions of the cell.", "repetitions"),
        _new("tasks", "integer", "Tasks with at least k scored attempts.", "tasks"),
        _new(
            "pass_at_k",
            "number",
            "Chance that at least one of k attempts solves the task; mean over tasks.",
            "fraction 0-1",
        ),
        _new(
            "pass_hat_k",
            "number",
            "Chance that all k attempts solve the task (pass^k); mean over tasks.",
            "fraction 0-1",
        ),
        _new("flaky_tasks", "integer", "Tasks that some repetitions solve and others do not.", "tasks"),
        _new("flaky_share", "number", "Share of flaky tasks among those with at least two attempts.", "fraction 0-1"),
        _new("reason", "text", "Why a value is empty."),
    ),
    "cost_summary.csv": (
        _DATASET,
        _CELL,
        _new("quantity", "text", "What is counted: tokens, cost or time."),
        _new("unit", "text", "Its unit."),
        _new("known_trials", "integer", "Trials with a known value.", "trials"),
        _new("trials", "integer", "Trials of the cell's eligible runs.", "trials"),
        _new("known_total", "number", "Sum over the known trials; no total where some are unknown.", "see unit"),
        _new("per_trial", "number", "Mean over the known trials.", "see unit"),
        _new("known_runs", "integer", "Runs whose every trial is known.", "runs"),
        _new("runs", "integer", "Eligible runs of the cell.", "runs"),
        _new("per_run", "number", "Mean total of the fully known runs; empty where there is none.", "see unit"),
        _new("solved", "integer", "Tasks solved in the fully known runs.", "tasks"),
        _new("per_solved", "number", "Total of the fully known runs over the tasks solved in them.", "see unit"),
        _new("reason", "text", "Why a value is empty."),
    ),
}
