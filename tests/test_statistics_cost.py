"""Tokens, cost and time: nothing is zero because it is unknown, and a gap makes no run look cheap."""

import numpy as np
import pandas as pd
import pytest
from score_data import array_dataset as dataset

from shellbench_lib.statistics.cost import cost_table


def table_of(costs, rewards=None):
    """Return the cost row of one cell: `costs` by run and task, NaN where unknown."""
    costs = np.array(costs, dtype=float)
    rewards = np.ones(costs.shape) if rewards is None else np.array(rewards, dtype=float)
    given = dataset(np.ones((1, costs.shape[1], costs.shape[0])))
    paths = given.cells[0].run_paths
    rows = [
        {
            "run_path": paths[run],
            "scorable": True,
            "reward": rewards[run, task],
            "cost_usd": costs[run, task],
            "n_input_tokens": np.nan,
            "n_cache_tokens": np.nan,
            "n_output_tokens": 0.0,
            "duration_sec": -5.0 if task else 10.0,
        }
        for run in range(costs.shape[0])
        for task in range(costs.shape[1])
    ]
    found = cost_table([given], pd.DataFrame(rows))
    return found.set_index("quantity")


def test_a_fully_known_cell():
    row = table_of([[1, 2], [3, 4]], [[1, 0], [1, 0.5]]).loc["cost"]
    assert (row["known_trials"], row["trials"], row["known_total"], row["per_trial"]) == (4, 4, 10, 2.5)
    assert (row["known_runs"], row["runs"], row["per_run"]) == (2, 2, 5)
    assert (row["solved"], row["per_solved"]) == (2, 5)
    assert row["reason"] == ""


def test_a_run_with_a_gap_enters_no_total_per_run():
    row = table_of([[1, 2], [3, np.nan]]).loc["cost"]
    assert (row["known_trials"], row["trials"], row["per_trial"]) == (3, 4, 2)
    assert (row["known_runs"], row["per_run"], row["per_solved"]) == (1, 3, 1.5)


def test_unknown_stays_unknown_and_a_recorded_zero_is_a_value():
    found = table_of([[np.nan, np.nan]])
    cost, output = found.loc["cost"], found.loc["output tokens"]
    assert cost[["known_total", "per_trial", "per_run", "per_solved"]].isna().all()
    assert cost["reason"] == "not recorded in any trial"
    assert output["per_trial"] == 0


def test_no_whole_run_is_said_with_its_counts():
    assert table_of([[1, np.nan]]).loc["cost", "reason"] == "known in 1 of 2 trials and in no whole run"


def test_nothing_solved_has_no_cost_per_solved_task():
    row = table_of([[1, 2]], [[0, np.nan]]).loc["cost"]
    assert np.isnan(row["per_solved"])
    assert row["reason"] == "no task solved in a fully known run"
    assert row["per_run"] == 3


def test_a_negative_duration_is_unknown():
    row = table_of([[1, 1]]).loc["trial time"]
    assert (row["known_trials"], row["per_trial"]) == (1, 10)
    assert row["per_run"] != pytest.approx(5)
