"""Parity with Harbor: one status per way of claiming it."""

import json

import pytest

from shellbench_lib.parity import parity_of
from shellbench_lib.records import Condition, ParityRecord, RunRecord

VALUES = {
    "harness": "codex",
    "model_slug": "gpt55",
    "model_id": "lab/gpt-5.5",
    "provider_model_id": None,
    "execution_mode": "native",
    "task_suite": "core",
    "expected_task_count": 20,
}
SCOPE = {"harness": "codex", "model_slug": "gpt55"}


def parity(harness="codex", slug="gpt55", count=20, *, native=True, **record):
    return parity_of(
        RunRecord(
            "r", "r", "native", Condition(harness=harness, model_slug=slug), expected_task_count=count,
            native_runner=native, parity=ParityRecord(manifest_values=VALUES, **record),
        )
    )  # fmt: skip


def shown(found):
    return found.validated, found.status, json.loads(found.scope) if found.scope else None


def test_a_run_that_is_not_native_needs_none():
    assert shown(parity(native=False, legacy_validated=False)) == (True, "not_required", None)


@pytest.mark.parametrize(
    ("scope", "expected"),
    [
        (SCOPE, (True, "validated")),
        (SCOPE | {"expected_task_count": 20}, (True, "validated")),
        (SCOPE | {"expected_task_count": "20"}, (True, "validated")),
        (SCOPE | {"expected_task_count": [10, 20]}, (True, "validated")),
        (SCOPE | {"harness": ["claude-code", "codex"]}, (True, "validated")),
        ({"harness": "codex", "model_id": "lab/gpt-5.5"}, (True, "validated")),
        (SCOPE | {"expected_task_count": 21}, (False, "scope_mismatch")),
        (SCOPE | {"task_suite": "other"}, (False, "scope_mismatch")),
        (SCOPE | {"harness": []}, (False, "scope_incomplete")),
        ({"model_slug": "gpt55"}, (False, "scope_incomplete")),
        ({"harness": "codex", "task_suite": "core"}, (False, "scope_incomplete")),
        ({}, (False, "scope_incomplete")),
        (SCOPE | {"planet": "Mars"}, (False, "scope_unsupported")),
    ],
)
def test_a_scope_is_compared_with_the_manifest(scope, expected):
    found = parity(validation={"validated": True, "scope": scope, "notes": "n"})
    assert shown(found)[:2] == expected
    assert json.loads(found.scope) == scope


@pytest.mark.parametrize("scope", ["all", 5, None, ["codex"]])
def test_a_scope_that_is_no_object_is_invalid(scope):
    assert shown(parity(validation={"validated": True, "scope": scope})) == (False, "scope_invalid", None)


@pytest.mark.parametrize("claim", [False, None, "true", 1])
def test_a_claim_that_is_not_true_is_not_validated(claim):
    assert shown(parity(validation={"validated": claim, "scope": SCOPE}))[:2] == (False, "not_validated")
    assert shown(parity(legacy_validated=claim))[:2] == (False, "not_validated")
    assert shown(parity(scope=SCOPE, legacy_validated=claim))[:2] == (False, "not_validated")


def test_the_scope_is_taken_from_its_first_place():
    own = {"validated": True, **SCOPE, "evidence": "e", "notes": "n"}
    assert shown(parity(validation=own)) == (True, "validated", SCOPE)
    assert shown(parity(validation={"validated": True, "evidence": "e"}, scope=SCOPE)) == (True, "validated", SCOPE)
    assert shown(parity(scope=SCOPE, legacy_validated=True)) == (True, "validated", SCOPE)
    both = parity(validation={"validated": True, "scope": SCOPE, "harness": "other"}, scope={"harness": "third"})
    assert shown(both) == (True, "validated", SCOPE)


@pytest.mark.parametrize(
    ("harness", "slug", "count", "expected"),
    [
        ("codex", "gpt55", 20, (True, "legacy_route_compatible")),
        ("codex", "gpt55", 116, (False, "legacy_scope_mismatch")),
        ("codex", "gpt56", 20, (False, "legacy_unscoped")),
        ("openclaw", "gpt55", 20, (False, "legacy_unscoped")),
    ],
)
def test_a_bare_claim_holds_for_one_route_only(harness, slug, count, expected):
    found = parity(harness, slug, count, legacy_validated=True)
    assert (found.validated, found.status) == expected
    assert bool(found.scope) == (expected[1] != "legacy_unscoped")


def test_the_scope_is_written_as_compact_sorted_json():
    assert parity(validation={"validated": True, "scope": dict(reversed(SCOPE.items()))}).scope == (
        '{"harness":"codex","model_slug":"gpt55"}'
    )


def test_a_scope_that_no_writer_takes_stops_nothing():
    deep = []
    for _ in range(900):
        deep = [deep]
    for value in (deep, 10**30):
        found = parity(validation={"validated": True, "scope": SCOPE | {"task_suite": value}})
        assert shown(found) == (False, "scope_mismatch", None)
