"""The analysis folder: every table over tasks and cells, a summary as JSON, a page as Markdown, and the figures.

The folder is written whole or not at all. What is computed is a list of producers, each of which turns the same input
into tables or figures; this module only runs them and writes what they return.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from shellbench_lib.analysis_page import analysis_page
from shellbench_lib.columns import CLASSIC_TABLES, INFERENCE_TABLES, SUPPORTING_TABLES, TABLES, Column
from shellbench_lib.figures.boxes import Drawn, no_figure
from shellbench_lib.figures.classic import CLASSIC_KINDS, RUN_SCORES, WHY_EMPTY, classic_figures
from shellbench_lib.figures.inference import INFERENCE_KINDS, inference_figures, no_inference_figures
from shellbench_lib.params import ReportParameters
from shellbench_lib.staging import staged_folder
from shellbench_lib.statistics import clusters, cost, quality, reliability, variance
from shellbench_lib.statistics.cells import (
    DatasetRuns,
    DatasetScores,
    MissingReward,
    build_datasets,
    dataset_overview,
)
from shellbench_lib.statistics.deltas import (
    EFFORT_FILE,
    HARNESS_FILE,
    MODEL_FILE,
    effort_deltas,
    harness_deltas,
    model_deltas,
)
from shellbench_lib.statistics.inference import infer
from shellbench_lib.statistics.settings import InferenceSettings
from shellbench_lib.statistics.tasks import (
    CELLS_FILE,
    DIAGNOSTICS_FILE,
    TOLERANCE,
    is_large,
    task_cells,
    task_diagnostics,
)
from shellbench_lib.summaries import SummaryTables, read_summaries
from shellbench_lib.tables import write_csv, write_json
from shellbench_lib.text import file_names

SCHEMA_VERSION = 1
SUMMARY_FILE, PAGE_FILE = "analysis_summary.json", "ANALYSIS.md"
_DEFAULTS = ReportParameters(matrix_name="defaults")
FIGURE_KINDS = (*CLASSIC_KINDS, *INFERENCE_KINDS)  # files of these kinds, and no other SVG, may be replaced
_FIGURE_FILE = re.compile(rf"[a-z0-9._-]+-(?:{'|'.join(FIGURE_KINDS)})(?:-page-[0-9]+)?\.svg")
DECIMALS = 12  # the last bits of a sum or a logarithm differ between processors
NO_PLOTS = "Figures were not asked for (generate_plots is false)."


@dataclass(frozen=True, slots=True)
class AnalysisSettings:
    """The parameters of the statistics; meanings and limits in `ReportParameters`."""

    missing_reward: MissingReward = _DEFAULTS.missing_reward
    high_variance_threshold: float = _DEFAULTS.high_variance_threshold
    confidence_level: float = _DEFAULTS.confidence_level
    bootstrap_resamples: int = _DEFAULTS.bootstrap_resamples
    seed: int = _DEFAULTS.seed
    top_tasks: int = _DEFAULTS.top_tasks
    narrow_share: float = _DEFAULTS.narrow_share
    split_by: tuple[str, ...] = tuple(_DEFAULTS.split_by)
    generate_plots: bool = _DEFAULTS.generate_plots

    @classmethod
    def of(cls, parameters: ReportParameters) -> AnalysisSettings:
        """Return the analysing part of the report parameters."""
        values = {name: getattr(parameters, name) for name in cls.__dataclass_fields__}
        return cls(**{**values, "split_by": tuple(parameters.split_by)})


@dataclass(frozen=True)
class AnalysisInput:
    """What every producer starts from."""

    summaries: SummaryTables
    datasets: list[DatasetScores]
    overview: list[DatasetRuns]
    settings: AnalysisSettings

    @cached_property
    def file_stems(self) -> dict[str, str]:
        """The file-name form of every dataset key."""
        return file_names(runs.dataset_key for runs in self.overview)


@dataclass(frozen=True, slots=True)
class ShownFigure:
    """What became of one kind of figure in one dataset: its files and the sentences on what was left out."""

    kind: str
    dataset_key: str
    paths: tuple[Path, ...] = ()
    sentences: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AnalysisResult:
    """An analysis as written: `tables` by file name, the datasets that have scores, the summary and the figures."""

    tables: dict[str, pd.DataFrame]
    datasets: list[DatasetScores]
    overview: list[DatasetRuns]
    summary: dict[str, Any]
    figures: list[ShownFigure] = field(default_factory=list)

    def figures_of(self, kind: str) -> tuple[list[Path], list[str]]:
        """Return the files of one kind of figure over all datasets, and the sentences on what was left out."""
        chosen = [figure for figure in self.figures if figure.kind == kind]
        if not chosen:
            return [], [NO_PLOTS]
        return [path for figure in chosen for path in figure.paths], [
            sentence for figure in chosen for sentence in figure.sentences
        ]


def classic_tables(given: AnalysisInput) -> dict[str, pd.DataFrame]:
    """Return upstream's four tables and the model deltas."""
    policy = given.settings.missing_reward
    return {
        CELLS_FILE: task_cells(given.datasets, missing_reward=policy),
        DIAGNOSTICS_FILE: task_diagnostics(given.datasets, missing_reward=policy),
        HARNESS_FILE: harness_deltas(given.datasets, missing_reward=policy),
        EFFORT_FILE: effort_deltas(given.datasets, missing_reward=policy),
        MODEL_FILE: model_deltas(given.datasets, missing_reward=policy),
    }


def inference_tables(given: AnalysisInput) -> dict[str, pd.DataFrame]:
    """Return leaderboard, paired comparisons, task influence and their sensitivity to the missing-reward policy."""
    wanted = {name: getattr(given.settings, name) for name in InferenceSettings.__dataclass_fields__}
    return infer(given.datasets, InferenceSettings(**wanted)).tables


def supporting_tables(given: AnalysisInput) -> dict[str, pd.DataFrame]:
    """Return task clusters, variance components, task quality, reliability and cost."""
    policy, datasets, tasks = given.settings.missing_reward, given.datasets, given.summaries.tasks
    level = given.settings.confidence_level
    return {
        clusters.FILE: clusters.cluster_table(datasets, missing_reward=policy),
        variance.FILE: variance.variance_table(datasets, missing_reward=policy, confidence_level=level),
        quality.FILE: quality.quality_table(datasets, tasks, missing_reward=policy),
        reliability.FILE: reliability.reliability_table(datasets, missing_reward=policy),
        cost.FILE: cost.cost_table(datasets, tasks),
    }


def classic_plots(given: AnalysisInput, tables: Mapping[str, pd.DataFrame]) -> list[Drawn]:
    """Return the four figures of every dataset; for one without an eligible run, the sentences instead."""
    scores = dict(zip(given.summaries.runs["run_path"], given.summaries.runs["score"], strict=True))
    diagnostics = tables[DIAGNOSTICS_FILE]
    by_key = {dataset.dataset_key: dataset for dataset in given.datasets}
    figures = []
    for runs in given.overview:
        dataset = by_key.get(runs.dataset_key)
        if dataset is None:
            figures += [no_figure(kind, runs.dataset_key, WHY_EMPTY[RUN_SCORES]) for kind in CLASSIC_KINDS]
            continue
        ranked = diagnostics.loc[diagnostics["dataset_key"] == runs.dataset_key, "task_name"]
        figures += classic_figures(
            dataset,
            file_stem=given.file_stems[runs.dataset_key],
            run_scores=scores,
            top_tasks=ranked.head(given.settings.top_tasks).tolist(),
            missing_reward=given.settings.missing_reward,
        )
    return figures


def inference_plots(given: AnalysisInput, tables: Mapping[str, pd.DataFrame]) -> list[Drawn]:
    """Return the figures about uncertainty of every dataset; for one without an eligible run, the sentences instead."""
    by_key = {dataset.dataset_key: dataset for dataset in given.datasets}
    wanted = {name: tables[name] for name in (*INFERENCE_TABLES, *SUPPORTING_TABLES)}
    figures: list[Drawn] = []
    for key, stem in given.file_stems.items():
        if key not in by_key:
            figures += no_inference_figures(key)
            continue
        figures += inference_figures(
            by_key[key],
            wanted,
            file_stem=stem,
            missing_reward=given.settings.missing_reward,
            confidence_level=given.settings.confidence_level,
            top_tasks=given.settings.top_tasks,
        )
    return figures


# Where further statistics join: a function that returns tables by file name, and one that returns figures.
TABLE_PRODUCERS: tuple[Callable[[AnalysisInput], Mapping[str, pd.DataFrame]], ...] = (
    classic_tables,
    inference_tables,
    supporting_tables,
)
FIGURE_PRODUCERS: tuple[Callable[[AnalysisInput, Mapping[str, pd.DataFrame]], list[Drawn]], ...] = (
    classic_plots,
    inference_plots,
)


def analyze(summaries_dir: Path, analysis_dir: Path, settings: AnalysisSettings | None = None) -> AnalysisResult:
    """Analyse a summaries folder and write the analysis folder, whole or not at all.

    Without an eligible run the tables have no rows and every figure is a sentence.

    Args:
        summaries_dir: the folder that `export_matrix` wrote.
        analysis_dir: the folder that receives the files; what an earlier analysis left there is replaced.
        settings: the statistics' parameters.

    Raises:
        InputError: a file of the summaries folder is missing or cannot be read.
        OutputError: the analysis folder holds files that are not ours, or cannot be written.
    """
    settings = settings or AnalysisSettings()
    given = analysis_input(read_summaries(summaries_dir), settings)
    tables: dict[str, pd.DataFrame] = {}
    for produce in TABLE_PRODUCERS:
        tables |= produce(given)
    drawn = [figure for draw in FIGURE_PRODUCERS for figure in draw(given, tables)] if settings.generate_plots else []
    summary = analysis_summary(given, tables, drawn, summaries_dir.name)
    with staged_folder(analysis_dir, is_analysis_file) as stage:
        for name, frame in tables.items():
            columns = [column_values(frame, column, rounded=name not in CLASSIC_TABLES) for column in TABLES[name]]
            write_csv(stage / name, TABLES[name], zip(*columns, strict=True))
        write_json(stage / SUMMARY_FILE, summary)
        (stage / PAGE_FILE).write_text(analysis_page(summary, tables, drawn), encoding="utf-8", newline="")
        for name, content in (file for figure in drawn for file in figure.files):
            (stage / name).write_bytes(content)
    shown = [
        ShownFigure(f.kind, f.dataset_key, tuple(analysis_dir / name for name, _ in f.files), f.sentences)
        for f in drawn
    ]
    return AnalysisResult(tables, given.datasets, given.overview, summary, shown)


def column_values(frame: pd.DataFrame, column: Column, *, rounded: bool) -> list[Any]:
    """Return a column's values as they are written: whole numbers without a fraction, missing ones as None.

    Args:
        frame: the table.
        column: one of its columns.
        rounded: whether numbers lose what differs between processors.
    """
    values = [None if value is None or value != value else value for value in frame[column.name].tolist()]  # noqa: PLR0124
    if column.type == "integer":
        return [None if value is None else int(value) for value in values]
    if column.type == "number" and rounded:
        return [None if value is None else round(float(value), DECIMALS) + 0.0 for value in values]
    return values


def analysis_input(summaries: SummaryTables, settings: AnalysisSettings) -> AnalysisInput:
    """Return the input of every producer."""
    return AnalysisInput(
        summaries,
        build_datasets(summaries, split_by=settings.split_by),
        dataset_overview(summaries, split_by=settings.split_by),
        settings,
    )


def is_analysis_file(name: str) -> bool:
    """Return whether a file name is one that an analysis writes."""
    return (
        name in CLASSIC_TABLES
        or name in INFERENCE_TABLES
        or name in SUPPORTING_TABLES
        or name in {SUMMARY_FILE, PAGE_FILE}
        or bool(_FIGURE_FILE.fullmatch(name))
    )


def analysis_summary(
    given: AnalysisInput, tables: Mapping[str, pd.DataFrame], drawn: list[Drawn], source: str
) -> dict[str, Any]:
    """Return the content of analysis_summary.json: upstream's keys and ours.

    Args:
        given: the input.
        tables: the tables by file name.
        drawn: the figures.
        source: last component of the summaries folder's path.
    """
    runs = given.summaries.runs
    return {
        "schema_version": SCHEMA_VERSION,
        "source": {
            "summaries_dir": source,
            "run_count": len(runs),
            "task_row_count": len(given.summaries.tasks),
            "eligible_run_count": int(runs["eligible"].sum()),
        },
        "settings": asdict(given.settings),
        "datasets": [_dataset_summary(item, given, tables) for item in given.overview],
        "outputs": {
            **{name.removesuffix(".csv"): name for name in tables},
            "markdown": PAGE_FILE,
            "plots": [name for figure in drawn for name, _ in figure.files],
        },
        "not_drawn": [sentence for figure in drawn for sentence in figure.sentences],
    }


def _dataset_summary(item: DatasetRuns, given: AnalysisInput, tables: Mapping[str, pd.DataFrame]) -> dict[str, Any]:
    own = {name: tables[name][tables[name]["dataset_key"] == item.dataset_key] for name in CLASSIC_TABLES}
    scores = next((found for found in given.datasets if found.dataset_key == item.dataset_key), None)
    threshold = given.settings.high_variance_threshold
    harness, effort, model = (own[name]["delta"] for name in (HARNESS_FILE, EFFORT_FILE, MODEL_FILE))
    return {
        "dataset_key": item.dataset_key,
        "task_revision": item.task_revision,
        "suite_task_count": item.suite_task_count,
        "total_runs": item.total_runs,
        "eligible_runs": item.eligible_runs,
        "excluded_runs": item.excluded_runs,
        "experiment_cells": len(scores.cells) if scores else 0,
        "tasks": len(scores.tasks) if scores else 0,
        "high_variance_tasks": int(is_large(own[DIAGNOSTICS_FILE]["range_across_cells"], threshold).sum()),
        "harness_task_comparisons": len(harness),
        "large_harness_deltas": int(is_large(harness, threshold).sum()),
        "reasoning_task_comparisons": len(effort),
        "reasoning_improvements": int((effort > TOLERANCE).sum()),
        "reasoning_regressions": int((effort < -TOLERANCE).sum()),
        "model_task_comparisons": len(model),
        "large_model_deltas": int(is_large(model, threshold).sum()),
        "missing_rewards": int(own[CELLS_FILE]["missing_rewards"].sum()),
    }
