"""A small project round a notebook, for the tests of the runner and of the command line."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from nbformat import v4
from pydantic import BaseModel, ConfigDict

from shellbench_lib.params import ReportParameters
from shellbench_lib.runner import NotebookKind, RunOptions, run_notebook

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = ROOT / "tests" / "data" / "notebooks"
SUMMARY_NAMES = (
    "aggregate_results.csv", "aggregate_results.json", "per_task_results.csv", "infra_failures.csv",
    "repair_overlay_sensitivity.csv", "repair_overlay_sensitivity.json", "cleaned_leaderboard.md", "findings.csv",
)  # fmt: skip
DIGEST = "ab" * 32
# What the report notebook does, in two cells: every promised file, with the matrix name in each.
WRITE_FILES = f"""
import json
from pathlib import Path

folder = Path(output_dir)
(folder / "summaries").mkdir(parents=True)
(folder / "analysis").mkdir()
for name in {SUMMARY_NAMES!r}:
    (folder / "summaries" / name).write_text(json.dumps({{"matrix": matrix_name, "input": {{"input_sha256": "{DIGEST}"}}}}))
(folder / "analysis" / "ANALYSIS.md").write_text(matrix_name)
summary = {{"outputs": {{"markdown": "ANALYSIS.md", "plots": ["one.svg"]}}}}
(folder / "analysis" / "analysis_summary.json").write_text(json.dumps(summary))
""".strip()
WRITE_FIGURE = '(folder / "analysis" / "one.svg").write_text("<svg/>")'


class TinyParameters(BaseModel):
    """The parameters of the notebooks under tests/data/notebooks."""

    model_config = ConfigDict(extra="forbid", strict=True)

    matrix_name: str = "tiny"
    output_dir: str = ""
    matrix_path: str = "sample"
    cell_timeout: int = 60
    note: str = ""

    @property
    def output_folder(self) -> str:
        return self.output_dir or f"outputs/{self.matrix_name}"


def make_project(folder: Path, *names: str) -> Path:
    """Make a project that holds some of the small notebooks, and return it."""
    (folder / "notebooks").mkdir(parents=True)
    (folder / "pyproject.toml").touch()
    for name in names:
        shutil.copy(NOTEBOOKS / f"{name}.ipynb", folder / "notebooks")
    (folder / "notebooks" / "matrix_report.ipynb").touch()
    return folder


def make_report_project(folder: Path, *extra_cells: str, cells: tuple[str, ...] = (WRITE_FILES, WRITE_FIGURE)) -> Path:
    """Make a project whose matrix report only writes the promised files, then runs some more cells."""
    make_project(folder)
    defaults = ReportParameters(matrix_name="default").model_dump()
    source = "\n".join(f"{name} = {value!r}" for name, value in defaults.items())
    code = [v4.new_code_cell(source, id="parameters", metadata={"tags": ["parameters"]})]
    code += [v4.new_code_cell(cell, id=f"code-{number}") for number, cell in enumerate((*cells, *extra_cells))]
    metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    notebook = v4.new_notebook(cells=[v4.new_markdown_cell("# A quick report", id="title"), *code], metadata=metadata)
    (folder / "notebooks" / "matrix_report.ipynb").write_text(json.dumps(notebook))
    return folder


def kind(name: str, **settings: object) -> NotebookKind:
    """Describe one of the small notebooks; it promises a table."""
    described = {"promised": lambda _folder: ["tables/scores.csv"], "places": ("matrix_path",), **settings}
    return NotebookKind(path=f"notebooks/{name}.ipynb", model=TinyParameters, **described)


def run(name: str, options: RunOptions | None = None, **values: object) -> Path:
    """Run one of the small notebooks in the current project."""
    return run_notebook(kind(name), TinyParameters(**values), options)


def params_file(project: Path, name: str, **values: object) -> Path:
    path = project / f"{name}.yaml"
    path.write_text("\n".join(f"{key}: {json.dumps(value)}" for key, value in {"matrix_name": name, **values}.items()))
    return path


def command(*arguments: object, cwd: Path, environment: dict[str, str] | None = None, **settings: object):
    """Run the command in a process of its own and return what it ended with."""
    return subprocess.run(
        [sys.executable, "-m", "shellbench_lib", *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT), **(environment or {})},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        **settings,
    )


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder with its bytes."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
