"""report_manifest.json: which files make up a report, what each of them holds, and what they were made from.

Every file with its size and SHA-256 (the manifest itself excepted), the digest of the input, the parameters as the
report shows them and the versions of the packages that shape its bytes. No clock, no host, no absolute path.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from shellbench_lib.errors import ReportError
from shellbench_lib.tables import write_json

MANIFEST_FILE = "report_manifest.json"
FAILED_SUFFIX = ".failed.ipynb"
SCHEMA_VERSION = 1
_DIGEST_BLOCK = 1 << 20
PACKAGES = (
    "ipykernel", "jinja2", "matplotlib", "nbclient", "nbconvert", "nbformat", "numpy", "orjson", "pandas", "papermill",
    "pydantic", "scipy", "seaborn", "shellbench-report", "statsmodels",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Differences:
    """How a folder differs from its manifest; three sorted lists of relative paths."""

    missing: tuple[str, ...]
    changed: tuple[str, ...]
    extra: tuple[str, ...]
    file_count: int

    def __bool__(self) -> bool:
        """Whether anything differs."""
        return bool(self.missing or self.changed or self.extra)

    def lines(self) -> list[str]:
        """Return one line per difference, `missing: path` and so on."""
        named = (("missing", self.missing), ("changed", self.changed), ("extra", self.extra))
        return [f"{kind}: {path}" for kind, paths in named for path in paths]


def files_below(folder: Path) -> list[str]:
    """Return the relative paths of all that is no plain folder below a folder, sorted; links are not followed."""
    return sorted(
        path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()
    )


def package_versions() -> dict[str, str]:
    """Return the versions of `PACKAGES` and the minor version of Python, for which equal bytes are promised."""
    versions = {"python": f"{sys.version_info.major}.{sys.version_info.minor}"}
    for name in PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue  # our own name, in a checkout that is run without being installed
    return versions


def write_manifest(folder: Path, *, notebook: str, parameters: Mapping[str, Any], input_sha256: str) -> None:
    """Write the manifest of everything that lies in a folder now.

    Args:
        folder: the finished report.
        notebook: the stem of the notebook that made it.
        parameters: the values that the report shows.
        input_sha256: the digest of the input, empty where there is none.
    """
    files = [_entry(folder, path) for path in files_below(folder) if path != MANIFEST_FILE]
    content = {
        "schema_version": SCHEMA_VERSION,
        "notebook": notebook,
        "input_sha256": input_sha256,
        "parameters": dict(parameters),
        "packages": package_versions(),
        "files": files,
    }
    write_json(folder / MANIFEST_FILE, content)


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return a folder's manifest.

    Raises:
        ReportError: it is missing, cannot be read or is not of this kind.
    """
    path = folder / MANIFEST_FILE
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        well_formed = all(
            isinstance(entry["path"], str) and isinstance(entry["sha256"], str) and isinstance(entry["size"], int)
            for entry in content["files"]
        )
    except FileNotFoundError as error:
        raise ReportError(f"{folder.name}: holds no {MANIFEST_FILE}") from error
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise ReportError(f"{folder.name}/{MANIFEST_FILE}: cannot be read as a manifest") from error
    if not well_formed or not isinstance(content.get("notebook"), str):
        raise ReportError(f"{folder.name}/{MANIFEST_FILE}: cannot be read as a manifest")
    return dict(content)


def verify(folder: Path) -> Differences:
    """Hash every file of a report again and compare it with its manifest.

    The notebook of a failed later run may stand beside a report; it is ours and no difference.

    Raises:
        ReportError: the folder or its manifest is missing or cannot be read.
    """
    manifest = read_manifest(folder)
    listed = {entry["path"]: entry for entry in manifest["files"]}
    present = set(files_below(folder)) - {MANIFEST_FILE, manifest["notebook"] + FAILED_SUFFIX}
    changed = (path for path in present & set(listed) if _differs(folder, path, listed[path]))
    return Differences(
        missing=_sorted(set(listed) - present),
        changed=_sorted(changed),
        extra=_sorted(present - set(listed)),
        file_count=len(listed),
    )


def _sorted(paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(paths))


def _differs(folder: Path, path: str, listed: Mapping[str, Any]) -> bool:
    if (folder / path).is_symlink():
        return True
    try:
        return _entry(folder, path) != {name: listed[name] for name in ("path", "size", "sha256")}
    except OSError:
        return True


def _entry(folder: Path, path: str) -> dict[str, Any]:
    digest, size = hashlib.sha256(), 0
    with (folder / path).open("rb") as stream:
        while block := stream.read(_DIGEST_BLOCK):
            digest.update(block)
            size += len(block)
    return {"path": path, "size": size, "sha256": digest.hexdigest()}
