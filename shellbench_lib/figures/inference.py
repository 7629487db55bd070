"""The figures about uncertainty, one of each kind for every dataset, drawn from the tables."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from shellbench_lib.figures.boxes import Drawn, no_figure
from shellbench_lib.figures.heat_map import HEAT_MAP, heat_map
from shellbench_lib.figures.panels import COST, CURVES, PLAN, influence_curves, planned_designs, score_against_cost
from shellbench_lib.figures.ranges import (
    COMPARISONS,
    LEADERBOARD,
    QUALITY,
    RELIABILITY,
    SENSITIVITY,
    RangePlot,
    comparison_plot,
    draw_ranges,
    leaderboard_plot,
    quality_plot,
    reliability_plot,
    sensitivity_plot,
)
from shellbench_lib.statistics.cells import DatasetScores, MissingReward
from shellbench_lib.statistics.clusters import MIN_CELLS

INFERENCE_KINDS = (LEADERBOARD, COMPARISONS, CURVES, HEAT_MAP, PLAN, QUALITY, RELIABILITY, COST, SENSITIVITY)
NO_RUN = "it has no eligible run"


def inference_figures(
    dataset: DatasetScores,
    tables: Mapping[str, pd.DataFrame],
    *,
    file_stem: str,
    missing_reward: MissingReward,
    confidence_level: float,
    top_tasks: int,
) -> list[Drawn]:
    """Return the figures of a dataset.

    Args:
        dataset: the scores.
        tables: the inference and supporting tables by file name, of all datasets.
        file_stem: the file-name form of the dataset key.
        missing_reward: policy of the heat map.
        confidence_level: level of the intervals in the tables.
        top_tasks: rows of the figure of flagged tasks.
    """
    key = dataset.dataset_key
    own = {name: frame[frame["dataset_key"] == key] for name, frame in tables.items()}
    board, pairs = own["leaderboard.csv"], own["paired_comparisons.csv"]

    def rows(plot: RangePlot) -> Drawn:
        return draw_ranges(plot, dataset_key=key, file_stem=file_stem)

    few_cells = f"tasks are grouped from {MIN_CELLS} cells on, and it has {len(dataset.cells)}"
    return [
        rows(leaderboard_plot(key, board, confidence_level=confidence_level)),
        rows(comparison_plot(key, pairs, confidence_level=confidence_level)),
        influence_curves(key, pairs, own["task_influence.csv"], file_stem=file_stem),
        heat_map(dataset, own["task_clusters.csv"], missing_reward, file_stem=file_stem, reason=few_cells),
        planned_designs(key, own["variance_components.csv"], file_stem=file_stem),
        rows(quality_plot(key, own["task_quality.csv"], limit=top_tasks)),
        rows(reliability_plot(key, own["reliability.csv"])),
        score_against_cost(key, board, own["cost_summary.csv"], file_stem=file_stem),
        rows(sensitivity_plot(key, own["missing_reward_sensitivity.csv"])),
    ]


def no_inference_figures(dataset_key: str) -> list[Drawn]:
    """Return the sentences that stand for the figures of a dataset without an eligible run."""
    return [no_figure(kind, dataset_key, NO_RUN) for kind in INFERENCE_KINDS]
