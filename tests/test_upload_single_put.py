"""Files that go in one piece, call by call: the write's condition, its conflicts, and what counts as verified."""

from __future__ import annotations

import io

import pytest
from botocore.response import StreamingBody
from botocore.stub import ANY
from upload_files import pinned
from upload_stubs import ACCOUNT, REGION, StubSession

from shellbench_lib.errors import UploadNotVerifiedError
from shellbench_lib.upload import transfer
from shellbench_lib.upload.remote import checksum_text, place
from shellbench_lib.upload.settings import Destination
from shellbench_lib.upload.transfer import Transfer
from shellbench_lib.upload.unfinished import Unfinished

DATA = b"alpha"
KEY_ID = "1234abcd-12ab-34cd-56ef-1234567890ab"
KEY_ARN = f"arn:aws:kms:eu-west-1:{ACCOUNT}:key/{KEY_ID}"


class Script:
    def __init__(self, folder, kms_key=None):
        self.to = Destination("example-bucket", "traces/run-1", ACCOUNT, kms_key)
        self.file = pinned(folder, "summaries/a.md", DATA)
        self.session = StubSession()
        self.stubber = self.session.stubber("s3", REGION)
        self.there = place(self.to, "summaries/a.md")

    def head(self, answer="404"):
        self.stubber.queue("head_object", answer, {**self.there, "ChecksumMode": "ENABLED"})

    def put(self, answer=None):
        encryption = {"ServerSideEncryption": "AES256"}
        if self.to.kms_key:
            encryption = {"ServerSideEncryption": "aws:kms", "SSEKMSKeyId": self.to.kms_key}
        expected = {
            **self.there,
            **encryption,
            "Body": ANY,
            "IfNoneMatch": "*",
            "ChecksumAlgorithm": "SHA256",
            "ChecksumSHA256": checksum_text(self.file.sha256),
            "Metadata": {"sha256": self.file.sha256.hex()},
        }
        self.stubber.queue("put_object", answer if answer is not None else {}, expected)

    def get(self, body):
        self.stubber.queue("get_object", {"Body": StreamingBody(io.BytesIO(body), len(body))}, self.there)

    def arrived(self, *without, **more):
        answer = {
            "ContentLength": len(DATA),
            "Metadata": {"sha256": self.file.sha256.hex()},
            "ChecksumSHA256": checksum_text(self.file.sha256),
            "ServerSideEncryption": "AES256",
            **more,
        }
        self.head({name: value for name, value in answer.items() if name not in without})

    def run(self):
        try:
            (sent,) = Transfer(
                self.session.client("s3", REGION), self.to, workers=1, unfinished=Unfinished(None)
            ).send_all([self.file])
        finally:
            assert self.session.left() == []
        return sent


@pytest.fixture
def script(tmp_path, monkeypatch):
    monkeypatch.setattr(transfer, "CONFLICT_WAIT", 0)
    return Script(tmp_path)


def test_a_write_is_verified_by_the_checksum_that_s3_computed(script):
    script.head()
    script.put()
    script.arrived()
    sent = script.run()
    assert (sent.status, sent.evidence) == ("uploaded", "checksum")


@pytest.mark.parametrize(("body", "right"), [(DATA, True), (b"ALPHA", False)])
def test_without_that_checksum_the_object_is_read_back(script, body, right):
    script.head()
    script.put()
    script.arrived("ChecksumSHA256")
    script.get(body)
    if right:
        assert script.run().evidence == "read back"
    else:
        with pytest.raises(UploadNotVerifiedError, match="what lies there differs: other bytes"):
            script.run()


@pytest.mark.parametrize("answer", ["404", "403"])
def test_what_cannot_be_looked_up_afterwards_is_not_verified(script, answer):
    script.head()
    script.put()
    script.head(answer)
    with pytest.raises(UploadNotVerifiedError, match="uploaded, but"):
        script.run()


def test_an_object_without_encryption_is_not_verified(script):
    script.head()
    script.put()
    script.arrived("ServerSideEncryption")
    with pytest.raises(UploadNotVerifiedError, match="not encrypted"):
        script.run()


def test_a_kms_key_is_asked_for_and_verified(tmp_path):
    script = Script(tmp_path, kms_key=KEY_ID)
    script.head()
    script.put()
    script.arrived(ServerSideEncryption="aws:kms", SSEKMSKeyId=KEY_ARN)
    assert script.run().status == "uploaded"


def test_a_write_that_meets_another_one_is_tried_again(script):
    script.head()
    script.put("ConditionalRequestConflict")
    script.put("ConditionalRequestConflict")
    script.put()
    script.arrived()
    assert script.run().status == "uploaded"


def test_a_write_that_always_meets_another_one_stops(script):
    script.head()
    for _ in range(transfer.CONFLICT_ATTEMPTS):
        script.put("ConditionalRequestConflict")
    with pytest.raises(UploadNotVerifiedError, match="ConditionalRequestConflict"):
        script.run()


@pytest.mark.parametrize(("size", "status"), [(len(DATA), "skipped"), (3, "")])
def test_something_that_came_first_is_compared(script, size, status):
    script.head()
    script.put("PreconditionFailed")
    script.arrived(ContentLength=size)
    if status:
        assert script.run().status == status
    else:
        with pytest.raises(UploadNotVerifiedError, match="something else lies under its key"):
            script.run()


@pytest.mark.parametrize("code", ["403", "301", "400", "SlowDown"])
def test_an_unknown_state_before_the_write_stops_without_a_write(script, code):
    script.head(code)
    with pytest.raises(UploadNotVerifiedError, match=f"what lies there is unknown: {code}"):
        script.run()
