"""A bundle small enough to be made on the fly, so that the notebook runs everywhere without a run at hand."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from pathlib import Path

RUN_LABEL = "codex-example-model-medium-full-1-r1-20260101"


def write_sample_bundle(folder: Path) -> Path:
    """Write one final archive, one checkpoint, an audit file and a run index; the same bytes every time.

    Returns the folder of the run.
    """
    run = folder / "sample"
    for name in ("raw", "summaries", "manifests"):
        (run / name).mkdir(parents=True)
    result = json.dumps({"task_name": "hello-world", "verifier_result": {"rewards": {"reward": 1.0}}}).encode()
    for kind, prefix in (("final", ""), ("checkpoint-0001", "./")):
        members = {f"{prefix}results/jobs/{RUN_LABEL}/hello-world__0000001/result.json": result}
        (run / "raw" / f"{RUN_LABEL}-{kind}-artifacts.tar.gz").write_bytes(archive_bytes(members))
    (run / "summaries" / "TRACE_COVERAGE_AUDIT.md").write_text("# Coverage\n\nEvery run has its trace.\n")
    index = {"runs": [{"run_label": RUN_LABEL, "runner_commit": "0" * 40}]}
    (run / "manifests" / "run_index.json").write_text(json.dumps(index))
    return run


def archive_bytes(members: dict[str, bytes]) -> bytes:
    """Return a .tar.gz of these members without a clock, a user or a host in it."""
    buffer = io.BytesIO()
    with gzip.GzipFile(fileobj=buffer, mode="wb", mtime=0) as stream, tarfile.open(fileobj=stream, mode="w") as tar:
        for name, data in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return buffer.getvalue()
