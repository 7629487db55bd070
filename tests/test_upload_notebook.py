"""The guarded notebook as people run it: `shellbench upload` in a process of its own, a real kernel, moto behind AWS's names."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
import upload_moto as moto_bucket
import yaml
from project_copy import ROOT, clean_environment, copy_project, run
from upload_files import write_bundle

from shellbench_lib.errors import InputError, UploadRefusedError
from shellbench_lib.upload.parameters import UploadParameters, check_upload_parameters
from shellbench_lib.upload.settings import KMS_VARIABLE, OWNER_VARIABLE, URI_VARIABLE
from shellbench_lib.upload.steps import open_upload

NOTEBOOK = ROOT / "notebooks" / "trace_upload.ipynb"
EXAMPLE = ROOT / "params" / "upload.example.yaml"
# moto lives in the kernel alone, put there by the test's environment; the product has no switch for it.
SITE = """
import os, sys
if any("ipykernel" in word for word in sys.orig_argv):
    sys.path.insert(0, {tests!r})
    import moto, upload_moto
    moto.mock_aws(config={{"core": {{"mock_credentials": False}}}}).start()
    upload_moto.make_bucket(blocked={blocked!r})
    if {conflict!r}:
        upload_moto.client().put_object(Bucket=upload_moto.BUCKET, Key=upload_moto.PREFIX + "/summaries/trace_gaps.csv", Body=b"other")
"""
PRIVATE = (
    moto_bucket.BUCKET, moto_bucket.PREFIX, moto_bucket.ACCOUNT, moto_bucket.CREDENTIALS["AWS_ACCESS_KEY_ID"],
    moto_bucket.CREDENTIALS["AWS_SECRET_ACCESS_KEY"], moto_bucket.CREDENTIALS["AWS_SESSION_TOKEN"], "arn:aws", "s3:" + "//",
)  # fmt: skip


class Project:
    """A copy of the project, a bundle elsewhere, and the command that publishes it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = copy_project(folder / "clone")
        self.run = write_bundle(folder / "somewhere-private" / "campaign", archives=2, audit=3)
        self.printed = ""

    def upload(self, *, environment=None, blocked=True, conflict=False, **parameters) -> int:
        values = {"run_dir": str(self.run), "matrix_name": "traces", **parameters}
        (self.root / "params" / "mine.yaml").write_text(yaml.safe_dump(values))
        site = self.folder / "site"
        site.mkdir(exist_ok=True)
        tests = str(Path(__file__).resolve().parent)
        (site / "sitecustomize.py").write_text(SITE.format(tests=tests, blocked=blocked, conflict=conflict))
        given = moto_bucket.ENVIRONMENT | moto_bucket.CREDENTIALS if environment is None else environment
        variables = clean_environment(self.folder / "home") | given
        variables["PYTHONPATH"] = os.pathsep.join([variables["PYTHONPATH"], str(site)])
        variables["AWS_CONFIG_FILE"] = variables["AWS_SHARED_CREDENTIALS_FILE"] = str(self.folder / "none")
        variables["AWS_EC2_METADATA_DISABLED"] = "true"
        done = subprocess.run(
            [sys.executable, "-m", "shellbench_lib", "upload", "params/mine.yaml"],
            cwd=self.root, env=variables, capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        self.printed = done.stdout + done.stderr
        return done.returncode

    def texts(self) -> dict[str, str]:
        """Everything that may be published or read on a screen: all files under outputs/, and what the command printed."""
        files = [path for path in (self.root / "outputs").rglob("*") if path.is_file() and "sample" not in path.parts]
        assert files
        return {path.name: path.read_text() for path in files} | {"printed": self.printed}

    def shown(self) -> str:
        """The text of every output of the executed notebook."""
        (path,) = (self.root / "outputs" / "traces").glob("trace_upload*.ipynb")
        cells = nbformat.read(path, as_version=4).cells
        outputs = [output for cell in cells if cell.cell_type == "code" for output in cell.outputs]
        return "\n".join(str(output.get("data", {}).get("text/plain", output.get("evalue", ""))) for output in outputs)

    def gives_away(self) -> list[tuple[str, str]]:
        private = (*PRIVATE, str(self.folder), "somewhere-private", str(ROOT))
        return [(name, word) for name, text in self.texts().items() for word in private if word in text]


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def test_a_dry_run_without_a_destination_shows_the_plan_and_the_questions(project):
    assert project.upload(environment={}) == 0, project.printed
    shown = project.shown()
    assert "Dry run done: 5 files, 2 of them archives" in shown
    assert shown.count("not asked") == 12
    assert "Nothing was written." in shown
    assert (project.root / "outputs" / "traces" / "trace_upload.html").is_file()
    assert sorted(path.name for path in (project.run / "summaries").iterdir()) == [
        "TRACE_COVERAGE_AUDIT.md",
        "trace_gaps.csv",
    ]
    assert project.gives_away() == []


def test_a_dry_run_with_credentials_asks_and_writes_nothing(project):
    assert project.upload() == 0, project.printed
    shown = project.shown()
    assert "Proved private." in shown
    assert "Dry run: nothing was sent." in shown
    assert not list((project.run / "summaries").glob("S3_*"))
    assert project.gives_away() == []


def test_a_real_run_publishes_and_only_manifest_and_receipt_name_the_destination(project):
    assert project.upload(dry_run=False) == 0, project.printed
    shown = project.shown()
    assert shown.count("Proved private.") == 2
    assert "S3_UPLOAD_MANIFEST.json: published." in shown
    assert "Published and verified: 5 files, 2 of them archives" in shown
    manifest = json.loads((project.run / "summaries" / "S3_UPLOAD_MANIFEST.json").read_text())
    assert manifest["bucket"] == moto_bucket.BUCKET
    assert len(list((project.run / "summaries").glob("S3_UPLOAD_RECEIPT-*.json"))) == 1
    assert project.gives_away() == []


def test_the_clean_notebook_runs_under_nbval_and_uploads_nothing(project):
    (project.root / "nbval.ini").write_text("[pytest]\n")
    options = [
        "-q",
        "-p",
        "no:cacheprovider",
        "-c",
        "nbval.ini",
        "--nbval-lax",
        "--nbval-current-env",
        "--nbval-cell-timeout=60",
    ]
    done = run(["pytest", *options, "notebooks/trace_upload.ipynb"], cwd=project.root, home=project.folder / "home")
    assert done.returncode == 0, done.stdout
    assert "9 passed" in done.stdout


def damage(project):
    path = project.run / "raw" / "run-001-final-artifacts.tar.gz"
    path.write_bytes(path.read_bytes()[:-4])


def plant(project):
    (project.run / "summaries" / "trace_gaps.csv").write_text("AWS_KEY=AKIA" + "QWERTYUIOPASDFGH\n")


NO_OWNER = {URI_VARIABLE: moto_bucket.ENVIRONMENT[URI_VARIABLE], **moto_bucket.CREDENTIALS}
MALFORMED = (
    moto_bucket.ENVIRONMENT | moto_bucket.CREDENTIALS | {URI_VARIABLE: f"{moto_bucket.BUCKET}/{moto_bucket.PREFIX}"}
)


@pytest.mark.parametrize(
    ("prepare", "settings", "code", "said"),
    [
        (damage, {"dry_run": True}, 1, "run-001-final-artifacts.tar.gz: not a whole archive"),
        (damage, {"dry_run": False}, 1, "run-001-final-artifacts.tar.gz: not a whole archive"),
        (plant, {"dry_run": False}, 1, "look like credentials"),
        (None, {"dry_run": False, "environment": moto_bucket.CREDENTIALS}, 2, f"{URI_VARIABLE}: missing"),
        (None, {"dry_run": True, "environment": NO_OWNER}, 2, f"{OWNER_VARIABLE}: missing"),
        (None, {"dry_run": True, "environment": MALFORMED}, 2, f"{URI_VARIABLE}: must be the S3 address"),
        (None, {"dry_run": False, "blocked": False}, 3, "not proved private (public_access_block); nothing was written"),
        (None, {"dry_run": True, "blocked": False}, 3, "not proved private"),
        (None, {"dry_run": False, "environment": moto_bucket.ENVIRONMENT}, 3, "not proved private"),
        (None, {"dry_run": False, "conflict": True}, 4, "something else lies under its key"),
    ],
    ids=["damaged", "damaged, real", "credentials", "no variable", "no owner", "malformed", "public", "public, dry",
         "no credentials", "conflict"],
)  # fmt: skip
def test_each_failure_has_its_exit_code_after_every_table_was_shown(project, prepare, settings, code, said):
    if prepare is not None:
        prepare(project)
    assert project.upload(**settings) == code, project.printed
    assert said in project.printed
    assert "Traceback" not in project.printed
    shown = project.shown()
    for caption in ("The bundle.", "Files of the bundle.", "Left out.", "privacy proof"):
        assert caption in shown
    assert not (project.run / "summaries" / "S3_UPLOAD_MANIFEST.json").exists()
    assert project.gives_away() == []


def test_reviewed_credentials_pass_and_reported_ones_too(project):
    plant(project)
    assert project.upload(dry_run=True, secrets="report", environment={}) == 0, project.printed
    shown = project.shown()
    assert "AKIA" + "QWERTY" not in shown
    row = next(line for line in shown.splitlines() if "AWS Access Key" in line)
    reviewed = row.split(" | ")[4]
    assert project.upload(dry_run=True, allow_findings=[reviewed], environment={}) == 0, project.printed


def test_the_built_in_bundle_can_be_shown_and_never_published(monkeypatch):
    values = {"run_dir": "sample", "matrix_name": "m"}
    upload = open_upload(values, environment={})
    assert "Nothing was written." in upload.conclude().text
    real = open_upload(values | {"dry_run": False}, environment=moto_bucket.ENVIRONMENT)
    assert "Nothing was sent" in real.transfer().text
    with pytest.raises(Exception, match="sample cannot be published"):
        real.conclude()


def test_the_dry_run_of_a_93_run_bundle_counts_104_files_and_93_archives(tmp_path):
    run = write_bundle(tmp_path / "run", archives=93, audit=11)
    upload = open_upload({"run_dir": str(run), "matrix_name": "m"}, environment={})
    assert "files | 104\narchives | 93\n" in upload.plan().text
    assert upload.files().text.count("| whole") == 104
    assert "Dry run done: 104 files, 93 of them archives" in upload.conclude().text


@pytest.mark.parametrize("content", ["not json", "[]", '{"runs": 3}'])
def test_a_dry_run_finds_a_run_index_that_the_real_run_could_not_use(tmp_path, content):
    run = write_bundle(tmp_path / "run", archives=1, audit=1)
    (run / "manifests" / "run_index.json").write_text(content)
    upload = open_upload({"run_dir": str(run), "matrix_name": "m"}, environment={})
    with pytest.raises(InputError, match=r"manifests/run_index\.json"):
        upload.conclude()


def test_a_profile_that_is_not_there_is_a_reason_in_a_dry_run_and_a_refusal_in_a_real_one(tmp_path, monkeypatch):
    monkeypatch.setenv("AWS_PROFILE", "somebodys-profile")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    run = write_bundle(tmp_path / "run", archives=1, audit=1)
    values = {"run_dir": str(run), "matrix_name": "m"}
    dry = open_upload(values, environment=moto_bucket.ENVIRONMENT)
    shown = dry.privacy().text
    assert "Not asked: the configuration of AWS cannot be used (ProfileNotFound)." in shown
    assert "Nothing was written." in dry.conclude().text
    real = open_upload(values | {"dry_run": False}, environment=moto_bucket.ENVIRONMENT)
    shown += real.privacy().text
    assert "Nothing was sent" in real.transfer().text
    with pytest.raises(UploadRefusedError, match="not proved private"):
        real.conclude()
    assert "somebody" not in shown


def test_the_parameters_cell_and_the_example_hold_every_parameter_with_its_default():
    (cell,) = [
        cell for cell in nbformat.read(NOTEBOOK, as_version=4).cells if "parameters" in cell.metadata.get("tags", [])
    ]
    names: dict[str, object] = {}
    exec(cell.source, {}, names)
    example = yaml.safe_load(EXAMPLE.read_text())
    assert list(names) == list(UploadParameters.model_fields) or set(names) == set(UploadParameters.model_fields)
    assert set(example) == set(UploadParameters.model_fields)
    defaults = {name: field.default for name, field in UploadParameters.model_fields.items() if not field.is_required()}
    assert {name: names[name] for name in defaults} == defaults
    assert {name: example[name] for name in defaults} == defaults
    check_upload_parameters(example)


def test_no_text_of_the_wing_offers_a_way_round_the_environment():
    for text in (NOTEBOOK.read_text(), EXAMPLE.read_text()):
        assert not any(word in text.lower() for word in ("endpoint", "access_key", "profile", KMS_VARIABLE.lower()))
