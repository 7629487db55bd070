"""A folder is swapped as a whole, and a stranger's file is never touched."""

from __future__ import annotations

import pytest
from filelock import FileLock
from runner_kit import contents

from shellbench_lib.errors import OutputError
from shellbench_lib.manifest import write_manifest
from shellbench_lib.output_folder import fresh_folder, locked, save_failed


def build(target, text="new", notebook="report"):
    with locked(target), fresh_folder(target, notebook=notebook) as stage:
        (stage / "tables").mkdir()
        (stage / "tables" / "a.csv").write_text(text)
        write_manifest(stage, notebook=notebook, parameters={}, input_sha256="")


def test_a_second_build_replaces_the_first_and_nothing_of_it_survives(tmp_path):
    target = tmp_path / "outputs" / "x"
    build(target, "old")
    (target / "report.failed.ipynb").write_text("{}")
    build(target)
    assert sorted(contents(target)) == ["report_manifest.json", "tables/a.csv"]
    assert (target / "tables" / "a.csv").read_text() == "new"
    assert sorted(entry.name for entry in target.parent.iterdir()) == [".x.lock", "x"]


def test_an_empty_folder_is_taken(tmp_path):
    (tmp_path / "x").mkdir()
    build(tmp_path / "x")
    assert "tables/a.csv" in contents(tmp_path / "x")


@pytest.mark.parametrize("stranger", ["note.txt", "tables/extra.csv", ".ipynb_checkpoints/report-checkpoint.ipynb"])
def test_a_strangers_file_is_named_and_nothing_is_touched(tmp_path, stranger):
    target = tmp_path / "x"
    build(target, "old")
    (target / stranger).parent.mkdir(exist_ok=True)
    (target / stranger).write_text("mine")
    before = contents(target)
    with pytest.raises(OutputError, match=rf"x: holds files that no report_manifest\.json lists \(.*{stranger}"):
        build(target)
    assert contents(target) == before


def test_a_strangers_empty_folder_is_not_deleted_either(tmp_path):
    build(tmp_path / "x")
    (tmp_path / "x" / "plans").mkdir()
    with pytest.raises(OutputError, match="plans"):
        build(tmp_path / "x")


def test_an_earlier_matrix_without_a_manifest_is_refused(tmp_path):
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "task_delta_old-model.svg").write_text("<svg/>")
    with pytest.raises(OutputError, match=r"task_delta_old-model\.svg"):
        build(tmp_path / "x")


def test_a_file_that_appears_during_the_build_stops_the_swap(tmp_path):
    target = tmp_path / "x"
    build(target, "old")
    with pytest.raises(OutputError, match=r"late\.txt"), fresh_folder(target, notebook="report"):
        (target / "late.txt").write_text("mine")
    assert (target / "late.txt").read_text() == "mine"
    assert (target / "tables" / "a.csv").read_text() == "old"


def test_another_notebooks_folder_is_refused(tmp_path):
    build(tmp_path / "x", notebook="trace_upload")
    with pytest.raises(OutputError, match="x: holds what the notebook trace_upload made"):
        build(tmp_path / "x")


def test_a_damaged_manifest_is_refused(tmp_path):
    build(tmp_path / "x")
    (tmp_path / "x" / "report_manifest.json").write_text("{")
    with pytest.raises(OutputError, match="cannot be read as a manifest; move the folder away"):
        build(tmp_path / "x")


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "x").write_text("mine")
    with pytest.raises(OutputError, match="x: is not a folder"):
        build(tmp_path / "x")
    with pytest.raises(OutputError, match="y: cannot be written"):
        build(tmp_path / "x" / "y")
    assert (tmp_path / "x").read_text() == "mine"


def test_an_exception_leaves_the_old_report_and_no_litter(tmp_path):
    target = tmp_path / "x"
    build(target, "old")
    before = contents(target)
    with pytest.raises(ZeroDivisionError), locked(target), fresh_folder(target, notebook="report") as stage:
        (stage / "half.csv").write_text(str(1 / 0))
    assert contents(target) == before
    assert sorted(entry.name for entry in tmp_path.iterdir()) == [".x.lock", "x"]


def test_a_held_lock_is_an_error_at_once(tmp_path):
    with (
        FileLock(tmp_path / ".x.lock"),
        pytest.raises(OutputError, match="x: another process is writing"),
        locked(tmp_path / "x"),
    ):
        pytest.fail("two at once")


def test_a_swap_killed_between_its_two_steps_is_mended(tmp_path):
    target = tmp_path / "x"
    build(target, "old")
    before = contents(target)
    (tmp_path / ".x-abcd1234.old").mkdir()
    target.rename(tmp_path / ".x-abcd1234.old" / "x")
    (tmp_path / ".x-abcd1234.part").mkdir()
    with locked(target):
        assert contents(target) == before
    assert sorted(entry.name for entry in tmp_path.iterdir()) == [".x.lock", "x"]


def test_mending_leaves_the_neighbours_alone(tmp_path):
    neighbours = [".x-y-abcd1234.part", ".xx-abcd1234.part", ".x-abcd1234.part.bak", "x-abcd1234.old"]
    for name in neighbours:
        (tmp_path / name).mkdir()
    with locked(tmp_path / "x"):
        pass
    assert sorted(entry.name for entry in tmp_path.iterdir()) == sorted([*neighbours, ".x.lock"])


def test_a_failed_notebook_is_saved_even_without_a_report_and_a_full_disk_is_no_second_error(tmp_path, monkeypatch):
    saved = save_failed(tmp_path / "x", "{}", notebook="report")
    assert saved == tmp_path / "x" / "report.failed.ipynb"
    assert saved.read_text() == "{}"
    (tmp_path / "y").write_text("a file")
    assert save_failed(tmp_path / "y", "{}", notebook="report") is None
