"""How fast and how large? Measures the full sample and ten times as many runs; writes outputs/bench/bench.{json,md}.

Machines differ and are noisy, so every figure is a ratio of two times taken in the same round, and what is reported is
the median of the rounds. The yardsticks are `floor` (open, read and parse every result file) and `imports` (a Python
that only imports pandas, seaborn and scipy.stats). Each measurement runs in a process of its own. Nothing here is a
test: a missed goal is printed, not raised.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from shellbench_lib.sample import REPETITIONS, full_runs, write_runs

ROOT = Path(__file__).resolve().parents[1]
WORK = ROOT / "bench" / "work.py"
TARGET = ROOT / "outputs" / "bench"
ROUNDS = 5
TIMES = 10
GIB = 2**30
IMPORTS = "import pandas, seaborn, scipy.stats"

Round = dict[str, float]


@dataclass(frozen=True, slots=True)
class Goal:
    """One row of the table: how the ratio is formed from a round, and what it must reach and should reach."""

    work: str
    unit: str
    ratio: Callable[[Round], float]
    must: float
    aim: float | None


GOALS = (
    Goal("export", "x floor", lambda one: one["export"] / one["floor"], 6, 3),
    Goal(f"export of {TIMES} times the runs", "x export", lambda one: one["export_many"] / one["export"], 10.5, None),
    Goal("its peak memory", "GiB", lambda one: one["export_many_peak"] / GIB, 1.5, None),
    Goal("classic analysis", "x imports", lambda one: one["analysis"] / one["imports"], 2, 1),
    Goal("inference", "x imports", lambda one: one["inference"] / one["imports"], 4, 2),
    Goal(
        "shellbench report",
        "x (export + analysis + imports)",
        lambda one: one["report"] / (one["export"] + one["analysis"] + one["imports"]),
        3,
        2,
    ),
)


def process_seconds(*command: str) -> float:
    """Run a command to its end and return its wall time."""
    start = time.perf_counter()
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def work(name: str, *arguments: Path) -> dict[str, float]:
    """Do one piece of work of bench/work.py in a process of its own."""
    command = [sys.executable, str(WORK), name, *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    result: dict[str, float] = json.loads(done.stdout)
    return result


def report_seconds(matrix: Path, folder: Path) -> float:
    """Return the wall time of `shellbench report`, HTML included, as a whole process."""
    parameters = folder / "bench.yaml"
    parameters.write_text(f"matrix_path: {json.dumps(str(matrix))}\nmatrix_name: bench\n", encoding="utf-8")
    outputs = folder / "outputs"
    shutil.rmtree(outputs, ignore_errors=True)
    command = ("-m", "shellbench_lib", "report", str(parameters), "--output-root", str(outputs))
    return process_seconds(sys.executable, *command)


def measure(matrix: Path, many: Path, folder: Path) -> Round:
    """Take every time once, one after the other."""
    summaries = folder / "summaries"
    one = {
        "floor": work("floor", matrix)["seconds"],
        "imports": process_seconds(sys.executable, "-c", IMPORTS),
        "export": work("export", matrix, summaries)["seconds"],
        "analysis": work("analysis", summaries, folder / "analysis")["seconds"],
        "inference": work("inference", summaries)["seconds"],
        "report": report_seconds(matrix, folder),
    }
    large = work("export", many, folder / "summaries-many")
    return {**one, "export_many": large["seconds"], "export_many_peak": large["peak_bytes"]}


def table(rounds: list[Round]) -> str:
    """Return the table as Markdown: median ratio, goals and verdict, and the median seconds behind them."""
    lines = [
        f"{os.cpu_count()} cores, Python {platform.python_version()}, median of {len(rounds)} rounds",
        "",
        "| work | measured | unit | must reach | aim | verdict |",
        "| --- | ---: | --- | ---: | ---: | --- |",
    ]
    for goal in GOALS:
        value = statistics.median(goal.ratio(one) for one in rounds)
        verdict = "missed" if value > goal.must else "aim reached" if goal.aim and value <= goal.aim else "reached"
        aim = "" if goal.aim is None else f"{goal.aim:g}"
        lines.append(f"| {goal.work} | {value:.2f} | {goal.unit} | {goal.must:g} | {aim} | {verdict} |")
    lines += ["", "| time | median seconds |", "| --- | ---: |"]
    seconds = {name: statistics.median(one[name] for one in rounds) for name in rounds[0] if name != "export_many_peak"}
    lines += [f"| {name.replace('_', ' ')} | {value:.3f} |" for name, value in seconds.items()]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Measure, print the table and write it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    count = parser.parse_args().rounds
    with tempfile.TemporaryDirectory(prefix="shellbench-bench-") as name:
        folder = Path(name)
        matrix, many = folder / "matrix", folder / "many"
        write_runs(matrix, full_runs(), clean=True)
        write_runs(many, full_runs(TIMES * REPETITIONS), clean=True)
        work("floor", many)  # every file is in the page cache before the first round
        process_seconds(sys.executable, "-c", IMPORTS)
        rounds = []
        for number in range(1, count + 1):
            print(f"round {number} of {count}", file=sys.stderr)
            rounds.append(measure(matrix, many, folder))
    text = table(rounds)
    TARGET.mkdir(parents=True, exist_ok=True)
    facts = {"cores": os.cpu_count(), "python": platform.python_version(), "rounds": rounds}
    (TARGET / "bench.json").write_text(json.dumps(facts, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    (TARGET / "bench.md").write_text("# Speed and size\n\n" + text, encoding="utf-8")
    print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
