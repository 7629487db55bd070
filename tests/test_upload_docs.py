"""docs/s3-privacy.md says what the code does: every check, parameter, variable, permission and exit code."""

from __future__ import annotations

import json
import re
from pathlib import Path

from shellbench_lib import errors
from shellbench_lib.upload.parameters import UploadParameters
from shellbench_lib.upload.privacy import CHECKS
from shellbench_lib.upload.settings import KMS_VARIABLE, OWNER_VARIABLE, URI_VARIABLE

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "s3-privacy.md").read_text(encoding="utf-8")


def rows(header: str) -> list[list[str]]:
    (body,) = re.findall(rf"^\| {re.escape(header)} \|[^\n]*\n\|[ -|]*\n((?:\|[^\n]*\n)+)", PAGE, re.MULTILINE)
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in body.splitlines()]


def test_every_check_stands_there_with_its_question_need_and_permission():
    expected = [[f"`{c.name}`", "required" if c.required else "supporting", c.question, c.action] for c in CHECKS]
    assert rows("check") == expected


def test_every_parameter_stands_there_with_its_meaning():
    shown = {row[0].strip("`"): row[2] for row in rows("parameter")}
    assert shown == {name: field.description for name, field in UploadParameters.model_fields.items()}


def test_every_variable_and_exit_code_stands_there():
    assert [row[0].strip("`") for row in rows("environment variable")] == [URI_VARIABLE, OWNER_VARIABLE, KMS_VARIABLE]
    classes = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, Exception)]
    assert [int(row[0]) for row in rows("exit code")] == sorted({kind.exit_code for kind in classes})


def test_the_policies_grant_what_the_checks_need_and_nothing_that_could_open_the_bucket():
    prove, publish = (
        [s["Action"] for s in json.loads(text)["Statement"]]
        for text in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    )
    granted = {action for actions in prove for action in actions}
    needed = {action for check in CHECKS for action in check.action.split(", ") if action.startswith("s3:")}
    assert granted == needed
    writing = {action for actions in publish for action in ([actions] if isinstance(actions, str) else actions)}
    assert writing == {
        "s3:PutObject", "s3:GetObject", "s3:AbortMultipartUpload", "s3:ListMultipartUploadParts",
    }  # fmt: skip
