"""The sections on uncertainty: is a gap real, which tasks make it, and what this matrix cannot say."""

from __future__ import annotations

import pandas as pd

from shellbench_lib.blocks import Block, Shown, paragraph, stack, table
from shellbench_lib.sections import count, dataset_column

INFLUENTIAL_SHOWN = 8  # tasks listed for each lead


def _settings_caption(level: float) -> str:
    return f"Intervals at {level:.0%}."


def leaderboard(board: pd.DataFrame, level: float) -> Block:
    """Show the cells by mean score with their uncertainty, and which of them the leader does not beat."""
    shown = board.assign(
        interval=_interval(board, "score_low", "score_high"),
        ranks=[_span(low, high) for low, high in zip(board["rank_low"], board["rank_high"], strict=True)],
        lead=[_lead(*row) for row in zip(board["lead_verdict"], board["lead_narrow"], strict=True)],
    )
    caption = (
        f"{_settings_caption(level)} Standing comes from the leader's paired comparisons (Holm), never from "
        "overlapping intervals. Fixed tasks: would this number come out again; task population: on other tasks of "
        "this kind."
    )
    return table(
        shown,
        [
            *dataset_column(shown),
            Shown("rank", "Rank", "integer"),
            Shown("cell", "Cell"),
            Shown("runs", "Runs", "integer"),
            Shown("tasks", "Tasks", "integer"),
            Shown("mean_score", "Mean score", "score"),
            Shown("interval", "Interval"),
            Shown("standing", "Standing"),
            Shown("lead", "Leader against this cell"),
            Shown("lead_delta", "Leader's lead", "signed"),
            Shown("lead_p_holm", "p (Holm)", "score"),
            Shown("ranks", "Rank interval"),
            Shown("probability_best", "Chance of being best", "percent"),
            Shown("solved_rate", "Solved", "percent"),
            Shown("se_fixed_tasks", "SE, fixed tasks", "score"),
            Shown("se_task_population", "SE, task population", "score"),
            Shown("run_stdev", "SD between runs", "score"),
        ],
        caption=caption,
    )


def _interval(frame: pd.DataFrame, low: str, high: str) -> list[str]:
    return [
        "" if pd.isna(a) or pd.isna(b) else f"{a:.3f} to {b:.3f}".replace("-", "\u2212")
        for a, b in zip(frame[low], frame[high], strict=True)
    ]


def _span(low: object, high: object) -> str:
    return "" if pd.isna(low) or pd.isna(high) else f"{low} to {high}"  # type: ignore[call-overload]


def _lead(verdict: str, narrow: object) -> str:
    return f"{verdict}, narrow" if narrow is True and verdict else verdict


def comparisons(found: pd.DataFrame, factor: str, level: float) -> Block:
    """Show the paired comparisons of one factor with their verdicts."""
    chosen = found[found["factor"] == factor]
    if chosen.empty:
        return paragraph(f"No two cells differ in the {factor} alone.")
    shown = chosen.assign(
        interval=_interval(chosen, "delta_low", "delta_high"),
        verdict=[_lead(verdict, narrow) for verdict, narrow in zip(chosen["verdict"], chosen["narrow"], strict=True)],
    )
    return table(
        shown,
        [
            *dataset_column(shown),
            Shown("left_cell", "Left cell"),
            Shown("right_cell", "Right cell"),
            Shown("verdict", "Left is"),
            Shown("mean_delta", "Mean delta", "signed"),
            Shown("interval", "Interval"),
            Shown("p_holm", "p (Holm)", "score"),
            Shown("p_value", "p", "score"),
            Shown("n_tasks", "Tasks", "integer"),
            Shown("wins", "Wins", "integer"),
            Shown("losses", "Losses", "integer"),
            Shown("ties", "Ties", "integer"),
            Shown("tie_k", "Tasks to a tie", "integer"),
            Shown("flip_k", "Tasks to a flip", "integer"),
            Shown("trimmed_mean_delta", "Trimmed mean", "signed"),
            Shown("top_task_share", "Share of the top 5 % of tasks", "percent"),
            Shown("minimum_detectable_effect", "Detectable at 80 % power", "score"),
            Shown("probability_of_improvement", "Chance that left is better on a task", "percent"),
            Shown("imputed_scores", "Imputed scores", "integer"),
            Shown("dropped_tasks", "Dropped tasks", "integer"),
            Shown("note", "Note"),
        ],
        caption=f"{count(len(shown), 'comparison')} of the factor {factor}, one Holm family per dataset. "
        f"{_settings_caption(level)}",
    )


def influence(found: pd.DataFrame, tasks: pd.DataFrame) -> Block:
    """Show, for each significant or narrow comparison, the tasks that carry it.

    Args:
        found: the paired comparisons.
        tasks: the task influence table.
    """
    chosen = found[found["verdict"].isin({"better", "worse"}) & (found["factor"] != "leader")]
    if chosen.empty:
        return paragraph("No comparison is significant, so no lead has tasks to name.")
    blocks = []
    for row in chosen.to_dict("records"):
        same = (tasks["dataset_key"] == row["dataset_key"]) & (tasks["factor"] == row["factor"])
        same &= (tasks["left_cell"] == row["left_cell"]) & (tasks["right_cell"] == row["right_cell"])
        helpful = tasks[same].sort_values("removal_order", kind="stable")
        caption = (
            f"{row['left_cell']} against {row['right_cell']}: {_lead(row['verdict'], row['narrow'])}; {_removal(row)}"
        )
        blocks.append(
            table(
                helpful,
                [
                    Shown("removal_order", "Order", "integer"),
                    Shown("task_name", "Task"),
                    Shown("delta", "Delta", "signed"),
                    Shown("share_of_total", "Share of the total", "percent"),
                    Shown("mean_without", "Mean without it", "signed"),
                    Shown("mean_after_removal", "Mean after taking out all so far", "signed"),
                    Shown("in_tie_set", "In the tie set"),
                ],
                caption=caption,
                limit=INFLUENTIAL_SHOWN,
            )
        )
    return stack(blocks)


def _removal(row: dict[object, object]) -> str:
    if row["tie_k"] is None or pd.isna(row["tie_k"]):  # type: ignore[call-overload]
        return "no removal of tasks brings it to a tie."
    return f"taking out the {count(int(row['tie_k']), 'most helpful task')} brings it to a tie or below."  # type: ignore[call-overload]


def clusters(found: pd.DataFrame, sentences: list[str]) -> Block:
    """Show the clusters of tasks that succeed and fail together."""
    blocks = [paragraph(*sentences)] if sentences else []
    if not found.empty:
        grouped = found[found["cluster"].notna()].groupby(["dataset_key", "cluster"], sort=False)
        members = grouped.agg(
            size=("task_name", "size"), mean=("mean_score", "mean"), tasks=("task_name", ", ".join)
        ).reset_index()
        several = members[members["size"] > 1]
        constant = int((found["constant"] == True).sum())  # noqa: E712 - the column holds None as well
        alone = int((members["size"] == 1).sum())
        blocks.append(
            table(
                several,
                [
                    *dataset_column(several),
                    Shown("cluster", "Cluster", "integer"),
                    Shown("size", "Tasks", "integer"),
                    Shown("mean", "Mean score", "score"),
                    Shown("tasks", "Task names"),
                ],
                caption=f"Average linkage on 1 less correlation, cut at {found['cut_height'].iloc[0]:g}. "
                f"{count(alone, 'task')} alone, {count(constant, 'task')} with one score in every cell. A picture for "
                "triage; no test is run on it.",
            )
        )
    return stack(blocks) if blocks else paragraph("No dataset has an eligible cell.")


def variance(found: pd.DataFrame) -> Block:
    """Show the variance components, the reliability of the ranking and what more repetitions or tasks would buy."""
    planned = found["quantity"] == "planned design"
    components = table(
        found[~planned],
        [
            *dataset_column(found),
            Shown("quantity", "Quantity"),
            Shown("value", "Value", "score"),
            Shown("share", "Share", "percent"),
            Shown("set_to_zero", "Negative, shown as 0"),
            Shown("cells", "Cells", "integer"),
            Shown("tasks", "Tasks", "integer"),
            Shown("repetitions", "Repetitions", "integer"),
            Shown("reason", "Why empty"),
        ],
        caption="Analysis of variance at the repetitions of the cell with fewest, on the tasks that every cell has "
        "scored that often.",
    )
    plan = table(
        found[planned],
        [
            *dataset_column(found),
            Shown("tasks", "Tasks", "integer"),
            Shown("repetitions", "Repetitions", "integer"),
            Shown("standard_error", "Standard error of a paired difference", "score"),
            Shown("minimum_detectable_effect", "Detectable at 80 % power", "score"),
            Shown("reason", "Why empty"),
        ],
        caption="What another design would buy: repetitions on these tasks, or half as many tasks again.",
    )
    return stack([components, plan])


def quality(found: pd.DataFrame) -> Block:
    """Count the tasks with each flag and list the flagged ones."""
    names = ("saturated", "impossible", "flaky", "negative_discrimination", "infra_prone")
    flags = {name: found[name].eq(other=True) for name in names}
    flagged = found[pd.DataFrame(flags).any(axis=1)] if len(found) else found
    counts = ", ".join(f"{int(values.sum())} {name.replace('_', ' ')}" for name, values in flags.items())
    return table(
        flagged.assign(
            flags=[
                ", ".join(n.replace("_", " ") for n in names if row[n] is True) for row in flagged.to_dict("records")
            ]
        ),
        [
            *dataset_column(found),
            Shown("task_name", "Task"),
            Shown("flags", "Flags"),
            Shown("mean_score", "Mean score", "score"),
            Shown("min_cell_score", "Lowest cell", "score"),
            Shown("max_cell_score", "Highest cell", "score"),
            Shown("flaky_cells", "Flaky cells", "integer"),
            Shown("repeated_cells", "of", "integer"),
            Shown("discrimination", "Discrimination", "signed"),
            Shown("signal_to_noise", "Signal to noise", "score"),
            Shown("infra_failures", "Infra failures", "integer"),
        ],
        caption=f"Of {count(len(found), 'task')}: {counts}.",
        limit=40,
    )


def reliability(found: pd.DataFrame) -> Block:
    """Show pass@k and pass^k of every cell."""
    return table(
        found,
        [
            *dataset_column(found),
            Shown("cell", "Cell"),
            Shown("k", "k", "integer"),
            Shown("pass_at_k", "pass@k", "percent"),
            Shown("pass_hat_k", "pass^k", "percent"),
            Shown("tasks", "Tasks", "integer"),
            Shown("flaky_tasks", "Flaky tasks", "integer"),
            Shown("flaky_share", "Flaky share", "percent"),
            Shown("reason", "Why empty"),
        ],
        caption="pass@k: at least one of k attempts solves the task; pass^k: all k do.",
    )


def sensitivity(found: pd.DataFrame) -> Block:
    """Show every verdict under both missing-reward policies, those that change first."""
    if found.empty:
        return paragraph("There is no comparison, so no verdict can change.")
    changed = int(found["changes"].eq(other=True).sum())
    return table(
        found,
        [
            *dataset_column(found),
            Shown("factor", "Factor"),
            Shown("left_cell", "Left cell"),
            Shown("right_cell", "Right cell"),
            Shown("changes", "Changes"),
            Shown("verdict_zero", "Verdict under zero"),
            Shown("verdict_exclude", "Verdict under exclude"),
            Shown("mean_delta_zero", "Mean delta, zero", "signed"),
            Shown("mean_delta_exclude", "Mean delta, exclude", "signed"),
            Shown("missing_rewards", "Missing rewards", "integer"),
        ],
        caption=f"{changed} of {count(len(found), 'comparison')} would come out differently under the other policy.",
        limit=20,
    )
