"""Ranks over task bootstraps."""

import math

import numpy as np
import pytest
from score_data import dataset, two

from shellbench_lib.statistics.comparisons import ScoredCells
from shellbench_lib.statistics.ranking import bootstrap_ranks
from shellbench_lib.statistics.settings import InferenceSettings

NAN = float("nan")


def ranks(scores, **values):
    return bootstrap_ranks(ScoredCells.of(scores, InferenceSettings(bootstrap_resamples=2000, **values)))


def three(first, second, third):
    return dataset({("a", "m", "low"): first, ("b", "m", "low"): second, ("c", "m", "low"): third})


def test_a_cell_that_is_ahead_on_every_task_is_always_best():
    found = ranks(three([[0.5]] * 9, [[1.0]] * 9, [[0.0]] * 9))
    assert found.rank.tolist() == found.low.tolist() == found.high.tolist() == [2, 1, 3]
    assert found.best.tolist() == [0, 1, 0]


def test_equal_cells_share_the_first_place():
    found = ranks(three([[1], [0], [1]], [[1], [0], [1]], [[0], [0], [0]]))
    assert found.rank.tolist() == [1, 1, 3]
    assert found.low[:2].tolist() == [1, 1]
    assert found.high[0] >= 2
    assert found.best[0] == found.best[1]
    assert found.best.sum() == pytest.approx(1)


def test_thirds_that_add_up_to_the_same_mean_are_a_tie():
    # 1/3 + 1/3 + 1/3 and 1 + 0 + 0: floats may differ in their last bit, whole numbers do not.
    found = ranks(two([[1, 0, 0]] * 3, [[1, 1, 1], [0, 0, 0], [0, 0, 0]]))
    assert found.rank.tolist() == [1, 1]


def test_the_chance_to_be_best_follows_from_the_tasks():
    # With two tasks that one cell wins and the other loses, draws (w,w), (w,l), (l,w), (l,l): shares 1, 1/2, 1/2, 0.
    found = ranks(two([[1], [0]], [[0], [1]]))
    assert found.best == pytest.approx([0.5, 0.5], abs=0.03)
    unequal = ranks(two([[1], [0]], [[0], [0.5]]))
    assert unequal.best == pytest.approx([0.75, 0.25], abs=0.03)


def test_one_task_gives_a_rank_and_no_uncertainty():
    found = ranks(two([[1]], [[0]]))
    assert found.rank.tolist() == [1, 2]
    assert np.isnan(found.best).all()


def test_a_cell_without_a_score_has_no_rank():
    scores = two([[1], [0]], [[NAN], [NAN]])
    assert math.isnan(ranks(scores, missing_reward="exclude").rank[1])
    assert ranks(scores).rank.tolist() == [1, 2]


def test_cells_may_come_in_any_order_and_the_seed_decides():
    rng = np.random.default_rng(2)
    cells = {(h, "m", "low"): rng.integers(0, 2, (12, 3)) for h in "abcd"}
    found = ranks(dataset(cells))
    backwards = ranks(dataset(dict(reversed(cells.items()))))
    assert found.best.tolist() == backwards.best.tolist()[::-1]
    assert found.high.tolist() == backwards.high.tolist()[::-1]
    assert ranks(dataset(cells), seed=1).best.tolist() != found.best.tolist()


def test_continuous_scores_rank_like_their_means():
    rng = np.random.default_rng(4)
    cells = {(h, "m", "low"): rng.random((15, 2)) for h in "abc"}
    means = [values.mean() for values in cells.values()]
    assert ranks(dataset(cells)).rank.tolist() == [1 + sum(other > mean for other in means) for mean in means]


def test_the_stream_is_numpys_documented_pcg64():
    """The raw numbers of a seeded bit stream do not change between versions; these were drawn once."""
    from shellbench_lib.statistics.settings import raw_bytes, raw_indices, stream

    assert raw_indices(stream(0, "rank-bootstrap", "rev:8"), (1, 8), 8).ravel().tolist() == [7, 3, 4, 4, 6, 3, 7, 5]
    assert raw_bytes(stream(0, "sign-flip", "rev:8"), 6).tolist() == [131, 216, 56, 7, 219, 123]
