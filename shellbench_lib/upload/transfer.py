"""Sending the files of a bundle: immutable, verified, resumable.

Each file is looked up first. What is the same already, and encrypted as asked, is skipped; what differs stops the run
and is never overwritten (every write carries `If-None-Match: *`). The data carry their SHA-256, so that S3 refuses
other bytes, and afterwards the object is looked up again: content, size and encryption must be as they should. Nothing
is deleted, no access control list is sent.

A run that ends by its own decision (a conflict, a changed file, a failed verification) aborts the multipart uploads
that it left open; one that is interrupted, killed or cut off leaves them for the next run.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import Any, Literal

from shellbench_lib.errors import InputError, ShellbenchError, UploadNotVerifiedError
from shellbench_lib.upload.aws import Reply, ask
from shellbench_lib.upload.bundle import BundleFile
from shellbench_lib.upload.faults import (
    CONFLICT_CODES,
    RUN_AGAIN,
    TAKEN_CODES,
    DecidedError,
    TakenError,
    VanishedError,
    failure,
)
from shellbench_lib.upload.local import FileSlice, Stopped, check_part, opened
from shellbench_lib.upload.multipart import Multipart
from shellbench_lib.upload.remote import (
    METADATA_KEY,
    Content,
    Found,
    checksum_text,
    encrypted_as_asked,
    encryption_arguments,
    look_up,
    place,
    read_back,
)
from shellbench_lib.upload.settings import Destination
from shellbench_lib.upload.unfinished import Unfinished

Status = Literal["uploaded", "resumed", "skipped"]
CONFLICT_ATTEMPTS = 5  # of a write that meets another one of the same key; then the other side should have won
CONFLICT_WAIT = 0.5  # seconds before the second attempt, doubled each time


@dataclass(frozen=True, slots=True, order=True)
class Sent:
    """What happened to one file. `parts_kept` is how many parts of an earlier, unfinished upload were used."""

    relative_key: str
    status: Status
    size: int
    evidence: str
    note: str = ""
    parts_kept: int = 0


class Transfer:
    """The sending of one bundle. `advance(bytes)` hears of the progress, backwards too."""

    def __init__(
        self,
        client: Any,
        destination: Destination,
        *,
        workers: int,
        unfinished: Unfinished,
        advance: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._client, self._to, self._workers, self._advance = client, destination, workers, advance
        self._stop = threading.Event()
        self._gave_up = False
        self._parts = ThreadPoolExecutor(workers)
        self._multipart = Multipart(
            client, destination, pool=self._parts, unfinished=unfinished, advance=advance, stop=self._stop
        )
        self.sent: list[Sent] = []

    def send_all(self, files: Sequence[BundleFile]) -> list[Sent]:
        """Send every file that is not there yet and verify all; `sent` holds what was done, also after an error.

        Raises:
            UploadNotVerifiedError: something different lies there, an answer failed, or a verification did.
            InputError: a file is not what it was when it was hashed, or vanished.
        """
        errors: list[ShellbenchError] = []
        with self._parts, ThreadPoolExecutor(self._workers) as objects:
            futures = [objects.submit(self._send, file) for file in files]
            try:
                for future in as_completed(futures):
                    error = future.exception()
                    if error is None:
                        self.sent.append(future.result())
                    elif isinstance(error, ShellbenchError):
                        errors.append(error)
                    elif not isinstance(error, Stopped):
                        raise error
            finally:
                self._stop.set()
        if self._gave_up:
            self._multipart.abort_open()
        if errors:
            raise errors[0]
        return sorted(self.sent)

    def _send(self, file: BundleFile) -> Sent:
        if self._stop.is_set():
            raise Stopped
        try:
            return self._send_one(file)
        except ShellbenchError as error:
            self._gave_up = self._gave_up or isinstance(error, InputError | DecidedError)
            self._stop.set()
            raise

    def _send_one(self, file: BundleFile) -> Sent:
        content = Content.of_file(file)
        found = look_up(self._client, self._to, file.relative_key, content)
        if found.state == "same":
            self._require_encryption(file, found, "is there already")
            self._advance(file.size)
            return Sent(file.relative_key, "skipped", file.size, found.evidence, found.note)
        if found.state != "absent":
            raise _conflict(file, found)
        with opened(file) as descriptor:
            try:
                kept = self._write(file, descriptor)
            except TakenError:
                return self._taken(file, content)
        verified = self._verify(file, content)
        return Sent(file.relative_key, "resumed" if kept else "uploaded", file.size, verified.evidence, "", kept)

    def _write(self, file: BundleFile, descriptor: int) -> int:
        if len(file.part_digests) > 1:
            return self._write_parts(file, descriptor)
        check_part(descriptor, file, 0)
        for attempt in range(CONFLICT_ATTEMPTS):
            reply = self._put(file, descriptor)
            if not reply.code:
                return 0
            if reply.code in TAKEN_CODES:
                raise TakenError
            if reply.code not in CONFLICT_CODES:
                break
            time.sleep(CONFLICT_WAIT * 2**attempt)
        raise failure(file.relative_key, "could not be uploaded", reply.code)

    def _put(self, file: BundleFile, descriptor: int) -> Reply:
        body = FileSlice(descriptor, offset=0, size=file.size, advance=self._advance, stop=self._stop)
        return ask(
            self._client,
            "put_object",
            Body=body if file.size else b"",
            IfNoneMatch="*",
            ChecksumAlgorithm="SHA256",
            ChecksumSHA256=checksum_text(file.sha256),
            Metadata={METADATA_KEY: file.sha256.hex()},
            **place(self._to, file.relative_key),
            **encryption_arguments(self._to),
        )

    def _write_parts(self, file: BundleFile, descriptor: int) -> int:
        try:
            return self._multipart.send(file, descriptor, resume=True)
        except VanishedError:
            # Another run finished or aborted this upload. If its object is there, it decides; else one fresh attempt.
            if look_up(self._client, self._to, file.relative_key, Content.of_file(file)).state != "absent":
                raise TakenError from None
        try:
            return self._multipart.send(file, descriptor, resume=False)
        except VanishedError:
            raise failure(file.relative_key, "another run aborted its multipart upload twice", "NoSuchUpload") from None

    def _taken(self, file: BundleFile, content: Content) -> Sent:
        # An answer that was lost and asked for again, or another run that was faster: only the content decides.
        found = look_up(self._client, self._to, file.relative_key, content)
        if found.state != "same":
            raise _conflict(file, found)
        self._require_encryption(file, found, "was there when the data arrived")
        note = "was there when the data arrived: an answer was lost, or another run came first"
        return Sent(file.relative_key, "skipped", file.size, found.evidence, found.note or note)

    def _verify(self, file: BundleFile, content: Content) -> Found:
        found = look_up(self._client, self._to, file.relative_key, content)
        if found.state == "same" and found.evidence == "metadata":
            found = read_back(self._client, self._to, file.relative_key, content, found)
        if found.state in {"absent", "different"}:
            raise DecidedError(f"{file.relative_key}: uploaded, but what lies there differs: {found.note or 'nothing'}")
        if found.state == "unknown":
            raise UploadNotVerifiedError(f"{file.relative_key}: uploaded, but not verified: {found.note}; {RUN_AGAIN}")
        self._require_encryption(file, found, "uploaded")
        return found

    def _require_encryption(self, file: BundleFile, found: Found, how: str) -> None:
        if not encrypted_as_asked(found, self._to):
            raise DecidedError(f"{file.relative_key}: {how}, but not encrypted as it was asked for")


def _conflict(file: BundleFile, found: Found) -> UploadNotVerifiedError:
    if found.state == "different":
        return DecidedError(
            f"{file.relative_key}: something else lies under its key ({found.note}) and is never overwritten; "
            "publish under a fresh prefix"
        )
    return UploadNotVerifiedError(f"{file.relative_key}: what lies there is unknown: {found.note}; {RUN_AGAIN}")
