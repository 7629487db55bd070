"""The summaries files of a whole matrix: same bytes anywhere, nothing foreign touched, hostile names kept as text."""

import csv
import errno
import io
import json
import shutil
from pathlib import Path

import pandas as pd
import pytest
from native_trees import ABSENT, Export, failure, result, write, write_run

from shellbench_lib import export
from shellbench_lib.errors import InputError, OutputError
from shellbench_lib.export import SUMMARY_FILES, export_matrix
from shellbench_lib.tables import read_csv

SHARED = Path(__file__).resolve().parents[1].parent / "shared" / "cases"


def lively(root, order=1):
    """A matrix in which most things happen, its files created in one order or the other."""
    runs = {
        "b-r2": {"repetition": 2},
        "a-r1": {"trials": {"a": 0.5, "a__2": 1.0, "zz": 1.0, "b": result("b", 0.25, **failure("AgentTimeoutError"))}},
        "c-low": {"reasoning_effort": "low", "trials": {"a": None, "b": "{"}},
        "fix": {"repair_task_names": ["a"], "rerun_of_canonical_run": "b-r2"},
        "other": {"public_tasks_commit": "rev2", "pair_label": "pair"},
    }
    for name in sorted(runs, reverse=order < 0):
        values = dict(runs[name])
        trials = values.pop("trials", {"a": 1.0, "b": 0.1})
        write_run(root, name, dict(list(trials.items())[::order]), **values)
    (root / "jobs/stray").mkdir()
    return root


def snapshot(root):
    return {
        path.relative_to(root).as_posix(): (path.lstat().st_mtime_ns, path.read_bytes() if path.is_file() else b"")
        for path in sorted(root.rglob("*"))
    }


def test_the_same_input_gives_the_same_bytes_anywhere(tmp_path):
    first = lively(tmp_path / "first" / "matrix")
    once = Export(first, tmp_path / "one")
    assert list(once.files()) == sorted(SUMMARY_FILES)
    assert Export(first, tmp_path / "two").files() == once.files()
    copied = shutil.copytree(first, tmp_path / "second" / "elsewhere" / "matrix")
    assert Export(copied, tmp_path / "three").files() == once.files()
    reverse = lively(tmp_path / "third" / "matrix", order=-1)
    assert Export(reverse, tmp_path / "four").files() == once.files()
    assert all(str(tmp_path).encode() not in data for data in once.files().values())


def test_nothing_under_the_matrix_is_written(tmp_path):
    root = lively(tmp_path / "matrix")
    before = snapshot(root)
    Export(root, tmp_path / "out")
    assert snapshot(root) == before


@pytest.mark.parametrize("inside", ["", "summaries", "jobs/summaries", "jobs/a-r1"])
def test_an_output_folder_in_the_matrix_is_refused(tmp_path, inside):
    root = lively(tmp_path / "matrix")
    before = snapshot(root)
    with pytest.raises(OutputError, match="matrix_path"):
        export_matrix(str(root), root / inside)
    assert snapshot(root) == before


def test_an_output_folder_that_reaches_the_matrix_by_a_link_is_refused(tmp_path):
    root = lively(tmp_path / "matrix")
    (tmp_path / "link").symlink_to(root)
    with pytest.raises(OutputError):
        export_matrix(str(root), tmp_path / "link" / "out")


def test_a_folder_with_a_foreign_file_is_refused_whole(tmp_path):
    root = lively(tmp_path / "matrix")
    out = Export(root, tmp_path / "out")
    (out.folder / "thesis.txt").write_text("mine")
    before = snapshot(out.folder)
    with pytest.raises(OutputError, match=r"thesis\.txt"):
        export_matrix(str(root), out.folder)
    assert snapshot(out.folder) == before


@pytest.mark.parametrize("fails", [1, 3, 5])
def test_a_full_disk_half_way_leaves_the_previous_export(tmp_path, monkeypatch, fails):
    out = Export(lively(tmp_path / "old"), tmp_path / "out")
    before = out.files()
    write_run(tmp_path / "new", "new")
    real, calls = export.write_csv, []

    def full(path, columns, rows):
        calls.append(path)
        if len(calls) == fails:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(path, columns, rows)

    monkeypatch.setattr(export, "write_csv", full)
    with pytest.raises(OutputError, match="out: cannot be written: No space left"):
        export_matrix(str(tmp_path / "new"), out.folder)
    assert out.files() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new", "old", "out"]


def test_nothing_of_an_earlier_matrix_survives(tmp_path):
    write_run(tmp_path / "old", "old", harness="old-harness")
    write_run(tmp_path / "new", "new", harness="new-harness")
    Export(tmp_path / "old", tmp_path / "out")
    out = Export(tmp_path / "new", tmp_path / "out")
    assert all(b"old" not in data for data in out.files().values())


def test_what_lies_beside_the_runs_is_never_read_as_input(tmp_path):
    write_run(tmp_path / "m")
    before = Export(tmp_path / "m", tmp_path / "one").files()
    write(tmp_path / "m/outputs/per_task_results.csv", "run_label,task_name\nold,old\n")
    write(tmp_path / "m/jobs/aggregate_results.csv", "run_label\nold\n")
    assert Export(tmp_path / "m", tmp_path / "two").files() == before


# Hostile text

HOSTILE = [
    "=1+1", "+1", "-1", "@SUM(A1)", "\ttab", "\rcr", "'quote", '"', ",", "a,b", "a\nb", "a\r\nb", "a|b", "`x`", "$x_1$",
    "<script>alert(1)</script>", "</script>", "\x1b[31m", "\u202eevil", "\u2028line", "\ufeffbom", "é", "e\u0301", "😀",
    "..", ".", "CON", "x" * 200, "a;b=c%", "{{7*7}}", "&amp;", "%s", "\x00nul", "\x7f", "NA", " lead", "trail ",
]  # fmt: skip


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    root = tmp_path_factory.mktemp("hostile") / "matrix"
    trials = {
        f"t{number}": result(
            task_id={"path": f"suite/{name}"}, trial_name=name, id=str(number), source=name,
            **failure(name, name), agent_result={"runtime_model_name": name},
        )
        for number, name in enumerate(HOSTILE)
    }  # fmt: skip
    write_run(root, "one", trials, tasks=[f"suite/{name}" for name in HOSTILE])
    for number, name in enumerate(HOSTILE):
        write_run(root, f"r{number}", run_label=name, harness=name, model_slug=name, reasoning_effort=name,
                  public_tasks_commit=name, task_suite=name, exclusion_reason=name, leaderboard_eligible=number % 2 == 0)  # fmt: skip
    return Export(root)


@pytest.mark.parametrize("file", [name for name in SUMMARY_FILES if name.endswith(".csv")])
def test_no_cell_of_text_runs_in_a_spreadsheet_and_all_come_back(hostile, file):
    text = (hostile.folder / file).read_text(encoding="utf-8")
    header, *rows = csv.reader(io.StringIO(text, newline=""))
    assert {len(row) for row in rows} <= {len(header)}
    for row in rows:
        for cell in row:
            if cell[:1] in {"=", "+", "@", "\t", "\r"} or cell[:1] == "-":
                float(cell)  # only numbers may start so
    _, ours = read_csv(hostile.folder / file)
    frame = pd.read_csv(
        hostile.folder / file, dtype=str, keep_default_na=False, lineterminator="\n" if "\r" not in text else None
    )
    assert len(frame) == len(ours) == len(rows)


def test_every_hostile_name_is_read_back_as_it_was(hostile):
    header, rows = read_csv(hostile.folder / "per_task_results.csv")
    column = {name: [row[header.index(name)] for row in rows] for name in header}
    found = {
        name for name, path in zip(column["exception_message"], column["run_path"], strict=True) if path == "jobs/one"
    }
    assert found == set(HOSTILE)
    labels = {label for label, path in zip(column["run_label"], column["run_path"], strict=True) if path != "jobs/one"}
    assert labels == set(HOSTILE)
    scoring = [row for row in rows if row[header.index("run_path")] == "jobs/one"]
    assert len(scoring) == len(HOSTILE)
    assert {row[header.index("scorable")] for row in scoring} == {"True"}


def test_the_leaderboard_stays_a_table_and_the_json_strict(hostile):
    lines = (hostile.folder / "cleaned_leaderboard.md").read_text(encoding="utf-8").split("\n")
    table = [line for line in lines if line.startswith("|")]
    assert {line.replace("\\\\", "").replace("\\|", "").count("|") for line in table} == {12}
    assert "<script" not in "\n".join(lines).replace("\\<", "")
    assert {run["run_label"] for run in hostile.json["runs"] if run["run_path"] != "jobs/one"} == set(HOSTILE)
    assert sorted(path.name for path in hostile.folder.iterdir()) == sorted(SUMMARY_FILES)


def test_words_for_missing_survive_a_pandas_reader_that_is_told_so(tmp_path):
    words = ["NA", "n_a", "null", "None", "nan", "#N_A", "N_A", "007", "1e3", "<NA>"]
    for repetition in (1, 2):
        trials = {f"{n}": result(task_id={"path": f"s/{word}"}, id=f"{n}.{repetition}") for n, word in enumerate(words)}
        write_run(tmp_path, f"r{repetition}", trials, tasks=[f"s/{word}" for word in words], repetition=repetition)
    out = Export(tmp_path)
    frame = pd.read_csv(out.folder / "per_task_results.csv", dtype=str, keep_default_na=False)
    assert frame["task_name"].value_counts().to_dict() == dict.fromkeys(words, 2)


# Runs together


def test_an_effort_is_part_of_the_cell_and_no_effort_is_one_cell(tmp_path):
    for number, effort in enumerate(["low", "high", " HIGH", "xhigh", ABSENT, None, ""]):
        write_run(tmp_path, f"r{number}", reasoning_effort=effort, repetition=number + 1)
    out = Export(tmp_path)
    assert {row["eligible"] for row in out.runs.values()} == {"True"}
    board = (out.folder / "cleaned_leaderboard.md").read_text()
    cells = {
        line.split(" | ")[1]: line.split(" | ")[2]
        for line in board.splitlines()
        if line[:3] in {"| 1", "| 2", "| 3", "| 4"}
    }
    assert cells == {
        "openclaw/m1/": "3/3",
        "openclaw/m1/high": "2/2",
        "openclaw/m1/low": "1/1",
        "openclaw/m1/xhigh": "1/1",
    }
    assert [pair["pair_label"] for pair in out.json["pairs"]] == ["openclaw-m1"]
    assert out.json["pairs"][0]["pooled_efforts"] == ["", " HIGH", "high", "low", "xhigh"]
    assert "unknown_effort" in out.codes()


def test_a_rerun_beside_its_excluded_original_counts_once(tmp_path):
    write_run(tmp_path, "m-r1", leaderboard_eligible=False)
    write_run(tmp_path, "m-r1-rerun1")
    write_run(tmp_path, "m-smoke-r0", repetition=0)
    out = Export(tmp_path)
    assert {path: row["exclusion_reason"] for path, row in out.runs.items()} == {
        "jobs/m-r1": "explicitly_excluded", "jobs/m-r1-rerun1": "", "jobs/m-smoke-r0": "r0_non_scoring_qualification",
    }  # fmt: skip
    assert out.runs["jobs/m-smoke-r0"]["repetition"] == "0"
    (pair,) = out.json["pairs"]
    assert (pair["total_repetitions"], pair["eligible_repetitions"]) == (3, 1)


def test_runs_are_joined_by_path_never_by_label(tmp_path):
    write_run(tmp_path, "one", {"a": 1.0, "b": 1.0}, run_label="same")
    write_run(tmp_path, "two", {"a": 0.0, "b": 0.0}, run_label="same", repetition=2)
    out = Export(tmp_path)
    assert (out.runs["jobs/one"]["score"], out.runs["jobs/two"]["score"]) == ("1.0", "0.0")
    assert {row["run_score"] for row in out.of("jobs/two")} == {"0.0"}
    assert [row["run_path"] for row in out.findings if row["code"] == "duplicate_run_label"] == ["jobs/one", "jobs/two"]


@pytest.mark.parametrize(
    "field", ["harness_version", "tool_mode", "model_id", "model_provider", "judge_model_id", "judge_reasoning_effort", "task_suite"]
)  # fmt: skip
def test_a_condition_that_differs_inside_a_cell_is_said_or_split(tmp_path, field):
    write_run(tmp_path, "one", **{field: "x"})
    write_run(tmp_path, "two", **{field: "y"}, repetition=2)
    out = Export(tmp_path, tmp_path.with_name("whole"))
    (finding,) = [row for row in out.findings if row["code"] == "mixed_condition"]
    assert (finding["field"], finding["message"]) == (field, f"cell openclaw/m1/high: {field} is x, y")
    split = Export(tmp_path, tmp_path.with_name("split"), split_by=(field,))
    assert "mixed_condition" not in split.codes()
    keys = {row["experiment_key"] for row in split.runs.values()}
    assert len(keys) == 2


def test_another_task_set_under_one_revision_and_count_is_another_dataset(tmp_path):
    write_run(tmp_path, "one", tasks=("a", "b"))
    write_run(tmp_path, "two", tasks=("a", "c"), repetition=2)
    out = Export(tmp_path)
    board = (out.folder / "cleaned_leaderboard.md").read_text()
    suffixes = sorted(row["task_set_sha256"][:8] for row in out.runs.values())
    assert [line for line in board.splitlines() if line.startswith("## ")] == [
        f"## rev1:2:{suffix}" for suffix in suffixes
    ]
    assert {"several_datasets"} <= out.codes()
    assert out.json["pairs"][0]["pooled_datasets"] == [f"rev1:2:{suffix}" for suffix in suffixes]


def test_one_repetition_number_twice_in_a_cell_is_said(tmp_path):
    write_run(tmp_path, "one")
    write_run(tmp_path, "two")
    write_run(tmp_path, "low", reasoning_effort="low")
    out = Export(tmp_path)
    assert [row["message"] for row in out.findings if row["code"] == "duplicate_repetition"] == [
        "cell openclaw/m1/high: repetition 1 stands 2 times"
    ]


def test_the_whole_input_is_counted_whatever_is_eligible(tmp_path):
    write_run(tmp_path, "out", {"a": 1.0, "a__2": 1.0, "zz": 1.0}, repetition=0)
    write_run(tmp_path, "in", {"a": 1.0, "b": None})
    summary = Export(tmp_path).summary
    assert (summary.run_count, summary.eligible_run_count) == (2, 1)
    assert (summary.trials_found, summary.trials_scored, summary.trials_solved) == (5, 2, 2)


def test_without_an_eligible_run_every_reason_is_listed(tmp_path):
    write_run(tmp_path, "one", {"a": 1.0})
    write_run(tmp_path, "two", leaderboard_eligible=False)
    out = Export(tmp_path)
    assert "nothing_eligible" in out.codes()
    assert {row["run_path"]: row["message"] for row in out.findings if row["code"] == "run_excluded"} == {
        "jobs/one": "incomplete", "jobs/two": "explicitly_excluded",
    }  # fmt: skip
    assert "no eligible run" in (out.folder / "cleaned_leaderboard.md").read_text()


def test_a_declared_reason_with_a_semicolon_stays_one_reason(tmp_path):
    write_run(tmp_path, "one", {"a": 1.0}, leaderboard_eligible=False, exclusion_reason="slow; stopped")
    row = Export(tmp_path).runs["jobs/one"]
    assert (row["exclusion_reason"], row["exclusion_reasons"]) == ("slow; stopped", "slow, stopped;incomplete")


def test_an_absent_matrix_is_an_input_error(tmp_path):
    with pytest.raises(InputError):
        export_matrix(str(tmp_path / "nowhere"), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_thousands_of_tasks_take_no_longer_than_they_should(tmp_path):
    tasks = tuple(f"t{number}" for number in range(3000))
    write_run(tmp_path, trials={}, tasks=[f"/home/someone/{task}" for task in tasks], expected_task_count=10_000)
    out = Export(tmp_path)
    assert (out.runs["jobs/r1"]["missing_tasks"], len(out.tasks)) == ("10000", 10_000)


# The public cases, where they stand beside the project


@pytest.mark.shared_data
@pytest.mark.parametrize(
    ("case", "eligible"),
    [
        ("A01-invalid-run", {"mixed-ok", "codex71"}),
        ("A03-title-vs-path", {"title-r1", "plain-r2", "noid-r3"}),
        ("A04-duplicate-unexpected", set()),
        ("A08-r0-and-explicit-exclusion", {"m-high-full-1-r1-20260729-rerun1"}),
        ("A12-reward-forms", {"r1"}),
        ("A15-not-a-trial", {"r1"}),
        ("A18-timestamps", set()),
        ("A20-broken-files", set()),
        ("A22-agent-text-that-smells-of-infra", {"r1"}),
        ("C01-na-words-as-names", {"r1", "r2"}),
        ("C04-hostile-text", {"r1"}),
        ("D01-stale-outputs", {"new-r1"}),
    ],
)
def test_a_public_case_keeps_its_eligible_runs(tmp_path, case, eligible):
    if not (SHARED / case / "jobs").is_dir():
        pytest.skip("the public cases do not stand beside the project")
    out = Export(SHARED / case, tmp_path / "out")
    assert {path.removeprefix("jobs/") for path, row in out.runs.items() if row["eligible"] == "True"} == eligible
    json.loads((out.folder / "aggregate_results.json").read_bytes())
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("field", ["harness", "model_slug"])
def test_a_cell_whose_harness_or_model_is_not_recorded_asks_for_an_override(tmp_path, field):
    write_run(tmp_path, "one", **{field: None})
    out = Export(tmp_path, tmp_path.with_name("whole"))
    (finding,) = [row for row in out.findings if row["code"] == "unrecorded_condition"]
    assert finding["field"] == field
    assert "give it as an override" in finding["message"]
