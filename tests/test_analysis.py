import json
import re

import pandas as pd
import pytest
from summary_data import full_scores, rows_of, run, trial, write_tables

from shellbench_lib.analysis import AnalysisSettings, analyze
from shellbench_lib.columns import CLASSIC_TABLES, names
from shellbench_lib.errors import InputError, OutputError
from shellbench_lib.params import ReportParameters
from shellbench_lib.text import markdown

KINDS = ("run-score-distributions", "harness-task-deltas", "reasoning-task-deltas", "highest-variance-tasks")
# Of two tasks no comparison is significant, four cells are too few for clusters, and no cost is recorded.
UNCERTAINTY = (
    "leaderboard-intervals", "paired-comparisons", "planned-designs", "task-quality", "reliability",
    "missing-reward-sensitivity",
)  # fmt: skip
SENTENCES = ("influence-curves", "task-heat-map", "score-against-cost")
SCORES = {
    ("alpha", "m", "low"): {"a": [1.0, 1.0], "b": [0.0, None]},
    ("beta", "m", "low"): {"a": [0.0, 0.0], "b": [0.5, 0.5]},
    ("alpha", "m", "high"): {"a": [0.5, 0.5], "b": [1.0, 1.0]},
    ("alpha", "n", "low"): {"a": [1.0, 0.0], "b": [0.0, 0.0]},
}


def summaries(folder, scores=SCORES, **values):
    return write_tables(folder / "summaries", *rows_of(scores, **values))


def written(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_what_is_written(tmp_path):
    result = analyze(summaries(tmp_path), tmp_path / "analysis")
    drawn = (*KINDS, *UNCERTAINTY)
    figures = [f"rev1-2-{kind}.svg" for kind in drawn]
    assert sorted(written(tmp_path / "analysis")) == sorted(
        [*result.tables, "ANALYSIS.md", "analysis_summary.json", *figures]
    )
    assert set(CLASSIC_TABLES) <= set(result.tables)
    for kind, name in zip(drawn, figures, strict=True):
        paths, sentences = result.figures_of(kind)
        assert ([path.name for path in paths], sentences) == ([name], [])
        assert paths[0].is_file()
    for kind in SENTENCES:
        paths, (sentence,) = result.figures_of(kind)
        assert paths == []
        assert kind.replace("-", " ") in sentence


@pytest.mark.parametrize("name", CLASSIC_TABLES)
def test_tables_on_disk_hold_what_the_result_holds(tmp_path, name):
    result = analyze(summaries(tmp_path), tmp_path / "analysis", AnalysisSettings(generate_plots=False))
    texts = [column.name for column in CLASSIC_TABLES[name] if column.type == "text"]
    read = pd.read_csv(tmp_path / "analysis" / name, dtype=dict.fromkeys(texts, object), keep_default_na=False)
    assert list(read) == names(CLASSIC_TABLES[name])
    assert len(read) > 0
    assert read.to_dict("records") == result.tables[name].to_dict("records")
    assert b"\r" not in (tmp_path / "analysis" / name).read_bytes()


def test_the_summary_counts_what_the_tables_hold(tmp_path):
    result = analyze(summaries(tmp_path), tmp_path / "analysis")
    summary = json.loads((tmp_path / "analysis" / "analysis_summary.json").read_bytes())
    assert summary == json.loads(json.dumps(result.summary))
    assert summary["schema_version"] == 1
    assert summary["source"] == {
        "summaries_dir": "summaries", "run_count": 8, "task_row_count": 16, "eligible_run_count": 8,
    }  # fmt: skip
    (dataset,) = summary["datasets"]
    # alpha/beta on a: 1, on b: -0.5; low to high on a: -0.5, on b: +1; m/n on a: 0.5, on b: 0.
    assert dataset == {
        "dataset_key": "rev1:2", "task_revision": "rev1", "suite_task_count": 2, "total_runs": 8, "eligible_runs": 8,
        "excluded_runs": 0, "experiment_cells": 4, "tasks": 2, "high_variance_tasks": 2, "harness_task_comparisons": 2,
        "large_harness_deltas": 2, "reasoning_task_comparisons": 2, "reasoning_improvements": 1,
        "reasoning_regressions": 1, "model_task_comparisons": 2, "large_model_deltas": 1, "missing_rewards": 1,
    }  # fmt: skip
    assert summary["outputs"]["task_cell_summary"] == "task_cell_summary.csv"
    assert summary["outputs"]["markdown"] == "ANALYSIS.md"
    assert summary["outputs"]["plots"] == [f"rev1-2-{kind}.svg" for kind in (*KINDS, *UNCERTAINTY)]
    assert str(tmp_path) not in json.dumps(summary)


def test_the_policy_decides_what_a_missing_reward_is(tmp_path):
    folder = summaries(tmp_path)
    means = {}
    for policy in ("zero", "exclude"):
        settings = AnalysisSettings(missing_reward=policy, generate_plots=False)
        cells = analyze(folder, tmp_path / policy, settings).tables["task_cell_summary.csv"]
        row = cells[(cells["harness"] == "alpha") & (cells["model_slug"] == "m") & (cells["task_name"] == "b")].iloc[1]
        means[policy] = cells.query("harness == 'alpha' and model_slug == 'm' and task_name == 'b'")[
            "repetitions"
        ].tolist()
        assert row["missing_rewards"] == 0
    assert means == {"zero": [2, 2], "exclude": [1, 2]}


def test_the_same_input_gives_the_same_bytes_anywhere(tmp_path):
    one, two = tmp_path / "one", tmp_path / "another place"
    for folder in (one, two):
        analyze(summaries(folder), folder / "analysis")
    assert written(one / "analysis") == written(two / "analysis")


def test_an_earlier_analysis_is_replaced_whole(tmp_path):
    analyze(summaries(tmp_path, task_revision="Old/Revision"), tmp_path / "analysis")
    assert "old-revision-2-harness-task-deltas.svg" in written(tmp_path / "analysis")
    analyze(summaries(tmp_path), tmp_path / "analysis")
    assert not any(name.startswith("old") for name in written(tmp_path / "analysis"))


@pytest.mark.parametrize("name", ["notes.txt", "my-plot.svg", "table.csv"])
def test_foreign_files_are_never_deleted(tmp_path, name):
    analyze(summaries(tmp_path), tmp_path / "analysis")
    (tmp_path / "analysis" / name).write_text("mine")
    before = written(tmp_path / "analysis")
    with pytest.raises(OutputError, match=re.escape(name)):
        analyze(tmp_path / "summaries", tmp_path / "analysis")
    assert written(tmp_path / "analysis") == before


def test_a_failed_analysis_leaves_the_earlier_one(tmp_path):
    folder = summaries(tmp_path)
    analyze(folder, tmp_path / "analysis")
    before = written(tmp_path / "analysis")
    (folder / "per_task_results.csv").unlink()
    with pytest.raises(InputError, match=r"per_task_results\.csv"):
        analyze(folder, tmp_path / "analysis")
    assert written(tmp_path / "analysis") == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["analysis", "summaries"]


def test_without_an_eligible_run_everything_is_empty_and_says_so(tmp_path):
    folder = summaries(tmp_path, eligible=False, exclusion_reasons="incomplete")
    result = analyze(folder, tmp_path / "analysis")
    assert all(result.tables[name].empty for name in CLASSIC_TABLES)
    assert [item["eligible_runs"] for item in result.summary["datasets"]] == [0]
    paths, sentences = result.figures_of("harness-task-deltas")
    assert paths == []
    assert sentences == ["No figure of harness task deltas for dataset rev1:2: it has no eligible run."]
    page = (tmp_path / "analysis" / "ANALYSIS.md").read_text(encoding="utf-8")
    assert "no run is eligible" in page
    assert (tmp_path / "analysis" / "task_cell_summary.csv").read_text().count("\n") == 1


def test_a_dataset_without_an_eligible_run_stands_beside_the_others(tmp_path):
    good, bad = run("r1", tasks=1), run("r2", tasks=1, task_revision="rev2", eligible=False)
    folder = write_tables(tmp_path / "s", [good, bad], [trial(good, "t", 1.0), trial(bad, "t", 1.0)])
    result = analyze(folder, tmp_path / "analysis")
    assert [(d["dataset_key"], d["eligible_runs"], d["tasks"]) for d in result.summary["datasets"]] == [
        ("rev1:1", 1, 1),
        ("rev2:1", 0, 0),
    ]
    paths, sentences = result.figures_of("run-score-distributions")
    assert [path.name for path in paths] == ["rev1-1-run-score-distributions.svg"]
    assert sentences == ["No figure of run score distributions for dataset rev2:1: it has no eligible run."]
    page = (tmp_path / "analysis" / "ANALYSIS.md").read_text(encoding="utf-8")
    assert "2 datasets. They are never pooled" in page


def test_figures_of_datasets_whose_slugs_collide_get_files_of_their_own(tmp_path):
    revisions = ["Prov/X", "prov-x", "prov x"]
    runs = [run(f"r{i}", tasks=1, task_revision=revision) for i, revision in enumerate(revisions)]
    folder = write_tables(tmp_path / "s", runs, [trial(row, "t", 1.0) for row in runs])
    paths, _ = analyze(folder, tmp_path / "analysis").figures_of("run-score-distributions")
    assert len({path.name.lower() for path in paths}) == 3
    assert all(path.is_file() for path in paths)


def test_figures_can_be_left_out(tmp_path):
    result = analyze(summaries(tmp_path), tmp_path / "analysis", AnalysisSettings(generate_plots=False))
    assert not any(name.endswith(".svg") for name in written(tmp_path / "analysis"))
    assert result.figures_of("harness-task-deltas") == ([], ["Figures were not asked for (generate_plots is false)."])


def test_top_tasks_limits_the_page_and_the_figure(tmp_path):
    result = analyze(summaries(tmp_path), tmp_path / "analysis", AnalysisSettings(top_tasks=1))
    page = (tmp_path / "analysis" / "ANALYSIS.md").read_text(encoding="utf-8")
    assert "| a | 4 |" not in page  # its means 1, 0.5, 0.5 and 0 have the same range and deviate less
    assert "| b | 4 | 0.3750 | 0.4787 | 1.0000 |" in page  # means 0, 0.5, 1 and 0
    figure = result.figures_of("highest-variance-tasks")[0][0].read_text(encoding="utf-8")
    assert ">b</text>" in figure
    assert ">a</text>" not in figure


HOSTILE = ["a|b", "back\\slash|x", "two\nlines", "cr\r\nlf", "<img src=x>", "`code`", "[link](x)", "$\\frac$", "=1+1",
           "sep\u2028ator", "nul\0", "\tlead", "**bold**", "#1", "~x~"]  # fmt: skip


def test_every_row_of_the_page_has_as_many_columns_as_its_header(tmp_path):
    scores = {(name, name, "low"): {task: [float(index % 2)] for index, task in enumerate(HOSTILE)} for name in HOSTILE}
    analyze(
        summaries(tmp_path, scores, task_revision="r|e\nv"),
        tmp_path / "analysis",
        AnalysisSettings(generate_plots=False),
    )
    page = (tmp_path / "analysis" / "ANALYSIS.md").read_text(encoding="utf-8")
    tables = re.findall(r"(?:^\|.*\n)+", page, re.MULTILINE)
    assert len(tables) == 2
    for table in tables:
        widths = {len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) for line in table.splitlines()}
        assert len(widths) == 1
    assert "<img" not in page.replace("\\<", "")
    for name in HOSTILE:
        assert markdown(name) in page


def test_at_most_three_tied_cells_are_named(tmp_path):
    scores = {(f"h{i}", "m", "low"): {"t": [1.0]} for i in range(5)}
    analyze(summaries(tmp_path, scores), tmp_path / "analysis", AnalysisSettings(generate_plots=False))
    assert "h0/m/low, h1/m/low, h2/m/low and 2 more" in (tmp_path / "analysis" / "ANALYSIS.md").read_text()


def test_settings_come_from_the_report_parameters():
    parameters = ReportParameters(
        matrix_name="x", missing_reward="exclude", top_tasks=7, split_by=["tool_mode"], seed=3
    )
    settings = AnalysisSettings.of(parameters)
    assert (settings.missing_reward, settings.top_tasks, settings.split_by, settings.seed) == (
        "exclude",
        7,
        ("tool_mode",),
        3,
    )
    assert AnalysisSettings.of(ReportParameters(matrix_name="x")) == AnalysisSettings()


def test_split_by_separates_cells_everywhere(tmp_path):
    runs = [run(f"r{i}", tasks=1, harness_version=version) for i, version in enumerate(("1.2", "1.3"))]
    folder = write_tables(tmp_path / "s", runs, [trial(row, "t", float(i)) for i, row in enumerate(runs)])
    settings = AnalysisSettings(split_by=("harness_version",), generate_plots=False)
    rows = analyze(folder, tmp_path / "analysis", settings).tables["harness_task_deltas.csv"]
    assert rows[["left_harness", "right_harness", "delta"]].to_numpy().tolist() == [
        ["alpha [harness_version=1.2]", "alpha [harness_version=1.3]", -1.0]
    ]


def test_the_full_matrix_has_the_published_counts(tmp_path):
    settings = AnalysisSettings(generate_plots=False)
    result = analyze(summaries(tmp_path, full_scores()), tmp_path / "analysis", settings)
    assert {name: len(result.tables[name]) for name in CLASSIC_TABLES} == {
        "task_cell_summary.csv": 3596, "task_variance_diagnostics.csv": 116, "harness_task_deltas.csv": 3132,
        "reasoning_task_deltas.csv": 2204, "model_task_deltas.csv": 3248,
    }  # fmt: skip
