"""Is a trace archive whole? It is read once, to the end of its gzip stream and of its tar, and nothing is unpacked.

Listing the members is not enough: an archive whose end was cut can list every member. Whole means: a gzip stream (RFC
1952) of which every member's checksum holds and after which nothing follows, with one tar in it (POSIX.1-2017, pax
interchange format) that has at least one member, every member's data, the two zero blocks that end a tar, and nothing
but zeros after them.
"""

from __future__ import annotations

import gzip
import io
import tarfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import BinaryIO, cast

from shellbench_lib.errors import InputError
from shellbench_lib.upload.bundle import READ_SIZE

END_OF_ARCHIVE = 2 * tarfile.BLOCKSIZE  # two zero blocks
# Names and pax records in front of one member; real ones are a few kilobytes, and they are held in memory.
HEADER_LIMIT = 4 * 1024 * 1024

MemberSink = Callable[[str, Iterator[bytes]], None]


class _DamagedError(Exception):
    """Why an archive is not whole."""


@dataclass(frozen=True, slots=True)
class ArchiveContent:
    """What a whole archive holds. `unsafe_members`: links, devices, absolute paths and `..`, a risk to who unpacks."""

    members: int
    unsafe_members: int


class _Unpacked:
    """The tar inside the gzip stream, handed to tarfile in large reads, with a limit on what headers may take."""

    def __init__(self, stream: gzip.GzipFile) -> None:
        self._stream = stream
        self.position = 0
        self.last = b""
        self.limit = HEADER_LIMIT

    def read(self, size: int) -> bytes:
        """Return exactly `size` bytes, fewer only at the end."""
        if self.position > self.limit:
            raise _DamagedError(f"a member's header takes more than {HEADER_LIMIT} bytes")
        buffer = bytearray()
        while len(buffer) < size and (piece := self._stream.read(size - len(buffer))):
            buffer += piece
        if buffer:
            self.last = bytes(buffer)
            self.position += len(buffer)
        return bytes(buffer)

    def tail(self, offset: int) -> Iterator[bytes]:
        """Yield everything from `offset`, which lies in the last read, to the end of the stream."""
        behind = self.position - offset
        if not 0 <= behind <= len(self.last):
            raise _DamagedError("the tar cannot be read to its end")
        if behind:
            yield self.last[-behind:]
        while piece := self._stream.read(READ_SIZE):
            yield piece


def read_archive(
    raw: io.RawIOBase, *, name: str, sink: MemberSink, label: Callable[[str], None] = lambda _: None
) -> ArchiveContent:
    """Read an archive to its end and hand every member's data to `sink` in pieces.

    `label` hears of the texts that stand beside the data: names, targets of links, values of extended headers.

    Raises:
        InputError: the archive is not whole; the message names it and says in which way.
    """
    try:
        with io.BufferedReader(raw, READ_SIZE) as buffered, gzip.GzipFile(fileobj=buffered, mode="rb") as stream:
            return _read_tar(_Unpacked(stream), sink, label)
    except _DamagedError as error:
        reason = str(error)
    except tarfile.TarError as error:
        reason = f"no tar inside the gzip stream, or a damaged one ({error})"
    except EOFError:
        reason = "the gzip stream ends before its end marker; the file was cut"
    except gzip.BadGzipFile as error:
        reason = f"no gzip stream, a damaged one, or something follows its end ({error})"
    except zlib.error:
        reason = "the compressed data are damaged"
    except (OSError, ValueError, OverflowError) as error:
        reason = f"cannot be read ({type(error).__name__})"
    raise InputError(f"{name}: not a whole archive: {reason}")


def _read_tar(source: _Unpacked, sink: MemberSink, label: Callable[[str], None]) -> ArchiveContent:
    members = unsafe = 0
    with tarfile.open(fileobj=cast("BinaryIO", source), mode="r|", bufsize=READ_SIZE) as tar:
        while True:
            source.limit = source.position + HEADER_LIMIT
            member = tar.next()
            if member is None:
                break
            tar.members = []  # type: ignore[attr-defined]  # every member seen is kept there; only the count is wanted
            members += 1
            unsafe += _is_unsafe(member)
            for text in {member.name, member.linkname, *member.pax_headers.values()}:
                label(text)
            data = _stored_data(tar, source, size=member.size)
            sink(member.name, data)
            for _ in data:  # what the sink did not want is read all the same
                pass
        _check_end(source, tar.offset)
    if not members:
        raise _DamagedError("the tar has no member")
    return ArchiveContent(members, unsafe)


def _stored_data(tar: tarfile.TarFile, source: _Unpacked, *, size: int) -> Iterator[bytes]:
    # tar.offset is where the next header stands, so this also reads a sparse member's stored blocks, and the padding.
    stream = tar.fileobj
    assert stream is not None
    source.limit = max(source.limit, tar.offset + READ_SIZE)
    while (missing := tar.offset - stream.tell()) > 0:
        piece = stream.read(min(missing, READ_SIZE))
        if not piece:
            raise _DamagedError("the tar ends inside a member's data")
        if size > 0:
            yield piece[:size]
            size -= len(piece)


def _is_unsafe(member: tarfile.TarInfo) -> bool:
    path = PurePosixPath(member.name)
    return member.islnk() or member.issym() or member.isdev() or path.is_absolute() or ".." in path.parts


def _check_end(source: _Unpacked, offset: int) -> None:
    zeros = 0
    for piece in source.tail(offset):
        if piece.count(0) != len(piece):
            raise _DamagedError("more data after the end of the tar")
        zeros += len(piece)
    if zeros < END_OF_ARCHIVE:
        raise _DamagedError("the tar has no end marker; it was cut between two members")
