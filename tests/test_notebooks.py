"""The notebooks as people run them: nbval on clean sources, nbval on the committed report, papermill, Jupyter's folder."""

import json
import shutil

import nbformat
import pytest
from project_copy import ROOT, copy_project, run

from shellbench_lib.params import ReportParameters

NBVAL = ["pytest", "-q", "-p", "no:cacheprovider", "-c", "nbval.ini", "--nbval-current-env", "--nbval-cell-timeout=300"]


@pytest.fixture
def project(tmp_path):
    root = copy_project(tmp_path / "clone")
    (root / "nbval.ini").write_text("[pytest]\n")
    return root


def outcome(result):
    return result.stdout[-3000:] + result.stderr[-1500:]


def test_the_clean_notebook_runs_from_its_own_folder(project, tmp_path):
    shutil.rmtree(project / "outputs", ignore_errors=True)
    result = run([*NBVAL, "--nbval-lax", "notebooks/matrix_report.ipynb"], cwd=project, home=tmp_path / "home")
    assert result.returncode == 0, outcome(result)
    # Relative paths start at the root, not in notebooks/.
    assert (project / "outputs" / "sample" / "analysis" / "task_cell_summary.csv").is_file()
    assert not (project / "notebooks" / "outputs").exists()


def test_the_committed_report_comes_out_the_same(project, tmp_path):
    executed = project / "outputs" / "sample" / "matrix_report.ipynb"
    cells = [cell for cell in nbformat.read(executed, as_version=4).cells if cell.cell_type == "code"]
    # nbval compares only cells that have been run: all of them must have been.
    assert all(cell.execution_count for cell in cells)
    assert sum(bool(cell.outputs) for cell in cells) >= 10
    result = run([*NBVAL, "--nbval", str(executed.relative_to(project))], cwd=project, home=tmp_path / "home")
    assert result.returncode == 0, outcome(result)
    assert f"{len(cells)} passed" in result.stdout


def test_a_changed_number_in_the_committed_report_is_noticed(project, tmp_path):
    executed = project / "outputs" / "sample" / "matrix_report.ipynb"
    notebook = nbformat.read(executed, as_version=4)
    cell = next(
        cell for cell in notebook.cells if cell.source == "report.heading()" or "report.heading()" in cell.source
    )
    for kind in ("text/html", "text/plain"):
        cell.outputs[-1].data[kind] = cell.outputs[-1].data[kind].replace("2", "3")
    nbformat.write(notebook, executed)
    result = run([*NBVAL, "--nbval", str(executed.relative_to(project))], cwd=project, home=tmp_path / "home")
    assert result.returncode == 1, outcome(result)


def test_papermill_from_the_shell_writes_the_tables(project, tmp_path):
    shutil.rmtree(project / "outputs", ignore_errors=True)
    (project / "outputs" / "sample").mkdir(parents=True)
    target = "outputs/sample/matrix_report.ipynb"
    result = run(
        ["papermill", "notebooks/matrix_report.ipynb", target, "-f", "params/sample.yaml"],
        cwd=project,
        home=tmp_path / "home",
    )
    assert result.returncode == 0, outcome(result)
    committed = ROOT / "outputs" / "sample"
    for folder in ("summaries", "analysis"):
        names = sorted(path.name for path in (committed / folder).iterdir())
        assert sorted(path.name for path in (project / "outputs" / "sample" / folder).iterdir()) == names
        for name in names:
            written = (project / "outputs" / "sample" / folder / name).read_bytes()
            assert written == (committed / folder / name).read_bytes(), name


def test_the_parameters_cell_holds_every_parameter_with_its_default():
    notebook = json.loads((ROOT / "notebooks" / "matrix_report.ipynb").read_text())
    (cell,) = [cell for cell in notebook["cells"] if "parameters" in cell["metadata"].get("tags", [])]
    values = {}
    exec("".join(cell["source"]), values)
    values.pop("__builtins__")
    defaults = {name: field.default for name, field in ReportParameters.model_fields.items()}
    assert values == {**defaults, "matrix_name": "sample"}
