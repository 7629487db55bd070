"""Relative paths mean the same from every working directory; remote places are refused; shown paths give nothing away."""

import pytest

from shellbench_lib.errors import ParameterError
from shellbench_lib.paths import local_path, project_root, shown_path


@pytest.fixture
def project(tmp_path):
    root = tmp_path / "clone"
    (root / "notebooks").mkdir(parents=True)
    (root / "outputs" / "sample").mkdir(parents=True)
    (root / "pyproject.toml").write_text("")
    (root / "notebooks" / "matrix_report.ipynb").write_text("{}")
    return root


@pytest.mark.parametrize("folder", ["", "notebooks", "outputs/sample"])
def test_a_relative_path_starts_at_the_project_root(project, monkeypatch, folder):
    monkeypatch.chdir(project / folder)
    assert project_root() == project
    assert local_path("params/x.yaml", field="matrix_path") == project / "params" / "x.yaml"


def test_outside_a_checkout_the_working_directory_is_the_root(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert local_path("a/b", field="output_dir") == tmp_path / "a" / "b"


@pytest.mark.parametrize(
    "remote", ["s3://bucket/x", "gs://b", "https://h/x", "abs://a", "file:///x", "S3://B", "adl:/x"]
)
def test_remote_places_are_refused(remote):
    with pytest.raises(ParameterError, match="output_dir: must be a local path") as caught:
        local_path(remote, field="output_dir")
    assert remote not in str(caught.value)


@pytest.mark.parametrize("bad", ["", "  ", "a\0b"])
def test_unusable_paths_are_refused(bad):
    with pytest.raises(ParameterError, match="matrix_path"):
        local_path(bad, field="matrix_path")


def test_a_windows_like_or_dotted_name_is_local(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert local_path("v1:2", field="x") == tmp_path / "v1:2"


def test_only_the_last_component_of_an_outside_path_is_shown(project, tmp_path, monkeypatch):
    monkeypatch.chdir(project)
    assert shown_path(project / "outputs" / "x") == "outputs/x"
    assert shown_path(tmp_path / "private" / "jobs") == "jobs"
