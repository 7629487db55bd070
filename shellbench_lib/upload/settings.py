"""Where an upload goes: three environment variables, and nothing else.

`SHELLBENCH_TRACE_S3_URI` is `s3://bucket/prefix`, `SHELLBENCH_TRACE_S3_OWNER` the twelve digits of the account that
must own the bucket, `SHELLBENCH_TRACE_S3_KMS_KEY` (optional) a KMS key id or key ARN. Only plain bucket names are
accepted: an ARN, an access point or its alias, an Object Lambda alias, a multi-region access point and a directory
bucket are other things than the bucket that the privacy proof asks about. No message repeats a value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from shellbench_lib.errors import ParameterError

URI_VARIABLE = "SHELLBENCH_TRACE_S3_URI"
OWNER_VARIABLE = "SHELLBENCH_TRACE_S3_OWNER"
KMS_VARIABLE = "SHELLBENCH_TRACE_S3_KMS_KEY"
LONGEST_PREFIX = 512  # half of what S3 allows a key; the rest is for the files' own names
SHORTEST_HIDDEN = 3  # no bucket, account or key is shorter; to hide less would hide parts of words
_URI = re.compile(r"s3://([^/]*)/(.*)", re.DOTALL)
_BUCKET = re.compile(r"[a-z0-9](?:[a-z0-9-]|\.(?=[a-z0-9])){1,61}[a-z0-9]")
_IP_ADDRESS = re.compile(r"\d+\.\d+\.\d+\.\d+")
_DIRECTORY_BUCKET = re.compile(r".*--x-s3")
_OTHER_SUFFIXES = ("-s3alias", "--ol-s3", ".mrap", "--table-s3", "--op-s3")
_OTHER_PREFIXES = ("xn--", "sthree-")
_SEGMENT = re.compile(r"[A-Za-z0-9!_.*'()=-]+")
_OWNER = re.compile(r"[0-9]{12}")
_KMS_KEY = re.compile(
    r"(?:arn:aws(?:-[a-z]+)*:kms:[a-z0-9-]+:[0-9]{12}:key/)?"
    r"(?:mrk-[0-9a-f]{32}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})"
)


@dataclass(frozen=True, slots=True)
class Destination:
    """A bucket, a prefix in it and the account that must own it; its text form shows none of them."""

    bucket: str = field(repr=False)
    prefix: str = field(repr=False)
    account: str = field(repr=False)
    kms_key: str | None = field(default=None, repr=False)

    def key(self, relative_key: str) -> str:
        """Return the object key of a file of the bundle."""
        return f"{self.prefix}/{relative_key}"


def read_destination(environment: Mapping[str, str]) -> Destination | None:
    """Return the destination that the environment names, None where it names none.

    Raises:
        ParameterError: a variable is malformed, or one of the two that belong together is missing.
    """
    uri, owner = environment.get(URI_VARIABLE, ""), environment.get(OWNER_VARIABLE, "")
    kms_key = environment.get(KMS_VARIABLE) or None
    if not uri and not owner and not kms_key:
        return None
    if not uri:
        raise ParameterError(
            f"{URI_VARIABLE}: missing; set it to the S3 address of a bucket and a prefix, as docs/s3-privacy.md shows"
        )
    if not owner:
        raise ParameterError(f"{OWNER_VARIABLE}: missing; set it to the 12 digits of the account that owns the bucket")
    if not _OWNER.fullmatch(owner):
        raise ParameterError(f"{OWNER_VARIABLE}: must be the 12 digits of an AWS account")
    if kms_key and not _KMS_KEY.fullmatch(kms_key):
        raise ParameterError(f"{KMS_VARIABLE}: must be a KMS key id or key ARN; an alias cannot be verified afterwards")
    bucket, prefix = _split(uri)
    return Destination(bucket=bucket, prefix=prefix, account=owner, kms_key=kms_key)


def private_texts(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return what no notebook, log or page may hold, also where the variables are malformed: nothing is raised."""
    values = [environment.get(name, "") for name in (URI_VARIABLE, OWNER_VARIABLE, KMS_VARIABLE)]
    bucket = values[0].removeprefix("s3://").partition("/")[0]
    texts = {text for text in (*values, bucket) if len(text) >= SHORTEST_HIDDEN}
    return tuple(sorted(texts, key=lambda text: (-len(text), text)))


def require_destination(environment: Mapping[str, str]) -> Destination:
    """Return the destination; raises ParameterError also where the environment names none at all."""
    destination = read_destination(environment)
    if destination is None:
        raise ParameterError(
            f"{URI_VARIABLE}: missing; a real upload needs the S3 address of a bucket and a prefix there, "
            f"and the owner in {OWNER_VARIABLE}"
        )
    return destination


def _split(uri: str) -> tuple[str, str]:
    match = _URI.fullmatch(uri)
    if match is None:
        raise ParameterError(
            f"{URI_VARIABLE}: must be the S3 address of a bucket and a prefix, as docs/s3-privacy.md shows"
        )
    bucket, prefix = match[1], match[2].removesuffix("/")
    if _DIRECTORY_BUCKET.fullmatch(bucket):
        raise ParameterError(
            f"{URI_VARIABLE}: names a directory bucket; private by construction, but the proof does not apply to it"
        )
    wrong = bucket.endswith(_OTHER_SUFFIXES) or bucket.startswith(_OTHER_PREFIXES) or _IP_ADDRESS.fullmatch(bucket)
    if wrong or not _BUCKET.fullmatch(bucket):
        raise ParameterError(
            f"{URI_VARIABLE}: must name a plain bucket (3 to 63 lower-case letters, digits, dots and hyphens), "
            "no ARN, access point or alias"
        )
    segments = prefix.split("/")
    if not all(_SEGMENT.fullmatch(part) and part.strip(".") for part in segments) or len(prefix) > LONGEST_PREFIX:
        raise ParameterError(
            f"{URI_VARIABLE}: needs a prefix after the bucket: folder names of letters, digits and !_.*'()=- "
            f"separated by single slashes, at most {LONGEST_PREFIX} characters"
        )
    return bucket, prefix
