"""Scripted answers of AWS for the upload tests: botocore's Stubber, with the parameters of every call checked."""

from __future__ import annotations

import copy
import functools
from typing import Any

import boto3
from botocore import xform_name
from botocore.config import Config
from botocore.stub import Stubber

from shellbench_lib.upload.settings import Destination

ACCOUNT = "111122223333"
OTHER_ACCOUNT = "444455556666"
REGION = "eu-west-1"
DESTINATION = Destination(bucket="example-bucket", prefix="traces/run-1", account=ACCOUNT)
OF_BUCKET = {"Bucket": DESTINATION.bucket, "ExpectedBucketOwner": ACCOUNT}
OF_ACCOUNT = {"AccountId": ACCOUNT}
ALL_ON = dict.fromkeys(("BlockPublicAcls", "IgnorePublicAcls", "BlockPublicPolicy", "RestrictPublicBuckets"), True)
ALL_OFF = dict.fromkeys(ALL_ON, False)
OWNER_ONLY = {
    "Owner": {"ID": "owner-id"},
    "Grants": [{"Grantee": {"Type": "CanonicalUser", "ID": "owner-id"}, "Permission": "FULL_CONTROL"}],
}

# One answer for each call of the proof: a dict is an answer, a text an error code, an exception is raised.
GOOD: dict[str, Any] = {
    "get_caller_identity": {"Account": ACCOUNT, "Arn": f"arn:aws:iam::{ACCOUNT}:user/somebody", "UserId": "id"},
    "head_bucket": {"BucketRegion": REGION, "AccessPointAlias": False},
    "get_public_access_block": {"PublicAccessBlockConfiguration": ALL_ON},
    "account_block": "NoSuchPublicAccessBlockConfiguration",
    "get_bucket_policy_status": "NoSuchBucketPolicy",
    "get_bucket_policy": "NoSuchBucketPolicy",
    "get_bucket_acl": OWNER_ONLY,
    "get_bucket_replication": "ReplicationConfigurationNotFoundError",
    "get_bucket_ownership_controls": {"OwnershipControls": {"Rules": [{"ObjectOwnership": "BucketOwnerEnforced"}]}},
    "get_bucket_website": "NoSuchWebsiteConfiguration",
    "list_access_points": {"AccessPointList": []},
    "list_multi_region_access_points": {"AccessPoints": []},
}
EXPECTED = {
    "get_caller_identity": {},
    "account_block": OF_ACCOUNT,
    "list_access_points": {**OF_ACCOUNT, "Bucket": DESTINATION.bucket},
    "list_multi_region_access_points": OF_ACCOUNT,
}
HTTP_STATUS = {
    "AccessDenied": 403,
    "403": 403,
    "404": 404,
    "NotImplemented": 501,
    "PermanentRedirect": 301,
    "SlowDown": 503,
}


_ACTIVE: dict[tuple[str, str], Stubber] = {}


@functools.cache  # making a client takes longer than a whole proof
def _client(service: str, region: str) -> Any:
    return boto3.client(
        service,
        region_name=region,
        aws_access_key_id="test",
        aws_secret_access_key="test",
        config=Config(ignore_configured_endpoint_urls=True),
    )


class AnyStubber(Stubber):
    """A Stubber that also answers what the service model forbids, and raises what botocore raises without an answer."""

    def _validate_operation_response(self, operation_name, service_response):
        return None

    def _assert_expected_params(self, model, params, context, **kwargs):
        self.asked.append(xform_name(model.name))  # before it is looked up whether an answer is there
        super()._assert_expected_params(model, params, context, **kwargs)

    def _get_response_handler(self, model, params, context, **kwargs):
        answer = super()._get_response_handler(model, params, context, **kwargs)
        if isinstance(answer[1], Exception):
            raise answer[1]
        return answer

    def __init__(self, client):
        super().__init__(client)
        self.asked: list[str] = []

    def queue(self, operation: str, answer: Any, expected: dict[str, Any] | None = None) -> None:
        if isinstance(answer, str):
            status = HTTP_STATUS.get(answer, 404 if answer.startswith("NoSuch") or "NotFound" in answer else 400)
            message = f"arn:aws:iam::{ACCOUNT}:user/somebody may not touch {DESTINATION.bucket}"
            self.add_client_error(operation, answer, message, http_status_code=status, expected_params=expected)
        elif isinstance(answer, Exception):
            self._add_response(operation, {}, expected)
            http_response, _ = self._queue[-1]["response"]
            self._queue[-1]["response"] = (http_response, answer)
        else:
            self.add_response(operation, copy.deepcopy(answer), expected)


class StubSession:
    """A session whose clients answer from scripts; `other_answers` are asked by operation after the standard ones."""

    problem = ""

    def __init__(self) -> None:
        self.stubbers: dict[tuple[str, str], AnyStubber] = {}
        self.clients: dict[tuple[str, str], Any] = {}

    def has_credentials(self) -> bool:
        return True

    def client(self, service: str, region: str | None = None) -> Any:
        place = (service, region or "us-east-1")
        if place not in self.clients:
            self.clients[place] = client = _client(*place)
            if place in _ACTIVE:
                _ACTIVE[place].deactivate()
            self.stubbers[place] = _ACTIVE[place] = AnyStubber(client)
            self.stubbers[place].activate()
        return self.clients[place]

    def stubber(self, service: str, region: str | None = None) -> AnyStubber:
        self.client(service, region)
        return self.stubbers[service, region or "us-east-1"]

    def script(
        self, *, more: dict[str, list[tuple[str, Any, dict[str, Any]]]] | None = None, **answers: Any
    ) -> StubSession:
        """Queue one whole proof; `answers` replace the good ones, `more` follows a listing (operation, answer, expected)."""
        unknown = set(answers) - set(GOOD)
        assert not unknown, unknown
        replies = {**GOOD, **answers}
        region = replies["head_bucket"].get("BucketRegion") if isinstance(replies["head_bucket"], dict) else None
        region = region if isinstance(region, str) else None
        for operation, answer in replies.items():
            service, place = "s3", region
            if operation == "get_caller_identity":
                service, place = "sts", None
            elif operation == "head_bucket":
                place = None
            elif operation in {"account_block", "list_access_points"}:
                service = "s3control"
            elif operation == "list_multi_region_access_points":
                service, place = "s3control", "us-west-2"
            stubber = self.stubber(service, place)
            method = "get_public_access_block" if operation == "account_block" else operation
            stubber.queue(method, answer, EXPECTED.get(operation, OF_BUCKET))
            for follow_up, reply, expected in (more or {}).get(operation, []):
                stubber.queue(follow_up, reply, {**OF_ACCOUNT, **expected})
        return self

    def asked(self) -> set[str]:
        """Operations that were asked, answered or not."""
        return {name for stubber in self.stubbers.values() for name in stubber.asked}

    def left(self) -> list[str]:
        """Operations that were queued and never asked."""
        return [entry["operation_name"] for stubber in self.stubbers.values() for entry in stubber._queue]
