import pytest
from summary_data import full_scores, run, tables_of, trial, write_tables

from shellbench_lib.columns import TABLES, names
from shellbench_lib.statistics.cells import build_datasets
from shellbench_lib.statistics.deltas import effort_deltas, harness_deltas, model_deltas
from shellbench_lib.summaries import read_summaries

HEAD = {"dataset_key": "rev1:1", "task_revision": "rev1", "suite_task_count": 1, "task_name": "t"}


def deltas(build, folder, scores, policy="zero"):
    return build(build_datasets(tables_of(folder / "s", scores)), missing_reward=policy)


def test_a_harness_delta_is_left_less_right(tmp_path):
    scores = {("beta", "m", "low"): {"t": [0.25]}, ("alpha", "m", "low"): {"t": [1.0]}}
    rows = deltas(harness_deltas, tmp_path, scores)
    assert list(rows) == names(TABLES["harness_task_deltas.csv"])
    assert rows.to_dict("records") == [
        HEAD | {"model_slug": "m", "reasoning_effort": "low", "left_harness": "alpha", "right_harness": "beta",
                "left_reward": 1.0, "right_reward": 0.25, "delta": 0.75}
    ]  # fmt: skip


def test_a_model_delta_is_left_less_right(tmp_path):
    scores = {("alpha", "n", "low"): {"t": [0.25]}, ("alpha", "m", "low"): {"t": [1.0]}}
    rows = deltas(model_deltas, tmp_path, scores)
    assert list(rows) == names(TABLES["model_task_deltas.csv"])
    assert rows.to_dict("records") == [
        HEAD | {"harness": "alpha", "reasoning_effort": "low", "left_model": "m", "right_model": "n",
                "left_reward": 1.0, "right_reward": 0.25, "delta": 0.75}
    ]  # fmt: skip


def test_an_effort_delta_is_higher_less_lower(tmp_path):
    scores = {("alpha", "m", "xhigh"): {"t": [0.25]}, ("alpha", "m", "low"): {"t": [1.0]}}
    rows = deltas(effort_deltas, tmp_path, scores)
    assert list(rows) == names(TABLES["reasoning_task_deltas.csv"])
    assert rows.to_dict("records") == [
        HEAD | {"harness": "alpha", "model_slug": "m", "lower_reasoning": "low", "higher_reasoning": "xhigh",
                "lower_reward": 1.0, "higher_reward": 0.25, "delta": -0.75, "levels_skipped": 2}
    ]  # fmt: skip


def test_efforts_are_compared_with_their_present_neighbour_only(tmp_path):
    efforts = ["max", "none", "High", "medium", "minimal", "", "turbo"]
    scores = {("alpha", "m", effort): {"t": [index / 10]} for index, effort in enumerate(efforts)}
    rows = deltas(effort_deltas, tmp_path, scores)
    assert rows[["lower_reasoning", "higher_reasoning", "levels_skipped"]].to_numpy().tolist() == [
        ["none", "minimal", 0],
        ["minimal", "medium", 1],
        ["medium", "high", 0],
        ["high", "max", 1],
    ]


def test_other_conditions_are_never_compared(tmp_path):
    scores = {("alpha", "m", "low"): {"t": [1.0]}, ("beta", "n", "high"): {"t": [0.0]}}
    for build in (harness_deltas, effort_deltas, model_deltas):
        assert deltas(build, tmp_path / build.__name__, scores).empty


def test_datasets_are_never_compared(tmp_path):
    runs = [run("r1", "alpha"), run("r2", "beta", task_revision="rev2")]
    tables = read_summaries(write_tables(tmp_path / "s", runs, [trial(row, "t", 1.0) for row in runs]))
    assert harness_deltas(build_datasets(tables), missing_reward="zero").empty


def test_only_tasks_of_both_cells_are_compared(tmp_path):
    scores = {
        ("alpha", "m", "low"): {"a": [1.0], "b": [1.0], "c": [0.5]},
        ("beta", "m", "low"): {"b": [0.0], "d": [1.0]},
    }
    rows = deltas(harness_deltas, tmp_path, scores)
    assert rows[["task_name", "delta"]].to_numpy().tolist() == [["b", 1.0]]
    apart = {("alpha", "m", "low"): {"a": [1.0]}, ("beta", "m", "low"): {"b": [0.0]}}
    assert deltas(harness_deltas, tmp_path / "apart", apart).empty


@pytest.mark.parametrize(("policy", "expected"), [("zero", [["a", -1.0], ["b", 0.0]]), ("exclude", [["b", 0.0]])])
def test_a_missing_reward_follows_the_policy(tmp_path, policy, expected):
    scores = {("alpha", "m", "low"): {"a": [None], "b": [0.5]}, ("beta", "m", "low"): {"a": [1.0], "b": [0.5]}}
    rows = deltas(harness_deltas, tmp_path, scores, policy)
    assert rows[["task_name", "delta"]].to_numpy().tolist() == expected


def test_rows_stand_by_condition_task_and_pair(tmp_path):
    scores = {
        (harness, model, effort): {"b": [1.0], "a": [0.0]}
        for harness in ("z", "x", "y")
        for model in ("n", "m")
        for effort in ("high", "low")
    }
    data = build_datasets(tables_of(tmp_path / "s", scores))
    harness = harness_deltas(data, missing_reward="zero")
    by_harness = ["model_slug", "reasoning_effort", "task_name", "left_harness", "right_harness"]
    assert harness[by_harness].to_numpy().tolist() == [
        [model, effort, task, left, right]
        for model in "mn"
        for effort in ("low", "high")
        for task in "ab"
        for left, right in ("xy", "xz", "yz")
    ]
    effort = effort_deltas(data, missing_reward="zero")
    assert effort[["harness", "model_slug", "task_name"]].to_numpy().tolist() == [
        [harness, model, task] for harness in "xyz" for model in "mn" for task in "ab"
    ]
    model = model_deltas(data, missing_reward="zero")
    assert model[["harness", "reasoning_effort", "task_name"]].to_numpy().tolist() == [
        [harness, effort, task] for harness in "xyz" for effort in ("low", "high") for task in "ab"
    ]


def test_the_full_matrix_has_every_matched_delta(tmp_path):
    data = build_datasets(tables_of(tmp_path / "s", full_scores()))
    counts = [len(build(data, missing_reward="zero")) for build in (harness_deltas, effort_deltas, model_deltas)]
    assert counts == [27 * 116, 19 * 116, 28 * 116] == [3132, 2204, 3248]


def test_exchanging_two_names_turns_every_sign(tmp_path):
    def swapped(harness):
        return {"alpha": "beta", "beta": "alpha"}[harness]

    scores = {("alpha", "m", "low"): {"a": [1.0, 0.3], "b": [0.2, 0.1]}, ("beta", "m", "low"): {"a": [0.5], "b": [0.9]}}
    other = {(swapped(harness), *rest): rewards for (harness, *rest), rewards in scores.items()}
    one, two = deltas(harness_deltas, tmp_path / "1", scores), deltas(harness_deltas, tmp_path / "2", other)
    assert one["delta"].tolist() == (-two["delta"]).tolist()


def test_no_dataset_gives_tables_without_rows():
    for build in (harness_deltas, effort_deltas, model_deltas):
        assert build([], missing_reward="zero").empty
