"""A synthetic matrix of native ShellBench runs: what does a report look like whose right answer is known?

`write_sample` writes one of two matrices, the same bytes on every machine:

small: 2 harnesses x 2 models x 2 efforts x 3 repetitions over 80 tasks. At one condition (`PLANTED_MODEL` at
    `PLANTED_EFFORT`) the harness `PLANTED_LEADER` leads only through the eight `PLANTED_TASKS`: it solves them in every
    repetition and the other harness in none; on the other tasks of that condition both meet the same luck. Some
    trials have no reward, an outcome of the infrastructure or an agent timeout beside a reward; four runs are not
    eligible, each for another reason (`EXCLUDED_RUNS`).
full: 93 runs = 31 cells x 3 repetitions over 116 tasks, every run eligible and every trial rewarded. Two models run
    on three harnesses, the third one being the model's own (codex, claude-code), at four efforts.

A draw is the BLAKE2b digest (RFC 7693) of the names it belongs to, read as numbers, and only the four basic
operations follow, so that no random generator, library version or processor can change it. Models, providers and
tasks are invented.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path

from shellbench_lib.sample_files import (
    AGENT_TIMEOUT_SECONDS,
    Draw,
    Outcome,
    SampleModel,
    SampleRun,
    trial_result,
    write_run,
)
from shellbench_lib.staging import staged_folder

_VERBS = ("build", "convert", "debug", "extract", "index", "merge", "repair", "validate")
_NOUNS = (
    "archive", "calendar", "config", "database", "dataset", "invoice", "log-file", "mailbox", "report", "spreadsheet",
    "schedule", "service", "test-suite", "timeline", "website",
)  # fmt: skip
_ALL_TASKS = tuple(f"{verb}-{noun}" for noun in _NOUNS for verb in _VERBS)
SMALL_TASKS = _ALL_TASKS[:80]
FULL_TASKS = _ALL_TASKS[:116]
REPETITIONS = 3

PLANTED_TASKS = tuple(f"{verb}-spreadsheet" for verb in _VERBS)
PLANTED_MODEL = "acorn-4"
PLANTED_EFFORT = "high"
PLANTED_LEADER = "hermes"
PLANTED_TRAILER = "openclaw"

_ACORN = SampleModel("acorn-4", "northwind", 0.08, 15)
_BIRCH = SampleModel("birch-2", "fabrikam", 0.0, 10)
_OTHERS = (
    SampleModel("cobalt-1", "contoso", -0.10, 6),
    SampleModel("dune-3", "contoso", -0.18, 3),
    SampleModel("ember-mini", "tailspin", -0.32, 1),
)
_BOTH = ("hermes", "openclaw")
_OWN_HARNESS = {"acorn-4": "codex", "birch-2": "claude-code"}
_EFFORTS = ("low", "medium", "high", "xhigh")

# How likely a task is solved before the condition shifts it: many tasks nearly always or nearly never, as in real
# suites, so that few of them carry the differences. Pairs of (share of the tasks up to here, chance).
_LEVELS = ((0.28, -0.20), (0.42, 0.20), (0.57, 0.50), (0.70, 0.75), (1.0, 1.15))
_EFFORT_SHIFT = {"low": -0.10, "medium": -0.03, "high": 0.03, "xhigh": 0.06}
_HARNESS_SHIFT = {"hermes": 0.0, "openclaw": 0.0, "codex": 0.06, "claude-code": 0.03}
_PARTIAL_WIDTH = 0.03
_UNPRICED_SHARE = 0.05  # of the small sample's trials on one harness: cost unknown
# One of many equally random matrices, picked because nothing but the planted lead stands out in it: no other pair of
# harnesses differs (all p > 0.5), and on the unplanted tasks of the planted condition the trailing one is 1/3 ahead.
_SALT = "matrix 281"

# What goes wrong in the small sample: (share of the trials up to here, what).
_TROUBLE = (
    (0.006, "environment"),
    (0.011, "verifier"),
    (0.014, "no reward"),
    (0.018, "judge"),
    (0.023, "refusal"),
    (0.055, "timeout"),
)
_CUT_AFTER = 20  # results of the incomplete run; one more trial is under way
_BROKEN_UP_TO = 47  # trials of the infrastructure-dominated run that never got an environment

# (harness, model, effort, repetition) -> what becomes of the run; none of them at the planted condition.
_FATES = {
    ("hermes", "birch-2", "low", 3): "cut",
    ("openclaw", "birch-2", "high", 2): "broken",
    ("hermes", "acorn-4", "low", 1): "withdrawn",
    ("openclaw", "birch-2", "low", 0): "qualification",
}
_FIRST_GATE = {
    "cut": "incomplete",
    "broken": "infra_dominated",
    "withdrawn": "withdrawn_wrong_judge_prompt",
    "qualification": "r0_non_scoring_qualification",
}


def _small_runs() -> tuple[SampleRun, ...]:
    conditions = [
        (harness, model, effort, repetition)
        for harness, model, effort in itertools.product(_BOTH, (_ACORN, _BIRCH), ("low", "high"))
        for repetition in range(1, REPETITIONS + 1)
    ]
    conditions.append(("openclaw", _BIRCH, "low", 0))
    return tuple(
        SampleRun(harness, model, effort, repetition, SMALL_TASKS, index, _FATES.get(key, "full"))
        for index, (harness, model, effort, repetition) in enumerate(conditions)
        for key in [(harness, model.slug, effort, repetition)]
    )


def _full_cells() -> Iterator[tuple[str, SampleModel, str]]:
    for model in (_ACORN, _BIRCH):
        yield from ((harness, model, effort) for harness in (*_BOTH, _OWN_HARNESS[model.slug]) for effort in _EFFORTS)
    yield from ((harness, model, "high") for model in _OTHERS for harness in _BOTH)
    yield "openclaw", _OTHERS[0], "medium"


def full_runs(repetitions: int = REPETITIONS) -> tuple[SampleRun, ...]:
    """Return the runs of the full matrix: every cell that often."""
    repeated = itertools.product(_full_cells(), range(1, repetitions + 1))
    return tuple(
        SampleRun(harness, model, effort, repetition, FULL_TASKS, index)
        for index, ((harness, model, effort), repetition) in enumerate(repeated)
    )


_SMALL_RUNS = _small_runs()
# Run label -> the first gate that the run fails.
EXCLUDED_RUNS = {run.label: _FIRST_GATE[run.fate] for run in _SMALL_RUNS if run.fate != "full"}


def _at_planted_condition(run: SampleRun) -> bool:
    return len(run.tasks) == len(SMALL_TASKS) and (run.model.slug, run.effort) == (PLANTED_MODEL, PLANTED_EFFORT)


def _up_to(table: Iterable[tuple[float, object]], number: float) -> object | None:
    return next((value for limit, value in table if number < limit), None)


def _reward(run: SampleRun, task: str) -> float:
    """Return 1, 0 or rarely 0.5. Both harnesses share the luck of the planted condition, elsewhere each has its own."""
    shared = _at_planted_condition(run)
    if shared and task in PLANTED_TASKS:
        return 1.0 if run.harness == PLANTED_LEADER else 0.0
    level = _up_to(_LEVELS, Draw(f"{_SALT}/{task}")[0])
    assert isinstance(level, float)
    shift = run.model.skill + _EFFORT_SHIFT[run.effort] + _HARNESS_SHIFT[run.harness]
    who = "" if shared else run.harness
    luck = Draw(f"{_SALT}/{task}/{run.model.slug}/{run.effort}/{run.repetition}/{who}")[0]
    if luck < level + shift:
        return 1.0
    return 0.5 if luck < level + shift + _PARTIAL_WIDTH else 0.0


def _failed(trouble: str, reward: float) -> Outcome:
    """Return how a trial ends when something goes wrong; `reward` is what it would have scored."""
    if trouble == "environment":
        message = "the environment did not start within 600 s"
        return Outcome(
            None, "infra_error", None, "environment_start", "EnvironmentStartTimeoutError", message, started_agent=False
        )
    if trouble == "verifier":
        message = "no reward file after the verifier had run"
        return Outcome(None, "verifier_error", 0, "reward_file_missing", "RewardFileNotFoundError", message)
    if trouble == "no reward":
        return Outcome(None)
    if trouble == "judge":
        return Outcome(reward, judge_failed=True)
    if trouble == "refusal":
        message = "the model declined the task"
        return Outcome(0.0, "agent_error", 1, "safety_refusal", "AgentSafetyRefusalError", message)
    message = f"Agent timed out after {AGENT_TIMEOUT_SECONDS}.0s"
    return Outcome(reward, "agent_error", 124, "agent_timeout", "NonZeroAgentExitCodeError", message)


def _outcome(run: SampleRun, position: int, draw: Draw, *, clean: bool) -> Outcome:
    task = run.tasks[position]
    reward = _reward(run, task)
    if run.fate == "broken" and position < _BROKEN_UP_TO:
        return _failed("environment", reward)
    if run.fate == "cut" and position == _CUT_AFTER:
        return Outcome(None, finished=False)
    trouble = _up_to(_TROUBLE, draw[0])
    if clean or trouble is None or (_at_planted_condition(run) and task in PLANTED_TASKS):
        return Outcome(reward)
    return _failed(str(trouble), reward)


def _write(run: SampleRun, jobs: Path, *, clean: bool) -> None:
    trials = []
    for position in range(_CUT_AFTER + 1 if run.fate == "cut" else len(run.tasks)):
        draw = Draw(f"{_SALT}/{run.label}/{run.tasks[position]}")
        outcome = _outcome(run, position, draw, clean=clean)
        cost_known = clean or run.harness != PLANTED_LEADER or draw[1] >= _UNPRICED_SHARE
        result = trial_result(run, position, outcome, draw, cost_known=cost_known)
        trials.append((result, outcome.judge_failed))
    write_run(jobs, run, trials)


def write_runs(directory: Path, runs: Iterable[SampleRun], *, clean: bool) -> None:
    """Write runs as `directory/jobs/<run>/...`; `clean`: nothing goes wrong. Raises as `write_sample` does."""
    with staged_folder(directory, lambda _name: False) as stage:
        (stage / "jobs").mkdir()
        for run in runs:
            _write(run, stage / "jobs", clean=clean)


def write_sample(directory: Path, *, full: bool = False) -> None:
    """Write the synthetic matrix into a folder: about 1,900 trials, or 10,788 with `full`.

    The folder appears whole or not at all: it is built beside its place and renamed.

    Raises:
        OutputError: `directory` is a file or a folder that is not empty, or cannot be written.
    """
    write_runs(directory, full_runs() if full else _SMALL_RUNS, clean=full)
