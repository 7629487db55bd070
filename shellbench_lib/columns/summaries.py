"""The columns of the summaries files: one row per run, per trial, per infrastructure failure, repair and finding."""

from __future__ import annotations

from shellbench_lib.columns.schema import Column, Origin
from shellbench_lib.records import PHASES

_RUN_LABEL = Column("run_label", "text", "The run's own label, else its directory name.")
_PAIR_LABEL = Column("pair_label", "text", "Legacy grouping label, harness and model without the effort.")
_REPETITION = Column("repetition", "integer", "Number of the repetition; empty when not recorded.", "index")


def _count(name: str, meaning: str, unit: str = "trials", origin: Origin = "upstream") -> Column:
    return Column(name, "integer", meaning, unit, origin)


def _usage(scope: str) -> tuple[Column, ...]:
    return (
        Column(
            "n_input_tokens",
            "number",
            f"Input tokens, cached ones included{scope}; empty when none was observed.",
            "tokens",
        ),
        Column("n_cache_tokens", "number", f"Cached input tokens{scope}; empty when none was observed.", "tokens"),
        Column("n_output_tokens", "number", f"Output tokens{scope}; empty when none was observed.", "tokens"),
        Column("cost_usd", "number", f"Cost{scope}; empty when none was observed.", "US dollars"),
    )


CONDITION_COLUMNS = (
    Column("harness", "text", "Harness (agent) that ran the tasks.", "", "new"),
    Column("harness_version", "text", "Version of the harness.", "", "new"),
    Column("tool_mode", "text", "Tool mode of the harness.", "", "new"),
    Column("model_slug", "text", "Short model name.", "", "new"),
    Column("model_id", "text", "Full model id.", "", "new"),
    Column("model_provider", "text", "Provider of the model.", "", "new"),
    Column("reasoning_effort", "text", "Reasoning effort as recorded; empty when absent.", "", "new"),
    Column("judge_model_id", "text", "Model that judged the trials.", "", "new"),
    Column("judge_reasoning_effort", "text", "Reasoning effort of the judge.", "", "new"),
    Column("task_revision", "text", "Revision of the task suite.", "", "new"),
    Column("task_suite", "text", "Task suite.", "", "new"),
    Column(
        "task_set_sha256",
        "text",
        "SHA-256 of the declared task list; empty where none is declared.",
        "",
        "new",
    ),
)
_EXPERIMENT_KEY = Column(
    "experiment_key", "text", "The full condition as one text; equal keys mean equal conditions.", "", "new"
)
_RUN_PATH = Column("run_path", "text", "Path of the run under matrix_path; identifies the run.", "", "new")


def _phase_columns(phase: str) -> tuple[Column, ...]:
    label = phase.replace("_", " ")
    return (
        Column(f"{phase}_started_at", "time", f"Start of {label}."),
        Column(f"{phase}_finished_at", "time", f"End of {label}."),
        Column(
            f"{phase}_sec",
            "number",
            f"Duration of {label}; empty if an end is missing or unreadable.",
            "seconds",
        ),
    )


_AGGREGATE = (
    _RUN_LABEL,
    _PAIR_LABEL,
    _REPETITION,
    _count("expected_task_count", "Tasks the run was expected to attempt.", "tasks"),
    _count("result_file_count", "Trials with a result.json."),
    _count("valid_result_count", "Trials with a readable result.json."),
    _count("completed_result_count", "Trials with a finish time."),
    Column("coverage", "number", "Completed results over expected tasks, at most 1.", "fraction 0-1"),
    Column(
        "score",
        "number",
        "Sum of scored rewards over the expected task count, a missing one counting 0.",
        "reward",
    ),
    _count("exact_passes", "Scored trials of class pass."),
    _count("partials", "Scored trials of class partial."),
    _count("nonzero", "Scored trials with a reward above 0."),
    _count("infra", "Trials of class infra, rows that do not score included."),
    _count("agent_exits", "Scored trials of class agent_exit."),
    _count("clean_completed", "Scored trials of class clean_fail, partial or pass."),
    _count("missing_reward", "Scored trials of class verifier_missing_reward."),
    Column("clean_coverage", "number", "Clean completed trials over expected tasks.", "fraction 0-1"),
    Column("incomplete", "boolean", "Whether some expected task lacks exactly one finished result."),
    Column("infra_dominated", "boolean", "Whether more than half of the expected tasks failed by infrastructure."),
    Column(
        "harness_wide_failure",
        "boolean",
        "Whether one infrastructure failure recurs in at least a quarter of the tasks.",
    ),
    Column("harness_wide_failure_signature", "text", "The recurring failure; empty when there is none."),
    Column("run_accepted", "boolean", "Whether the run's execution was accepted."),
    Column("run_acceptance_reason", "text", "Why the run was rejected; empty when accepted."),
    Column("canonical_model_identity", "boolean", "Whether every judged trial ran the intended model."),
    Column("trajectory_complete", "boolean", "Whether every judged trial has a real trajectory."),
    Column("parity_validated", "boolean", "Whether parity with Harbor is validated; never a gate."),
    Column("parity_validation_status", "text", "Status of the parity validation."),
    Column("parity_validation_scope", "text", "Scope of the parity validation, compact JSON."),
    Column("eligible", "boolean", "Whether the run counts in cells and comparisons."),
    Column("exclusion_reason", "text", "First gate that failed; empty when eligible."),
    *_usage(", summed over scored trials"),
    *CONDITION_COLUMNS,
    _EXPERIMENT_KEY,
    _RUN_PATH,
    Column("score_observed", "number", "Mean reward of the trials that have one.", "reward", "new"),
    _count("scored_trials", "Trials that count for the run, missing ones not included.", origin="new"),
    _count("missing_rewards", "Expected tasks without a scored reward.", "tasks", "new"),
    _count("full_rewards", "Tasks solved: scored reward of at least 1, agent exits included.", "tasks", "new"),
    _count("missing_tasks", "Expected tasks without any result.", "tasks", "new"),
    _count("duplicate_results", "Further results of a task that has one already.", origin="new"),
    _count("unexpected_results", "Results of tasks that were not expected.", origin="new"),
    Column("phase", "text", "Phase of the run as recorded.", "", "new"),
    Column("exclusion_reasons", "text", "Every gate that failed, joined by semicolons.", "", "new"),
)

_PER_TASK = (
    _RUN_LABEL,
    _PAIR_LABEL,
    _REPETITION,
    Column("task_name", "text", "Task identity: the leaf of its path, the whole path where leaves repeat."),
    Column("task_path", "text", "Path of the task as recorded, with forward slashes."),
    Column("trial_name", "text", "Name of the trial."),
    Column("result_path", "text", "Path of the result.json under matrix_path; empty when there is none."),
    Column(
        "classification",
        "text",
        "Outcome class: infra, agent_exit, verifier_missing_reward, clean_fail, partial or pass.",
    ),
    Column("execution_outcome", "text", "Kind of execution outcome, recorded or inferred."),
    Column("execution_exit_code", "integer", "Exit code of the execution.", "code"),
    Column("execution_reason", "text", "Reason of the execution outcome."),
    Column("reward", "number", "Scored reward; empty when there is none.", "reward"),
    Column("exception_type", "text", "Type of the recorded exception."),
    Column("exception_message", "text", "Message of the recorded exception."),
    Column("exception_occurred_at", "time", "Time of the recorded exception."),
    Column("started_at", "time", "Start of the trial."),
    Column("finished_at", "time", "End of the trial."),
    Column(
        "duration_sec",
        "number",
        "Duration of the trial; empty if an end is missing or unreadable.",
        "seconds",
    ),
    *(column for phase in PHASES for column in _phase_columns(phase)),
    *_usage(""),
    Column("source", "text", "Origin of the trial as recorded."),
    Column("trajectory_status", "text", "Status of the trajectory."),
    Column("runtime_model_name", "text", "Model observed at run time."),
    Column(
        "canonical_model_identity",
        "boolean",
        "Whether the trial ran the intended model; empty when not recorded.",
    ),
    *CONDITION_COLUMNS,
    _EXPERIMENT_KEY,
    _RUN_PATH,
    _count("run_expected_task_count", "The run's expected task count.", "tasks", "new"),
    Column("run_score", "number", "The run's score.", "reward", "new"),
    Column("run_coverage", "number", "The run's coverage.", "fraction 0-1", "new"),
    _count("run_exact_passes", "The run's exact passes.", origin="new"),
    Column("run_eligible", "boolean", "Whether the run is eligible.", "", "new"),
    Column("run_exclusion_reason", "text", "First gate that the run failed.", "", "new"),
    Column(
        "scorable",
        "boolean",
        "Whether the row may enter a statistic; False for duplicates, intruders and placeholders.",
        "",
        "new",
    ),
    Column("recorded_reward", "number", "Reward as recorded, whatever the outcome.", "reward", "new"),
    Column(
        "reward_flags",
        "text",
        "What is unusual about the reward: findings codes joined by semicolons.",
        "",
        "new",
    ),
)

_INFRA = (
    _RUN_LABEL,
    _PAIR_LABEL,
    _REPETITION,
    *(column for column in _PER_TASK if column.name in {"task_name", "task_path", "trial_name", "result_path"}),
    *(column for column in _PER_TASK if column.name.startswith("exception_")),
    _EXPERIMENT_KEY,
    _RUN_PATH,
)

_REPAIR = (
    _RUN_LABEL,
    _PAIR_LABEL,
    _REPETITION,
    Column("original_run_label", "text", "Label of the run that was repaired; empty when not recorded."),
    _count("expected_task_count", "Tasks the run was expected to attempt.", "tasks"),
    _count("original_task_count", "Tasks taken from the original run.", "tasks"),
    _count("repaired_task_count", "Tasks that were run again.", "tasks"),
    _count("unknown_source_task_count", "Tasks of unknown source.", "tasks"),
    _count("original_result_count", "Results of the original run; empty when it is not in the matrix."),
    _count("repaired_result_count", "Results of the repair run."),
    Column(
        "original_score",
        "number",
        "Score of the original run; empty when a delta is not available.",
        "reward",
    ),
    Column("repaired_score", "number", "Score of the repair run.", "reward"),
    Column("score_delta", "number", "Repaired less original score.", "reward"),
    Column("delta_status", "text", "Whether a delta is available, and why not."),
    _EXPERIMENT_KEY,
    _RUN_PATH,
    Column(
        "original_run_path",
        "text",
        "Path of the original run; empty when it is not in the matrix.",
        "",
        "new",
    ),
)

_FINDINGS = (
    Column("severity", "text", "error, warning or note.", "", "new"),
    Column("code", "text", "Stable code of the kind of finding.", "", "new"),
    Column("run_path", "text", "Run concerned; empty for the whole matrix.", "", "new"),
    Column("task", "text", "Task or trial concerned.", "", "new"),
    Column("field", "text", "Field or file concerned.", "", "new"),
    Column("message", "text", "What was found and what was done about it.", "", "new"),
)

SUMMARY_TABLES: dict[str, tuple[Column, ...]] = {
    "aggregate_results.csv": _AGGREGATE,
    "per_task_results.csv": _PER_TASK,
    "infra_failures.csv": _INFRA,
    "repair_overlay_sensitivity.csv": _REPAIR,
    "findings.csv": _FINDINGS,
}
