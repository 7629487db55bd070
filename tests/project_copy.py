"""A copy of the project in a temporary folder, so that no test ever runs in the committed outputs."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def copy_project(target: Path) -> Path:
    """Copy what a reader of the repository needs to run the notebooks: no environment, no caches."""
    target.mkdir(parents=True)
    for name in ("pyproject.toml", "README.md"):
        shutil.copy2(ROOT / name, target / name)
    for name in ("notebooks", "params"):
        shutil.copytree(ROOT / name, target / name, ignore=shutil.ignore_patterns(".ipynb_checkpoints"))
    sample = ROOT / "outputs" / "sample"
    if sample.is_dir():
        shutil.copytree(sample, target / "outputs" / "sample")
    return target


def clean_environment(home: Path) -> dict[str, str]:
    """Return an environment without AWS settings and without the user's Jupyter and matplotlib configuration."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("AWS_", "SHELLBENCH_TRACE_", "JUPYTER", "IPYTHON", "MPL"))
    }
    environment.update(HOME=str(home), IPYTHONDIR=str(home / "ipython"), PYTHONPATH=str(ROOT), PYTHONWARNINGS="default")
    return environment


def run(command: list[str], *, cwd: Path, home: Path, timeout: int = 300) -> subprocess.CompletedProcess[str]:
    """Run a command of the environment in the copy and return what it printed."""
    return subprocess.run(
        [sys.executable, "-m", *command],
        cwd=cwd,
        env=clean_environment(home),
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
