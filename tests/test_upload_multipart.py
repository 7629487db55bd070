"""Uploads in parts, call by call: what is sent, what is kept of an earlier upload, and what is given up."""

from __future__ import annotations

import pytest
from botocore.stub import ANY
from upload_files import MIB, noise, pinned
from upload_stubs import ACCOUNT, DESTINATION, REGION, StubSession

from shellbench_lib.errors import UploadNotVerifiedError
from shellbench_lib.upload.remote import checksum_text, composite_text
from shellbench_lib.upload.transfer import Transfer
from shellbench_lib.upload.unfinished import UNFINISHED_NAME, Begun, Unfinished

KEY = "summaries/large.bin"
PART = 5 * MIB
THERE = {"Bucket": DESTINATION.bucket, "Key": DESTINATION.key(KEY), "ExpectedBucketOwner": ACCOUNT}


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return pinned(tmp_path_factory.mktemp("parts"), KEY, noise(2 * PART + 3), part_size=PART)


class Script:
    """The calls of one file in their order, each with its exact parameters."""

    def __init__(self, file):
        self.file, self.session, self.unfinished = file, StubSession(), Unfinished(None)
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
        for name in ids:
            self.unfinished.add(Begun.of(self.file, DESTINATION, name))

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
        client = self.session.client("s3", REGION)
        (sent,) = Transfer(client, DESTINATION, workers=1, unfinished=self.unfinished).send_all([self.file])
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


def test_the_remembered_upload_with_the_most_parts_is_taken(script):
    script.head()
    script.uploads("one", "two")
    script.parts("two", [script.part(1), script.part(2)])
    script.parts("one", [script.part(1)])
    script.send(3, "two")
    script.complete("two")
    script.arrived()
    assert script.run().parts_kept == 2


@pytest.mark.parametrize(
    "change",
    [
        {"sha256": "0" * 64},
        {"size": 2 * PART},
        {"part_size": 2 * PART},
        {"encryption": {"ServerSideEncryption": "aws:kms", "SSEKMSKeyId": "key"}},
    ],
    ids=str,
)
def test_an_upload_begun_for_another_file_or_encryption_is_aborted_whatever_its_parts(script, change):
    # An older version of a file can have the same first parts: its parts match, its metadata would block the key.
    begun = Begun.of(script.file, DESTINATION, "old")
    script.unfinished.add(begun.model_copy(update=change))
    script.head()
    script.abort("old")
    script.create()
    for number in (1, 2, 3):
        script.send(number)
    script.complete()
    script.arrived()
    assert script.run().status == "uploaded"
    assert script.unfinished.under(DESTINATION, KEY) == []


@pytest.mark.parametrize("change", [{"bucket": "other"}, {"key": DESTINATION.key(KEY) + ".other"}], ids=str)
def test_an_upload_of_another_key_is_left_alone(script, change):
    begun = Begun.of(script.file, DESTINATION, "old").model_copy(update=change)
    script.unfinished.add(begun)
    script.head()
    script.create()
    for number in (1, 2, 3):
        script.send(number)
    script.complete()
    script.arrived()
    assert script.run().status == "uploaded"


def test_what_was_begun_is_remembered_across_runs_for_the_owner_alone(file, tmp_path):
    path = tmp_path / UNFINISHED_NAME
    assert Unfinished(path).under(DESTINATION, KEY) == []
    begun = [Begun.of(file, DESTINATION, name) for name in ("one", "two")]
    for entry in begun:
        Unfinished(path).add(entry)
    assert path.stat().st_mode & 0o777 == 0o600
    assert Unfinished(path).under(DESTINATION, KEY) == begun[::-1]
    Unfinished(path).remove("one")
    assert Unfinished(path).under(DESTINATION, KEY) == begun[1:]
    for text in ("not json", "[1]", '{"a": 1}', "3"):
        path.write_text(text)
        assert Unfinished(path).under(DESTINATION, KEY) == []


def test_a_skipped_object_with_another_encryption_stops_the_run(script):
    script.arrived(ServerSideEncryption="aws:kms")
    with pytest.raises(
        UploadNotVerifiedError, match=r"large\.bin: is there already, but not encrypted as it was asked"
    ):
        script.run()


def test_an_object_taken_meanwhile_with_another_encryption_stops_the_run(script):
    script.head()
    script.create()
    for number in (1, 2, 3):
        script.send(number)
    script.complete(answer="PreconditionFailed")
    script.abort()
    script.arrived(ServerSideEncryption="aws:kms")
    with pytest.raises(UploadNotVerifiedError, match="when the data arrived, but not encrypted as it was asked"):
        script.run()


def test_something_under_the_key_at_completion_is_compared_and_the_parts_are_given_up(script):
    script.head()
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
    script.create("first")
    for number in (1, 2, 3):
        script.send(number, "first")
    script.complete("first", answer=code)
    if code == "ConditionalRequestConflict":
        script.abort("first")
    script.head()
    script.create("second")
    for number in (1, 2, 3):
        script.send(number, "second")
    script.complete("second")
    script.arrived()
    assert script.run().status == "uploaded"


def test_an_answer_to_the_completion_that_was_lost_is_found_again(script):
    script.head()
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
    script.create()
    for number in (1, 2, 3):
        script.send(number)
    script.complete()
    script.arrived(**more)
    with pytest.raises(UploadNotVerifiedError, match=said):
        script.run()


def test_a_part_that_arrived_with_another_checksum_gives_up_and_aborts(script):
    script.head()
    script.create()
    script.send(1, answer={"ETag": '"1"', "ChecksumSHA256": checksum_text(bytes(32))})
    script.stubber.queue("abort_multipart_upload", {}, {**THERE, "UploadId": "new"})
    with pytest.raises(UploadNotVerifiedError, match="part 1 arrived with another checksum"):
        script.run()


@pytest.mark.parametrize("call", ["list_parts", "create_multipart_upload"])
def test_a_denied_call_stops_with_its_name(script, call):
    script.head()
    if call == "list_parts":
        script.uploads("old")
    script.stubber.queue(call, "AccessDenied")
    with pytest.raises(UploadNotVerifiedError, match="AccessDenied"):
        script.run()
