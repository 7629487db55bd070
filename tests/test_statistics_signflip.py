"""The sign-flip test against McNemar's published values, scipy's enumeration and itself."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from shellbench_lib.statistics.signflip import sign_flip_p

MAIZE = [6, 8, 14, 16, 23, 24, 28, 29, 41, -48, 49, 56, 60, -67, 75]
whole = st.lists(st.integers(-6, 6), min_size=1, max_size=12)


def p(values):
    return sign_flip_p(np.array(values, dtype=np.int64), seed=0)[0]


@pytest.mark.parametrize(
    ("b", "c", "printed"),
    [(121, 59, 0.000004), (70, 59, 0.378688), (80, 59, 0.089452), (30, 60, 0.00206), (10, 30, 0.002221), (10, 10, 1.0)],
)
def test_one_attempt_each_gives_mcnemars_exact_p(b, c, printed):
    assert p([1] * b + [-1] * c + [0] * 40) == pytest.approx(printed, abs=1e-6)
    assert p([1] * b + [-1] * c) == pytest.approx(stats.binomtest(min(b, c), b + c).pvalue, rel=1e-12)


def test_18_against_5_of_89_tasks():
    assert p([1] * 18 + [-1] * 5 + [0] * 66) == pytest.approx(0.010622, abs=5e-7)


@given(whole)
def test_it_is_the_share_of_all_sign_vectors(values):
    signs = np.array(np.meshgrid(*[[-1, 1]] * len(values))).reshape(len(values), -1)
    sums = np.abs(np.array(values) @ signs)
    assert p(values) == pytest.approx(np.mean(sums >= abs(sum(values))), rel=1e-12)


def test_it_is_scipys_exact_permutation_test():
    library = stats.permutation_test((np.array(MAIZE, dtype=float),), np.mean, permutation_type="samples",
                                     n_resamples=np.inf)  # fmt: skip
    assert p(MAIZE) == pytest.approx(library.pvalue, rel=1e-12)


def test_the_ranks_of_wilcoxons_maize_data_give_wilcoxons_p():
    ranks = stats.rankdata(np.abs(MAIZE)).astype(int) * np.sign(MAIZE)
    assert p(ranks) == pytest.approx(0.041259765625, rel=1e-12)


def test_the_worked_example_of_8_tasks():
    assert p([2, 0, 0, 1, 0, 0, 2, 0]) == 0.25


def test_no_difference_and_one_difference_prove_nothing():
    assert p([0, 0, 0]) == 1.0
    assert p([3]) == 1.0
    assert p([1] * 5) == 0.0625
    assert p([1] * 6) == 0.03125


@given(whole, st.permutations(range(12)), st.integers(1, 9))
def test_order_side_scale_and_zeros_do_not_matter(values, order, scale):
    moved = [-scale * values[i] for i in order if i < len(values)]
    assert p([*moved, 0]) == p(values)


def test_continuous_differences_are_resampled_from_their_own_stream():
    rng = np.random.default_rng(3)
    units = rng.integers(-(2**38), 2**39, size=40)
    value, method = sign_flip_p(units, seed=1, name="d")
    assert method == "resampled"
    assert sign_flip_p(rng.permutation(-units), seed=1, name="d") == (value, method)
    assert sign_flip_p(units, seed=2, name="d")[0] != value
    coarse, how = sign_flip_p(np.rint(units / 2**29).astype(np.int64), seed=1)
    assert how == "exact"
    assert value == pytest.approx(coarse, abs=4 * np.sqrt(coarse / 99_999))
