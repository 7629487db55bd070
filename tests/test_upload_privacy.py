"""The proof as a whole: the calls it makes, what each answer leads to, and that nothing but full evidence is enough."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from botocore.exceptions import EndpointConnectionError, ReadTimeoutError
from hypothesis import given, settings
from hypothesis import strategies as st
from upload_stubs import ACCOUNT, ALL_OFF, ALL_ON, DESTINATION, GOOD, OTHER_ACCOUNT, OWNER_ONLY, REGION, StubSession

from shellbench_lib.upload.privacy import CHECKS, prove_private

SHARED_CASES = Path(__file__).resolve().parents[1].parent / "shared" / "cases"


def policy(principal: object, *, effect: str = "Allow") -> dict:
    statement = {"Effect": effect, "Principal": principal, "Action": "s3:GetObject", "Resource": "*"}
    return {"Policy": json.dumps({"Version": "2012-10-17", "Statement": [statement]})}


OWN_ROLE = f"arn:aws:iam::{ACCOUNT}:role/runner"
NOT_PUBLIC = {"PolicyStatus": {"IsPublic": False}}
TIMEOUT = ReadTimeoutError(endpoint_url="https://example.invalid")
FAULTS = {
    "denied": "AccessDenied",
    "501": "NotImplemented",
    "301": "PermanentRedirect",
    "throttled": "SlowDown",
    "no bucket": "NoSuchBucket",
    "expired": "ExpiredToken",
    "timeout": TIMEOUT,
    "no connection": EndpointConnectionError(endpoint_url="https://example.invalid"),
    "empty": {},
    "unforeseen": RuntimeError("boom"),
}
PUBLIC = {
    "get_caller_identity": [{"Account": OTHER_ACCOUNT}, {"Account": int(ACCOUNT)}],
    "head_bucket": [
        "403",
        "404",
        {"BucketRegion": REGION, "AccessPointAlias": True},
        {"BucketRegion": REGION, "AccessPointAlias": "false"},
        {"BucketRegion": REGION, "BucketLocationType": "AvailabilityZone"},
        {"BucketRegion": ""},
        {"BucketRegion": 7},
    ],
    "get_public_access_block": [
        "NoSuchPublicAccessBlockConfiguration",
        {"PublicAccessBlockConfiguration": {}},
        {"PublicAccessBlockConfiguration": [True] * 4},
        {"PublicAccessBlockConfiguration": {**ALL_ON, "SomethingNew": True}},
        *({"PublicAccessBlockConfiguration": {**ALL_ON, flag: value}} for flag in ALL_ON for value in (False, "true", 1, None)),
        *({"PublicAccessBlockConfiguration": {k: True for k in ALL_ON if k != flag}} for flag in ALL_ON),
    ],
    "account_block": [{"PublicAccessBlockConfiguration": {**ALL_ON, "IgnorePublicAcls": "true"}}],
    "get_bucket_policy_status": [
        {"PolicyStatus": {}},
        {"PolicyStatus": {"IsPublic": True}},
        {"PolicyStatus": {"IsPublic": "false"}},
        {"PolicyStatus": {"IsPublic": 0}},
        {"PolicyStatus": []},
    ],
    "get_bucket_acl": [
        {"Owner": {"ID": "owner-id"}, "Grants": []},
        {"Grants": OWNER_ONLY["Grants"]},
        {"Owner": {"ID": ""}, "Grants": [{"Grantee": {"Type": "CanonicalUser", "ID": ""}, "Permission": "READ"}]},
        {**OWNER_ONLY, "Grants": [*OWNER_ONLY["Grants"], {"Grantee": {"Type": "CanonicalUser", "ID": "x"}, "Permission": "READ"}]},
        {**OWNER_ONLY, "Grants": [{"Grantee": {"Type": "CanonicalUser", "ID": "owner-id"}, "Permission": "NEW"}]},
        {**OWNER_ONLY, "Grants": [{"Grantee": {"Type": "AmazonCustomerByEmail", "EmailAddress": "a@example.org"}, "Permission": "READ"}]},
        *(
            {**OWNER_ONLY, "Grants": [*OWNER_ONLY["Grants"], {"Grantee": {"Type": "Group", "URI": uri}, "Permission": "READ"}]}
            for uri in (
                "http://acs.amazonaws.com/groups/global/AllUsers",
                "http://acs.amazonaws.com/groups/global/AuthenticatedUsers",
                "http://acs.amazonaws.com/groups/s3/LogDelivery",
                "http://acs.amazonaws.com/groups/global/allusers",
                "",
            )
        ),
    ],
    "get_bucket_replication": [
        {"ReplicationConfiguration": {"Rules": [{"Status": "Disabled"}, {"Status": "Enabled", "Destination": {"Bucket": "b"}}]}},
        {"ReplicationConfiguration": {"Rules": [{"Status": "enabled"}]}},
        {"ReplicationConfiguration": {"Rules": []}},
        {"ReplicationConfiguration": {}},
    ],
    "get_bucket_website": [{"IndexDocument": {"Suffix": "index.html"}}, {"RedirectAllRequestsTo": {"HostName": "example.org"}}],
}  # fmt: skip
REQUIRED_CALLS = (
    "get_caller_identity", "head_bucket", "get_public_access_block", "get_bucket_policy_status", "get_bucket_policy",
    "get_bucket_acl", "get_bucket_replication",
)  # fmt: skip
SUPPORTING_CALLS = {
    "get_bucket_ownership_controls": "ownership",
    "get_bucket_website": "website",
    "list_access_points": "access_points",
    "list_multi_region_access_points": "multi_region_access_points",
}


def prove(*, strict=False, more=None, **answers):
    session = StubSession().script(more=more, **answers)
    proof = prove_private(session, DESTINATION, strict=strict)
    assert session.left() == [], "every check is asked, also after one that failed"
    return proof


def verdicts(proof):
    return {check.kind.name: check.verdict for check in proof.checks}


def test_a_bucket_with_all_evidence_is_private_and_every_check_is_listed_in_order():
    proof = prove(strict=True)
    assert proof.private
    assert [check.kind for check in proof.checks] == list(CHECKS)
    assert set(verdicts(proof).values()) == {"proved"}
    assert proof.region == REGION


@pytest.mark.parametrize(
    ("operation", "fault"),
    [
        (operation, name)
        for operation in REQUIRED_CALLS
        for name in FAULTS
        if (operation, name) != ("get_public_access_block", "denied")
    ],
)
def test_a_required_call_that_brings_no_answer_refuses(operation, fault):
    account_covers = {"account_block": {"PublicAccessBlockConfiguration": ALL_ON}}
    proof = prove(**{**account_covers, operation: FAULTS[fault]})
    assert not proof.private
    assert len(proof.checks) == len(CHECKS)


@pytest.mark.parametrize(
    ("operation", "answer"), [(op, answer) for op, answers in PUBLIC.items() for answer in answers]
)
def test_an_exposed_or_malformed_answer_refuses(operation, answer):
    proof = prove(**{operation: answer})
    assert not proof.private
    assert "refused" in verdicts(proof).values()


@pytest.mark.parametrize("operation", SUPPORTING_CALLS)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_supporting_call_without_an_answer_is_not_checked_and_refuses_in_strict_mode(operation, fault):
    relaxed = prove(**{operation: FAULTS[fault]})
    assert relaxed.private
    assert verdicts(relaxed)[SUPPORTING_CALLS[operation]] == "not checked"
    strict = prove(strict=True, **{operation: FAULTS[fault]})
    assert not strict.private
    assert strict.refused == (SUPPORTING_CALLS[operation],)


@pytest.mark.parametrize(
    ("bucket", "account", "private"),
    [
        (ALL_ON, ALL_OFF, True),
        (ALL_OFF, ALL_ON, True),
        ("NoSuchPublicAccessBlockConfiguration", ALL_ON, True),
        ("AccessDenied", ALL_ON, True),
        (ALL_ON, "AccessDenied", True),
        ({**ALL_ON, "BlockPublicAcls": False}, {**ALL_OFF, "BlockPublicAcls": True}, True),
        ({**ALL_ON, "BlockPublicAcls": False}, {**ALL_ON, "BlockPublicAcls": False}, False),
        ("AccessDenied", "AccessDenied", False),
        ("AccessDenied", "NoSuchPublicAccessBlockConfiguration", False),
        ("NotImplemented", ALL_ON, False),
        (ALL_ON, "NotImplemented", False),
        (ALL_ON, "SlowDown", False),
    ],
)
def test_the_block_in_force_is_that_of_bucket_or_account(bucket, account, private):
    def answer(flags):
        return flags if isinstance(flags, str) else {"PublicAccessBlockConfiguration": flags}

    proof = prove(get_public_access_block=answer(bucket), account_block=answer(account))
    assert proof.private is private
    assert verdicts(proof)["public_access_block"] == ("proved" if private else "refused")


@pytest.mark.parametrize(
    ("principal", "private"),
    [
        ({"AWS": ACCOUNT}, True),
        ({"AWS": f"arn:aws:iam::{ACCOUNT}:root"}, True),
        ({"AWS": [OWN_ROLE, f"arn:aws:sts::{ACCOUNT}:assumed-role/runner/session"]}, True),
        ("*", False),
        ({"AWS": "*"}, False),
        ({"AWS": [OWN_ROLE, "*"]}, False),
        ({"AWS": OTHER_ACCOUNT}, False),
        ({"AWS": f"arn:aws:iam::{OTHER_ACCOUNT}:root"}, False),
        ({"AWS": f"arn:aws:iam::{ACCOUNT}:role/*"}, False),
        ({"AWS": "AIDAEXAMPLEEXAMPLE"}, False),
        ({"Service": "cloudfront.amazonaws.com"}, False),
        ({"AWS": OWN_ROLE, "Service": "logging.s3.amazonaws.com"}, False),
        ({"Federated": "accounts.example.org"}, False),
        ({"CanonicalUser": "owner-id"}, False),
        ({"AWS": []}, False),
        ({}, False),
        (None, False),
    ],
)
def test_only_the_expected_account_may_be_named_by_an_allow(principal, private):
    proof = prove(get_bucket_policy_status=NOT_PUBLIC, get_bucket_policy=policy(principal))
    assert proof.private is private
    assert verdicts(proof)["policy_principals"] == ("proved" if private else "refused")


@pytest.mark.parametrize(
    "text",
    [
        "<html>", "{}", "[]", "null", '{"Statement": []}', '{"Statement": [7]}', '{"Statement": [{"Effect": "Allow"}]}',
        '{"Statement": {"Effect": "Allow", "NotPrincipal": {"AWS": "' + ACCOUNT + '"}}}',
        '{"Statement": {"effect": "Allow", "Principal": "*"}}',
        '{"Statement": {"Effect": "Maybe", "Principal": {"AWS": "' + ACCOUNT + '"}}}',
        '{"Statement": [{"Effect": "Deny", "Principal": "*", "Principal": "*"}]}',
        '{"Statement": [{"Effect": "Deny"}], "Unknown": 1}',
        '{"Statement": {"Effect": "Deny", "Principal": "*", "Unknown": 1}}',
        '{"Statement": {"Effect": "Allow", "Principal": {"AWS": "' + ACCOUNT + '"}, "principal": "*"}}',
        "[" * 100_000,
    ],
)  # fmt: skip
def test_a_policy_that_is_not_understood_refuses(text):
    assert not prove(get_bucket_policy_status=NOT_PUBLIC, get_bucket_policy={"Policy": text}).private


def test_a_deny_for_everyone_is_no_exposure():
    answers = {"get_bucket_policy_status": NOT_PUBLIC, "get_bucket_policy": policy("*", effect="Deny")}
    assert prove(**answers).private


def test_status_and_text_of_a_policy_that_contradict_each_other_refuse():
    assert not prove(get_bucket_policy_status=NOT_PUBLIC).private
    assert not prove(get_bucket_policy=policy({"AWS": ACCOUNT})).private


@pytest.mark.parametrize(
    ("setting", "verdict"),
    [
        ({"OwnershipControls": {"Rules": [{"ObjectOwnership": "ObjectWriter"}]}}, "not checked"),
        ("OwnershipControlsNotFoundError", "not checked"),
        ({"OwnershipControls": {}}, "not checked"),
    ],
)
def test_live_access_control_lists_are_said_and_refused_where_a_grant_goes_beyond_the_owner(setting, verdict):
    assert verdicts(prove(get_bucket_ownership_controls=setting))["ownership"] == verdict
    if setting != {"OwnershipControls": {}}:
        grants = PUBLIC["get_bucket_acl"][3]
        proof = prove(get_bucket_ownership_controls=setting, get_bucket_acl=grants)
        assert proof.refused == ("acl", "ownership")


POINT = {"Name": "door", "NetworkOrigin": "Internet", "Bucket": DESTINATION.bucket}
GUARDED = {**POINT, "PublicAccessBlockConfiguration": ALL_ON}
OPEN = {**POINT, "PublicAccessBlockConfiguration": {**ALL_ON, "BlockPublicPolicy": False}}
DOOR = {"Name": "door"}


@pytest.mark.parametrize(
    ("replies", "verdict"),
    [
        ([GUARDED, "NoSuchAccessPointPolicy"], "proved"),
        ([GUARDED, NOT_PUBLIC], "proved"),
        ([GUARDED, {"PolicyStatus": {"IsPublic": True}}], "refused"),
        ([GUARDED, {"PolicyStatus": {}}], "not checked"),
        ([GUARDED, "AccessDenied"], "not checked"),
        (["AccessDenied", NOT_PUBLIC], "not checked"),
        ([{**OPEN, "NetworkOrigin": "VPC"}, NOT_PUBLIC], "proved"),
        ([OPEN, NOT_PUBLIC, policy({"AWS": OTHER_ACCOUNT})], "refused"),
        ([OPEN, NOT_PUBLIC, policy({"AWS": ACCOUNT})], "proved"),
        ([OPEN, NOT_PUBLIC, "AccessDenied"], "not checked"),
    ],
)
def test_access_points(replies, verdict):
    operations = ("get_access_point", "get_access_point_policy_status", "get_access_point_policy")
    more = {"list_access_points": [(op, reply, DOOR) for op, reply in zip(operations, replies, strict=False)]}
    proof = prove(list_access_points={"AccessPointList": [POINT]}, more=more)
    assert verdicts(proof)["access_points"] == verdict
    assert proof.private is (verdict != "refused")


def test_every_page_of_access_points_is_read_and_exposure_on_the_last_one_decides():
    more = {
        "list_access_points": [
            ("get_access_point", GUARDED, DOOR),
            ("get_access_point_policy_status", "AccessDenied", DOOR),
            ("list_access_points", {"AccessPointList": [POINT]}, {"Bucket": DESTINATION.bucket, "NextToken": "2"}),
            ("get_access_point", GUARDED, DOOR),
            ("get_access_point_policy_status", {"PolicyStatus": {"IsPublic": True}}, DOOR),
        ]
    }
    proof = prove(list_access_points={"AccessPointList": [POINT], "NextToken": "2"}, more=more)
    assert proof.refused == ("access_points",)


@pytest.mark.parametrize(
    ("bucket", "status", "verdict"),
    [
        ("another-bucket", None, "proved"),
        (DESTINATION.bucket, {"Established": {"IsPublic": False}}, "proved"),
        (DESTINATION.bucket, {"Established": {"IsPublic": True}}, "refused"),
        (DESTINATION.bucket, {"Established": {}}, "not checked"),
        (DESTINATION.bucket, "AccessDenied", "not checked"),
        (DESTINATION.bucket, "NoSuchMultiRegionAccessPointPolicy", "proved"),
    ],
)
def test_multi_region_access_points(bucket, status, verdict):
    points = {"AccessPoints": [{"Name": "wide", "Regions": [{"Bucket": bucket, "Region": REGION}]}]}
    follow_up = [] if status is None else [("get_multi_region_access_point_policy_status", status, {"Name": "wide"})]
    proof = prove(list_multi_region_access_points=points, more={"list_multi_region_access_points": follow_up})
    assert verdicts(proof)["multi_region_access_points"] == verdict


def test_what_is_shown_names_no_bucket_account_or_principal():
    answers = dict.fromkeys(GOOD, "AccessDenied")
    for proof in (
        prove(),
        prove(**answers),
        prove(get_bucket_policy_status=NOT_PUBLIC, get_bucket_policy=policy({"AWS": OTHER_ACCOUNT})),
    ):
        shown = repr(proof) + " ".join(f"{check.evidence} {check.codes}" for check in proof.checks)
        for private in (DESTINATION.bucket, ACCOUNT, OTHER_ACCOUNT, "somebody"):
            assert private not in shown
    assert DESTINATION.bucket in prove(**answers).checks[1].detail, "the receipt holds the whole message"


def test_a_proof_that_lacks_a_required_check_or_the_region_is_none():
    whole = prove()
    assert not replace(whole, checks=()).private
    assert not replace(whole, region="").private
    for missing in whole.checks:
        rest = replace(whole, checks=tuple(check for check in whole.checks if check is not missing))
        assert rest.private is not missing.kind.required


def test_clients_of_the_buckets_own_region_are_asked():
    session = StubSession().script()
    assert prove_private(session, DESTINATION, strict=False).region == REGION
    assert ("s3", REGION) in session.clients


@pytest.mark.skipif(not SHARED_CASES.is_dir(), reason="the public cases are not beside the project")
def test_every_published_scenario_gets_its_verdict():
    scenarios = json.loads((SHARED_CASES / "F01-is-the-bucket-private" / "scenarios.json").read_text())
    grants = {
        "owner-only": OWNER_ONLY,
        "AllUsers READ": PUBLIC["get_bucket_acl"][6],
        "AuthenticatedUsers READ": PUBLIC["get_bucket_acl"][7],
        "AccessDenied": "AccessDenied",
    }
    for scenario in scenarios:
        block, status = scenario["get_public_access_block"], scenario["get_bucket_policy_status"]
        answers = {
            "get_public_access_block": block if isinstance(block, str) else {"PublicAccessBlockConfiguration": block},
            "get_bucket_policy_status": status if isinstance(status, str) else {"PolicyStatus": status},
            "get_bucket_acl": grants[scenario["get_bucket_acl"]],
        }
        if status != "NoSuchBucketPolicy":
            answers["get_bucket_policy"] = policy({"AWS": ACCOUNT})
        if scenario["name"] == "other-account":
            answers["head_bucket"] = "403"
        proof = prove(**answers)
        assert proof.private is (scenario["verdict"] == "allow"), scenario["name"]
    assert len(scenarios) >= 19


ANSWERS = {operation: [GOOD[operation], *FAULTS.values(), *PUBLIC.get(operation, [])] for operation in GOOD}


@settings(max_examples=120, deadline=None)
@given(
    st.fixed_dictionaries({operation: st.sampled_from(range(len(answers))) for operation, answers in ANSWERS.items()})
)
def test_no_sequence_of_answers_without_all_the_evidence_is_private(choice):
    proof = prove(**{operation: ANSWERS[operation][index] for operation, index in choice.items()})
    complete = all(choice[operation] == 0 for operation in REQUIRED_CALLS)
    assert not proof.private or complete
