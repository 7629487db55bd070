import numpy as np
import pytest
from summary_data import full_scores, run, tables_of, trial, write_tables

from shellbench_lib.errors import InputError
from shellbench_lib.statistics.cells import build_datasets, dataset_overview
from shellbench_lib.summaries import read_summaries

CELL = ("alpha", "m1", "high")


def read(folder, runs, tasks):
    return read_summaries(write_tables(folder / "s", runs, tasks))


def test_scores_stand_by_cell_task_and_repetition(tmp_path):
    scores = {CELL: {"b": [1.0, 0.5], "a": [None, 0.25]}, ("alpha", "m1", "low"): {"a": [0.0], "b": [1.0]}}
    (dataset,) = build_datasets(tables_of(tmp_path / "s", scores))
    assert dataset.dataset_key == "rev1:2"
    assert [cell.label for cell in dataset.cells] == ["alpha/m1/low", "alpha/m1/high"]
    assert dataset.tasks == ("a", "b")
    np.testing.assert_array_equal(dataset.rewards, [[[0.0, np.nan], [1.0, np.nan]], [[np.nan, 0.25], [1.0, 0.5]]])
    assert dataset.attempted.tolist() == [[[True, False], [True, False]], [[True, True], [True, True]]]
    np.testing.assert_array_equal(dataset.task_means("zero"), [[0.0, 1.0], [0.125, 0.75]])
    np.testing.assert_array_equal(dataset.task_means("exclude"), [[0.0, 1.0], [0.25, 0.75]])


def test_only_scorable_rows_of_eligible_runs_count(tmp_path):
    good, bad = run("r1"), run("r2", repetition=2, eligible=False)
    tasks = [
        trial(good, "a", 0.5),
        trial(good, "<missing-1>", None, scorable=False),
        trial(good, "a", 1.0, scorable=False),
        trial(bad, "a", 1.0),
    ]
    (dataset,) = build_datasets(read(tmp_path, [good, bad], tasks))
    assert dataset.tasks == ("a",)
    assert dataset.rewards.tolist() == [[[0.5]]]
    assert dataset.cells[0].run_paths == ("r1",)


def test_efforts_are_compared_trimmed_and_in_lower_case(tmp_path):
    runs = [run("r1", effort="High"), run("r2", effort=" high ", repetition=2)]
    (dataset,) = build_datasets(read(tmp_path, runs, [trial(row, "a", 1) for row in runs]))
    assert [(cell.label, cell.run_paths) for cell in dataset.cells] == [("alpha/m1/high", ("r1", "r2"))]


def test_repetitions_stand_by_number_unknown_last(tmp_path):
    runs = [run("a", repetition=None), run("b", repetition=10), run("c", repetition=2)]
    (dataset,) = build_datasets(read(tmp_path, runs, [trial(row, "t", 1) for row in runs]))
    assert dataset.cells[0].run_paths == ("c", "b", "a")


def test_datasets_are_never_pooled(tmp_path):
    runs = [
        run("r1"), run("r2", task_revision="rev2"), run("r3", tasks=3), run("r4", task_revision=""),
        run("r5", task_set_sha256="a" * 64), run("r6", task_set_sha256="b" * 64),
    ]  # fmt: skip
    datasets = build_datasets(read(tmp_path, runs, [trial(row, "t", 1) for row in runs]))
    assert {d.dataset_key: d.cells[0].run_paths for d in datasets} == {
        "rev1:2": ("r1",), "rev2:2": ("r2",), "rev1:3": ("r3",), "unknown-revision:2": ("r4",),
        "rev1:2:aaaaaaaa": ("r5",), "rev1:2:bbbbbbbb": ("r6",),
    }  # fmt: skip


def test_an_excluded_run_does_not_rename_the_dataset_of_the_others(tmp_path):
    runs = [run("r5", task_set_sha256="a" * 64), run("r6", task_set_sha256="b" * 64, eligible=False)]
    tables = read(tmp_path, runs, [trial(row, "t", 1) for row in runs])
    assert [d.dataset_key for d in build_datasets(tables)] == ["rev1:2:aaaaaaaa"]
    assert [(d.dataset_key, d.total_runs, d.eligible_runs, d.excluded_runs) for d in dataset_overview(tables)] == [
        ("rev1:2:aaaaaaaa", 1, 1, 0),
        ("rev1:2:bbbbbbbb", 1, 0, 1),
    ]


def test_separating_fields_stand_where_they_belong(tmp_path):
    fields = [("1.2", "p", "j1"), ("1.3", "p", "j1"), ("1.2", "q", "j1"), ("1.2", "p", "j2")]
    runs = [
        run(f"r{i}", repetition=i, harness_version=version, model_provider=provider, judge_model_id=judge)
        for i, (version, provider, judge) in enumerate(fields)
    ]
    tables = read(tmp_path, runs, [trial(row, "t", 1) for row in runs])
    (pooled,) = build_datasets(tables)
    assert len(pooled.cells) == 1
    first, second = build_datasets(tables, split_by=["harness_version", "judge_model_id", "model_provider"])
    assert (first.dataset_key, second.dataset_key) == ("rev1:2 [judge_model_id=j1]", "rev1:2 [judge_model_id=j2]")
    assert [cell.label for cell in first.cells] == [
        "alpha [harness_version=1.2]/m1 [model_provider=p]/high",
        "alpha [harness_version=1.2]/m1 [model_provider=q]/high",
        "alpha [harness_version=1.3]/m1 [model_provider=p]/high",
    ]


def test_two_scores_of_one_run_for_one_task_are_refused(tmp_path):
    row = run("r")
    tables = read(tmp_path, [row], [trial(row, "a", 1.0), trial(row, "b", 1.0), trial(row, "a", 0.0)])
    with pytest.raises(InputError, match="run 'r' has two scorable rows for task 'a'"):
        build_datasets(tables)


def test_degenerate_inputs_give_no_dataset_or_an_empty_one(tmp_path):
    assert build_datasets(read(tmp_path / "none", [], [])) == []
    assert dataset_overview(read(tmp_path / "none", [], [])) == []
    assert build_datasets(read(tmp_path / "excluded", [run("r", eligible=False)], [])) == []
    (dataset,) = build_datasets(read(tmp_path / "untried", [run("r")], []))
    assert dataset.rewards.shape == (1, 0, 1)


def test_the_order_of_rows_changes_nothing(tmp_path):
    scores = full_scores(task_count=7)
    tables = tables_of(tmp_path / "s", scores)
    (one,) = build_datasets(tables)
    turned = type(tables)(tables.runs.iloc[::-1], tables.tasks.iloc[::-1])
    (other,) = build_datasets(turned)
    assert one.cells == other.cells
    np.testing.assert_array_equal(one.rewards, other.rewards)
    assert one.rewards.shape == (31, 7, 3)
