"""Task quality by hand-made tasks: one of each kind."""

import math

import numpy as np
import pandas as pd
import pytest
from score_data import dataset

from shellbench_lib.statistics.quality import discrimination, quality_table, signal_and_noise


def trials_of(scores, infra=()):
    """A task table with one trial for every repetition; `infra` holds (run path, task)."""
    rows = [
        {"run_path": path, "task_name": task, "scorable": True,
         "classification": "infra" if (path, task) in infra else "pass"}
        for cell in scores.cells for path in cell.run_paths for task in scores.tasks
    ]  # fmt: skip
    return pd.DataFrame(rows)


def quality(scores, infra=()):
    return quality_table([scores], trials_of(scores, infra), missing_reward="zero").set_index("task_name")


def four_cells():
    """Tasks: all pass, all fail, repetitions disagree, follows ability, against ability."""
    cells = {}
    for index in range(4):
        able = float(index >= 2)
        cells[(f"h{index}", "m", "low")] = [
            [1, 1],
            [0, 0],
            [1, 0],
            [able, able],
            [able, able],
            [able, able],
            [1 - able, 1 - able],
        ]
    return dataset(cells, tasks=["all", "none", "flaky", "good", "good2", "good3", "wrong"])


def test_each_kind_is_told():
    rows = quality(four_cells())
    assert rows["saturated"].tolist() == [True] + [False] * 6
    assert rows["impossible"].tolist() == [False, True] + [False] * 5
    assert rows["flaky"].tolist() == [False, False, True] + [False] * 4
    assert rows["flaky_cells"].tolist() == [0, 0, 4, 0, 0, 0, 0]
    assert rows.loc["wrong", "negative_discrimination"] is True
    assert rows.loc["good", "negative_discrimination"] is False
    assert rows.loc["all", "negative_discrimination"] is None


def test_discrimination_is_the_correlation_with_the_other_tasks():
    means = np.random.default_rng(0).random((6, 5))
    found = discrimination(means)
    for task in range(5):
        rest = np.delete(means, task, axis=1).mean(axis=1)
        assert found[task] == pytest.approx(np.corrcoef(means[:, task], rest)[0, 1])
    assert np.isnan(discrimination(means[:3])).all()


def test_signal_is_what_repetitions_do_not_explain():
    scores = np.array([[[0.0, 0.2]], [[0.8, 1.0]]])  # means 0.1 and 0.9; each varies by 0.02, its mean by 0.01
    signal, noise = signal_and_noise(scores)
    assert noise[0] == pytest.approx(0.01)
    assert signal[0] == pytest.approx(0.32 - 0.01)
    signal, noise = signal_and_noise(scores[:, :, :1])
    assert math.isnan(signal[0])
    assert math.isnan(noise[0])


def test_infrastructure_failures_are_counted_by_task():
    scores = four_cells()
    rows = quality(scores, infra={("h0-m-low-r1", "good")})
    assert rows.loc["good", ["infra_failures", "trials", "infra_prone"]].tolist() == [1, 8, True]
    assert rows.loc["wrong", ["infra_failures", "infra_prone"]].tolist() == [0, False]


def test_no_dataset_has_no_row():
    assert len(quality_table([], pd.DataFrame(), missing_reward="zero")) == 0
