"""One notebook run becomes one folder, or nothing: with real kernels."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path

import nbformat
import pytest
from runner_kit import NOTEBOOKS, TinyParameters, contents, kind, make_project, run

from shellbench_lib import runner
from shellbench_lib.errors import InputError, OutputError, ParameterError, ReportError, UploadRefusedError
from shellbench_lib.manifest import verify
from shellbench_lib.runner import RunOptions, run_notebook


@pytest.fixture
def project(tmp_path, monkeypatch):
    folder = make_project(
        tmp_path / "project",
        "good", "sys_exit_0", "raises", "kernel_kill", "hang", "caught_error", "bang_false", "empty_file",
        "skipped_cell", "input_error", "refused", "untagged", "other_names", "leaky", "leaky_failure", "settings",
    )  # fmt: skip
    monkeypatch.chdir(folder)
    return folder


def test_a_good_run_leaves_notebook_page_files_and_manifest(project):
    folder = run("good", note="hello")
    assert folder == project / "outputs" / "tiny"
    assert sorted(contents(folder)) == [
        "good.html", "good.ipynb", "report_manifest.json", "scores.svg", "tables/scores.csv",
    ]  # fmt: skip
    assert (folder / "tables" / "scores.csv").read_text() == "name,score\ntiny,0.5\n"
    assert not verify(folder)
    notebook = nbformat.read(folder / "good.ipynb", as_version=4)
    said = next(cell for cell in notebook.cells if cell.id == "say")
    assert said.outputs[0].text == "tiny 'hello'\n"
    assert [path.name for path in (project / "outputs").iterdir() if not path.name.endswith(".lock")] == ["tiny"]


def test_the_page_can_be_left_out(project):
    folder = run("good", RunOptions(html=False))
    assert "good.html" not in contents(folder)


def test_the_injected_cell_names_the_public_place(project):
    folder = run("good", matrix_path=str(project / "data" / "matrix"))
    notebook = nbformat.read(folder / "good.ipynb", as_version=4)
    injected = next(cell for cell in notebook.cells if cell.id == "injected-parameters")
    assert injected.source.splitlines() == [
        "# Parameters", 'matrix_name = "tiny"', 'output_dir = "outputs/tiny"', 'matrix_path = "data/matrix"',
        "cell_timeout = 60", 'note = ""',
    ]  # fmt: skip
    assert notebook.metadata.papermill == {
        "parameters": {
            "matrix_name": "tiny", "output_dir": "outputs/tiny", "matrix_path": "data/matrix", "cell_timeout": 60,
            "note": "",
        }
    }  # fmt: skip


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("sample", "sample"),
        ("data/matrix", "data/matrix"),
        ("./data/../data/matrix", "./data/../data/matrix"),
        ("../elsewhere/matrix", "matrix"),
        ("/srv/private/client-x/matrix", "matrix"),
        ("/srv/private/sample", "./sample"),
        ("~/matrix", "matrix"),
    ],
)
def test_a_place_is_shown_without_where_it_lies(project, given, shown):
    assert runner.public_place(given) == shown


def test_two_clones_at_different_paths_give_the_same_bytes(tmp_path, monkeypatch):
    results = []
    for place in (tmp_path / "a" / "project", tmp_path / "a much longer place" / "deep" / "clone"):
        make_project(place, "good")
        monkeypatch.chdir(place / "notebooks")  # as from Jupyter; the project's root decides, not the working directory
        results.append(contents(run("good", matrix_path=str(place / "data"))))
    assert results[0] == results[1]


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("sys_exit_0", r"cell 5 \(`import sys`\) ended the notebook early \(SystemExit\)"),
        ("raises", r"cell 5 \(`1 / 0`\) failed: ZeroDivisionError: division by zero"),
        ("kernel_kill", r"cell 5 \(`import os`\): the kernel died"),
        ("hang", r"cell 5 \(`import time`\) took longer than cell_timeout \(2 seconds\)"),
        ("caught_error", r"tables/scores.csv: was not written, although the notebook ran to its end"),
        ("bang_false", r"tables/scores.csv: was not written, although the notebook ran to its end"),
        ("empty_file", r"tables/scores.csv: is empty, although the notebook ran to its end"),
        ("skipped_cell", r'cell 5 \(`"skipped"`\) did not run'),
    ],
)
def test_a_failed_run_leaves_the_previous_report_and_its_own_notebook(project, name, sentence):
    folder = run("good", matrix_name="kept")
    before = contents(folder)
    shutil.copy(NOTEBOOKS / f"{name}.ipynb", project / "notebooks" / "good.ipynb")
    with pytest.raises(ReportError, match=sentence):
        run("good", matrix_name="kept", cell_timeout=2)
    after = contents(folder)
    failed = after.pop("good.failed.ipynb")
    assert after == before
    assert nbformat.reads(failed.decode(), as_version=4).cells[2].id == "injected-parameters"
    assert not verify(folder)  # the failed notebook is ours and no difference


def test_a_failed_run_without_a_previous_report_leaves_only_its_notebook(project):
    with pytest.raises(ReportError, match=r"see outputs/tiny/raises\.failed\.ipynb"):
        run("raises")
    assert list(contents(project / "outputs" / "tiny")) == ["raises.failed.ipynb"]


def test_a_good_run_takes_the_failed_notebook_away(project):
    folder = run("good")
    (folder / "good.failed.ipynb").write_text("{}")
    run("good")
    assert "good.failed.ipynb" not in contents(folder)


@pytest.mark.parametrize(
    ("name", "error", "code"), [("input_error", InputError, 1), ("refused", UploadRefusedError, 3)]
)
def test_an_error_of_ours_keeps_its_class(project, name, error, code):
    with pytest.raises(error) as caught:
        run(name)
    assert caught.value.exit_code == code


def test_what_was_shown_before_a_refusal_is_kept(project):
    with pytest.raises(UploadRefusedError):
        run("refused")
    saved = nbformat.read(project / "outputs" / "tiny" / "refused.failed.ipynb", as_version=4)
    table = next(cell for cell in saved.cells if cell.id == "table")
    assert table.outputs[0].data["text/plain"] == "'every check stands here'"


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("untagged", "exactly one cell tagged `parameters`, has 0. Known parameters: matrix_name, output_dir"),
        ("other_names", "differ in cell_timeout, matrix_path, note, output_dir, surprise"),
    ],
)
def test_the_parameters_cell_is_checked_before_a_kernel_starts(project, monkeypatch, name, sentence):
    monkeypatch.setattr(runner, "run_cells", lambda *_, **__: pytest.fail("a kernel was started"))
    with pytest.raises(ParameterError, match=sentence):
        run(name)
    assert not (project / "outputs").exists()


def test_outside_a_checkout_the_sentence_says_so(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ReportError, match="run the command inside a checkout"):
        run("good")


@pytest.mark.parametrize("place", ["s3://bucket/prefix", "https://example.org/x", "gs://bucket/x", "file:///x"])
def test_a_remote_output_is_refused(project, place):
    with pytest.raises(ParameterError, match="output_dir: must be a local path"):
        run("good", output_dir=place)


def test_a_kernel_sees_neither_settings_nor_credentials_of_the_user(project, monkeypatch, tmp_path):
    home = tmp_path / "home"
    startup = home / ".ipython" / "profile_default" / "startup" / "marker.py"
    startup.parent.mkdir(parents=True)
    startup.write_text("marker = 1\n")
    (home / "startup.py").write_text("marker = 2\n")
    (home / ".config" / "matplotlib").mkdir(parents=True)
    (home / ".config" / "matplotlib" / "matplotlibrc").write_text("figure.dpi: 33\n")
    foreign = home / ".local" / "share" / "jupyter" / "kernels" / "python3"
    foreign.mkdir(parents=True)
    (foreign / "kernel.json").write_text(json.dumps({"argv": ["false"], "display_name": "x", "language": "python"}))
    for name, value in {
        "HOME": str(home),
        "PYTHONSTARTUP": str(home / "startup.py"),
        "AWS_SECRET_ACCESS_KEY": "demo-not-a-secret",
        "AWS_PROFILE": "private",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("IPYTHONDIR", raising=False)
    folder = run("settings")
    notebook = nbformat.read(folder / "settings.ipynb", as_version=4)
    shown = next(cell for cell in notebook.cells if cell.id == "show").outputs[0].text
    assert shown == "100.0 False True\n[]\n"


def test_a_notebook_that_may_sees_the_credentials(project, monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "demo-not-a-secret")
    folder = run_notebook(kind("settings", keeps_credentials=True), TinyParameters())
    assert "AWS_SECRET_ACCESS_KEY" in (folder / "settings.ipynb").read_text()


@pytest.mark.parametrize("name", ["leaky", "leaky_failure"])
def test_nothing_private_stands_in_what_is_saved(project, monkeypatch, tmp_path, name):
    monkeypatch.setenv("HOME", str(tmp_path / "analyst"))
    monkeypatch.setenv("DEMO_TOKEN", "demo-not-a-secret")
    monkeypatch.setenv("DEMO_DESTINATION", "s3://example-private-bucket/prefix")
    note = "s3://example-private-bucket/prefix demo-not-a-secret"
    parameters = TinyParameters(note=note, matrix_path=str(tmp_path / "secret/m"))
    saved = {}
    with pytest.raises(ReportError) if name == "leaky_failure" else nullcontext() as caught:
        run_notebook(kind(name, keeps_credentials=True), parameters)
    if caught is not None:
        saved["the error"] = str(caught.value).encode()
    saved |= contents(project / "outputs")
    assert len([path for path in saved if path.endswith(".ipynb")]) == 1
    for path, content in saved.items():
        for private in ("example-private-bucket", "demo-not-a-secret", str(tmp_path), "secret/m"):
            assert private.encode() not in content, path


def test_texts_that_a_notebook_declares_private_are_taken_out(project):
    declared = kind("good", private_texts=lambda environment: ["quite-ordinary"])
    folder = run_notebook(declared, TinyParameters(note="a quite-ordinary name"))
    assert b"quite-ordinary" not in b"".join(contents(folder).values())


def test_a_full_disk_leaves_the_previous_report(project, monkeypatch):
    folder = run("good")
    before = contents(folder)

    def full(*_args, **_settings):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(runner, "write_manifest", full)
    with pytest.raises(OutputError, match="tiny: cannot be written: No space left on device"):
        run("good", note="later")
    assert contents(folder) == before
    assert sorted(path.name for path in folder.parent.iterdir()) == [".tiny.lock", "tiny"]


def _limit_file_size():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8_000, 8_000))


def test_a_file_that_cannot_be_finished_leaves_the_previous_report(project):
    folder = run("good")
    before = contents(folder)
    code = "import runner_kit; runner_kit.run('good', note='later')"
    path = os.pathsep.join([str(Path(__file__).parent), str(Path(__file__).parents[1])])
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=project, env={**os.environ, "PYTHONPATH": path}, preexec_fn=_limit_file_size,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "File too large" in done.stderr
    after = contents(folder)
    after.pop("good.failed.ipynb", None)
    assert after == before


def test_a_run_killed_half_way_leaves_the_previous_report_and_the_next_run_cleans_up(project):
    folder = run("good", matrix_name="kept")
    before = contents(folder)
    code = "import runner_kit; runner_kit.run('good', matrix_name='kept')"
    shutil.copy(NOTEBOOKS / "hang.ipynb", project / "notebooks" / "good.ipynb")
    path = os.pathsep.join([str(Path(__file__).parent), str(Path(__file__).parents[1])])
    process = subprocess.Popen([sys.executable, "-c", code], cwd=project, env={**os.environ, "PYTHONPATH": path})
    deadline = time.monotonic() + 60
    while not list(folder.parent.glob(".kept-*.part/tables/scores.csv")):
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.05)
    process.kill()
    process.wait()
    assert contents(folder) == before
    assert list(folder.parent.glob(".kept-*.part"))
    shutil.copy(NOTEBOOKS / "good.ipynb", project / "notebooks" / "good.ipynb")
    run("good", matrix_name="kept")
    assert sorted(entry.name for entry in folder.parent.iterdir()) == [".kept.lock", "kept"]


def test_what_a_cell_says_while_it_runs_is_passed_on_without_places(project):
    cell = 'import os\nimport sys\n\nprint("half way in", os.getcwd() + "/data", file=sys.stderr)'
    notebook = nbformat.read(project / "notebooks" / "good.ipynb", as_version=4)
    notebook.cells.append(nbformat.v4.new_code_cell(cell, id="talk"))
    nbformat.write(notebook, project / "notebooks" / "good.ipynb")
    heard = []
    run("good", RunOptions(on_text=heard.append))
    assert "".join(heard) == "half way in data\n"


def test_progress_counts_every_code_cell(project):
    seen = []
    run("good", RunOptions(on_cell=lambda done, total: seen.append((done, total))))
    assert seen == [(number, 6) for number in range(1, 7)]
