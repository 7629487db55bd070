"""Which cells ran, what a kernel is started with, and how a notebook is checked before; the kernels are in test_runner."""

from __future__ import annotations

import json

import nbformat
import pytest
from nbformat import v4
from runner_kit import NOTEBOOKS

from shellbench_lib.errors import InputError, ReportError
from shellbench_lib.execution import check_every_cell_ran, kernel_environment, read_notebook


def cells(*counts, outputs=()):
    """A notebook whose code cells have these execution counts."""
    made = [v4.new_code_cell(f"cell_{number}", execution_count=count) for number, count in enumerate(counts)]
    if outputs:
        made[-1].outputs = list(outputs)
    return v4.new_notebook(cells=[v4.new_markdown_cell("words"), v4.new_code_cell("  \n"), *made])


def test_consecutive_counts_are_a_whole_run():
    check_every_cell_ran(cells(1, 2, 3))


@pytest.mark.parametrize(
    ("counts", "cell"),
    [((None,), "cell_0"), ((1, None, 3), "cell_1"), ((1, 2, None), "cell_2"), ((1, 3), "cell_1"), ((2, 3), "cell_0")],
)
def test_a_gap_names_the_first_cell_that_did_not_run(counts, cell):
    with pytest.raises(ReportError, match=rf"\(`{cell}`\) did not run"):
        check_every_cell_ran(cells(*counts))


def test_an_error_output_counts_even_where_the_cell_has_its_number():
    error = v4.new_output("error", ename="ValueError", evalue="no\n  good", traceback=[])
    with pytest.raises(ReportError, match=r"cell 4 \(`cell_1`\) failed: ValueError: no good"):
        check_every_cell_ran(cells(1, 2, outputs=[error]))


@pytest.mark.parametrize(
    ("name", "raised"),
    [("InputError", InputError), ("ShellbenchError", ReportError.__base__), ("annotations", ReportError)],
)
def test_only_a_name_of_our_errors_becomes_one(name, raised):
    error = v4.new_output("error", ename=name, evalue="matrix_path: empty", traceback=[])
    with pytest.raises(raised, match="matrix_path: empty") as caught:
        check_every_cell_ran(cells(1, outputs=[error]))
    assert caught.type is raised


def test_a_long_message_is_shortened():
    error = v4.new_output("error", ename="ValueError", evalue="x" * 10_000, traceback=[])
    with pytest.raises(ReportError) as caught:
        check_every_cell_ran(cells(1, outputs=[error]))
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b"not json", b'{"cells": 3, "nbformat": 4}', b"\xff\xfe"])
def test_what_is_no_notebook_is_refused(tmp_path, content):
    path = tmp_path / "x.ipynb"
    path.write_bytes(content)
    with pytest.raises(ReportError, match=r"x\.ipynb: is not a notebook that can be read"):
        read_notebook(path, ["a"])


def test_cells_of_an_older_format_get_their_position_as_id(tmp_path):
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": "words"},
        {
            "cell_type": "code",
            "metadata": {"tags": ["parameters"]},
            "source": "a = 1",
            "outputs": [],
            "execution_count": None,
        },
    ]
    path = tmp_path / "x.ipynb"
    path.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}))
    notebook = read_notebook(path, ["a"])
    assert [cell.id for cell in notebook.cells] == ["cell-0", "cell-1"]
    nbformat.validate(notebook)


def test_names_may_stand_in_any_order():
    notebook = read_notebook(
        NOTEBOOKS / "good.ipynb", ["note", "cell_timeout", "matrix_path", "output_dir", "matrix_name"]
    )
    assert notebook.cells[1].metadata.tags == ["parameters"]


def test_a_kernel_starts_without_credentials_and_settings(tmp_path):
    environment = {
        "PATH": "/bin", "HOME": "/home/user", "AWS_PROFILE": "x", "GH_TOKEN": "y", "PYTHONSTARTUP": "z", "IPYTHONDIR": "w",
        "MPLBACKEND": "agg", "PYTHONPATH": "/one",
    }  # fmt: skip
    found = kernel_environment(environment, scratch=tmp_path)
    assert set(found) == {"PATH", "HOME", "IPYTHONDIR", "MATPLOTLIBRC", "PYTHONPATH", "PYDEVD_DISABLE_FILE_VALIDATION"}
    assert found["IPYTHONDIR"].startswith(str(tmp_path))
    assert found["PYTHONPATH"].endswith(":/one")
    assert (tmp_path / "matplotlibrc").read_bytes() == b""
    kept = kernel_environment(environment, scratch=tmp_path, keeps_credentials=True)
    assert (kept["AWS_PROFILE"], kept["GH_TOKEN"]) == ("x", "y")
