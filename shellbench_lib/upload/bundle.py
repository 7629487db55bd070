"""Which files of a run belong to its trace bundle, and what each one's bytes are.

A bundle is every `raw/*-artifacts.tar.gz`, the audit files of `summaries/` and `manifests/run_index.json`; object
keys are the paths relative to the run's folder. Symbolic links, directories and unfinished files are listed and left
out, never followed. A file's identity is the SHA-256 of its bytes as they are: two archives of the same members that
differ in a gzip time stamp are two files, and nothing is ever rebuilt.
"""

from __future__ import annotations

import hashlib
import io
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from shellbench_lib.errors import InputError
from shellbench_lib.text import printable
from shellbench_lib.upload.secret_scan import without_credentials

ARCHIVE_SUFFIX = "-artifacts.tar.gz"
RUN_INDEX = "manifests/run_index.json"
AUDIT_FILES = ("summaries/TRACE_COVERAGE_AUDIT.md", "summaries/trace_gaps.csv")
VALIDATION_FILES = ("trajectory_validation.json", "trajectory_validation.full.json")
READ_SIZE = 256 * 1024
LONGEST_KEY = 500  # bytes; with the longest prefix it stays below the 1,024 bytes of an S3 key


@dataclass(frozen=True, slots=True, order=True)
class LeftOut:
    """An entry that looks as if it belonged to the bundle and does not, with the reason."""

    relative_key: str
    reason: str


@dataclass(frozen=True, slots=True, order=True)
class Candidate:
    """A regular file that belongs to the bundle; nothing of it was read yet."""

    relative_key: str
    path: Path
    size: int

    @property
    def is_archive(self) -> bool:
        """Whether it is one of the trace archives."""
        return self.relative_key.startswith("raw/")


@dataclass(frozen=True, slots=True)
class Listing:
    """What was found in a run's folder, both lists ordered by key."""

    run_name: str
    candidates: tuple[Candidate, ...]
    left_out: tuple[LeftOut, ...]


@dataclass(frozen=True, slots=True)
class Identity:
    """What the file system says about an open file; it changes when the file is replaced or written to."""

    device: int
    inode: int
    size: int
    modified_ns: int

    @classmethod
    def of(cls, descriptor: int) -> Identity:
        """Return the identity of an open file."""
        status = os.fstat(descriptor)
        return cls(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


@dataclass(frozen=True, slots=True)
class BundleFile:
    """One file with its bytes pinned: size, SHA-256 of the whole and of every part of `part_size` bytes."""

    relative_key: str
    path: Path
    identity: Identity
    sha256: bytes
    part_size: int
    part_digests: tuple[bytes, ...]

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return self.identity.size

    @property
    def is_archive(self) -> bool:
        """Whether it is one of the trace archives."""
        return self.relative_key.startswith("raw/")


def find_bundle(run_dir: Path) -> Listing:
    """Return the files of a run's trace bundle and what was left out.

    Raises:
        InputError: the folder or its `raw/` cannot be listed, holds no archive, or a name cannot be an object key.
    """
    if not run_dir.is_dir():
        raise InputError(f"{run_dir.name}: run_dir is no folder; give the folder that holds raw/")
    candidates: list[Candidate] = []
    left_out: list[LeftOut] = []
    for key, path in _belonging(run_dir, left_out):
        reason = _why_left_out(path)
        if reason:
            left_out.append(LeftOut(printable(key), reason))
        else:
            candidates.append(Candidate(_checked_key(key), path, path.stat().st_size))
    names = [*(candidate.relative_key for candidate in candidates), *(entry.relative_key for entry in left_out)]
    if any(without_credentials(name) != name for name in names):
        raise InputError(
            f"{run_dir.name}: the name of a file holds what looks like a credential; names become object keys and are "
            "shown, so rename it first"
        )
    if not any(candidate.is_archive for candidate in candidates):
        raise InputError(f"{run_dir.name}: no archive raw/*{ARCHIVE_SUFFIX} that is a regular file; nothing to publish")
    return Listing(run_dir.resolve().name, tuple(sorted(candidates)), tuple(sorted(left_out)))


def _belonging(run_dir: Path, left_out: list[LeftOut]) -> Iterator[tuple[str, Path]]:
    for path in _entries(run_dir / "raw", left_out):
        if path.name.endswith(ARCHIVE_SUFFIX):
            yield f"raw/{path.name}", path
        else:
            unfinished = path.name.endswith(".part")
            reason = "unfinished" if unfinished else f"name does not end in {ARCHIVE_SUFFIX}"
            left_out.append(LeftOut(f"raw/{printable(path.name)}", reason))
    for key in AUDIT_FILES:
        if not (run_dir / "summaries").is_symlink() and os.path.lexists(run_dir / key):
            yield key, run_dir / key
    for folder in _entries(run_dir / "summaries", left_out):
        yield from _validation_files(folder, left_out)
    if (run_dir / "manifests").is_symlink():
        left_out.append(LeftOut("manifests", "symbolic link"))
    elif os.path.lexists(run_dir / RUN_INDEX):
        yield RUN_INDEX, run_dir / RUN_INDEX


def _validation_files(folder: Path, left_out: list[LeftOut]) -> Iterator[tuple[str, Path]]:
    present = [folder / name for name in VALIDATION_FILES if os.path.lexists(folder / name)]
    if folder.is_symlink() and present:
        left_out.append(LeftOut(f"summaries/{printable(folder.name)}", "symbolic link"))
    elif folder.is_dir() and not folder.is_symlink():
        for path in present:
            yield f"summaries/{folder.name}/{path.name}", path


def _entries(folder: Path, left_out: list[LeftOut]) -> list[Path]:
    if folder.is_symlink():
        left_out.append(LeftOut(folder.name, "symbolic link"))
        return []
    if not folder.is_dir():
        return []
    try:
        return sorted(folder.iterdir())
    except OSError as error:
        raise InputError(f"{folder.name}/: cannot be listed ({type(error).__name__})") from error


def _why_left_out(path: Path) -> str:
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        return "symbolic link"
    if stat.S_ISDIR(mode):
        return "directory"
    return "" if stat.S_ISREG(mode) else "no regular file"


def _checked_key(key: str) -> str:
    try:
        length = len(key.encode("utf-8"))
    except UnicodeEncodeError as error:
        raise InputError(f"{printable(key)}: the name is not UTF-8 and cannot be an object key; rename it") from error
    if printable(key) != key or length > LONGEST_KEY:
        raise InputError(
            f"{printable(key)}: the name holds a control character or is longer than {LONGEST_KEY} bytes; rename it"
        )
    return key


class HashingReader(io.RawIOBase):
    """An open file that hashes what is read from it, in order: the whole and every part of `part_size` bytes."""

    def __init__(self, descriptor: int, *, part_size: int) -> None:
        super().__init__()
        self._descriptor = descriptor
        self._part_size = part_size
        self._room = part_size
        self._whole = hashlib.sha256()
        self._part = hashlib.sha256()
        self._parts: list[bytes] = []

    def readable(self) -> bool:
        """Return True: it only reads."""
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        """Read into the buffer and hash what was read."""
        count = os.readv(self._descriptor, [buffer])
        self._hash(memoryview(buffer)[:count])
        return count

    def _hash(self, data: memoryview) -> None:
        self._whole.update(data)
        while data:
            piece = data[: self._room]
            self._part.update(piece)
            self._room -= len(piece)
            data = data[len(piece) :]
            if not self._room:
                self._parts.append(self._part.digest())
                self._part, self._room = hashlib.sha256(), self._part_size

    def digests(self) -> tuple[bytes, tuple[bytes, ...]]:
        """Return the SHA-256 of everything read and of its parts; an empty file has one empty part."""
        unfinished = self._room < self._part_size or not self._parts
        return self._whole.digest(), (*self._parts, *([self._part.digest()] if unfinished else []))


def open_regular(path: Path, relative_key: str) -> int:
    """Return a descriptor of a regular file, links not followed.

    Raises:
        InputError: the file vanished, cannot be opened or is no regular file any more.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise InputError(f"{relative_key}: cannot be opened ({type(error).__name__})") from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise InputError(f"{relative_key}: is no regular file any more")
    return descriptor
