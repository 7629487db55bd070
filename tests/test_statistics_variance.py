"""Variance components: published data, a table worked by hand, simulation against the truth, degenerate shapes."""

import math

import numpy as np
import pytest
from score_data import dataset

from shellbench_lib.statistics.variance import (
    balanced_scores,
    planned_difference,
    variance_components,
    variance_table,
)

NAN = float("nan")
DYESTUFF = np.array([
    [1545, 1440, 1440, 1520, 1580], [1540, 1555, 1490, 1560, 1495], [1595, 1550, 1605, 1510, 1560],
    [1445, 1440, 1595, 1465, 1545], [1595, 1630, 1515, 1635, 1625], [1520, 1455, 1450, 1480, 1445],
], dtype=float)  # fmt: skip


def test_one_cell_is_the_one_way_layout_of_dyestuff():
    found = variance_components(DYESTUFF[None])
    assert found.raw["task"] == pytest.approx(1764.05)
    assert found.raw["repetition"] == pytest.approx(2451.25)
    assert math.isnan(found.raw["cell"])
    share = found.raw["task"] / (found.raw["task"] + found.raw["repetition"])
    assert share == pytest.approx(0.418487, abs=1e-6)  # the intraclass correlation


def test_a_table_worked_by_hand():
    # Two cells, two tasks, two repetitions. Means of cell and task: 1, 3 / 2, 8; grand 3.5; cells 2, 5; tasks 1.5, 5.5.
    # MS: error 4 * 2 * 1 / 4 = 2, interaction 2 * 4 * 1 = 8, cell 4 * 4.5 = 18, task 4 * 8 = 32.
    scores = np.array([[[0, 2], [2, 4]], [[1, 3], [7, 9]]], dtype=float)
    found = variance_components(scores)
    assert found.raw == pytest.approx({"repetition": 2, "task x cell": 3, "cell": 2.5, "task": 6})
    assert found.reliability() == pytest.approx(2.5 / (2.5 + 3 / 2 + 2 / 4))
    assert found.reliability(absolute=True) == pytest.approx(2.5 / (2.5 + 6 / 2 + 3 / 2 + 2 / 4))


def test_simulated_components_are_found_without_bias():
    rng = np.random.default_rng(1)
    found = []
    for _ in range(300):
        task, cell = rng.normal(0, 0.3, (1, 30, 1)), rng.normal(0, 0.2, (8, 1, 1))
        both, noise = rng.normal(0, 0.1, (8, 30, 1)), rng.normal(0, 0.4, (8, 30, 3))
        found.append(list(variance_components(task + cell + both + noise).raw.values()))
    assert np.mean(found, axis=0) == pytest.approx([0.09, 0.04, 0.01, 0.16], rel=0.08)


def test_a_negative_estimate_is_shown_as_0_and_marked():
    scores = np.array([[[0, 1], [1, 0]], [[1, 0], [0, 1]]], dtype=float)
    found = variance_components(scores)
    assert found.raw["task x cell"] < 0
    assert found.shown["task x cell"] == 0
    rows = variance_table([dataset({("a", "m", "low"): scores[0], ("b", "m", "low"): scores[1]})],
                          missing_reward="zero", confidence_level=0.95)  # fmt: skip
    marked = rows.set_index("quantity").loc["task x cell"]
    assert (marked["value"], marked["set_to_zero"]) == (0, True)


def test_shares_add_up_to_1():
    rng = np.random.default_rng(0)
    cells = {(h, "m", "low"): rng.integers(0, 2, (9, 3)) for h in "abc"}
    rows = variance_table([dataset(cells)], missing_reward="zero", confidence_level=0.95)
    assert rows["share"].sum() == pytest.approx(1)


def test_repetitions_and_tasks_may_stand_in_any_order():
    rng = np.random.default_rng(2)
    scores = rng.random((4, 6, 3))
    moved = scores[::-1][:, rng.permutation(6)][:, :, [2, 0, 1]]
    assert variance_components(moved).raw == pytest.approx(variance_components(scores).raw)


def test_one_repetition_cannot_tell_interaction_from_noise():
    found = variance_components(np.random.default_rng(0).random((3, 5, 1)))
    assert math.isnan(found.raw["repetition"])
    assert "one repetition" in found.reason
    assert not math.isnan(planned_difference(found, tasks=5, repetitions=1, level=0.95)[0])
    assert math.isnan(planned_difference(found, tasks=5, repetitions=3, level=0.95)[0])


def test_a_plan_is_the_formula_with_t_quantiles():
    scores = np.array([[[0, 2], [2, 4]], [[1, 3], [7, 9]]], dtype=float)
    error, detectable = planned_difference(variance_components(scores), tasks=4, repetitions=5, level=0.95)
    assert error == pytest.approx(math.sqrt(2 * (3 / 4 + 2 / 20)))
    assert detectable / error == pytest.approx(3.182446 + 0.978472, abs=1e-5)  # t table, 3 degrees of freedom


def test_only_tasks_that_every_cell_has_are_balanced():
    cells = {("a", "m", "low"): [[1, 1, 0], [1, NAN, 0], [0, 0, 1]], ("b", "m", "low"): [[1, 0], [0, 1], [NAN, 1]]}
    assert balanced_scores(dataset(cells), "exclude").shape == (2, 2, 2)
    assert balanced_scores(dataset(cells), "exclude")[0].tolist() == [[1, 1], [1, 0]]
    assert balanced_scores(dataset(cells), "zero").shape == (2, 3, 2)


def test_one_task_has_no_component():
    found = variance_components(np.ones((2, 1, 3)))
    assert all(math.isnan(value) for value in found.raw.values())
    assert found.reason
