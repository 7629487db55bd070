"""Is the bucket proved private? Only positive evidence from AWS itself counts; anything else is a refusal.

Private means: nobody outside the expected account can read or write it, by a public block that is in force, by
policy, by access control list, by a copy elsewhere, or through another door to the same bucket. Every check is asked,
also after one that failed, so that the whole list of what is missing is seen at once. A denied, missing, malformed,
unknown or timed-out answer to a required check refuses. Supporting checks refuse on evidence of exposure and are
otherwise "not checked": with the block of the required checks in force neither a website nor an access point can
serve the public (AWS: the most restrictive combination of the blocks applies). `strict` requires them too.

What these calls cannot see: presigned URLs, the access control lists of other objects, access points of other
accounts, S3 Access Grants, and any change after the answer.

What is shown of a check names no bucket, account or principal; `detail` does and belongs into the local receipt
alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Literal

from shellbench_lib.upload import doors, judgements
from shellbench_lib.upload.aws import Reply, Session, ask, is_aws_url
from shellbench_lib.upload.judgements import Judgement, Verdict
from shellbench_lib.upload.settings import Destination

GLOBAL_REGION = "us-west-2"  # multi-region access points are administered there
NOT_ASKED: Literal["not asked"] = "not asked"
_REGION = re.compile(r"[a-z]{2}(?:-[a-z]+)+-[0-9]+")


@dataclass(frozen=True, slots=True)
class CheckKind:
    """One question of the proof, with the IAM action that asking it needs."""

    name: str
    question: str
    action: str
    required: bool = True


CHECKS = (
    CheckKind("endpoint", "Do all requests go to AWS itself?", "none"),
    CheckKind("caller", "Do the credentials belong to the expected account?", "none (sts:GetCallerIdentity)"),
    CheckKind("bucket", "Is it a general-purpose bucket of that account, and in which region?", "s3:ListBucket"),
    CheckKind(
        "public_access_block",
        "Are all four public access blocks in force, on the bucket or on the account?",
        "s3:GetBucketPublicAccessBlock, s3:GetAccountPublicAccessBlock",
    ),
    CheckKind("policy_status", "Does S3 say that the bucket policy is not public?", "s3:GetBucketPolicyStatus"),
    CheckKind("policy_principals", "Does the policy let in the expected account only?", "s3:GetBucketPolicy"),
    CheckKind("acl", "Does the access control list name the owner only?", "s3:GetBucketAcl"),
    CheckKind("replication", "Is nothing copied to another bucket?", "s3:GetReplicationConfiguration"),
    CheckKind("ownership", "Are access control lists switched off?", "s3:GetBucketOwnershipControls", required=False),
    CheckKind("website", "Is no website served from the bucket?", "s3:GetBucketWebsite", required=False),
    CheckKind(
        "access_points",
        "Does no access point open the bucket?",
        "s3:ListAccessPoints, s3:GetAccessPoint, s3:GetAccessPointPolicyStatus, s3:GetAccessPointPolicy",
        required=False,
    ),
    CheckKind(
        "multi_region_access_points",
        "Does no multi-region access point open the bucket?",
        "s3:ListMultiRegionAccessPoints, s3:GetMultiRegionAccessPointPolicyStatus",
        required=False,
    ),
)


@dataclass(frozen=True, slots=True)
class Check:
    """One question with its verdict. `evidence` may be shown, `detail` names the destination and may not."""

    kind: CheckKind
    verdict: Verdict
    evidence: str
    codes: tuple[str, ...] = ()
    detail: str = field(default="", repr=False)
    request_ids: tuple[str, ...] = ()
    asked_at: str = ""


@dataclass(frozen=True, slots=True)
class PrivacyProof:
    """All checks in their order. Private only where nothing was refused and every required check was proved."""

    checks: tuple[Check, ...]
    region: str = ""

    @property
    def private(self) -> bool:
        """Whether the bucket is proved private."""
        proved = {check.kind.name for check in self.checks if check.verdict == "proved"}
        needed = {kind.name for kind in CHECKS if kind.required}
        refused = any(check.verdict == "refused" for check in self.checks)
        return not refused and needed <= proved and bool(self.region)

    @property
    def refused(self) -> tuple[str, ...]:
        """Names of the checks that refuse."""
        return tuple(check.kind.name for check in self.checks if check.verdict == "refused")


def prove_private(session: Session, destination: Destination, *, strict: bool) -> PrivacyProof:
    """Ask every check of the proof and return all of them; no failure is raised and nothing is written."""
    return _Prover(session, destination, strict=strict).run()


class _Prover:
    """One run through the list, with the clients of the bucket's own region."""

    def __init__(self, session: Session, destination: Destination, *, strict: bool) -> None:
        self._session = session
        self._to = destination
        self._strict = strict
        self._checks: list[Check] = []
        self._replies: list[Reply] = []
        self._clients: list[Any] = []

    def run(self) -> PrivacyProof:
        caller = self._ask("sts", "get_caller_identity")
        identity = self._check("caller", lambda: judgements.caller(caller, self._to.account))
        head = self._ask("s3", "head_bucket", **self._bucket)
        bucket = self._check("bucket", lambda: judgements.bucket(head))
        region = _region(head)
        self._ask_bucket(region)
        self._ask_doors(region)
        endpoint = self._check("endpoint", self._endpoints)
        self._checks = [endpoint, identity, bucket, *(c for c in self._checks if c not in (endpoint, identity, bucket))]
        return PrivacyProof(tuple(self._checks), region if not head.code else "")

    def _ask_bucket(self, region: str) -> None:
        def of_bucket(operation: str) -> Reply:
            return self._ask("s3", operation, region, **self._bucket)

        block, account = of_bucket("get_public_access_block"), self._ask_account("get_public_access_block", region)
        self._check("public_access_block", lambda: judgements.block(block, account))
        status = of_bucket("get_bucket_policy_status")
        self._check("policy_status", lambda: judgements.policy_status(status))
        text = of_bucket("get_bucket_policy")
        self._check("policy_principals", lambda: judgements.policy(text, status, self._to.account))
        acl = of_bucket("get_bucket_acl")
        self._check("acl", lambda: judgements.acl(acl))
        copies = of_bucket("get_bucket_replication")
        self._check("replication", lambda: judgements.replication(copies))
        controls = of_bucket("get_bucket_ownership_controls")
        self._check("ownership", lambda: judgements.ownership(controls, acl))
        site = of_bucket("get_bucket_website")
        self._check("website", lambda: judgements.website(site))

    def _ask_doors(self, region: str) -> None:
        def account_call(operation: str, **arguments: object) -> Reply:
            return self._ask_account(operation, region, **arguments)

        def global_call(operation: str, **arguments: object) -> Reply:
            return self._ask_account(operation, GLOBAL_REGION, **arguments)

        self._check("access_points", lambda: doors.access_points(account_call, self._to))
        self._check("multi_region_access_points", lambda: doors.multi_region_access_points(global_call, self._to))

    @property
    def _bucket(self) -> dict[str, str]:
        return {"Bucket": self._to.bucket, "ExpectedBucketOwner": self._to.account}

    def _ask_account(self, operation: str, region: str, **arguments: object) -> Reply:
        return self._ask("s3control", operation, region, AccountId=self._to.account, **arguments)

    def _ask(self, service: str, operation: str, region: str = "", **arguments: object) -> Reply:
        try:
            client = self._session.client(service, region or None)
        except Exception as error:  # noqa: BLE001 - no client, no answer
            reply = Reply(code=type(error).__name__, message=str(error))
        else:
            self._clients.append(client)
            reply = ask(client, operation, **arguments)
        self._replies.append(reply)
        return reply

    def _endpoints(self) -> Judgement:
        elsewhere = [c for c in self._clients if not is_aws_url(str(c.meta.endpoint_url), str(c.meta.partition))]
        if not self._clients:
            return Judgement("refused", "no request could be made; the configuration of AWS cannot be used")
        if elsewhere:
            return Judgement("refused", "a request went to a host that is not AWS; its answers prove nothing")
        return Judgement("proved", "AWS hosts only, over https, with certificates of the shipped authorities")

    def _check(self, name: str, judge: Callable[[], Judgement]) -> Check:
        kind = next(kind for kind in CHECKS if kind.name == name)
        asked_at = datetime.now(UTC).isoformat(timespec="seconds")
        try:
            judged = judge()
        except Exception as error:  # noqa: BLE001 - an answer that breaks the reading of it is malformed
            judged = Judgement("not checked", f"the answer could not be read ({type(error).__name__})")
        replies, self._replies = self._replies, []
        check = Check(
            kind=kind,
            verdict=judged.verdict,
            evidence=judged.evidence,
            codes=tuple(reply.code for reply in replies if reply.code),
            detail="; ".join(text for text in (judged.detail, *(reply.message for reply in replies)) if text),
            request_ids=tuple(reply.request_id for reply in replies if reply.request_id),
            asked_at=asked_at,
        )
        self._checks.append(self._required(check))
        return self._checks[-1]

    def _required(self, check: Check) -> Check:
        if check.verdict == "not checked" and (check.kind.required or self._strict):
            return replace(check, verdict="refused")
        return check


def _region(head: Reply) -> str:
    headers = head.value.get("HTTPHeaders", {})
    named = head.value.get("BucketRegion") or headers.get("x-amz-bucket-region", "")
    return named if isinstance(named, str) and _REGION.fullmatch(named) else ""
