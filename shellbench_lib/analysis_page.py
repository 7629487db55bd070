"""ANALYSIS.md: the analysis as a page of Markdown. Every name is escaped; every number stands in a table beside it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from shellbench_lib.figures.boxes import Drawn
from shellbench_lib.statistics.tasks import DIAGNOSTICS_FILE
from shellbench_lib.text import markdown

LABELS_SHOWN = 3  # tied cells that are named; of further ones the number is given
UNKNOWN = "-"
_DATASET_HEADER = ("Dataset", "Revision", "Tasks", "Runs", "Eligible runs", "Cells", "High-variance tasks")
_TASK_HEADER = ("Task", "Cells", "Mean", "Stdev", "Range", "Best cell", "Worst cell")
_POLICIES = {
    "zero": "a trial without a reward scores 0 in every mean below.",
    "exclude": "a trial without a reward is left out of every mean below.",
}
GLOSSARY = (
    "**Dataset**: one task revision and task count. Datasets are never pooled.",
    "**Cell**: all eligible runs of one harness, model and reasoning effort in one dataset.",
    "**Mean**: mean over the cells of a cell's mean reward on the task; **stdev**: sample standard deviation of the "
    "cells' means, 0 for a single cell; **range**: highest less lowest of them.",
    "**Harness delta**: left less right harness on one task, model and effort held fixed.",
    "**Reasoning delta**: higher less lower of two neighbouring efforts on one task, harness and model held fixed. "
    "Blank and unknown efforts take no part.",
    "**Model delta**: left less right model on one task, harness and effort held fixed.",
    "**Missing reward**: a trial without a scored reward. Missing is not zero: the number of them stands beside every "
    "mean in task_cell_summary.csv.",
    f"**{UNKNOWN}**: unknown; unknown is never 0.",
)


def analysis_page(summary: Mapping[str, Any], tables: Mapping[str, pd.DataFrame], drawn: Sequence[Drawn]) -> str:
    """Return the page.

    Args:
        summary: the content of analysis_summary.json.
        tables: the tables by file name.
        drawn: the figures.
    """
    settings, datasets = summary["settings"], summary["datasets"]
    lines = ["# Task analysis", "", "## Summary", "", *_summary_bullets(summary), "", "## Datasets", ""]
    lines += _table(_DATASET_HEADER, [_dataset_row(dataset) for dataset in datasets])
    for dataset in datasets:
        key = dataset["dataset_key"]
        rows = tables[DIAGNOSTICS_FILE]
        rows = rows[rows["dataset_key"] == key].head(settings["top_tasks"])
        lines += ["", f"## Dataset {markdown(key)}", ""]
        if rows.empty:
            lines.append("No task of an eligible run: nothing to compare.")
        else:
            lines += [f"The {len(rows)} tasks with the widest range across cells.", ""]
            lines += _table(_TASK_HEADER, [_task_row(row) for row in rows.to_dict("records")])
        lines += _figures([figure for figure in drawn if figure.dataset_key == key])
    lines += ["", "## Words", "", *(f"- {line}" for line in GLOSSARY)]
    return "\n".join(lines) + "\n"


def _summary_bullets(summary: Mapping[str, Any]) -> list[str]:
    source, settings = summary["source"], summary["settings"]
    threshold = f"{settings['high_variance_threshold']:g}"
    lines = [
        f"- {source['eligible_run_count']} of {source['run_count']} runs are eligible; only these are analysed.",
        f"- Missing rewards: {_POLICIES[settings['missing_reward']]}",
    ]
    if len(summary["datasets"]) > 1:
        lines.append(f"- **Warning**: {len(summary['datasets'])} datasets. They are never pooled nor compared.")
    if not source["eligible_run_count"]:
        lines.append("- **Warning**: no run is eligible, so there is nothing to analyse.")
    return lines + [f"- {_dataset_sentence(item, threshold)}" for item in summary["datasets"]]


def _dataset_sentence(item: Mapping[str, Any], threshold: str) -> str:
    return (
        f"{markdown(item['dataset_key'])}: {item['experiment_cells']} cells on {item['tasks']} tasks; "
        f"{item['high_variance_tasks']} tasks with a range of at least {threshold}; "
        f"{item['large_harness_deltas']} of {item['harness_task_comparisons']} harness deltas and "
        f"{item['large_model_deltas']} of {item['model_task_comparisons']} model deltas of at least {threshold} in "
        f"size; of {item['reasoning_task_comparisons']} reasoning deltas {item['reasoning_improvements']} up and "
        f"{item['reasoning_regressions']} down; {item['missing_rewards']} missing rewards."
    )


def _dataset_row(item: Mapping[str, Any]) -> tuple[str, ...]:
    count = item["suite_task_count"]
    return (
        markdown(item["dataset_key"]),
        markdown(item["task_revision"]) or UNKNOWN,
        UNKNOWN if count is None else str(count),
        str(item["total_runs"]),
        str(item["eligible_runs"]),
        str(item["experiment_cells"]),
        str(item["high_variance_tasks"]),
    )


def _task_row(row: Mapping[Any, Any]) -> tuple[str, ...]:
    numbers = ("mean_cell_reward", "cell_reward_stdev", "range_across_cells")
    return (
        markdown(row["task_name"]),
        str(row["cell_count"]),
        *(UNKNOWN if math.isnan(row[name]) else f"{row[name]:.4f}" for name in numbers),
        _labels(row["best_cell"]),
        _labels(row["worst_cell"]),
    )


def _labels(joined: str) -> str:
    labels = joined.split(";")
    shown = ", ".join(markdown(label) for label in labels[:LABELS_SHOWN])
    more = len(labels) - LABELS_SHOWN
    return f"{shown} and {more} more" if more > 0 else shown


def _figures(figures: Iterable[Drawn]) -> list[str]:
    lines = []
    for figure in figures:
        title = figure.kind.replace("-", " ").capitalize()
        for name, _ in figure.files:
            lines += ["", f"![{title}]({name})"]
        for sentence in figure.sentences:
            lines += ["", markdown(sentence)]
    return lines


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    body = [header, ["---"] * len(header), *rows]
    return ["| " + " | ".join(cells) + " |" for cells in body]
