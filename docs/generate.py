"""Writes docs/data-dictionary.md from the code: commands, exit codes, parameters, columns, findings and other words.

`python docs/generate.py` writes the page; with `--check` it only compares and fails when the page is stale.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from shellbench_lib import cli, errors
from shellbench_lib.columns import SUMMARY_TABLES, TABLES, Column
from shellbench_lib.conditions import EFFORT_ORDER
from shellbench_lib.export import TAXONOMY
from shellbench_lib.findings import FINDING_KINDS
from shellbench_lib.params import Override, ReportParameters

PAGE = Path(__file__).resolve().with_name("data-dictionary.md")

# What one row of each table is.
ROWS = {
    "aggregate_results.csv": "one run, excluded ones included, by run label",
    "per_task_results.csv": "one trial, or one expected task without a result, by run label, task and trial",
    "infra_failures.csv": "one trial of class infra",
    "repair_overlay_sensitivity.csv": "one run that repairs another one",
    "findings.csv": "one thing noticed, the most serious first",
    "task_cell_summary.csv": "one task in one cell, over the eligible runs",
    "task_variance_diagnostics.csv": "one task over all cells, the widest range first",
    "harness_task_deltas.csv": "one task and two harnesses, model and effort held fixed",
    "reasoning_task_deltas.csv": "one task and two neighbouring efforts, harness and model held fixed",
    "model_task_deltas.csv": "one task and two models, harness and effort held fixed",
    "leaderboard.csv": "one cell of one dataset, the best first",
    "paired_comparisons.csv": "two cells that differ in one factor, compared over their common tasks",
    "task_influence.csv": "one task in one comparison: what the lead is without it",
    "task_clusters.csv": "one task: its cluster and its row in the heat map",
    "task_quality.csv": "one task: how hard it is, how well it separates the cells, how often it fails to measure",
    "variance_components.csv": "one component, coefficient or planned design of one dataset",
    "reliability.csv": "one cell and one k: what is solved at least once and every time in k attempts",
    "cost_summary.csv": "one cell and one quantity: tokens, cost or time, as far as they are known",
    "missing_reward_sensitivity.csv": "one comparison under both policies for missing rewards, those that change first",
}
EXCLUSION_REASONS = {
    "invalid_manifest": "The manifest cannot be read.",
    "explicitly_excluded": "The manifest sets leaderboard_eligible to false; a reason that it gives takes this place.",
    "r0_non_scoring_qualification": "A native run of phase r0 or repetition 0.",
    "incomplete": "Some expected task lacks exactly one finished result.",
    "infra_dominated": "More than half of the expected tasks failed by infrastructure.",
    "run_rejected": "The run's execution was not accepted.",
    "harness_wide_failure": "One infrastructure failure recurs in at least a quarter of the tasks.",
    "canonical_model_identity_not_preserved": "A trial ran another model than intended, or none shows which.",
    "trajectory_unavailable": "A trial lacks its real trajectory.",
    "duplicate_run": "Another eligible run folder holds the same trials.",
    "repair_of_eligible_run": "The run repairs a run that is itself eligible.",
}
INTRODUCTION = """\
# Data dictionary

Generated from the code by `make docs`; a test fails while it is stale. Statistics are defined in
[statistics.md](statistics.md), the checks before an upload in [s3-privacy.md](s3-privacy.md).

An empty cell always means unknown, never zero. Text columns are UTF-8; text that a spreadsheet would run as a formula
has one `'` before it. A column marked *new* is ours; all others have upstream's name, place and meaning.
"""


def _cell(text: str) -> str:
    """Return the text on one line for a table: pipes escaped, and outside code what would start a tag."""
    parts = " ".join(text.replace("|", "\\|").split()).split("`")
    return "`".join(part.replace("<", "&lt;") if index % 2 == 0 else part for index, part in enumerate(parts))


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a Markdown table and an empty one."""
    yield "| " + " | ".join(header) + " |"
    yield "|" + " --- |" * len(header)
    for row in rows:
        yield "| " + " | ".join(_cell(value) for value in row) + " |"
    yield ""


def _synopsis(command: click.Command, name: str) -> str:
    """`name ARGUMENT... [--option VALUE]`, arguments first."""
    words = ["shellbench", name]
    for parameter in sorted(command.params, key=lambda parameter: isinstance(parameter, click.Option)):
        if isinstance(parameter, click.Option):
            flag = parameter.opts[-1]
            words.append(f"[{flag}]" if parameter.is_flag else f"[{flag} {parameter.make_metavar(_context(command))}]")
        else:
            words.append(parameter.make_metavar(_context(command)))
    return " ".join(words)


def _context(command: click.Command) -> click.Context:
    return click.Context(command)


def commands() -> dict[str, click.Command]:
    """Return the commands of the command line in the order of their names."""
    (group,) = [value for value in vars(cli).values() if isinstance(value, click.Group)]
    return dict(sorted(group.commands.items()))


def error_classes() -> list[type[errors.ShellbenchError]]:
    """Return the error classes, the common one first, then in the order in which they are declared."""
    return [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, Exception)]


def _bounds(schema: Mapping[str, Any]) -> str:
    words = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
    return ", ".join(f"{sign} {schema[name]}" for name, sign in words.items() if name in schema)


def _kind(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return " or ".join(f"`{value}`" for value in schema["enum"])
    if "anyOf" in schema:
        return " or ".join(_kind(choice) for choice in schema["anyOf"])
    if "$ref" in schema:
        return "mapping"
    if schema["type"] == "array":
        return f"list of {_kind(schema['items'])}"
    name = {"string": "text", "integer": "whole number", "number": "number", "boolean": "`true` or `false`"}
    bounds = _bounds(schema)
    return name.get(schema["type"], schema["type"]) + (f", {bounds}" if bounds else "")


def _default(schema: Mapping[str, Any]) -> str:
    if "default" not in schema:
        return "none: must be given"
    value = schema["default"]
    return f"`{value}`" if isinstance(value, str) and value else f"`{json.dumps(value)}`"


def _parameters() -> Iterator[str]:
    properties = ReportParameters.model_json_schema()["properties"]
    rows = [(f"`{name}`", _kind(one), _default(one), one["description"] + ".") for name, one in properties.items()]
    yield from table(("parameter", "kind", "default", "meaning"), rows)
    fields = ", ".join(f"`{name}`" for name in Override.model_fields)
    yield f"One entry of `overrides` is a mapping of {fields}: a glob over run paths, and condition fields with values."
    yield ""


def _columns(columns: Sequence[Column]) -> Iterator[str]:
    rows = [
        (str(number), f"`{one.name}`", one.type, one.unit, "new" if one.origin == "new" else "", one.meaning)
        for number, one in enumerate(columns, start=1)
    ]
    yield from table(("no.", "column", "type", "unit", "origin", "meaning"), rows)


def _tables(folder: str, tables: Mapping[str, Sequence[Column]]) -> Iterator[str]:
    for name, columns in tables.items():
        yield f"### {folder}/{name}"
        yield ""
        yield f"One row: {ROWS[name]}."
        yield ""
        yield from _columns(columns)


def page() -> str:
    """Return the whole page."""
    lines = [INTRODUCTION]
    lines += ["## Commands", ""]
    shown = [(f"`{_synopsis(one, name)}`", one.get_short_help_str(limit=200)) for name, one in commands().items()]
    lines += table(("command", "does"), shown)
    lines += ["## Errors and exit codes", "", "0: done. 2 also stands for wrong usage of the command line.", ""]
    shown = [(f"`{one.__name__}`", str(one.exit_code), str(one.__doc__)) for one in error_classes()]
    lines += table(("class", "exit code", "meaning"), shown)
    lines += ["## Parameters of a report", "", *_parameters()]
    lines += ["## Tables", ""]
    lines += _tables("summaries", SUMMARY_TABLES)
    lines += _tables("analysis", {name: columns for name, columns in TABLES.items() if name not in SUMMARY_TABLES})
    lines += ["## Findings", ""]
    shown = [(f"`{code}`", kind.severity, kind.meaning) for code, kind in FINDING_KINDS.items()]
    lines += table(("code", "severity", "meaning"), shown)
    lines += ["## Outcome classes", "", *table(("class", "meaning"), [(f"`{k}`", v) for k, v in TAXONOMY.items()])]
    lines += ["## Reasons of exclusion", "", "In this order; the first one is the `exclusion_reason`.", ""]
    lines += table(("reason", "meaning"), [(f"`{k}`", v) for k, v in EXCLUSION_REASONS.items()])
    lines += ["## Order of efforts", "", " < ".join(f"`{effort}`" for effort in EFFORT_ORDER)]
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str]) -> int:
    """Write the page, or with `--check` return 1 when it is stale."""
    text = page()
    if "--check" not in arguments:
        PAGE.write_text(text, encoding="utf-8", newline="")
        return 0
    if PAGE.is_file() and PAGE.read_text(encoding="utf-8") == text:
        return 0
    print(f"{PAGE.name} is stale: run `make docs`")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
