"""Small summaries tables for tests: every cell of a row has a value of its own, so that mixed-up columns show."""

from pathlib import Path

from shellbench_lib.columns import TABLES, names
from shellbench_lib.summaries import SummaryTables, read_summaries
from shellbench_lib.tables import write_csv

RUN_COLUMNS = names(TABLES["aggregate_results.csv"])
TASK_COLUMNS = names(TABLES["per_task_results.csv"])
EFFORTS = ("low", "medium", "high", "xhigh")


def run(path, harness="alpha", model="m1", effort="high", repetition=1, *, eligible=True, tasks=2, **values):
    """A run row by column name; what is not given is empty."""
    row = dict.fromkeys(RUN_COLUMNS)
    row |= {
        "run_label": path, "pair_label": f"{harness}-{model}", "repetition": repetition, "expected_task_count": tasks,
        "score": 0.5, "coverage": 1.0, "exact_passes": 1, "clean_completed": tasks, "eligible": eligible,
        "exclusion_reason": "" if eligible else "incomplete", "exclusion_reasons": "" if eligible else "incomplete",
        "harness": harness, "model_slug": model, "model_id": f"{model}-id", "reasoning_effort": effort,
        "task_revision": "rev1", "run_path": path, "experiment_key": f"{harness};{model};{effort}",
    }  # fmt: skip
    return row | values


def trial(run_row, task, reward, *, scorable=True, **values):
    """A task row of a run row."""
    row = dict.fromkeys(TASK_COLUMNS)
    shared = [name for name in RUN_COLUMNS if name in row and name not in {"n_input_tokens", "cost_usd"}]
    row |= {name: run_row[name] for name in shared}
    row |= {
        "task_name": task, "task_path": f"suite/{task}", "trial_name": f"{task}__a", "reward": reward,
        "classification": "pass" if reward and reward >= 1 else "clean_fail", "scorable": scorable,
        "run_eligible": run_row["eligible"], "run_exclusion_reason": run_row["exclusion_reason"],
        "run_expected_task_count": run_row["expected_task_count"], "run_score": run_row["score"],
        "canonical_model_identity": None,
    }  # fmt: skip
    return row | values


def write_tables(folder: Path, runs, tasks) -> Path:
    """Write both summaries tables."""
    folder.mkdir(parents=True, exist_ok=True)
    write_csv(folder / "aggregate_results.csv", TABLES["aggregate_results.csv"], [list(r.values()) for r in runs])
    write_csv(folder / "per_task_results.csv", TABLES["per_task_results.csv"], [list(t.values()) for t in tasks])
    return folder


def tables_of(folder: Path, scores, **run_values) -> SummaryTables:
    """Tables of {(harness, model, effort): {task: [reward of each repetition]}}."""
    runs, tasks = rows_of(scores, **run_values)
    return read_summaries(write_tables(folder, runs, tasks))


def rows_of(scores, **run_values):
    """Run and task rows of {(harness, model, effort): {task: [reward of each repetition]}}."""
    runs, tasks = [], []
    count = len({task for rewards in scores.values() for task in rewards})
    for (harness, model, effort), rewards in scores.items():
        for index in range(max(len(values) for values in rewards.values())):
            path = f"{harness}-{model}-{effort}-r{index + 1}"
            row = run(path, harness, model, effort, index + 1, tasks=count, **run_values)
            runs.append(row)
            tasks += [trial(row, task, values[index]) for task, values in rewards.items() if index < len(values)]
    return runs, tasks


def full_conditions():
    """31 conditions: two models with three harnesses (the third their own) and four efforts each, three models on two
    harnesses at high, one of them on one harness also at medium."""
    cells = [
        (harness, model, effort)
        for model, third in (("gpt", "codex"), ("opus", "claude-code"))
        for harness in (third, "hermes", "openclaw")
        for effort in EFFORTS
    ]
    cells += [(harness, model, "high") for model in ("deepseek", "glm", "kimi") for harness in ("hermes", "openclaw")]
    return [*cells, ("openclaw", "deepseek", "medium")]


def full_scores(task_count=116, repetitions=3):
    """Rewards of 0, 0.5 and 1 by a fixed rule for 31 cells."""
    return {
        cell: {
            f"task-{t:03d}": [
                ((t * 7 + c * 3 + r * 5 + t * c) % 11 > 4) * (1.0 if t % 5 else 0.5) for r in range(repetitions)
            ]
            for t in range(task_count)
        }
        for c, cell in enumerate(full_conditions())
    }
