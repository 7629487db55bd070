"""The synthetic matrix: same bytes every time, the promised size, and an effect that lies where it was planted."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest

from shellbench_lib import sample, sample_files
from shellbench_lib.errors import OutputError

# The committed reference report is made from these bytes: a change here means to make that report anew.
SMALL_DIGEST = "f2185788dec8e06ce93e5a8663bc8c171b82a12034a65f705e21fda7cd8388a1"


def tree_digest(root: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*"), key=lambda path: path.relative_to(root).as_posix()):
        if path.is_file():
            digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


@pytest.fixture(scope="module")
def small(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("sample") / "small"
    sample.write_sample(folder)
    return folder


@pytest.fixture(scope="module")
def full(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("sample") / "full"
    sample.write_sample(folder, full=True)
    return folder


def manifests(root: Path) -> dict[str, dict]:
    return {path.parent.name: json.loads(path.read_text()) for path in sorted(root.glob("jobs/*/run_manifest.json"))}


def trials(root: Path, label: str) -> list[dict]:
    return [json.loads(path.read_text()) for path in sorted((root / "jobs" / label).glob("*/result.json"))]


def recorded(trial: dict) -> float | None:
    return trial["verifier_result"]["rewards"]["reward"] if trial["verifier_result"] else None


def exact_sign_flip(differences: list[int]) -> float:
    """Two-sided p by counting every way of giving the differences a sign."""
    moved = [value for value in differences if value]
    sums = [sum(signed) for signed in itertools.product(*((value, -value) for value in moved))]
    return sum(abs(total) >= abs(sum(moved)) for total in sums) / len(sums)


def planted_sums(root: Path) -> dict[str, dict[str, int]]:
    """Rewards summed over the three repetitions of each harness and task at the planted condition."""
    sums: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for label, manifest in manifests(root).items():
        if (manifest["model_slug"], manifest["reasoning_effort"]) == ("acorn-4", "high"):
            for trial in trials(root, label):
                judged = not (root / "jobs" / label / trial["trial_name"] / "verifier" / "scorecard.json").exists()
                sums[manifest["harness"]][trial["task_id"]["path"].rsplit("/", 1)[1]] += (
                    (recorded(trial) or 0) if judged else 0
                )
    return sums


def test_the_bytes_are_the_same_every_time_and_on_every_machine(small, tmp_path):
    sample.write_sample(tmp_path / "again")
    assert tree_digest(tmp_path / "again") == tree_digest(small)
    assert tree_digest(small) == SMALL_DIGEST


def test_another_process_with_another_hash_seed_and_clock_zone_writes_the_same_bytes(small, tmp_path):
    code = (
        "import sys, pathlib; from shellbench_lib.sample import write_sample; write_sample(pathlib.Path(sys.argv[1]))"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "7", "TZ": "Pacific/Chatham", "LC_ALL": "C"}
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "other")], env=environment, check=True)
    assert tree_digest(tmp_path / "other") == tree_digest(small)


def test_a_draw_is_the_published_digest_of_its_name():
    # RFC 7693, appendix A: BLAKE2b-512 of "abc" begins ba80a53f981c4d0d 6a2797b69f12f6e9.
    draw = sample_files.Draw("abc")
    assert draw[0] == (0xBA80A53F981C4D0D >> 11) / 2**53
    assert draw[1] == (0x6A2797B69F12F6E9 >> 11) / 2**53
    assert draw.between(0, 10, 20) == 17  # 0xba80... is 0.7285 of the way


def test_the_small_matrix_has_the_promised_shape(small):
    runs = manifests(small)
    scoring = [run for run in runs.values() if run["repetition"] > 0]
    cells = Counter((run["harness"], run["model_slug"], run["reasoning_effort"]) for run in scoring)
    assert len(cells) == 8
    assert set(cells.values()) == {3}
    assert {run["expected_task_count"] for run in runs.values()} == {80}
    assert len({run["public_tasks_commit"] for run in runs.values()}) == 1
    # 23 whole runs and a whole qualification run of 80 trials, one run cut off after 20 with one more under way.
    assert sum(len(trials(small, label)) for label in runs) == 24 * 80 + 21
    eligible = cells - Counter(
        (run["harness"], run["model_slug"], run["reasoning_effort"])
        for label, run in runs.items()
        if label in sample.EXCLUDED_RUNS and run["repetition"] > 0
    )
    assert min(eligible.values()) == 2
    assert all(eligible[harness, "acorn-4", "high"] == 3 for harness in ("hermes", "openclaw"))


def test_runs_are_excluded_for_the_four_declared_reasons(small):
    runs = manifests(small)
    by_reason = {reason: label for label, reason in sample.EXCLUDED_RUNS.items()}
    assert len(by_reason) == 4
    cut = trials(small, by_reason["incomplete"])
    assert sum(trial["finished_at"] is not None for trial in cut) == 20
    broken = trials(small, by_reason["infra_dominated"])
    assert sum(trial["execution_outcome"]["kind"] == "infra_error" for trial in broken) > 80 / 2
    assert runs[by_reason["withdrawn_wrong_judge_prompt"]]["leaderboard_eligible"] is False
    qualification = runs[by_reason["r0_non_scoring_qualification"]]
    assert (qualification["repetition"], qualification["phase"]) == (0, "r0")
    others = [run for label, run in runs.items() if label not in sample.EXCLUDED_RUNS]
    assert all(run["leaderboard_eligible"] is None and run["execution_acceptance"]["accepted"] for run in others)


def test_the_runs_that_count_miss_some_rewards_and_reward_some_timeouts(small):
    kept = [trial for label in manifests(small) if label not in sample.EXCLUDED_RUNS for trial in trials(small, label)]
    missing = [trial for trial in kept if recorded(trial) is None]
    timeouts = [trial for trial in kept if (trial["execution_outcome"]["reason"]) == "agent_timeout"]
    assert 0 < len(missing) < 0.03 * len(kept)
    assert {trial["exception_info"]["exception_type"] for trial in missing if trial["exception_info"]} == {
        "EnvironmentStartTimeoutError",
        "RewardFileNotFoundError",
    }
    assert any(recorded(trial) == 1.0 for trial in timeouts)
    assert any(recorded(trial) == 0.0 for trial in timeouts)
    assert 0 < sum(recorded(trial) == 0.5 for trial in kept) < 0.02 * len(kept)
    costs = [trial["agent_result"]["cost_usd"] for trial in kept if trial["agent_result"]]
    assert 0 < sum(cost is None for cost in costs) < 0.1 * len(costs)


def test_the_planted_lead_is_significant_and_made_by_the_planted_tasks_alone(small):
    sums = planted_sums(small)
    # Half rewards over three repetitions: differences of the means are whole numbers of sixths.
    sixths = {task: round(2 * (sums["hermes"][task] - sums["openclaw"][task])) for task in sums["hermes"]}
    assert len(sixths) == 80
    assert {task for task, value in sixths.items() if value == 6} == set(sample.PLANTED_TASKS)
    assert exact_sign_flip(list(sixths.values())) < 0.05 / 4  # Holm's first step over four pairs of harnesses
    by_help = sorted(sixths.values(), reverse=True)
    assert sum(by_help[7:]) > 0 >= sum(by_help[8:])  # eight tasks, a tenth of 80, and no fewer make the lead
    trimmed = sum(by_help[8:-8]) / 64
    assert trimmed <= 0.5 * sum(by_help) / 80


def test_the_full_matrix_has_the_promised_counts(full):
    runs = manifests(full)
    assert len(runs) == 93
    assert sum(1 for _ in full.glob("jobs/*/*/result.json")) == 93 * 116 == 10_788
    cells = {(run["harness"], run["model_slug"], run["reasoning_effort"]) for run in runs.values()}
    order = ["low", "medium", "high", "xhigh"]

    def pairs(fixed: tuple[int, int], varied: int, *, neighbours: bool = False) -> int:
        groups = defaultdict(list)
        for cell in cells:
            groups[cell[fixed[0]], cell[fixed[1]]].append(cell[varied])
        if neighbours:
            return sum(len(set(group) & set(order)) - 1 for group in groups.values())
        return sum(len(list(itertools.combinations(group, 2))) for group in groups.values())

    assert len(cells) * 116 == 3_596
    assert pairs((1, 2), 0) * 116 == 3_132
    assert pairs((0, 1), 2, neighbours=True) * 116 == 2_204
    assert pairs((0, 2), 1) * 116 == 3_248


def test_the_full_matrix_is_clean(full):
    for label, run in manifests(full).items():
        rows = trials(full, label)
        assert len(rows) == run["result_json_count"] == 116
        assert all(row["execution_outcome"]["kind"] == "clean" and row["exception_info"] is None for row in rows)
        assert {recorded(row) for row in rows} <= {0.0, 0.5, 1.0}
        assert all(row["agent_result"]["trajectory_status"] == "real" for row in rows)
    sizes = np.array([path.stat().st_size for path in full.glob("jobs/*/*/result.json")])
    assert 2_000 < sizes.mean() < 2_500  # native result files have about 2.2 KB


def test_every_trial_adds_up_in_time_and_tokens(small):
    for label in manifests(small):
        for trial in trials(small, label):
            phases = [trial[name] for name in ("environment_setup", "agent_setup", "agent_execution", "verifier")]
            ends = [trial["started_at"]]
            for phase in phases:
                if phase and phase["finished_at"]:
                    assert phase["started_at"] == ends[-1] < phase["finished_at"]
                    ends.append(phase["finished_at"])
            assert trial["finished_at"] in {ends[-1], None}
            usage = trial["agent_result"]
            if usage:
                assert usage["n_cache_tokens"] < usage["n_input_tokens"]
                assert usage["cost_usd"] is None or usage["cost_usd"] > 0


@pytest.mark.parametrize("occupant", ["file", "folder", "link"])
def test_what_is_already_there_is_refused_and_kept(tmp_path, occupant):
    target = tmp_path / "mine"
    if occupant == "file":
        target.write_text("precious")
    elif occupant == "folder":
        target.mkdir()
        (target / "note.txt").write_text("precious")
    else:
        (tmp_path / "elsewhere").mkdir()
        target.symlink_to(tmp_path / "elsewhere")
    before = tree_digest(tmp_path)
    with pytest.raises(OutputError, match=r"^mine: "):
        sample.write_sample(target)
    assert tree_digest(tmp_path) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted({"mine", *(["elsewhere"] * (occupant == "link"))})


def test_an_empty_folder_is_filled(tmp_path, small):
    (tmp_path / "empty").mkdir()
    sample.write_sample(tmp_path / "empty")
    assert tree_digest(tmp_path / "empty") == tree_digest(small)


def test_a_failure_half_way_leaves_nothing(tmp_path, monkeypatch):
    calls = []

    def fail(*arguments: object) -> None:
        calls.append(arguments)
        if len(calls) == 3:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(sample, "write_run", fail)
    with pytest.raises(OutputError, match="No space left on device"):
        sample.write_sample(tmp_path / "target")
    assert list(tmp_path.iterdir()) == []
