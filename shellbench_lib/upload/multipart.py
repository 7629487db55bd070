"""Large files in parts, several at once, and the resumption of an upload that was cut off.

S3 keeps the parts of an unfinished upload. The next run goes on with one that this tool remembers (`unfinished`) as
started for the same bytes in the same parts with the same encryption, and of which every part is the file's own part
of that number (size and SHA-256); any other one that it remembers under the key is aborted, and what it does not
remember is left alone. A part without a checksum proves nothing. The parts' ETags go back as S3 gave them and are never
compared with anything.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from typing import Any

from shellbench_lib.upload.aws import ask, ask_pages
from shellbench_lib.upload.bundle import BundleFile
from shellbench_lib.upload.faults import (
    CONFLICT_CODES,
    TAKEN_CODES,
    VANISHED_CODES,
    DecidedError,
    TakenError,
    VanishedError,
    failure,
)
from shellbench_lib.upload.local import FileSlice, Stopped, check_part
from shellbench_lib.upload.remote import METADATA_KEY, checksum_text, encryption_arguments, place
from shellbench_lib.upload.settings import Destination
from shellbench_lib.upload.unfinished import Begun, Unfinished

Part = dict[str, Any]  # PartNumber, ETag, ChecksumSHA256: what S3 wants to hear when the upload is completed


class Multipart:
    """The multipart uploads of one run, and which of them are open."""

    def __init__(
        self,
        client: Any,
        destination: Destination,
        *,
        pool: Executor,
        unfinished: Unfinished,
        advance: Callable[[int], None],
        stop: threading.Event,
    ) -> None:
        self._client, self._to, self._pool, self._advance, self._stop = client, destination, pool, advance, stop
        self._unfinished = unfinished
        self._open: dict[str, str] = {}

    def send(self, file: BundleFile, descriptor: int, *, resume: bool) -> int:
        """Send a file in parts and return how many parts of an earlier upload were kept.

        Raises:
            TakenError: something lies under the key already.
            VanishedError: the upload is gone.
            UploadNotVerifiedError: a call failed.
            ChangedError: a part of the file is not what was hashed.
        """
        upload_id, kept = self._earlier(file) if resume else ("", {})
        upload_id = upload_id or self._create(file)
        self._open[file.relative_key] = upload_id
        if not any(entry.upload_id == upload_id for entry in self._unfinished.under(self._to, file.relative_key)):
            self._unfinished.add(Begun.of(file, self._to, upload_id))
        self._advance(sum(_part_length(file, number) for number in kept))
        missing = [number for number in range(len(file.part_digests)) if number not in kept]
        jobs = [self._pool.submit(self._send_part, file, descriptor, number, upload_id) for number in missing]
        parts = {**kept, **dict(zip(missing, _results(jobs), strict=True))}
        self._complete(file, upload_id, [parts[number] for number in sorted(parts)])
        del self._open[file.relative_key]
        self._unfinished.remove(upload_id)
        return len(kept)

    def abort_open(self) -> None:
        """Abort what this run has left open, as far as it goes; S3 keeps no part of it."""
        for relative_key, upload_id in self._open.items():
            self._abort(relative_key, upload_id)
        self._open.clear()

    def _create(self, file: BundleFile) -> str:
        reply = ask(
            self._client,
            "create_multipart_upload",
            ChecksumAlgorithm="SHA256",
            ChecksumType="COMPOSITE",
            Metadata={METADATA_KEY: file.sha256.hex()},
            **place(self._to, file.relative_key),
            **encryption_arguments(self._to),
        )
        if reply.code:
            raise failure(file.relative_key, "the upload in parts could not be started", reply.code)
        return str(reply.value["UploadId"])

    def _earlier(self, file: BundleFile) -> tuple[str, dict[int, Part]]:
        """Return the remembered upload with the most parts that can be gone on with; the others are aborted."""
        usable: dict[str, dict[int, Part]] = {}
        for begun in self._unfinished.under(self._to, file.relative_key):
            fits = begun == Begun.of(file, self._to, begun.upload_id)
            parts = self._matching_parts(file, begun.upload_id) if fits else None
            if parts is None:
                self._abort(file.relative_key, begun.upload_id)
            else:
                usable[begun.upload_id] = parts
        best = max(usable, key=lambda upload_id: len(usable[upload_id]), default="")
        return best, usable.get(best, {})

    def _matching_parts(self, file: BundleFile, upload_id: str) -> dict[int, Part] | None:
        """Return the parts of an unfinished upload by number from 0; None where one is no part of the file."""
        arguments = {"UploadId": upload_id, **place(self._to, file.relative_key)}
        reply = ask_pages(self._client, "list_parts", "Parts", **arguments)
        if reply.code in VANISHED_CODES:
            return None
        if reply.code:
            raise failure(file.relative_key, "the parts of an unfinished upload could not be listed", reply.code)
        kept: dict[int, Part] = {}
        for part in reply.value["Parts"]:
            number = int(part.get("PartNumber", 0)) - 1
            if not _is_part(file, number, part):
                return None
            kept[number] = _named(number, part, part["ChecksumSHA256"])
        return kept

    def _send_part(self, file: BundleFile, descriptor: int, number: int, upload_id: str) -> Part:
        if self._stop.is_set():
            raise Stopped
        check_part(descriptor, file, number)
        checksum = checksum_text(file.part_digests[number])
        body = FileSlice(
            descriptor,
            offset=number * file.part_size,
            size=_part_length(file, number),
            advance=self._advance,
            stop=self._stop,
        )
        reply = ask(
            self._client,
            "upload_part",
            Body=body,
            PartNumber=number + 1,
            UploadId=upload_id,
            ChecksumAlgorithm="SHA256",
            ChecksumSHA256=checksum,
            **place(self._to, file.relative_key),
        )
        if reply.code in VANISHED_CODES:
            raise VanishedError
        if reply.code:
            raise failure(file.relative_key, f"part {number + 1} could not be uploaded", reply.code)
        if reply.value.get("ChecksumSHA256", checksum) != checksum:
            raise DecidedError(f"{file.relative_key}: part {number + 1} arrived with another checksum")
        return _named(number, reply.value, checksum)

    def _complete(self, file: BundleFile, upload_id: str, parts: list[Part]) -> None:
        reply = ask(
            self._client,
            "complete_multipart_upload",
            UploadId=upload_id,
            MultipartUpload={"Parts": parts},
            MpuObjectSize=file.size,
            IfNoneMatch="*",
            **place(self._to, file.relative_key),
        )
        if reply.code in TAKEN_CODES:
            self._abort(file.relative_key, upload_id)
            raise TakenError
        if reply.code in CONFLICT_CODES:
            self._abort(file.relative_key, upload_id)
            raise VanishedError
        if reply.code in VANISHED_CODES:
            self._unfinished.remove(upload_id)
            raise VanishedError
        if reply.code:
            raise failure(file.relative_key, "the upload in parts could not be completed", reply.code)

    def _abort(self, relative_key: str, upload_id: str) -> None:
        # Best effort: an upload that cannot be aborted stays unfinished, serves nobody, and the next run tries again.
        reply = ask(self._client, "abort_multipart_upload", UploadId=upload_id, **place(self._to, relative_key))
        if not reply.code or reply.code in VANISHED_CODES:
            self._unfinished.remove(upload_id)


def _results(jobs: list[Future[Part]]) -> list[Part]:
    """Return every job's result; the first failure ends those that have not begun and waits for the others."""
    try:
        return [job.result() for job in jobs]
    except BaseException:
        for job in jobs:
            job.cancel()
        for job in jobs:
            if not job.cancelled():
                job.exception()
        raise


def _part_length(file: BundleFile, number: int) -> int:
    return min(file.part_size, file.size - number * file.part_size)


def _is_part(file: BundleFile, number: int, part: Mapping[str, Any]) -> bool:
    if not 0 <= number < len(file.part_digests):
        return False
    right_checksum = part.get("ChecksumSHA256") == checksum_text(file.part_digests[number])
    return right_checksum and part.get("Size") == _part_length(file, number)


def _named(number: int, part: Mapping[str, Any], checksum: str) -> Part:
    return {"PartNumber": number + 1, "ETag": part["ETag"], "ChecksumSHA256": checksum}
