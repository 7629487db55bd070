"""Condition fields that a source does not record, given by the analyst for the runs whose path matches a glob."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from shellbench_lib.findings import Finding
from shellbench_lib.params import Override
from shellbench_lib.records import Condition


class OverrideRules:
    """The overrides of a report, applied in order; a later one wins over an earlier one.

    `*` in a glob also crosses `/`, so `job-a*` matches everything below a folder whose name starts so.
    """

    def __init__(self, overrides: Sequence[Override]) -> None:
        self._overrides = overrides
        self._used: set[int] = set()

    def apply(self, condition: Condition, run_path: str) -> Condition:
        """Return the condition with every matching override's fields set."""
        for index, override in enumerate(self._overrides):
            if fnmatchcase(run_path, override.match):
                self._used.add(index)
                condition = replace(condition, **override.set)
        return condition

    def unused(self) -> list[Finding]:
        """Return a finding for each override that matched nothing."""
        return [
            Finding("override_unused", field="overrides", message=f"{override.match!r} matches no run path")
            for index, override in enumerate(self._overrides)
            if index not in self._used
        ]
