"""What every source returns: the runs of a matrix, what was noticed, and how the input was recognised."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from shellbench_lib.findings import Finding
from shellbench_lib.params import Override, ReportParameters
from shellbench_lib.records import RunRecord

SourceKind = Literal["native", "harbor", "aggregate"]


@dataclass(frozen=True, slots=True)
class SourceSettings:
    """The parameters that decide how an input is read; meanings in `ReportParameters`."""

    overrides: tuple[Override, ...] = ()
    merge_jobs: bool = False
    expected_task_count: int | None = None
    reward_key: str = "reward"

    @classmethod
    def of(cls, parameters: ReportParameters) -> SourceSettings:
        """Return the reading part of the report parameters."""
        return cls(
            overrides=tuple(parameters.overrides),
            merge_jobs=parameters.merge_jobs,
            expected_task_count=parameters.expected_task_count,
            reward_key=parameters.reward_key,
        )


@dataclass(slots=True)
class Matrix:
    """The runs as recorded. `description` is the sentence that says what the input was recognised as."""

    kind: SourceKind
    description: str
    runs: list[RunRecord] = field(default_factory=list)
    findings: Sequence[Finding] = ()
    input_sha256: str = ""
