"""What a notebook cell shows: escaped, unknown shown as unknown, cut rows counted."""

import math

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from shellbench_lib.blocks import UNKNOWN, Shown, bullets, paragraph, table, value_text


def test_unknown_is_never_zero():
    assert value_text(None, "integer") == UNKNOWN
    assert value_text(math.nan, "score") == UNKNOWN
    assert value_text(pd.NA, "money") == UNKNOWN
    assert value_text("", "text") == UNKNOWN
    assert value_text(0, "integer") == "0"
    assert value_text(0.0, "money") == "0.00"


def test_formats():
    assert value_text(1234567, "integer") == "1,234,567"
    assert value_text(0.12345, "score") == "0.1235"
    assert value_text(-0.25, "signed") == "\u22120.2500"
    assert value_text(0.25, "signed") == "+0.2500"
    assert value_text(0.256, "percent") == "25.6%"
    assert value_text("a-b", "text") == "a-b"


def test_table_counts_the_rows_that_it_cuts_off():
    frame = pd.DataFrame({"a": range(1500)})
    block = table(frame, [Shown("a", "A", "integer")], caption="Numbers.", limit=2)
    assert "Shown: 2 of 1,500 rows." in block.text
    assert block.html.count("<tr>") == 3


def test_an_empty_table_is_a_sentence():
    block = table(pd.DataFrame({"a": []}), [Shown("a", "A")], caption="Numbers.")
    assert block.text == "Numbers. No rows."
    assert "<table" not in block.html


@given(st.text())
def test_no_text_becomes_markup(text):
    frame = pd.DataFrame({"name": [text]})
    block = table(frame, [Shown("name", text)], caption=text)
    inner = block.html.replace(block.html[: block.html.index("<caption>")], "")
    for hostile in ("<script", "<img", "onerror=alert(1)>"):
        assert hostile not in inner
    assert block.html.count("<td") == 1
    assert block.html.count("<th") == 2  # the heading and <thead>


def test_hostile_names_are_escaped():
    block = bullets(["<img src=x onerror=alert(1)>", "a & b"])
    assert "<img" not in block.html
    assert "&lt;img src=x onerror=alert(1)&gt;" in block.html
    assert "a &amp; b" in block.html
    assert paragraph("</script>").html == "<p>&lt;/script&gt;</p>"


def test_characters_that_turn_a_line_round_are_shown_as_replaced():
    turning = "safe \u202e desrever"
    frame = pd.DataFrame({"name": [turning]})
    for block in (table(frame, [Shown("name", turning)], caption=turning), paragraph(turning), bullets([turning])):
        assert "\u202e" not in block.html
