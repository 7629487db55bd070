"""Reading a bundle once: is every archive whole, what is its digest, and does anything look like a credential?

Everything is read before anything is sent. A file that cannot be used costs itself alone, so that all of them are
listed.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from shellbench_lib.errors import InputError
from shellbench_lib.upload.archive import ArchiveContent, read_archive
from shellbench_lib.upload.bundle import (
    READ_SIZE,
    BundleFile,
    Candidate,
    HashingReader,
    Identity,
    Listing,
    open_regular,
)
from shellbench_lib.upload.secret_scan import NOTHING_SEARCHED, FileScan, ScanCounts, SecretFinding

PARTS_LIMIT = 10_000  # S3's limit for one object
MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Inspected:
    """What reading one file showed. `problem` is empty for a file that can be published; then `file` is set."""

    candidate: Candidate
    file: BundleFile | None = None
    content: ArchiveContent | None = None
    findings: tuple[SecretFinding, ...] = ()
    counts: ScanCounts = NOTHING_SEARCHED
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Inspection:
    """A whole bundle after reading, in the order of its keys."""

    listing: Listing
    inspected: tuple[Inspected, ...]

    @property
    def files(self) -> tuple[BundleFile, ...]:
        """The files that can be published."""
        return tuple(entry.file for entry in self.inspected if entry.file is not None)

    @property
    def problems(self) -> tuple[str, ...]:
        """A sentence for every file that cannot be published."""
        return tuple(entry.problem for entry in self.inspected if entry.problem)

    @property
    def findings(self) -> tuple[SecretFinding, ...]:
        """Everything that looks like a credential."""
        return tuple(found for entry in self.inspected for found in entry.findings)

    @property
    def findings_beyond_limit(self) -> int:
        """Findings that were counted and not kept."""
        return sum(entry.counts.findings_beyond_limit for entry in self.inspected)

    def unreviewed(self, allowed: frozenset[str]) -> tuple[SecretFinding, ...]:
        """Return the findings whose fingerprint was not reviewed."""
        return tuple(found for found in self.findings if found.fingerprint not in allowed)


def inspect_bundle(
    listing: Listing, *, part_size: int, workers: int, advance: Callable[[int], None] = lambda _: None
) -> Inspection:
    """Read every file of a bundle; `advance` hears of the bytes read."""

    def inspect(candidate: Candidate) -> Inspected:
        try:
            return inspect_file(candidate, part_size=part_size)
        except InputError as error:
            return Inspected(candidate, problem=str(error))
        finally:
            advance(candidate.size)

    with ThreadPoolExecutor(workers) as pool:
        return Inspection(listing, tuple(pool.map(inspect, listing.candidates)))


def inspect_file(candidate: Candidate, *, part_size: int) -> Inspected:
    """Read one file to its end: digests, wholeness, credentials.

    Raises:
        InputError: an archive is not whole, or the file cannot be read or changes while it is read.
    """
    descriptor = open_regular(candidate.path, candidate.relative_key)
    try:
        before = Identity.of(descriptor)
        size = part_size_for(before.size, part_size)
        reader, scan = HashingReader(descriptor, part_size=size), FileScan(candidate.relative_key)
        content = _read(candidate, reader, scan)
        if Identity.of(descriptor) != before:
            raise InputError(f"{candidate.relative_key}: the file changes while it is read; wait until it is finished")
    except OSError as error:
        raise InputError(f"{candidate.relative_key}: cannot be read ({type(error).__name__})") from error
    finally:
        os.close(descriptor)
    whole, parts = reader.digests()
    file = BundleFile(candidate.relative_key, candidate.path, before, whole, size, parts)
    findings, counts = scan.result()
    return Inspected(candidate, file, content, findings, counts)


def _read(candidate: Candidate, reader: HashingReader, scan: FileScan) -> ArchiveContent | None:
    if candidate.is_archive:
        return read_archive(reader, name=candidate.relative_key, sink=scan.member, label=scan.label)
    buffered = io.BufferedReader(reader, READ_SIZE)
    scan.member("", iter(lambda: buffered.read(READ_SIZE), b""))
    while buffered.read(READ_SIZE):  # what the search did not want is hashed all the same
        pass
    return None


def part_size_for(size: int, wanted: int) -> int:
    """Return the bytes of a part: as wanted, more only where the file would need more parts than S3 takes."""
    smallest = -(-size // PARTS_LIMIT)
    return max(wanted, -(-smallest // MIB) * MIB)
