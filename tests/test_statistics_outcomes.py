"""How trials ended in each cell, and what the missing-reward policy changes: values counted by hand."""

import numpy as np
import pandas as pd
import pytest
from score_data import array_dataset as dataset

from shellbench_lib.statistics.outcomes import outcomes_by_cell, policy_by_cell


def test_the_two_policies_differ_by_the_missing_reward_only():
    # Cell 0: t0 scores 1 and nothing (mean 1/2 or 1), t1 scores 0 and 1 (mean 1/2). Cell 1 misses nothing.
    scores = dataset([[[1.0, np.nan], [0.0, 1.0]], [[1.0, 1.0], [0.0, 0.0]]])
    table = policy_by_cell([scores])
    assert table["cell"].tolist() == ["h0/m/high", "h1/m/high"]
    assert table["missing_rewards"].tolist() == [1, 0]
    assert table["mean_zero"].tolist() == [0.5, 0.5]
    assert table["mean_exclude"].tolist() == [0.75, 0.5]
    assert table["difference"].tolist() == [0.25, 0.0]


def test_a_cell_without_any_reward_has_no_mean_under_exclude():
    table = policy_by_cell([dataset([[[np.nan], [np.nan]]])])
    assert table["mean_zero"].tolist() == [0.0]
    assert table["mean_exclude"].isna().all()


def test_a_repetition_that_does_not_exist_is_no_missing_reward():
    scores = dataset([[[1.0, np.nan], [1.0, np.nan]]], attempted=[[[True, False], [True, False]]])
    table = policy_by_cell([scores])
    assert table["missing_rewards"].tolist() == [0]
    assert table["mean_zero"].tolist() == [1.0]


def test_no_dataset_gives_an_empty_table():
    assert policy_by_cell([]).empty


def test_classes_are_counted_over_scoring_rows_of_the_cells_runs():
    scores = dataset([[[1.0], [np.nan]]])
    tasks = pd.DataFrame(
        {
            "run_path": ["h0-r1", "h0-r1", "h0-r1", "excluded"],
            "classification": ["pass", "agent_exit", "infra", "pass"],
            "reward": [1.0, np.nan, np.nan, 1.0],
            "scorable": [True, True, False, True],
        }
    )
    row = outcomes_by_cell([scores], tasks).iloc[0]
    assert (row["trials"], row["pass"], row["agent_exit"], row["infra"], row["missing_rewards"]) == (2, 1, 1, 0, 1)
    assert (
        row[["pass", "partial", "clean_fail", "agent_exit", "verifier_missing_reward", "infra"]].sum() == row["trials"]
    )


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
def test_the_order_of_repetitions_changes_nothing(order):
    rewards = np.array([[[0.1, 0.7], [1 / 3, 2 / 3]]])[:, :, order]
    assert policy_by_cell([dataset(rewards)])["mean_zero"].tolist() == [pytest.approx(0.45, abs=1e-15)]
