"""A folder is written whole or not at all, and nothing of a user's is deleted."""

import errno
from pathlib import Path

import pytest

from shellbench_lib.errors import OutputError
from shellbench_lib.staging import staged_folder, swap


def ours(name):
    return name in {"a.csv", "b.csv"}


def content(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_text() for path in sorted(folder.rglob("*")) if path.is_file()
    }


def write(target, text="new"):
    with staged_folder(target, ours) as stage:
        (stage / "a.csv").write_text(text)


def test_a_new_folder_is_made_with_its_parents_and_readable(tmp_path):
    write(tmp_path / "deep/er/out")
    assert content(tmp_path) == {"deep/er/out/a.csv": "new"}
    assert (tmp_path / "deep/er/out").stat().st_mode & 0o777 == 0o755


def test_an_earlier_folder_is_replaced_and_none_of_it_survives(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out/b.csv").write_text("old")
    write(tmp_path / "out")
    assert content(tmp_path) == {"out/a.csv": "new"}
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_foreign_file_is_refused_by_name_and_kept(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out/thesis.txt").write_text("mine")
    with pytest.raises(OutputError, match=r"thesis\.txt"):
        write(tmp_path / "out")
    assert content(tmp_path) == {"out/thesis.txt": "mine"}


def test_a_foreign_file_that_appears_meanwhile_is_kept(tmp_path):
    (tmp_path / "out").mkdir()

    def late():
        with staged_folder(tmp_path / "out", ours) as stage:
            (stage / "a.csv").write_text("new")
            (tmp_path / "out/late.txt").write_text("mine")

    with pytest.raises(OutputError):
        late()
    assert content(tmp_path) == {"out/late.txt": "mine"}


@pytest.mark.parametrize("kind", ["file", "link"])
def test_what_is_no_plain_folder_is_refused(tmp_path, kind):
    target = tmp_path / "out"
    if kind == "file":
        target.write_text("mine")
    else:
        (tmp_path / "real").mkdir()
        target.symlink_to(tmp_path / "real")
    with pytest.raises(OutputError, match="not a plain folder"):
        write(target)
    assert target.is_symlink() == (kind == "link")


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "No space left on device"), ValueError("x"), KeyboardInterrupt()]
)
def test_a_failure_half_way_leaves_the_old_folder_and_no_rest(tmp_path, error):
    write(tmp_path / "out", "old")
    expected = OutputError if isinstance(error, OSError) else type(error)

    def broken():
        with staged_folder(tmp_path / "out", ours) as stage:
            (stage / "b.csv").write_text("half")
            raise error

    with pytest.raises(expected):
        broken()
    assert content(tmp_path) == {"out/a.csv": "old"}
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("failing", ["out", "stage"])
@pytest.mark.parametrize("error", [OSError(errno.EBUSY, "busy"), KeyboardInterrupt()])
def test_a_swap_that_is_interrupted_puts_the_old_folder_back(tmp_path, monkeypatch, failing, error):
    for name in ("out", "stage"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.csv").write_text(name)
    rename = Path.rename

    def broken(self, target):
        if self.name == failing and self.parent == tmp_path:
            raise error
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", broken)
    with pytest.raises(type(error)):
        swap(tmp_path / "stage", tmp_path / "out")
    assert content(tmp_path) == {"out/a.csv": "out", "stage/a.csv": "stage"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "stage"]
