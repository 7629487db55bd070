import numpy as np
import pytest
from summary_data import RUN_COLUMNS, TASK_COLUMNS, run, trial, write_tables

from shellbench_lib.columns import TABLES, names
from shellbench_lib.errors import InputError
from shellbench_lib.summaries import exact_number, read_summaries

ODD_NAMES = [
    "NA",
    "null",
    "None",
    "nan",
    "N/A",
    "n/a",
    "#N/A",
    "true",
    "007",
    "1e3",
    "-2",
    "=1+1",
    "'quoted",
    "a\nb",
    " ",
]


def test_every_name_stays_the_text_it_is(tmp_path):
    row = run("NA", harness="null", model="007", tasks=len(ODD_NAMES))
    tables = read_summaries(write_tables(tmp_path / "s", [row], [trial(row, name, 1.0) for name in ODD_NAMES]))
    assert tables.tasks["task_name"].tolist() == ODD_NAMES
    assert tables.runs.loc[0, ["run_path", "harness", "model_slug"]].tolist() == ["NA", "null", "007"]


def test_columns_and_types_are_those_of_the_column_table(tmp_path):
    row = run("r")
    tables = read_summaries(write_tables(tmp_path / "s", [row], [trial(row, "a", None), trial(row, "b", 0.0)]))
    assert list(tables.runs) == names(TABLES["aggregate_results.csv"])
    assert list(tables.tasks) == names(TABLES["per_task_results.csv"])
    assert tables.tasks["reward"].isna().tolist() == [True, False]
    assert tables.tasks["canonical_model_identity"].tolist() == [None, None]
    assert tables.tasks["result_path"].tolist() == ["", ""]
    assert tables.tasks["scorable"].dtype == bool
    assert tables.runs["eligible"].dtype == bool
    assert tables.runs["repetition"].dtype == np.float64


def test_values_of_columns_are_not_mixed_up(tmp_path):
    row = {name: f"text of {name}" for name in RUN_COLUMNS}
    numbers = [c.name for c in TABLES["aggregate_results.csv"] if c.type in {"integer", "number"}]
    flags = [c.name for c in TABLES["aggregate_results.csv"] if c.type == "boolean"]
    row |= {name: index + 0.25 for index, name in enumerate(numbers)} | dict.fromkeys(flags, True)
    runs = read_summaries(write_tables(tmp_path / "s", [row], [])).runs
    assert runs.iloc[0].to_dict() == row


def test_a_table_without_rows_keeps_its_columns(tmp_path):
    tables = read_summaries(write_tables(tmp_path / "s", [], []))
    assert (len(tables.runs), len(tables.tasks)) == (0, 0)
    assert list(tables.tasks) == TASK_COLUMNS


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(eligible=None), "column eligible is empty"),
        (dict(eligible="yes"), "column eligible holds 'yes', which is neither"),
        (dict(score="many"), "column score holds 'many', which is no finite number"),
        (dict(score="1_0"), "column score holds '1_0'"),
        (dict(expected_task_count=None), "is eligible without an expected_task_count"),
    ],
)
def test_a_wrong_cell_is_named(tmp_path, change, message):
    folder = write_tables(tmp_path / "s", [run("r") | change], [])
    with pytest.raises(InputError, match=message) as caught:
        read_summaries(folder)
    assert str(caught.value).startswith("aggregate_results.csv: ")


def test_a_missing_file_or_column_says_how_to_write_it(tmp_path):
    with pytest.raises(InputError, match=r"aggregate_results\.csv: not found in s; write it with `shellbench export`"):
        read_summaries(tmp_path / "s")
    folder = write_tables(tmp_path / "s", [run("r")], [])
    text = (folder / "per_task_results.csv").read_text().replace("scorable", "scorabel")
    (folder / "per_task_results.csv").write_text(text)
    with pytest.raises(InputError, match=r"per_task_results\.csv: columns missing: scorable;"):
        read_summaries(folder)


def test_runs_and_tasks_must_belong_together(tmp_path):
    row = run("r")
    with pytest.raises(InputError, match="run_path 'r' stands twice"):
        read_summaries(write_tables(tmp_path / "twice", [row, row], []))
    with pytest.raises(InputError, match=r"run_path 'other' is not in aggregate_results\.csv"):
        read_summaries(write_tables(tmp_path / "stranger", [row], [trial(run("other"), "a", 1)]))


@pytest.mark.parametrize(
    ("text", "value"),
    [("12", 12), ("-3", -3), ("0.5", 0.5), ("1e-3", 0.001), ("nan", None), ("inf", None), ("1e999", None),
     ("1_0", None), (" 1", None), ("0x10", None), ("", None), ("٣", None), ("--1", None)],
)  # fmt: skip
def test_only_plain_finite_numbers_are_numbers(text, value):
    assert exact_number(text) == value
    assert type(exact_number(text)) is type(value)
