"""Transfers against a real, signed S3 server, with a proxy between that breaks what it is told to break."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from fault_proxy import Fault, FaultProxy, corrupt, cut, error, lose_answer, slow
from seaweed import start_seaweed, weed_binary
from upload_files import MIB, noise, pinned
from upload_stubs import DESTINATION as STUB_DESTINATION
from upload_stubs import StubSession

from shellbench_lib.errors import UploadNotVerifiedError
from shellbench_lib.upload.local import ChangedError
from shellbench_lib.upload.privacy import prove_private
from shellbench_lib.upload.settings import Destination
from shellbench_lib.upload.transfer import Transfer
from shellbench_lib.upload.unfinished import UNFINISHED_NAME, Begun, Unfinished

pytestmark = pytest.mark.skipif(weed_binary() is None, reason="SeaweedFS is not installed")
BUCKET = "example-bucket"
PART = 5 * MIB  # the smallest that S3 and SeaweedFS take
KEY = "raw/big-final-artifacts.tar.gz"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = start_seaweed(tmp_path_factory)
    server.client().create_bucket(Bucket=BUCKET)
    yield server
    server.stop()
    shutil.rmtree(server.folder)  # a gigabyte that pytest would keep for three sessions


@pytest.fixture
def proxy(server):
    proxy = FaultProxy(server.port)
    yield proxy
    proxy.stop()


@pytest.fixture
def to(request):
    digest = hashlib.sha256(request.node.nodeid.encode()).hexdigest()[:12]
    return Destination(bucket=BUCKET, prefix=f"traces/{digest}", account="111122223333")


@pytest.fixture
def files(tmp_path):
    small = [
        pinned(tmp_path, f"summaries/{name}", text, part_size=PART)
        for name, text in (("a.md", b"alpha"), ("empty.csv", b""))
    ]
    return [pinned(tmp_path, "big.bin", noise(3 * PART + 7), part_size=PART), *small]


def remembered(files):
    """What the runs of one test remember, beside the first file."""
    return Unfinished(files[0].path.with_name(UNFINISHED_NAME))


def send(client, to, files, *, workers=4):
    return Transfer(client, to, workers=workers, unfinished=remembered(files)).send_all(files)


def stored(server, to, file):
    return server.client().get_object(Bucket=to.bucket, Key=to.key(file.relative_key))["Body"].read()


def open_uploads(server, to):
    return server.client().list_multipart_uploads(Bucket=to.bucket, Prefix=to.prefix).get("Uploads", [])


def is_put(key):
    return lambda request: request.method == "PUT" and request.key.endswith(key) and not request.part


def is_part(number):
    return lambda request: request.part == number


def is_complete(request):
    return request.method == "POST" and "uploadId" in request.query


def test_files_arrive_with_their_bytes_encryption_and_metadata_and_a_second_run_writes_nothing(
    server, proxy, to, files
):
    heard = []
    client = proxy_client(server, proxy)
    first = Transfer(client, to, workers=4, unfinished=remembered(files), advance=heard.append).send_all(files)
    assert {sent.status for sent in first} == {"uploaded"}
    assert {sent.evidence for sent in first} == {"checksum"}
    assert sum(heard) >= sum(file.size for file in files)
    for file in files:
        assert stored(server, to, file) == file.path.read_bytes()
        head = server.client().head_object(Bucket=to.bucket, Key=to.key(file.relative_key))
        assert head["Metadata"] == {"sha256": hashlib.sha256(file.path.read_bytes()).hexdigest()}
        assert head["ServerSideEncryption"] == "AES256"
    writes = [r for r in proxy.requests if r.method in {"PUT", "POST"}]
    assert all(r.headers.get("If-None-Match") == "*" for r in writes if not r.part and "uploads" not in r.query)
    assert all(r.headers.get("x-amz-expected-bucket-owner") == to.account for r in proxy.requests)
    assert not any("acl" in name.lower() for r in proxy.requests for name in (*r.headers, *r.query))
    proxy.requests.clear()
    second = send(proxy_client(server, proxy), to, files)
    assert {sent.status for sent in second} == {"skipped"}
    assert {r.method for r in proxy.requests} == {"HEAD"}


def proxy_client(server, proxy, **config):
    return server.client(proxy.port, **config)


class OtherStore:
    """A session whose s3 client is a store that only speaks the protocol; the rest answers like AWS would."""

    def __init__(self, server):
        self.server = server
        self.stubs = StubSession().script(head_bucket={"BucketRegion": "us-east-1", "AccessPointAlias": False})

    def has_credentials(self):
        return True

    def client(self, service, region=None):
        return self.server.client() if service == "s3" else self.stubs.client(service, region)


def test_a_store_that_only_speaks_the_protocol_is_refused(server):
    proof = prove_private(OtherStore(server), STUB_DESTINATION, strict=False)
    checks = {check.kind.name: check for check in proof.checks}
    assert not proof.private
    assert checks["endpoint"].verdict == "refused"
    assert checks["public_access_block"].verdict == "refused"
    assert "NotImplemented" in checks["public_access_block"].codes, "its real 501"


@pytest.mark.parametrize("content", [b"ALPHA", b"alpha beta"])
def test_something_else_under_a_key_stops_the_run_and_stays(server, proxy, to, files, content):
    key = to.key("summaries/a.md")
    server.client().put_object(Bucket=to.bucket, Key=key, Body=content)
    with pytest.raises(UploadNotVerifiedError, match=r"summaries/a\.md: something else lies under its key"):
        send(proxy_client(server, proxy), to, files)
    assert server.client().get_object(Bucket=to.bucket, Key=key)["Body"].read() == content
    assert open_uploads(server, to) == [], "a run that gives up aborts what it opened"


def test_an_object_without_our_metadata_is_read_before_it_is_believed(server, proxy, to, files):
    server.client().put_object(
        Bucket=to.bucket, Key=to.key("summaries/a.md"), Body=b"alpha", ServerSideEncryption="AES256"
    )
    sent = {entry.relative_key: entry for entry in send(proxy_client(server, proxy), to, files)}
    assert (sent["summaries/a.md"].status, sent["summaries/a.md"].evidence) == ("skipped", "read back")
    assert len(proxy.of("GET")) == 1


@pytest.mark.parametrize(
    ("fault", "times"),
    [(cut, 1), (error(500, "InternalError"), 2), (error(503, "SlowDown"), 1), (slow(0.3), 2), (corrupt, 0)],
    ids=["connection cut", "500", "slow down", "slow", "none"],
)
@pytest.mark.parametrize("matches", [is_put("a.md"), is_part(3), is_complete], ids=["put", "part", "complete"])
def test_a_passing_fault_is_retried(server, proxy, to, files, fault, times, matches):
    proxy.faults.append(Fault(matches, fault, times))
    sent = send(proxy_client(server, proxy), to, files)
    assert [entry.relative_key for entry in sent] == sorted(file.relative_key for file in files)
    for file in files:
        assert stored(server, to, file) == file.path.read_bytes()
    assert open_uploads(server, to) == []


@pytest.mark.parametrize("matches", [is_put("a.md"), is_complete], ids=["put", "complete"])
def test_an_answer_that_was_lost_after_a_conditional_write_is_no_conflict(server, proxy, to, files, matches):
    proxy.faults.append(Fault(matches, lose_answer))
    send(proxy_client(server, proxy), to, files)
    for file in files:
        assert stored(server, to, file) == file.path.read_bytes()
    assert open_uploads(server, to) == []


def test_bytes_that_are_falsified_on_the_way_are_refused_by_the_server(server, proxy, to, files):
    proxy.faults.append(Fault(is_put("a.md"), corrupt, times=9))
    with pytest.raises(UploadNotVerifiedError, match=r"summaries/a\.md: could not be uploaded"):
        send(proxy_client(server, proxy), to, files)
    listed = server.client().list_objects_v2(Bucket=to.bucket, Prefix=to.key("summaries/a.md"))
    assert listed["KeyCount"] == 0


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (error(503, "SlowDown"), "SlowDown"),
        (error(403, "AccessDenied"), "AccessDenied"),
        (cut, "ConnectionClosedError"),
    ],
)
def test_a_lasting_fault_stops_with_a_sentence_and_the_next_run_goes_on(server, proxy, to, files, fault, code):
    proxy.faults.append(Fault(is_part(3), fault, times=99))
    with pytest.raises(UploadNotVerifiedError, match=rf"part 3 could not be uploaded: {code}.*run again"):
        send(proxy_client(server, proxy, retries={"total_max_attempts": 2, "mode": "standard"}), to, files, workers=1)
    proxy.faults.clear()
    proxy.requests.clear()
    sent = {entry.relative_key: entry for entry in send(proxy_client(server, proxy), to, files)}
    sent_again = sorted(r.part for r in proxy.requests if r.part)
    assert sent["big.bin"].status == "resumed"
    assert sent["big.bin"].parts_kept == 4 - len(sent_again)
    assert sent_again in ([3], [3, 4])
    assert stored(server, to, files[0]) == files[0].path.read_bytes()


def test_expired_credentials_half_way_stop_cleanly_and_the_next_run_resumes(server, proxy, to, files):
    proxy.faults.append(Fault(lambda r: r.part >= 3, error(400, "ExpiredToken"), times=99))
    with pytest.raises(UploadNotVerifiedError, match="the credentials expired; renew them"):
        send(proxy_client(server, proxy), to, files, workers=2)
    proxy.faults.clear()
    sent = {entry.relative_key: entry for entry in send(proxy_client(server, proxy), to, files)}
    assert sent["big.bin"].status == "resumed"
    assert open_uploads(server, to) == []


def test_an_unfinished_upload_of_somebody_else_is_neither_used_nor_aborted(server, proxy, to, files):
    client = proxy_client(server, proxy)
    where = {"Bucket": to.bucket, "Key": to.key("big.bin")}
    upload = client.create_multipart_upload(**where, ChecksumAlgorithm="SHA256")["UploadId"]
    body = files[0].path.read_bytes()[:PART]
    client.upload_part(**where, UploadId=upload, PartNumber=1, Body=body, ChecksumAlgorithm="SHA256")
    sent = send(client, to, files)
    assert (sent[0].status, sent[0].parts_kept) == ("uploaded", 0)
    assert stored(server, to, files[0]) == files[0].path.read_bytes()


def test_an_older_version_of_a_file_with_the_same_first_parts_is_not_gone_on_with(server, proxy, to, files, tmp_path):
    newer = files[0].path.read_bytes()
    older = pinned(tmp_path, "big.bin", newer[:-7] + b"earlier", part_size=PART)
    proxy.faults.append(Fault(is_part(4), error(403, "AccessDenied"), times=99))
    with pytest.raises(UploadNotVerifiedError, match="part 4"):
        send(proxy_client(server, proxy), to, [older], workers=1)
    assert len(open_uploads(server, to)) == 1
    proxy.faults.clear()
    file = pinned(tmp_path, "big.bin", newer, part_size=PART)
    (sent,) = send(proxy_client(server, proxy), to, [file])
    assert (sent.status, sent.parts_kept) == ("uploaded", 0)
    assert stored(server, to, file) == newer
    assert open_uploads(server, to) == []


def test_parts_without_a_checksum_prove_nothing(server, to, files):
    client = server.client()  # without the proxy SeaweedFS lists parts without checksums
    where = {"Bucket": to.bucket, "Key": to.key("big.bin")}
    upload = client.create_multipart_upload(**where)["UploadId"]
    remembered(files).add(Begun.of(files[0], to, upload))
    client.upload_part(**where, UploadId=upload, PartNumber=1, Body=files[0].path.read_bytes()[:PART])
    assert send(client, to, files)[0].parts_kept == 0
    assert open_uploads(server, to) == []


@pytest.mark.parametrize("change", ["content", "replaced", "gone"])
@pytest.mark.parametrize("index", [0, 1], ids=["parts", "single"])
def test_a_file_that_changes_between_hashing_and_sending_stops_the_run(server, proxy, to, files, change, index):
    path = files[index].path
    if change == "content":
        status = path.stat()
        path.write_bytes(bytes([path.read_bytes()[0] ^ 1]) + path.read_bytes()[1:])
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))  # even the time stamp looks as before
    elif change == "replaced":
        shutil.copy(path, path.with_suffix(".new"))
        path.with_suffix(".new").replace(path)
    else:
        path.unlink()
    expected = Exception if change == "gone" else ChangedError
    with pytest.raises(expected, match=files[index].relative_key):
        send(proxy_client(server, proxy), to, [files[index]])
    assert server.client().list_objects_v2(Bucket=to.bucket, Prefix=to.prefix)["KeyCount"] == 0
    assert open_uploads(server, to) == []


KILLED = """
import json, sys
sys.path[:0] = json.loads(sys.argv[1])
from pathlib import Path
from seaweed import Seaweed
from shellbench_lib.upload.bundle import Candidate
from shellbench_lib.upload.inspection import inspect_file
from shellbench_lib.upload.settings import Destination
from shellbench_lib.upload.transfer import Transfer
from shellbench_lib.upload.unfinished import UNFINISHED_NAME, Unfinished
port, path, prefix, part = int(sys.argv[2]), Path(sys.argv[3]), sys.argv[4], int(sys.argv[5])
file = inspect_file(Candidate("big.bin", path, path.stat().st_size), part_size=part).file
client = Seaweed.client(None, port)
to, unfinished = Destination("example-bucket", prefix, "111122223333"), Unfinished(path.with_name(UNFINISHED_NAME))
Transfer(client, to, workers=1, unfinished=unfinished).send_all([file])
"""


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT])
def test_a_run_that_was_killed_in_the_middle_is_resumed_part_by_part(server, proxy, to, files, end):
    reached, release = threading.Event(), threading.Event()

    def hold(handler, request, forward):
        reached.set()
        release.wait(20)
        cut(handler, request, forward)

    proxy.faults.append(Fault(is_part(3), hold))
    here = Path(__file__).resolve().parent
    paths = json.dumps([str(here), str(here.parent)])
    victim = subprocess.Popen(
        [sys.executable, "-c", KILLED, paths, str(proxy.port), str(files[0].path), to.prefix, str(PART)],
        stderr=subprocess.DEVNULL,
    )
    assert reached.wait(30)
    os.kill(victim.pid, end)
    if end == signal.SIGINT:
        time.sleep(0.2)
        release.set()
    assert victim.wait(30) != 0
    release.set()
    assert len(open_uploads(server, to)) == 1
    proxy.faults.clear()
    proxy.requests.clear()
    sent = send(proxy_client(server, proxy), to, files)[0]
    assert (sent.status, sent.parts_kept, sent.evidence) == ("resumed", 2, "checksum")
    assert sorted(r.part for r in proxy.requests if r.part) == [3, 4]
    assert stored(server, to, files[0]) == files[0].path.read_bytes()
    assert open_uploads(server, to) == []


def test_two_runs_of_one_bundle_at_once_leave_one_whole_bundle(server, proxy, to, files):
    results, failures = [], []

    def run():
        try:
            results.append(send(proxy_client(server, proxy), to, files))
        except UploadNotVerifiedError as problem:
            failures.append(problem)

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(results) + len(failures) == 2
    assert results, failures
    send(proxy_client(server, proxy), to, files)
    for file in files:
        assert stored(server, to, file) == file.path.read_bytes()
    assert open_uploads(server, to) == []


def test_memory_stays_bounded_for_a_bundle_that_does_not_compress(server, to, tmp_path):
    # Six archives of 100 MiB, hashed, read to their ends and sent in parts of 64 MiB by four workers, in a process of its own.
    script = Path(__file__).with_name("upload_memory.py")
    here = Path(__file__).resolve().parent
    done = subprocess.run(
        [sys.executable, str(script), str(server.port), str(tmp_path), to.prefix],
        capture_output=True, text=True, timeout=150, check=False, env={**os.environ, "PYTHONPATH": os.pathsep.join([str(here), str(here.parent)])},
    )  # fmt: skip
    shutil.rmtree(tmp_path / "raw", ignore_errors=True)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["bytes"] >= 600 * MIB
    assert report["statuses"] == ["uploaded"]
    assert report["peak_mib"] < 200
