"""The sections of the matrix report: frames in, sentences and tables out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pandas as pd

from shellbench_lib.blocks import Block, Shown, bullets, paragraph, stack, table
from shellbench_lib.export import TAXONOMY, InputSummary
from shellbench_lib.findings import FINDING_KINDS

MIXED_CODE = "mixed_condition"
TOLERANCE = 1e-9  # a difference of this size is rounding, so that 0.5 counts as 0.5
FINDINGS_SHOWN = 40


def count(number: int, noun: str, plural: str = "") -> str:
    """Return a count with its noun, `1 run` or `2 runs`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def dataset_column(frame: pd.DataFrame) -> list[Shown]:
    """Return the dataset's column where a frame holds several datasets; one dataset is named once, above."""
    return [Shown("dataset_key", "Dataset")] if len(set(frame["dataset_key"])) > 1 else []


def input_overview(found: InputSummary, findings: pd.DataFrame) -> Block:
    """Say what was read, whatever is eligible, and first of all where a cell mixes conditions."""
    mixed = findings.loc[findings["code"] == MIXED_CODE, "message"].tolist()
    sentences = [
        f"Recognised as {found.description}.",
        f"{count(found.trials_found, 'trial')} with a readable result, {found.trials_scored:,} with a scored reward, "
        f"{found.trials_solved:,} solved (scored reward of at least 1), eligible or not.",
        f"{found.eligible_run_count} of {count(found.run_count, 'run')} eligible; only these enter cells and "
        "comparisons.",
    ]
    errors = int((findings["severity"] == "error").sum())
    warnings = int((findings["severity"] == "warning").sum())
    sentences.append(f"{count(errors, 'error')} and {count(warnings, 'warning')} were noticed; see Findings.")
    if mixed:
        return stack([bullets([f"Mixed condition: {message}." for message in mixed]), paragraph(*sentences)])
    return paragraph(*sentences)


def dataset_table(datasets: Sequence[dict[str, Any]]) -> Block:
    """Show the datasets of a matrix with their counts; several are never pooled."""
    sentence = (
        f"{len(datasets)} datasets; they differ in task revision, task count or task list and are never pooled."
        if len(datasets) > 1
        else "One dataset."
    )
    columns = [
        Shown("dataset_key", "Dataset"),
        Shown("suite_task_count", "Tasks", "integer"),
        Shown("total_runs", "Runs", "integer"),
        Shown("eligible_runs", "Eligible runs", "integer"),
        Shown("experiment_cells", "Cells", "integer"),
        Shown("high_variance_tasks", "High-variance tasks", "integer"),
    ]
    return table(pd.DataFrame(list(datasets)), columns, caption=sentence)


def exclusions(runs: pd.DataFrame) -> Block:
    """Say how many runs were excluded for which reason, counts first, then list every one."""
    excluded = runs[~runs["eligible"].astype(bool)]
    if excluded.empty:
        return paragraph("No run was excluded.")
    reasons: Counter[str] = Counter()
    for text in excluded["exclusion_reasons"]:
        reasons.update(text.split(";"))
    first = Counter(excluded["exclusion_reason"])
    counts = pd.DataFrame(
        [
            {"reason": reason, "first": first.get(reason, 0), "any": total}
            for reason, total in sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
        ]
    )
    reason_table = table(
        counts,
        [Shown("reason", "Reason"), Shown("first", "First reason of", "integer"), Shown("any", "Holds for", "integer")],
        caption=f"{len(excluded)} of {count(len(runs), 'run')} excluded; excluded runs stay in every listing.",
    )
    listing = table(
        excluded.assign(reasons=excluded["exclusion_reasons"].str.replace(";", ", ")),
        [
            Shown("run_path", "Run"),
            Shown("reasons", "Reasons"),
            Shown("score", "Score", "score"),
            Shown("coverage", "Coverage", "percent"),
            Shown("missing_tasks", "Missing tasks", "integer"),
            Shown("infra", "Infra", "integer"),
        ],
        caption="Every excluded run with all its reasons.",
    )
    return stack([reason_table, listing])


def run_listing(runs: pd.DataFrame) -> Block:
    """Show every run with its condition, scores and eligibility."""
    return table(
        runs,
        [
            Shown("run_path", "Run"),
            Shown("harness", "Harness"),
            Shown("model_slug", "Model"),
            Shown("reasoning_effort", "Effort"),
            Shown("repetition", "Repetition", "integer"),
            Shown("score", "Score", "score"),
            Shown("score_observed", "Score observed", "score"),
            Shown("full_rewards", "Solved", "integer"),
            Shown("missing_rewards", "Missing rewards", "integer"),
            Shown("eligible", "Eligible"),
            Shown("exclusion_reason", "Exclusion reason"),
        ],
        caption="Score counts a missing reward as 0; score observed is the mean over the trials that have one.",
    )


def task_cells(cells: pd.DataFrame, limit: int) -> Block:
    """Show the task cells that vary most between repetitions."""
    ordered = cells.sort_values(
        ["reward_stdev", "dataset_key", "task_name"], ascending=[False, True, True], kind="stable"
    )
    several = ordered[ordered["repetitions"] > 1]
    return table(
        several,
        [
            *dataset_column(several),
            Shown("harness", "Harness"),
            Shown("model_slug", "Model"),
            Shown("reasoning_effort", "Effort"),
            Shown("task_name", "Task"),
            Shown("repetitions", "Repetitions", "integer"),
            Shown("mean_reward", "Mean reward", "score"),
            Shown("reward_stdev", "Standard deviation", "score"),
            Shown("missing_rewards", "Missing rewards", "integer"),
        ],
        caption=f"{count(len(cells), 'task cell')}; those whose repetitions disagree most.",
        limit=limit,
    )


def high_variance_tasks(diagnostics: pd.DataFrame, threshold: float, limit: int) -> Block:
    """Show the tasks whose cell means differ most."""
    large = int((diagnostics["range_across_cells"] >= threshold - TOLERANCE).sum())
    return table(
        diagnostics,
        [
            *dataset_column(diagnostics),
            Shown("task_name", "Task"),
            Shown("cell_count", "Cells", "integer"),
            Shown("mean_cell_reward", "Mean", "score"),
            Shown("cell_reward_stdev", "Standard deviation", "score"),
            Shown("range_across_cells", "Range", "score"),
            Shown("best_cell", "Best cells"),
            Shown("worst_cell", "Worst cells"),
        ],
        caption=f"{large} of {count(len(diagnostics), 'task')} with a range of at least {threshold:g} across cells.",
        limit=limit,
    )


def delta_overview(deltas: pd.DataFrame, keys: Sequence[str], left: str, right: str, threshold: float) -> Block:
    """Show each comparison of a delta table: tasks, mean delta, and how many tasks go each way.

    Args:
        deltas: one row per comparison and task with a `delta`.
        keys: the columns that hold the condition held fixed.
        left: the column of the side that a positive delta favours.
        right: the other side's column.
        threshold: an absolute delta of at least this counts as large.
    """
    if deltas.empty:
        return paragraph("No two cells of the matrix form such a pair.")
    value = deltas["delta"]
    marked = deltas.assign(up=value > TOLERANCE, down=value < -TOLERANCE, large=value.abs() >= threshold - TOLERANCE)
    grouped = marked.groupby(["dataset_key", *keys, left, right], sort=False, dropna=False)
    overview = grouped.agg(
        tasks=("delta", "size"), mean=("delta", "mean"), up=("up", "sum"), down=("down", "sum"), large=("large", "sum")
    ).reset_index()
    return table(
        overview,
        [
            *dataset_column(overview),
            *(Shown(key, key.replace("_", " ").capitalize()) for key in keys),
            Shown(left, left.replace("_", " ").capitalize()),
            Shown(right, right.replace("_", " ").capitalize()),
            Shown("tasks", "Tasks", "integer"),
            Shown("mean", "Mean delta", "signed"),
            Shown("up", "Tasks up", "integer"),
            Shown("down", "Tasks down", "integer"),
            Shown("large", f"|delta| \u2265 {threshold:g}", "integer"),
        ],
        caption=f"{count(len(overview), 'comparison')} over {count(len(deltas), 'task delta')}; "
        f"a positive delta favours the {left.replace('_', ' ')}.",
    )


def outcome_table(outcomes: pd.DataFrame) -> Block:
    """Show how the trials of each cell ended."""
    names = list(TAXONOMY)
    columns = [*dataset_column(outcomes), Shown("cell", "Cell"), Shown("trials", "Trials", "integer")]
    columns += [Shown(name, name.replace("_", " "), "integer") for name in names]
    columns.append(Shown("missing_rewards", "without a reward", "integer"))
    return table(outcomes, columns, caption="Trials of eligible runs by outcome class; they add up to the trials.")


def usage_table(costs: pd.DataFrame) -> Block:
    """Show tokens, cost and time of each cell, with how many trials and runs were known."""
    return table(
        costs,
        [
            *dataset_column(costs),
            Shown("cell", "Cell"),
            Shown("quantity", "Quantity"),
            Shown("unit", "Unit"),
            Shown("known_trials", "Known trials", "integer"),
            Shown("trials", "Trials", "integer"),
            Shown("per_trial", "Per trial", "money"),
            Shown("known_runs", "Known runs", "integer"),
            Shown("runs", "Runs", "integer"),
            Shown("per_run", "Per run", "money"),
            Shown("per_solved", "Per solved task", "money"),
            Shown("reason", "Why empty"),
        ],
        caption="Per trial: mean over known trials. Per run and per solved task: fully known runs only.",
    )


def policy_table(policies: pd.DataFrame, policy: str) -> Block:
    """Say what the other missing-reward policy would change in the cells' means."""
    affected = policies[policies["missing_rewards"] > 0]
    if affected.empty:
        return paragraph(f"No reward is missing, so the policy ({policy}) changes nothing.")
    return table(
        affected,
        [
            *dataset_column(affected),
            Shown("cell", "Cell"),
            Shown("missing_rewards", "Missing rewards", "integer"),
            Shown("mean_zero", "Mean under zero", "score"),
            Shown("mean_exclude", "Mean under exclude", "score"),
            Shown("difference", "Difference", "signed"),
        ],
        caption=f"This report uses the policy {policy}. "
        f"{len(affected)} of {count(len(policies), 'cell')} miss a reward.",
    )


def findings_tables(findings: pd.DataFrame) -> Block:
    """Count the findings by kind and list the most serious ones."""
    if findings.empty:
        return paragraph("Nothing unusual was found.")
    counts = findings.groupby(["severity", "code"], sort=False).size().reset_index(name="count")
    counts["meaning"] = [FINDING_KINDS[code].meaning for code in counts["code"]]
    summary = table(
        counts,
        [
            Shown("severity", "Severity"),
            Shown("code", "Code"),
            Shown("count", "Count", "integer"),
            Shown("meaning", "Meaning"),
        ],
        caption=f"{count(len(findings), 'finding')}; all of them stand in summaries/findings.csv.",
    )
    serious = findings[findings["severity"] != "note"]
    grouped = serious.groupby(["severity", "code", "run_path"], sort=False)
    listed = grouped.agg(count=("code", "size"), task=("task", "first"), message=("message", "first")).reset_index()
    listing = table(
        listed,
        [
            Shown("severity", "Severity"),
            Shown("code", "Code"),
            Shown("run_path", "Run"),
            Shown("count", "Count", "integer"),
            Shown("task", "First task or trial"),
            Shown("message", "First message"),
        ],
        caption="Errors and warnings by run, the most serious first.",
        limit=FINDINGS_SHOWN,
    )
    return stack([summary, listing])


def definitions() -> Block:
    """Explain the words of the report."""
    words = [
        "Trial: one attempt at one task. Run: one repetition of the whole suite under one condition. Cell: all runs of "
        "one harness, model and reasoning effort in one dataset.",
        "Dataset: one task revision, task count and, where lists differ, task list. Datasets are never pooled.",
        "Score of a run: sum of its scored rewards over the expected task count; a missing reward counts 0. Score "
        "observed: mean over the trials that have a reward.",
        "Solved: a scored reward of at least 1, agent exits included. Exact passes: trials of class pass.",
        "Missing reward: a trial without a scored reward. Under the policy zero it scores 0, under exclude it is left "
        "out.",
        "Delta: the difference of two cell means on one task, everything but the compared factor held fixed.",
        "A dash (\u2013) stands for an unknown value; unknown is never 0.",
        *(f"{name}: {meaning}" for name, meaning in TAXONOMY.items()),
    ]
    return bullets(words)
