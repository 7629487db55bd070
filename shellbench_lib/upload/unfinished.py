"""Which multipart uploads this tool left unfinished, remembered beside the receipt for the next run.

S3 does not tell what an unfinished upload was started for: its encryption, its metadata, the file as a whole. So each
one is written down here before its first part, with the file's SHA-256 and size, the part size and the encryption that
was asked for, and struck out when it is completed or aborted. Only an upload that stands here is ever gone on with or
aborted; what somebody else began under the same key is left alone. A record that cannot be read counts as none. The
file names bucket and key, stays on this machine and is never uploaded.
"""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from shellbench_lib.tables import json_bytes
from shellbench_lib.upload.bundle import BundleFile
from shellbench_lib.upload.local import write_private
from shellbench_lib.upload.remote import encryption_arguments
from shellbench_lib.upload.settings import Destination

UNFINISHED_NAME = "S3_UPLOAD_UNFINISHED.json"
_LOCK = threading.Lock()  # of every record in this process: each change reads the file anew and writes it whole


class Begun(BaseModel):
    """One multipart upload and what it was started for."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)
    bucket: str
    key: str
    upload_id: str
    sha256: str
    size: int
    part_size: int
    encryption: dict[str, str]

    @classmethod
    def of(cls, file: BundleFile, destination: Destination, upload_id: str) -> Begun:
        """Return the record of an upload that is started for a file now."""
        return cls(
            bucket=destination.bucket,
            key=destination.key(file.relative_key),
            upload_id=upload_id,
            sha256=file.sha256.hex(),
            size=file.size,
            part_size=file.part_size,
            encryption=encryption_arguments(destination),
        )


class Unfinished:
    """The records of one run's folder; without a path they end with the process."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._begun: list[Begun] = []

    def under(self, destination: Destination, relative_key: str) -> list[Begun]:
        """Return the uploads that were begun under a key, the latest first."""
        place = (destination.bucket, destination.key(relative_key))
        with _LOCK:
            return [entry for entry in reversed(self._read()) if (entry.bucket, entry.key) == place]

    def add(self, begun: Begun) -> None:
        """Remember an upload; raises OutputError where that cannot be written."""
        with _LOCK:
            self._write([*self._read(), begun])

    def remove(self, upload_id: str) -> None:
        """Strike out an upload that is completed, aborted or gone; raises OutputError as `add` does."""
        with _LOCK:
            begun = self._read()
            kept = [entry for entry in begun if entry.upload_id != upload_id]
            if len(kept) < len(begun):
                self._write(kept)

    def _read(self) -> list[Begun]:
        if self._path is None:
            return self._begun
        try:
            entries: Any = json.loads(self._path.read_bytes())
            return [Begun.model_validate(entry) for entry in entries]
        except (OSError, ValueError, TypeError, RecursionError):
            return []

    def _write(self, begun: list[Begun]) -> None:
        self._begun = begun
        if self._path is not None:
            write_private(self._path, json_bytes([entry.model_dump() for entry in begun]))
