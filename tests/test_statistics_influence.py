"""Flip sets, narrow leads and concentration: the worked examples, brute force, and hand-made cases."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import trim_mean

from shellbench_lib.statistics.influence import influence, removal_sums, trimmed_sum

W11 = [2, 0, 0, 1, 0, 0, 2, 0]


def found(values, share=0.1):
    return influence(np.array(values, dtype=np.int64), narrow_share=share)


def brute_force(values, reached):
    """Fewest removals after which a condition on the sum holds, some task being left."""
    for size in range(1, len(values)):
        for out in combinations(range(len(values)), size):
            if reached(sum(values) - sum(values[i] for i in out)):
                return size
    return None


def test_the_worked_example_ties_without_tasks_0_6_3_and_cannot_flip():
    result = found(W11)
    assert (result.tie_k, result.flip_k) == (3, None)
    assert result.order[:3].tolist() == [0, 6, 3]


def test_the_worked_flip_case():
    result = found([2, 2, 1, -1, -1, -1])
    assert (result.tie_k, result.flip_k) == (1, 2)


def test_18_wins_against_5_losses():
    result = found([1] * 18 + [-1] * 5 + [0] * 66)
    assert (result.tie_k, result.flip_k) == (13, 14)


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=7))
def test_flip_sets_are_the_smallest_there_are(values):
    result, total = found(values), sum(values)
    if total == 0:
        assert (result.tie_k, result.flip_k, result.narrow) == (None, None, None)
    else:
        sign = 1 if total > 0 else -1
        assert result.tie_k == brute_force(values, lambda s: sign * s <= 0)
        assert result.flip_k == brute_force(values, lambda s: sign * s < 0)


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=40))
def test_swapping_sides_keeps_everything_but_the_sign(values):
    one, other = found(values), found([-v for v in values])
    assert (one.tie_k, one.flip_k, one.narrow, one.concentration) == (
        other.tie_k, other.flip_k, other.narrow, other.concentration,
    )  # fmt: skip
    assert one.trimmed == (-other.trimmed[0], other.trimmed[1])


def test_a_constant_shift_has_no_tie_set():
    assert found([1, 1, 1, 1]).tie_k is None
    assert found([1, 1, 1, 1]).narrow is False
    assert found([5]).tie_k is None


@given(st.lists(st.integers(-9, 9), min_size=1, max_size=45))
def test_trimming_is_scipys(values):
    total, count = trimmed_sum(np.array(values))
    assert total / count == pytest.approx(trim_mean(values, 0.1))


def test_a_lead_of_4_tasks_in_40_is_narrow_and_a_broad_one_is_not():
    narrow = found([3] * 4 + [0] * 36)
    assert (narrow.tie_k, narrow.narrow, narrow.trimmed[0]) == (4, True, 0)
    assert found([3] * 5 + [0] * 35).narrow is False  # 5 tasks are more than a tenth
    broad = found([1] * 22 + [-1] * 18)
    assert (broad.tie_k, broad.narrow) == (4, False)  # the trimmed mean is not at most half the mean


def test_the_share_is_exact_at_its_edge():
    assert (
        found([1] * 3 + [0] * 27, share=0.1).narrow is True
    )  # 0.1 * 30 is 3, also in floats that say 3.0000000000000004
    assert found([1] * 3 + [0] * 26, share=0.1).narrow is False


def test_the_concentration_is_the_share_of_the_gains():
    assert found([4, 2, 2, *[0] * 17]).concentration == 0.5  # one of 20 tasks
    assert found([4, 4, *[0] * 38]).concentration == 1.0
    assert found([1] * 20).concentration == 0.05


def test_the_curve_takes_the_most_helpful_tasks_first():
    units = np.array(W11)
    sums = removal_sums(units, found(W11).order)
    assert sums.tolist() == [3, 1, 0, 0, 0, 0, 0, 0]
