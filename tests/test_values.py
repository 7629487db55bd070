"""What a JSON value is worth, by examples that can be checked by hand."""

from __future__ import annotations

import math
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shellbench_lib.sources.values import duration, first_text, flag, instant, mapping, number, reward, text, whole

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("recorded", "value", "flags"),
    [
        (1, 1.0, ()),
        (0, 0.0, ()),
        (-0.0, 0.0, ()),
        (0.9999999999999999, 0.9999999999999999, ()),
        ("1.0", 1.0, ("reward_from_text",)),
        (" .5 ", 0.5, ("reward_from_text",)),
        (-0.5, -0.5, ("reward_out_of_range",)),
        (1.5, 1.5, ("reward_out_of_range",)),
        ("25", 25.0, ("reward_from_text", "reward_out_of_range")),
        (None, None, ()),
    ],
)
def test_rewards_that_count(recorded, value, flags):
    assert reward(recorded) == (value, flags)


@pytest.mark.parametrize(
    "recorded",
    [True, False, math.nan, math.inf, -math.inf, [1], {"reward": 1}, "pass", "1e0", "nan", "", "١", 10**400, "9" * 400],
)
def test_what_is_no_number_is_no_reward(recorded):
    value, flags = reward(recorded)
    assert value is None
    assert "reward_not_a_number" in flags


@given(json_values)
def test_a_reward_is_a_finite_number_or_flagged(recorded):
    value, flags = reward(recorded)
    if value is None:
        assert recorded is None or "reward_not_a_number" in flags
    else:
        assert math.isfinite(value)
        assert not isinstance(recorded, bool)
        assert ("reward_out_of_range" in flags) == (value < 0 or value > 1)


@pytest.mark.parametrize(
    ("recorded", "expected"),
    [(3, 3), ("2.5", 2.5), (True, None), ("many", None), (math.inf, None), (10**400, None), (None, None), ([], None)],
)
def test_numbers(recorded, expected):
    assert number(recorded) == expected


@pytest.mark.parametrize(("recorded", "expected"), [(3.0, 3), ("7", 7), (2.5, None), (None, None), (True, None)])
def test_whole_numbers(recorded, expected):
    assert whole(recorded) == expected


@pytest.mark.parametrize(
    ("recorded", "expected"),
    [(False, False), ("False", False), (0, False), ("no", False), (True, True), (" YES ", True), (1, True), ("maybe", None),
     (2, None), (None, None), ([], None)],
)  # fmt: skip
def test_flags_in_any_spelling(recorded, expected):
    assert flag(recorded) is expected


def test_texts():
    assert [text(value) for value in ("a", 1, 1.5, True, None, [], {})] == ["a", "1", "1.5", "true", "", "", ""]
    assert first_text({"a": "", "b": None, "c": 0}, "a", "b", "c") == "0"
    assert mapping([1]) == {}
    assert mapping({"a": 1}) == {"a": 1}


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        ("2026-01-01T00:00:00Z", "2026-01-01T00:05:00Z", (300.0, "")),
        ("2026-01-01T09:00:00+09:00", "2026-01-01T00:05:00Z", (300.0, "")),  # one clock, two spellings
        ("2026-01-01T00:00:00", "2026-01-01T00:05:00", (300.0, "")),
        ("2026-03-08T01:59:00-05:00", "2026-03-08T03:01:00-04:00", (120.0, "")),  # the hour that summer time skips
        ("2026-01-01T00:00:00", "2026-01-01T00:05:00Z", (None, "mixed_time_zones")),
        ("2026-01-01T00:05:00Z", "2026-01-01T00:00:00Z", (-300.0, "negative_duration")),
        ("yesterday", "2026-01-01T00:05:00Z", (None, "unreadable_time")),
        ("1767225600", "2026-01-01T00:05:00Z", (None, "unreadable_time")),
        ("", "2026-01-01T00:05:00Z", (None, "")),
        ("2026-01-01T00:00:00.0000001Z", "2026-01-01T00:00:01.0000001Z", (1.0, "")),
    ],
)
def test_durations(start, end, expected):
    assert duration(start, end) == expected


def test_instants_order_naive_stamps_as_utc_and_unreadable_ones_last():
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC).timestamp()
    assert (
        instant("2026-01-01T12:00:00")
        == instant("2026-01-01T12:00:00Z")
        == instant("2026-01-01T21:00:00+09:00")
        == noon
    )
    assert instant("soon") == instant("") == math.inf


@given(json_values)
def test_no_value_of_any_kind_raises(value):
    found = number(value)
    assert found is None or math.isfinite(found)
    assert flag(value) in {True, False, None}
    assert isinstance(text(value), str)
