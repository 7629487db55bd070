"""A whole publication: files, second proof, manifest last; and that nothing is written without the proof."""

from __future__ import annotations

import hashlib
import json
import shutil
import stat
import threading

import pytest
import upload_moto as moto_bucket
from hypothesis import given, settings
from hypothesis import strategies as st
from moto import mock_aws
from test_upload_privacy import ANSWERS
from upload_files import write_bundle
from upload_stubs import DESTINATION, REGION, StubSession

from shellbench_lib.errors import InputError, OutputError, UploadNotVerifiedError, UploadRefusedError
from shellbench_lib.upload.aws import AwsSession
from shellbench_lib.upload.bundle import find_bundle
from shellbench_lib.upload.inspection import inspect_bundle
from shellbench_lib.upload.publication import MANIFEST_NAME
from shellbench_lib.upload.publish import Publication
from shellbench_lib.upload.remote import checksum_text

PART = 5 * 1024 * 1024


@pytest.fixture
def aws(monkeypatch):
    for name, value in moto_bucket.CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    with mock_aws():
        moto_bucket.make_bucket()
        yield


@pytest.fixture
def run(tmp_path):
    return write_bundle(tmp_path / "run", archives=2, audit=3)


def publication(run, *, workers=3, session=None, destination=moto_bucket.DESTINATION, **more):
    inspection = inspect_bundle(find_bundle(run), part_size=PART, workers=workers)
    assert not inspection.problems
    return Publication(session or AwsSession(), destination, inspection, run, workers=workers, **more)


def publish(run, **more):
    work = publication(run, **more)
    work.run(work.prove())
    return work


def receipts(run):
    return sorted((run / "summaries").glob("S3_UPLOAD_RECEIPT-*.json"))


def test_the_manifest_is_the_commit_point_and_says_what_lies_there(aws, run):
    work = publish(run)
    manifest = json.loads(moto_bucket.stored(MANIFEST_NAME))
    assert moto_bucket.object_keys() == sorted([*(entry["relative_key"] for entry in manifest["files"]), MANIFEST_NAME])
    index = (run / "manifests" / "run_index.json").read_bytes()
    sizes = {entry["relative_key"]: (entry["size"], entry["sha256"]) for entry in manifest.pop("files")}
    assert manifest == {
        "schema_version": 1,
        "bucket": moto_bucket.BUCKET,
        "prefix": moto_bucket.PREFIX,
        "source_run": "run",
        "file_count": 5,
        "archive_count": 2,
        "total_bytes": sum(size for size, _ in sizes.values()),
        "provenance": {
            "run_index": {"sha256": hashlib.sha256(index).hexdigest(), "run_count": 1, "runner_commits": ["c1"]}
        },
    }
    for key, (size, digest) in sizes.items():
        data = (run / key).read_bytes()
        assert (size, digest) == (len(data), hashlib.sha256(data).hexdigest())
        assert moto_bucket.stored(key) == data
    assert (run / "summaries" / MANIFEST_NAME).read_bytes() == moto_bucket.stored(MANIFEST_NAME)
    assert work.manifest == "published"
    assert len(work.proofs) == 2


def test_a_second_run_writes_nothing_and_verifies_everything(aws, run):
    publish(run)
    before = {
        key: moto_bucket.client().head_object(Bucket=moto_bucket.BUCKET, Key=f"{moto_bucket.PREFIX}/{key}")[
            "LastModified"
        ]
        for key in moto_bucket.object_keys()
    }
    manifest = moto_bucket.stored(MANIFEST_NAME)
    (run / "summaries" / MANIFEST_NAME).unlink()
    calls = []
    session = AwsSession()
    session.client("s3", moto_bucket.REGION).meta.events.register(
        "before-call.s3", lambda model, **_: calls.append(model.name)
    )
    work = publish(run, session=session)
    assert {sent.status for sent in work.sent} == {"skipped"}
    assert len(work.sent) == 5
    assert work.manifest == "unchanged"
    assert not any(name.startswith(("Put", "Create", "Upload", "Complete", "Delete", "Abort")) for name in calls)
    assert (run / "summaries" / MANIFEST_NAME).read_bytes() == manifest
    assert set(before) == set(moto_bucket.object_keys())


def test_the_receipt_stays_here_and_keeps_both_proofs(aws, run):
    publish(run)
    publish(run)
    first, second = (json.loads(path.read_text()) for path in receipts(run))
    assert [len(receipt["proofs"]) for receipt in (first, second)] == [2, 2]
    assert first["outcome"] == "published"
    assert first["bucket"] == moto_bucket.BUCKET
    assert {entry["status"] for entry in first["files"]} == {"uploaded"}
    assert {entry["status"] for entry in second["files"]} == {"skipped"}
    check = first["proofs"][0]["checks"][1]
    assert {"name", "question", "action", "required", "verdict", "evidence", "asked_at"} <= set(check)
    assert "test-secret" not in json.dumps(first)
    assert "test-session" not in json.dumps(first)
    assert not any("RECEIPT" in key for key in moto_bucket.object_keys())
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in receipts(run))


def test_a_bundle_that_grew_replaces_its_manifest(aws, run, tmp_path):
    publish(run)
    old = moto_bucket.stored(MANIFEST_NAME)
    shutil.copy(run / "raw" / "run-000-final-artifacts.tar.gz", run / "raw" / "run-009-final-artifacts.tar.gz")
    work = publish(run)
    assert work.manifest == "replaced"
    manifest = json.loads(moto_bucket.stored(MANIFEST_NAME))
    assert manifest["archive_count"] == 3
    assert [sent.status for sent in sorted(work.sent)].count("uploaded") == 1
    assert moto_bucket.stored(MANIFEST_NAME) != old
    assert (run / "summaries" / MANIFEST_NAME).read_bytes() == moto_bucket.stored(MANIFEST_NAME)


@pytest.mark.parametrize("change", ["removed", "different", "no manifest of ours", "huge"])
def test_a_published_manifest_that_does_not_fit_stops_before_anything_is_written(aws, run, change):
    publish(run)
    path = run / "summaries" / "trace_gaps.csv"
    if change == "removed":
        path.unlink()
    elif change == "different":
        path.write_text("other\n")
    else:
        body = (
            b"<html>"
            if change == "no manifest of ours"
            else b'{"files": [{"relative_key": "a", "size": 1, "sha256": 7}]}'
        )
        moto_bucket.client().put_object(
            Bucket=moto_bucket.BUCKET, Key=f"{moto_bucket.PREFIX}/{MANIFEST_NAME}", Body=body
        )
    (run / "raw" / "new-final-artifacts.tar.gz").write_bytes(
        (run / "raw" / "run-000-final-artifacts.tar.gz").read_bytes()
    )
    before = moto_bucket.object_keys()
    with pytest.raises(UploadNotVerifiedError, match="fresh prefix"):
        publish(run)
    assert moto_bucket.object_keys() == before


def test_a_bucket_that_turns_public_during_the_transfer_gets_no_manifest(aws, run):
    def open_up(_):
        moto_bucket.client().delete_public_access_block(Bucket=moto_bucket.BUCKET)

    with pytest.raises(
        UploadRefusedError, match=r"no longer proved private \(public_access_block\); 5 files .* already lie there"
    ):
        publish(run, advance=open_up)
    assert MANIFEST_NAME not in moto_bucket.object_keys()
    assert not (run / "summaries" / MANIFEST_NAME).exists()
    (receipt,) = (json.loads(path.read_text()) for path in receipts(run))
    assert receipt["outcome"] == "failed"
    assert [proof["private"] for proof in receipt["proofs"]] == [True, False]
    assert len(receipt["files"]) == 5


def test_an_interrupted_run_keeps_its_receipt_and_the_next_one_goes_on(aws, run):
    def interrupt(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        publish(run, advance=interrupt, workers=1)
    (receipt,) = (json.loads(path.read_text()) for path in receipts(run))
    assert receipt["error"] == "interrupted: KeyboardInterrupt"
    assert MANIFEST_NAME not in moto_bucket.object_keys()
    assert publish(run).manifest == "published"


def test_a_bucket_that_is_not_blocked_gets_nothing(aws, run):
    moto_bucket.client().delete_public_access_block(Bucket=moto_bucket.BUCKET)
    with pytest.raises(UploadRefusedError, match="nothing was written"):
        publish(run)
    assert moto_bucket.object_keys() == []


def test_a_conflict_leaves_no_manifest(aws, run):
    moto_bucket.client().put_object(
        Bucket=moto_bucket.BUCKET, Key=f"{moto_bucket.PREFIX}/summaries/trace_gaps.csv", Body=b"other"
    )
    with pytest.raises(UploadNotVerifiedError, match="something else lies under its key"):
        publish(run)
    assert MANIFEST_NAME not in moto_bucket.object_keys()


def test_two_publications_of_one_bundle_at_once_end_with_one_manifest(aws, run):
    results, failures = [], []

    def work():
        try:
            results.append(publish(run))
        except UploadNotVerifiedError as problem:
            failures.append(problem)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(results) == 2, failures
    assert (run / "summaries" / MANIFEST_NAME).read_bytes() == moto_bucket.stored(MANIFEST_NAME)


def test_a_bundle_of_93_runs_has_104_files_of_which_93_are_archives(aws, tmp_path):
    run = write_bundle(tmp_path / "run", archives=93, audit=11)
    publish(run, workers=8)
    manifest = json.loads(moto_bucket.stored(MANIFEST_NAME))
    assert (manifest["file_count"], manifest["archive_count"], len(manifest["files"])) == (104, 93, 104)
    assert len(moto_bucket.object_keys()) == 105
    again = publish(run, workers=8)
    assert [sent.status for sent in again.sent] == ["skipped"] * 104


@pytest.mark.parametrize("content", ["not json", "[]", '{"runs": 3}'])
def test_a_run_index_that_cannot_be_read_stops_before_anything_is_written(aws, run, content):
    (run / "manifests" / "run_index.json").write_text(content)
    with pytest.raises(InputError, match=r"manifests/run_index\.json"):
        publish(run)
    assert moto_bucket.object_keys() == []


def test_a_bundle_without_a_run_index_says_so_in_its_manifest(aws, run):
    (run / "manifests" / "run_index.json").unlink()
    publish(run)
    assert json.loads(moto_bucket.stored(MANIFEST_NAME))["provenance"] == {"run_index": None}


def test_nothing_is_sent_where_the_receipt_could_not_be_kept(aws, run, tmp_path):
    (run / "summaries").rename(tmp_path / "elsewhere")
    (run / "summaries").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OutputError, match="nothing was sent"):
        publish(run)
    assert moto_bucket.object_keys() == []


@settings(max_examples=60, deadline=None)
@given(st.fixed_dictionaries({operation: st.integers(0, len(answers) - 1) for operation, answers in ANSWERS.items()}))
def test_no_sequence_of_answers_without_the_proof_leads_to_a_write(tmp_path_factory, choice):
    run = tmp_path_factory.mktemp("bundle") / "run"
    write_bundle(run, archives=1, audit=1)
    session = StubSession().script(**{op: ANSWERS[op][index] for op, index in choice.items()})
    work = publication(run, session=session, destination=DESTINATION, workers=1)
    proof = work.prove()
    if proof.private:
        return
    with pytest.raises(UploadRefusedError):
        work.run(proof)
    assert session.left() == []
    writes = {"put_object", "create_multipart_upload", "upload_part", "complete_multipart_upload"}
    assert not writes & session.asked()


@settings(max_examples=60, deadline=None)
@given(st.fixed_dictionaries({operation: st.integers(0, len(answers) - 1) for operation, answers in ANSWERS.items()}))
def test_no_second_proof_without_all_the_evidence_leads_to_a_manifest(tmp_path_factory, choice):
    run = write_bundle(tmp_path_factory.mktemp("bundle") / "run", archives=1, audit=0)
    session = StubSession().script()
    work = publication(run, session=session, destination=DESTINATION, workers=1)
    (file,) = work.inspection.files
    bucket = session.stubber("s3", REGION)
    bucket.queue("get_object", "NoSuchKey")
    bucket.queue("head_object", "404")
    bucket.queue("put_object", {})
    there = {"ContentLength": file.size, "ChecksumSHA256": checksum_text(file.sha256), "ServerSideEncryption": "AES256"}
    bucket.queue("head_object", there)
    answers = {op: ANSWERS[op][index] for op, index in choice.items()}
    session.script(**answers)
    first = work.prove()
    assert first.private
    try:
        work.run(first)
    except (UploadRefusedError, UploadNotVerifiedError) as problem:
        refused = isinstance(problem, UploadRefusedError)
    assert [name for name in bucket.asked if name == "put_object"] == ["put_object"] * (1 if refused else 2)
    assert refused is not work.proofs[1].private
    assert work.manifest is None, "the manifest's own write was not scripted"
