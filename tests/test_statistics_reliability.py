"""pass@k and pass^k: the exact table for five attempts, and no value for too few attempts."""

import math

import numpy as np
import pytest
from score_data import array_dataset as dataset

from shellbench_lib.statistics.reliability import pass_at_k, pass_hat_k, reliability_table

# Exact values for n = 5 attempts, by number solved and k = 1..5.
PASS_AT = {0: [0, 0, 0, 0, 0], 1: [0.2, 0.4, 0.6, 0.8, 1], 2: [0.4, 0.7, 0.9, 1, 1], 3: [0.6, 0.9, 1, 1, 1]}
PASS_HAT = {1: [0.2, 0, 0, 0, 0], 2: [0.4, 0.1, 0, 0, 0], 3: [0.6, 0.3, 0.1, 0, 0], 4: [0.8, 0.6, 0.4, 0.2, 0]}


@pytest.mark.parametrize(("solved", "values"), PASS_AT.items())
def test_pass_at_k_of_five(solved, values):
    assert [pass_at_k(5, solved, k) for k in range(1, 6)] == pytest.approx(values)


@pytest.mark.parametrize(("solved", "values"), PASS_HAT.items())
def test_pass_hat_k_of_five(solved, values):
    assert [pass_hat_k(5, solved, k) for k in range(1, 6)] == pytest.approx(values)


def test_fewer_attempts_than_k_have_no_value():
    assert math.isnan(pass_at_k(2, 2, 3))
    assert math.isnan(pass_hat_k(2, 2, 3))


def test_a_cell_with_fewer_repetitions_keeps_an_empty_row_with_the_reason():
    scores = np.array([[[1.0, 0.0], [1.0, 1.0]], [[1.0, np.nan], [0.0, np.nan]]])
    table = reliability_table([dataset(scores, attempted=~np.isnan(scores))], missing_reward="zero")
    first, second = table[table["cell"] == table["cell"].iloc[0]], table[table["cell"] == table["cell"].iloc[-1]]
    # Task 0 solved once in two attempts, task 1 twice: pass@1 = (1/2 + 1)/2, pass@2 = 1, pass^2 = (0 + 1)/2.
    assert first["pass_at_k"].tolist() == [0.75, 1.0]
    assert first["pass_hat_k"].tolist() == [0.75, 0.5]
    assert first["flaky_tasks"].tolist() == [1, 1]
    assert first["flaky_share"].tolist() == [0.5, 0.5]
    assert second["pass_at_k"].isna().tolist() == [False, True]
    assert second["reason"].tolist() == ["", "no task has 2 scored attempts"]
    assert second["flaky_share"].isna().all()


def test_a_missing_reward_is_a_failed_attempt_or_none():
    scores = np.array([[[1.0, np.nan], [1.0, 1.0]]])
    given = dataset(scores)
    zero = reliability_table([given], missing_reward="zero")
    exclude = reliability_table([given], missing_reward="exclude")
    assert zero["pass_hat_k"].tolist() == [0.75, 0.5]
    assert exclude["pass_hat_k"].tolist() == [1.0, 1.0]
    assert exclude["tasks"].tolist() == [2, 1]


def test_a_reward_just_below_one_is_not_solved():
    table = reliability_table([dataset(np.full((1, 1, 1), 0.9999999999999999))], missing_reward="zero")
    assert table["pass_at_k"].tolist() == [0.0]
