"""Fresh or nothing: a report's folder is replaced as a whole, by one process at a time, a stranger's file never.

A finished report is recognised by its manifest. What the manifest does not list was put there by somebody else, and
the folder is refused. Killed half-way, a swap is mended by the next run: the old report comes back.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from filelock import FileLock, Timeout

from shellbench_lib.errors import OutputError, ReportError
from shellbench_lib.manifest import FAILED_SUFFIX, MANIFEST_FILE, read_manifest
from shellbench_lib.staging import staged_folder

_SHOWN_STRANGERS = 5


@contextmanager
def locked(target: Path) -> Iterator[None]:
    """Hold an output folder for this process; the lock is a hidden file beside it.

    Raises:
        OutputError: another process holds it, or the parent folder cannot be written.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(target.parent / f".{target.name}.lock")
        lock.acquire(timeout=0)
    except Timeout as error:
        raise OutputError(f"{target.name}: another process is writing this output folder") from error
    except OSError as error:
        raise OutputError(f"{target.name}: cannot be written: {error.strerror or error}") from error
    try:
        _mend(target)
        yield
    finally:
        lock.release()


@contextmanager
def fresh_folder(target: Path, *, notebook: str) -> Iterator[Path]:
    """Give an empty folder to build a report in, which takes the place of `target` when the block ends well.

    Call it with the lock held.

    Args:
        target: the output folder.
        notebook: the stem of the notebook that makes the report.

    Raises:
        OutputError: the folder holds something that is not ours, or the disk refuses.
    """
    refuse_strangers(target, notebook=notebook)
    # Everything in it was just found to be ours; it is looked at once more before the swap.
    with staged_folder(target, lambda _name: True) as stage:
        yield stage
        refuse_strangers(target, notebook=notebook)


def refuse_strangers(target: Path, *, notebook: str) -> None:
    """Raise OutputError where a folder holds anything that its manifest does not list, naming it."""
    if not target.exists():
        return
    if not target.is_dir():
        raise OutputError(f"{target.name}: is not a folder; choose another output folder")
    failed = notebook + FAILED_SUFFIX
    try:
        present = {path.relative_to(target).as_posix() for path in target.rglob("*")}
        listed = _listed(target, notebook) if present - {failed} else set()
    except OSError as error:
        raise OutputError(f"{target.name}: cannot be read: {error.strerror or error}") from error
    strangers = sorted(present - listed - {failed})
    if strangers:
        shown = ", ".join(strangers[:_SHOWN_STRANGERS]) + (" ..." if len(strangers) > _SHOWN_STRANGERS else "")
        raise OutputError(
            f"{target.name}: holds files that no {MANIFEST_FILE} lists ({shown}); "
            "move them away or choose another output folder"
        )


def save_failed(target: Path, text: str, *, notebook: str) -> Path | None:
    """Put a failed notebook beside the report that it did not replace; return its path, None where even that failed."""
    path = target / (notebook + FAILED_SUFFIX)
    part = target.parent / f".{target.name}-{path.name}.part"
    with contextlib.suppress(OSError):
        target.mkdir(parents=True, exist_ok=True)
        part.write_text(text, encoding="utf-8", newline="")
        os.replace(part, path)  # noqa: PTH105 - replaces in one step
        return path
    with contextlib.suppress(OSError):
        part.unlink(missing_ok=True)
    return None


def _listed(target: Path, notebook: str) -> set[str]:
    if not (target / MANIFEST_FILE).exists():
        return set()
    try:
        manifest = read_manifest(target)
    except ReportError as error:
        raise OutputError(f"{error}; move the folder away or choose another output folder") from error
    if manifest["notebook"] != notebook:
        raise OutputError(
            f"{target.name}: holds what the notebook {manifest['notebook']} made; choose another output folder"
        )
    files = {MANIFEST_FILE, *(entry["path"] for entry in manifest["files"])}
    folders = {parent.as_posix() for path in files for parent in PurePosixPath(path).parents}
    return files | folders


def _mend(target: Path) -> None:
    """Take away what a killed process left beside the folder; bring the old report back if it was under way."""
    leftover = re.compile(rf"\.{re.escape(target.name)}-[a-z0-9_]{{8}}\.(part|old)")
    for entry in sorted(target.parent.iterdir()):
        match = leftover.fullmatch(entry.name)
        if match is None or not entry.is_dir():
            continue
        old = entry / target.name
        if match[1] == "old" and old.is_dir() and not target.exists():
            old.rename(target)
        shutil.rmtree(entry, ignore_errors=True)
