"""Clients go to AWS and nowhere else, whatever is configured; a reply keeps what went wrong and shows nothing private."""

from __future__ import annotations

import pytest
from botocore.exceptions import ClientError

from shellbench_lib.upload.aws import AwsSession, ask, is_aws_url


@pytest.fixture
def credentials(monkeypatch, tmp_path):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.delenv("AWS_PROFILE", raising=False)


@pytest.mark.parametrize("service", ["s3", "s3control", "sts"])
@pytest.mark.parametrize("how", ["variable", "service variable", "profile"])
def test_a_configured_endpoint_is_ignored(credentials, monkeypatch, tmp_path, service, how):
    if how == "variable":
        monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    elif how == "service variable":
        monkeypatch.setenv(f"AWS_ENDPOINT_URL_{'S3' if service == 's3' else service.upper()}", "http://127.0.0.1:9")
    else:
        (tmp_path / "config").write_text("[default]\nendpoint_url = http://127.0.0.1:9\n")
    client = AwsSession().client(service, "eu-west-1")
    assert client.meta.endpoint_url.startswith("https://")
    assert is_aws_url(client.meta.endpoint_url, "aws")


def test_a_request_that_would_leave_aws_is_stopped_before_it_leaves(credentials):
    client = AwsSession().client("s3", "eu-west-1")

    def elsewhere(request, **_):
        request.url = "https://127.0.0.1:9/elsewhere"

    client.meta.events.register("before-sign", elsewhere)
    reply = ask(client, "list_buckets")
    assert reply.code == "NotAwsError"


@pytest.mark.parametrize(
    ("url", "partition", "right"),
    [
        ("https://s3.eu-west-1.amazonaws.com/", "aws", True),
        ("https://111122223333.s3-control.us-west-2.amazonaws.com/v1", "aws", True),
        ("https://s3.cn-north-1.amazonaws.com.cn/", "aws-cn", True),
        ("https://s3.cn-north-1.amazonaws.com.cn/", "aws", False),
        ("https://s3.amazonaws.com/", "aws-cn", False),
        ("http://s3.amazonaws.com/", "aws", False),
        ("https://amazonaws.com.example.org/", "aws", False),
        ("https://evil-amazonaws.com/", "aws", False),
        ("https://example.org/.amazonaws.com", "aws", False),
        ("https://user@s3.amazonaws.com@example.org/", "aws", False),
        ("", "aws", False),
    ],
)
def test_what_is_an_aws_address(url, partition, right):
    assert is_aws_url(url, partition) is right


def test_without_credentials_there_are_none(monkeypatch, tmp_path):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    assert AwsSession().has_credentials() is False


class Failing:
    def __init__(self, outcome):
        self.outcome = outcome

    def call(self, **_):
        if isinstance(self.outcome, BaseException):
            raise self.outcome
        return self.outcome


def test_every_failure_becomes_a_reply_and_an_interrupt_does_not():
    denied = ClientError({"Error": {"Code": "AccessDenied", "Message": "user somebody"}}, "GetBucketAcl")
    reply = ask(Failing(denied), "call")
    assert reply.code == "AccessDenied"
    assert "somebody" in reply.message
    assert "somebody" not in repr(reply)
    assert ask(Failing(RuntimeError("x")), "call").code == "RuntimeError"
    assert ask(Failing(ClientError({}, "x")), "call").code == "ClientError"
    assert ask(Failing(None), "call").code == "MalformedAnswer"
    with pytest.raises(KeyboardInterrupt):
        ask(Failing(KeyboardInterrupt()), "call")
