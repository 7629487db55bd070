"""The first screen: at most eight sentences, made from the tables, that an analyst could paste into a decision.

Who leads and by how much and which cells are tied, which significant leads are narrow and by which tasks, what harness,
effort and model changed in matched pairs, what was excluded, what the missing rewards decide, and what cannot be said.
The word narrow never stands without the verdict of its test.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from shellbench_lib.text import printable

MAX_SENTENCES = 8
NAMED_CELLS, NAMED_TASKS, NAMED_REASONS, NAMED_VERDICTS = 4, 8, 4, 2
SIGNIFICANT = frozenset({"better", "worse"})
BOARD, COMPARISONS = "analysis/leaderboard.csv", "analysis/paired_comparisons.csv"
INFLUENCE, RUNS = "analysis/task_influence.csv", "summaries/aggregate_results.csv"
SENSITIVITY = "analysis/missing_reward_sensitivity.csv"
SAME = "In the same dataset, "
_ONE_OTHER = {
    "tied with the leader": "the other cell counts as tied with it",
    "behind the leader": "the other cell is behind it",
}
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
    closing = [*excluded, *_missing(tables)]
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


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _of_dataset(tables: HeadlineTables, key: str, *, named: bool) -> list[Sentence]:
    start = SAME if named else ""
    factors = [sentence for factor in _FACTORS for sentence in _factor(tables, key, factor, start)]
    return [_leader(tables, key, named=named), *_narrow(tables, key, start), *factors, *_limits(tables, key, start)]


def _rows(frame: pd.DataFrame, key: str) -> pd.DataFrame:
    return frame[frame["dataset_key"] == key]


def _leader(tables: HeadlineTables, key: str, *, named: bool) -> Sentence:
    board = _rows(tables.leaderboard, key)
    where = f"In dataset {printable(key)}, " if named else ""
    best = board.iloc[0]
    if pd.isna(best["mean_score"]):
        return Sentence(_capital(f"{where}no cell has a score."), BOARD)
    interval = ""
    if not pd.isna(best["score_low"]):
        level = f"{tables.confidence_level:.0%}"
        interval = f" ({level} interval {_plain(best['score_low'])} to {_plain(best['score_high'])})"
    top = board.loc[board["rank"] == best["rank"], "cell"].tolist()
    if len(top) > 1:
        text = f"{where}{_some(top, NAMED_CELLS)} share the highest mean score, {_plain(best['mean_score'])}{interval}"
    else:
        text = f"{where}{printable(best['cell'])} has the highest mean score, {_plain(best['mean_score'])}{interval}"
    if len(board) == 1:
        return Sentence(f"{text}; it is the only cell.", BOARD)
    parts = [text, *([] if len(top) > 1 else _against_next(tables, key, board.iloc[1])), _standings(board)]
    return Sentence("; ".join(parts) + ".", BOARD)


def _against_next(tables: HeadlineTables, key: str, row: pd.Series[Any]) -> list[str]:
    """Return the leader's lead on the next cell with its verdict, and on how many tasks where some are not shared."""
    if pd.isna(row["lead_delta"]):
        return []
    found = _rows(tables.comparisons, key)
    same = found[(found["factor"] == "leader") & (found["right_cell"] == row["cell"])]
    shared = ""
    if len(same) and same.iloc[0]["dropped_tasks"]:
        shared = f" on the {_count(int(same.iloc[0]['n_tasks']), 'task')} that both have"
    return [f"{_signed(row['lead_delta'])} against the next cell, {printable(row['cell'])}{shared}: {_verdict(row)}"]


def _verdict(row: pd.Series[Any]) -> str:
    """Return the verdict of the leader's comparison with a cell, with its p, and whether the lead is narrow."""
    p = "" if pd.isna(row["lead_p_holm"]) else f" ({_p(row['lead_p_holm'])}, Holm)"
    narrow = ""
    if row["lead_narrow"] is True:
        narrow = f", and narrow: {_count(int(row['lead_tie_k']), 'task')} carry it"
    return f"{row['lead_verdict']}{p}{narrow}"


def _standings(board: pd.DataFrame) -> str:
    if len(board) == 2:
        return _ONE_OTHER.get(board["standing"].iloc[1], "whether the other cell is behind cannot be told")
    counts = Counter(board["standing"].iloc[1:])
    tied = board.loc[board["standing"] == "tied with the leader", "cell"].tolist()
    parts = []
    if tied:
        verb = "counts" if len(tied) == 1 else "count"
        parts.append(f"{len(tied)} {verb} as tied with it ({_some(tied, NAMED_CELLS)})")
    behind = counts.pop("behind the leader", 0)
    if behind:
        parts.append(f"{behind} {'is' if behind == 1 else 'are'} behind it")
    counts.pop("tied with the leader", None)
    if other := sum(counts.values()):
        parts.append(f"for {other} it cannot be told")
    return f"of the other {_count(len(board) - 1, 'cell')} " + ", ".join(parts)


def _narrow(tables: HeadlineTables, key: str, start: str) -> list[Sentence]:
    found = _rows(tables.comparisons, key)
    narrow = found[found["verdict"].isin(SIGNIFICANT) & found["narrow"].eq(other=True) & (found["factor"] != "leader")]
    if narrow.empty:
        return []
    first = narrow.sort_values(["p_holm", "left_cell", "right_cell"], kind="stable").iloc[0]
    influence = _rows(tables.influence, key)
    same = (influence["factor"] == first["factor"]) & (influence["left_cell"] == first["left_cell"])
    same &= (influence["right_cell"] == first["right_cell"]) & influence["in_tie_set"].eq(other=True)
    tasks = influence[same].sort_values("removal_order", kind="stable")["task_name"].tolist()
    rest = len(narrow) - 1
    more = f"; {rest} more significant {'lead is' if rest == 1 else 'leads are'} narrow" if rest else ""
    text = (
        f"{start}{printable(first['left_cell'])} is {first['verdict']} than {printable(first['right_cell'])} by "
        f"{_signed(first['mean_delta'])} ({_p(first['p_holm'])}, Holm), but the lead is narrow: without {len(tasks)} "
        f"of {int(first['n_tasks'])} tasks it is gone ({_some(tasks, NAMED_TASKS)}){more}."
    )
    return [Sentence(text, INFLUENCE)]


def _factor(tables: HeadlineTables, key: str, factor: str, start: str) -> list[Sentence]:
    found = _rows(tables.comparisons, key)
    found = found[found["factor"] == factor]
    if found.empty:
        return []
    significant = found[found["verdict"].isin(SIGNIFICANT)]
    pairs = _count(len(found), f"matched {_FACTORS[factor]} pair")
    if significant.empty:
        return [Sentence(_capital(f"{start}{_no_difference(found, pairs)}."), COMPARISONS)]
    ordered = significant.sort_values("mean_delta", key=lambda values: -values.abs(), kind="stable")
    parts = [
        f"{printable(row['left_cell'])} {row['verdict']} than {printable(row['right_cell'])} "
        f"by {_signed(row['mean_delta'])}"
        for row in ordered.head(NAMED_VERDICTS).to_dict("records")
    ]
    verb = "is" if len(significant) == 1 else "are"
    text = f"{start}{len(significant)} of {pairs} {verb} significant: {'; '.join(parts)}"
    return [Sentence(text + (" ..." if len(significant) > NAMED_VERDICTS else "") + ".", COMPARISONS)]


def _no_difference(found: pd.DataFrame, pairs: str) -> str:
    one = len(found) == 1
    which = f"the only {pairs.removeprefix('1 ')}" if one else f"the {pairs}"
    if (found["verdict"] == "too few tasks").all():
        return f"{which} {'has' if one else 'have'} too few tasks for a verdict"
    detectable = found["minimum_detectable_effect"].median()
    note = f" (80 % power typically from {_plain(detectable)} on)" if detectable <= 1 else ""
    return f"{which} {'shows' if one else 'show'} no significant difference{note}"


def _excluded(tables: HeadlineTables) -> list[Sentence]:
    runs = tables.runs
    excluded = runs[~runs["eligible"].astype(bool)]
    if excluded.empty:
        return [Sentence(f"No run was excluded ({_count(len(runs), 'run')} in all).", RUNS)]
    reasons = Counter(excluded["exclusion_reason"])
    named = [f"{reason} {count}" for reason, count in sorted(reasons.items(), key=lambda item: (-item[1], item[0]))]
    verb = "was" if len(excluded) == 1 else "were"
    text = f"{len(excluded)} of {_count(len(runs), 'run')} {verb} excluded: {_some(named, NAMED_REASONS)}."
    return [Sentence(text, RUNS)]


def _missing(tables: HeadlineTables) -> list[Sentence]:
    """Say how many rewards are missing and which verdicts on matched pairs hang on the policy for them."""
    missing = int(tables.leaderboard["missing_rewards"].sum())
    if not missing:
        return []
    matched = tables.sensitivity[tables.sensitivity["factor"] != "leader"]
    changed = matched[matched["changes"].eq(other=True)]
    policy = "count 0" if tables.missing_reward == "zero" else "are left out"
    text = f"{_count(missing, 'trial')} of eligible runs without a reward {policy}; "
    if changed.empty:
        return [Sentence(f"{text}no verdict on a matched pair would change under the other policy.", SENSITIVITY)]
    named = [
        f"{printable(row['left_cell'])} against {printable(row['right_cell'])}: {_under(row, 'zero')}, "
        f"{_under(row, 'exclude')}"
        for row in changed.head(NAMED_VERDICTS).to_dict("records")
    ]
    more = " ..." if len(changed) > NAMED_VERDICTS else ""
    pairs = _count(len(matched), "verdict")
    text += f"{len(changed)} of {pairs} on matched pairs hang on that: {'; '.join(named)}{more}."
    return [Sentence(text, SENSITIVITY)]


def _under(row: Mapping[Any, Any], policy: str) -> str:
    narrow = " but narrow" if row[f"narrow_{policy}"] is True else ""
    return f"{row[f'verdict_{policy}']}{narrow} under {policy}"


def _limits(tables: HeadlineTables, key: str, start: str) -> list[Sentence]:
    """Say what cannot be said with these repetitions."""
    parts = []
    board, found = _rows(tables.leaderboard, key), _rows(tables.comparisons, key)
    single = int((board["runs"] == 1).sum())
    if single:
        verb = "has" if single == 1 else "have"
        parts.append(f"{single} of {_count(len(board), 'cell')} {verb} one run, so run-to-run noise is unknown there")
    detectable = found.loc[found["factor"] != "leader", "minimum_detectable_effect"].dropna().median()
    if detectable > 1:
        parts.append("with so few tasks no difference from 0 to 1 is found with 80 % power")
    elif not pd.isna(detectable):
        low, high = int(board["runs"].min()), int(board["runs"].max())
        runs = _count(low, "run") if low == high else f"{low} to {high} runs"
        parts.append(
            f"with {runs} per cell differences from {_plain(detectable)} on are found with 80 % power (one test, "
            "median over matched pairs); smaller ones may be missed"
        )
    return [Sentence(_capital(f"{start}{'; '.join(parts)}."), COMPARISONS if found.size else BOARD)] if parts else []
