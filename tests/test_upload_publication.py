"""The manifest's write, call by call: on which condition, and when it counts as published."""

from __future__ import annotations

import io
import json

import pytest
from botocore.exceptions import ReadTimeoutError
from botocore.response import StreamingBody
from upload_files import pinned
from upload_stubs import DESTINATION, REGION, StubSession

from shellbench_lib.errors import UploadNotVerifiedError
from shellbench_lib.upload.publication import (
    MANIFEST_NAME,
    Published,
    manifest_bytes,
    planned_status,
    publish_manifest,
    read_published,
)
from shellbench_lib.upload.remote import Content, checksum_text, place
from shellbench_lib.upload.sample import archive_bytes

DATA = b'{"files": []}\n'
CONTENT = Content.of_bytes(DATA)
ARCHIVE = archive_bytes({"results/result.json": b"{}"})
THERE = place(DESTINATION, MANIFEST_NAME)
ARRIVED = {
    "ContentLength": len(DATA),
    "Metadata": {"sha256": CONTENT.sha256.hex()},
    "ChecksumSHA256": checksum_text(CONTENT.sha256),
    "ServerSideEncryption": "AES256",
}
OLD = Published(b"old", '"etag-of-the-old"', {"a": (1, "00")})


def publish(published, put, head, get=None):
    session = StubSession()
    stubber = session.stubber("s3", REGION)
    condition = {"IfMatch": published.etag} if published else {"IfNoneMatch": "*"}
    expected = {
        **THERE,
        **condition,
        "Body": DATA,
        "ChecksumAlgorithm": "SHA256",
        "ChecksumSHA256": checksum_text(CONTENT.sha256),
        "Metadata": {"sha256": CONTENT.sha256.hex()},
        "ServerSideEncryption": "AES256",
    }
    stubber.queue("put_object", put, expected)
    if head is not None:
        stubber.queue("head_object", head, {**THERE, "ChecksumMode": "ENABLED"})
    if get is not None:
        stubber.queue("get_object", get, THERE)
    try:
        publish_manifest(session.client("s3", REGION), DESTINATION, DATA, published=published)
    finally:
        assert session.left() == []


@pytest.mark.parametrize("published", [None, OLD], ids=["first", "replacing"])
def test_it_is_written_on_the_condition_that_nothing_changed_and_looked_up(published):
    publish(published, {}, ARRIVED)


@pytest.mark.parametrize("published", [None, OLD], ids=["first", "replacing"])
def test_an_answer_that_was_lost_is_no_conflict_where_the_same_bytes_lie_there(published):
    publish(published, "PreconditionFailed", ARRIVED)


def lost():
    return ReadTimeoutError(endpoint_url="https://s3.eu-west-1.amazonaws.com/")


def test_a_lost_answer_counts_as_published_where_the_manifest_lies_there():
    publish(None, lost(), ARRIVED)
    body = {"Body": StreamingBody(io.BytesIO(DATA), len(DATA)), "ServerSideEncryption": "AES256"}
    publish(None, {}, "SlowDown", body)


@pytest.mark.parametrize(
    ("put", "head", "get", "said"),
    [
        ("AccessDenied", "404", None, "could not be published: AccessDenied"),
        (lost(), "404", None, "could not be published: ReadTimeoutError; this run published no manifest"),
        (lost(), "403", "AccessDenied", "unknown whether the manifest was published: ReadTimeoutError"),
        ({}, "403", "AccessDenied", "unknown whether the manifest was published"),
        ("PreconditionFailed", {**ARRIVED, "ContentLength": 3}, None, "another came first"),
        ({}, "404", None, "written, but what lies there is not this one"),
        ({}, {**ARRIVED, "Metadata": {"sha256": "0" * 64}}, None, "written, but what lies there is not this one"),
        ({}, {**ARRIVED, "ServerSideEncryption": "aws:kms"}, None, "not encrypted as it was asked"),
    ],
)
def test_anything_else_is_not_verified(put, head, get, said):
    with pytest.raises(UploadNotVerifiedError, match=said):
        publish(None, put, head, get)


def manifest(files):
    return manifest_bytes(files, DESTINATION, source_run="run")


def test_only_the_same_files_or_more_of_them_may_follow_a_published_manifest(tmp_path):
    one, two = pinned(tmp_path, "summaries/1", b"one"), pinned(tmp_path, "summaries/2", b"two")
    entry = {file.relative_key: (file.size, file.sha256.hex()) for file in (one, two)}
    data = manifest([one, two])
    assert planned_status(None, [one], data=data) == "published"
    assert planned_status(Published(data, '"e"', entry), [two, one], data=data) == "unchanged"
    first = Published(b"", '"e"', {one.relative_key: entry[one.relative_key]})
    assert planned_status(first, [one, two], data=data) == "replaced"
    other = json.dumps(json.loads(data) | {"provenance": {}}).encode()
    with pytest.raises(UploadNotVerifiedError, match="same files and differs otherwise"):
        planned_status(Published(other, '"e"', entry), [one, two], data=data)
    for files in (
        {"summaries/1": (3, "0" * 64)},
        {"summaries/1": (4, one.sha256.hex())},
        entry | {"summaries/3": (1, "0")},
    ):
        with pytest.raises(UploadNotVerifiedError, match="fresh prefix"):
            planned_status(Published(b"", '"e"', files), [one, two], data=data)


def read(data, *, etag='"e"', source_run="run"):
    session = StubSession()
    answer = {"Body": StreamingBody(io.BytesIO(data), len(data)), **({"ETag": etag} if etag else {})}
    session.stubber("s3", REGION).queue("get_object", answer, THERE)
    return read_published(session.client("s3", REGION), DESTINATION, source_run=source_run)


def test_a_manifest_of_ours_is_read_and_one_without_an_etag_stops(tmp_path):
    file = pinned(tmp_path, "raw/1", ARCHIVE)
    data = manifest([file])
    assert read(data) == Published(data, '"e"', {"raw/1": (len(ARCHIVE), file.sha256.hex())})
    with pytest.raises(UploadNotVerifiedError, match="no ETag"):
        read(data, etag="")
    with pytest.raises(UploadNotVerifiedError, match="no manifest of this run"):
        read(data, source_run="another")


ENTRY = {"relative_key": "raw/1", "size": len(ARCHIVE), "sha256": "a" * 64}


@pytest.mark.parametrize(
    "change",
    [
        {"schema_version": 2}, {"schema_version": True}, {"bucket": "other-bucket"}, {"prefix": "traces"},
        {"files": []}, {"files": {}}, {"files": [ENTRY, ENTRY]}, {"files": [ENTRY | {"size": str(len(ARCHIVE))}]},
        {"files": [ENTRY | {"sha256": "a" * 63}]}, {"files": [ENTRY | {"relative_key": 1}]},
        {"file_count": 2}, {"archive_count": 0}, {"total_bytes": 4}, {"provenance": None}, {"more": 1},
    ],
    ids=str,
)  # fmt: skip
def test_what_only_looks_like_a_manifest_is_never_taken_for_one(tmp_path, change):
    data = manifest([pinned(tmp_path, "raw/1", ARCHIVE)])
    with pytest.raises(UploadNotVerifiedError, match="publish under a fresh prefix"):
        read(json.dumps(json.loads(data) | change).encode())


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"files": []}', b"<html>", b"[" * 100_000])
def test_a_foreign_object_is_never_taken_for_a_manifest(data):
    with pytest.raises(UploadNotVerifiedError, match="no manifest of this run"):
        read(data)
