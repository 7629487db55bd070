"""Cost: k of n known, and nothing cheap because it is unknown."""

import math

import pandas as pd
import pytest
from score_data import dataset

from shellbench_lib.statistics.cost import cost_table

NAN = float("nan")
COLUMNS = ("n_input_tokens", "n_cache_tokens", "n_output_tokens", "cost_usd", "duration_sec")


def cost(prices, rewards=((1.0, 0.0), (1.0, 1.0)), **others):
    """The cost row of one cell with two runs of two tasks; `prices` by run."""
    scores = dataset({("a", "m", "low"): [[run[task] for run in rewards] for task in range(2)]})
    rows = []
    for run, path in enumerate(scores.cells[0].run_paths):
        for task in range(2):
            values = dict.fromkeys(COLUMNS, NAN) | {"cost_usd": prices[run][task]}
            rows.append({"run_path": path, "scorable": True, "reward": rewards[run][task], **values, **others})
    return cost_table([scores], pd.DataFrame(rows)).set_index("quantity")


def test_known_costs_are_summed_per_trial_run_and_solved_task():
    row = cost([[1.0, 2.0], [3.0, 4.0]]).loc["cost"]
    assert (row["known_trials"], row["trials"], row["known_total"]) == (4, 4, 10.0)
    assert (row["per_trial"], row["per_run"]) == (2.5, 5.0)
    assert (row["solved"], row["per_solved"]) == (3, pytest.approx(10 / 3))


def test_a_run_with_a_gap_gives_no_total_for_the_run():
    row = cost([[1.0, NAN], [3.0, 4.0]]).loc["cost"]
    assert (row["known_trials"], row["trials"]) == (3, 4)
    assert row["per_trial"] == pytest.approx(8 / 3)
    assert (row["known_runs"], row["per_run"], row["solved"], row["per_solved"]) == (1, 7.0, 2, 3.5)


def test_an_unknown_cost_is_empty_with_a_reason():
    row = cost([[NAN, NAN], [NAN, NAN]]).loc["cost"]
    assert row["reason"] == "not recorded in any trial"
    assert all(math.isnan(row[name]) for name in ("known_total", "per_trial", "per_run", "per_solved"))


def test_no_solved_task_has_no_cost_per_solved_task():
    row = cost([[1.0, 1.0], [1.0, 1.0]], rewards=((0.0, 0.5), (0.0, 0.0))).loc["cost"]
    assert math.isnan(row["per_solved"])
    assert row["reason"] == "no task solved in a fully known run"


def test_a_negative_time_is_unknown():
    row = cost([[1.0, 1.0], [1.0, 1.0]], duration_sec=-5.0).loc["trial time"]
    assert row["known_trials"] == 0
    assert math.isnan(row["per_trial"])


def test_a_cost_of_0_is_known():
    row = cost([[0.0, 0.0], [0.0, 0.0]]).loc["cost"]
    assert (row["known_trials"], row["per_run"], row["per_solved"]) == (4, 0.0, 0.0)
