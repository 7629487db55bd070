"""One piece of work, timed in a process of its own: `python bench/work.py NAME ARGUMENT...` prints seconds and memory.

Only the library call is timed; what the process imports before it is not. Memory is the largest resident set of this
process plus that of its largest child, in bytes.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

import orjson

KIB = 1024  # Linux counts ru_maxrss in these


def floor(matrix: str) -> Callable[[], object]:
    """Open, read and parse every result file of a matrix, and nothing else."""
    paths = sorted(Path(matrix).glob("jobs/*/*/result.json"))

    def call() -> int:
        fields = 0
        for path in paths:
            with path.open("rb") as stream:
                fields += len(orjson.loads(stream.read()))
        return fields

    return call


def export(matrix: str, summaries: str) -> Callable[[], object]:
    """Export a matrix: all summaries files written."""
    from shellbench_lib.export import export_matrix

    return lambda: export_matrix(matrix, Path(summaries))


def analysis(summaries: str, target: str) -> Callable[[], object]:
    """Classic analysis: its tables, JSON, Markdown and the four figures."""
    from shellbench_lib import analysis as library

    library.TABLE_PRODUCERS = (library.classic_tables,)
    library.FIGURE_PRODUCERS = (library.classic_plots,)
    return lambda: library.analyze(Path(summaries), Path(target))


def inference(summaries: str) -> Callable[[], object]:
    """Every table that is not classic, with default settings, from tables in memory."""
    from shellbench_lib import analysis as library

    producers = [produce for produce in library.TABLE_PRODUCERS if produce is not library.classic_tables]
    given = library.analysis_input(library.read_summaries(Path(summaries)), library.AnalysisSettings())
    return lambda: [produce(given) for produce in producers]


WORKS = {work.__name__: work for work in (floor, export, analysis, inference)}


def main() -> int:
    """Do the named work once and print what it took."""
    call = WORKS[sys.argv[1]](*sys.argv[2:])
    start = time.perf_counter()
    call()
    seconds = time.perf_counter() - start
    peak = sum(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    print(json.dumps({"seconds": seconds, "peak_bytes": peak * KIB}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
