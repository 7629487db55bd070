"""Reading the input folder: whatever lies there costs at most its own file."""

from __future__ import annotations

import hashlib
import json
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shellbench_lib.sources.files import MatrixFolder, UnreadableFileError, join, repair_text, shown


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "matrix").mkdir()
    return MatrixFolder(tmp_path / "matrix")


def codes(folder):
    return [finding.code for finding in folder.findings]


def put(folder, name, data):
    path = folder.root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def test_an_object_and_its_bytes(folder):
    put(folder, "a/result.json", b'{"a": [1, null]}')
    assert folder.read_object("a/result.json") == ({"a": [1, None]}, b'{"a": [1, null]}')
    assert folder.findings == []


def test_no_such_file_is_none(folder):
    put(folder, "plain", b"x")
    assert folder.read_object("missing/result.json") is None
    assert folder.read_object("plain/result.json") is None


@pytest.mark.parametrize(
    ("data", "cause"),
    [
        (b"", "is empty"),
        (b" \n", "is empty"),
        (b'{"a": 1', "is not JSON"),
        (b'{"a": "\xe9"}', "is not JSON"),  # latin-1
        (b"[1, 2]", "is not a JSON object"),
        (b"null", "is not a JSON object"),
        (b'{"a": ' + b"[" * 20_000 + b"]" * 20_000 + b"}", "is nested too deeply"),
    ],
)
def test_broken_files_name_their_cause(folder, data, cause):
    put(folder, "result.json", data)
    with pytest.raises(UnreadableFileError, match=cause):
        folder.read_object("result.json")


@pytest.mark.parametrize(
    "data", [b'\xef\xbb\xbf{"a": 1}', '{"a": 1}'.encode("utf-16"), b'{"a": 1, "b": NaN, "c": 1e999}']
)
def test_files_that_are_not_strict_json_are_read_tolerantly(folder, data):
    put(folder, "result.json", data)
    value, _ = folder.read_object("result.json", run_path="run")
    assert value["a"] == 1
    assert [(finding.code, finding.run_path, finding.field) for finding in folder.findings] == [
        ("lenient_json", "run", "result.json")
    ]


def test_a_lone_surrogate_becomes_the_replacement_character(folder):
    put(folder, "result.json", b'{"name": "a\\ud800b", "\\udc00": ["\\udfff"]}')
    value, _ = folder.read_object("result.json")
    assert value == {"name": "a\ufffdb", "\ufffd": ["\ufffd"]}
    assert sorted(codes(folder)) == ["lenient_json", "text_repaired"]


def test_of_repeated_keys_the_last_one_wins(folder):
    put(folder, "result.json", b'{"reward": 0, "reward": 1}')
    assert folder.read_object("result.json")[0] == {"reward": 1}


def test_a_file_beyond_the_limit_is_refused(folder):
    put(folder, "result.json", b'{"a": "' + b"x" * 100 + b'"}')
    with pytest.raises(UnreadableFileError, match="is larger than"):
        folder.read_object("result.json", limit=50)


def test_what_is_no_regular_file_is_refused_without_waiting(folder):
    os.mkfifo(folder.root / "result.json")
    (folder.root / "config.json").mkdir()
    for name in ("result.json", "config.json"):
        with pytest.raises(UnreadableFileError, match="is no regular file"):
            folder.read_object(name)


def test_links_are_followed_inside_the_matrix_only(folder):
    put(folder, "real/result.json", b"{}")
    (folder.root / "inside.json").symlink_to(folder.root / "real" / "result.json")
    (folder.root.parent / "secret.json").write_text("{}")
    (folder.root / "outside.json").symlink_to(folder.root.parent / "secret.json")
    assert folder.read_object("inside.json") == ({}, b"{}")
    with pytest.raises(UnreadableFileError, match="leaves matrix_path"):
        folder.read_object("outside.json")


def test_entries_leave_out_links_that_leave_dangle_or_loop(folder):
    put(folder, "b/file", b"")
    put(folder, "a", b"")
    (folder.root / "away").symlink_to(folder.root.parent)
    (folder.root / "gone").symlink_to(folder.root / "nowhere")
    (folder.root / "loop").symlink_to(folder.root)
    (folder.root / "near").symlink_to(folder.root / "b")
    assert [(entry.name, entry.is_directory) for entry in folder.entries()] == [
        ("a", False), ("b", True), ("near", True),
    ]  # fmt: skip
    assert codes(folder) == ["symlink_not_followed"] * 3


def test_a_directory_that_cannot_be_listed_is_noted(folder):
    put(folder, "plain", b"x")
    assert folder.entries("plain") == []
    assert codes(folder) == ["unreadable_directory"]


def test_the_digest_covers_paths_and_contents_whatever_the_order(folder):
    put(folder, "a", b"1")
    put(folder, "b", b"2")
    other = MatrixFolder(folder.root)
    for name in ("a", "b"):
        folder.read_bytes(name)
    for name in ("b", "a"):
        other.read_bytes(name)
    lines = "".join(f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in (("a", b"1"), ("b", b"2")))
    assert folder.digest() == other.digest() == hashlib.sha256(lines.encode()).hexdigest()


def test_names_that_are_not_utf8_can_be_shown():
    assert shown(os.fsdecode(b"caf\xe9")) == "caf\ufffdE9"
    assert shown("café") == "café"
    assert join("", "a") == "a"
    assert join("a/b", "c") == "a/b/c"


@given(
    st.recursive(
        st.none() | st.integers(-9, 9) | st.text(st.characters(), max_size=5), lambda inner: st.lists(inner, max_size=3)
    )
)
def test_repaired_text_can_always_be_written(value):
    repaired = repair_text(value)
    assert json.loads(json.dumps(repaired, ensure_ascii=False).encode()) == repaired


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=60) | st.builds(lambda data: b"{" + data + b"}", st.binary(max_size=40)))
def test_any_bytes_are_an_object_or_one_clear_refusal(tmp_path_factory, data):
    root = tmp_path_factory.mktemp("m")
    (root / "result.json").write_bytes(data)
    folder = MatrixFolder(root)
    found, cause = None, ""
    try:
        found = folder.read_object("result.json")
    except UnreadableFileError as error:
        cause = str(error)
    assert isinstance(found[0], dict) if found else cause.startswith("is ")
