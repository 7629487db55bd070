"""Which trial scores which expected task."""

import pytest

from shellbench_lib.reconcile import reconcile
from shellbench_lib.records import ExpectedTask, RunRecord, TrialRecord


def trial(name, path="", *, at="2026-01-01T00:00:00Z", title="", state="valid", reward=1.0):
    return TrialRecord(
        name, name, task_path=path, task_title=title, result_state=state, recorded_reward=reward, started_at=at,
        finished_at="2026-01-01T01:00:00Z" if state == "valid" else "",
    )  # fmt: skip


def roles(trials, expected=("suite/a", "suite/b"), count=None, **values):
    tasks = None if expected is None else tuple(t if isinstance(t, ExpectedTask) else ExpectedTask(t) for t in expected)
    run = RunRecord("r", "r", "native", expected_tasks=tasks, expected_task_count=count, trials=trials, **values)
    findings = []
    rows = reconcile(run, findings)
    return {row.trial.trial_name or row.task_path: (row.role, row.task_path) for row in rows}, rows, findings


def codes(findings):
    return sorted(found.code for found in findings)


def test_each_expected_task_is_scored_by_its_own_trial():
    found, _, findings = roles([trial("b__1", "suite/b"), trial("a__1", "suite/a")])
    assert found == {"a__1": ("scoring", "suite/a"), "b__1": ("scoring", "suite/b")}
    assert findings == []


def test_a_duplicate_an_intruder_and_a_missing_task():
    found, rows, findings = roles(
        [trial("t1__Zq3", "suite/t1"), trial("t1__aB9", "suite/t1"), trial("t2", "suite/t2"), trial("zz", "suite/zz")],
        ("suite/t1", "suite/t2", "suite/t3"),
    )
    assert found == {
        "t1__Zq3": ("scoring", "suite/t1"),
        "t1__aB9": ("duplicate", "suite/t1"),
        "t2": ("scoring", "suite/t2"),
        "zz": ("unexpected", "suite/zz"),
        "suite/t3": ("missing", "suite/t3"),
    }
    assert codes(findings) == ["duplicate_result", "missing_task", "unexpected_result"]
    outcomes = {row.role: row.outcome for row in rows if row.role != "scoring"}
    assert {role: (o.classification, o.exception_type, o.reward) for role, o in outcomes.items()} == {
        "duplicate": ("infra", "DuplicateTaskResultError", None),
        "unexpected": ("infra", "UnexpectedTaskResultError", None),
        "missing": ("infra", "MissingResultError", None),
    }


@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize(
    ("first", "second"),
    [
        (trial("t__z", "suite/a", at="2026-01-01T00:00:00Z"), trial("t__a", "suite/a", at="2026-01-01T00:00:01Z")),
        (trial("t__z", "suite/a", at="2026-01-01T09:00:00+09:00"), trial("t__a", "suite/a", at="2026-01-01T00:00:01Z")),
        (trial("t__z", "suite/a", at="2026-01-01T00:00:00"), trial("t__a", "suite/a", at="")),
        (trial("t__a", "suite/a"), trial("t__z", "suite/a")),
        (trial("t__z", "suite/a", at="garbage"), trial("a", "suite/a", at="", state="invalid")),
        (trial("t__z", "suite/a", at="", state="invalid"), trial("a", "suite/a", at="", state="missing")),
    ],
    ids=["earlier", "earlier in another zone", "with a time", "name breaks a tie", "readable", "with a file"],
)
def test_of_several_results_the_earliest_scores_whatever_the_order(first, second, swap):
    trials = [second, first] if swap else [first, second]
    _, rows, _ = roles(trials, ("suite/a",))
    assert [row.trial.trial_name for row in rows if row.role == "scoring"] == [first.trial_name]


def test_an_unfinished_attempt_beside_a_result_is_no_row():
    found, _, findings = roles([trial("a__1", "suite/a"), trial("a__2", "suite/a", state="missing")], ("suite/a",))
    assert found == {"a__1": ("scoring", "suite/a")}
    assert findings == []


def test_an_unfinished_trial_alone_stands_for_its_task_and_the_task_is_missing():
    found, rows, findings = roles([trial("a__1", state="missing")], ("suite/a",))
    assert found == {"a__1": ("scoring", "suite/a")}
    assert rows[0].outcome.exception_type == "MissingResultError"
    assert codes(findings) == ["missing_task"]


@pytest.mark.parametrize(
    ("expected", "path", "title", "matches"),
    [
        ("suite/a", "suite/a", "", True),
        ("suite/a", "suite/a/", "", True),
        ("suite/a", "a", "", True),
        ("a", "suite/a", "", True),
        ("tasks/suite/a", "suite/a", "", True),
        ("other/a", "suite/a", "", False),
        ("suite/a", "suite/A", "", False),
        ("suite/a", "", "a", True),
        ("suite/a", "", "org/a", True),
        ("suite/a", "", "Fix the thing", False),
        (ExpectedTask("suite/a", "Fix the thing"), "", "Fix the thing", True),
        (ExpectedTask("", "a"), "suite/a", "", True),
        (ExpectedTask("", "a"), "", "a", True),
    ],
)
def test_a_trial_meets_its_task_by_path_leaf_or_title(expected, path, title, matches):
    _, rows, _ = roles([trial("x", path, title=title)], (expected,))
    assert (rows[0].role == "scoring") is matches


@pytest.mark.parametrize("directory", ["odd-__x", "odd__x", "odd", "odd_"])
def test_a_trial_without_a_result_is_known_by_its_directory(directory):
    _, rows, _ = roles([trial(directory, state="missing")], ("suite/odd-",))
    assert [(row.role, row.task_path) for row in rows] == [("scoring", "suite/odd-")]


def test_two_tasks_with_one_leaf_are_two_tasks():
    found, _, findings = roles([trial("1", "one/x"), trial("2", "two/x")], ("one/x", "two/x"))
    assert found == {"1": ("scoring", "one/x"), "2": ("scoring", "two/x")}
    assert findings == []


def test_a_leaf_that_two_tasks_share_names_neither():
    found, _, _ = roles([trial("1", "x")], ("one/x", "two/x"))
    assert found["1"] == ("unexpected", "x")


@pytest.mark.parametrize("path", ["", "/", "//"])
def test_a_trial_without_a_usable_path_is_named_by_title_then_by_itself(path):
    _, rows, _ = roles([trial("n", path, title="org/leaf"), trial("name__x", path, title="/")], None)
    assert [row.task_path for row in rows] == ["leaf", "name__x"]


def test_without_a_list_every_distinct_task_is_expected():
    found, _, _ = roles([trial("1", "s/a"), trial("2", "s/a", at=""), trial("3", "s/b")], None)
    assert [role for role, _ in found.values()] == ["scoring", "duplicate", "scoring"]


def test_a_count_beyond_the_list_is_padded_with_named_rows():
    found, _, _ = roles([trial("1", "suite/a")], ("suite/a",), 3)
    assert [key for key, (role, _) in found.items() if role == "padding"] == ["<missing-1>", "<missing-2>"]


def test_nothing_scores_under_an_unreadable_manifest():
    _, rows, findings = roles([trial("1", "s/a")], None, manifest_error="is not JSON")
    assert [(row.role, row.outcome.classification, row.outcome.reward) for row in rows] == [("unjudged", "infra", None)]
    assert findings == []
