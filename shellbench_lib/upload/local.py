"""A stretch of a local file on its way to S3: never in memory as a whole, and never other bytes than were hashed.

Also the writing of the files that stay here.
"""

from __future__ import annotations

import hashlib
import io
import os
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from shellbench_lib.errors import InputError, OutputError
from shellbench_lib.upload.bundle import READ_SIZE, BundleFile, Identity, open_regular


class Stopped(BaseException):  # like KeyboardInterrupt: no failure, and no retry may swallow it
    """The run ends; what this thread was doing is left for the next run."""


class ChangedError(InputError):
    """A file is not what it was when it was hashed."""

    def __init__(self, relative_key: str) -> None:
        super().__init__(f"{relative_key}: the file changed between hashing and sending; nothing more is sent")


@contextmanager
def opened(file: BundleFile) -> Iterator[int]:
    """Open a file of the bundle and make sure that it is the one that was hashed, before and after the work with it.

    Raises:
        ChangedError: it was replaced or written to in between.
        InputError: it vanished or cannot be opened.
    """
    descriptor = open_regular(file.path, file.relative_key)
    try:
        _check_identity(descriptor, file)
        yield descriptor
        _check_identity(descriptor, file)
    finally:
        os.close(descriptor)


def _check_identity(descriptor: int, file: BundleFile) -> None:
    if Identity.of(descriptor) != file.identity:
        raise ChangedError(file.relative_key)


def check_part(descriptor: int, file: BundleFile, number: int) -> None:
    """Hash part `number` (from 0) once more; raises ChangedError where it is not what was hashed first."""
    digest, offset = hashlib.sha256(), number * file.part_size
    end = min(offset + file.part_size, file.size)
    while offset < end and (piece := os.pread(descriptor, min(READ_SIZE, end - offset), offset)):
        digest.update(piece)
        offset += len(piece)
    if digest.digest() != file.part_digests[number]:
        raise ChangedError(file.relative_key)


class FileSlice(io.RawIOBase):
    """A stretch of an open file as the body of a request, which may be read again from its start.

    `advance` is told how many bytes went on their way, a negative number when the body is rewound for a retry.
    """

    def __init__(
        self, descriptor: int, *, offset: int, size: int, advance: Callable[[int], None], stop: threading.Event
    ) -> None:
        super().__init__()
        self._descriptor, self._offset, self._size = descriptor, offset, size
        self._advance, self._stop = advance, stop
        self._position = 0

    def __len__(self) -> int:
        return self._size

    def readable(self) -> bool:
        """Return True: it only reads."""
        return True

    def seekable(self) -> bool:
        """Return True: a retry rewinds it."""
        return True

    def tell(self) -> int:
        """Return the position from the start of the stretch."""
        return self._position

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Move to a position; progress goes back with it."""
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._size}[whence]
        self._move_to(max(0, min(self._size, base + offset)))
        return self._position

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        """Read the next bytes; raises Stopped once the run ends."""
        if self._stop.is_set():
            raise Stopped
        wanted = min(len(buffer), self._size - self._position)
        if wanted <= 0:
            return 0
        count = os.preadv(self._descriptor, [memoryview(buffer)[:wanted]], self._offset + self._position)
        self._move_to(self._position + count)
        return count

    def _move_to(self, position: int) -> None:
        self._advance(position - self._position)
        self._position = position


def write_private(path: Path, data: bytes) -> None:
    """Write a file whole or not at all; for the owner's eyes, since it names the destination; raises OutputError."""
    try:
        descriptor, temporary = tempfile.mkstemp(
            prefix=f".{path.name}.", dir=path.parent
        )  # readable by the owner alone
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        Path(temporary).replace(path)
    except OSError as error:
        raise OutputError(f"{path.name}: cannot be written ({type(error).__name__})") from error
