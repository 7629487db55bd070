import csv
import io
import json
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from shellbench_lib.columns import Column
from shellbench_lib.errors import InputError
from shellbench_lib.tables import csv_text, json_bytes, read_csv, write_csv, write_json
from shellbench_lib.text import guard_cell, unguard_cell

COLUMNS = (
    Column("run_path", "text", "a name"),
    Column("count", "integer", "a count"),
    Column("value", "number", "a number"),
    Column("flag", "boolean", "a flag"),
    Column("at", "time", "a time"),
)
HOSTILE = [
    '=HYPERLINK("http://x.invalid","go")', "+1+1", "-2", "@SUM(A1)", "\tlead", "\rlead", "a|b", "two\nlines", "cr\r\nlf",
    "lone\rcr", "esc\x1b[31mred", "sep\u2028ator", "next\x85line", "../../escape", 'quote"s', "comma,s", " ", "", "'",
    "''", "NA", "null", "None", "nan", "N/A", "#N/A", "true", "007", "1e3", "12e45678", "caf\u00e9", "cafe\u0301", "😀",
    "\u202ertl", "\ufeffbom", "x" * 200_000,
]  # fmt: skip
FILE = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def row(name):
    return (name, 3, 0.1, True, name)


def test_what_a_table_looks_like():
    rows = [("a", 3, 0.1, True, "2026-01-01T00:00:00Z"), ("b", -2, -0.5, False, ""), (None, None, math.nan, None, None)]
    assert csv_text(COLUMNS, rows) == (
        "run_path,count,value,flag,at\na,3,0.1,True,2026-01-01T00:00:00Z\nb,-2,-0.5,False,\n,,,,\n"
    )


def test_numbers_keep_full_precision_and_are_never_guarded():
    (line,) = csv_text(COLUMNS, [("a", -1, -(1 / 3), None, "")]).splitlines()[1:]
    assert line == "a,-1,-0.3333333333333333,,"
    assert float(line.split(",")[2]) == -(1 / 3)


def test_infinity_is_missing_and_numpy_numbers_are_numbers():
    text = csv_text(COLUMNS, [("a", np.int64(2), np.float64(0.5), None, ""), ("b", None, math.inf, None, "")])
    assert text.splitlines()[1:] == ["a,2,0.5,,", "b,,,,"]


@FILE
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=8), max_size=5))
@example(HOSTILE)
def test_whatever_a_name_holds_it_comes_back(tmp_path, texts):
    write_csv(tmp_path / "t.csv", COLUMNS, [row(text) for text in texts])
    header, rows = read_csv(tmp_path / "t.csv")
    assert header == ["run_path", "count", "value", "flag", "at"]
    assert rows == [[text, "3", "0.1", "True", text] for text in texts]


@FILE
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=8), max_size=5))
@example(HOSTILE)
def test_the_csv_module_reads_the_documented_text(tmp_path, texts):
    write_csv(tmp_path / "t.csv", COLUMNS, [row(text) for text in texts])
    previous = csv.field_size_limit(10**6)
    try:
        with (tmp_path / "t.csv").open(encoding="utf-8", newline="") as stream:
            _, *rows = csv.reader(stream)
    finally:
        csv.field_size_limit(previous)
    assert [unguard_cell(name) for name, *_ in rows] == texts
    assert [name for name, *_ in rows] == [guard_cell(text) for text in texts]


@FILE
@given(
    st.lists(
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8), min_size=1, max_size=5
    )
)
@example([text for text in HOSTILE if text])
def test_pandas_reads_the_documented_text(tmp_path, texts):
    write_csv(tmp_path / "t.csv", COLUMNS, [row(text) for text in texts])
    frame = pd.read_csv(tmp_path / "t.csv", dtype=str, keep_default_na=False)
    assert [unguard_cell(name) for name in frame["run_path"]] == texts
    assert frame["count"].tolist() == ["3"] * len(texts)


def test_no_cell_and_no_heading_can_run_in_a_spreadsheet():
    columns = (Column("=cmd()", "text", "a hostile heading"), *COLUMNS)
    text = csv_text(columns, [(name, *row(name)) for name in HOSTILE])
    previous = csv.field_size_limit(10**6)
    try:
        cells = [cell for line in csv.reader(io.StringIO(text, newline="")) for cell in line]
    finally:
        csv.field_size_limit(previous)
    assert cells[0] == "'=cmd()"
    assert not [cell for cell in cells if cell[:1] in tuple("=+-@\t\r")]


def test_a_file_that_is_not_ours_is_read_as_it_is(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"\xef\xbb\xbfname,value\r\n'quoted,1\r\n\r\nNA,\r\n")
    assert read_csv(tmp_path / "t.csv") == (["name", "value"], [["'quoted", "1"], ["NA", ""]])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"t\.csv: empty; a header row is needed"),
        (b"a,a\n1,2\n", r"t\.csv: columns stand twice: a"),
        (b"a,b\n1\n", r"t\.csv: row 2 has 1 cells, the header has 2"),
        (b"a\n\xff\n", r"t\.csv: cannot be read as UTF-8 text \(UnicodeDecodeError\)"),
        (b'a,b\n"x"y,1\n', r"t\.csv: not a CSV file"),
    ],
)
def test_a_file_that_is_no_table_is_named(tmp_path, content, message):
    (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_csv(tmp_path / "t.csv")


def test_an_absent_file_is_named_without_its_folder(tmp_path):
    with pytest.raises(InputError, match=r"^t\.csv: cannot be read") as caught:
        read_csv(tmp_path / "t.csv")
    assert str(tmp_path) not in str(caught.value)


def test_json_is_strict_and_sorted(tmp_path):
    value = {"b": math.nan, "a": [math.inf, np.float64(0.5), 1], "c": "</script>\u2028"}
    write_json(tmp_path / "t.json", value)
    data = (tmp_path / "t.json").read_bytes()
    assert data == json_bytes(value)
    assert data.startswith(b'{\n  "a": [\n    null,\n    0.5,\n    1\n  ],\n  "b": null,\n')
    assert data.endswith(b"}\n")
    assert json.loads(data, parse_constant=pytest.fail) == {"a": [None, 0.5, 1], "b": None, "c": "</script>\u2028"}
