"""Verdicts under both missing-reward policies."""

import numpy as np
import pytest
from score_data import dataset, two

from shellbench_lib.statistics.inference import infer
from shellbench_lib.statistics.settings import InferenceSettings

NAN = float("nan")
FILE = "missing_reward_sensitivity.csv"


def sensitivity(*scores, policy="zero"):
    return infer(scores, InferenceSettings(missing_reward=policy, bootstrap_resamples=100)).tables[FILE]


def test_without_a_missing_reward_nothing_changes():
    rows = sensitivity(two([[1]] * 8, [[0]] * 8))
    assert not rows["changes"].any()
    assert (rows["mean_delta_zero"] == rows["mean_delta_exclude"]).all()


def test_a_verdict_that_hangs_on_imputed_zeros_is_named_first():
    quiet = two([[1]] * 8, [[0]] * 8, key="a quiet dataset")
    scores = two([[1]] * 8, [[NAN]] * 6 + [[1], [1]], key="b")
    rows = sensitivity(quiet, scores)
    assert rows["dataset_key"].tolist() == ["b", "b", "a quiet dataset", "a quiet dataset"]
    first = rows.iloc[0]
    assert first["changes"] is True
    assert first["missing_rewards"] == 6
    assert (first["verdict_zero"], first["verdict_exclude"]) == ("better", "too few tasks")
    assert (first["n_tasks_zero"], first["n_tasks_exclude"]) == (8, 2)
    assert (first["mean_delta_zero"], first["mean_delta_exclude"]) == (0.75, 0.0)


@pytest.mark.parametrize("policy", ["zero", "exclude"])
def test_the_factors_rows_are_the_same_whichever_policy_the_report_has(policy):
    rng = np.random.default_rng(0)
    rewards = {(h, "m", "low"): np.where(rng.random((12, 3)) < 0.2, NAN, rng.integers(0, 2, (12, 3))) for h in "abc"}
    rows, other = sensitivity(dataset(rewards)), sensitivity(dataset(rewards), policy=policy)
    keep = rows["factor"] == "harness"
    order = ["left_cell", "right_cell"]
    assert rows[keep].sort_values(order).reset_index(drop=True).equals(
        other[other["factor"] == "harness"].sort_values(order).reset_index(drop=True)
    )  # fmt: skip


def test_another_leader_is_said_and_is_no_change_of_the_verdict():
    a = [[1], [1], [1], [1], [1], [1], [1], [0]]
    b = [[NAN], [NAN], [1], [1], [1], [1], [1], [1]]
    rows = sensitivity(two(a, b))
    leader = rows[rows["factor"] == "leader"].iloc[0]
    assert (leader["leader_zero"], leader["leader_exclude"]) == ("a/m/high", "b/m/high")
    assert (leader["leader_changes"], leader["changes"]) == (True, False)


def test_a_lead_that_is_not_significant_does_not_change_by_becoming_narrow():
    rng = np.random.default_rng(7)
    for _ in range(40):
        rewards = [np.where(rng.random((20, 2)) < 0.1, NAN, rng.integers(0, 2, (20, 2))) for _ in "ab"]
        for row in sensitivity(two(*rewards)).to_dict("records"):
            significant = {row["verdict_zero"], row["verdict_exclude"]} & {"better", "worse"}
            assert not row["changes"] or significant
