"""Paired comparisons: worked examples, degenerate pairs, invariances, families and real job output."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from score_data import dataset, differences, two

from shellbench_lib.statistics.comparisons import (
    ALL_EQUAL,
    CONSTANT,
    NO_SHARED_TASK,
    ONE_TASK,
    Pair,
    ScoredCells,
    compare,
    factor_pairs,
    holm,
    leader_pairs,
)
from shellbench_lib.statistics.settings import InferenceSettings

NAN = float("nan")
REAL = Path(__file__).resolve().parents[1].parent / "shared" / "data" / "harbor" / "predev-haiku-sonnet"
EFFORTS = ("low", "medium", "high")


def compared(scores, policy="zero", **values):
    """The one comparison of two harnesses."""
    scored = ScoredCells.of(scores, InferenceSettings(missing_reward=policy, **values))
    (found,) = compare(scored, [Pair("harness", 0, 1)])
    return found


def test_the_worked_example_of_8_tasks():
    a = [[1, 1, 1], [1, 1, 1], [1, 1, 0], [1, 1, 1], [1, 0, 0], [0, 0, 0], [1, 1, 1], [1, 1, 1]]
    b = [[1, 0, 0], [1, 1, 1], [0, 1, 1], [1, 1, 0], [0, 1, 0], [0, 0, 0], [0, 1, 0], [1, 1, 1]]
    found = compared(two(a, b))
    assert found.mean == 5 / 24
    assert found.error == pytest.approx(0.107966, abs=1e-6)  # the jackknife error of a mean is sd/sqrt(T)
    assert found.p == 0.25
    assert found.signs == (3, 0, 5)
    assert (found.influence.tie_k, found.influence.flip_k) == (3, None)
    assert found.verdict == "no evidence of a difference"
    library = stats.ttest_1samp(np.mean(a, axis=1) - np.mean(b, axis=1), 0).confidence_interval(0.95)
    assert (found.interval.low, found.interval.high) == pytest.approx((library.low, library.high))


def test_the_probability_of_improvement_is_mann_whitneys():
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 3, (6, 4)) / 2, rng.integers(0, 3, (6, 3)) / 2
    by_task = [stats.mannwhitneyu(x, y).statistic / 12 for x, y in zip(a, b, strict=True)]
    assert compared(two(a, b)).improvement == pytest.approx(np.mean(by_task))


def test_identical_cells_are_no_evidence():
    found = compared(two(np.eye(8), np.eye(8)))
    assert (found.mean, found.p, found.p_holm, found.note) == (0.0, 1.0, 1.0, ALL_EQUAL)
    assert found.verdict == "no evidence of a difference"
    assert math.isnan(found.error)
    assert math.isnan(found.detectable)
    assert found.narrow is None


def test_one_task_has_no_interval_no_p_and_no_spread():
    found = compared(two([[1, 1]], [[0, 0]]))
    assert (found.n_tasks, found.mean, found.verdict, found.note) == (1, 1.0, "too few tasks", ONE_TASK)
    assert all(math.isnan(v) for v in (found.p, found.p_holm, found.error, found.interval.low, found.detectable))
    assert found.family_size == 0


def test_a_constant_shift_has_no_false_precision():
    few = compared(differences([0.5] * 4))
    assert (few.mean, few.p, few.verdict, few.note) == (0.5, 0.125, "too few tasks", CONSTANT)
    assert math.isnan(few.error)
    assert math.isnan(few.interval.high)
    many = compared(differences([0.5] * 20))
    assert many.verdict == "better"
    assert many.p == 2.0**-19
    assert many.narrow is False


def test_one_repetition_compares_tasks():
    found = compared(differences([1, 1, 1, 1, 1, 1, 0, 0]))
    assert (found.p, found.verdict) == (0.03125, "better")


def test_five_tasks_can_never_be_significant_and_six_can():
    assert compared(differences([1] * 5)).verdict == "too few tasks"
    assert compared(differences([1] * 6)).verdict == "better"
    assert compared(differences([-1] * 6)).verdict == "worse"


def test_no_shared_task_is_a_reason_not_a_number():
    tried = np.zeros((2, 4, 1), dtype=bool)
    tried[0, :2], tried[1, 2:] = True, True
    rewards = np.where(tried, 1.0, NAN)
    found = compared(two(rewards[0], rewards[1], attempted=tried))
    assert (found.n_tasks, found.note, found.verdict) == (0, NO_SHARED_TASK, "too few tasks")
    assert math.isnan(found.mean)
    assert math.isnan(found.improvement)
    assert len(found.dropped) == 4


def test_unshared_tasks_are_listed_not_filled():
    tried = np.ones((2, 4, 1), dtype=bool)
    tried[0, 3], tried[1, 0] = False, False
    rewards = np.where(tried, 1.0, NAN)
    found = compared(two(rewards[0], rewards[1], attempted=tried))
    assert (found.tasks, found.dropped, found.mean) == ((1, 2), (0, 3), 0.0)


def test_a_missing_reward_is_imputed_or_drops_the_task():
    scores = two([[1], [NAN], [1]], [[0], [1], [0]])
    zero, exclude = compared(scores), compared(scores, "exclude")
    assert (zero.n_tasks, zero.imputed, zero.mean, zero.dropped) == (3, 1, 1 / 3, ())
    assert (exclude.n_tasks, exclude.imputed, exclude.mean, exclude.dropped) == (2, 0, 1.0, (1,))


def test_holm_has_the_textbooks_values():
    p = [
        0.0001,
        0.0004,
        0.0019,
        0.0095,
        0.0201,
        0.0278,
        0.0298,
        0.0344,
        0.0459,
        0.3240,
        0.4262,
        0.5719,
        0.6528,
        0.7590,
        1,
    ]
    printed = [0.0015, 0.0056, 0.0247, 0.114, 0.2211, 0.278, 0.278, 0.278, 0.3213, 1, 1, 1, 1, 1, 1]
    assert holm(p) == pytest.approx(printed)


def matrix(seed=0, tasks=20):
    """2 harnesses x 2 models x 3 efforts."""
    rng = np.random.default_rng(seed)
    hard = rng.random(tasks)[:, None]
    cells = [(h, m, e) for h in ("a", "b") for m in ("m", "n") for e in EFFORTS]
    return dataset({cell: (rng.random((tasks, 3)) < hard).astype(float) for cell in cells})


def test_families_are_factors_and_the_leader():
    scores = matrix()
    scored = ScoredCells.of(scores, InferenceSettings())
    found = compare(scored, [*factor_pairs(scores), *leader_pairs(scored)])
    sizes = {c.pair.factor: c.family_size for c in found}
    assert sizes == {"harness": 6, "effort": 8, "model": 6, "leader": 11}
    for factor, size in sizes.items():
        family = [c for c in found if c.pair.factor == factor]
        assert len(family) == size
        assert [c.p_holm for c in family] == holm([c.p for c in family])


def test_a_pair_without_a_p_does_not_count_in_its_family():
    tried = np.ones((3, 8, 1), dtype=bool)
    tried[2, 1:] = False
    rewards = {("a", "m", "low"): [[1.0]] * 8, ("b", "m", "low"): [[0.0]] * 8, ("c", "m", "low"): [[0.0]] * 8}
    scores = dataset(rewards, attempted=tried)
    scores.rewards[~tried] = NAN
    scored = ScoredCells.of(scores, InferenceSettings())
    found = compare(scored, factor_pairs(scores))
    assert [(c.n_tasks, c.family_size) for c in found] == [(8, 1), (1, 0), (1, 0)]
    assert found[0].p_holm == found[0].p


def test_efforts_go_up_and_the_leader_stands_left():
    scores = matrix()
    pairs = [p for p in factor_pairs(scores) if p.factor == "effort"]
    order = [EFFORTS.index(c.reasoning_effort) for c in scores.cells]
    assert all(order[p.left] == order[p.right] + 1 for p in pairs)
    scored = ScoredCells.of(scores, InferenceSettings())
    (leader,) = {p.left for p in leader_pairs(scored)}
    assert scored.mean(leader) == max(map(scored.mean, range(12)))


@pytest.mark.parametrize(("first", "second"), [("a", "b"), ("b", "a")])
def test_of_two_leaders_with_one_mean_the_name_decides_nothing(first, second):
    # Both score 1/2; `first` solves the first task. c is behind one of them only on some tasks.
    scores = dataset(
        {
            (first, "m", "high"): [[1.0], [1.0], [0.0], [0.0]],
            (second, "m", "high"): [[0.0], [0.0], [1.0], [1.0]],
            ("c", "m", "high"): [[1.0], [0.0], [0.0], [0.0]],
        }
    )
    scored = ScoredCells.of(scores, InferenceSettings())
    (leader,) = {pair.left for pair in leader_pairs(scored)}
    assert scores.cells[leader].harness == first


rewards = st.lists(
    st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.sampled_from([0.0, 1.0, NAN]), st.sampled_from([0.0, 1.0])),
    min_size=2,
    max_size=14,
)


def numbers(found):
    return [found.n_tasks, found.p, found.p_holm, found.signs, found.influence and found.influence.tie_k, found.narrow,
            found.verdict, found.note, found.imputed]  # fmt: skip


def same(one, other):
    return all(
        a == b or (isinstance(a, float) and math.isnan(a) and math.isnan(b)) for a, b in zip(one, other, strict=True)
    )


@settings(max_examples=25, deadline=None)
@given(rewards, rewards, st.sampled_from(["zero", "exclude"]), st.randoms(use_true_random=False))
def test_permuting_tasks_and_repetitions_changes_nothing(left, right, policy, random):
    size = min(len(left), len(right))
    a, b = np.array(left[:size]), np.array(right[:size])
    order, turn = random.sample(range(size), size), random.sample(range(3), 3)
    found, moved = compared(two(a, b), policy), compared(two(a[order][:, turn], b[order]), policy)
    exact = [found.mean, found.error, found.interval.low, found.trimmed_mean, found.improvement]
    again = [moved.mean, moved.error, moved.interval.low, moved.trimmed_mean, moved.improvement]
    assert same(numbers(found), numbers(moved))
    assert same(exact, again)


@settings(max_examples=25, deadline=None)
@given(rewards, rewards, st.sampled_from(["zero", "exclude"]))
def test_swapping_sides_changes_signs_only(left, right, policy):
    size = min(len(left), len(right))
    a, b = np.array(left[:size]), np.array(right[:size])
    found, swapped = compared(two(a, b), policy), compared(two(b, a), policy)
    assert same([found.mean, found.interval.low], [-swapped.mean, -swapped.interval.high])
    assert same([found.p, found.error, found.detectable], [swapped.p, swapped.error, swapped.detectable])
    assert found.signs[:2] == swapped.signs[1::-1]
    assert found.improvement == pytest.approx(1 - swapped.improvement, nan_ok=True)
    opposite = {"better": "worse", "worse": "better"}
    assert swapped.verdict == opposite.get(found.verdict, found.verdict)


@settings(max_examples=25, deadline=None)
@given(rewards, rewards)
def test_a_task_that_all_pass_shrinks_the_delta_and_keeps_p(left, right):
    size = min(len(left), len(right))
    a, b = np.array(left[:size]), np.array(right[:size])
    found = compared(two(a, b))
    more = compared(two(np.vstack([a, [[1, 1, 1]]]), np.vstack([b, [[1, 1, 1]]])))
    assert more.mean == pytest.approx(found.mean * size / (size + 1), abs=1e-15)
    assert more.p == found.p


def test_other_names_change_only_labels():
    a, b = np.eye(9)[:, :3], np.ones((9, 3)) * 0.123456789
    one = compared(two(a, b))
    other = compared(dataset({("x", "y", "low"): a, ("z", "y", "low"): b}))
    assert one.test == "resampled"
    assert same(numbers(one), numbers(other))


@pytest.mark.shared_data
@pytest.mark.skipif(not REAL.exists(), reason="the public job output is not beside the project")
def test_sonnet_against_haiku_is_mcnemars_test():
    solved = {}
    for job in sorted(REAL.iterdir()):
        for path in job.rglob("result.json"):
            result = json.loads(path.read_text(encoding="utf-8"))
            if "task_name" not in result:
                continue  # the job's own result
            reward = ((result.get("verifier_result") or {}).get("rewards") or {}).get("reward")
            solved.setdefault("sonnet" in job.name, {})[result["task_name"]] = NAN if reward is None else float(reward)
    tasks = sorted(solved[True])
    assert len(tasks) == 89
    found = compared(two([[solved[True][t]] for t in tasks], [[solved[False][t]] for t in tasks], tasks=tasks))
    assert found.signs == (18, 5, 66)
    assert found.p == pytest.approx(0.010622, abs=5e-7)
    assert found.p == pytest.approx(stats.binomtest(5, 23).pvalue, rel=1e-12)
    assert (found.influence.tie_k, found.influence.flip_k) == (13, 14)
    assert found.mean == 13 / 89
    assert found.imputed == sum(math.isnan(value) for side in solved.values() for value in side.values())
