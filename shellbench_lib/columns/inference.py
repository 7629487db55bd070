"""The columns of the tables with uncertainty: leaderboard, paired comparisons, task influence, sensitivity."""

from __future__ import annotations

from shellbench_lib.columns.schema import Column, ColumnType


def _new(name: str, kind: ColumnType, meaning: str, unit: str = "") -> Column:
    return Column(name, kind, meaning, unit, "new")


def _reward(name: str, meaning: str) -> Column:
    return _new(name, "number", meaning, "reward")


def _share(name: str, meaning: str) -> Column:
    return _new(name, "number", meaning, "fraction 0-1")


def _tasks(name: str, meaning: str) -> Column:
    return _new(name, "integer", meaning, "tasks")


def _side(side: str) -> tuple[Column, ...]:
    return (
        _new(f"{side}_harness", "text", f"Harness of the {side} cell."),
        _new(f"{side}_model_slug", "text", f"Model of the {side} cell."),
        _new(f"{side}_reasoning_effort", "text", f"Reasoning effort of the {side} cell; empty when not recorded."),
    )


_DATASET = _new("dataset_key", "text", "Task revision and task count; datasets are never pooled.")
_COMPARISON = (
    _DATASET,
    _new("factor", "text", "What differs: harness, effort or model; leader: the best cell against every other one."),
    _new("left_cell", "text", "Cell that a positive delta favours: first in the alphabet, higher effort, or leader."),
    _new("right_cell", "text", "Cell that it is compared with."),
)
_NARROW = (
    "Whether few tasks make the lead (tie_k within narrow_share of the tasks, and the trimmed mean delta at most half "
    "the mean delta); no verdict. Empty where nobody leads."
)

INFERENCE_TABLES: dict[str, tuple[Column, ...]] = {
    "leaderboard.csv": (
        _DATASET,
        _new(
            "rank", "integer", "Rank by mean score, equal ones sharing the better rank; empty without a score.", "rank"
        ),
        _new("cell", "text", "Cell label, harness/model/effort."),
        _new("harness", "text", "Harness; with split_by, the separating fields in brackets behind it."),
        _new("model_slug", "text", "Model; with split_by, the separating fields in brackets behind it."),
        _new("reasoning_effort", "text", "Reasoning effort; empty when not recorded."),
        _new("runs", "integer", "Eligible runs of the cell.", "runs"),
        _tasks("tasks", "Tasks with a score."),
        _new("missing_rewards", "integer", "Trials without a scored reward.", "trials"),
        _reward("mean_score", "Mean over the tasks of the mean over the repetitions."),
        _reward("se_fixed_tasks", "Standard error for these tasks; empty where a task has one repetition."),
        _reward("se_task_population", "Standard error for other tasks of this kind; empty with one task."),
        _reward("score_low", "Lower end of the mean's interval for the population of tasks."),
        _reward("score_high", "Upper end of that interval."),
        _new("interval_method", "text", "wilson, or t where a score lies outside 0..1; empty without an interval."),
        _reward("run_stdev", "Standard deviation of the runs' scores; empty with one run."),
        _share("solved_rate", "Share of attempts with a reward of at least 1, mean over tasks."),
        _share("solved_low", "Lower end of its interval."),
        _share("solved_high", "Upper end of its interval."),
        _new("rank_low", "integer", "Better end of the rank's bootstrap interval.", "rank"),
        _new("rank_high", "integer", "Worse end of that interval.", "rank"),
        _share("probability_best", "Share of the task bootstraps in which the cell is best, ties shared."),
        _new("standing", "text", "leader, tied with the leader, behind the leader, or why that cannot be told."),
        _reward("lead_delta", "Leader less this cell on the tasks both have; empty for the leader."),
        _reward("lead_low", "Lower end of that delta's interval."),
        _reward("lead_high", "Upper end of that interval."),
        _share("lead_p_holm", "p of that delta, adjusted over all cells but the leader; at least 1e-12."),
        _new("lead_verdict", "text", "Verdict on the leader against this cell."),
        _new("lead_narrow", "boolean", _NARROW),
        _tasks("lead_tie_k", "Fewest tasks whose removal brings the lead to a tie or below; empty where none do."),
    ),
    "paired_comparisons.csv": (
        *_COMPARISON,
        *_side("left"),
        *_side("right"),
        _tasks("n_tasks", "Tasks that both cells have a score for."),
        _tasks("dropped_tasks", "Tasks that only one side has a score for, or that no attempt scored."),
        _new("dropped_task_names", "text", "Their names, joined by semicolons."),
        _new("imputed_scores", "integer", "Shared task scores in which a missing reward counts as 0.", "scores"),
        _reward("mean_delta", "Mean over the shared tasks of left less right."),
        _reward("standard_error", "Its standard error for the population of tasks; empty where unknown."),
        _reward("delta_low", "Lower end of its t interval."),
        _reward("delta_high", "Upper end of its t interval."),
        _share("p_value", "Two-sided sign-flip p; at least 1e-12; empty with fewer than two tasks."),
        _new("test", "text", "exact, or resampled where rewards are continuous; empty without a test."),
        _share("p_holm", "p adjusted by Holm's method within dataset and factor; at least 1e-12."),
        _new("family_size", "integer", "Tests in that family.", "tests"),
        _tasks("wins", "Tasks on which left is ahead."),
        _tasks("losses", "Tasks on which right is ahead."),
        _tasks("ties", "Tasks on which they are equal."),
        _share("probability_of_improvement", "P(an attempt of left beats one of right), ties half; mean over tasks."),
        _reward("minimum_detectable_effect", "True mean delta that one such test finds with 80 % power."),
        _tasks("tie_k", "Fewest tasks whose removal brings the mean delta to 0 or beyond; empty where none do."),
        _tasks("flip_k", "Fewest tasks whose removal turns its sign; empty where none do."),
        _reward("trimmed_mean_delta", "Mean delta without the tenth of the tasks at each end."),
        _share("top_task_share", "Share of the tasks' gains that the top 5 % of tasks carry; empty without a lead."),
        _new("narrow", "boolean", _NARROW),
        _new("verdict", "text", "On the left cell: better, worse, no evidence of a difference, too few tasks."),
        _new("note", "text", "Why numbers are empty."),
    ),
    "task_influence.csv": (
        *_COMPARISON,
        _new("task_name", "text", "Task identity."),
        _reward("delta", "Left less right on the task."),
        _new("share_of_total", "number", "Delta over the sum of all deltas; empty where that is 0.", "ratio"),
        _reward("mean_without", "Mean delta without this task; empty where it is the only one."),
        _new("in_tie_set", "boolean", "Whether the task is one of the fewest that make the lead (tie_k)."),
        _new("in_flip_set", "boolean", "Whether it is one of the fewest whose removal turns the sign (flip_k)."),
        _new("removal_order", "integer", "Place when the most helpful tasks are taken out first.", "index"),
        _reward("mean_after_removal", "Mean delta after this and all earlier removals; empty after the last."),
    ),
    "missing_reward_sensitivity.csv": (
        *_COMPARISON,
        _new("changes", "boolean", "Whether the verdict differs, or whether a significant lead is called narrow."),
        _new("leader_changes", "boolean", "Whether the policies have different leaders; only in the factor leader."),
        _new("missing_rewards", "integer", "Trials of both cells without a scored reward.", "trials"),
        _tasks("n_tasks_zero", "Shared tasks where a missing reward counts 0."),
        _tasks("n_tasks_exclude", "Shared tasks where it is left out."),
        _reward("mean_delta_zero", "Mean delta where a missing reward counts 0."),
        _reward("mean_delta_exclude", "Mean delta where it is left out."),
        _share("p_holm_zero", "Adjusted p where a missing reward counts 0."),
        _share("p_holm_exclude", "Adjusted p where it is left out."),
        _new("verdict_zero", "text", "Verdict where a missing reward counts 0."),
        _new("verdict_exclude", "text", "Verdict where it is left out."),
        _new("narrow_zero", "boolean", "Narrow where a missing reward counts 0; empty where nobody leads."),
        _new("narrow_exclude", "boolean", "Narrow where it is left out; empty where nobody leads."),
        _new("leader_zero", "text", "Leading cell where a missing reward counts 0; only in the factor leader."),
        _new("leader_exclude", "text", "Leading cell where it is left out; only in the factor leader."),
    ),
}
