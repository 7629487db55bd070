"""Would another choice about missing rewards change a verdict? Every comparison under both policies.

The same pairs are compared where a missing reward counts 0 (`zero`) and where it is left out (`exclude`). The pairs
with the leader keep the leader of the report's own policy; where the other policy has another leader, the row says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from shellbench_lib.statistics.comparisons import BETTER, WORSE, Comparison, ScoredCells, compare, ranked_cells

SENSITIVITY_FILE = "missing_reward_sensitivity.csv"


def sensitivity_rows(datasets: Sequence[Sequence[Comparison]]) -> list[dict[str, Any]]:
    """Return one row per comparison, those that change first, else in the order of the comparisons.

    Args:
        datasets: the comparisons of each dataset under the report's policy.
    """
    rows = [row for comparisons in datasets if comparisons for row in _dataset_rows(comparisons)]
    return sorted(rows, key=lambda row: not (row["changes"] or row["leader_changes"]))


def other_policy(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Return the same comparisons under the other policy; the same objects where no reward is missing."""
    scored = comparisons[0].scored
    if not scored.dataset.missing.any():
        return list(comparisons)
    other = replace(scored.settings, missing_reward="exclude" if scored.settings.missing_reward == "zero" else "zero")
    return compare(ScoredCells.of(scored.dataset, other), [found.pair for found in comparisons])


def _dataset_rows(comparisons: Sequence[Comparison]) -> list[dict[str, Any]]:
    others = other_policy(comparisons)
    by_policy = {comparisons[0].scored.settings.missing_reward: comparisons}
    zero = by_policy.get("zero", others)
    exclude = by_policy.get("exclude", others)
    leaders = _leader(zero[0].scored), _leader(exclude[0].scored)
    return [_row(one, two, leaders) for one, two in zip(zero, exclude, strict=True)]


def _leader(scored: ScoredCells) -> str:
    ranked = ranked_cells(scored)
    return scored.dataset.cells[ranked[0]].label if ranked else ""


def _row(zero: Comparison, exclude: Comparison, leaders: tuple[str, str]) -> dict[str, Any]:
    left, right = zero.labels()
    dataset, pair = zero.scored.dataset, zero.pair
    leader_zero, leader_exclude = leaders if pair.factor == "leader" else ("", "")
    return {
        "dataset_key": dataset.dataset_key,
        "factor": pair.factor,
        "left_cell": left,
        "right_cell": right,
        "changes": _said(zero) != _said(exclude),
        "leader_changes": leader_zero != leader_exclude if pair.factor == "leader" else None,
        "missing_rewards": int(dataset.missing[[pair.left, pair.right]].sum()),
        **_policy_columns(zero, "zero", leader_zero),
        **_policy_columns(exclude, "exclude", leader_exclude),
    }


def _said(found: Comparison) -> tuple[str, bool | None]:
    """Return the verdict and, where it is significant, whether the lead is called narrow beside it."""
    return found.verdict, found.narrow if found.verdict in {BETTER, WORSE} else None


def _policy_columns(found: Comparison, policy: str, leader: str) -> dict[str, Any]:
    return {
        f"n_tasks_{policy}": found.n_tasks,
        f"mean_delta_{policy}": found.mean,
        f"p_holm_{policy}": found.p_holm,
        f"verdict_{policy}": found.verdict,
        f"narrow_{policy}": found.narrow,
        f"leader_{policy}": leader,
    }
