"""Task means as whole numbers: exact where a small denominator exists, finely rounded where none does."""

from fractions import Fraction

import numpy as np
import pytest
from score_data import dataset, two

from shellbench_lib.statistics.units import reward_denominator, task_units

NAN = float("nan")


@pytest.mark.parametrize(
    ("rewards", "denominator"),
    [
        ([0, 1], 1),
        ([0.5, 0.25], 4),
        ([1 / 3, 0.5, NAN], 6),
        ([0.1 + 0.2], 10),
        ([0.123456], None),
        ([], 1),
        ([-2.5], 2),
    ],
)
def test_the_common_denominator_of_rewards(rewards, denominator):
    assert reward_denominator(np.array(rewards, dtype=float)) == denominator


def test_cells_of_different_repetitions_share_one_step():
    scores = dataset({("a", "m", "low"): [[1, 0, 1]], ("b", "m", "low"): [[1, 0]]})
    found = task_units(scores, "zero")
    assert found.step == Fraction(1, 6)
    assert found.units.ravel().tolist() == [4, 3]
    assert found.value(7, 2) == 7 / 12


def test_a_missing_reward_is_0_or_left_out():
    scores = two([[1, NAN], [NAN, NAN]], [[1, 1], [1, 0]])
    zero, exclude = task_units(scores, "zero"), task_units(scores, "exclude")
    assert [zero.value(int(u)) for u in zero.units[0]] == [0.5, 0.0]
    assert exclude.value(int(exclude.units[0, 0])) == 1.0
    assert exclude.present.tolist() == [[True, False], [True, True]]


def test_continuous_rewards_keep_12_digits():
    rewards = np.random.default_rng(5).random((9, 2))
    found = task_units(two(rewards, rewards[::-1]), "zero")
    assert not found.on_grid
    assert np.allclose(found.units[0] * float(found.step), rewards.mean(axis=1), atol=1e-12, rtol=0)


def test_huge_rewards_do_not_overflow():
    found = task_units(two([[1e300], [-3.5]], [[2e300], [1.0]]), "zero")
    assert found.value(int(found.units[1, 0] - found.units[0, 0])) == pytest.approx(1e300)


def test_no_task_is_no_unit():
    scores = two(np.empty((0, 1)), np.empty((0, 1)))
    assert task_units(scores, "zero").units.shape == (2, 0)
