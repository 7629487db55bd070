"""Standard errors and intervals, against published values and scipy."""

import math

import numpy as np
import pytest
from scipy import stats

from shellbench_lib.statistics.intervals import (
    effective_observations,
    fixed_task_error,
    minimum_detectable_effect,
    population_error,
    score_interval,
    t_interval,
    t_quantile,
    wilson_interval,
)

Z = 1.959963984540054
DYESTUFF = np.array([
    [1545, 1440, 1440, 1520, 1580], [1540, 1555, 1490, 1560, 1495], [1595, 1550, 1605, 1510, 1560],
    [1445, 1440, 1595, 1465, 1545], [1595, 1630, 1515, 1635, 1625], [1520, 1455, 1450, 1480, 1445],
], dtype=float)  # fmt: skip


@pytest.mark.parametrize(
    ("k", "n", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_has_newcombes_values(k, n, low, high):
    found = wilson_interval(k / n, n, Z)
    assert (round(found.low, 4), round(found.high, 4)) == (low, high)
    library = stats.binomtest(k, n).proportion_ci(method="wilson")
    assert (found.low, found.high) == pytest.approx((library.low, library.high), abs=1e-12)


def test_the_population_error_of_dyestuff_is_lme4s():
    assert population_error(DYESTUFF.mean(axis=1)) == pytest.approx(19.383412, abs=1e-6)
    assert DYESTUFF.std(ddof=1) / math.sqrt(30) == pytest.approx(11.5065, abs=1e-4)  # pooling attempts is too small


def test_the_fixed_task_error_is_the_binomial_formula_for_rewards_of_0_and_1():
    scores = np.array([[1, 1, 0], [0, 0, 0], [1, 0, 0], [1, 1, 1]], dtype=float)
    rates = np.array([2 / 3, 0, 1 / 3, 1])
    assert fixed_task_error(scores) == pytest.approx(math.sqrt(np.sum(rates * (1 - rates) / 2)) / 4)


def test_one_repetition_has_no_fixed_task_error():
    assert math.isnan(fixed_task_error(np.array([[1.0], [0.0]])))
    assert math.isnan(fixed_task_error(np.array([[1.0, 0.0], [1.0, np.nan]])))
    assert math.isnan(fixed_task_error(np.empty((0, 3))))


def test_repeating_every_repetition_keeps_the_population_error():
    assert population_error(np.hstack([DYESTUFF, DYESTUFF]).mean(axis=1)) == pytest.approx(19.383412, abs=1e-6)


def test_one_task_has_neither_error_nor_interval():
    assert math.isnan(population_error(np.array([0.5])))
    assert score_interval(np.array([0.5]), 3, confidence_level=0.95).method == ""


def test_equal_differences_have_no_interval():
    assert math.isnan(t_interval(0.5, 0.0, 4, confidence_level=0.95).low)


def test_the_t_interval_is_scipys():
    values = np.array([0.1, 0.4, -0.2, 0.3, 0.0])
    found = t_interval(values.mean(), population_error(values), 5, confidence_level=0.9)
    library = stats.ttest_1samp(values, 0).confidence_interval(0.9)
    assert (found.low, found.high) == pytest.approx((library.low, library.high))


def test_saturated_cells_have_an_interval_of_some_width():
    found = score_interval(np.ones(30), 90, confidence_level=0.95)
    quantile = stats.t.ppf(0.975, 29)
    assert found.high == 1.0
    assert found.low == pytest.approx(30 / (30 + quantile**2))


def test_effective_observations_lie_between_tasks_and_trials():
    assert effective_observations(0.5, 0.5 / math.sqrt(10), 10, 30) == 10  # tasks all or nothing
    assert effective_observations(0.5, 0.0, 10, 30) == 30  # tasks all alike
    assert effective_observations(0.5, 0.5 / math.sqrt(20), 10, 30) == pytest.approx(20)


def test_scores_outside_0_and_1_get_a_t_interval():
    means = np.array([0.0, 2.0, 1.0, 3.0])
    found = score_interval(means, 4, confidence_level=0.95)
    library = stats.ttest_1samp(means, 0).confidence_interval(0.95)
    assert found.method == "t"
    assert (found.low, found.high) == pytest.approx((library.low, library.high))


@pytest.mark.parametrize(("repetitions", "effect"), [(10, 0.07567), (1, 0.13273)])
def test_the_detectable_effect_is_millers(repetitions, effect):
    error = math.sqrt((1 / 9 + 2 * (1 / 6) / repetitions) / 198)
    assert minimum_detectable_effect(error, math.inf, alpha=0.05) == pytest.approx(effect, abs=1e-5)


def test_millers_sample_size_detects_3_points():
    error = math.sqrt(1 / 9 / 968.997)
    assert minimum_detectable_effect(error, math.inf, alpha=0.05) == pytest.approx(0.03, abs=1e-7)


def test_without_spread_no_effect_is_called_detectable():
    assert math.isnan(minimum_detectable_effect(0.0, 9, alpha=0.05))
    assert math.isnan(minimum_detectable_effect(math.nan, 0, alpha=0.05))


def test_quantiles_are_those_of_the_t_table():
    assert t_quantile(0.975, 3) == pytest.approx(3.182446, abs=1e-6)
