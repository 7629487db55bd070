"""The command in a process of its own: every exit code, one sentence on standard error, no traceback."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from filelock import FileLock
from project_copy import copy_project
from runner_kit import ROOT, command, contents, make_report_project, params_file

from shellbench_lib import cli
from shellbench_lib.cli import parameter_value
from shellbench_lib.params import ReportParameters
from shellbench_lib.sample import write_sample

COMMANDS = ("report", "export", "analyze", "verify", "upload", "sample")


def one_sentence(done: subprocess.CompletedProcess[str]) -> str:
    """The sentence on standard error; there must be exactly one line."""
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("shellbench: ")
    return lines[0].removeprefix("shellbench: ")


@pytest.fixture
def project(tmp_path):
    return make_report_project(tmp_path / "project")


def test_a_report_is_built_and_verified(project):
    done = command("report", params_file(project, "alpha"), cwd=project)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == "alpha: outputs/alpha/matrix_report.html"
    assert "alpha: cell 4 of 4" in done.stdout
    folder = project / "outputs" / "alpha"
    assert json.loads((folder / "summaries" / "aggregate_results.json").read_text())["matrix"] == "alpha"
    manifest = json.loads((folder / "report_manifest.json").read_text())
    assert manifest["input_sha256"] == "ab" * 32
    assert manifest["parameters"]["output_dir"] == "outputs/alpha"

    done = command("verify", "outputs/alpha", cwd=project)
    assert (done.returncode, done.stderr) == (0, "")
    (folder / "analysis" / "ANALYSIS.md").write_text("changed")
    (folder / "analysis" / "one.svg").unlink()
    (folder / "note.txt").write_text("mine")
    done = command("verify", "outputs/alpha", cwd=project)
    assert done.returncode == 1
    assert done.stdout.splitlines() == ["missing: analysis/one.svg", "changed: analysis/ANALYSIS.md", "extra: note.txt"]
    assert one_sentence(done) == "outputs/alpha: 3 differences from report_manifest.json"

    before = contents(folder)
    done = command("report", "alpha.yaml", cwd=project)
    assert done.returncode == 1
    assert one_sentence(done) == (
        "alpha: holds files that no report_manifest.json lists (note.txt); move them away or choose another output folder"
    )
    assert contents(folder) == before


def test_an_output_root_and_no_page(project, tmp_path):
    done = command(
        "report", params_file(project, "alpha"), "--output-root", "../elsewhere", "--no-html", cwd=project
    )  # fmt: skip
    assert done.returncode == 0
    folder = tmp_path / "elsewhere" / "alpha"
    assert "matrix_report.html" not in contents(folder)
    assert b"elsewhere" not in (folder / "matrix_report.ipynb").read_bytes()
    assert not (project / "outputs").exists()


def test_a_failed_cell_is_one_sentence_and_a_traceback_only_with_debug(tmp_path):
    project = make_report_project(tmp_path / "project", "import sys", "sys.exit(0)", "'never'")
    params = params_file(project, "alpha")
    done = command("report", params, cwd=project)
    assert done.returncode == 1
    assert one_sentence(done) == (
        "cell 7 (`sys.exit(0)`) ended the notebook early (SystemExit) (see outputs/alpha/matrix_report.failed.ipynb)"
    )
    done = command("--debug", "report", params, cwd=project)
    assert done.returncode == 1
    assert "Traceback (most recent call last)" in done.stderr


@pytest.mark.parametrize(
    ("raised", "code"),
    [("InputError", 1), ("ParameterError", 2), ("UploadRefusedError", 3), ("UploadNotVerifiedError", 4)],
)
def test_the_class_of_an_error_in_the_notebook_is_the_exit_code(tmp_path, raised, code):
    cell = f"from shellbench_lib.errors import {raised}\n\nraise {raised}('run_dir: the reason')"
    project = make_report_project(tmp_path / "project", cells=(cell,))
    done = command("report", params_file(project, "alpha"), cwd=project)
    assert done.returncode == code
    assert one_sentence(done).startswith("run_dir: the reason (see outputs/alpha/")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("report", "absent.yaml"), ["absent.yaml: cannot be read"]),
        (("report", "alpha.yaml", "-p", "seeds", "1"), ["alpha.yaml: seeds: unknown parameter", "matrix_path", "seed"]),
        (("report", "alpha.yaml", "-p", "seed", "1.5"), ["alpha.yaml: seed:", "Known parameters"]),
        (("report", "alpha.yaml", "-p", "merge_jobs", "no"), ["alpha.yaml: merge_jobs:"]),
        (("report", "alpha.yaml", "-p", "output_dir", "s3://bucket/x"), ["output_dir: must be a local path"]),
        (("report", "alpha.yaml", "--output-root", "s3://bucket/x"), ["--output-root: must be a local path"]),
        (("export", "https://example.org/matrix", "out"), ["MATRIX_PATH: must be a local path"]),
        (("export", "sample", "s3://bucket/x"), ["SUMMARIES_DIR: must be a local path"]),
        (("sample", "gs://bucket/x"), ["DIRECTORY: must be a local path"]),
    ],
)
def test_a_wrong_parameter_is_exit_code_2_and_starts_nothing(project, arguments, words):
    params_file(project, "alpha")
    done = command(*arguments, cwd=project)
    assert done.returncode == 2
    sentence = one_sentence(done)
    assert all(word in sentence for word in words), sentence
    assert not (project / "outputs").exists()


@pytest.mark.parametrize(
    "arguments", [(), ("paint",), ("report",), ("report", "a.yaml", "--workers", "0"), ("verify",)]
)
def test_wrong_usage_is_exit_code_2(tmp_path, arguments):
    done = command(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("second", ["./alpha.yaml", "beta.yaml"])
def test_two_files_for_one_folder_are_refused_before_anything_starts(project, second):
    params_file(project, "alpha")
    params_file(project, "beta", matrix_name="alpha")
    done = command("report", "alpha.yaml", second, cwd=project)
    assert done.returncode == 2
    assert one_sentence(done) == f"alpha.yaml and {Path(second)} would write one folder, outputs/alpha"
    assert not (project / "outputs").exists()


def test_a_folder_without_a_manifest_is_not_verified(tmp_path):
    done = command("verify", ".", cwd=tmp_path)
    assert done.returncode == 1
    assert one_sentence(done).endswith("holds no report_manifest.json")


def test_several_reports_side_by_side_where_one_fails(tmp_path):
    project = make_report_project(tmp_path / "project", "1 / (0 if matrix_name == 'bad' else 1)")
    files = [params_file(project, name) for name in ("alpha", "bad", "beta")]
    files.append(params_file(project, "wrong", seed="x"))
    done = command("report", *files, "--workers", "2", "-p", "seed", "7", cwd=project)
    assert done.returncode == 1  # -p mends the seed of `wrong`
    assert "cell 6 (`1 / (0 if matrix_name == 'bad' else 1)`) failed: ZeroDivisionError" in one_sentence(done)
    assert sorted(done.stdout.splitlines()) == [
        f"{name}: outputs/{name}/matrix_report.html" for name in ("alpha", "beta", "wrong")
    ]
    done = command("report", *files, "--no-html", cwd=project)
    assert done.returncode == 2  # the worst of 0, 1, 0 and 2
    assert len(done.stderr.splitlines()) == 2
    assert [(project / "outputs" / name / "report_manifest.json").exists() for name in ("alpha", "bad", "beta")] == [
        True, False, True,
    ]  # fmt: skip


def test_the_second_process_on_one_folder_stops(project):
    (project / "outputs").mkdir()
    with FileLock(project / "outputs" / ".alpha.lock"):
        done = command("report", params_file(project, "alpha"), cwd=project)
    assert done.returncode == 1
    assert one_sentence(done) == "alpha: another process is writing this output folder"


def test_two_processes_on_one_folder_leave_one_whole_report(tmp_path):
    project = make_report_project(tmp_path / "project", "import time\n\ntime.sleep(2)")
    start = [sys.executable, "-m", "shellbench_lib", "report", str(params_file(project, "alpha")), "--no-html"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    both = [
        subprocess.Popen(start, cwd=project, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    ended = [(process.communicate(timeout=60)[1], process.returncode) for process in both]
    assert sorted(code for _, code in ended) == [0, 1]
    assert sum("another process is writing" in stderr for stderr, _ in ended) == 1
    assert command("verify", "outputs/alpha", cwd=project).returncode == 0


def test_an_interrupted_run_leaves_no_kernel_and_no_report(tmp_path):
    project = make_report_project(tmp_path / "project", "import os", "print(os.getpid(), flush=True)", "import time")
    cell = "from pathlib import Path\n\nPath('pid').write_text(str(os.getpid()))\ntime.sleep(600)"
    notebook = project / "notebooks" / "matrix_report.ipynb"
    content = json.loads(notebook.read_text())
    content["cells"].append({**content["cells"][-1], "id": "sleep", "source": cell})
    notebook.write_text(json.dumps(content))
    start = [sys.executable, "-m", "shellbench_lib", "report", str(params_file(project, "alpha"))]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(start, cwd=project, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 60
    while not (project / "pid").exists() or not (project / "pid").read_text():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(2)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 1
    assert stderr.decode().startswith("shellbench: cell 9 (`from pathlib import Path`): the run was interrupted")
    assert stderr.count(b"\n") == 1
    kernel = int((project / "pid").read_text())
    for _ in range(100):
        if not Path(f"/proc/{kernel}").exists():
            break
        time.sleep(0.1)
    assert not Path(f"/proc/{kernel}").exists()
    assert not (project / "outputs" / "alpha" / "report_manifest.json").exists()


def test_a_kernel_that_does_not_start_is_one_sentence(project, tmp_path):
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "ipykernel_launcher.py").write_text("raise SystemExit(3)\n")
    broken = {"PYTHONPATH": os.pathsep.join([str(ROOT), str(tmp_path / "broken")])}
    done = command("report", params_file(project, "alpha"), cwd=project, environment=broken)
    assert done.returncode == 1
    assert one_sentence(done).startswith("the kernel did not start; run again with --debug")


def test_export_and_sample_write_where_they_are_told(tmp_path):
    done = command("sample", "matrix", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "matrix: written\n", "")
    done = command("export", "matrix", "tables", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "21 of 25 runs eligible" in done.stdout
    assert (tmp_path / "tables" / "per_task_results.csv").stat().st_size > 0
    done = command("analyze", "tables", "analysis", "--no-plots", "--missing-reward", "exclude", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert not list((tmp_path / "analysis").glob("*.svg"))
    summary = json.loads((tmp_path / "analysis" / "analysis_summary.json").read_text())
    assert summary["settings"]["missing_reward"] == "exclude"


def test_an_empty_folder_is_no_matrix(tmp_path):
    (tmp_path / "empty").mkdir()
    done = command("export", "empty", "tables", cwd=tmp_path)
    assert done.returncode == 1
    assert str(tmp_path) not in one_sentence(done)
    assert not (tmp_path / "tables").exists()


def test_upload_says_how_to_get_its_packages(tmp_path, monkeypatch, capsys):
    known = importlib.util.find_spec
    monkeypatch.setattr(cli, "find_spec", lambda name: None if name == "boto3" else known(name))
    with pytest.raises(SystemExit) as ended:
        cli.main(["upload", str(tmp_path / "upload.yaml")])
    assert ended.value.code == 1
    assert capsys.readouterr().err == (
        "shellbench: upload needs the optional packages; install them with: pip install 'shellbench-report[upload]'\n"
    )


@pytest.mark.parametrize(("dry_run", "code", "words"), [("true", 0, ""), ("false", 2, "run_dir: the built-in sample")])
def test_the_upload_notebook_runs_through_the_same_runner(tmp_path, dry_run, code, words):
    project = copy_project(tmp_path / "project")
    (project / "up.yaml").write_text(f"run_dir: sample\nmatrix_name: up\ndry_run: {dry_run}\n")
    destination = {"SHELLBENCH_TRACE_S3_URI": "s3://bucket/prefix", "SHELLBENCH_TRACE_S3_OWNER": "123456789012"}
    done = command("upload", "up.yaml", cwd=project, environment=destination if code else {})
    assert done.returncode == code
    assert words in done.stderr
    saved = contents(project / "outputs" / "up")
    assert sorted(saved) == (
        ["trace_upload.failed.ipynb"] if code else ["report_manifest.json", "trace_upload.html", "trace_upload.ipynb"]
    )
    assert b"123456789012" not in b"".join(saved.values())


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name, tmp_path):
    done = command(name, "--help", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stdout.startswith(f"Usage: shellbench {name}") or f" {name} " in done.stdout.splitlines()[0]


def test_help_loads_nothing_heavy(tmp_path):
    code = (
        "import sys\nfrom shellbench_lib.cli import main\ntry:\n    main(['report', '--help'])\nexcept SystemExit:\n"
        "    print(sorted({'pandas', 'numpy', 'pydantic', 'nbclient', 'papermill', 'nbconvert', 'yaml'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True, env=dict(os.environ)
    )
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("reward_key", "007", "007"),
        ("reward_key", "1e3", "1e3"),
        ("reward_key", "12", "12"),
        ("reward_key", "true", "true"),
        ("reward_key", "None", "None"),
        ("reward_key", "[a, b]", "[a, b]"),
        ("missing_reward", "exclude", "exclude"),
        ("seed", "12", 12),
        ("seed", "012", "012"),
        ("seed", "1e3", "1e3"),
        ("high_variance_threshold", "0.25", 0.25),
        ("generate_plots", "false", False),
        ("generate_plots", "no", "no"),
        ("expected_task_count", "null", None),
        ("split_by", "[harness_version, tool_mode]", ["harness_version", "tool_mode"]),
        ("overrides", "[{match: 'a*', set: {model_slug: 7e10}}]", [{"match": "a*", "set": {"model_slug": "7e10"}}]),
        ("unknown", "7", 7),
    ],
)
def test_an_option_has_the_type_that_its_parameter_wants(name, text, value):
    found = parameter_value(ReportParameters, name, text)
    assert (found, type(found)) == (value, type(value))


def test_an_output_folder_inside_the_matrix_leaves_nothing_there(tmp_path):
    matrix = tmp_path / "matrix"
    write_sample(matrix)
    before = sorted(path.name for path in matrix.iterdir())
    params = tmp_path / "p.yaml"
    params.write_text(f"matrix_path: {matrix}\nmatrix_name: x\noutput_dir: {matrix / 'out'}\n")
    done = command("report", params, cwd=ROOT)
    assert done.returncode == 1
    assert "lies inside matrix_path, which is never written" in done.stderr
    assert sorted(path.name for path in matrix.iterdir()) == before
