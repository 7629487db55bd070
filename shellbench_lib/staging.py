"""Writing a folder whole or not at all, without ever deleting a file that is not ours."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from shellbench_lib.errors import OutputError


def refuse_foreign(target: Path, is_ours: Callable[[str], bool]) -> None:
    """Raise OutputError when a folder holds an entry that is not ours, naming it; an absent folder is fine."""
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        raise OutputError(f"{target.name}: is not a plain folder; move it away or choose another output folder")
    if not target.exists():
        return
    foreign = sorted(entry.name for entry in target.iterdir() if not is_ours(entry.name))
    if foreign:
        shown = ", ".join(foreign[:5]) + (" ..." if len(foreign) > 5 else "")
        raise OutputError(
            f"{target.name}: holds files that are not ours ({shown}); move them away or choose another folder"
        )


@contextmanager
def staged_folder(target: Path, is_ours: Callable[[str], bool]) -> Iterator[Path]:
    """Give an empty folder beside `target`; swap it in at the end, remove it when anything fails.

    Args:
        target: the folder to replace; its parents are made.
        is_ours: tells of a file name whether it may be replaced.

    Raises:
        OutputError: the target holds something that is not ours, or the disk refuses.
    """
    refuse_foreign(target, is_ours)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        stage = Path(tempfile.mkdtemp(prefix=f".{target.name}-", suffix=".part", dir=target.parent))
    except OSError as error:
        raise OutputError(f"{target.name}: cannot be written: {error.strerror}") from error
    try:
        stage.chmod(0o755)
        yield stage
        refuse_foreign(target, is_ours)
        swap(stage, target)
    except OSError as error:
        raise OutputError(f"{target.name}: cannot be written: {error.strerror or error}") from error
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def swap(stage: Path, target: Path) -> None:
    """Put a finished folder in the place of another one; the old one stays where it was if that fails."""
    if not target.exists():
        stage.rename(target)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{target.name}-", suffix=".old", dir=target.parent))
    try:
        target.rename(old / target.name)
        stage.rename(target)
    except BaseException:
        if (old / target.name).exists():
            (old / target.name).rename(target)
        raise
    finally:
        if target.exists():
            shutil.rmtree(old, ignore_errors=True)
