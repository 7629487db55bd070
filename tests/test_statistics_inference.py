"""The tables of the inference: types, order, words, and that they say what the comparisons say."""

import math

import numpy as np
import pandas as pd
import pytest
from score_data import dataset, two

from shellbench_lib.columns import INFERENCE_TABLES, names
from shellbench_lib.statistics.inference import infer, run_stdev, solved_rate
from shellbench_lib.statistics.settings import InferenceSettings
from shellbench_lib.tables import csv_text

NAN = float("nan")
FEW = InferenceSettings(bootstrap_resamples=500)
BOARD, PAIRS, INFLUENCE = "leaderboard.csv", "paired_comparisons.csv", "task_influence.csv"


def tables(*scores, settings=FEW):
    return infer(scores, settings).tables


def board_cells(seed=0, tasks=30):
    rng = np.random.default_rng(seed)
    hard = rng.random((tasks, 1))
    return {(h, "m", e): (rng.random((tasks, 3)) < hard + shift).astype(float)
            for h, shift in (("a", 0.0), ("b", -0.5)) for e in ("low", "high")}  # fmt: skip


def test_no_dataset_gives_headers_and_no_rows():
    for name, frame in tables().items():
        assert list(frame.columns) == names(INFERENCE_TABLES[name])
        assert len(frame) == 0


def test_every_table_is_written_with_the_types_it_promises():
    kinds = {"text": str, "integer": int, "number": float, "boolean": bool}
    for name, frame in tables(dataset(board_cells())).items():
        assert list(frame.columns) == names(INFERENCE_TABLES[name])
        for column in INFERENCE_TABLES[name]:
            values = [value for value in frame[column.name].tolist() if value is not None]
            assert all(type(value) is kinds[column.type] for value in values), (name, column.name)
        assert "nan" not in csv_text(INFERENCE_TABLES[name], frame.itertuples(index=False)).lower()


def test_the_leaderboard_stands_in_order_and_names_ties():
    board = tables(dataset(board_cells()))[BOARD]
    assert board["mean_score"].tolist() == sorted(board["mean_score"], reverse=True)
    assert board["standing"].tolist()[0] == "leader"
    assert dict(zip(board["harness"], board["standing"], strict=True))["b"] == "behind the leader"
    assert board["standing"].tolist()[1] == "tied with the leader"
    assert board["lead_verdict"].tolist() == [
        "", "no evidence of a difference", "better", "better",
    ]  # fmt: skip


def test_leader_and_board_agree_with_the_comparisons():
    found = tables(dataset(board_cells()))
    pairs = found[PAIRS][found[PAIRS]["factor"] == "leader"].set_index("right_cell")
    for row in found[BOARD].iloc[1:].to_dict("records"):
        assert row["lead_delta"] == pairs.loc[row["cell"], "mean_delta"]
        assert row["lead_p_holm"] == pairs.loc[row["cell"], "p_holm"]
        assert row["lead_tie_k"] == pairs.loc[row["cell"], "tie_k"]


def test_equal_cells_are_ordered_by_name():
    board = tables(dataset({(h, "m", "low"): [[1.0]] * 8 for h in "cab"}))[BOARD]
    assert board["harness"].tolist() == ["a", "b", "c"]
    assert board["rank"].tolist() == [1, 1, 1]
    assert board["standing"].tolist() == ["leader", "tied with the leader", "tied with the leader"]


def test_few_tasks_are_neither_a_tie_nor_a_lead():
    board = tables(two([[1]] * 3, [[0]] * 3))[BOARD]
    assert board["standing"].tolist() == ["leader", "too few tasks to tell"]


def test_a_cell_without_a_score_stands_last_without_numbers():
    settings = InferenceSettings(missing_reward="exclude", bootstrap_resamples=100)
    row = tables(two([[1], [0]], [[NAN], [NAN]]), settings=settings)[BOARD].iloc[1]
    assert row["standing"] == "no score"
    assert row["missing_rewards"] == 2
    assert row["rank"] is None
    assert all(math.isnan(row[name]) for name in ("mean_score", "score_low", "solved_rate", "probability_best"))


def test_one_run_has_no_run_deviation():
    board = tables(two([[1], [0]], [[0], [0]]))[BOARD]
    assert board["run_stdev"].isna().all()
    assert board["se_fixed_tasks"].isna().all()
    assert run_stdev(np.array([[1, 0, 1], [1, 1, 0]])) == pytest.approx(np.std([1, 0.5, 0.5], ddof=1))


def test_solved_means_a_reward_of_at_least_1():
    scores = np.array([[1.0, 0.999], [1.5, NAN], [0.5, 0.2], [0.0, 1.0]])
    rate, interval = solved_rate(scores, confidence_level=0.95)
    assert rate == pytest.approx((0.5 + 1 + 0 + 0.5) / 4)
    assert interval.low < rate < interval.high


def test_a_tiny_p_is_not_written_as_0():
    found = tables(two([[1.0]] * 60, [[0.0]] * 60))[PAIRS]
    assert found["p_value"].min() == 1e-12


def test_influence_adds_up():
    found = tables(dataset(board_cells()))
    for _, rows in found[INFLUENCE].groupby(["factor", "left_cell", "right_cell"]):
        pair = found[PAIRS].merge(rows.head(1)[["factor", "left_cell", "right_cell"]]).iloc[0]
        assert rows["delta"].mean() == pytest.approx(pair["mean_delta"])
        assert rows["in_tie_set"].sum() == (pair["tie_k"] or 0)
        assert rows["in_flip_set"].sum() == (pair["flip_k"] or 0)
        if pair["mean_delta"]:
            assert rows["share_of_total"].sum() == pytest.approx(1)
        ordered = rows.sort_values("removal_order")
        left = [ordered["delta"].iloc[k:].mean() for k in range(1, len(rows))]
        assert ordered["mean_after_removal"].iloc[:-1].tolist() == pytest.approx(left)
        assert np.isnan(ordered["mean_after_removal"].iloc[-1])


def test_the_worked_example_of_leaving_one_out():
    a = [[1, 1, 1], [1, 1, 1], [1, 1, 0], [1, 1, 1], [1, 0, 0], [0, 0, 0], [1, 1, 1], [1, 1, 1]]
    b = [[1, 0, 0], [1, 1, 1], [0, 1, 1], [1, 1, 0], [0, 1, 0], [0, 0, 0], [0, 1, 0], [1, 1, 1]]
    rows = tables(two(a, b))[INFLUENCE]
    rows = rows[rows["factor"] == "harness"]
    printed = [0.142857, 0.238095, 0.238095, 0.190476, 0.238095, 0.238095, 0.142857, 0.238095]
    assert rows["mean_without"].tolist() == pytest.approx(printed, abs=5e-7)
    assert rows.loc[rows["in_tie_set"].astype(bool), "task_name"].tolist() == ["task-000", "task-003", "task-006"]
    assert not rows["in_flip_set"].any()


def test_datasets_are_not_pooled_and_their_order_does_not_matter():
    one, other = dataset(board_cells(1), key="rev:1"), dataset(board_cells(2), key="rev:2")
    together, alone = tables(one, other), tables(other)
    backwards = tables(other, one)
    for name, frame in alone.items():
        assert together[name][together[name]["dataset_key"] == "rev:2"].reset_index(drop=True).equals(frame)
        assert backwards[name][backwards[name]["dataset_key"] == "rev:2"].reset_index(drop=True).equals(frame)


def test_no_overlap_leaves_a_row_with_the_reason():
    tried = np.zeros((2, 4, 1), dtype=bool)
    tried[0, :2], tried[1, 2:] = True, True
    rewards = np.where(tried, 1.0, NAN)
    found = tables(two(rewards[0], rewards[1], attempted=tried))
    row = found[PAIRS].iloc[0]
    assert (row["n_tasks"], row["verdict"]) == (0, "too few tasks")
    assert row["note"] == "no task has a score on both sides"
    assert row["dropped_task_names"] == "task-000; task-001; task-002; task-003"
    assert pd.isna(row["mean_delta"])
    assert len(found[INFLUENCE]) == 0
