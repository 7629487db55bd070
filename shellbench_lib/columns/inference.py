"""The columns of the tables with uncertainty: leaderboard, comparisons, influence and what supports them."""

from __future__ import annotations

from shellbench_lib.columns.schema import Column

INFERENCE_TABLES: dict[str, tuple[Column, ...]] = {}
