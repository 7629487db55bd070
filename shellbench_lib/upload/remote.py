"""What lies under a key, and is it the file? Size and SHA-256 decide, never an ETag, never a date.

Evidence of equality, the strongest first: the checksum that S3 itself computed when it took the data (for an upload
in parts the digest of the parts' digests, S3 "composite" checksum); the bytes read back; the SHA-256 in the object's
metadata together with the size. A checksum of parts cut elsewhere cannot be compared and is no evidence.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from shellbench_lib.upload.aws import Reply, ask
from shellbench_lib.upload.bundle import READ_SIZE, BundleFile
from shellbench_lib.upload.settings import Destination

State = Literal["absent", "same", "different", "unknown"]
Evidence = Literal["", "checksum", "metadata", "read back"]
METADATA_KEY = "sha256"
ABSENT_CODES = frozenset({"404", "NoSuchKey", "NotFound"})
# HeadObject answers without a body, so that only the status tells.
_HINTS = {"400": " (so S3 answers to expired credentials)", "301": " (another region than the bucket's)"}
_ASLEEP = frozenset({"GLACIER", "DEEP_ARCHIVE"})  # storage classes that cannot be read without a restore


@dataclass(frozen=True, slots=True)
class Content:
    """The bytes that should lie under a key: size, SHA-256 of the whole and of the parts they are sent in."""

    size: int
    sha256: bytes
    part_digests: tuple[bytes, ...]

    @classmethod
    def of_file(cls, file: BundleFile) -> Content:
        """Return the content of a file of the bundle."""
        return cls(file.size, file.sha256, file.part_digests)

    @classmethod
    def of_bytes(cls, data: bytes) -> Content:
        """Return the content that these bytes are."""
        digest = hashlib.sha256(data).digest()
        return cls(len(data), digest, (digest,))


@dataclass(frozen=True, slots=True)
class Found:
    """What was found under a key, on which evidence, and a sentence where there is something to say."""

    state: State
    evidence: Evidence = ""
    note: str = ""
    encryption: str = ""
    key_id: str = ""


def checksum_text(digest: bytes) -> str:
    """Return a SHA-256 as S3 writes it."""
    return base64.b64encode(digest).decode("ascii")


def composite_text(part_digests: tuple[bytes, ...]) -> str:
    """Return the SHA-256 over the parts' digests as S3 writes it, without the number of parts behind it."""
    return checksum_text(hashlib.sha256(b"".join(part_digests)).digest())


def look_up(client: Any, destination: Destination, relative_key: str, content: Content) -> Found:
    """Return what lies under a key, read back where nothing else proves it; no failure is raised."""
    reply = ask(client, "head_object", ChecksumMode="ENABLED", **place(destination, relative_key))
    found = compare(reply, content)
    if found.state == "unknown" and not reply.code:
        return read_back(client, destination, relative_key, content, found)
    return found


def place(destination: Destination, relative_key: str) -> dict[str, str]:
    """Return the arguments that name an object and the account that must own its bucket."""
    return {
        "Bucket": destination.bucket,
        "Key": destination.key(relative_key),
        "ExpectedBucketOwner": destination.account,
    }


def compare(reply: Reply, content: Content) -> Found:
    """Return what an answer to HeadObject says about a key, compared with the content that should lie there."""
    if reply.code in ABSENT_CODES:
        return Found("absent")
    if reply.code:
        return Found("unknown", note=f"{reply.code}{_HINTS.get(reply.code, '')}")
    encryption, key_id = str(reply.value.get("ServerSideEncryption", "")), str(reply.value.get("SSEKMSKeyId", ""))
    return replace(_compare_head(reply.value, content), encryption=encryption, key_id=key_id)


def _compare_head(head: Mapping[str, Any], content: Content) -> Found:
    metadata = head.get("Metadata")
    named = str(metadata.get(METADATA_KEY, "")).lower() if isinstance(metadata, Mapping) else ""
    if head.get("ContentLength") != content.size:
        return Found("different", note="another size")
    if named and named != content.sha256.hex():
        return Found("different", note="another SHA-256 in its metadata")
    verdict = _compare_checksum(head.get("ChecksumSHA256"), content)
    if verdict is False:
        return Found("different", note="another checksum")
    asleep = "archived storage class, cannot be read back" if head.get("StorageClass") in _ASLEEP else ""
    if verdict or named:
        return Found("same", "checksum" if verdict else "metadata", asleep)
    return Found("unknown", note="neither checksum nor SHA-256 in its metadata")


def _compare_checksum(value: object, content: Content) -> bool | None:
    if not isinstance(value, str) or not value:
        return None
    digest, _, parts = value.partition("-")
    if digest in {checksum_text(content.sha256), composite_text(content.part_digests)}:
        return True
    comparable = not parts or parts == str(len(content.part_digests))
    return False if comparable else None


def read_back(client: Any, destination: Destination, relative_key: str, content: Content, found: Found) -> Found:
    """Return what the object's own bytes say, hashed as they come."""
    reply = ask(client, "get_object", **place(destination, relative_key))
    if reply.code:
        return Found("unknown", note=f"{found.note or 'no checksum'}, and it cannot be read back: {reply.code}")
    digest, size = hashlib.sha256(), 0
    try:
        for piece in reply.value["Body"].iter_chunks(READ_SIZE):
            digest.update(piece)
            size += len(piece)
    except Exception as error:  # noqa: BLE001 - a body that breaks off proves nothing, whatever the cause
        return Found("unknown", note=f"reading it back broke off: {type(error).__name__}")
    same = (size, digest.digest()) == (content.size, content.sha256)
    return Found(
        "same" if same else "different",
        "read back",
        "" if same else "other bytes",
        encryption=found.encryption or str(reply.value.get("ServerSideEncryption", "")),
        key_id=found.key_id or str(reply.value.get("SSEKMSKeyId", "")),
    )


def encryption_arguments(destination: Destination) -> dict[str, str]:
    """Return the arguments that ask for encryption at rest: the KMS key where one is set, else AES256."""
    if destination.kms_key:
        return {"ServerSideEncryption": "aws:kms", "SSEKMSKeyId": destination.kms_key}
    return {"ServerSideEncryption": "AES256"}


def encrypted_as_asked(found: Found, destination: Destination) -> bool:
    """Return whether the object is encrypted as it was asked for; a key id matches the end of the key's ARN."""
    if not destination.kms_key:
        return found.encryption == "AES256"
    right_key = found.key_id == destination.kms_key or found.key_id.endswith(f":key/{destination.kms_key}")
    return found.encryption == "aws:kms" and right_key
