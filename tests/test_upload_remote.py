"""What lies under a key, told from the answers to HeadObject: equal, different, absent, or not known."""

from __future__ import annotations

import hashlib
import io
import json
from pathlib import Path

import pytest
from botocore.response import StreamingBody
from upload_stubs import DESTINATION, REGION, StubSession

from shellbench_lib.upload.aws import Reply
from shellbench_lib.upload.remote import (
    Content,
    Found,
    checksum_text,
    compare,
    composite_text,
    encrypted_as_asked,
    encryption_arguments,
    look_up,
    place,
)
from shellbench_lib.upload.settings import Destination

SHARED_CASES = Path(__file__).resolve().parents[1].parent / "shared" / "cases"
DATA = b"alpha"
CONTENT = Content.of_bytes(DATA)
HEX = hashlib.sha256(DATA).hexdigest()
HEAD = {**place(DESTINATION, "raw/a"), "ChecksumMode": "ENABLED"}
GET = place(DESTINATION, "raw/a")


def look(head, get=None) -> Found:
    session = StubSession()
    stubber = session.stubber("s3", REGION)
    stubber.queue("head_object", head, HEAD)
    if get is not None:
        body = StreamingBody(io.BytesIO(get), len(get)) if isinstance(get, bytes) else None
        stubber.queue("get_object", get if body is None else {"Body": body}, GET)
    found = look_up(session.client("s3", REGION), DESTINATION, "raw/a", CONTENT)
    assert session.left() == []
    return found


def head(size=5, sha256=HEX, **more):
    return {"ContentLength": size, **({"Metadata": {"sha256": sha256}} if sha256 else {}), **more}


@pytest.mark.parametrize(
    ("answer", "state", "evidence"),
    [
        ("404", "absent", ""),
        ("NoSuchKey", "absent", ""),
        ("403", "unknown", ""),
        ("AccessDenied", "unknown", ""),
        ("301", "unknown", ""),
        ("ExpiredToken", "unknown", ""),
        ("SlowDown", "unknown", ""),
        (TimeoutError("slow"), "unknown", ""),
        (head(), "same", "metadata"),
        (head(sha256=HEX.upper()), "same", "metadata"),
        (head(ChecksumSHA256=checksum_text(CONTENT.sha256)), "same", "checksum"),
        (head(sha256="", ChecksumSHA256=checksum_text(CONTENT.sha256)), "same", "checksum"),
        (head(ChecksumSHA256=composite_text(CONTENT.part_digests) + "-1"), "same", "checksum"),
        (head(ChecksumSHA256=checksum_text(bytes(32)) + "-7"), "same", "metadata"),
        (head(ServerSideEncryption="aws:kms", ETag='"not-an-md5"'), "same", "metadata"),
        (head(StorageClass="GLACIER"), "same", "metadata"),
        (head(size=4), "different", ""),
        (head(size="5"), "different", ""),
        (head(sha256="0" * 64), "different", ""),
        (head(ChecksumSHA256=checksum_text(bytes(32))), "different", ""),
        (head(ChecksumSHA256=checksum_text(bytes(32)) + "-1"), "different", ""),
        (head(sha256="0" * 64, ChecksumSHA256=checksum_text(CONTENT.sha256)), "different", ""),
        ({}, "different", ""),
    ],
)
def test_state_and_evidence(answer, state, evidence):
    found = look(answer)
    assert (found.state, found.evidence) == (state, evidence)


@pytest.mark.parametrize(
    ("body", "state"),
    [
        (DATA, "same"),
        (b"ALPHA", "different"),
        (b"alph", "different"),
        ("AccessDenied", "unknown"),
        ("InvalidObjectState", "unknown"),
    ],
)
def test_without_checksum_and_metadata_the_bytes_are_read(body, state):
    found = look(head(sha256="", ETag=hashlib.md5(DATA).hexdigest()), body)
    assert found.state == state
    assert found.evidence == ("read back" if state != "unknown" else "")


def test_an_archived_object_is_said_to_be_unreadable():
    assert "cannot be read back" in look(head(StorageClass="DEEP_ARCHIVE")).note


@pytest.mark.parametrize(
    ("key", "answer", "right"),
    [
        (None, {"ServerSideEncryption": "AES256"}, True),
        (None, {"ServerSideEncryption": "aws:kms"}, False),
        (None, {}, False),
        (
            "mrk-1",
            {"ServerSideEncryption": "aws:kms", "SSEKMSKeyId": "arn:aws:kms:eu-west-1:111122223333:key/mrk-1"},
            True,
        ),
        (
            "mrk-1",
            {"ServerSideEncryption": "aws:kms", "SSEKMSKeyId": "arn:aws:kms:eu-west-1:111122223333:key/mrk-11"},
            False,
        ),
        ("mrk-1", {"ServerSideEncryption": "AES256"}, False),
        ("mrk-1", {"ServerSideEncryption": "aws:kms"}, False),
    ],
)
def test_encryption_must_be_as_asked(key, answer, right):
    destination = Destination("example-bucket", "p", "111122223333", key)
    found = compare(Reply(value=head(**answer)), CONTENT)
    assert encrypted_as_asked(found, destination) is right
    asked = encryption_arguments(destination)
    assert asked["ServerSideEncryption"] == ("aws:kms" if key else "AES256")
    assert asked.get("SSEKMSKeyId") == key


@pytest.mark.skipif(not SHARED_CASES.is_dir(), reason="the public cases are not beside the project")
def test_every_published_object_state_gets_its_verdict():
    states = json.loads((SHARED_CASES / "F02-object-states" / "states.json").read_text())
    meanings = {"same": HEX, "SAME-IN-UPPERCASE-HEX": HEX.upper(), "different": "0" * 64, "absent": ""}
    verdicts = {"absent": "upload", "same": "skip", "different": "refuse", "unknown": "refuse"}
    for state in states:
        if state["head"] != "200":
            code = state["head"].split()
            answer = next((part for part in code if part.isalpha()), code[0])
        else:
            answer = head(size=5 if state["size"] == "same" else 3, sha256=meanings[state["meta_sha256"]])
            answer |= {"StorageClass": "GLACIER"} if "GLACIER" in state.get("note", "") else {}
            answer |= {"ServerSideEncryption": state["sse"]} if "sse" in state else {}
        needs_reading = state.get("meta_sha256") == "absent"
        found = look(answer, "AccessDenied" if needs_reading else None)
        wanted = state["want"].split()[0].strip(":;,")
        expected = {"stop": "refuse", "retry": "refuse", "refuse/verify": "refuse"}.get(wanted, wanted)
        assert verdicts[found.state] == expected, state
