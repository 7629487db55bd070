"""Where a relative path starts, whoever runs the notebook, and how a place is named without giving it away."""

from __future__ import annotations

import re
from pathlib import Path

from shellbench_lib.errors import OutputError, ParameterError

ROOT_MARKERS = ("pyproject.toml", "notebooks/matrix_report.ipynb")
_REMOTE = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*:(?://|/)")


def project_root(start: Path | None = None) -> Path:
    """Return the nearest folder at or above `start` (default: the working directory) that holds the project.

    Papermill runs the notebook at the root, Jupyter in `notebooks/`, nbval beside the executed report. Outside a
    checkout the starting folder itself is the root.
    """
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        if all((folder / marker).is_file() for marker in ROOT_MARKERS):
            return folder
    return here


def local_path(text: str, *, field: str) -> Path:
    """Return the absolute path that a parameter names, relative ones taken from the project root.

    Raises:
        ParameterError: the text is empty or names a remote place (`s3://`, `https://` ...), which papermill would
            write to by itself, round every guard.
    """
    if not text.strip():
        raise ParameterError(f"{field}: empty; give the path of a local folder")
    if _REMOTE.match(text):
        raise ParameterError(f"{field}: must be a local path, not a remote address")
    if "\0" in text:
        raise ParameterError(f"{field}: holds a NUL character")
    return (project_root() / Path(text).expanduser()).resolve()


def refuse_inside(output: Path, source: Path, *, field: str) -> None:
    """Raise OutputError when an output folder is the input or lies in it: nothing under the input is written."""
    if output.resolve().is_relative_to(source.resolve()):
        raise OutputError(f"{output.name}: lies inside {field}, which is never written; choose another output folder")


def shown_path(path: Path) -> str:
    """Return how a path may stand in a report: relative inside the project, else only its last component."""
    try:
        return path.resolve().relative_to(project_root()).as_posix()
    except ValueError:
        return path.name
