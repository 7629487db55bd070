"""The manifest lists what is there, and verify finds every kind of difference."""

from __future__ import annotations

import hashlib
import json

import pytest
from test_environment import ROOT as PROJECT_ROOT

from shellbench_lib.errors import ReportError
from shellbench_lib.manifest import MANIFEST_FILE, PACKAGES, package_versions, read_manifest, verify, write_manifest


@pytest.fixture
def report(tmp_path):
    folder = tmp_path / "report"
    (folder / "tables").mkdir(parents=True)
    (folder / "tables" / "a.csv").write_bytes(b"a,b\n")
    (folder / "page.html").write_bytes(b"")
    write_manifest(folder, notebook="matrix_report", parameters={"seed": 0}, input_sha256="ab")
    return folder


def test_it_lists_every_file_with_size_and_digest(report):
    manifest = json.loads((report / MANIFEST_FILE).read_text())
    assert manifest["files"] == [
        {"path": "page.html", "size": 0, "sha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"path": "tables/a.csv", "size": 4, "sha256": hashlib.sha256(b"a,b\n").hexdigest()},
    ]
    assert (manifest["notebook"], manifest["input_sha256"], manifest["parameters"]) == (
        "matrix_report",
        "ab",
        {"seed": 0},
    )
    assert manifest["schema_version"] == 1
    assert manifest["packages"]["python"].count(".") == 1


def test_the_packages_are_those_that_the_project_asks_for():
    asked = (PROJECT_ROOT / "pyproject.toml").read_text()
    assert [name for name in PACKAGES if name != "shellbench-report" and f'"{name}>=' not in asked] == []
    assert set(package_versions()) >= {"python", "numpy", "matplotlib", "nbconvert"}


def test_writing_it_again_gives_the_same_bytes(report):
    before = (report / MANIFEST_FILE).read_bytes()
    write_manifest(report, notebook="matrix_report", parameters={"seed": 0}, input_sha256="ab")
    assert (report / MANIFEST_FILE).read_bytes() == before


def test_an_untouched_report_has_no_difference(report):
    (report / "matrix_report.failed.ipynb").write_text("{}")  # of a later run; ours
    differences = verify(report)
    assert not differences
    assert differences.lines() == []
    assert differences.file_count == 2


def test_each_kind_of_difference_is_named(report):
    (report / "tables" / "a.csv").write_bytes(b"a,c\n")  # same size
    (report / "page.html").unlink()
    (report / "other.failed.ipynb").write_text("{}")
    (report / "tables" / "link").symlink_to("a.csv")
    assert verify(report).lines() == [
        "missing: page.html", "changed: tables/a.csv", "extra: other.failed.ipynb", "extra: tables/link",
    ]  # fmt: skip


def test_a_listed_file_that_became_a_link_has_changed(report):
    (report / "page.html").rename(report.parent / "page.html")
    (report / "page.html").symlink_to(report.parent / "page.html")
    assert verify(report).lines() == ["changed: page.html"]


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b"{}", b'{"files": [{}], "notebook": "x"}', b'{"files": [], "notebook": 7}', b"\xff", b"[" * 100_000,
     b'{"files": [{"path": "a", "size": "4", "sha256": "x"}], "notebook": "x"}'],
)  # fmt: skip
def test_a_damaged_manifest_is_an_error(report, content):
    (report / MANIFEST_FILE).write_bytes(content)
    with pytest.raises(ReportError, match=r"report/report_manifest\.json: cannot be read as a manifest"):
        read_manifest(report)


def test_no_manifest_is_an_error(tmp_path):
    with pytest.raises(ReportError, match=r"holds no report_manifest\.json"):
        verify(tmp_path / "absent")
