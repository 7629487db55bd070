"""The report over the built-in sample: the planted narrow lead is found and said, and nothing excluded comes back."""

import re

import pytest

from shellbench_lib.errors import InputError, ParameterError
from shellbench_lib.params import ReportParameters
from shellbench_lib.report import build_report
from shellbench_lib.sample import (
    EXCLUDED_RUNS,
    PLANTED_EFFORT,
    PLANTED_LEADER,
    PLANTED_MODEL,
    PLANTED_TASKS,
    PLANTED_TRAILER,
)

SECTIONS = [
    "heading", "first_screen", "what_was_read", "datasets_table", "runs_table", "exclusions", "leaderboard",
    "influence", "task_clusters", "signal_and_noise", "task_quality", "reliability", "task_cells",
    "high_variance_tasks", "harness_deltas", "effort_deltas", "model_deltas", "outcomes", "usage",
    "missing_reward_policy", "sensitivity", "findings_section", "definitions",
]  # fmt: skip


def report_of(folder, **values):
    defaults = {name: field.default for name, field in ReportParameters.model_fields.items()}
    return build_report({**defaults, "matrix_name": "t", "output_dir": str(folder), **values, "unrelated": object()})


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    return report_of(tmp_path_factory.mktemp("report") / "out", generate_plots=False)


def planted(table):
    left = f"{PLANTED_LEADER}/{PLANTED_MODEL}/{PLANTED_EFFORT}"
    right = f"{PLANTED_TRAILER}/{PLANTED_MODEL}/{PLANTED_EFFORT}"
    assert left < right  # the alphabet decides which side is the left one
    return table[(table["factor"] == "harness") & (table["left_cell"] == left) & (table["right_cell"] == right)]


def test_the_planted_lead_is_significant_and_narrow(sample):
    (row,) = planted(sample.analysis.tables["paired_comparisons.csv"]).to_dict("records")
    assert row["verdict"] == "better"
    assert row["p_holm"] < 0.05
    assert row["narrow"] is True


def test_its_tie_set_lies_within_the_planted_tasks(sample):
    influence = planted(sample.analysis.tables["task_influence.csv"])
    tie_set = set(influence.loc[influence["in_tie_set"].astype(bool), "task_name"])
    assert tie_set
    assert tie_set <= set(PLANTED_TASKS)


def test_no_other_harness_pair_is_significant(sample):
    table = sample.analysis.tables["paired_comparisons.csv"]
    others = table[(table["factor"] == "harness") & ~table.index.isin(planted(table).index)]
    assert set(others["verdict"]) == {"no evidence of a difference"}


def test_the_first_screen_says_it_with_the_verdict(sample):
    lines = sample.first_screen().text.splitlines()
    assert len(lines) <= 8
    (narrow,) = [line for line in lines if "narrow" in line]
    assert "is better than" in narrow
    assert any(task in narrow for task in PLANTED_TASKS)


def test_excluded_runs_are_listed_and_enter_no_cell(sample):
    text = sample.exclusions().text
    used = {path for dataset in sample.analysis.datasets for cell in dataset.cells for path in cell.run_paths}
    for label in EXCLUDED_RUNS:
        assert label in text
        assert f"jobs/{label}" not in used


@pytest.mark.parametrize("name", SECTIONS)
def test_every_section_has_text_without_a_float_that_is_none(sample, name):
    block = getattr(sample, name)()
    assert block.text
    assert not re.search(r"\b(?:nan|inf|None|NaT)\b", block.text)


@pytest.mark.parametrize("factor", ["harness", "effort", "model"])
def test_every_factor_has_its_comparisons(sample, factor):
    assert sample.comparisons(factor).text.startswith(f"4 comparisons of the factor {factor}")


def test_figures_that_were_not_asked_for_are_a_sentence(sample):
    shown = sample.figures("harness-task-deltas")
    assert not shown.paths
    assert "generate_plots" in shown.sentences[0]


def test_a_matrix_without_an_eligible_run_gets_a_report_with_the_reasons(tmp_path):
    jobs = tmp_path / "matrix" / "jobs" / "only"
    jobs.mkdir(parents=True)
    (jobs / "run_manifest.json").write_text('{"harness": "h", "model_slug": "m", "tasks": ["a", "b"]}')
    report = report_of(tmp_path / "out", matrix_path=str(tmp_path / "matrix"))
    assert "1 of 1 run excluded" in report.exclusions().text
    assert report.first_screen().text.startswith("- No run is eligible, so nothing can be compared.")
    for name in SECTIONS:
        assert getattr(report, name)().text
    assert report.figures("leaderboard-intervals").sentences


def test_input_and_parameters_are_refused_with_the_field(tmp_path):
    with pytest.raises(InputError, match="matrix_path: nothing-here is not a folder"):
        report_of(tmp_path / "out", matrix_path=str(tmp_path / "nothing-here"))
    with pytest.raises(ParameterError, match="top_tasks"):
        report_of(tmp_path / "out", top_tasks="20")
    assert not (tmp_path / "out").exists()
