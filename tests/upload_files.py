"""Bundles and files for the upload tests."""

from __future__ import annotations

import random
from pathlib import Path

from shellbench_lib.upload.bundle import BundleFile, Candidate
from shellbench_lib.upload.inspection import inspect_file
from shellbench_lib.upload.sample import archive_bytes

MIB = 1024 * 1024


def noise(size: int, seed: int = 0) -> bytes:
    """Bytes that do not compress."""
    return random.Random(seed).randbytes(size)


def pinned(folder: Path, key: str, data: bytes, *, part_size: int = 5 * MIB) -> BundleFile:
    """Write a file and hash it as a bundle's file."""
    path = folder / key
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    file = inspect_file(Candidate(key, path, len(data)), part_size=part_size).file
    assert file is not None
    return file


def write_bundle(folder: Path, *, archives: int = 1, audit: int = 11, text: bytes = b'{"reward": 1.0}') -> Path:
    """A run's folder with small archives and up to eleven audit files, the run index among them."""
    for name in ("raw", "summaries", "manifests"):
        (folder / name).mkdir(parents=True)
    for number in range(archives):
        member = f"results/jobs/run-{number:03d}/task/result.json"
        path = folder / "raw" / f"run-{number:03d}-final-artifacts.tar.gz"
        path.write_bytes(archive_bytes({member: text + b" " * number}))
    names = ["manifests/run_index.json", "summaries/TRACE_COVERAGE_AUDIT.md", "summaries/trace_gaps.csv"]
    for number in range(4):
        names += [f"summaries/part-{number}/trajectory_validation{full}.json" for full in ("", ".full")]
    for name in names[:audit]:
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        is_index = name.endswith("run_index.json")
        path.write_text('{"runs": [{"run_label": "a", "runner_commit": "c1"}]}' if is_index else f"# {name}\n")
    return folder
