"""The report's sections on small frames: the counts that a reader can check by hand."""

import numpy as np
import pandas as pd

from shellbench_lib import sections
from shellbench_lib.export import InputSummary


def findings(*rows):
    return pd.DataFrame(rows, columns=["severity", "code", "run_path", "task", "field", "message"])


def test_the_overview_states_the_whole_input_and_puts_mixed_conditions_first():
    found = InputSummary("native", "native ShellBench runs: 4 run directories", 4, 1, 194, 190, 90, "00")
    noticed = findings(
        ("warning", "mixed_condition", "", "", "harness_version", "cell a/b/high: harness_version is 1, 2"),
        ("error", "missing_task", "r", "t", "tasks", "no result"),
    )
    block = sections.input_overview(found, noticed)
    assert block.text.startswith("- Mixed condition: cell a/b/high: harness_version is 1, 2.")
    assert "194 trials with a readable result, 190 with a scored reward, 90 solved" in block.text
    assert "1 of 4 runs eligible" in block.text
    assert "1 error and 1 warning" in block.text


def test_exclusions_count_reasons_first():
    runs = pd.DataFrame(
        {
            "run_path": ["a", "b", "c"],
            "eligible": [False, False, True],
            "exclusion_reason": ["incomplete", "incomplete", ""],
            "exclusion_reasons": ["incomplete;infra_dominated", "incomplete", ""],
            "score": [0.1, 0.2, 0.9],
            "coverage": [0.5, 0.5, 1.0],
            "missing_tasks": [1, 1, 0],
            "infra": [2, 0, 0],
        }
    )
    text = sections.exclusions(runs).text
    assert text.index("2 of 3 runs excluded") < text.index("incomplete | 2 | 2") < text.index("infra_dominated | 0 | 1")
    assert "a | incomplete, infra_dominated | 0.1000 | 50.0% | 1 | 2" in text
    assert "c |" not in text


def test_no_exclusion_is_a_sentence():
    assert sections.exclusions(pd.DataFrame({"eligible": [True]})).text == "No run was excluded."


def test_delta_overview_counts_both_directions():
    deltas = pd.DataFrame(
        {
            "dataset_key": "d:4",
            "model_slug": "m",
            "reasoning_effort": "high",
            "left_harness": "a",
            "right_harness": "b",
            "delta": [1.0, 0.5, -0.5, 0.0],
        }
    )
    block = sections.delta_overview(deltas, ("model_slug", "reasoning_effort"), "left_harness", "right_harness", 0.5)
    assert "1 comparison over 4 task deltas; a positive delta favours the left harness." in block.text
    assert "m | high | a | b | 4 | +0.2500 | 2 | 1 | 3" in block.text


def test_a_blank_effort_keeps_its_comparison():
    deltas = pd.DataFrame(
        {
            "dataset_key": "d:1",
            "model_slug": "m",
            "reasoning_effort": "",
            "left_harness": "a",
            "right_harness": "b",
            "delta": [0.25],
        }
    )
    block = sections.delta_overview(deltas, ("model_slug", "reasoning_effort"), "left_harness", "right_harness", 0.5)
    assert "m | \u2013 | a | b | 1 | +0.2500 | 1 | 0 | 0" in block.text


def test_no_pair_is_a_sentence():
    empty = pd.DataFrame(columns=["dataset_key", "harness", "left_model", "right_model", "delta"])
    assert "No two cells" in sections.delta_overview(empty, ("harness",), "left_model", "right_model", 0.5).text


def test_policy_without_a_missing_reward_changes_nothing():
    table = pd.DataFrame({"missing_rewards": [0], "mean_zero": [0.5], "mean_exclude": [0.5], "difference": [0.0]})
    assert sections.policy_table(table, "zero").text == "No reward is missing, so the policy (zero) changes nothing."


def test_policy_table_shows_an_undefined_mean_as_unknown():
    table = pd.DataFrame(
        {
            "dataset_key": ["d"],
            "cell": ["a/b/c"],
            "missing_rewards": [2],
            "mean_zero": [0.0],
            "mean_exclude": [np.nan],
            "difference": [np.nan],
        }
    )
    assert "a/b/c | 2 | 0.0000 | \u2013 | \u2013" in sections.policy_table(table, "exclude").text


def test_findings_are_counted_by_kind():
    block = sections.findings_tables(
        findings(
            ("error", "missing_task", "r", "t1", "tasks", "no result"),
            ("error", "missing_task", "r", "t2", "tasks", "no result"),
            ("note", "lenient_json", "r", "", "f", "tolerant"),
        )
    )
    assert "error | missing_task | 2 | An expected task has no result; its run is incomplete." in block.text
    assert "3 findings" in block.text
    assert "tolerant" not in block.text.split("Errors and warnings")[1]


def test_every_outcome_class_is_defined():
    text = sections.definitions().text
    for name in ("infra", "agent_exit", "verifier_missing_reward", "clean_fail", "partial", "pass"):
        assert f"- {name}: " in text
