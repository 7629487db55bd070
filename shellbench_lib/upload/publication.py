"""The upload manifest, the commit point of a publication: which files, of which size and SHA-256, make the bundle.

It is published last and only when everything it lists was verified. It holds no clock and nothing about a run of the
upload, so an unchanged bundle gives the same bytes. A manifest that is there already is respected: the same files,
nothing is written; a bundle that grew, with every published file unchanged, replaces it on the condition that it
still is the one that was read; anything else stops.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from shellbench_lib.errors import InputError, UploadNotVerifiedError
from shellbench_lib.tables import json_bytes
from shellbench_lib.upload.aws import ask
from shellbench_lib.upload.bundle import RUN_INDEX, BundleFile
from shellbench_lib.upload.faults import TAKEN_CODES, failure
from shellbench_lib.upload.local import ChangedError
from shellbench_lib.upload.remote import (
    ABSENT_CODES,
    METADATA_KEY,
    Content,
    checksum_text,
    encrypted_as_asked,
    encryption_arguments,
    look_up,
    place,
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


def manifest_bytes(files: Sequence[BundleFile], destination: Destination, *, source_run: str) -> bytes:
    """Return the manifest of a bundle.

    Raises:
        InputError: the run index changed since it was hashed, or is no JSON object.
    """
    ordered = sorted(files, key=lambda file: file.relative_key)
    index = next((file for file in ordered if file.relative_key == RUN_INDEX), None)
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
            "provenance": {"run_index": _provenance(index) if index else None},
        }
    )


def _provenance(index: BundleFile) -> dict[str, Any]:
    data = index.path.read_bytes()
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


def read_published(client: Any, destination: Destination) -> Published | None:
    """Return the manifest that lies in the bucket, None where there is none.

    Raises:
        UploadNotVerifiedError: it cannot be read or is none of ours.
    """
    reply = ask(client, "get_object", **place(destination, MANIFEST_NAME))
    if reply.code in ABSENT_CODES:
        return None
    if reply.code:
        raise failure(MANIFEST_NAME, "whether one is published is unknown", reply.code)
    try:
        data: bytes = reply.value["Body"].read(LARGEST_MANIFEST + 1)
    except Exception as error:  # noqa: BLE001 - a body that breaks off says nothing, whatever the cause
        raise failure(MANIFEST_NAME, "the published one could not be read", type(error).__name__) from None
    if len(data) > LARGEST_MANIFEST:
        raise failure(MANIFEST_NAME, "the published one could not be read", "larger than any manifest of ours")
    return Published(data, str(reply.value.get("ETag", "")), _files(data))


def _files(data: bytes) -> dict[str, tuple[int, str]]:
    try:
        listed = json.loads(data)["files"]
        files = {entry["relative_key"]: (entry["size"], entry["sha256"].lower()) for entry in listed}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UploadNotVerifiedError(
            f"{MANIFEST_NAME}: what lies under its key is no manifest of ours; publish under a fresh prefix"
        ) from error
    if len(files) < len(listed):
        raise UploadNotVerifiedError(f"{MANIFEST_NAME}: the published one names a file twice; publish elsewhere")
    return files


def planned_status(published: Published | None, files: Sequence[BundleFile]) -> ManifestStatus:
    """Return what publishing these files means for the manifest that is there.

    Raises:
        UploadNotVerifiedError: a published file is missing in the bundle or differs from it.
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
    return "unchanged" if len(published.files) == len(ours) else "replaced"


def publish_manifest(client: Any, destination: Destination, data: bytes, *, published: Published | None) -> None:
    """Write the manifest, on the condition that nothing else was written meanwhile, and verify it.

    Raises:
        UploadNotVerifiedError: the call failed, another manifest came first, or what lies there is not this one.
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
    # An answer that was lost and asked for again looks like a conflict with ourselves: only the content decides.
    if reply.code and reply.code not in TAKEN_CODES:
        raise failure(MANIFEST_NAME, "could not be published", reply.code)
    found = look_up(client, destination, MANIFEST_NAME, content)
    if found.state != "same":
        raise UploadNotVerifiedError(
            f"{MANIFEST_NAME}: {'another came first' if reply.code else 'published, but not verified'}; {found.note}"
        )
    if not encrypted_as_asked(found, destination):
        raise UploadNotVerifiedError(f"{MANIFEST_NAME}: published, but not encrypted as it was asked for")
