"""Task quality flags on small matrices that a reader can check by eye."""

import numpy as np
import pandas as pd
import pytest
from score_data import array_dataset as dataset

from shellbench_lib.statistics.quality import discrimination, quality_table, signal_and_noise

NO_TRIALS = pd.DataFrame({"run_path": [], "task_name": [], "classification": [], "scorable": []})


def quality(scores, tasks=NO_TRIALS, policy="zero"):
    return quality_table([dataset(np.array(scores, dtype=float))], tasks, missing_reward=policy)


def test_saturated_and_impossible():
    table = quality([[[1, 1], [0, 0], [1, 0]], [[1, 1], [0, 0], [1, 1]]])
    assert table["saturated"].tolist() == [True, False, False]
    assert table["impossible"].tolist() == [False, True, False]
    assert table["min_cell_score"].tolist() == [1.0, 0.0, 0.5]
    assert table["max_cell_score"].tolist() == [1.0, 0.0, 1.0]


def test_flaky_where_repetitions_disagree_in_half_of_the_cells():
    table = quality([[[1, 0], [1, 1]], [[1, 1], [0, 0]]])
    assert table["flaky_cells"].tolist() == [1, 0]
    assert table["flaky"].tolist() == [True, False]


def test_one_repetition_cannot_be_flaky():
    table = quality([[[1], [0]], [[0], [1]]])
    assert table["repeated_cells"].tolist() == [0, 0]
    assert table["flaky"].tolist() == [None, None]
    assert table["signal"].isna().all()


def test_discrimination_of_a_task_that_runs_against_the_others():
    # Over four cells tasks 0 and 1 rise and task 2 falls; the rest of task 2 is a rising line: correlation -1.
    means = np.array([[0, 0, 3], [1, 1, 2], [2, 2, 1], [3, 3, 0]]) / 3
    found = discrimination(means)
    assert found[2] == pytest.approx(-1)
    assert np.isnan(found[:2]).all()  # the rest of task 0 is constant: 0 + 3 = 1 + 2 = ...
    table = quality(means[:, :, None])
    assert table["negative_discrimination"].tolist() == [None, None, True]


def test_discrimination_needs_four_cells():
    assert np.isnan(discrimination(np.array([[0.0, 0.0], [0.5, 0.5], [1.0, 1.0]]))).all()


def test_signal_and_noise_by_hand():
    # Cell means 1/2 and 0; within variances 1/2 and 0, over two repetitions 1/4 and 0: noise 1/8.
    # Variance of the means: 1/8; signal 1/8 - 1/8 = 0.
    signal, noise = signal_and_noise(np.array([[[0.0, 1.0]], [[0.0, 0.0]]]))
    assert noise.tolist() == [0.125]
    assert signal.tolist() == [0.0]


def test_infra_prone_counts_scoring_trials_of_eligible_runs():
    given = dataset(np.ones((1, 2, 1)))
    path = given.cells[0].run_paths[0]
    tasks = pd.DataFrame(
        {
            "run_path": [path, path, path, "excluded"],
            "task_name": [given.tasks[0], given.tasks[1], given.tasks[1], given.tasks[0]],
            "classification": ["infra", "pass", "infra", "infra"],
            "scorable": [True, True, False, True],
        }
    )
    table = quality_table([given], tasks, missing_reward="zero")
    assert table["infra_failures"].tolist() == [1, 0]
    assert table["trials"].tolist() == [1, 1]
    assert table["infra_prone"].tolist() == [True, False]


def test_a_task_without_any_score_has_no_flag():
    table = quality([[[np.nan], [1]]], policy="exclude")
    assert table["cells"].tolist() == [0, 1]
    assert not table["saturated"][0]
    assert not table["impossible"][0]
    assert np.isnan(table["mean_score"][0])
