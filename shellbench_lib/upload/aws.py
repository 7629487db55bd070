"""The clients of AWS, and what an answer of AWS is here. The only module that imports boto3.

Credentials come from the standard chain. A configured endpoint is ignored, also by the chain itself; every request's
host is looked at before it leaves; servers must show a certificate of the authorities that botocore ships, whatever
bundle the environment or a profile names; and proxies are not used. The proof and the upload must concern the same
server, and only AWS's own answers prove anything.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

import boto3
import botocore
import botocore.session
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

DEFAULT_REGION = "us-east-1"  # asked only who the caller is and where the bucket lies
CONNECT_TIMEOUT, READ_TIMEOUT = 10, 60  # seconds
ATTEMPTS = 6  # of one request; standard mode waits up to 20 s between two
POOL_SIZE = 80  # connections; the largest number of workers needs twice that many at most
AUTHORITIES = Path(botocore.__file__).with_name("cacert.pem")  # certificates that a server may lead back to
_CODE = re.compile(r"[A-Za-z0-9.]{1,80}")  # a server's word that is shown; anything longer is no code of AWS
_HOST_SUFFIX = {"aws-cn": ".amazonaws.com.cn"}


class NotAwsError(BotoCoreError):  # type: ignore[misc]
    """A request would have gone to a host that is not AWS."""

    fmt = "the host of a request is not AWS"


class UnusableConfigurationError(BotoCoreError):  # type: ignore[misc]
    """No client can be made of what is configured."""

    fmt = "the configuration of AWS cannot be used"


class Session(Protocol):
    """Where clients come from: AWS, or a test's stubs."""

    @property
    def problem(self) -> str:
        """Why the configuration of AWS cannot be used, empty where it can; names no profile and no file."""

    def client(self, service: str, region: str | None = None) -> Any:
        """Return a client of a service in a region, by default the configured one."""

    def has_credentials(self) -> bool:
        """Return whether the standard chain finds credentials."""


class AwsSession:
    """Clients for AWS with the credentials of the standard chain."""

    def __init__(self) -> None:
        self.problem = ""
        self._clients: dict[tuple[str, str], Any] = {}
        try:
            self._session: boto3.Session | None = boto3.Session(botocore_session=_botocore_session())
        except BotoCoreError as error:  # a profile that is not there, a file that cannot be read
            self._session = None
            self.problem = f"the configuration of AWS cannot be used ({type(error).__name__})"

    def has_credentials(self) -> bool:
        """Return whether the standard chain finds credentials; an unusable configuration counts as none."""
        try:
            return self._session is not None and self._session.get_credentials() is not None
        except BotoCoreError as error:
            self.problem = f"the configuration of AWS cannot be used ({type(error).__name__})"
            return False

    def client(self, service: str, region: str | None = None) -> Any:
        """Return the client of a service, made once for each region.

        Raises:
            BotoCoreError: the configuration of AWS cannot be used.
        """
        if self._session is None:
            raise UnusableConfigurationError
        place = region or self._session.region_name or DEFAULT_REGION
        if (service, place) not in self._clients:
            self._clients[service, place] = _client(self._session, service, place)
        return self._clients[service, place]


def _botocore_session() -> botocore.session.Session:
    # Set on the session, these hold for the calls of the credential chain too (a role that is assumed, single sign-on).
    session = botocore.session.get_session()
    session.set_config_variable("ignore_configured_endpoint_urls", True)
    session.set_config_variable("ca_bundle", str(AUTHORITIES))
    return session


def _client(session: boto3.Session, service: str, region: str) -> Any:
    config = Config(
        ignore_configured_endpoint_urls=True,
        proxies={},
        connect_timeout=CONNECT_TIMEOUT,
        read_timeout=READ_TIMEOUT,
        max_pool_connections=POOL_SIZE,
        retries={"mode": "standard", "total_max_attempts": ATTEMPTS},
        request_checksum_calculation="when_required",
    )
    client = session.client(service, region_name=region, config=config, verify=str(AUTHORITIES))

    def only_aws(request: Any, **_: object) -> None:
        if not is_aws_url(str(request.url), client.meta.partition):
            raise NotAwsError

    client.meta.events.register_first("before-send", only_aws)
    return client


def is_aws_url(url: str, partition: str) -> bool:
    """Return whether a URL is https and its host belongs to AWS's partition."""
    parts = urlsplit(url)
    host = (parts.hostname or "").lower()
    return parts.scheme == "https" and host.endswith(_HOST_SUFFIX.get(partition, ".amazonaws.com"))


@dataclass(frozen=True, slots=True)
class Reply:
    """What a call answered. `code` is empty for an answer, else the error's code or, without one, its class.

    `value` is shown nowhere; `message` may name bucket, account and principal and belongs into the receipt only.
    """

    value: Mapping[str, Any] = field(default_factory=dict)
    code: str = ""
    message: str = field(default="", repr=False)
    request_id: str = ""
    status: int = 0


def ask(client: Any, operation: str, **arguments: object) -> Reply:
    """Return the reply to one call; nothing that goes wrong is raised, whatever it is."""
    return _guarded(getattr(client, operation), arguments)


def ask_pages(client: Any, operation: str, key: str, **arguments: object) -> Reply:
    """Return the reply to a listing with the entries of all its pages under `key`; see `ask`."""

    def all_pages(**arguments: object) -> dict[str, Any]:
        pages = client.get_paginator(operation).paginate(**arguments)
        return {key: [entry for page in pages for entry in page.get(key, ())]}

    return _guarded(all_pages, arguments)


def _guarded(call: Callable[..., object], arguments: Mapping[str, object]) -> Reply:
    try:
        answer = call(**arguments)
    except ClientError as error:
        return error_reply(error)
    except Exception as error:  # noqa: BLE001 - an unknown failure is an unknown answer, and that proves nothing
        return Reply(code=type(error).__name__, message=str(error))
    if not isinstance(answer, Mapping):
        return Reply(code="MalformedAnswer")
    metadata = answer.get("ResponseMetadata", {})
    return Reply(value=answer, request_id=str(metadata.get("RequestId", "")), status=metadata.get("HTTPStatusCode", 0))


def error_reply(error: ClientError) -> Reply:
    """Return the reply that an error answer is."""
    response: Mapping[str, Any] = error.response
    metadata = response.get("ResponseMetadata", {})
    code = str(response.get("Error", {}).get("Code", ""))
    return Reply(
        value={"HTTPHeaders": metadata.get("HTTPHeaders", {})},
        code=code if _CODE.fullmatch(code) else type(error).__name__,
        message=str(error),
        request_id=str(metadata.get("RequestId", "")),
        status=metadata.get("HTTPStatusCode", 0),
    )
