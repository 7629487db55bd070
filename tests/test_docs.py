"""The data dictionary is fresh and leaves nothing out."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

from shellbench_lib import errors, grading
from shellbench_lib.columns import TABLES
from shellbench_lib.findings import FINDING_KINDS
from shellbench_lib.params import ReportParameters

ROOT = Path(__file__).resolve().parents[1]
SCRIPT = ROOT / "docs" / "generate.py"
PAGE = (ROOT / "docs" / "data-dictionary.md").read_text(encoding="utf-8")
_spec = importlib.util.spec_from_file_location("docs_generate", SCRIPT)
generate = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(generate)


def section(title: str) -> str:
    """The text under a heading, up to the next heading of its level or above."""
    level = len(title.partition(" ")[0])
    (body,) = re.findall(rf"^{re.escape(title)}\n(.*?)(?=^#{{1,{level}}} |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    return body


def rows(text: str) -> list[list[str]]:
    """The cells of the rows of the only table of a text, without its header; an escaped pipe is no border."""
    lines = [line for line in text.split("\n") if line.startswith("| ")][2:]
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    return [[cell.replace("\\|", "|").replace("&lt;", "<") for cell in row] for row in cells]


def first_cells(text: str) -> list[str]:
    return [row[0].strip("`") for row in rows(text)]


def folder_of(name: str) -> str:
    return "summaries" if name in generate.SUMMARY_TABLES else "analysis"


def test_the_page_is_what_the_code_says_now():
    assert generate.page() == PAGE
    assert subprocess.run([sys.executable, str(SCRIPT), "--check"], check=False, cwd=ROOT).returncode == 0


def test_a_stale_page_fails_the_check(tmp_path, monkeypatch, capsys):
    stale = tmp_path / "data-dictionary.md"
    monkeypatch.setattr(generate, "PAGE", stale)
    assert generate.main(["--check"]) == 1
    stale.write_text(PAGE.replace("run_label", "run_name", 1))
    assert generate.main(["--check"]) == 1
    assert "make docs" in capsys.readouterr().out
    assert generate.main([]) == 0
    assert generate.main(["--check"]) == 0


@pytest.mark.parametrize("name", TABLES)
def test_every_column_stands_on_the_page_in_its_place(name):
    shown = rows(section(f"### {folder_of(name)}/{name}"))
    assert [(row[0], row[1]) for row in shown] == [
        (str(number), f"`{column.name}`") for number, column in enumerate(TABLES[name], start=1)
    ]
    assert all(row[5] for row in shown)  # every column has a meaning
    units = {row[1].strip("`"): row[3] for row in shown}
    assert all(units[column.name] for column in TABLES[name] if column.type in {"integer", "number"})


def test_every_parameter_stands_on_the_page_with_its_default():
    shown = {row[0].strip("`"): row for row in rows(section("## Parameters of a report"))}
    assert set(shown) == set(ReportParameters.model_fields)
    assert all(len(row[3]) > 1 for row in shown.values())
    assert shown["matrix_name"][2] == "none: must be given"
    assert shown["confidence_level"][1:3] == ["number, > 0, < 1", "`0.95`"]
    assert shown["missing_reward"][1:3] == ["`zero` or `exclude`", "`zero`"]
    assert shown["expected_task_count"][1:3] == ["whole number, ≥ 1 or null", "`null`"]
    assert shown["merge_jobs"][1:3] == ["`true` or `false`", "`false`"]


def test_every_error_stands_on_the_page_with_its_exit_code():
    shown = {row[0].strip("`"): row[1:] for row in rows(section("## Errors and exit codes"))}
    declared = {
        name: value for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, Exception)
    }
    assert set(shown) == set(declared)
    assert {name: int(row[0]) for name, row in shown.items()} == {name: one.exit_code for name, one in declared.items()}
    assert shown["UploadRefusedError"] == ["3", "The bucket could not be proved private."]


def test_every_finding_stands_on_the_page():
    shown = {row[0].strip("`"): row[1:] for row in rows(section("## Findings"))}
    assert shown == {code: [kind.severity, kind.meaning] for code, kind in FINDING_KINDS.items()}


def test_every_gate_of_grading_stands_on_the_page():
    tree = ast.parse(inspect.getsource(grading))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    bodies = [node for node in functions if node.name in {"_own_reasons", "exclude_duplicates"}]
    texts = {
        node.value
        for body in bodies
        for node in ast.walk(body)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and re.fullmatch(r"[a-z0-9]+_[a-z0-9_]+", node.value)
    }
    assert len(texts) >= 9
    assert texts <= set(first_cells(section("## Reasons of exclusion")))


def test_every_command_stands_on_the_page():
    shown = " ".join(first_cells(section("## Commands")))
    for name in ("report", "export", "analyze", "verify", "upload", "sample"):
        assert f"shellbench {name} " in shown
