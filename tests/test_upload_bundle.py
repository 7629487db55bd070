"""Which files belong to a bundle, and what their bytes are."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from upload_files import noise, write_bundle

from shellbench_lib.errors import InputError
from shellbench_lib.upload.bundle import Candidate, HashingReader, find_bundle
from shellbench_lib.upload.inspection import MIB, PARTS_LIMIT, inspect_bundle, inspect_file, part_size_for


def keys(listing):
    return [candidate.relative_key for candidate in listing.candidates]


def test_a_bundle_is_archives_audit_files_and_the_run_index_and_nothing_else(tmp_path):
    run = write_bundle(tmp_path / "run", archives=2, audit=11)
    for extra in ("README.md", "summaries/notes.txt", "summaries/part-0/other.json", "manifests/other.json"):
        (run / extra).write_text("x")
    (run / "summaries" / "part-0" / "deeper").mkdir()
    (run / "summaries" / "part-0" / "deeper" / "trajectory_validation.json").write_text("{}")
    (run / "summaries" / "S3_UPLOAD_MANIFEST.json").write_text("{}")
    assert keys(find_bundle(run)) == [
        "manifests/run_index.json",
        "raw/run-000-final-artifacts.tar.gz",
        "raw/run-001-final-artifacts.tar.gz",
        "summaries/TRACE_COVERAGE_AUDIT.md",
        *(f"summaries/part-{n}/trajectory_validation{full}.json" for n in range(4) for full in (".full", "")),
        "summaries/trace_gaps.csv",
    ]


def test_links_directories_and_unfinished_files_are_listed_and_left_out(tmp_path):
    run = write_bundle(tmp_path / "run", audit=0)
    raw, secret = run / "raw", tmp_path / "secret"
    secret.write_text("not ours")
    (raw / "a-artifacts.tar.gz").symlink_to(secret)
    (raw / "b-artifacts.tar.gz").symlink_to("nowhere")
    (raw / "c-artifacts.tar.gz").mkdir()
    os.mkfifo(raw / "d-artifacts.tar.gz")
    (raw / "e-artifacts.tar.gz.part").write_bytes(b"")
    (raw / "F-ARTIFACTS.TAR.GZ").write_bytes(b"")
    (raw / "g-artifacts.tgz").write_bytes(b"")
    (run / "summaries" / "linked").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "trajectory_validation.json").write_text("{}")
    (run / "summaries" / "trace_gaps.csv").symlink_to(secret)
    listing = find_bundle(run)
    assert keys(listing) == ["raw/run-000-final-artifacts.tar.gz"]
    assert {(entry.relative_key, entry.reason) for entry in listing.left_out} == {
        ("raw/a-artifacts.tar.gz", "symbolic link"),
        ("raw/b-artifacts.tar.gz", "symbolic link"),
        ("raw/c-artifacts.tar.gz", "directory"),
        ("raw/d-artifacts.tar.gz", "no regular file"),
        ("raw/e-artifacts.tar.gz.part", "unfinished"),
        ("raw/F-ARTIFACTS.TAR.GZ", "name does not end in -artifacts.tar.gz"),
        ("raw/g-artifacts.tgz", "name does not end in -artifacts.tar.gz"),
        ("summaries/linked", "symbolic link"),
        ("summaries/trace_gaps.csv", "symbolic link"),
    }


@pytest.mark.parametrize("setup", ["missing", "empty", "only a link", "raw is a link"])
def test_no_archive_is_an_error(tmp_path, setup):
    run = tmp_path / "run"
    if setup != "missing":
        (run / "raw").mkdir(parents=True)
    if setup == "only a link":
        (run / "raw" / "a-artifacts.tar.gz").symlink_to(tmp_path)
    if setup == "raw is a link":
        write_bundle(tmp_path / "real")
        (run / "raw").rmdir()
        (run / "raw").symlink_to(tmp_path / "real" / "raw")
    with pytest.raises(InputError, match="run: "):
        find_bundle(run)


@pytest.mark.parametrize("name", ["a\n-artifacts.tar.gz", b"\xff-artifacts.tar.gz", "\u202ea-artifacts.tar.gz"])
def test_a_name_that_cannot_be_a_key_is_an_error(tmp_path, name):
    run = write_bundle(tmp_path / "run")
    path = os.fsencode(run / "raw") + b"/" + (name if isinstance(name, bytes) else name.encode())
    os.close(os.open(path, os.O_CREAT))
    with pytest.raises(InputError, match="rename it"):
        find_bundle(run)


@given(st.binary(max_size=200), st.integers(1, 60), st.integers(1, 90))
def test_digests_are_those_of_the_whole_and_of_its_parts(data, part_size, read_size):
    descriptor = os.memfd_create("data")
    try:
        os.write(descriptor, data)
        os.lseek(descriptor, 0, os.SEEK_SET)
        reader = HashingReader(descriptor, part_size=part_size)
        while reader.read(read_size):
            pass
        whole, parts = reader.digests()
    finally:
        os.close(descriptor)
    pieces = [data[start : start + part_size] for start in range(0, len(data), part_size)] or [b""]
    assert whole == hashlib.sha256(data).digest()
    assert list(parts) == [hashlib.sha256(piece).digest() for piece in pieces]


def test_a_part_is_as_large_as_wanted_and_larger_only_where_s3_would_take_no_more_parts():
    assert part_size_for(0, 5 * MIB) == 5 * MIB
    assert part_size_for(PARTS_LIMIT * 5 * MIB, 5 * MIB) == 5 * MIB
    assert part_size_for(PARTS_LIMIT * 5 * MIB + 1, 5 * MIB) == 6 * MIB


def test_archives_are_identified_by_their_bytes_and_damaged_ones_cost_themselves_alone(tmp_path):
    run = write_bundle(tmp_path / "run", archives=3, audit=3)
    broken = run / "raw" / "run-001-final-artifacts.tar.gz"
    broken.write_bytes(broken.read_bytes()[:-5])
    inspection = inspect_bundle(find_bundle(run), part_size=5 * MIB, workers=2)
    assert [problem.split(":")[0] for problem in inspection.problems] == ["raw/run-001-final-artifacts.tar.gz"]
    assert len(inspection.files) == 5
    for file in inspection.files:
        assert file.sha256 == hashlib.sha256(file.path.read_bytes()).digest()


def test_a_file_that_grows_while_it_is_read_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "summaries" / "trace_gaps.csv"
    path.parent.mkdir()
    path.write_bytes(noise(1000))

    def and_grow(descriptor, buffers, read=os.readv):
        count = read(descriptor, buffers)
        if count:
            with path.open("ab") as stream:
                stream.write(b"x")
                stream.truncate(1000)
        return count

    monkeypatch.setattr("shellbench_lib.upload.bundle.os.readv", and_grow)
    with pytest.raises(InputError, match="changes while it is read"):
        inspect_file(Candidate("summaries/trace_gaps.csv", path, 1000), part_size=MIB)


def test_a_link_that_takes_a_files_place_is_not_followed(tmp_path):
    target = tmp_path / "target"
    target.write_text("elsewhere")
    path = tmp_path / "trace_gaps.csv"
    path.symlink_to(target)
    with pytest.raises(InputError, match="cannot be opened"):
        inspect_file(Candidate("summaries/trace_gaps.csv", Path(path), 9), part_size=MIB)


def test_a_file_name_that_holds_a_credential_is_refused_without_naming_it(tmp_path):
    raw = tmp_path / "raw"
    raw.mkdir()
    key = "AKIA" + "Q7" * 8
    (raw / f"{key}-artifacts.tar.gz").write_bytes(b"x")
    with pytest.raises(InputError, match="looks like a credential") as caught:
        find_bundle(tmp_path)
    assert key not in str(caught.value)
