"""The matrix report: one call reads, grades and analyses a matrix; each section of the notebook is one method.

A section is a `Block` (sentences and tables, every value escaped) or some figures. The report shows the tables that
lie on disk and says what they mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from shellbench_lib import sections, sections_inference
from shellbench_lib.analysis import AnalysisResult, AnalysisSettings, analyze
from shellbench_lib.blocks import Block, linked, paragraph
from shellbench_lib.export import ExportSettings, InputSummary, export_matrix
from shellbench_lib.figure_display import Figures
from shellbench_lib.headline import HeadlineTables, first_screen
from shellbench_lib.params import ReportParameters, check_parameters
from shellbench_lib.paths import local_path
from shellbench_lib.statistics.clusters import too_few_cells
from shellbench_lib.statistics.outcomes import outcomes_by_cell, policy_by_cell
from shellbench_lib.summaries import SummaryTables, read_findings, read_summaries

SUMMARIES, ANALYSIS = "summaries", "analysis"


@dataclass(frozen=True, slots=True)
class MatrixReport:
    """One matrix, read, graded and analysed."""

    parameters: ReportParameters
    found: InputSummary
    summaries: SummaryTables
    findings: pd.DataFrame
    analysis: AnalysisResult

    def heading(self) -> Block:
        """Name the matrix."""
        return paragraph(
            f"Matrix {self.parameters.matrix_name}: {self.found.eligible_run_count} of "
            f"{sections.count(self.found.run_count, 'run')} eligible."
        )

    def what_was_read(self) -> Block:
        """Say what the input was recognised as and what was found in all of it."""
        return sections.input_overview(self.found, self.findings)

    def runs_table(self) -> Block:
        """List every run."""
        return sections.run_listing(self.summaries.runs)

    def datasets_table(self) -> Block:
        """List the datasets."""
        return sections.dataset_table(self.analysis.summary["datasets"])

    def exclusions(self) -> Block:
        """Say what was excluded and why, reason counts first."""
        return sections.exclusions(self.summaries.runs)

    def task_cells(self) -> Block:
        """Show the task cells whose repetitions disagree most."""
        return sections.task_cells(self._table("task_cell_summary.csv"), self.parameters.top_tasks)

    def high_variance_tasks(self) -> Block:
        """Show the tasks whose cell means differ most."""
        return sections.high_variance_tasks(
            self._table("task_variance_diagnostics.csv"),
            self.parameters.high_variance_threshold,
            self.parameters.top_tasks,
        )

    def harness_deltas(self) -> Block:
        """Compare harnesses at one model and effort."""
        return self._deltas(
            "harness_task_deltas.csv", ("model_slug", "reasoning_effort"), "left_harness", "right_harness"
        )

    def effort_deltas(self) -> Block:
        """Compare neighbouring efforts at one harness and model."""
        return self._deltas(
            "reasoning_task_deltas.csv", ("harness", "model_slug"), "higher_reasoning", "lower_reasoning"
        )

    def model_deltas(self) -> Block:
        """Compare models at one harness and effort."""
        return self._deltas("model_task_deltas.csv", ("harness", "reasoning_effort"), "left_model", "right_model")

    def outcomes(self) -> Block:
        """Show how the trials of each cell ended."""
        return sections.outcome_table(outcomes_by_cell(self.analysis.datasets, self.summaries.tasks))

    def usage(self) -> Block:
        """Show what the cells spent."""
        return sections.usage_table(self._table("cost_summary.csv"))

    def first_screen(self) -> Block:
        """Say in at most eight sentences what the tables show."""
        tables = HeadlineTables(
            runs=self.summaries.runs,
            leaderboard=self._table("leaderboard.csv"),
            comparisons=self._table("paired_comparisons.csv"),
            influence=self._table("task_influence.csv"),
            sensitivity=self._table("missing_reward_sensitivity.csv"),
            confidence_level=self.parameters.confidence_level,
            missing_reward=self.parameters.missing_reward,
        )
        return linked([(sentence.text, sentence.table) for sentence in first_screen(tables)])

    def leaderboard(self) -> Block:
        """Show the cells by mean score with their uncertainty."""
        return sections_inference.leaderboard(self._table("leaderboard.csv"), self.parameters.confidence_level)

    def comparisons(self, factor: str) -> Block:
        """Show the paired comparisons of one factor: harness, effort or model."""
        found = self._table("paired_comparisons.csv")
        return sections_inference.comparisons(found, factor, self.parameters.confidence_level)

    def influence(self) -> Block:
        """Show which tasks carry the significant differences."""
        return sections_inference.influence(self._table("paired_comparisons.csv"), self._table("task_influence.csv"))

    def task_clusters(self) -> Block:
        """Show the tasks that succeed and fail together."""
        sentences = [text for dataset in self.analysis.datasets if (text := too_few_cells(dataset))]
        return sections_inference.clusters(self._table("task_clusters.csv"), sentences)

    def signal_and_noise(self) -> Block:
        """Show the variance components and what another design would buy."""
        return sections_inference.variance(self._table("variance_components.csv"))

    def task_quality(self) -> Block:
        """Show the tasks that are saturated, impossible, flaky, misleading or infra-prone."""
        return sections_inference.quality(self._table("task_quality.csv"))

    def reliability(self) -> Block:
        """Show pass@k and pass^k."""
        return sections_inference.reliability(self._table("reliability.csv"))

    def sensitivity(self) -> Block:
        """Show every verdict under both missing-reward policies."""
        return sections_inference.sensitivity(self._table("missing_reward_sensitivity.csv"))

    def missing_reward_policy(self) -> Block:
        """Say what the other missing-reward policy would change."""
        return sections.policy_table(policy_by_cell(self.analysis.datasets), self.parameters.missing_reward)

    def findings_section(self) -> Block:
        """Count and list what was noticed."""
        return sections.findings_tables(self.findings)

    def definitions(self) -> Block:
        """Explain the words of the report."""
        return sections.definitions()

    def figures(self, kind: str) -> Figures:
        """Show the figures of one kind, one per dataset, and a sentence for each that was not drawn."""
        return Figures(*self.analysis.figures_of(kind))

    def _table(self, name: str) -> pd.DataFrame:
        return self.analysis.tables[name]

    def _deltas(self, name: str, keys: tuple[str, str], left: str, right: str) -> Block:
        threshold = self.parameters.high_variance_threshold
        return sections.delta_overview(self._table(name), keys, left, right, threshold)


def build_report(namespace: Mapping[str, Any]) -> MatrixReport:
    """Write every table and figure of a matrix and return the report over them.

    Args:
        namespace: the parameters by name, as the notebook's parameters cell leaves them; other names are ignored.

    Raises:
        ParameterError: a parameter has the wrong kind.
        InputError: nothing readable lies at `matrix_path`.
        OutputError: the output folder holds files that are not ours, or cannot be written.
    """
    values = {name: namespace[name] for name in ReportParameters.model_fields if name in namespace}
    parameters = check_parameters(values)
    output = local_path(parameters.output_folder, field="output_dir")
    found = export_matrix(parameters.matrix_path, output / SUMMARIES, ExportSettings.of(parameters))
    result = analyze(output / SUMMARIES, output / ANALYSIS, AnalysisSettings.of(parameters))
    summaries = read_summaries(output / SUMMARIES)
    return MatrixReport(parameters, found, summaries, read_findings(output / SUMMARIES), result)
