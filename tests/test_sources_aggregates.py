import csv
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from summary_data import run, trial, write_tables

from shellbench_lib.analysis import analyze
from shellbench_lib.columns import TABLES, names
from shellbench_lib.errors import InputError
from shellbench_lib.export import export_matrix
from shellbench_lib.findings import FINDING_KINDS
from shellbench_lib.sources.aggregates import looks_like_aggregates, read_aggregates
from shellbench_lib.tables import csv_text

RUNS, TASKS = "aggregate_results.csv", "per_task_results.csv"
RUN_NAMES, TASK_NAMES = names(TABLES[RUNS]), names(TABLES[TASKS])
UPSTREAM_RUN = {
    "run_label": "r1", "pair_label": "alpha-m1", "repetition": "1", "harness": "alpha", "model_slug": "m1",
    "model_id": "m1-id", "reasoning_effort": "high", "task_revision": "rev1", "expected_task_count": "2",
    "coverage": "1.0", "score": "0.5", "exact_passes": "1", "clean_completed": "2", "eligible": "True",
    "exclusion_reason": "", "review_completed": "yes",
}  # fmt: skip
UPSTREAM_TASK = {
    "run_label": "r1", "task_name": "a", "task_path": "suite/a", "trial_name": "a__1", "classification": "pass",
    "reward": "1.0", "exception_type": "",
}  # fmt: skip


def upstream(folder, runs, tasks):
    """Files as upstream writes them: other columns, other order, CRLF."""
    folder.mkdir(parents=True)
    for name, rows in ((RUNS, runs), (TASKS, tasks)):
        with (folder / name).open("w", newline="", encoding="utf-8") as stream:
            writer = csv.DictWriter(stream, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    return folder


def read_upstream(folder, runs, tasks):
    return read_aggregates(upstream(folder / "export", runs, tasks))


def run_dicts(export):
    return [dict(zip(RUN_NAMES, row, strict=True)) for row in export.run_rows]


def task_dicts(export):
    return [dict(zip(TASK_NAMES, row, strict=True)) for row in export.task_rows]


def codes(export):
    """The kinds of what was found; these small exports do not keep the score in step with the rewards they try."""
    return [found.code for found in export.findings if found.code != "score_mismatch"]


def written(export):
    return csv_text(TABLES[RUNS], export.run_rows), csv_text(TABLES[TASKS], export.task_rows)


def own_rows():
    first = run("jobs/r1", repetition=1, score=1 / 3, coverage=1.0, n_input_tokens=1200, cost_usd=0.1, incomplete=False,
                run_accepted=True, harness_wide_failure=False, full_rewards=1, parity_validation_scope='{"a":[1,2]}',
                tool_mode="'quoted", model_id="=SUM(A1)")  # fmt: skip
    second = run("jobs/r0", repetition=None, eligible=False, score=0.0)
    tasks = [
        trial(first, "b\nline", 1.0, started_at="2026-01-01T00:00:00Z", duration_sec=12.5, recorded_reward=1.0),
        trial(first, "NA", 2 / 3, n_cache_tokens=7, reward_flags="reward_from_text", canonical_model_identity=True),
        trial(first, "NA", 0.0, scorable=False, classification="infra", exception_type="DuplicateTaskResultError"),
        trial(second, "-2", None, execution_exit_code=-1, classification="agent_exit"),
    ]
    for row in tasks:
        row["run_coverage"], row["run_exact_passes"] = 1.0, 1
    tasks[2]["reward"] = None
    return [second, first], [tasks[3], *tasks[:3]]


def test_our_own_tables_come_back_byte_for_byte(tmp_path):
    folder = write_tables(tmp_path / "s", *own_rows())
    export = read_aggregates(folder)
    assert written(export) == tuple((folder / name).read_bytes().decode() for name in (RUNS, TASKS))
    assert [(found.code, found.run_path, found.task) for found in export.findings] == [
        ("missing_reward", "jobs/r0", "-2"),
        ("score_mismatch", "jobs/r1", ""),  # the fixture's score is not in step with its rewards
    ]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    text=st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12),
    score=st.floats(0, 1),
    tokens=st.one_of(st.none(), st.integers(0, 2**53), st.floats(0, 1e300)),
)
def test_whatever_a_name_or_number_is_it_comes_back_byte_for_byte(tmp_path, text, score, tokens):
    row = run(text, harness=text, score=score, n_output_tokens=tokens, tasks=1)
    task = trial(row, text, score, exception_message=text) | {"run_coverage": 1.0, "run_exact_passes": 1}
    folder = write_tables(tmp_path / "s", [row], [task])
    assert written(read_aggregates(folder)) == tuple((folder / name).read_bytes().decode() for name in (RUNS, TASKS))


def test_upstream_columns_are_found_by_name(tmp_path):
    export = read_upstream(tmp_path, [UPSTREAM_RUN], [UPSTREAM_TASK, UPSTREAM_TASK | {"task_name": "b", "reward": "0"}])
    (row,) = run_dicts(export)
    assert (row["harness"], row["reasoning_effort"], row["score"], row["eligible"]) == ("alpha", "high", 0.5, True)
    assert (row["run_path"], row["phase"], row["full_rewards"], row["incomplete"]) == ("r1", "", None, None)
    assert row["experiment_key"].startswith("harness=alpha;harness_version=;tool_mode=;model_slug=m1;")
    assert row["experiment_key"].endswith("expected_task_count=2;task_set_sha256=")
    first, second = task_dicts(export)
    assert (first["task_name"], first["reward"], first["scorable"], first["run_eligible"]) == ("a", 1.0, True, True)
    assert (second["reward"], second["model_id"], second["run_score"], second["run_path"]) == (0, "m1-id", 0.5, "r1")
    (runs_note, tasks_note) = export.findings
    assert (runs_note.code, runs_note.field) == ("missing_column", RUNS)
    assert "harness_version" in runs_note.message
    assert "harness," not in runs_note.message
    assert (tasks_note.code, tasks_note.field) == ("missing_column", TASKS)
    assert "upstream's" in export.description
    assert "1 runs, 2 task rows" in export.description


def test_historical_exports_are_refused_with_the_columns_named(tmp_path):
    bare = {name: value for name, value in UPSTREAM_RUN.items() if name not in {"harness", "reasoning_effort"}}
    with pytest.raises(InputError) as caught:
        read_upstream(tmp_path, [bare], [UPSTREAM_TASK])
    assert "condition columns harness, reasoning_effort are missing" in str(caught.value)
    assert "regenerate the export from the raw job directories" in str(caught.value)


@pytest.mark.parametrize("name", ["run_label", "expected_task_count", "score", "eligible"])
def test_a_needed_run_column_is_named(tmp_path, name):
    with pytest.raises(InputError, match=rf"aggregate_results\.csv: columns missing: {name};"):
        read_upstream(tmp_path, [{k: v for k, v in UPSTREAM_RUN.items() if k != name}], [UPSTREAM_TASK])


@pytest.mark.parametrize("name", ["run_label", "task_name", "reward"])
def test_a_needed_task_column_is_named(tmp_path, name):
    with pytest.raises(InputError, match=rf"per_task_results\.csv: columns missing: {name};"):
        read_upstream(tmp_path, [UPSTREAM_RUN], [{k: v for k, v in UPSTREAM_TASK.items() if k != name}])


def test_a_missing_file_is_named(tmp_path):
    folder = upstream(tmp_path / "export", [UPSTREAM_RUN], [UPSTREAM_TASK])
    (folder / TASKS).unlink()
    with pytest.raises(InputError, match=r"per_task_results\.csv: not found in export"):
        read_aggregates(folder)


@pytest.mark.parametrize(
    ("text", "eligible", "noted"),
    [("True", True, False), ("true", True, False), ("TRUE", True, False), ("1", True, False),
     ("False", False, False), ("false", False, False), ("FALSE", False, False), ("0", False, False),
     ("", False, True), ("yes", False, True), ("maybe", False, True), ("1.0", False, True), (" True ", False, True),
     ("no", False, True), ("NaN", False, True)],
)  # fmt: skip
def test_only_plain_spellings_of_true_are_eligible(tmp_path, text, eligible, noted):
    export = read_upstream(tmp_path, [UPSTREAM_RUN | {"eligible": text, "expected_task_count": "1"}], [UPSTREAM_TASK])
    (row,) = run_dicts(export)
    assert row["eligible"] is eligible
    assert task_dicts(export)[0]["run_eligible"] is eligible
    assert ("unreadable_eligibility" in codes(export)) is noted
    reason = "" if eligible else "unreadable_eligibility" if noted else "explicitly_excluded"
    assert row["exclusion_reason"] == row["exclusion_reasons"] == reason


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (dict(score="high"), "unreadable_score"),
        (dict(expected_task_count=""), "unreadable_expected_task_count"),
        (dict(expected_task_count="2.5"), "unreadable_expected_task_count"),
        (dict(expected_task_count="0"), "incomplete"),
        (dict(repetition="0"), "r0_non_scoring_qualification"),
        (dict(phase="r0"), "r0_non_scoring_qualification"),
    ],
)
def test_an_eligible_run_whose_row_cannot_be_used_is_excluded(tmp_path, change, reason):
    (row,) = run_dicts(read_upstream(tmp_path, [UPSTREAM_RUN | change], [UPSTREAM_TASK]))
    assert (row["eligible"], row["exclusion_reason"]) == (False, reason)


def test_a_recorded_reason_stays_first(tmp_path):
    change = {"eligible": "False", "exclusion_reason": "infra_dominated"}
    (row,) = run_dicts(read_upstream(tmp_path, [UPSTREAM_RUN | change], [UPSTREAM_TASK]))
    assert (row["exclusion_reason"], row["exclusion_reasons"]) == ("infra_dominated", "infra_dominated")


def test_runs_of_one_label_cannot_be_told_apart_and_do_not_count(tmp_path):
    export = read_upstream(tmp_path, [UPSTREAM_RUN, UPSTREAM_RUN | {"score": "0.9"}], [UPSTREAM_TASK])
    rows = run_dicts(export)
    assert [row["run_path"] for row in rows] == ["r1", "r1#2"]
    assert {(row["eligible"], row["exclusion_reason"]) for row in rows} == {(False, "duplicate_run_label")}
    assert len(export.task_rows) == 1


@pytest.mark.parametrize(
    ("text", "reward", "code"),
    [("", None, "missing_reward"), ("0.25", 0.25, ""), ("1e-1", 0.1, ""), ("abc", None, "reward_not_a_number"),
     ("nan", None, "reward_not_a_number"), ("inf", None, "reward_not_a_number"), ("True", None, "reward_not_a_number"),
     ("1.5", 1.5, "reward_out_of_range"), ("-0.5", -0.5, "reward_out_of_range")],
)  # fmt: skip
def test_a_reward_is_a_finite_number_or_missing(tmp_path, text, reward, code):
    run_row = UPSTREAM_RUN | {"expected_task_count": "1"}
    export = read_upstream(tmp_path, [run_row], [UPSTREAM_TASK | {"reward": text}])
    assert task_dicts(export)[0]["reward"] == reward
    assert [found for found in codes(export) if found != "missing_column"] == [code] * bool(code)


def test_some_outcomes_never_score(tmp_path):
    rows = [
        UPSTREAM_TASK | {"classification": "infra"},
        UPSTREAM_TASK | {"task_name": "b", "classification": "agent_exit"},
    ]
    export = read_upstream(tmp_path, [UPSTREAM_RUN], rows)
    assert [(row["reward"], row["recorded_reward"]) for row in task_dicts(export)] == [(None, 1.0), (1.0, None)]
    assert "reward_not_scored" in codes(export)


def test_rows_that_upstream_does_not_score_stay_unscored(tmp_path):
    rows = [
        UPSTREAM_TASK,
        UPSTREAM_TASK | {"trial_name": "a__2", "exception_type": "DuplicateTaskResultError", "reward": ""},
        UPSTREAM_TASK | {"task_name": "x", "exception_type": "UnexpectedTaskResultError", "reward": ""},
        UPSTREAM_TASK | {"task_name": "<missing-1>", "exception_type": "MissingResultError", "reward": ""},
        UPSTREAM_TASK | {"task_name": "<run-manifest>", "exception_type": "", "reward": ""},
        UPSTREAM_TASK | {"task_name": "b", "exception_type": "AgentTimeoutError"},
    ]
    export = read_upstream(tmp_path, [UPSTREAM_RUN], rows)
    assert [row["scorable"] for row in task_dicts(export)] == [True, False, False, False, False, True]
    assert "missing_task" not in codes(export)


def test_of_two_scoring_rows_for_a_task_the_earliest_counts(tmp_path):
    rows = [
        UPSTREAM_TASK | {"trial_name": "late", "started_at": "2026-01-02T00:00:00Z"},
        UPSTREAM_TASK | {"trial_name": "early", "started_at": "2026-01-01T00:00:00Z", "reward": "0"},
    ]
    export = read_upstream(tmp_path, [UPSTREAM_RUN], rows)
    assert [(row["trial_name"], row["scorable"]) for row in task_dicts(export)] == [("late", False), ("early", True)]
    assert "duplicate_result" in codes(export)


def test_an_eligible_run_that_lacks_tasks_is_noted(tmp_path):
    export = read_upstream(tmp_path, [UPSTREAM_RUN], [UPSTREAM_TASK])
    (found,) = [found for found in export.findings if found.code == "missing_task"]
    assert found.run_path == "r1"
    assert "1 of 2 expected tasks" in found.message


def test_rows_without_a_name_or_a_run_are_left_out_and_noted(tmp_path):
    rows = [UPSTREAM_TASK, UPSTREAM_TASK | {"task_name": ""}, UPSTREAM_TASK | {"run_label": "other"},
            UPSTREAM_TASK | {"run_label": "other", "task_name": "b"}, UPSTREAM_TASK | {"run_label": ""}]  # fmt: skip
    export = read_upstream(tmp_path, [UPSTREAM_RUN, UPSTREAM_RUN | {"run_label": ""}], rows)
    assert [row["task_name"] for row in task_dicts(export)] == ["a"]
    assert len(export.run_rows) == 1
    noted = sorted((f.code, f.run_path, f.field) for f in export.findings if f.code in {"missing_name", "unknown_run"})
    assert noted == [
        ("missing_name", "", "run"),
        ("missing_name", "", "run_label"),
        ("missing_name", "r1", "task_name"),
        ("unknown_run", "other", "run_label"),
    ]


def test_a_number_or_flag_that_cannot_be_read_is_missing_and_noted(tmp_path):
    change = {"n_input_tokens": "lots", "incomplete": "perhaps"}
    export = read_upstream(tmp_path, [UPSTREAM_RUN | change], [UPSTREAM_TASK])
    (row,) = run_dicts(export)
    assert (row["n_input_tokens"], row["incomplete"]) == (None, None)
    noted = {(f.code, f.run_path, f.field) for f in export.findings if f.code.startswith("unreadable")}
    assert noted == {("unreadable_number", "r1", "n_input_tokens"), ("unreadable_flag", "r1", "incomplete")}


def test_words_for_missing_are_names(tmp_path):
    odd = ["NA", "null", "None", "nan", "N/A", "n/a", "#N/A", "true", "007", "1e3"]
    run_row = UPSTREAM_RUN | {"expected_task_count": "10", "run_label": "NA"}
    rows = [UPSTREAM_TASK | {"run_label": "NA", "task_name": name} for name in odd]
    export = read_upstream(tmp_path, [run_row], rows)
    assert [row["task_name"] for row in task_dicts(export)] == odd
    assert "missing_task" not in codes(export)


def test_an_apostrophe_in_upstream_files_is_part_of_the_name(tmp_path):
    export = read_upstream(tmp_path, [UPSTREAM_RUN], [UPSTREAM_TASK | {"task_name": "'quoted'"}])
    assert task_dicts(export)[0]["task_name"] == "'quoted'"


def test_every_finding_is_of_a_known_kind_and_names_no_place(tmp_path):
    rows = [UPSTREAM_TASK | {"reward": "x"}, UPSTREAM_TASK | {"task_name": ""}]
    export = read_upstream(tmp_path, [UPSTREAM_RUN | {"eligible": "x"}], rows)
    assert {found.code for found in export.findings} <= set(FINDING_KINDS)
    assert str(tmp_path) not in json.dumps([found.message for found in export.findings]) + export.description


def test_what_is_recognised(tmp_path):
    folder = upstream(tmp_path / "export", [UPSTREAM_RUN], [UPSTREAM_TASK])
    assert looks_like_aggregates(folder)
    (folder / "jobs").mkdir()
    assert not looks_like_aggregates(folder)
    assert not looks_like_aggregates(tmp_path)
    assert not looks_like_aggregates(folder / RUNS)


def test_the_digest_follows_the_bytes_and_not_the_place(tmp_path):
    one = read_upstream(tmp_path / "1", [UPSTREAM_RUN], [UPSTREAM_TASK])
    two = read_upstream(tmp_path / "2", [UPSTREAM_RUN], [UPSTREAM_TASK])
    other = read_upstream(tmp_path / "3", [UPSTREAM_RUN], [UPSTREAM_TASK | {"reward": "0"}])
    assert one.input_sha256 == two.input_sha256 != other.input_sha256


def test_an_upstream_export_goes_through_to_summaries_and_analysis(tmp_path):
    bare = {name: value for name, value in UPSTREAM_RUN.items() if name not in {"coverage", "exact_passes"}}
    tasks = [UPSTREAM_TASK, UPSTREAM_TASK | {"task_name": "b", "reward": "0"}]
    folder = upstream(tmp_path / "export", [bare], tasks)
    found = export_matrix(str(folder), tmp_path / "summaries")
    assert (found.kind, found.run_count, found.eligible_run_count, found.trials_scored) == ("aggregate", 1, 1, 2)
    cells = analyze(tmp_path / "summaries", tmp_path / "analysis").tables["task_cell_summary.csv"]
    assert cells[["harness", "task_name", "mean_reward"]].to_numpy().tolist() == [
        ["alpha", "a", 1.0],
        ["alpha", "b", 0.0],
    ]
    (line,) = [x for x in (tmp_path / "summaries" / "cleaned_leaderboard.md").read_text().splitlines() if "alpha" in x]
    assert line.count(" - |") == 2  # exact passes and pass rate are not known


def test_exporting_our_own_export_again_gives_the_same_tables(tmp_path):
    folder = write_tables(tmp_path / "s", *own_rows())
    export_matrix(str(folder), tmp_path / "again")
    for name in (RUNS, TASKS):
        assert (tmp_path / "again" / name).read_bytes() == (folder / name).read_bytes()


def test_an_eligible_run_without_a_scoring_row_is_incomplete(tmp_path):
    rows = [UPSTREAM_TASK, UPSTREAM_TASK | {"task_name": "b", "reward": "0"}]
    export = read_upstream(tmp_path, [UPSTREAM_RUN, UPSTREAM_RUN | {"run_label": "empty-r1"}], rows)
    runs = {row["run_label"]: row for row in run_dicts(export)}
    assert runs["empty-r1"]["eligible"] is False
    assert runs["empty-r1"]["exclusion_reason"] == "incomplete"
    assert runs["r1"]["eligible"] is True


def test_a_score_that_its_rows_do_not_give_is_noted(tmp_path):
    rows = [UPSTREAM_TASK, UPSTREAM_TASK | {"task_name": "b", "reward": "0"}]
    export = read_upstream(tmp_path, [UPSTREAM_RUN | {"score": "0.9"}], rows)
    (found,) = [finding for finding in export.findings if finding.code == "score_mismatch"]
    assert found.message == "recorded score 0.9, its task rows give 0.5; cells use the rows"


def test_a_run_table_without_a_run_is_refused(tmp_path):
    folder = upstream(tmp_path / "export", [UPSTREAM_RUN], [UPSTREAM_TASK])
    header = (folder / RUNS).read_text().splitlines()[0]
    (folder / RUNS).write_text(header + "\n")
    with pytest.raises(InputError, match=r"aggregate_results.csv: holds no run"):
        read_aggregates(folder)
