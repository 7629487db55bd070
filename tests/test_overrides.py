"""Overrides: which runs they match, which wins, and what is said of one that matches nothing."""

import pytest

from shellbench_lib.params import Override
from shellbench_lib.records import Condition
from shellbench_lib.sources.overrides import OverrideRules

RECORDED = Condition(harness="recorded", model_slug="m1")


def apply(path, *rules, condition=RECORDED):
    overrides = OverrideRules([Override(match=match, set=values) for match, values in rules])
    return overrides.apply(condition, path), overrides.unused()


@pytest.mark.parametrize(
    ("glob", "path", "matches"),
    [
        ("jobs/a", "jobs/a", True),
        ("jobs/a", "jobs/ab", False),
        ("job*", "job-a/inner/run#1", True),
        ("*", "anything", True),
        ("jobs/[ab]", "jobs/b", True),
        ("jobs/A", "jobs/a", False),
        ("a", "jobs/a", False),
    ],
)
def test_a_glob_matches_the_whole_run_path_in_its_own_case(glob, path, matches):
    condition, unused = apply(path, (glob, {"harness": "set"}))
    assert (condition.harness == "set", bool(unused)) == (matches, not matches)


def test_a_later_override_wins_and_other_fields_stay():
    condition, unused = apply("r", ("*", {"harness": "one", "tool_mode": "code"}), ("r", {"harness": "two"}))
    assert condition == Condition(harness="two", tool_mode="code", model_slug="m1")
    assert unused == []


def test_an_empty_value_makes_a_field_unrecorded():
    assert apply("r", ("*", {"harness": ""}))[0].harness == ""


def test_each_override_without_a_run_is_named_once():
    _, unused = apply("r", ("x*", {"harness": "one"}), ("r", {"harness": "two"}), ("y", {"harness": "three"}))
    assert [(found.code, found.message) for found in unused] == [
        ("override_unused", "'x*' matches no run path"),
        ("override_unused", "'y' matches no run path"),
    ]
