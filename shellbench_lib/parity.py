"""Whether a run's parity with Harbor is validated, and for which route. Reported, never a gate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson

from shellbench_lib.records import ParityRecord, RunRecord
from shellbench_lib.sources.values import text, whole

SCOPE_KEYS = frozenset(
    {"harness", "model_slug", "model_id", "provider_model_id", "execution_mode", "task_suite", "expected_task_count"}
)
_MODEL_KEYS = ("model_slug", "model_id", "provider_model_id")
_NOT_SCOPE = frozenset({"validated", "evidence", "notes"})
# Before scopes existed, one route alone had been compared with Harbor.
_LEGACY_ROUTE = ("codex", "gpt55")
_LEGACY_TASK_COUNT = 20


@dataclass(frozen=True, slots=True)
class Parity:
    """Whether parity is validated, the status that says why, and the scope as compact JSON (empty: none)."""

    validated: bool
    status: str
    scope: str = ""


def parity_of(run: RunRecord) -> Parity:  # noqa: PLR0911 - one return per status
    """Return a run's parity; a run that is not native needs none."""
    if not run.native_runner:
        return Parity(True, "not_required")
    record = run.parity
    if isinstance(record.validation, dict):
        return _scoped(record, record.validation.get("validated") is True, _declared_scope(record))
    if record.scope is not None:
        return _scoped(record, record.legacy_validated is True, record.scope)
    if record.legacy_validated is not True:
        return Parity(False, "not_validated")
    if (run.condition.harness, run.condition.model_slug) != _LEGACY_ROUTE:
        return Parity(False, "legacy_unscoped")
    if run.expected_task_count != _LEGACY_TASK_COUNT:
        return Parity(False, "legacy_scope_mismatch", _compact(_legacy_scope()))
    return Parity(True, "legacy_route_compatible", _compact(_legacy_scope()))


def _legacy_scope() -> dict[str, Any]:
    harness, model = _LEGACY_ROUTE
    return {"harness": harness, "model_slug": model, "expected_task_count": _LEGACY_TASK_COUNT}


def _declared_scope(record: ParityRecord) -> Any:
    assert isinstance(record.validation, dict)
    if "scope" in record.validation:
        return record.validation["scope"]
    rest = {key: value for key, value in record.validation.items() if key not in _NOT_SCOPE}
    return rest or record.scope


def _compact(scope: Any) -> str:
    """Return the scope as it is shown; empty for one that no JSON writer takes (too deep, numbers beyond 64 bits)."""
    try:
        return orjson.dumps(scope, option=orjson.OPT_SORT_KEYS).decode()
    except orjson.JSONEncodeError:
        return ""


def _scoped(record: ParityRecord, validated: bool, scope: Any) -> Parity:  # noqa: FBT001 - a fact, not a switch
    if not validated:
        return Parity(False, "not_validated", _compact(scope) if isinstance(scope, dict) else "")
    if not isinstance(scope, dict):
        return Parity(False, "scope_invalid")
    shown = _compact(scope)
    if not scope.get("harness") or not any(scope.get(key) for key in _MODEL_KEYS):
        return Parity(False, "scope_incomplete", shown)
    if set(scope) - SCOPE_KEYS:
        return Parity(False, "scope_unsupported", shown)
    if not all(_agrees(wanted, record.manifest_values.get(key)) for key, wanted in scope.items()):
        return Parity(False, "scope_mismatch", shown)
    return Parity(True, "validated", shown)


def _agrees(wanted: Any, actual: Any) -> bool:
    return any(_same(one, actual) for one in (wanted if isinstance(wanted, list) else [wanted]))


def _same(wanted: Any, actual: Any) -> bool:
    if isinstance(wanted, int) and not isinstance(wanted, bool):
        return whole(actual) == wanted
    return not isinstance(wanted, dict | list) and text(wanted) == text(actual)
