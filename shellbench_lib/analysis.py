"""The analysis folder: every table over tasks and cells, a summary as JSON, a page as Markdown, and the figures.

The folder is written whole or not at all. What is computed is a list of producers, each of which turns the same input
into tables or figures; this module only runs them and writes what they return.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from shellbench_lib.analysis_page import analysis_page
from shellbench_lib.columns import CLASSIC_TABLES, INFERENCE_TABLES, TABLES, names
from shellbench_lib.params import ReportParameters
from shellbench_lib.staging import staged_folder
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
from shellbench_lib.text import file_names, printable

SCHEMA_VERSION = 1
SUMMARY_FILE, PAGE_FILE = "analysis_summary.json", "ANALYSIS.md"
_FIGURE_FILE = re.compile(r"[a-z0-9._-]+\.svg")
_DEFAULTS = ReportParameters(matrix_name="defaults")
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
