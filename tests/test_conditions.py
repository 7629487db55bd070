"""Names of conditions: experiment keys, dataset keys, efforts and cells."""

from itertools import pairwise, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shellbench_lib.conditions import (
    EXPERIMENT_FIELDS,
    cell_label,
    cell_names,
    dataset_keys,
    dataset_name,
    effort_rank,
    experiment_key,
    normal_effort,
    split_repetition,
    task_set_digest,
)

VALUES = st.lists(st.text(alphabet=st.characters(exclude_categories=["Cs"])), min_size=11, max_size=11)


def test_the_experiment_key_is_the_promised_text():
    key = experiment_key([f"v{number}" for number in range(10)] + [""], 116, "abc")
    assert key == (
        "harness=v0;harness_version=v1;tool_mode=v2;model_slug=v3;model_id=v4;model_provider=v5;reasoning_effort=v6;"
        "judge_model_id=v7;judge_reasoning_effort=v8;task_revision=v9;task_suite=;expected_task_count=116;"
        "task_set_sha256=abc"
    )


def test_only_what_would_break_the_key_is_encoded():
    key = experiment_key(["a%b;c=d\n\x7f\u0085 é/"] + [""] * 10, 1, "")
    assert key.startswith("harness=a%25b%3Bc%3Dd%0A%7F%C2%85 é/;harness_version=;")


@given(VALUES, VALUES)
def test_equal_keys_mean_equal_conditions(left, right):
    assert (experiment_key(left, 1, "") == experiment_key(right, 1, "")) == (left == right)


@pytest.mark.parametrize("position", range(len(EXPERIMENT_FIELDS)))
def test_every_field_and_count_and_task_set_are_part_of_the_key(position):
    values = ["x"] * len(EXPERIMENT_FIELDS)
    changed = [*values[:position], "y", *values[position + 1 :]]
    base = experiment_key(values, 1, "")
    assert (
        len({base, experiment_key(changed, 1, ""), experiment_key(values, 2, ""), experiment_key(values, 1, "d")}) == 4
    )


def test_a_task_set_has_no_order_and_no_repeats():
    assert (
        len(
            {task_set_digest(order) for order in permutations(["a", "b", "c"])}
            | {task_set_digest(["a", "b", "c", "a"])}
        )
        == 1
    )
    assert task_set_digest(["a"]) == "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([("r", 3, "")], ["r:3"]),
        ([("", 3, "")], ["unknown-revision:3"]),
        ([("r", 3, "d" * 64)], ["r:3"]),
        ([("r", 3, "d" * 64), ("r", 4, "e" * 64)], ["r:3", "r:4"]),
        ([("r", 3, "d" * 64), ("r", 3, "e" * 64)], ["r:3:dddddddd", "r:3:eeeeeeee"]),
        ([("r", 3, ""), ("r", 3, "d" * 64)], ["r:3", "r:3"]),
        ([("r", 3, ""), ("r", 3, "d" * 64), ("r", 3, "e" * 64)], ["r:3", "r:3:dddddddd", "r:3:eeeeeeee"]),
    ],
)
def test_dataset_keys(rows, expected):
    keys = dataset_keys(rows)
    assert [keys[row] for row in rows] == expected


def test_efforts_have_their_order_and_unknown_ones_follow_by_name():
    order = ["none", "minimal", "low", "medium", "high", "xhigh", "max", "", "extreme", "ultra"]
    ranks = [effort_rank(effort) for effort in order]
    assert all(left < right for left, right in pairwise(ranks))
    assert normal_effort("  XHigh ") == "xhigh"


def test_separating_fields_stand_behind_the_name_that_they_belong_to():
    values = {
        "harness": "h", "model_slug": "m", "reasoning_effort": " High", "harness_version": "2", "tool_mode": "code",
        "model_id": "lab/m", "judge_model_id": "j", "task_suite": "s",
    }  # fmt: skip
    assert cell_names(values, ()) == ("h", "m", "high")
    split = ("tool_mode", "harness_version", "model_id", "judge_model_id")
    assert cell_names(values, split) == ("h [harness_version=2, tool_mode=code]", "m [model_id=lab/m]", "high")
    assert dataset_name("r:3", values, split) == "r:3 [judge_model_id=j]"
    assert cell_label("h", "m", "high") == "h/m/high"


@pytest.mark.parametrize(
    ("label", "slug", "expected"),
    [
        ("x-r2", "", ("x", 2)), ("x-r2", "m", ("x", 2)), ("r2", "", ("r2", 2)), ("x-rep_02", "", ("x", 2)),
        ("h-deepseek-r1", "deepseek-r1", ("h-deepseek-r1", None)), ("h-deepseek-r1-r2", "deepseek-r1", ("h-deepseek-r1", 2)),
        ("x", "", ("x", None)), ("", "", ("", None)), ("four2", "", ("four2", None)),
        ("x-r1234567890", "", ("x-r1234567890", None)),
    ],
)  # fmt: skip
def test_the_repetition_suffix_of_a_label(label, slug, expected):
    assert split_repetition(label, slug) == expected


def test_two_cells_never_share_a_label():
    assert cell_label("a", "prov/model", "high") == "a/prov/model/high"
    assert cell_label("a/b", "c", "high") != cell_label("a", "b/c", "high")
    assert cell_label("a", "b", "c/high") != cell_label("a", "b/c", "high")
