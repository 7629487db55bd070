"""What was noticed while reading and grading: one stable code per kind, so that a reader can look it up and count."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning", "note"]
SEVERITY_ORDER: dict[str, int] = {"error": 0, "warning": 1, "note": 2}


@dataclass(frozen=True, slots=True)
class FindingKind:
    """How serious a kind of finding is and what it means."""

    severity: Severity
    meaning: str


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """One thing noticed. `run_path`, `task` and `field` are empty where they do not apply."""

    code: str
    run_path: str = ""
    task: str = ""
    field: str = ""
    message: str = ""

    @property
    def severity(self) -> Severity:
        """How serious the kind is: `error` costs a trial or a run, `warning` may change a number, `note` informs."""
        return FINDING_KINDS[self.code].severity


def ordered(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings without repeats, the most serious first, then by code, run, task, field and message."""
    return sorted(set(findings), key=lambda found: (SEVERITY_ORDER[found.severity], found))


FINDING_KINDS: dict[str, FindingKind] = {
    # Files
    "malformed_result": FindingKind(
        "error", "A result.json is not a JSON object that can be read; the trial has no result."
    ),
    "malformed_manifest": FindingKind(
        "error", "A run_manifest.json cannot be read; the run is excluded as invalid_manifest."
    ),
    "malformed_scorecard": FindingKind("warning", "A verifier scorecard cannot be read and is ignored."),
    "malformed_job_file": FindingKind(
        "warning", "A job-level config.json or result.json cannot be read; what it declares is unknown."
    ),
    "unreadable_directory": FindingKind("error", "A directory cannot be listed."),
    "lenient_json": FindingKind(
        "note",
        "A file is not strict JSON (byte-order mark, NaN, Infinity ...) and was read by the tolerant reader.",
    ),
    "text_repaired": FindingKind("note", "A text holds an unpaired surrogate, shown as the replacement character."),
    "symlink_not_followed": FindingKind("warning", "A symbolic link leaves matrix_path or loops and was not followed."),
    "not_a_trial": FindingKind("note", "A directory inside a run is no trial and was ignored."),
    "not_a_run": FindingKind("warning", "A directory beside the runs holds no run_manifest.json and was skipped."),
    "unfinished_trial": FindingKind(
        "warning",
        "A trial directory without a result.json; counted neither as a trial nor as a failure.",
    ),
    "unfinished_job": FindingKind("warning", "A job has no finish time or fewer trials than it planned."),
    "foreign_result_file": FindingKind("note", "A result.json is not a trial's."),
    "duplicate_trial": FindingKind("warning", "One trial is stored several times; it counts once."),
    "regraded_trial": FindingKind(
        "note", "A trial verifies another one anew; the tokens and cost that it copies are left out."
    ),
    "partial_usage": FindingKind(
        "note", "Some steps of a trial recorded no tokens or cost; the sum covers the other steps."
    ),
    "several_jobs_in_one": FindingKind(
        "warning", "One job directory holds trials of several jobs; they count as attempts in order of time."
    ),
    # Tasks and trials
    "missing_task": FindingKind("error", "An expected task has no result; its run is incomplete."),
    "duplicate_result": FindingKind("warning", "An expected task has several results; the earliest scores."),
    "unexpected_result": FindingKind("warning", "A result belongs to no expected task and never scores."),
    "duplicate_expected_task": FindingKind("warning", "The manifest lists one task twice."),
    "expected_count_mismatch": FindingKind("warning", "The declared task count and the declared task list differ."),
    "unfinished_result": FindingKind("warning", "A result has no finish time."),
    "malformed_exception": FindingKind(
        "warning", "exception_info is not an object with a type; taken as an agent exit."
    ),
    "unknown_exception_type": FindingKind(
        "note", "An exception type in no known list, without a reward; taken as an agent exit."
    ),
    "unknown_execution_outcome": FindingKind(
        "note", "execution_outcome.kind is not a known kind; the other rules decided."
    ),
    # Rewards
    "missing_reward": FindingKind("warning", "A scored trial has no reward."),
    "reward_not_a_number": FindingKind("warning", "A recorded reward is no finite number; treated as no reward."),
    "reward_from_text": FindingKind("note", "A reward was recorded as decimal text and read as a number."),
    "reward_out_of_range": FindingKind("warning", "A reward lies outside 0..1; kept as it is."),
    "reward_not_scored": FindingKind(
        "note", "A reward stands beside an outcome that is never scored; kept as recorded_reward."
    ),
    "reward_key_absent": FindingKind("warning", "The declared reward key is absent; the keys present are listed."),
    # Numbers and times
    "unreadable_time": FindingKind("note", "A time stamp cannot be read; its duration is empty."),
    "mixed_time_zones": FindingKind("note", "Only one end of an interval has a time zone; its duration is empty."),
    "negative_duration": FindingKind(
        "warning", "A phase finished before it started; the duration is shown as recorded."
    ),
    "negative_value": FindingKind("warning", "A token count or a cost is negative; left out of every sum."),
    # Runs
    "run_excluded": FindingKind("warning", "A run is not eligible; the reasons are named."),
    "duplicate_run": FindingKind("warning", "Two run directories hold the same trials; the later one is excluded."),
    "duplicate_run_label": FindingKind("warning", "Two run directories have one label; they are kept apart by path."),
    "duplicate_repetition": FindingKind("warning", "One repetition number stands twice in a cell."),
    "unreadable_repetition": FindingKind("warning", "The repetition is no whole number and stays empty."),
    "mixed_condition": FindingKind("warning", "A condition field differs between the runs of one cell."),
    "unrecorded_condition": FindingKind(
        "warning", "A cell's harness or model is not recorded; different ones may be pooled, overrides can name them."
    ),
    "score_mismatch": FindingKind(
        "warning", "A run's score in an aggregate export is not what its task rows add up to; both are shown as given."
    ),
    "unknown_effort": FindingKind(
        "note", "A reasoning effort is blank or not in the known order; it takes no part in effort deltas."
    ),
    "several_datasets": FindingKind("note", "The matrix holds several datasets; they are never pooled."),
    "repair_lineage_mismatch": FindingKind("warning", "A repair overlay's lineage does not add up to its task count."),
    "repair_overlay": FindingKind("note", "A run repairs another one; both are shown and never count together."),
    "override_unused": FindingKind("warning", "An override matches no run."),
    "unreadable_eligibility": FindingKind(
        "warning", "An eligibility value is neither true nor false; the run is not eligible."
    ),
    "missing_column": FindingKind("note", "An optional column is absent; its values are unknown."),
    "unreadable_number": FindingKind(
        "warning", "A cell that should hold a number holds something else; treated as missing."
    ),
    "unreadable_flag": FindingKind(
        "warning", "A cell that should hold True or False holds something else; treated as not recorded."
    ),
    "unknown_run": FindingKind("error", "A task row belongs to no run of the run table and is left out."),
    "missing_name": FindingKind("error", "A row names no run or no task and is left out."),
    "nothing_eligible": FindingKind("error", "No run of the matrix is eligible."),
}
