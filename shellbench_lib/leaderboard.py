"""Run-level listings: the legacy pairs, and one table per dataset with a row per cell.

Both average over eligible runs only. The pairs keep upstream's grouping by `pair_label`, which may pool efforts and
datasets; each pair names those that it pools.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import mean, stdev
from typing import Any

from shellbench_lib.text import markdown

RunRow = Mapping[str, Any]
_HEADER = (
    "Rank", "Cell", "Repetitions", "Parity validated", "Mean", "Stdev", "Min", "Max", "Mean exact passes", "Pass rate",
    "Clean complete",
)  # fmt: skip


def _stdev(scores: Sequence[float]) -> float | None:
    """Return the sample standard deviation, 0 for one value, None where rewards beyond all bounds overflow it."""
    if len(scores) < 2:
        return 0.0
    try:
        return stdev(scores) if all(map(math.isfinite, scores)) else None
    except OverflowError:
        return None


def _known_mean(rows: Sequence[RunRow], name: str) -> float | None:
    """Return the mean of a column, None where a row does not know it (an export without the column)."""
    values = [row[name] for row in rows]
    return None if not values or None in values else mean(values)


def run_statistics(rows: Sequence[RunRow]) -> dict[str, Any]:
    """Return upstream's statistics of a group of runs; None where no run is eligible. `stdev` of one run is 0."""
    rows = sorted(rows, key=lambda row: (row["repetition"] is None, row["repetition"] or 0, row["run_label"]))
    eligible = [row for row in rows if row["eligible"]]
    scores = [row["score"] for row in eligible]
    tasks = sum(row["expected_task_count"] for row in eligible)
    passes = _known_mean(eligible, "exact_passes")
    return {
        "total_repetitions": len(rows),
        "eligible_repetitions": len(eligible),
        "excluded_repetitions": len(rows) - len(eligible),
        "excluded_run_labels": [row["run_label"] for row in rows if not row["eligible"]],
        "parity_validated_repetitions": sum(bool(row["parity_validated"]) for row in rows),
        "parity_unvalidated_run_labels": [row["run_label"] for row in rows if not row["parity_validated"]],
        "mean": mean(scores) if scores else None,
        "stdev": _stdev(scores) if scores else None,
        "min": min(scores, default=None),
        "max": max(scores, default=None),
        "mean_exact_passes": passes,
        "pass_rate": sum(row["exact_passes"] for row in eligible) / tasks if tasks and passes is not None else None,
        "clean_complete_repetitions": len(eligible),
        "mean_coverage": _known_mean(eligible, "coverage"),
        "mean_clean_completed": _known_mean(eligible, "clean_completed"),
    }


def legacy_pairs(rows: Sequence[RunRow], datasets: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return upstream's grouping by pair label, each pair naming the datasets and efforts that it pools.

    Args:
        rows: run rows by column name.
        datasets: dataset key of each run path.
    """
    groups: dict[str, list[RunRow]] = defaultdict(list)
    for row in rows:
        groups[row["pair_label"]].append(row)
    pairs = []
    for label, group in sorted(groups.items()):
        statistics = run_statistics(group)
        pairs.append(
            {
                "pair_label": label,
                **statistics,
                "mean_score": statistics["mean"],
                "score_stdev": statistics["stdev"],
                "min_score": statistics["min"],
                "max_score": statistics["max"],
                "pooled_datasets": sorted({datasets[row["run_path"]] for row in group}),
                "pooled_efforts": sorted({row["reasoning_effort"] for row in group}),
            }
        )
    return pairs


def _number(value: float | None, decimals: int = 4) -> str:
    return "-" if value is None else f"{value:.{decimals}f}"


def _cell_rows(groups: Mapping[str, Sequence[RunRow]]) -> list[tuple[str, ...]]:
    ranked = sorted(
        ((label, run_statistics(rows)) for label, rows in groups.items() if any(row["eligible"] for row in rows)),
        key=lambda item: (-item[1]["mean"], item[0]),
    )
    return [
        (
            str(rank),
            markdown(label),
            f"{values['eligible_repetitions']}/{values['total_repetitions']}",
            f"{values['parity_validated_repetitions']}/{values['total_repetitions']}",
            *(_number(values[name]) for name in ("mean", "stdev", "min", "max")),
            _number(values["mean_exact_passes"], 2),
            _number(values["pass_rate"]),
            str(values["clean_complete_repetitions"]),
        )
        for rank, (label, values) in enumerate(ranked, start=1)
    ]


def cleaned_leaderboard(rows: Sequence[RunRow], cells: Mapping[str, tuple[str, str]]) -> str:
    """Return the leaderboard as Markdown: per dataset one row per cell with an eligible run, best mean first.

    Args:
        rows: run rows by column name.
        cells: dataset key and cell label of each run path.
    """
    datasets: dict[str, dict[str, list[RunRow]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        dataset, label = cells[row["run_path"]]
        datasets[dataset][label].append(row)
    lines = [
        "# Cleaned leaderboard",
        "",
        (
            "Means run over eligible runs only; a missing reward counts 0. One table per dataset, one row per cell "
            "of harness, model and reasoning effort. Parity is reported and is no gate. A difference between two rows "
            "is no evidence by itself: see the paired comparisons."
        ),
    ]
    for dataset, groups in sorted(datasets.items()):
        body = _cell_rows(groups) or [("-", "no eligible run", *("-" for _ in _HEADER[2:]))]
        lines += ["", f"## {markdown(dataset)}", "", _line(_HEADER), _line(["---"] * len(_HEADER))]
        lines += [_line(row) for row in body]
    return "\n".join(lines) + "\n"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"
