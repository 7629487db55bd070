"""The matrix report: one call reads, grades and analyses a matrix; each section of the notebook is one method.

A section is a `Block` (sentences and tables, every value escaped) or a figure. Nothing is computed here that is not in
a table on disk: the report shows the tables and says what they mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from shellbench_lib import sections
from shellbench_lib.analysis import AnalysisResult, AnalysisSettings, analyze
from shellbench_lib.blocks import Block
from shellbench_lib.export import ExportSettings, InputSummary, export_matrix
from shellbench_lib.figure_display import Figures
from shellbench_lib.findings import FINDING_KINDS
from shellbench_lib.params import ReportParameters, check_parameters
from shellbench_lib.paths import local_path
from shellbench_lib.summaries import SummaryTables, read_findings, read_summaries

SUMMARIES, ANALYSIS = "summaries", "analysis"


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
    return MatrixReport(
        parameters, found, read_summaries(output / SUMMARIES), read_findings(output / SUMMARIES), result
    )
