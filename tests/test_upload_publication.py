"""The manifest's write, call by call: on which condition, and when it counts as published."""

from __future__ import annotations

import pytest
from upload_files import pinned
from upload_stubs import DESTINATION, REGION, StubSession

from shellbench_lib.errors import UploadNotVerifiedError
from shellbench_lib.upload.publication import MANIFEST_NAME, Published, planned_status, publish_manifest
from shellbench_lib.upload.remote import Content, checksum_text, place

DATA = b'{"files": []}\n'
CONTENT = Content.of_bytes(DATA)
THERE = place(DESTINATION, MANIFEST_NAME)
ARRIVED = {
    "ContentLength": len(DATA),
    "Metadata": {"sha256": CONTENT.sha256.hex()},
    "ChecksumSHA256": checksum_text(CONTENT.sha256),
    "ServerSideEncryption": "AES256",
}
OLD = Published(b"old", '"etag-of-the-old"', {"a": (1, "00")})


def publish(published, put, head):
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


@pytest.mark.parametrize(
    ("put", "head", "said"),
    [
        ("AccessDenied", None, "could not be published: AccessDenied"),
        ("PreconditionFailed", {**ARRIVED, "ContentLength": 3}, "another came first"),
        ({}, "404", "published, but not verified"),
        ({}, "403", "published, but not verified"),
        ({}, {**ARRIVED, "Metadata": {"sha256": "0" * 64}}, "published, but not verified"),
        ({}, {**ARRIVED, "ServerSideEncryption": "aws:kms"}, "not encrypted as it was asked"),
    ],
)
def test_anything_else_is_not_verified(put, head, said):
    with pytest.raises(UploadNotVerifiedError, match=said):
        publish(None, put, head)


def test_only_the_same_files_or_more_of_them_may_follow_a_published_manifest(tmp_path):
    one, two = pinned(tmp_path, "summaries/1", b"one"), pinned(tmp_path, "summaries/2", b"two")
    entry = {file.relative_key: (file.size, file.sha256.hex()) for file in (one, two)}
    assert planned_status(None, [one]) == "published"
    assert planned_status(Published(b"", "", entry), [two, one]) == "unchanged"
    assert planned_status(Published(b"", "", {one.relative_key: entry[one.relative_key]}), [one, two]) == "replaced"
    for files in (
        {"summaries/1": (3, "0" * 64)},
        {"summaries/1": (4, one.sha256.hex())},
        entry | {"summaries/3": (1, "0")},
    ):
        with pytest.raises(UploadNotVerifiedError, match="fresh prefix"):
            planned_status(Published(b"", "", files), [one, two])
