"""Signal and noise: published values, a table worked by hand, and what cannot be estimated."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from score_data import array_dataset as dataset

from shellbench_lib.statistics.variance import (
    ONE_REPETITION,
    TOO_FEW_TASKS,
    balanced_scores,
    planned_difference,
    variance_components,
    variance_table,
)

# Dyestuff (lme4 documentation): 6 batches of 5.
DYESTUFF = np.array(
    [
        [1545, 1440, 1440, 1520, 1580],
        [1540, 1555, 1490, 1560, 1495],
        [1595, 1550, 1605, 1510, 1560],
        [1445, 1440, 1595, 1465, 1545],
        [1595, 1630, 1515, 1635, 1625],
        [1520, 1455, 1450, 1480, 1445],
    ],
    dtype=float,
)
# 2 cells x 2 tasks x 2 repetitions. Task means of cell 0: 1, 0; of cell 1: 1/2, 0. Grand mean 3/8.
SMALL = np.array([[[1, 1], [0, 0]], [[0, 1], [0, 0]]], dtype=float)


def test_one_cell_gives_the_published_batch_variance():
    found = variance_components(DYESTUFF[None])
    assert found.shown["task"] == pytest.approx(1764.05)
    assert found.shown["repetition"] == pytest.approx(2451.25)
    assert math.isnan(found.shown["cell"])
    assert math.isnan(found.reliability())
    assert "one cell" in found.reason


def test_crossed_components_by_hand():
    # Sums of squares: task 2*2*2*(3/8)^2 = 9/8, cell 2*2*2*(1/8)^2 = 1/8, interaction 2*4*(1/8)^2 = 1/8, error 1/2.
    # Mean squares: 9/8, 1/8, 1/8 and (1/2)/4 = 1/8.
    found = variance_components(SMALL)
    assert found.raw["task"] == pytest.approx((9 / 8 - 1 / 8) / 4)
    assert found.raw["cell"] == pytest.approx(0, abs=1e-15)
    assert found.raw["task x cell"] == pytest.approx(0, abs=1e-15)
    assert found.raw["repetition"] == pytest.approx(1 / 8)


def test_a_negative_estimate_is_shown_as_zero_and_said_so():
    # Repetitions of every cell and task are 0 and 1: equal means, so MS cell = MS task = MS interaction = 0, MS error 1/2.
    scores = np.tile([0.0, 1.0], (2, 3, 1))
    found = variance_components(scores)
    assert found.raw["task x cell"] == pytest.approx(-0.25)
    assert found.shown["task x cell"] == 0
    table = variance_table([dataset(scores)], missing_reward="zero", confidence_level=0.95)
    row = table[table["quantity"] == "task x cell"].iloc[0]
    assert row["value"] == 0
    assert row["set_to_zero"]


def test_one_repetition_cannot_part_interaction_and_noise():
    found = variance_components(SMALL[:, :, :1])
    assert found.reason == ONE_REPETITION
    assert math.isnan(found.shown["repetition"])
    assert found.shown["task x cell"] >= 0
    error, _ = planned_difference(found, tasks=2, repetitions=3, level=0.95)
    assert math.isnan(error)


def test_shares_sum_to_one():
    rng = np.random.default_rng(sum(map(ord, "variance")))
    table = variance_table([dataset(rng.random((4, 30, 3)))], missing_reward="zero", confidence_level=0.95)
    assert table["share"].sum() == pytest.approx(1)


def test_planned_standard_error_by_hand():
    # SE^2 = 2 (interaction / T + repetition / (T R)); here interaction 0, repetition 1/8, T = 2, R = 4.
    error, _ = planned_difference(variance_components(SMALL), tasks=2, repetitions=4, level=0.95)
    assert error == pytest.approx(math.sqrt(2 * (1 / 8) / 8))


def test_reliability_by_formula():
    rng = np.random.default_rng(sum(map(ord, "reliability")))
    found = variance_components(rng.random((5, 20, 3)) + np.arange(5)[:, None, None])
    shown = found.shown
    noise = shown["task x cell"] / 20 + shown["repetition"] / 60
    assert found.reliability() == pytest.approx(shown["cell"] / (shown["cell"] + noise))
    assert found.reliability(absolute=True) < found.reliability()


def test_only_tasks_that_every_cell_repeats_enough_are_used():
    scores = np.array([[[1.0, 0.0, 1.0], [1.0, np.nan, np.nan]], [[0.0, 0.0, np.nan], [1.0, 1.0, np.nan]]])
    kept = balanced_scores(dataset(scores, attempted=~np.isnan(scores)), "zero")
    # Cell 1 has two repetitions at most, and cell 0 has only one of the second task.
    assert kept.tolist() == [[[1.0, 0.0]], [[0.0, 0.0]]]


def test_too_little_data_has_a_reason_and_no_number():
    table = variance_table([dataset(np.ones((1, 1, 1)))], missing_reward="zero", confidence_level=0.95)
    assert table["value"].isna().all()
    assert (table.loc[table["quantity"] != "planned design", "reason"] != "").all()


@settings(max_examples=30, deadline=None)
@given(st.permutations(range(4)), st.permutations(range(6)), st.permutations(range(3)))
def test_the_order_of_cells_tasks_and_repetitions_changes_nothing(cells, tasks, repetitions):
    scores = np.random.default_rng(sum(map(ord, "order"))).random((4, 6, 3))
    shuffled = scores[np.ix_(cells, tasks, repetitions)]
    expected, found = variance_components(scores).raw, variance_components(shuffled).raw
    assert found == pytest.approx(expected, abs=1e-12)


def test_no_task_that_all_cells_share_is_a_reason_and_no_crash():
    scores = np.array([[[1.0], [np.nan]], [[np.nan], [0.0]]])
    table = variance_table([dataset(scores, attempted=~np.isnan(scores))], missing_reward="zero", confidence_level=0.95)
    assert table["value"].isna().all()
    assert table["standard_error"].isna().all()
    assert set(table.loc[table["quantity"] != "planned design", "reason"]) == {TOO_FEW_TASKS}
