import unicodedata
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shellbench_lib.text import (
    FORMULA_STARTS,
    SLUG_BYTES,
    file_names,
    guard_cell,
    markdown,
    printable,
    shorten,
    slug,
    unguard_cell,
    without_private,
)

COLLIDING = [
    "prov/model-x", "prov_model-x", "prov model-x", "Prov/Model-X", "gpt-5.6", "gpt-5-6", "gpt_5_6", "C", "C#", "C++",
    "caf\u00e9", "cafe\u0301", "m" * 300 + "A", "m" * 300 + "B", "...", "任务", "", " ", "con", "CON", "nul.txt", "dot.",
    "../../../../etc/passwd", "/abs/name", "C:\\win\\x", "Task A", "task-a", "task_a", "TASK A",
]  # fmt: skip


@pytest.mark.parametrize("text", ["=1+1", "+1", "-2", "@SUM(A1)", "\tlead", "\rlead", "'quoted"])
def test_what_a_spreadsheet_would_run_is_guarded(text):
    assert guard_cell(text) == f"'{text}"


@pytest.mark.parametrize("text", ["", "a=1", "1", "007", " =1", "NA"])
def test_other_text_is_left_alone(text):
    assert guard_cell(text) == text


@given(st.text())
def test_a_guarded_text_comes_back_and_never_starts_a_formula(text):
    assert unguard_cell(guard_cell(text)) == text
    assert guard_cell(text)[:1] not in FORMULA_STARTS - {"'"}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("esc\x1b[31mred", "esc\ufffd[31mred"),
        ("nul\0", "nul\ufffd"),
        ("two\nlines", "two lines"),
        ("cr\r\nlf", "cr lf"),
        ("\tlead", " lead"),
        ("\u202ertl", "\ufffdrtl"),
        ("sep\u2028ator", "sep\ufffdator"),
        ("lone\ud800", "lone\ufffd"),
        ("café 任务 😀", "café 任务 😀"),
    ],
)
def test_printable_text_is_one_line_without_controls(text, shown):
    assert printable(text) == shown


@given(st.text(st.characters(codec=None)))
def test_printable_text_is_valid_xml_and_one_line(text):
    shown = printable(text)
    element = ET.Element("text")
    element.text = shown
    parsed = ET.fromstring(ET.tostring(element)).text or ""
    assert parsed == shown
    assert len(shown.splitlines()) <= 1
    assert not any(unicodedata.category(character) in {"Cc", "Cs"} for character in shown)


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("a|b", "a\\|b"),
        ("back\\slash|x", "back\\\\slash\\|x"),
        ("`code`", "\\`code\\`"),
        ("[link](http://x.invalid)", "\\[link\\](http://x.invalid)"),
        ("<img src=x>", "\\<img src=x\\>"),
        ("two\nlines", "two lines"),
    ],
)
def test_markdown_shows_the_text_itself(text, escaped):
    assert markdown(text) == escaped


@given(st.text())
def test_a_name_never_adds_a_column_or_a_line_to_a_markdown_table(text):
    cell = markdown(text)
    free = cell.replace("\\\\", "").replace("\\|", "")
    assert "|" not in free
    assert "\n" not in cell
    assert "\r" not in cell


@pytest.mark.parametrize(("limit", "expected"), [(10, "abcdefghij"), (9, "abcd…ghij"), (4, "a…ij"), (1, "…")])
def test_a_long_text_loses_its_middle(limit, expected):
    assert shorten("abcdefghij", limit) == expected


def test_each_label_gets_a_file_of_its_own_on_any_file_system():
    names = file_names(COLLIDING)
    assert set(names) == set(COLLIDING)
    folded = {unicodedata.normalize("NFC", name).casefold() for name in names.values()}
    assert len(folded) == len(COLLIDING)
    for name in names.values():
        assert name.isascii()
        assert len(name) + len("-run-score-distributions-page-99.svg") <= 255
        assert name.strip(".-") == name
        assert "/" not in name
        assert "\\" not in name
        assert name.split(".")[0] not in {"con", "nul"}


def test_an_unambiguous_label_keeps_its_plain_name():
    assert file_names(["3f2a9c:116", "unknown-revision:89"]) == {
        "3f2a9c:116": "3f2a9c-116",
        "unknown-revision:89": "unknown-revision-89",
    }


def test_the_order_of_labels_changes_no_name():
    assert file_names(COLLIDING) == file_names(reversed(COLLIDING))


@given(st.lists(st.text(st.characters(codec=None), max_size=20), unique=True, max_size=8))
def test_whatever_the_labels_are_their_files_differ_and_stay_in_the_folder(labels):
    names = file_names(labels)
    assert len({name.casefold() for name in names.values()}) == len(labels)
    assert all(name not in {"", ".", ".."} and slug(name) == name for name in names.values())
    assert all(len(name) <= SLUG_BYTES + 11 for name in names.values())


@pytest.mark.parametrize(
    ("message", "kept"),
    [
        ("cd /home/ann/agent && run", "cd ~/agent && run"),  # pragma: allowlist secret
        ("at /app/main.py line 3", "at /app/main.py line 3"),
        ("401 for key " + "AKIA" + "Q" * 16 + ".", "401 for key [redacted]."),
        ("Authorization: Bearer " + "a1" * 15, "Authorization: [redacted]"),
        ("bad key " + "sk-" + "ant-" + "x9" * 12, "bad key [redacted]"),
        ("fix task-sk-learn and bearer of news", "fix task-sk-learn and bearer of news"),
    ],
)
def test_a_recorded_message_keeps_neither_homes_nor_credentials(message, kept):
    assert without_private(message) == kept
