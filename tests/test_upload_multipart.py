"""Uploads in parts, call by call: what is sent, what is kept of an earlier upload, and what is given up."""

from __future__ import annotations

import datetime as dt

import pytest
from botocore.stub import ANY
from upload_files import MIB, noise, pinned
from upload_stubs import ACCOUNT, DESTINATION, OF_BUCKET, REGION, StubSession

from shellbench_lib.errors import UploadNotVerifiedError
from shellbench_lib.upload.remote import checksum_text, composite_text
from shellbench_lib.upload.transfer import Transfer

KEY = "summaries/large.bin"
PART = 5 * MIB
THERE = {"Bucket": DESTINATION.bucket, "Key": DESTINATION.key(KEY), "ExpectedBucketOwner": ACCOUNT}
WHEN = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return pinned(tmp_path_factory.mktemp("parts"), KEY, noise(2 * PART + 3), part_size=PART)


class Script:
    """The calls of one file in their order, each with its exact parameters."""

    def __init__(self, file):
        self.file, self.session = file, StubSession()
        self.stubber = self.session.stubber("s3", REGION)

    def head(self, answer="404"):
        self.stubber.queue("head_object", answer, {**THERE, "ChecksumMode": "ENABLED"})

    def arrived(self, **more):
        checksum = f"{composite_text(self.file.part_digests)}-{len(self.file.part_digests)}"
        self.head(
            {
                "ContentLength": self.file.size,
                "Metadata": {"sha256": self.file.sha256.hex()},
                "ChecksumSHA256": checksum,
                "ServerSideEncryption": "AES256",
                **more,
            }
        )

    def uploads(self, *ids):
        listed = [{"Key": DESTINATION.key(KEY), "UploadId": name, "Initiated": WHEN} for name in ids]
        answer = {"Uploads": listed, "IsTruncated": False}
        self.stubber.queue("list_multipart_uploads", answer, {**OF_BUCKET, "Prefix": DESTINATION.key(KEY)})

    def parts(self, upload, *pages):
        for number, page in enumerate(pages):
            last = number == len(pages) - 1
            answer = {"Parts": list(page), "IsTruncated": not last, "NextPartNumberMarker": number + 1}
            marker = {"PartNumberMarker": number} if number else {}
            self.stubber.queue("list_parts", answer, {**THERE, "UploadId": upload, **marker})

    def create(self, upload="new"):
        expected = {
            **THERE,
            "ChecksumAlgorithm": "SHA256",
            "ChecksumType": "COMPOSITE",
            "Metadata": {"sha256": self.file.sha256.hex()},
            "ServerSideEncryption": "AES256",
        }
        self.stubber.queue("create_multipart_upload", {"UploadId": upload}, expected)

    def send(self, number, upload="new", answer=None):
        checksum = checksum_text(self.file.part_digests[number - 1])
        expected = {
            **THERE,
            "UploadId": upload,
            "PartNumber": number,
            "Body": ANY,
            "ChecksumAlgorithm": "SHA256",
            "ChecksumSHA256": checksum,
        }
        self.stubber.queue("upload_part", answer or {"ETag": f'"{number}"', "ChecksumSHA256": checksum}, expected)

    def complete(self, upload="new", answer=None):
        parts = [
            {"PartNumber": number, "ETag": f'"{number}"', "ChecksumSHA256": checksum_text(digest)}
            for number, digest in enumerate(self.file.part_digests, start=1)
        ]
        expected = {
            **THERE,
            "UploadId": upload,
            "MultipartUpload": {"Parts": parts},
            "MpuObjectSize": self.file.size,
            "IfNoneMatch": "*",
        }
        self.stubber.queue("complete_multipart_upload", answer or {"ETag": '"x"'}, expected)

    def abort(self, upload="new"):
        self.stubber.queue("abort_multipart_upload", {}, {**THERE, "UploadId": upload})

    def run(self):
        (sent,) = Transfer(self.session.client("s3", REGION), DESTINATION, workers=1).send_all([self.file])
        assert self.session.left() == []
        return sent

    def part(self, number, **changes):
        size = PART if number < 3 else 3
        digest = self.file.part_digests[number - 1]
        return {
            "PartNumber": number,
            "ETag": f'"{number}"',
            "Size": size,
            "ChecksumSHA256": checksum_text(digest),
        } | changes


@pytest.fixture
def script(file):
    return Script(file)


def test_a_new_upload_sends_every_part_with_its_checksum(script):
    script.head()
    script.uploads()
    script.create()
    for number in (1, 2, 3):
        script.send(number)
    script.complete()
    script.arrived()
    sent = script.run()
    assert (sent.status, sent.parts_kept, sent.evidence) == ("uploaded", 0, "checksum")


def test_parts_that_match_are_kept_page_by_page_and_only_the_missing_one_is_sent(script):
    script.head()
    script.uploads("old")
    script.parts("old", [script.part(1)], [script.part(3)])
    script.send(2, "old")
    script.complete("old")
    script.arrived()
    sent = script.run()
    assert (sent.status, sent.parts_kept) == ("resumed", 2)


@pytest.mark.parametrize(
    "change",
    [
        {"ChecksumSHA256": checksum_text(bytes(32))},
        {"Size": 7},
        {"PartNumber": 4},
        {"PartNumber": 0},
        {"ChecksumSHA256": ""},
    ],
)
def test_one_part_that_does_not_match_gives_up_the_whole_earlier_upload(script, change):
    script.head()
    script.uploads("old")
    script.parts("old", [script.part(1), script.part(2, **change)])
    script.abort("old")
    script.create()
    for number in (1, 2, 3):
        script.send(number)
    script.complete()
    script.arrived()
    assert script.run().status == "uploaded"


def test_the_upload_with_the_most_parts_is_taken_and_that_of_another_key_left_alone(script):
    script.head()
    script.stubber.queue(
        "list_multipart_uploads",
        {
            "IsTruncated": False,
            "Uploads": [
                {"Key": DESTINATION.key(KEY), "UploadId": "one", "Initiated": WHEN},
                {"Key": DESTINATION.key(KEY) + ".other", "UploadId": "other", "Initiated": WHEN},
                {"Key": DESTINATION.key(KEY), "UploadId": "two", "Initiated": WHEN},
            ],
        },
        {**OF_BUCKET, "Prefix": DESTINATION.key(KEY)},
    )
    script.parts("one", [script.part(1)])
    script.parts("two", [script.part(1), script.part(2)])
    script.send(3, "two")
    script.complete("two")
    script.arrived()
    assert script.run().parts_kept == 2


def test_something_under_the_key_at_completion_is_compared_and_the_parts_are_given_up(script):
    script.head()
    script.uploads()
    script.create()
    for number in (1, 2, 3):
        script.send(number)
    script.complete(answer="PreconditionFailed")
    script.abort()
    script.arrived()
    assert script.run().status == "skipped"


@pytest.mark.parametrize("code", ["NoSuchUpload", "ConditionalRequestConflict"])
def test_an_upload_that_vanished_is_begun_once_more_where_no_object_is_there(script, code):
    script.head()
    script.uploads()
    script.create("first")
    for number in (1, 2, 3):
        script.send(number, "first")
    script.complete("first", answer=code)
    script.head()
    script.create("second")
    for number in (1, 2, 3):
        script.send(number, "second")
    script.complete("second")
    script.arrived()
    assert script.run().status == "uploaded"


def test_an_answer_to_the_completion_that_was_lost_is_found_again(script):
    script.head()
    script.uploads()
    script.create()
    for number in (1, 2, 3):
        script.send(number)
    script.complete(answer="NoSuchUpload")
    script.arrived()
    script.arrived()
    assert script.run().status == "skipped"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"ChecksumSHA256": composite_text((bytes(32),) * 3) + "-3"}, "differs: another checksum"),
        ({"ContentLength": 5}, "differs: another size"),
        ({"ServerSideEncryption": "aws:kms"}, "not encrypted as it was asked"),
    ],
)
def test_what_arrived_otherwise_than_sent_is_not_verified(script, more, said):
    script.head()
    script.uploads()
    script.create()
    for number in (1, 2, 3):
        script.send(number)
    script.complete()
    script.arrived(**more)
    with pytest.raises(UploadNotVerifiedError, match=said):
        script.run()


def test_a_part_that_arrived_with_another_checksum_gives_up_and_aborts(script):
    script.head()
    script.uploads()
    script.create()
    script.send(1, answer={"ETag": '"1"', "ChecksumSHA256": checksum_text(bytes(32))})
    script.stubber.queue("abort_multipart_upload", {}, {**THERE, "UploadId": "new"})
    with pytest.raises(UploadNotVerifiedError, match="part 1 arrived with another checksum"):
        script.run()


@pytest.mark.parametrize("call", ["list_multipart_uploads", "create_multipart_upload"])
def test_a_denied_call_stops_with_its_name(script, call):
    script.head()
    if call == "create_multipart_upload":
        script.uploads()
    script.stubber.queue(call, "AccessDenied")
    with pytest.raises(UploadNotVerifiedError, match="AccessDenied"):
        script.run()
