"""The parameters of a report, checked against one typed model before a kernel starts.

A YAML file is read without YAML's own guesses about text: `007`, `no`, `7e10` and `2026-08-01` stay what they look
like where a text is wanted, and are refused where a number or a truth value is wanted and they are none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from shellbench_lib.conditions import SPLIT_FIELDS
from shellbench_lib.errors import ParameterError

SAMPLE_MATRIX = "sample"
MissingReward = Literal["zero", "exclude"]
OVERRIDE_FIELDS = frozenset(
    {
        "harness", "harness_version", "tool_mode", "model_slug", "model_id", "model_provider", "reasoning_effort",
        "judge_model_id", "judge_reasoning_effort", "task_revision", "task_suite",
    }
)  # fmt: skip
_MATRIX_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class Override(BaseModel):
    """Condition fields that a source does not record, for the runs whose path matches a glob."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    match: Annotated[str, Field(min_length=1)]
    set: dict[str, str]

    @field_validator("set")
    @classmethod
    def _known_fields(cls, value: dict[str, str]) -> dict[str, str]:
        unknown = sorted(set(value) - OVERRIDE_FIELDS)
        if unknown or not value:
            known = ", ".join(sorted(OVERRIDE_FIELDS))
            raise ValueError(f"unknown field {', '.join(unknown) or '(none given)'}; known fields: {known}")
        return value


class ReportParameters(BaseModel):
    """All parameters of the matrix report with their defaults; design of each in docs/data-dictionary.md."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    matrix_path: Annotated[
        str, Field(min_length=1, description="Where the matrix is; `sample` is the built-in one")
    ] = SAMPLE_MATRIX
    matrix_name: Annotated[str, Field(description="Name of the folder under outputs/")]
    output_dir: Annotated[str, Field(description="Where results go; empty: outputs/<matrix_name>")] = ""
    missing_reward: Annotated[
        MissingReward,
        Field(description="`zero`: a trial without a reward scores 0; `exclude`: it is left out of cell means"),
    ] = "zero"
    high_variance_threshold: Annotated[
        float, Field(gt=0, le=1, description="Range or absolute delta that counts as large")
    ] = 0.5
    confidence_level: Annotated[float, Field(gt=0, lt=1, description="Level of every interval")] = 0.95
    bootstrap_resamples: Annotated[int, Field(ge=100, le=1_000_000, description="Resamples of the task bootstrap")] = (
        10_000
    )
    seed: Annotated[int, Field(ge=0, lt=2**63, description="Every random draw comes from it")] = 0
    top_tasks: Annotated[int, Field(ge=1, le=200, description="Rows of the highest-variance table and figure")] = 20
    narrow_share: Annotated[
        float, Field(gt=0, lt=1, description="Share of tasks whose removal must tie a narrow lead")
    ] = 0.1
    split_by: Annotated[list[str], Field(description="Extra condition fields that separate cells")] = []
    overrides: Annotated[list[Override], Field(description="Condition fields that a source does not record")] = []
    merge_jobs: Annotated[bool, Field(description="Harbor: pool trials of one condition over several jobs")] = False
    expected_task_count: Annotated[
        int | None, Field(ge=1, description="Task count for sources that do not declare one")
    ] = None
    generate_plots: Annotated[bool, Field(description="Draw the figures")] = True
    reward_key: Annotated[str, Field(min_length=1, description="The key read from a trial's rewards")] = "reward"
    cell_timeout: Annotated[int, Field(ge=1, description="Seconds one notebook cell may take")] = 600

    @field_validator("matrix_name")
    @classmethod
    def _plain_name(cls, value: str) -> str:
        if not _MATRIX_NAME.fullmatch(value):
            raise ValueError("must be one plain folder name: letters, digits, dot, underscore and hyphen")
        return value

    @field_validator("split_by")
    @classmethod
    def _splittable(cls, value: list[str]) -> list[str]:
        unknown = sorted(set(value) - SPLIT_FIELDS)
        if unknown:
            raise ValueError(f"cannot split by {', '.join(unknown)}; possible: {', '.join(sorted(SPLIT_FIELDS))}")
        return sorted(set(value))

    @property
    def output_folder(self) -> str:
        """Where results go, relative to the project root when the default is taken."""
        return self.output_dir or f"outputs/{self.matrix_name}"


class _TextLoader(yaml.SafeLoader):
    """YAML 1.2's core guesses only: plain decimal numbers, true/false, null; everything else stays text."""


_TextLoader.yaml_implicit_resolvers = {}
for _tag, _pattern, _first in (
    ("tag:yaml.org,2002:bool", r"^(?:true|True|TRUE|false|False|FALSE)$", "tTfF"),
    ("tag:yaml.org,2002:null", r"^(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
    ("tag:yaml.org,2002:int", r"^[-+]?(?:0|[1-9][0-9]*)$", "-+0123456789"),
    ("tag:yaml.org,2002:float", r"^[-+]?(?:0|[1-9][0-9]*)?\.[0-9]+$", "-+.0123456789"),
):
    _TextLoader.add_implicit_resolver(_tag, re.compile(_pattern), list(_first))


def _unique_mapping(loader: _TextLoader, node: yaml.MappingNode) -> dict[Any, Any]:
    keys = [loader.construct_object(key) for key, _ in node.value]
    repeated = {str(key) for key in keys if keys.count(key) > 1}
    if repeated:
        raise yaml.YAMLError(f"the name {', '.join(sorted(repeated))} stands twice")
    return yaml.SafeLoader.construct_mapping(loader, node, deep=True)


def _whole_text(loader: _TextLoader, node: yaml.ScalarNode) -> str:
    """JSON, which is YAML too, writes a character outside the basic plane as two escapes."""
    text: str = yaml.SafeLoader.construct_scalar(loader, node)
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


_TextLoader.add_constructor("tag:yaml.org,2002:map", _unique_mapping)
_TextLoader.add_constructor("tag:yaml.org,2002:str", _whole_text)


def parse_yaml_value(text: str) -> Any:
    """Return the value that a text has in a parameters file (for `-p NAME VALUE`). Text that is no YAML stays text."""
    try:
        return yaml.load(text, Loader=_TextLoader)  # noqa: S506 - a safe loader with fewer guesses
    except yaml.YAMLError:
        return text


def read_parameters_file(path: Path) -> dict[str, Any]:
    """Return the names and values of a YAML parameters file.

    Raises:
        ParameterError: the file is missing, is not YAML, or is not a mapping of names to values.
    """
    try:
        value = yaml.load(path.read_text(encoding="utf-8"), Loader=_TextLoader)  # noqa: S506
    except (OSError, UnicodeDecodeError) as error:
        raise ParameterError(f"{path.name}: cannot be read ({type(error).__name__})") from error
    except yaml.YAMLError as error:
        raise ParameterError(f"{path.name}: not valid YAML: {' '.join(str(error).split())}") from error
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise ParameterError(f"{path.name}: must be a mapping of parameter names to values")
    return value


def check_values(model: type[BaseModel], values: Mapping[str, Any], *, source: str) -> BaseModel:
    """Return the typed parameters, every fault named.

    Raises:
        ParameterError: a name is unknown, a required one is missing or a value has the wrong kind. The message says
            which, where it stands (`source`), and lists the known names.
    """
    try:
        return model.model_validate(dict(values))
    except ValidationError as error:
        faults = []
        for fault in error.errors(include_url=False, include_input=False):
            name = ".".join(str(part) for part in fault["loc"])
            message = {"extra_forbidden": "unknown parameter", "missing": "must be given"}.get(fault["type"])
            faults.append(f"{name}: {message or fault['msg'].removeprefix('Value error, ')}")
        known = ", ".join(model.model_fields)
        raise ParameterError(f"{source}: {'; '.join(faults)}. Known parameters: {known}") from error


def check_parameters(values: Mapping[str, Any], *, source: str = "parameters") -> ReportParameters:
    """Return the typed report parameters; see `check_values`."""
    checked = check_values(ReportParameters, values, source=source)
    assert isinstance(checked, ReportParameters)
    return checked
