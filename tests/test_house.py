"""How the house is laid out: data goes one way, a wall stands round upload, notebooks hold no logic."""

from __future__ import annotations

import ast
import json
import re
import statistics
import subprocess
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LIBRARY = ROOT / "shellbench_lib"
FILES = sorted(LIBRARY.rglob("*.py"))
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))

# Floors of the house, the ground first. A module may use its own floor and those below; a name stands for a module or
# a whole package. A new module has to find its floor here.
FLOORS = (
    {"errors", "text", "findings"},
    {"paths", "conditions", "records", "columns", "tables", "staging"},
    {"harbor_outcome", "params", "sample", "sample_files", "summaries"},
    {"sources"},
    {"outcomes", "parity", "reconcile", "repairs", "grading", "rows", "leaderboard", "export"},
    {"statistics"},
    {
        "analysis",
        "analysis_page",
        "blocks",
        "sections_inference",
        "figure_display",
        "figures",
        "headline",
        "report",
        "sections",
    },
    {"execution", "manifest", "normalise", "output_folder", "page", "runner", "scrub"},
    {"cli", "__main__"},
)
WALLED = "upload"
UPLOAD_DOORS = {"cli"}  # the upload command imports the wing when it is called
UPLOAD_NEEDS = {"errors", "text", "paths", "params", "staging", "tables", "blocks", "runner"}
CLOUD = {"boto3", "botocore", "s3transfer"}
MAX_FUNCTION_LINES = 60
MAX_MEDIAN_LINES = 12
MAX_FILE_LINES = 450
MAX_CELL_LINES = 8


def room(path: Path) -> str:
    """The module or package directly under the library that a file belongs to; empty for the library's own face."""
    first = path.relative_to(LIBRARY).parts[0]
    return "" if first == "__init__.py" else first.removesuffix(".py")


@cache
def imports(path: Path) -> frozenset[str]:
    """Full names of all modules that a file imports, wherever in the file."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            assert node.module is not None
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return frozenset(found)


def rooms_used(path: Path) -> set[str]:
    return {name.split(".")[1] for name in imports(path) if name.startswith("shellbench_lib.")} & set(known_rooms())


@cache
def known_rooms() -> frozenset[str]:
    return frozenset(room(path) for path in FILES) - {""}


def floor(name: str) -> int:
    """The number of a module's floor; one that has none yet stands on the roof."""
    return next((number for number, names in enumerate(FLOORS) if name in names), len(FLOORS))


def functions() -> list[tuple[str, int]]:
    """(place, lines from `def` to the end without the docstring) of every function of the library."""
    found = []
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                assert node.end_lineno is not None
                lines = node.end_lineno - node.lineno + 1
                first = node.body[0]
                if ast.get_docstring(node, clean=False) is not None:
                    assert first.end_lineno is not None
                    lines -= first.end_lineno - first.lineno + 1
                found.append((f"{path.relative_to(ROOT)}:{node.lineno} {node.name}", lines))
    return found


def test_every_module_has_its_floor():
    placed = [name for names in FLOORS for name in names]
    assert len(placed) == len(set(placed))
    assert known_rooms() - set(placed) == {WALLED}


def test_nobody_reaches_back_up():
    upward = [
        f"{path.relative_to(ROOT)} imports {used}"
        for path in FILES
        if room(path) not in {"", WALLED}
        for used in rooms_used(path) - {WALLED}
        if floor(used) > floor(room(path))
    ]
    assert upward == []


def test_no_two_modules_need_each_other():
    modules = {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in FILES}
    graph = {
        name: {
            used if used in modules else used.rpartition(".")[0]
            for used in imports(path)
            if used in modules or used.rpartition(".")[0] in modules
        }
        - {name}
        for name, path in modules.items()
    }
    order = list(TopologicalSorter(graph).static_order())  # raises CycleError and names the circle
    assert set(order) >= set(modules)


def test_the_upload_wing_has_a_wall_round_it():
    entered = {room(path) for path in FILES if room(path) != WALLED and WALLED in rooms_used(path)}
    assert entered <= UPLOAD_DOORS
    used = set().union(*(rooms_used(path) for path in FILES if room(path) == WALLED)) - {WALLED}
    assert used <= UPLOAD_NEEDS


def test_only_the_upload_wing_knows_the_cloud():
    knowing = {
        room(path) for path in FILES for name in imports(path) if name.split(".")[0] in CLOUD
    }  # fmt: skip
    assert knowing <= {WALLED}
    for notebook in NOTEBOOKS:
        assert not any(word in notebook.read_text(encoding="utf-8") for word in CLOUD)


def test_importing_everything_else_loads_no_cloud_client_and_no_upload():
    names = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for path in FILES
        if room(path) != WALLED and path.stem != "__main__"
    ]
    code = (
        f"import importlib, sys\nfor name in {names!r}: importlib.import_module(name)\n"
        f"print(sorted(name for name in sys.modules if name.split('.')[0] in {CLOUD!r} or 'lib.upload' in name))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr


def test_every_module_says_what_it_answers():
    silent = [
        str(path.relative_to(ROOT)) for path in FILES if not ast.get_docstring(ast.parse(path.read_text("utf-8")))
    ]
    assert silent == []


def test_functions_are_short():
    lengths = functions()
    assert [place for place, lines in lengths if lines > MAX_FUNCTION_LINES] == []
    assert statistics.median(lines for _, lines in lengths) <= MAX_MEDIAN_LINES


def test_files_are_read_in_one_sitting():
    long = [str(path.relative_to(ROOT)) for path in FILES if path.read_text("utf-8").count("\n") > MAX_FILE_LINES]
    assert long == []


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.name)
def test_notebooks_are_committed_clean(notebook):
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert code
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    assert code[0]["metadata"].get("tags") == ["parameters"]
    assert sum("parameters" in cell["metadata"].get("tags", []) for cell in cells) == 1


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.name)
def test_notebooks_hold_no_logic(notebook):
    logic = re.compile(r"^\s*(?:async\s+)?(?:def|class|for|while|with|try)\b|\bopen\(|\blambda\b", re.MULTILINE)
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] != "code":
            continue
        source = "".join(cell["source"])
        assert not logic.search(source), source
        if "parameters" not in cell["metadata"].get("tags", []):
            assert len(source.splitlines()) <= MAX_CELL_LINES, source
