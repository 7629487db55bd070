import math

import numpy as np
import pandas as pd
import pytest
from summary_data import full_scores, tables_of

from shellbench_lib.columns import TABLES, names
from shellbench_lib.statistics.cells import build_datasets
from shellbench_lib.statistics.tasks import is_large, task_cells, task_diagnostics

A, B, C = ("alpha", "m1", "high"), ("beta", "m1", "high"), ("gamma", "m1", "high")


def datasets(folder, scores, **values):
    return build_datasets(tables_of(folder / "s", scores, **values))


def test_a_cell_summarises_its_repetitions(tmp_path):
    rows = task_cells(datasets(tmp_path, {A: {"t": [0.0, 0.5, 1.0]}}), missing_reward="zero")
    assert list(rows) == names(TABLES["task_cell_summary.csv"])
    assert rows.to_dict("records") == [
        {
            "dataset_key": "rev1:1", "task_revision": "rev1", "suite_task_count": 1, "harness": "alpha",
            "model_slug": "m1", "model_id": "m1-id", "reasoning_effort": "high", "task_name": "t", "repetitions": 3,
            "mean_reward": 0.5, "reward_stdev": 0.5, "min_reward": 0.0, "max_reward": 1.0, "nonzero_repetitions": 2,
            "exact_passes": 1, "missing_rewards": 0,
        }
    ]  # fmt: skip


def test_a_missing_reward_is_zero_or_left_out(tmp_path):
    data = datasets(tmp_path, {A: {"t": [None, 0.5, 1.0], "u": [None, None, None], "v": [1.0, 1.0, 1.0]}})
    columns = ["task_name", "repetitions", "mean_reward", "min_reward", "exact_passes", "missing_rewards"]
    zero = task_cells(data, missing_reward="zero")[columns].to_numpy().tolist()
    assert zero == [["t", 3, 0.5, 0.0, 1, 1], ["u", 3, 0.0, 0.0, 0, 3], ["v", 3, 1.0, 1.0, 3, 0]]
    exclude = task_cells(data, missing_reward="exclude")
    assert exclude.loc[0, columns].tolist() == ["t", 2, 0.75, 0.5, 1, 1]
    assert exclude.loc[1, ["repetitions", "missing_rewards"]].tolist() == [0, 3]
    assert exclude.loc[1, ["mean_reward", "reward_stdev", "min_reward", "max_reward"]].isna().all()


def test_the_deviation_of_one_value_is_zero_as_upstream_has_it(tmp_path):
    data = datasets(tmp_path, {A: {"t": [0.7]}})
    assert task_cells(data, missing_reward="zero")["reward_stdev"].tolist() == [0.0]
    assert task_diagnostics(data, missing_reward="zero")["cell_reward_stdev"].tolist() == [0.0]


def test_equal_rewards_have_no_deviation_in_the_last_bit(tmp_path):
    data = datasets(tmp_path, {A: {"t": [0.1, 0.1, 0.1]}})
    row = task_cells(data, missing_reward="zero").iloc[0]
    assert (row["mean_reward"], row["reward_stdev"]) == (pytest.approx(0.1, abs=1e-16), 0.0)


def test_diagnostics_of_a_task_over_cells(tmp_path):
    scores = {A: {"t": [1.0, 0.0], "u": [0.0, 0.0]}, B: {"t": [0.0, 0.0], "u": [0.0, 0.0]}, C: {"t": [1.0, 1.0]}}
    rows = task_diagnostics(datasets(tmp_path, scores), missing_reward="zero")
    assert list(rows) == names(TABLES["task_variance_diagnostics.csv"])
    first, second = rows.to_dict("records")
    assert first == {
        "dataset_key": "rev1:2", "task_revision": "rev1", "suite_task_count": 2, "task_name": "t", "cell_count": 3,
        "nonzero_cells": 2, "mean_cell_reward": 0.5, "cell_reward_stdev": 0.5, "min_cell_reward": 0.0,
        "max_cell_reward": 1.0, "range_across_cells": 1.0, "best_cell": "gamma/m1/high",
        "worst_cell": "beta/m1/high",
    }  # fmt: skip
    assert (second["task_name"], second["cell_count"], second["range_across_cells"]) == ("u", 2, 0.0)
    assert second["best_cell"] == second["worst_cell"] == "alpha/m1/high;beta/m1/high"


def test_equal_means_are_tied_although_their_bits_differ(tmp_path):
    # (0.1 + 0.2 + 0.3) / 3 and (0.3 + 0.1) / 2 are both a fifth, and differ in the last bit.
    scores = {A: {"t": [0.1, 0.2, 0.3]}, B: {"t": [0.3, 0.1]}}
    row = task_diagnostics(datasets(tmp_path, scores), missing_reward="zero").iloc[0]
    assert row["best_cell"] == "alpha/m1/high;beta/m1/high"


def test_diagnostics_stand_by_range_deviation_and_name(tmp_path):
    scores = {
        A: {"narrow": [0.5], "b-wide": [1.0], "a-wide": [1.0], "even": [1.0]},
        B: {"narrow": [0.4], "b-wide": [0.0], "a-wide": [0.0], "even": [0.0]},
        C: {"narrow": [0.4], "b-wide": [0.0], "a-wide": [0.0], "even": [0.5]},
    }
    rows = task_diagnostics(datasets(tmp_path, scores), missing_reward="zero")
    # 1, 0, 0 deviates by 0.577 and 1, 0.5, 0 by 0.5.
    assert rows["task_name"].tolist() == ["a-wide", "b-wide", "even", "narrow"]
    assert rows["cell_reward_stdev"].tolist() == pytest.approx([1 / math.sqrt(3)] * 2 + [0.5, 0.1 / math.sqrt(3)])


def test_a_task_without_any_mean_has_no_diagnostics(tmp_path):
    data = datasets(tmp_path, {A: {"t": [None], "u": [1.0]}})
    assert task_diagnostics(data, missing_reward="exclude")["task_name"].tolist() == ["u"]
    assert task_diagnostics(data, missing_reward="zero")["task_name"].tolist() == ["t", "u"]


def test_no_dataset_gives_tables_without_rows():
    for build in (task_cells, task_diagnostics):
        assert build([], missing_reward="zero").empty


def test_the_full_matrix_has_a_row_for_every_cell_and_task(tmp_path):
    data = datasets(tmp_path, full_scores())
    cells = task_cells(data, missing_reward="zero")
    assert len(cells) == 31 * 116 == 3596
    assert len(task_diagnostics(data, missing_reward="zero")) == 116
    # Against an independent expression.
    rewards = pd.DataFrame(
        [
            (*cell, task, value)
            for cell, tasks in full_scores().items()
            for task, values in tasks.items()
            for value in values
        ],
        columns=["harness", "model_slug", "reasoning_effort", "task_name", "reward"],
    )
    expected = rewards.groupby(["harness", "model_slug", "reasoning_effort", "task_name"])["reward"].agg(
        ["mean", "std"]
    )
    found = cells.set_index(["harness", "model_slug", "reasoning_effort", "task_name"]).loc[expected.index]
    np.testing.assert_allclose(found["mean_reward"], expected["mean"], atol=1e-15)
    np.testing.assert_allclose(found["reward_stdev"], expected["std"], atol=1e-15)


def test_datasets_are_kept_apart(tmp_path):
    one = datasets(tmp_path / "one", {A: {"t": [1.0]}})
    two = datasets(tmp_path / "two", {A: {"t": [0.0]}}, task_revision="rev2")
    rows = task_diagnostics([*one, *two], missing_reward="zero")
    assert rows[["dataset_key", "cell_count", "mean_cell_reward"]].to_numpy().tolist() == [
        ["rev1:1", 1, 1.0],
        ["rev2:1", 1, 0.0],
    ]


def test_a_value_just_below_the_threshold_by_rounding_is_large():
    assert is_large(pd.Series([0.8 - 0.3, -0.5, 0.499, 0.5 - 1e-12]), 0.5).tolist() == [True, True, False, True]
