"""Reading the input folder: nothing outside it, nothing written, one broken file never stops the others.

Every file that is read adds to the input's digest. A file that the fast JSON reader refuses (a byte-order mark, NaN,
1e999, a lone surrogate, deep nesting, a repeated refusal of UTF-16) is read once more by the standard library's;
repeated keys in an object follow JSON's common rule, the last one wins.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from shellbench_lib.findings import Finding
from shellbench_lib.text import REPLACEMENT

# Real result files with token traces stay far below this; a larger one would take the whole report's memory.
MAX_JSON_BYTES = 128 * 1024 * 1024
_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPED_BYTE = re.compile("[\udc80-\udcff]")  # how Python spells a byte of a file name that is no UTF-8
_OPEN_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class UnreadableFileError(Exception):
    """One file cannot be used; the message is its cause, for a finding."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One directory entry: its name and whether it is a directory (a link inside the matrix counts as its target)."""

    name: str
    is_directory: bool


@dataclass(slots=True)
class MatrixFolder:
    """The input folder. Paths are relative to `root`, with `/`; `""` is the root itself."""

    root: Path
    findings: list[Finding] = field(default_factory=list)
    _digests: dict[str, str] = field(default_factory=dict)
    _inner: set[str] = field(default_factory=lambda: {""})  # directories known to lie inside, links followed

    def note(self, code: str, run_path: str = "", task: str = "", field_name: str = "", message: str = "") -> None:
        """Add a finding."""
        self.findings.append(Finding(code, run_path, task, field_name, message))

    def digest(self) -> str:
        """Return the SHA-256 over the paths and contents of every file read so far."""
        total = hashlib.sha256()
        for path in sorted(self._digests):
            total.update(f"{self._digests[path]}  {path}\n".encode("utf-8", "surrogateescape"))
        return total.hexdigest()

    def entries(self, directory: str = "") -> list[Entry]:
        """Return a directory's entries by name. Links that leave the matrix, dangle or loop are noted and left out."""
        if directory not in self._inner and self._inside(directory) is None:
            self.note("symlink_not_followed", field_name=shown(directory), message="leaves matrix_path")
            return []
        try:
            with os.scandir(self.root / directory) as scan:
                found = [(entry.name, entry.is_symlink(), entry.is_dir(follow_symlinks=False)) for entry in scan]
        except OSError as error:
            self.note(
                "unreadable_directory", field_name=shown(directory), message=f"cannot be listed: {error.strerror}"
            )
            return []
        result = []
        for name, is_link, is_directory in sorted(found):
            path = join(directory, name)
            if is_directory:
                self._inner.add(path)
            if not is_link:
                result.append(Entry(name, is_directory))
                continue
            target = self._inside(path)
            if target is None or (target.is_dir() and (self.root / directory).resolve().is_relative_to(target)):
                self.note(
                    "symlink_not_followed", field_name=shown(path), message="leaves matrix_path, dangles or loops"
                )
            else:
                if target.is_dir():
                    self._inner.add(path)
                result.append(Entry(name, target.is_dir()))
        return result

    def _inside(self, path: str) -> Path | None:
        try:
            target = (self.root / path).resolve(strict=True)
        except (OSError, RuntimeError):
            return None
        return target if target.is_relative_to(self.root) else None

    def read_bytes(self, path: str, *, limit: int = MAX_JSON_BYTES) -> bytes | None:
        """Return a file's bytes, `None` where there is no file of this name; more than `limit` bytes are refused.

        Raises:
            UnreadableFileError: it is no regular file, too large, a link out of the matrix, or cannot be read.
        """
        full = f"{self.root}/{path}"
        try:
            descriptor = os.open(full, _OPEN_FLAGS)
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno == errno.ENOTDIR:
                return None
            if error.errno != errno.ELOOP or (target := self._inside(path)) is None:
                raise UnreadableFileError(self._cause(error)) from error
            try:
                descriptor = os.open(target, _OPEN_FLAGS)
            except OSError as second:
                raise UnreadableFileError(self._cause(second)) from second
        try:
            self._require_inner(path)
            data = _read_regular(descriptor, limit)
        except OSError as error:
            raise UnreadableFileError(self._cause(error)) from error
        finally:
            os.close(descriptor)
        self._digests[path] = hashlib.sha256(data).hexdigest()
        return data

    def _require_inner(self, path: str) -> None:
        """Refuse a file whose directory is reached by a link that leaves the matrix."""
        directory = path.rpartition("/")[0]
        if directory not in self._inner:
            if self._inside(directory) is None:
                raise UnreadableFileError("is reached by a symbolic link that leaves matrix_path")
            self._inner.add(directory)

    @staticmethod
    def _cause(error: OSError) -> str:
        if error.errno == errno.ELOOP:
            return "is a symbolic link that leaves matrix_path"
        return f"cannot be read: {error.strerror}"

    def read_object(
        self, path: str, *, run_path: str = "", limit: int = MAX_JSON_BYTES
    ) -> tuple[dict[str, Any], bytes] | None:
        """Return a file's JSON object and its bytes, `None` where there is no file of this name.

        What was tolerated is noted under the run. Raises:
            UnreadableFileError: the file cannot be read, is not JSON or is not an object.
        """
        data = self.read_bytes(path, limit=limit)
        if data is None:
            return None
        try:
            value = orjson.loads(data)
        except orjson.JSONDecodeError:
            value = self._tolerant(data, path, run_path)
        if not isinstance(value, dict):
            raise UnreadableFileError("is not a JSON object")
        return value, data

    def _tolerant(self, data: bytes, path: str, run_path: str) -> Any:
        try:
            value = json.loads(data)
            repaired = repair_text(value)
        except RecursionError as error:
            raise UnreadableFileError("is nested too deeply") from error
        except (ValueError, UnicodeError) as error:
            raise UnreadableFileError("is empty" if not data.strip() else "is not JSON") from error
        if repaired != value:
            self.note("text_repaired", run_path, field_name=shown(path), message="a lone surrogate became U+FFFD")
        self.note(
            "lenient_json", run_path, field_name=shown(path), message="not strict JSON; read by the tolerant reader"
        )
        return repaired


def _read_regular(descriptor: int, limit: int) -> bytes:
    """Return the bytes of an open file. One system call in the usual case: a matrix has many small files."""
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise UnreadableFileError("is no regular file")
    if status.st_size > limit:
        raise UnreadableFileError(f"is larger than {limit // 2**20} MiB")
    data = os.read(descriptor, status.st_size + 1)
    if len(data) == status.st_size:
        return data
    parts = [data]  # the call was cut short, or the file changed its size meanwhile
    while parts[-1]:
        parts.append(os.read(descriptor, status.st_size + 1))
    return b"".join(parts)


def repair_text(value: Any) -> Any:
    """Return a JSON value with every lone surrogate in its texts as U+FFFD."""
    if isinstance(value, str):
        return _SURROGATE.sub(REPLACEMENT, value)
    if isinstance(value, list):
        return [repair_text(item) for item in value]
    if isinstance(value, dict):
        return {repair_text(key): repair_text(item) for key, item in value.items()}
    return value


def shown(path: str) -> str:
    """Return a path read from the file system as text that UTF-8 can hold.

    A byte that is no UTF-8 becomes the replacement character and its two hexadecimal digits, so that two names that
    differ only there stay apart.
    """
    if path.isascii():
        return path
    return _ESCAPED_BYTE.sub(lambda match: f"{REPLACEMENT}{ord(match.group()) - 0xDC00:02X}", path)


def join(directory: str, name: str) -> str:
    """Return the relative path of an entry."""
    return f"{directory}/{name}" if directory else name
