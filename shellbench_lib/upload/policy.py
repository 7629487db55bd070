"""Whom does a resource policy let in? Only the expected account may be named by an Allow.

S3's own word `IsPublic = false` leaves out named other accounts and service principals, and a content delivery
network that is let in serves the world. So the policy's text is read as well: whatever is not understood counts as
foreign (IAM JSON policy grammar; names are compared exactly).
"""

from __future__ import annotations

import json
import re
from typing import Any

_STATEMENT_KEYS = frozenset(
    {"Sid", "Effect", "Principal", "NotPrincipal", "Action", "NotAction", "Resource", "NotResource", "Condition"}
)
_POLICY_KEYS = frozenset({"Version", "Id", "Statement"})
_OTHER_KINDS = {
    "Service": "an AWS service",
    "Federated": "a federation",
    "CanonicalUser": "an account by its canonical id",
}
_ARN = re.compile(
    r"arn:aws(?:-[a-z]+)*:(?:iam::([0-9]{12}):(?:root|(?:user|role)/[^*?]+)|sts::([0-9]{12}):assumed-role/[^*?]+)"
)


def foreign_access(text: object, account: str) -> str:
    """Return why a policy may let in somebody beyond the account; the empty text where it lets in nobody else."""
    if not isinstance(text, str):
        return "the policy is no text"
    try:
        policy = json.loads(text, object_pairs_hook=_no_repeats)
    except (ValueError, RecursionError):
        return "the policy is not valid JSON"
    if not isinstance(policy, dict) or not set(policy) <= _POLICY_KEYS:
        return "the policy has a form that is not known"
    statements = policy.get("Statement")
    listed = [statements] if isinstance(statements, dict) else statements
    if not isinstance(listed, list) or not listed:
        return "the policy has no statement"
    return next((reason for item in listed if (reason := _foreign_statement(item, account))), "")


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError
    return dict(pairs)


def _foreign_statement(statement: object, account: str) -> str:
    if not isinstance(statement, dict) or not set(statement) <= _STATEMENT_KEYS:
        return "a statement has a form that is not known"
    if statement.get("Effect") == "Deny":
        return ""
    if statement.get("Effect") != "Allow":
        return "a statement has an effect that is not known"
    if "NotPrincipal" in statement or "Principal" not in statement:
        return "an Allow names no principal, or everyone but some"
    return _foreign_principal(statement["Principal"], account)


def _foreign_principal(principal: object, account: str) -> str:
    if principal == "*":
        return "an Allow names everyone"
    if not isinstance(principal, dict) or not principal:
        return "an Allow names a principal of a form that is not known"
    for kind in principal:
        if kind != "AWS":
            return f"an Allow names {_OTHER_KINDS.get(kind, 'a principal of a kind that is not known')}"
    names = principal["AWS"] if isinstance(principal["AWS"], list) else [principal["AWS"]]
    if not names or not all(_belongs(name, account) for name in names):
        return "an Allow names a principal outside the expected account"
    return ""


def _belongs(name: object, account: str) -> bool:
    if not isinstance(name, str):
        return False
    match = _ARN.fullmatch(name)
    return name == account or (match is not None and account in match.groups())
