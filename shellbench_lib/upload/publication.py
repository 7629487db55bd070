"""The upload manifest, the commit point of a publication: which files, of which size and SHA-256, make the bundle.

It is published last and only when everything it lists was verified. It holds no clock and nothing about a run of the
upload, so an unchanged bundle gives the same bytes. A manifest that is there already is respected: the same files,
nothing is written; a bundle that grew, with every published file unchanged, replaces it on the condition that it
still is the one that was read; anything else stops. Only what has every field of a manifest of ours, for this
destination and this run, counts as one: a foreign object under its key is never replaced.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from shellbench_lib.errors import InputError, UploadNotVerifiedError
from shellbench_lib.tables import json_bytes
from shellbench_lib.upload.aws import Reply, ask
from shellbench_lib.upload.bundle import RUN_INDEX, BundleFile
from shellbench_lib.upload.faults import TAKEN_CODES, failure
from shellbench_lib.upload.local import ChangedError
from shellbench_lib.upload.remote import (
    ABSENT_CODES,
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

MANIFEST_NAME = "S3_UPLOAD_MANIFEST.json"
SCHEMA_VERSION = 1
LARGEST_MANIFEST = 64 * 1024 * 1024  # bytes read of one that is there already; 10,000 files take 2 MB
ManifestStatus = Literal["published", "replaced", "unchanged"]


@dataclass(frozen=True, slots=True)
class Published:
    """A manifest that lies in the bucket: its bytes, its ETag and its files as relative_key → (size, sha256)."""

    data: bytes
    etag: str
    files: dict[str, tuple[int, str]]


_Count = Annotated[int, Field(ge=0)]
_STRICT = ConfigDict(strict=True, extra="forbid")


class _ListedFile(BaseModel):
    model_config = _STRICT
    relative_key: Annotated[str, Field(min_length=1)]
    size: _Count
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class _Manifest(BaseModel):
    """What a manifest of ours looks like; the order of the fields is theirs in the file."""

    model_config = _STRICT
    schema_version: int
    bucket: str
    prefix: str
    source_run: str
    file_count: _Count
    archive_count: _Count
    total_bytes: _Count
    files: Annotated[list[_ListedFile], Field(min_length=1)]
    provenance: dict[str, Any]

    def is_consistent(self) -> bool:
        """Whether no file is named twice and the counts are those of the files."""
        keys = {file.relative_key for file in self.files}
        counts = (len(keys), sum(key.startswith("raw/") for key in keys), sum(file.size for file in self.files))
        return len(keys) == len(self.files) and counts == (self.file_count, self.archive_count, self.total_bytes)


def manifest_bytes(files: Sequence[BundleFile], destination: Destination, *, source_run: str) -> bytes:
    """Return the manifest of a bundle.

    Raises:
        InputError: the run index changed since it was hashed, or is no JSON object.
    """
    ordered = sorted(files, key=lambda file: file.relative_key)
    return json_bytes(
        {
            "schema_version": SCHEMA_VERSION,
            "bucket": destination.bucket,
            "prefix": destination.prefix,
            "source_run": source_run,
            "file_count": len(ordered),
            "archive_count": sum(file.is_archive for file in ordered),
            "total_bytes": sum(file.size for file in ordered),
            "files": [
                {"relative_key": file.relative_key, "size": file.size, "sha256": file.sha256.hex()} for file in ordered
            ],
            "provenance": {"run_index": run_index_provenance(ordered)},
        }
    )


def run_index_provenance(files: Sequence[BundleFile]) -> dict[str, Any] | None:
    """Return what the manifest says about the run index, None for a bundle without one.

    Raises:
        InputError: it changed since it was hashed, cannot be read, or is no JSON object with a list `runs`.
    """
    index = next((file for file in files if file.relative_key == RUN_INDEX), None)
    if index is None:
        return None
    try:
        data = index.path.read_bytes()
    except OSError as error:
        raise InputError(f"{index.relative_key}: cannot be read ({type(error).__name__})") from error
    if Content.of_bytes(data).sha256 != index.sha256:
        raise ChangedError(index.relative_key)
    try:
        content = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{index.relative_key}: is no JSON file; its runs cannot be named in the manifest") from error
    runs = content.get("runs") if isinstance(content, dict) else None
    if not isinstance(runs, list):
        raise InputError(f"{index.relative_key}: must be an object with a list `runs`")
    entries = [content, *(run for run in runs if isinstance(run, dict))]
    commits = {entry["runner_commit"] for entry in entries if isinstance(entry.get("runner_commit"), str)}
    return {"sha256": index.sha256.hex(), "run_count": len(runs), "runner_commits": sorted(commits)}


def read_published(client: Any, destination: Destination, *, source_run: str) -> Published | None:
    """Return the manifest that lies in the bucket, None where there is none.

    Raises:
        UploadNotVerifiedError: it cannot be read or is none of ours for this destination and run.
    """
    reply = ask(client, "get_object", **place(destination, MANIFEST_NAME))
    if reply.code in ABSENT_CODES:
        return None
    if reply.code:
        raise failure(MANIFEST_NAME, "whether one is published is unknown", reply.code)
    etag = reply.value.get("ETag")
    if not isinstance(etag, str) or not etag:
        raise failure(MANIFEST_NAME, "the published one could not be read", "no ETag")
    try:
        data: bytes = reply.value["Body"].read(LARGEST_MANIFEST + 1)
    except Exception as error:  # noqa: BLE001 - a body that breaks off says nothing, whatever the cause
        raise failure(MANIFEST_NAME, "the published one could not be read", type(error).__name__) from None
    if len(data) > LARGEST_MANIFEST:
        raise failure(MANIFEST_NAME, "the published one could not be read", "larger than any manifest of ours")
    return Published(data, etag, _files(data, destination, source_run))


def _files(data: bytes, destination: Destination, source_run: str) -> dict[str, tuple[int, str]]:
    try:
        manifest = _Manifest.model_validate_json(data)
    except ValidationError:
        manifest = None
    ours = (SCHEMA_VERSION, destination.bucket, destination.prefix, source_run)
    if manifest is None or (manifest.schema_version, manifest.bucket, manifest.prefix, manifest.source_run) != ours:
        raise UploadNotVerifiedError(
            f"{MANIFEST_NAME}: what lies under its key is no manifest of this run; publish under a fresh prefix"
        )
    if not manifest.is_consistent():
        raise UploadNotVerifiedError(
            f"{MANIFEST_NAME}: the published one names a file twice or counts wrongly; publish under a fresh prefix"
        )
    return {file.relative_key: (file.size, file.sha256) for file in manifest.files}


def planned_status(published: Published | None, files: Sequence[BundleFile], *, data: bytes) -> ManifestStatus:
    """Return what publishing these files, with `data` as their manifest, means for the manifest that is there.

    Raises:
        UploadNotVerifiedError: a published file is missing in the bundle or differs from it, or the files are the
            same and another field is not.
    """
    if published is None:
        return "published"
    ours = {file.relative_key: (file.size, file.sha256.hex()) for file in files}
    differing = sorted(key for key, value in published.files.items() if ours.get(key) != value)
    if differing:
        raise UploadNotVerifiedError(
            f"{MANIFEST_NAME}: another bundle is published here: {len(differing)} of its {len(published.files)} files "
            f"are missing in this one or differ, the first is {differing[0]}; publish under a fresh prefix"
        )
    if len(published.files) < len(ours):
        return "replaced"
    if json.loads(published.data) != json.loads(data):
        raise UploadNotVerifiedError(
            f"{MANIFEST_NAME}: the published one lists the same files and differs otherwise; publish under "
            "a fresh prefix"
        )
    return "unchanged"


def publish_manifest(client: Any, destination: Destination, data: bytes, *, published: Published | None) -> None:
    """Write the manifest, on the condition that nothing else was written meanwhile, and verify it.

    Raises:
        UploadNotVerifiedError: the call failed or may have failed, another manifest came first, or what lies there is
            not this one.
    """
    content = Content.of_bytes(data)
    condition = {"IfMatch": published.etag} if published else {"IfNoneMatch": "*"}
    reply = ask(
        client,
        "put_object",
        Body=data,
        ChecksumAlgorithm="SHA256",
        ChecksumSHA256=checksum_text(content.sha256),
        Metadata={METADATA_KEY: content.sha256.hex()},
        **condition,
        **place(destination, MANIFEST_NAME),
        **encryption_arguments(destination),
    )
    # A lost answer says nothing, and asked for again it looks like a conflict with ourselves: only the content decides.
    found = look_up(client, destination, MANIFEST_NAME, content)
    if found.state == "unknown":
        found = read_back(client, destination, MANIFEST_NAME, content, found)
    if found.state != "same":
        raise _not_published(reply, found)
    if not encrypted_as_asked(found, destination):
        raise UploadNotVerifiedError(f"{MANIFEST_NAME}: published, but not encrypted as it was asked for")


def _not_published(reply: Reply, found: Found) -> UploadNotVerifiedError:
    if found.state == "unknown":
        return UploadNotVerifiedError(
            f"{MANIFEST_NAME}: unknown whether the manifest was published: {reply.code or 'written'}, then "
            f"{found.note}; run again, and what already lies there is skipped"
        )
    there = found.note or "nothing lies there"
    if reply.code in TAKEN_CODES:
        return UploadNotVerifiedError(f"{MANIFEST_NAME}: not published, another came first; {there}")
    if reply.code:
        return failure(MANIFEST_NAME, "could not be published", reply.code)
    return UploadNotVerifiedError(f"{MANIFEST_NAME}: written, but what lies there is not this one; {there}")
