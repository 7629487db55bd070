"""The legacy pairs and the leaderboard per dataset and cell, by hand."""

import pytest

from shellbench_lib.leaderboard import cleaned_leaderboard, legacy_pairs


def row(path, score, label="h-m", *, eligible=True, repetition=1, effort="high", **values):
    return {
        "run_path": path, "run_label": path, "pair_label": label, "score": score, "eligible": eligible,
        "repetition": repetition, "reasoning_effort": effort, "expected_task_count": 4, "exact_passes": 2,
        "coverage": 1.0, "clean_completed": 4, "parity_validated": True,
    } | values  # fmt: skip


def test_a_pair_averages_its_eligible_runs_and_names_what_it_pools():
    rows = [
        row("c", 0.5, repetition=None),
        row("b", 1.0, repetition=2, exact_passes=4, coverage=0.5, clean_completed=3, effort="low"),
        row("z", 0.0, repetition=1, eligible=False, parity_validated=False),
        row("a", 9.0, repetition=2, eligible=False),
    ]
    (pair,) = legacy_pairs(rows, {"a": "d2", "b": "d1", "c": "d1", "z": "d1"})
    assert pair == {
        "pair_label": "h-m", "total_repetitions": 4, "eligible_repetitions": 2, "excluded_repetitions": 2,
        "excluded_run_labels": ["z", "a"], "parity_validated_repetitions": 3, "parity_unvalidated_run_labels": ["z"],
        "mean": 0.75, "stdev": pytest.approx(0.3535533905932738), "min": 0.5, "max": 1.0, "mean_score": 0.75,
        "score_stdev": pytest.approx(0.3535533905932738), "min_score": 0.5, "max_score": 1.0, "mean_exact_passes": 3,
        "pass_rate": 6 / 8, "clean_complete_repetitions": 2, "mean_coverage": 0.75, "mean_clean_completed": 3.5,
        "pooled_datasets": ["d1", "d2"], "pooled_efforts": ["high", "low"],
    }  # fmt: skip


def test_one_eligible_run_has_upstreams_zero_and_none_has_nothing():
    one, none = legacy_pairs([row("a", 0.5, "one"), row("b", 1.0, "two", eligible=False)], {"a": "d", "b": "d"})[:2]
    assert (one["mean"], one["stdev"]) == (0.5, 0.0)
    assert {
        none[name] for name in ("mean", "stdev", "min", "max", "mean_exact_passes", "pass_rate", "mean_coverage")
    } == {None}


@pytest.mark.parametrize("scores", [[float("inf"), 1.0], [1.7e308, -1.7e308]])
def test_scores_beyond_all_bounds_have_no_deviation(scores):
    (pair,) = legacy_pairs([row(str(score), score) for score in scores], {str(score): "d" for score in scores})
    assert pair["stdev"] is None


def table(text, title):
    section = text.split(f"## {title}\n", 1)[1].split("\n## ")[0]
    return [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("|")]


def test_the_leaderboard_ranks_cells_within_their_dataset():
    rows = [row("a", 0.25), row("b", 0.75), row("c", 0.5), row("d", 1.0), row("e", 1.0, eligible=False)]
    cells = {"a": ("one", "x"), "b": ("one", "x"), "c": ("one", "w"), "d": ("two", "x"), "e": ("three", "x")}
    text = cleaned_leaderboard(rows, cells)
    header, _, *body = table(text, "one")
    assert header == [
        "Rank", "Cell", "Repetitions", "Parity validated", "Mean", "Stdev", "Min", "Max", "Mean exact passes",
        "Pass rate", "Clean complete",
    ]  # fmt: skip
    assert body == [
        ["1", "w", "1/1", "1/1", "0.5000", "0.0000", "0.5000", "0.5000", "2.00", "0.5000", "1"],
        ["2", "x", "2/2", "2/2", "0.5000", "0.3536", "0.2500", "0.7500", "2.00", "0.5000", "2"],
    ]
    assert [line[1] for line in table(text, "two")[2:]] == ["x"]
    assert table(text, "three")[2:] == [["-", "no eligible run", *["-"] * 9]]


def test_a_hostile_label_keeps_the_rows_shape():
    hostile = "a|b\nc`<script>"
    text = cleaned_leaderboard([row("a", 0.5)], {"a": (hostile, hostile)})
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert len(lines) == 3
    assert {line.replace("\\|", "").count("|") for line in lines} == {12}
    assert "<script>" not in text.replace("\\<", "")
