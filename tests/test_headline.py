"""The first screen: at most eight sentences that say what the tables say, and never a narrow lead without its verdict."""

import pandas as pd
import pytest

from shellbench_lib.columns import TABLES, names
from shellbench_lib.headline import MAX_SENTENCES, HeadlineTables, first_screen


def frame(name, *rows):
    return pd.DataFrame([{**dict.fromkeys(names(TABLES[name])), **row} for row in rows], columns=names(TABLES[name]))


def cell(label, score, standing="behind the leader", key="d:10", runs=3, missing=0, **lead):
    return {
        "dataset_key": key,
        "cell": label,
        "rank": 1 if standing == "leader" else 2,
        "runs": runs,
        "missing_rewards": missing,
        "mean_score": score,
        "score_low": score - 0.1,
        "score_high": score + 0.1,
        "standing": standing,
        **lead,
    }


def lead(delta, p, verdict, narrow=False, tie_k=2):
    return {
        "lead_delta": delta,
        "lead_p_holm": p,
        "lead_verdict": verdict,
        "lead_narrow": narrow,
        "lead_tie_k": tie_k,
    }


def pair(factor, left, right, delta, p, verdict, narrow=False, key="d:10"):
    return {
        "dataset_key": key,
        "factor": factor,
        "left_cell": left,
        "right_cell": right,
        "mean_delta": delta,
        "p_holm": p,
        "verdict": verdict,
        "narrow": narrow,
        "n_tasks": 10,
        "dropped_tasks": 0,
        "minimum_detectable_effect": 0.2,
    }


def runs(eligible, excluded=()):
    reasons = [""] * eligible + list(excluded)
    return pd.DataFrame({"eligible": [not reason for reason in reasons], "exclusion_reason": reasons})


def tables(board, comparisons=(), influence=(), sensitivity=(), run_table=None):
    return HeadlineTables(
        runs=runs(6) if run_table is None else run_table,
        leaderboard=frame("leaderboard.csv", *board),
        comparisons=frame("paired_comparisons.csv", *comparisons),
        influence=frame("task_influence.csv", *influence),
        sensitivity=frame("missing_reward_sensitivity.csv", *sensitivity),
        confidence_level=0.95,
        missing_reward="zero",
    )


def texts(given):
    return [sentence.text for sentence in first_screen(given)]


TWO = [
    cell("a/m/high", 0.6, "leader"),
    cell("b/m/high", 0.4, "tied with the leader", **lead(0.2, 0.12, "no evidence of a difference")),
]


def test_leader_with_interval_and_the_verdict_on_the_next_cell():
    assert texts(tables(TWO))[0] == (
        "a/m/high has the highest mean score, 0.600 (95% interval 0.500 to 0.700); +0.200 against the next cell, "
        "b/m/high: no evidence of a difference (p = 0.120, Holm); the other cell counts as tied with it."
    )


def test_a_leader_that_beats_all_has_no_tie():
    board = [cell("a/m/high", 0.9, "leader"), cell("b/m/high", 0.1, **lead(0.8, 0.0001, "better"))]
    found = texts(tables(board))
    assert found[0].endswith(
        "+0.800 against the next cell, b/m/high: better (p < 0.001, Holm); the other cell is behind it."
    )


def test_a_narrow_lead_names_verdict_and_tasks_in_one_sentence():
    comparisons = [pair("harness", "a/m/high", "b/m/high", 0.2, 0.01, "better", narrow=True)]
    influence = [
        {**comparisons[0], "task_name": name, "in_tie_set": inside, "removal_order": order}
        for name, inside, order in (("t2", True, 1), ("t9", True, 2), ("t1", False, 3))
    ]
    (sentence,) = [text for text in texts(tables(TWO, comparisons, influence)) if "narrow" in text]
    assert sentence == (
        "a/m/high is better than b/m/high by +0.200 (p = 0.010, Holm), but the lead is narrow: without 2 of 10 tasks it "
        "is gone (t2, t9)."
    )


def test_narrow_without_significance_is_not_mentioned():
    comparisons = [pair("harness", "a/m/high", "b/m/high", 0.2, 0.4, "no evidence of a difference", narrow=True)]
    assert not any("narrow" in text for text in texts(tables(TWO, comparisons)))


def test_effort_is_told_from_matched_pairs_only():
    comparisons = [
        pair("effort", "a/m/high", "a/m/low", 0.1, 0.01, "better"),
        pair("effort", "b/m/high", "b/m/low", 0.0, 0.9, "no evidence of a difference"),
    ]
    found = texts(tables(TWO, comparisons))
    assert "1 of 2 matched neighbouring effort pairs is significant: a/m/high better than a/m/low by +0.100." in found


def test_exclusions_are_counted_by_their_first_reason():
    found = texts(tables(TWO, run_table=runs(4, ["incomplete", "incomplete", "infra_dominated"])))
    assert "3 of 7 runs were excluded: incomplete 2, infra_dominated 1." in found


def test_without_an_eligible_run_there_is_nothing_to_compare():
    found = texts(tables([], run_table=runs(0, ["incomplete"])))
    assert found == ["No run is eligible, so nothing can be compared.", "1 of 1 run was excluded: incomplete 1."]


def test_one_run_per_cell_says_what_cannot_be_known():
    board = [cell("a/m/high", 0.6, "leader", runs=1), cell("b/m/high", 0.4, runs=1, **lead(0.2, 0.1, "better"))]
    assert "2 of 2 cells have one run, so run-to-run noise is unknown there." in texts(tables(board))


def test_a_single_cell():
    assert texts(tables([cell("a/m/high", 0.6, "leader")]))[0].endswith("; it is the only cell.")


@pytest.mark.parametrize("count", [2, 5, 20])
def test_never_more_than_eight_sentences_and_every_dataset_accounted_for(count):
    board = [cell("a/m/high", 0.5, "leader", key=f"d:{number}", runs=number) for number in range(1, count + 1)]
    found = texts(tables(board))
    assert len(found) <= MAX_SENTENCES
    told = sum(text.startswith("In dataset") for text in found)
    (more,) = [text for text in found if " more dataset" in text] or [f"{count - told} more datasets"]
    assert told + int(more.split()[0]) == count


def test_every_sentence_names_its_table():
    for sentence in first_screen(tables(TWO, [pair("model", "a/m/high", "a/n/high", 0.2, 0.4, "better")])):
        folder, _, name = sentence.table.partition("/")
        assert folder in {"analysis", "summaries"}
        assert name in TABLES


def test_equal_first_places_are_shared_whatever_their_names():
    board = [cell("a/m/high", 0.6, "leader"), cell("b/m/high", 0.6, "tied with the leader", **lead(0.0, 1.0, "no"))]
    board[1]["rank"] = 1
    assert texts(tables(board))[0].startswith("a/m/high, b/m/high share the highest mean score, 0.600")


def test_a_lead_on_few_shared_tasks_says_so():
    board = [cell("a/m/high", 0.6, "leader"), cell("b/m/high", 0.4, **lead(0.3, 0.01, "better"))]
    comparison = pair("leader", "a/m/high", "b/m/high", 0.3, 0.01, "better") | {"n_tasks": 8, "dropped_tasks": 12}
    assert (
        "+0.300 against the next cell, b/m/high on the 8 tasks that both have: better"
        in texts(tables(board, [comparison]))[0]
    )


def test_a_narrow_lead_without_significance_stands_beside_its_verdict():
    board = [
        cell("a/m/high", 0.6, "leader"),
        cell("b/m/high", 0.5, **lead(0.1, 0.3, "no evidence of a difference", True, 3)),
    ]
    assert "no evidence of a difference (p = 0.300, Holm), and narrow: 3 tasks carry it" in texts(tables(board))[0]


def test_a_verdict_that_hangs_on_missing_rewards_is_named():
    board = [cell("a/m/high", 0.6, "leader", missing=8), cell("b/m/high", 0.2, **lead(0.4, 0.01, "better"))]
    change = {
        "dataset_key": "d:10", "factor": "harness", "left_cell": "a/m/high", "right_cell": "b/m/high", "changes": True,
        "verdict_zero": "better", "verdict_exclude": "no evidence of a difference", "narrow_zero": True,
    }  # fmt: skip
    (found,) = [
        s for s in first_screen(tables(board, sensitivity=[change, change | {"factor": "leader"}])) if "hang" in s.text
    ]
    assert found.text == (
        "8 trials of eligible runs without a reward count 0; 1 of 1 verdict on matched pairs hang on that: a/m/high "
        "against b/m/high: better but narrow under zero, no evidence of a difference under exclude."
    )
    assert found.table == "analysis/missing_reward_sensitivity.csv"


def test_with_several_datasets_every_sentence_says_which_it_is_about():
    board = [cell("a/m/high", 0.6, "leader"), cell("a/m/high", 0.6, "leader", key="e:10", runs=2)]
    comparisons = [pair("harness", "a/m/high", "b/m/high", 0.2, 0.01, "better")]
    found = texts(tables(board, comparisons))
    assert found[0].startswith("In dataset d:10, ")
    assert any(text.startswith("In the same dataset, 1 of 1 matched harness pair is significant") for text in found)
    assert any(text.startswith("In dataset e:10, ") for text in found)


def test_power_beyond_the_scale_is_said_in_words():
    comparisons = [
        pair("harness", "a/m/high", "b/m/high", 0.2, 0.5, "too few tasks") | {"minimum_detectable_effect": 3.5}
    ]
    assert any("no difference from 0 to 1 is found with 80 % power" in text for text in texts(tables(TWO, comparisons)))


def test_one_pair_with_too_few_tasks_gets_no_word_about_a_difference():
    comparisons = [pair("harness", "a/m/high", "b/m/high", 0.75, 0.5, "too few tasks")]
    assert "The only matched harness pair has too few tasks for a verdict." in texts(tables(TWO, comparisons))


def test_standings_of_several_cells_add_up():
    board = [
        cell("a/m/high", 0.9, "leader"),
        cell("b/m/high", 0.8, "tied with the leader", **lead(0.1, 0.4, "no evidence of a difference")),
        cell("c/m/high", 0.5, **lead(0.4, 0.01, "better")),
        cell("d/m/high", 0.4, **lead(0.5, 0.01, "better")),
        cell("e/m/high", 0.3, "too few tasks to tell", **lead(0.6, 0.5, "too few tasks")),
    ]
    assert texts(tables(board))[0].endswith(
        "; of the other 4 cells 1 counts as tied with it (b/m/high), 2 are behind it, for 1 it cannot be told."
    )
