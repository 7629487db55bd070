"""Readers: a place on disk becomes run and trial records. They know no statistics."""

from __future__ import annotations

from pathlib import Path

from shellbench_lib.errors import InputError
from shellbench_lib.sources.files import MatrixFolder
from shellbench_lib.sources.harbor import looks_like_harbor, read_harbor
from shellbench_lib.sources.matrix import Matrix, SourceSettings
from shellbench_lib.sources.native import native_jobs_directory, native_run_below, read_native

__all__ = ["Matrix", "SourceSettings", "read_matrix"]
LOOKED_FOR = (
    "native ShellBench runs (jobs/<run>/run_manifest.json), Harbor job directories (<job>/<trial>/result.json with "
    "task_name and trial_name) and an aggregate export (aggregate_results.csv with per_task_results.csv)"
)


def read_matrix(path: Path, settings: SourceSettings) -> Matrix:
    """Recognise what lies at a path and read its runs.

    Raises:
        InputError: the folder does not exist, is empty, or holds nothing that is recognised.
    """
    if not path.is_dir():
        raise InputError(f"matrix_path: {path.name or path} is not a folder")
    folder = MatrixFolder(path.resolve())
    if native_jobs_directory(folder) is not None:
        return read_native(folder, settings)
    below = native_run_below(folder)
    if below is not None:
        raise InputError(
            f"matrix_path: {path.name} holds native ShellBench runs further down ({below}/run_manifest.json); "
            "give the folder above jobs/, jobs/ itself or one run"
        )
    if looks_like_harbor(folder):
        return read_harbor(folder, settings)
    if not any(path.iterdir()):
        raise InputError(f"matrix_path: {path.name} is empty; looked for {LOOKED_FOR}")
    raise InputError(f"matrix_path: nothing recognised in {path.name}; looked for {LOOKED_FOR}")
