"""Task clusters: what belongs together stands together, in whatever order it comes."""

import numpy as np
from score_data import dataset

from shellbench_lib.statistics.clusters import cluster_table, cluster_tasks, too_few_cells

PATTERNS = np.array([[0, 0, 0, 1, 1, 1], [1, 0, 1, 0, 1, 0], [1, 1, 1, 1, 1, 1]], dtype=float)
MEMBERS = [0, 1, 2, 0, 1, 0, 2]  # the pattern of each task; the third is constant


def six_cells(order=range(7)):
    means = PATTERNS[[MEMBERS[task] for task in order]].T
    cells = {(f"h{index}", "m", "low"): column[:, None] for index, column in enumerate(means)}
    return dataset(cells, tasks=[f"t{task}" for task in order])


def groups(rows):
    found = rows[rows["cluster"].notna()].groupby("cluster")["task_name"].agg(set)
    return {frozenset(names) for names in found}


def test_tasks_that_go_together_are_one_cluster_and_constant_ones_stand_apart():
    rows = cluster_table([six_cells()], missing_reward="zero")
    assert groups(rows) == {frozenset({"t0", "t3", "t5"}), frozenset({"t1", "t4"})}
    apart = rows[rows["cluster"].isna()]
    assert apart["task_name"].tolist() == ["t2", "t6"]
    assert apart["constant"].tolist() == [True, True]
    assert apart["position"].tolist() == [6, 7]


def test_members_stand_beside_each_other():
    rows = cluster_table([six_cells()], missing_reward="zero")
    numbers = rows["cluster"].dropna().tolist()
    assert numbers == sorted(numbers)


def test_the_order_of_tasks_and_cells_does_not_matter():
    order = [6, 3, 1, 0, 5, 2, 4]
    rows = cluster_table([six_cells(order)], missing_reward="zero")
    assert groups(rows) == groups(cluster_table([six_cells()], missing_reward="zero"))
    means = six_cells().task_means("zero")
    assert cluster_tasks(means[::-1]).cluster.tolist() == cluster_tasks(means).cluster.tolist()


def test_opposite_tasks_are_not_together():
    means = np.array([[0, 1, 0, 1, 0, 1], [1, 0, 1, 0, 1, 0]], dtype=float).T
    assert len(set(cluster_tasks(means).cluster.tolist())) == 2


def test_five_cells_are_too_few():
    scores = dataset({(f"h{i}", "m", "low"): [[i % 2], [1]] for i in range(5)})
    assert "at least 6 cells; there are 5" in too_few_cells(scores)
    assert len(cluster_table([scores], missing_reward="zero")) == 0


def test_a_task_with_a_gap_is_in_no_cluster():
    means = np.random.default_rng(0).random((6, 4))
    means[2, 1] = np.nan
    assert cluster_tasks(means).cluster[1] == 0
