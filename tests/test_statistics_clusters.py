"""Clusters of tasks that move together over cells: found, numbered, constant ones apart, absent with few cells."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from score_data import array_dataset as dataset

from shellbench_lib.statistics.clusters import cluster_table, cluster_tasks, too_few_cells

RISING = np.arange(6) / 5
ZIGZAG = np.array([0, 1, 0, 1, 0, 1.0])
# Tasks 0 and 2 rise together, tasks 1 and 3 zigzag together, 4 is always solved and 5 never.
MEANS = np.column_stack([RISING, ZIGZAG, RISING, ZIGZAG, np.ones(6), np.zeros(6)])


def groups(found):
    labels = found.cluster.tolist()
    return {frozenset(i for i, label in enumerate(labels) if label == number) for number in set(labels) - {0}}


def test_tasks_that_move_together_share_a_cluster():
    found = cluster_tasks(MEANS)
    assert groups(found) == {frozenset({0, 2}), frozenset({1, 3})}
    assert found.cluster[[4, 5]].tolist() == [0, 0]


def test_constant_tasks_stand_last_the_solved_ones_first():
    order = cluster_tasks(MEANS).order.tolist()
    assert sorted(order) == list(range(6))
    assert order[-2:] == [4, 5]


def test_clusters_are_numbered_in_the_order_of_the_picture():
    found = cluster_tasks(MEANS)
    first_seen = list(dict.fromkeys(found.cluster[found.order].tolist()))
    assert first_seen == [1, 2, 0]


def test_a_task_that_runs_against_another_is_in_another_cluster():
    found = cluster_tasks(np.column_stack([RISING, 1 - RISING]))
    assert found.cluster.tolist() in ([1, 2], [2, 1])


def test_one_varying_task_is_a_cluster_of_its_own():
    assert cluster_tasks(np.column_stack([RISING, np.ones(6)])).cluster.tolist() == [1, 0]


def test_fewer_than_six_cells_have_a_sentence_and_no_rows():
    few = dataset(MEANS[:5, :, None])
    assert cluster_table([few], missing_reward="zero").empty
    assert "at least 6 cells; there are 5" in too_few_cells(few)
    assert too_few_cells(dataset(MEANS[:, :, None])) == ""


def test_the_table_has_one_row_per_task():
    table = cluster_table([dataset(MEANS[:, :, None])], missing_reward="zero")
    assert table["position"].tolist() == [1, 2, 3, 4, 5, 6]
    assert table["constant"].tolist() == [False] * 4 + [True] * 2
    assert table["cluster_size"].tolist()[:4] == [2, 2, 2, 2]
    assert table["mean_score"].tolist()[-2:] == pytest.approx([1, 0])


@settings(max_examples=25, deadline=None)
@given(st.permutations(range(6)))
def test_the_order_of_the_cells_changes_no_cluster(cells):
    assert groups(cluster_tasks(MEANS[cells])) == groups(cluster_tasks(MEANS))
