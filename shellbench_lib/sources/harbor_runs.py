"""How Harbor's trials become runs: attempts in order of time, the planned task count, and the tasks that were planned.

Harbor writes no attempt index. A run is the k-th attempt, by `started_at`, at each task of one condition in one job,
or in all jobs of that condition when jobs are merged. The planned count E is the analyst's, else what the job declares
(`n_total_trials` over attempts and agents), else the number of distinct tasks found. The tasks that were found for one
(suite, revision, E) are the task set; where they are more than E, the jobs ran different sets, and the digest of each
job's own set keeps them apart.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace

from shellbench_lib.conditions import task_set_digest
from shellbench_lib.records import Condition, ExpectedTask, RunRecord
from shellbench_lib.sources.harbor_jobs import JobFolder
from shellbench_lib.sources.harbor_trials import HarborTrial
from shellbench_lib.sources.values import instant, whole
from shellbench_lib.text import slug

Job = JobFolder[HarborTrial]
MERGED = "merged"
_DIGEST_LENGTH = 8
Dataset = tuple[str, str]
"""Suite and revision: what a trial itself says of its dataset."""
DatasetOfCount = tuple[str, str, int]


@dataclass(slots=True)
class Pool:
    """The trials of one condition that are numbered together: those of a job, or of all jobs when merged."""

    prefix: str
    condition: Condition
    trials: list[HarborTrial]
    expected_count: int
    tasks: frozenset[str]


def dataset_of(condition: Condition) -> Dataset:
    """Return suite and revision of a condition."""
    return condition.task_suite, condition.task_revision


def _tasks_of(trials: Iterable[HarborTrial]) -> frozenset[str]:
    return frozenset(trial.record.task_path for trial in trials if trial.record.task_path)


def _planned_tasks(job: Job) -> int | None:
    """Return how many tasks the job planned for each attempt of one agent, None where it does not say."""
    planned = job.planned_trials
    if planned is None:
        return None
    attempts = whole(job.config.get("n_attempts"))
    if attempts is None or attempts < 1:
        attempts = max(Counter((trial.setting.config, trial.record.task_path) for trial in job.trials).values())
    agents = job.config.get("agents")
    count = len(agents) if isinstance(agents, list) and agents else len({trial.setting.config for trial in job.trials})
    return -(-planned // (attempts * count))  # rounded up: a plan that does not divide is never called complete


def expected_counts(job: Job, declared: int | None) -> dict[Dataset, int]:
    """Return E for each dataset of a job.

    A job declares one count for all its datasets together; what it planned beyond the tasks found may belong to any
    of them, so each is taken to lack it.
    """
    found: dict[Dataset, set[str]] = defaultdict(set)
    for trial in job.trials:
        found[dataset_of(trial.condition)].add(trial.record.task_path or trial.record.directory)
    if declared is not None:
        return dict.fromkeys(found, declared)
    planned = _planned_tasks(job)
    total = sum(map(len, found.values()))
    return {
        dataset: len(tasks) if planned is None else max(planned - (total - len(tasks)), 1)
        for dataset, tasks in found.items()
    }


def form_runs(jobs: Sequence[Job], *, merge_jobs: bool, declared_count: int | None) -> list[RunRecord]:
    """Return the runs of all jobs, by job, condition and attempt.

    Args:
        jobs: jobs with at least one trial each, each trial once, under their final conditions.
        merge_jobs: whether the jobs of one condition are pooled before attempts are numbered.
        declared_count: the task count that the analyst gives, None to take the jobs' own.
    """
    pools = _merged_pools(jobs, declared_count) if merge_jobs else _job_pools(jobs, declared_count)
    found: dict[DatasetOfCount, set[str]] = defaultdict(set)
    for pool in pools:
        found[(*dataset_of(pool.condition), pool.expected_count)] |= pool.tasks
    runs = []
    for name, pool in zip(_pool_names(pools), pools, strict=True):
        tasks = found[(*dataset_of(pool.condition), pool.expected_count)]
        runs += _runs_of_pool(pool, name, tasks)
    return runs


def _by_condition(trials: Iterable[HarborTrial]) -> dict[Condition, list[HarborTrial]]:
    groups: dict[Condition, list[HarborTrial]] = defaultdict(list)
    for trial in trials:
        groups[trial.condition].append(trial)
    return {condition: groups[condition] for condition in sorted(groups, key=_condition_key)}


def _condition_key(condition: Condition) -> tuple[str, ...]:
    return tuple(asdict(condition).values())


def _job_pools(jobs: Sequence[Job], declared: int | None) -> list[Pool]:
    pools = []
    for job in jobs:
        counts = expected_counts(job, declared)
        tasks = {
            dataset: _tasks_of(trial for trial in job.trials if dataset_of(trial.condition) == dataset)
            for dataset in counts
        }
        for condition, trials in _by_condition(job.trials).items():
            dataset = dataset_of(condition)
            pools.append(Pool(f"{job.name}#", condition, trials, counts[dataset], tasks[dataset]))
    return pools


def _merged_pools(jobs: Sequence[Job], declared: int | None) -> list[Pool]:
    """Pool over jobs. E is then the largest plan of the pooled jobs, and no less than the tasks they attempted."""
    plans: dict[Condition, int] = defaultdict(int)
    for job in jobs:
        counts = expected_counts(job, declared)
        for condition in _by_condition(job.trials):
            plans[condition] = max(plans[condition], counts[dataset_of(condition)])
    pools = []
    for condition, trials in _by_condition(trial for job in jobs for trial in job.trials).items():
        tasks = _tasks_of(trials)
        count = declared if declared is not None else max(plans[condition], len(tasks))
        pools.append(Pool(f"{MERGED}/", condition, trials, count, tasks))
    return pools


def _pool_names(pools: Sequence[Pool]) -> list[str]:
    """Return a short name for each pool's condition, unique among the pools of its job."""
    bases = [_short_name(pool.condition) for pool in pools]
    counts = Counter(zip((pool.prefix for pool in pools), bases, strict=True))
    return [
        base if counts[pool.prefix, base] == 1 else f"{base}-{_condition_digest(pool.condition)}"
        for base, pool in zip(bases, pools, strict=True)
    ]


def _short_name(condition: Condition) -> str:
    parts = (condition.harness, condition.model_slug, condition.reasoning_effort)
    return slug("-".join(filter(None, parts))) or "condition"


def _condition_digest(condition: Condition) -> str:
    joined = "\0".join(_condition_key(condition)).encode("utf-8", "surrogatepass")
    return hashlib.sha256(joined).hexdigest()[:_DIGEST_LENGTH]


def attempts(trials: Iterable[HarborTrial]) -> list[list[HarborTrial]]:
    """Return the trials as attempts: the k-th list holds the k-th trial of each task, earliest first."""
    by_task: dict[str, list[HarborTrial]] = defaultdict(list)
    for trial in trials:
        by_task[trial.record.task_path or trial.record.directory].append(trial)
    rounds: list[list[HarborTrial]] = []
    for task in sorted(by_task):
        for index, trial in enumerate(sorted(by_task[task], key=_attempt_order)):
            if index == len(rounds):
                rounds.append([])
            rounds[index].append(trial)
    return rounds


def _attempt_order(trial: HarborTrial) -> tuple[float, str, str]:
    record = trial.record
    return instant(record.started_at), record.trial_name, record.result_path


def _runs_of_pool(pool: Pool, name: str, found: set[str]) -> list[RunRecord]:
    """Return one run for each attempt. More tasks found than planned: the pool's own tasks are its set."""
    tasks = found if len(found) <= pool.expected_count else pool.tasks
    condition = pool.condition
    if tasks is not found:
        condition = replace(condition, task_set_sha256=task_set_digest(tasks))
    runs = []
    for number, trials in enumerate(attempts(pool.trials), start=1):
        path = f"{pool.prefix}{name}-r{number}"
        runs.append(
            RunRecord(
                run_path=path,
                run_label=path.removeprefix(f"{MERGED}/"),
                source_kind="harbor",
                condition=condition,
                repetition=number,
                expected_tasks=tuple(ExpectedTask(task) for task in sorted(tasks)),
                expected_task_count=pool.expected_count,
                trials=[trial.record for trial in trials],
            )
        )
    return runs
