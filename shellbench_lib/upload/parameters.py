"""What an upload can be told: the run, how careful, how fast. Never where to: the destination is no parameter.

The bucket, the expected account and the encryption key come from the environment (`settings`), the credentials from
the standard chain of AWS alone, so a parameters file can be committed and shared.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from shellbench_lib.params import check_values

SAMPLE_BUNDLE = "sample"
SecretsMode = Literal["refuse", "report"]
FINGERPRINT = re.compile(r"[0-9a-f]{16}")
_MATRIX_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
# S3 takes no part below 5 MiB except the last, and at most 5 GiB in one; above 1 GiB a retry costs more than it saves.
SMALLEST_PART_MIB, LARGEST_PART_MIB = 5, 1024


class UploadParameters(BaseModel):
    """All parameters of the upload notebook with their defaults."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    run_dir: Annotated[
        str, Field(min_length=1, description="The run's folder; `sample` is a built-in one, dry run only")
    ]
    dry_run: Annotated[bool, Field(description="True: show everything that would happen and write nothing")] = True
    workers: Annotated[int, Field(ge=1, le=32, description="Files, and parts of large files, handled at once")] = 4
    secrets: Annotated[
        SecretsMode,
        Field(description="`refuse`: a credential in the bundle stops the run; `report`: it is only listed"),
    ] = "refuse"
    allow_findings: Annotated[
        list[str], Field(description="Fingerprints of findings that were reviewed and are no real credentials")
    ] = []
    part_size_mib: Annotated[
        int,
        Field(
            ge=SMALLEST_PART_MIB,
            le=LARGEST_PART_MIB,
            description="Files larger than this go in parts of this many MiB",
        ),
    ] = 64
    strict: Annotated[bool, Field(description="True: the supporting privacy checks are required too")] = False
    matrix_name: Annotated[str, Field(description="Name of the folder under outputs/ for the executed notebook")]

    @field_validator("matrix_name")
    @classmethod
    def _plain_name(cls, value: str) -> str:
        if not _MATRIX_NAME.fullmatch(value):
            raise ValueError("must be one plain folder name: letters, digits, dot, underscore and hyphen")
        return value

    @field_validator("allow_findings")
    @classmethod
    def _fingerprints(cls, value: list[str]) -> list[str]:
        for text in value:
            if not FINGERPRINT.fullmatch(text):
                raise ValueError("each must be a fingerprint as the findings table shows it: 16 hexadecimal digits")
        return sorted(set(value))

    @property
    def output_folder(self) -> str:
        """Where the executed notebook goes, relative to the project root."""
        return f"outputs/{self.matrix_name}"

    @property
    def part_size(self) -> int:
        """Bytes of one part."""
        return self.part_size_mib * 1024 * 1024


def check_upload_parameters(values: Mapping[str, Any], *, source: str = "parameters") -> UploadParameters:
    """Return the typed upload parameters; raises ParameterError as `check_values` does."""
    checked = check_values(UploadParameters, values, source=source)
    assert isinstance(checked, UploadParameters)
    return checked
