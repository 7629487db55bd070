"""Clients go to AWS and nowhere else, whatever is configured; a reply keeps what went wrong and shows nothing private."""

from __future__ import annotations

import pytest
from botocore.exceptions import ClientError, ConnectionClosedError
from upload_stubs import DESTINATION

from shellbench_lib.upload.aws import AUTHORITIES, AwsSession, ask, is_aws_url
from shellbench_lib.upload.privacy import prove_private


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


@pytest.mark.parametrize("how", ["AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "profile"])
def test_neither_a_foreign_authority_nor_a_proxy_comes_between(credentials, monkeypatch, tmp_path, how):
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    if how == "profile":
        (tmp_path / "config").write_text("[default]\nca_bundle = /nowhere/ca.pem\n")
    else:
        monkeypatch.setenv(how, "/nowhere/ca.pem")
    session = AwsSession()
    for service in ("s3", "s3control", "sts"):
        http = session.client(service, "eu-west-1")._endpoint.http_session
        assert http._verify == str(AUTHORITIES)
        assert http._proxy_config.proxy_url_for("https://s3.eu-west-1.amazonaws.com/") is None
    assert AUTHORITIES.read_text().count("BEGIN CERTIFICATE") > 50
    chain = session._session._session.create_client("sts", "eu-west-1")  # made as the credential chain makes it
    assert chain._endpoint.http_session._verify == str(AUTHORITIES)


@pytest.mark.parametrize("variable", ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_STS"])
def test_the_credential_chain_assumes_a_role_at_aws_itself(monkeypatch, credentials, tmp_path, variable):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv(variable, "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_PROFILE", "role")
    (tmp_path / "config").write_text(
        "[profile base]\naws_access_key_id = test\naws_secret_access_key = test\n"
        "[profile role]\nrole_arn = arn:aws:iam::111122223333:role/r\nsource_profile = base\nregion = eu-west-1\n"
    )
    asked = []

    def no_network(self, request):
        asked.append(request.url)
        raise ConnectionClosedError(endpoint_url=request.url)

    monkeypatch.setattr("botocore.httpsession.URLLib3Session.send", no_network)
    monkeypatch.setattr("botocore.endpoint.time.sleep", lambda _: None)
    assert ask(AwsSession().client("s3", "eu-west-1"), "list_buckets").code
    assert asked
    assert all(url.startswith("https://sts.") and is_aws_url(url, "aws") for url in asked)


@pytest.mark.parametrize("what", ["missing profile", "broken file"])
def test_an_unusable_configuration_counts_as_no_credentials_and_names_nothing(credentials, monkeypatch, tmp_path, what):
    if what == "missing profile":
        monkeypatch.setenv("AWS_PROFILE", "somebodys-profile")
    else:
        (tmp_path / "config").write_text("somebodys-profile, no section\n")
    session = AwsSession()
    assert session.has_credentials() is False
    assert session.problem.startswith("the configuration of AWS cannot be used (")
    assert "somebody" not in session.problem
    proof = prove_private(session, DESTINATION, strict=False)
    assert not proof.private
    assert "somebody" not in "".join(check.evidence for check in proof.checks)


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
