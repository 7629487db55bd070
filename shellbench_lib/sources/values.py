"""What a JSON value is worth: text, number, reward, flag or time. One of the wrong kind is absent, never a guess."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

_PLAIN_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")
_TRUE_WORDS = frozenset({"true", "yes", "1"})
_FALSE_WORDS = frozenset({"false", "no", "0"})
_DURATION_DECIMALS = 6
_EXACT = 2**53  # beyond this a JSON number stands for no single whole number, and JSON writers refuse it beyond 2**63


def text(value: Any) -> str:
    """Return a scalar as text: absent, lists and objects are empty, numbers and flags in their JSON spelling."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    return ""


def first_text(source: dict[str, Any], *keys: str) -> str:
    """Return the text of the first key whose value is neither absent nor empty."""
    for key in keys:
        found = text(source.get(key))
        if found:
            return found
    return ""


def mapping(value: Any) -> dict[str, Any]:
    """Return an object as it is, anything else as an empty one."""
    return value if isinstance(value, dict) else {}


def number(value: Any) -> float | int | None:
    """Return a finite number, or text that converts to one; flags, NaN, infinity and all else are no number."""
    kind = type(value)
    if kind is str:
        try:
            value = float(value)
        except ValueError:
            return None
    elif kind is int:
        if -_EXACT <= value <= _EXACT:
            return int(value)
        return float(value) if _fits_float(value) else None
    elif kind is not float:
        return None
    return float(value) if math.isfinite(value) else None


def _fits_float(value: int) -> bool:
    try:
        float(value)
    except OverflowError:
        return False
    return True


def whole(value: Any) -> int | None:
    """Return a whole number (also one written as text or as 3.0), else None; so is one too large to be exact."""
    found = number(value)
    if found is None or abs(found) > _EXACT or found != int(found):
        return None
    return int(found)


def flag(value: Any) -> bool | None:
    """Return a truth value in any of its spellings (true, "true", 1, "yes" and their opposites), else None."""
    if isinstance(value, bool):
        return value
    word = text(value).strip().lower()
    if word in _TRUE_WORDS:
        return True
    return False if word in _FALSE_WORDS else None


def reward(value: Any) -> tuple[float | None, tuple[str, ...]]:
    """Return a recorded reward and what is unusual about it, as findings codes.

    A finite JSON number counts, also outside 0..1; text counts when it is a plain decimal number. Everything else,
    `true` and `false` included, is no reward. An absent reward (None) has no flag.
    """
    if value is None:
        return None, ()
    flags: tuple[str, ...] = ()
    if isinstance(value, str) and _PLAIN_DECIMAL.fullmatch(value.strip()):
        flags = ("reward_from_text",)
        value = float(value)
    if isinstance(value, bool | str) or (found := number(value)) is None:
        return None, ("reward_not_a_number",)
    if not 0 <= found <= 1:
        flags += ("reward_out_of_range",)
    return float(found), flags


@lru_cache(maxsize=256)  # the end of one phase is the start of the next
def parse_time(stamp: str) -> datetime | None:
    """Return an ISO 8601 time stamp as a time, None where it cannot be read.

    Only the form with hyphens counts: seconds or milliseconds since 1970 could otherwise pass for a compact date.
    """
    if stamp[4:5] != "-":
        return None
    try:
        return datetime.fromisoformat(stamp)
    except ValueError:
        return None


def instant(stamp: str) -> float:
    """Return a time stamp as seconds since 1970 for ordering, a naive one taken as UTC, an unreadable one last."""
    moment = parse_time(stamp)
    if moment is None:
        return math.inf
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def duration(started_at: str, finished_at: str) -> tuple[float | None, str]:
    """Return the seconds between two time stamps, rounded to 6 decimals, and the findings code of what is wrong.

    The duration is empty when an end is absent (no code), unreadable, or when only one end has a time zone.
    """
    if not started_at or not finished_at:
        return None, ""
    start, end = parse_time(started_at), parse_time(finished_at)
    if start is None or end is None:
        return None, "unreadable_time"
    if (start.tzinfo is None) != (end.tzinfo is None):
        return None, "mixed_time_zones"
    seconds = round((end - start).total_seconds(), _DURATION_DECIMALS)
    return seconds, "negative_duration" if seconds < 0 else ""
