"""Whole archives pass, everything else is refused by name, and nothing is unpacked."""

from __future__ import annotations

import gzip
import io
import os
import shutil
import tarfile
import zlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shellbench_lib.errors import InputError
from shellbench_lib.upload.archive import HEADER_LIMIT, read_archive
from shellbench_lib.upload.bundle import Candidate
from shellbench_lib.upload.inspection import inspect_file
from shellbench_lib.upload.sample import archive_bytes

SHARED_CASES = Path(__file__).resolve().parents[1].parent / "shared" / "cases" / "G01-archives"
WHOLE = {
    "UPPER.TAR.GZ", "abs_path.tar.gz", "alt.tgz", "device.tar.gz", "good.tar.gz", "hardlink_out.tar.gz", "same_a.tar.gz",
    "same_b.tar.gz", "symlink_out.tar.gz", "traversal.tar.gz",
}  # fmt: skip
REFUSED = {
    "crc_cut.tar.gz": "the file was cut",
    "empty.tar.gz": "empty file",
    "garbage_tail.tar.gz": "something follows its end",
    "html_page.tar.gz": "no gzip stream",
    "no_members.tar.gz": "no member",
    "plain_tar.tar.gz": "no gzip stream",
    "run-final-artifacts.tar.gz.part": "the file was cut",
    "truncated_half.tar.gz": "the file was cut",
    "two_members.tar.gz": "more data after the end of the tar",
}


def read(data: bytes, sink=None):
    members: dict[str, bytes] = {}

    def keep(name, pieces):
        members[name] = b"".join(pieces)

    return read_archive(io.BytesIO(data), name="raw/x", sink=sink or keep), members


def tar_of(*members: tuple[str, bytes], layout=tarfile.PAX_FORMAT) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=layout) as tar:
        for name, data in members:
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


def refusal(path: Path) -> str:
    try:
        inspect_file(Candidate(f"raw/{path.name}", path, path.stat().st_size), part_size=2**20)
    except InputError as error:
        return str(error)
    return ""


@pytest.mark.skipif(not SHARED_CASES.is_dir(), reason="the public cases are not beside the project")
def test_every_published_archive_gets_its_verdict(tmp_path):
    before = sorted(tmp_path.parent.rglob("*"))
    verdicts = {}
    for path in sorted(SHARED_CASES.iterdir()):
        if path.name != "CASE.md":
            verdicts[path.name] = refusal(path)
    assert {name for name, reason in verdicts.items() if not reason} == WHOLE
    for name, reason in REFUSED.items():
        assert verdicts[name].startswith(f"raw/{name}: "), name
        assert reason in verdicts[name], name
    assert set(verdicts) == WHOLE | set(REFUSED)
    assert sorted(tmp_path.parent.rglob("*")) == before, "nothing is unpacked"


def test_members_that_leave_their_folder_are_counted():
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, kind in (("a", tarfile.REGTYPE), ("../b", tarfile.REGTYPE), ("/c", tarfile.REGTYPE), ("d", tarfile.SYMTYPE),
                           ("e", tarfile.LNKTYPE), ("f", tarfile.CHRTYPE), ("g..h", tarfile.DIRTYPE)):  # fmt: skip
            member = tarfile.TarInfo(name)
            member.type = kind
            member.linkname = "/etc/passwd"
            tar.addfile(member)
    content, _ = read(buffer.getvalue())
    assert (content.members, content.unsafe_members) == (7, 5)


def test_members_are_handed_over_with_their_bytes_and_without_padding():
    members = {"a": b"one", "./b": b"", "c" * 300: b"x" * 600_000}
    assert read(archive_bytes(members)) == (read(archive_bytes(members))[0], members)


def test_two_gzip_members_that_make_one_tar_are_one_archive():
    tar = tar_of(("a", b"one"), ("b", b"two"))
    assert read(gzip.compress(tar[:700]) + gzip.compress(tar[700:]))[1] == {"a": b"one", "b": b"two"}


@pytest.mark.parametrize("layout", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT])
@pytest.mark.parametrize(
    ("cut", "reason"),
    [
        (512 + 100, "ends inside a member's data"),
        (512 + 512, "cut between two members"),
        (512 + 512 + 200, "cannot be read to its end|more data|cut between|damaged"),
        (4 * 512 + 512, "cut between two members"),
    ],
)
def test_a_tar_that_was_cut_and_compressed_afterwards_is_refused(layout, cut, reason):
    tar = tar_of(("a", b"x" * 500), ("b", b"y" * 500), layout=layout)
    with pytest.raises(InputError, match=f"raw/x: not a whole archive: .*(?:{reason})"):
        read(gzip.compress(tar[:cut]))


@pytest.mark.parametrize("tail", [b"x", tar_of(("hidden", b"secret")), b"\0" * 1024 + b"x"])
def test_anything_but_zeros_after_the_end_of_the_tar_is_refused(tail):
    with pytest.raises(InputError, match="more data after the end"):
        read(gzip.compress(tar_of(("a", b"one")) + tail))


def test_a_member_header_that_would_fill_the_memory_is_refused():
    huge = tar_of(("n" * (HEADER_LIMIT + 2**20), b""))
    with pytest.raises(InputError, match="header takes more than"):
        read(gzip.compress(huge))


def test_a_member_larger_than_the_header_limit_is_fine():
    content, members = read(gzip.compress(tar_of(("a", bytes(HEADER_LIMIT + 2**20)), ("b", b"two"))))
    assert content.members == 2
    assert members["b"] == b"two"


@pytest.mark.skipif(shutil.which("tar") is None, reason="GNU tar is not installed")
def test_a_sparse_member_of_gnu_tar_is_read_to_its_end(tmp_path):
    with (tmp_path / "holes").open("wb") as stream:
        stream.seek(50_000_000)
        stream.write(b"end")
    (tmp_path / "after").write_bytes(b"after")
    os.system(f"tar -C {tmp_path} -czSf {tmp_path}/x.tar.gz holes after")
    content, members = read((tmp_path / "x.tar.gz").read_bytes())
    assert content.members == 2
    assert members["after"] == b"after"
    assert members["holes"].rstrip(b"\0").endswith(b"end")


def test_a_sink_that_stops_early_does_not_hide_damage():
    data = gzip.compress(tar_of(("a", b"x" * 5000)))
    broken = data[:-8] + zlib.crc32(b"other").to_bytes(4, "little") + data[-4:]
    with pytest.raises(InputError, match="CRC check failed"):
        read(broken, sink=lambda name, pieces: None)


GOOD = archive_bytes({"results/a.json": b'{"reward": 1}' * 40, "results/b.txt": bytes(range(256)) * 8})


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_damaged_bytes_are_refused_with_a_sentence_or_hold_the_same_members(data):
    kind = data.draw(st.sampled_from(["flip", "cut", "insert"]))
    place = data.draw(st.integers(0, len(GOOD) - 1))
    if kind == "flip":
        damaged = GOOD[:place] + bytes([GOOD[place] ^ data.draw(st.integers(1, 255))]) + GOOD[place + 1 :]
    elif kind == "cut":
        damaged = GOOD[:place]
    else:
        damaged = GOOD[:place] + data.draw(st.binary(min_size=1, max_size=9)) + GOOD[place:]
    reason, members = "", None
    try:
        _, members = read(damaged)
    except InputError as error:
        reason = str(error)
    # Only the gzip header, which no checksum covers, may differ in what passes.
    assert members == read(GOOD)[1] or reason.startswith("raw/x: not a whole archive: ")
