"""The table of the benchmark: ratios are formed within a round, and the median of the rounds is judged."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_spec = importlib.util.spec_from_file_location("bench_run", ROOT / "bench" / "run.py")
bench = importlib.util.module_from_spec(_spec)
sys.modules["bench_run"] = bench
_spec.loader.exec_module(bench)


def a_round(**changed: float) -> dict[str, float]:
    usual = {
        "floor": 0.1,
        "imports": 1.0,
        "export": 0.5,
        "analysis": 0.9,
        "inference": 4.5,
        "report": 6.0,
        "export_many": 5.0,
        "export_many_peak": 0.5 * 2**30,
    }
    return {**usual, **changed}


def rows(rounds: list[dict[str, float]]) -> dict[str, list[str]]:
    ratios = bench.table(rounds).partition("| time |")[0]  # the seconds behind the ratios follow
    lines = [line for line in ratios.split("\n") if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {row[0]: row[1:] for row in cells}


def test_each_ratio_is_judged_by_its_goal():
    shown = rows([a_round()])
    assert shown["export"] == ["5.00", "x floor", "6", "3", "reached"]
    assert shown["export of 10 times the runs"] == ["10.00", "x export", "10.5", "", "reached"]
    assert shown["its peak memory"] == ["0.50", "GiB", "1.5", "", "reached"]
    assert shown["classic analysis"] == ["0.90", "x imports", "2", "1", "aim reached"]
    assert shown["inference"] == ["4.50", "x imports", "4", "2", "missed"]
    assert shown["shellbench report"][0] == "2.50"  # 6.0 / (0.5 + 0.9 + 1.0)


def test_a_slow_round_moves_no_ratio_and_one_odd_round_no_median():
    slow = {name: value * 7 for name, value in a_round().items() if name != "export_many_peak"}
    odd = a_round(export=50.0)
    shown = rows([a_round(), {**a_round(), **slow}, odd])
    assert shown["export"][0] == "5.00"
    assert shown["classic analysis"][0] == "0.90"


def test_the_table_names_the_cores_and_the_rounds():
    assert bench.table([a_round()] * 5).startswith(f"{os.cpu_count()} cores, Python ")
    assert "median of 5 rounds" in bench.table([a_round()] * 5)


def test_a_measurement_runs_in_a_process_of_its_own_and_counts_every_result(tmp_path):
    for name in ("a", "b"):
        trial = tmp_path / "jobs" / "run" / name
        trial.mkdir(parents=True)
        (trial / "result.json").write_text("{}")
    command = [sys.executable, str(ROOT / "bench" / "work.py"), "floor", str(tmp_path)]
    result = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert 0 < result["seconds"] < 5
    assert result["peak_bytes"] > 2**20
    (tmp_path / "jobs" / "run" / "b" / "result.json").write_text("{")  # really parsed, not only read
    assert subprocess.run(command, capture_output=True, check=False).returncode != 0
