"""pass@k and pass^k against exact values."""

import math

import numpy as np
import pytest
from score_data import dataset

from shellbench_lib.statistics.reliability import pass_at_k, pass_hat_k, reliability_table

NAN = float("nan")


@pytest.mark.parametrize(
    ("solved", "at", "hat"),
    [
        (0, [0, 0, 0, 0, 0], [0, 0, 0, 0, 0]),
        (1, [0.2, 0.4, 0.6, 0.8, 1], [0.2, 0, 0, 0, 0]),
        (2, [0.4, 0.7, 0.9, 1, 1], [0.4, 0.1, 0, 0, 0]),
        (3, [0.6, 0.9, 1, 1, 1], [0.6, 0.3, 0.1, 0, 0]),
        (4, [0.8, 1, 1, 1, 1], [0.8, 0.6, 0.4, 0.2, 0]),
        (5, [1, 1, 1, 1, 1], [1, 1, 1, 1, 1]),
    ],
)
def test_five_attempts_have_the_published_values(solved, at, hat):
    assert [pass_at_k(5, solved, k) for k in range(1, 6)] == pytest.approx(at)
    assert [pass_hat_k(5, solved, k) for k in range(1, 6)] == pytest.approx(hat)


def test_the_product_form_is_the_binomial_form():
    for n in range(1, 9):
        for c in range(n + 1):
            for k in range(1, n + 1):
                product = 1 - math.prod(1 - k / i for i in range(n - c + 1, n + 1))
                assert pass_at_k(n, c, k) == pytest.approx(product)


def test_fewer_attempts_than_k_have_no_value():
    assert math.isnan(pass_at_k(2, 2, 3))
    assert math.isnan(pass_hat_k(2, 0, 3))


def table(policy="zero"):
    cells = {("a", "m", "low"): [[1, 1, 0], [1, 1, 1], [0, NAN, 0]], ("b", "m", "low"): [[1], [0], [0]]}
    rows = reliability_table([dataset(cells)], missing_reward=policy)
    return rows.set_index(["cell", "k"])


def test_the_table_averages_tasks_and_leaves_further_k_empty():
    rows = table()
    first = rows.loc["a/m/low"]
    assert first["pass_at_k"].tolist() == pytest.approx([(2 / 3 + 1 + 0) / 3, (1 + 1 + 0) / 3, (1 + 1 + 0) / 3])
    assert first["pass_hat_k"].tolist() == pytest.approx([(2 / 3 + 1) / 3, (1 / 3 + 1) / 3, 1 / 3])
    assert first["flaky_tasks"].tolist() == [1, 1, 1]
    single = rows.loc["b/m/low"]
    assert single["pass_at_k"].iloc[0] == pytest.approx(1 / 3)
    assert np.isnan(single["pass_at_k"].iloc[1:].astype(float)).all()
    assert (single["reason"].iloc[1:] != "").all()


def test_an_attempt_without_a_reward_fails_or_does_not_count():
    assert table().loc[("a/m/low", 3), "tasks"] == 3
    rows = table("exclude")
    assert rows.loc[("a/m/low", 3), "tasks"] == 2
    assert rows.loc[("a/m/low", 3), "pass_hat_k"] == 0.5
