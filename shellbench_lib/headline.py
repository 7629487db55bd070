"""The first screen: at most eight sentences, made from the tables, that an analyst could paste into a decision.

Who leads and by how much, which leads are ties, which significant leads are narrow and by which tasks, what harness,
effort and model changed in matched pairs, what was excluded, and what cannot be said. A narrow lead is never named
without the verdict of its test.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from shellbench_lib.text import printable

MAX_SENTENCES = 8
NAMED_CELLS, NAMED_TASKS, NAMED_REASONS = 4, 8, 4
SIGNIFICANT = frozenset({"better", "worse"})
BOARD, COMPARISONS = "analysis/leaderboard.csv", "analysis/paired_comparisons.csv"
INFLUENCE, RUNS = "analysis/task_influence.csv", "summaries/aggregate_results.csv"
_FACTORS = {"harness": "harness", "effort": "neighbouring effort", "model": "model"}


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence and the table, relative to the output folder, that it comes from."""

    text: str
    table: str


@dataclass(frozen=True, slots=True)
class HeadlineTables:
    """The tables that the sentences are made from, and the level of the intervals."""

    runs: pd.DataFrame
    leaderboard: pd.DataFrame
    comparisons: pd.DataFrame
    influence: pd.DataFrame
    sensitivity: pd.DataFrame
    confidence_level: float
    missing_reward: str


def first_screen(tables: HeadlineTables) -> list[Sentence]:
    """Return the sentences, at most eight.

    With several datasets the one with most eligible runs is told in full; of the others, who leads, as far as there
    is room. Without an eligible run there is one sentence, which says why.
    """
    excluded = _excluded(tables)
    if tables.leaderboard.empty:
        return [Sentence("No run is eligible, so nothing can be compared.", RUNS), *excluded]
    counts = tables.leaderboard.groupby("dataset_key", sort=False)["runs"].sum()
    keys = sorted(counts.index, key=lambda key: (-counts[key], key))
    main = _of_dataset(tables, keys[0], named=len(keys) > 1)
    closing = [*excluded, *_limits(tables, keys[0])]
    room = max(0, MAX_SENTENCES - len(main) - len(closing))
    others = [_leader(tables, key, named=True) for key in keys[1:]]
    if len(others) > room:
        others = others[: max(0, room - 1)]
        untold = len(keys) - 1 - len(others)
        rest = f"{untold} more {'dataset stands' if untold == 1 else 'datasets stand'} in the leaderboard"
        others.append(Sentence(f"{rest}; datasets are never compared.", BOARD))
    return [*main, *others, *closing][:MAX_SENTENCES]


def _signed(value: float) -> str:
    return f"{value:+.3f}".replace("-", "\u2212")


def _plain(value: float) -> str:
    return f"{value:.3f}".replace("-", "\u2212")


def _p(value: float) -> str:
    return "p < 0.001" if value < 0.001 else f"p = {value:.3f}"


def _some(names: Sequence[str], limit: int) -> str:
    shown = ", ".join(printable(name) for name in names[:limit])
    return shown if len(names) <= limit else f"{shown} and {len(names) - limit} more"


def _of_dataset(tables: HeadlineTables, key: str, *, named: bool) -> list[Sentence]:
    found = [_leader(tables, key, named=named), *_ties(tables, key), *_narrow(tables, key)]
    return [*found, *(sentence for factor in _FACTORS for sentence in _factor(tables, key, factor))]


def _rows(frame: pd.DataFrame, key: str) -> pd.DataFrame:
    return frame[frame["dataset_key"] == key]


def _leader(tables: HeadlineTables, key: str, *, named: bool) -> Sentence:
    board = _rows(tables.leaderboard, key)
    where = f"In dataset {printable(key)}, " if named else ""
    best = board.iloc[0]
    if pd.isna(best["mean_score"]):
        return Sentence(f"{where or 'In the whole matrix '}no cell has a score.", BOARD)
    interval = ""
    if not pd.isna(best["score_low"]):
        level = f"{tables.confidence_level:.0%}"
        interval = f" ({level} interval {_plain(best['score_low'])} to {_plain(best['score_high'])})"
    text = f"{where}{printable(best['cell'])} has the highest mean score, {_plain(best['mean_score'])}{interval}"
    if len(board) == 1:
        return Sentence(f"{text}; it is the only cell.", BOARD)
    second = board.iloc[1]
    lead = second["lead_delta"]
    if pd.isna(lead):
        return Sentence(f"{text}.", BOARD)
    ahead = f"{_signed(lead)} against the next cell, {printable(second['cell'])}: {_verdict(second)}"
    return Sentence(f"{text}; {ahead}.", BOARD)


def _verdict(row: pd.Series[Any]) -> str:
    """Return the verdict of the leader's comparison with a cell, with its p."""
    p = "" if pd.isna(row["lead_p_holm"]) else f" ({_p(row['lead_p_holm'])}, Holm)"
    narrow = ", and the lead is narrow" if row["lead_narrow"] is True and row["lead_verdict"] in SIGNIFICANT else ""
    return f"{row['lead_verdict']}{p}{narrow}"


def _ties(tables: HeadlineTables, key: str) -> list[Sentence]:
    board = _rows(tables.leaderboard, key)
    standings = Counter(board["standing"])
    if len(board) < 2:
        return []
    tied = board.loc[board["standing"] == "tied with the leader", "cell"].tolist()
    if not tied:
        beaten = standings["behind the leader"]
        return [
            Sentence(f"The leader beats {beaten} of the {len(board) - 1} other cells; none is tied with it.", BOARD)
        ]
    text = (
        f"{len(tied)} of the {len(board) - 1} other cells cannot be told from the leader and count as tied with it: "
        f"{_some(tied, NAMED_CELLS)}."
    )
    return [Sentence(text, BOARD)]


def _narrow(tables: HeadlineTables, key: str) -> list[Sentence]:
    found = _rows(tables.comparisons, key)
    narrow = found[found["verdict"].isin(SIGNIFICANT) & found["narrow"].eq(other=True) & (found["factor"] != "leader")]
    if narrow.empty:
        return []
    first = narrow.sort_values(["p_holm", "left_cell", "right_cell"], kind="stable").iloc[0]
    influence = _rows(tables.influence, key)
    same = (influence["factor"] == first["factor"]) & (influence["left_cell"] == first["left_cell"])
    same &= (influence["right_cell"] == first["right_cell"]) & influence["in_tie_set"].eq(other=True)
    tasks = influence[same].sort_values("removal_order", kind="stable")["task_name"].tolist()
    more = f" {len(narrow) - 1} more significant leads are narrow." if len(narrow) > 1 else ""
    text = (
        f"{printable(first['left_cell'])} is {first['verdict']} than {printable(first['right_cell'])} by "
        f"{_signed(first['mean_delta'])} ({_p(first['p_holm'])}, Holm), but the lead is narrow: without {len(tasks)} "
        f"of {int(first['n_tasks'])} tasks it is gone ({_some(tasks, NAMED_TASKS)}).{more}"
    )
    return [Sentence(text, INFLUENCE)]


def _factor(tables: HeadlineTables, key: str, factor: str) -> list[Sentence]:
    found = _rows(tables.comparisons, key)
    found = found[found["factor"] == factor]
    if found.empty:
        return []
    significant = found[found["verdict"].isin(SIGNIFICANT)]
    name = f"{_FACTORS[factor]} pair" + ("" if len(found) == 1 else "s")
    if significant.empty:
        detectable = found["minimum_detectable_effect"].median()
        note = (
            ""
            if pd.isna(detectable)
            else f"; a typical pair would need a difference of {_plain(detectable)} to be found"
        )
        return [Sentence(f"None of the {len(found)} matched {name} shows a significant difference{note}.", COMPARISONS)]
    ordered = significant.sort_values("mean_delta", key=lambda values: -values.abs(), kind="stable")
    parts = [
        f"{printable(row['left_cell'])} {row['verdict']} than {printable(row['right_cell'])} "
        f"by {_signed(row['mean_delta'])}"
        for row in ordered.head(2).to_dict("records")
    ]
    return [
        Sentence(
            f"{len(significant)} of {len(found)} matched {name} "
            f"{'is' if len(significant) == 1 else 'are'} significant: "
            f"{'; '.join(parts)}{' ...' if len(significant) > 2 else ''}.",
            COMPARISONS,
        )
    ]


def _excluded(tables: HeadlineTables) -> list[Sentence]:
    runs = tables.runs
    excluded = runs[~runs["eligible"].astype(bool)]
    if excluded.empty:
        return [Sentence(f"No run was excluded; all {len(runs)} are eligible.", RUNS)]
    reasons = Counter(excluded["exclusion_reason"])
    named = [f"{reason} {count}" for reason, count in sorted(reasons.items(), key=lambda item: (-item[1], item[0]))]
    return [Sentence(f"{len(excluded)} of {len(runs)} runs were excluded: {_some(named, NAMED_REASONS)}.", RUNS)]


def _limits(tables: HeadlineTables, key: str) -> list[Sentence]:
    """Say what cannot be said with these repetitions, and how much the missing-reward policy matters."""
    parts = []
    board, found = _rows(tables.leaderboard, key), _rows(tables.comparisons, key)
    single = int((board["runs"] == 1).sum())
    if single:
        parts.append(f"{single} of {len(board)} cells have one run, so their run-to-run noise is unknown")
    detectable = found["minimum_detectable_effect"].dropna()
    if len(detectable):
        low, high = int(board["runs"].min()), int(board["runs"].max())
        runs = f"{low}" if low == high else f"{low} to {high}"
        parts.append(
            f"with {runs} runs per cell a difference below {_plain(detectable.median())} would usually be missed "
            "(80 % power, median over pairs)"
        )
    changes = int(tables.sensitivity["changes"].eq(other=True).sum())
    parts.append(
        f"{changes} of {len(tables.sensitivity)} verdicts would change under the other missing-reward policy "
        f"(this report: {tables.missing_reward})"
    )
    text = "; ".join(parts)
    return [Sentence(f"{text[0].upper()}{text[1:]}.", COMPARISONS)]
