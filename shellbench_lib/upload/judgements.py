"""What one answer of AWS proves: pure functions from replies to a verdict with its evidence.

`proved` needs what the API's documentation promises for a private bucket, exactly; `refused` is evidence of exposure
or a contradiction; everything else is `not checked`, which the proof turns into a refusal where the check is
required. Absence is proved only by the error code of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from shellbench_lib.upload.aws import Reply
from shellbench_lib.upload.policy import foreign_access

Verdict = Literal["proved", "refused", "not checked"]
FLAGS = ("BlockPublicAcls", "IgnorePublicAcls", "BlockPublicPolicy", "RestrictPublicBuckets")
NO_BLOCK = "NoSuchPublicAccessBlockConfiguration"
NO_POLICY = "NoSuchBucketPolicy"
DENIED = ("AccessDenied", "403")
_GROUPS = {
    "http://acs.amazonaws.com/groups/global/AllUsers": "everyone",
    "http://acs.amazonaws.com/groups/global/AuthenticatedUsers": "every AWS account",
    "http://acs.amazonaws.com/groups/s3/LogDelivery": "the log delivery group",
}
_PERMISSIONS = frozenset({"FULL_CONTROL", "READ", "WRITE", "READ_ACP", "WRITE_ACP"})
_WEBSITE_KEYS = ("IndexDocument", "ErrorDocument", "RedirectAllRequestsTo", "RoutingRules")


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict; `evidence` names no bucket, account or principal, `detail` may."""

    verdict: Verdict
    evidence: str
    detail: str = field(default="", repr=False)


def _proved(evidence: str) -> Judgement:
    return Judgement("proved", evidence)


def _refused(evidence: str, detail: str = "") -> Judgement:
    return Judgement("refused", evidence, detail)


def unanswered(reply: Reply) -> Judgement:
    """Return the judgement of a call that brought an error instead of an answer."""
    word = "denied" if reply.code in DENIED else "no answer"
    return Judgement("not checked", f"{word}: {reply.code}")


def malformed(what: str) -> Judgement:
    """Return the judgement of an answer that lacks what it must hold."""
    return Judgement("not checked", f"malformed answer: {what}")


def caller(reply: Reply, account: str) -> Judgement:
    """Judge who asks: only the expected account."""
    if reply.code:
        return unanswered(reply)
    if reply.value.get("Account") != account:
        return _refused("the credentials belong to another account", f"caller account {reply.value.get('Account')}")
    return _proved("the credentials belong to the expected account")


def bucket(reply: Reply) -> Judgement:
    """Judge what lies behind the name: a general-purpose bucket of the expected owner, its region named."""
    if reply.code:
        return unanswered(reply)
    if "BucketLocationType" in reply.value or "BucketLocationName" in reply.value:
        return _refused("a directory bucket: private by construction, but the proof does not apply to it")
    if reply.value.get("AccessPointAlias", False) is not False:
        return _refused("the name is an access point's alias, not a bucket")
    region = reply.value.get("BucketRegion")
    if not isinstance(region, str) or not region:
        return malformed("no region")
    return _proved("a general-purpose bucket of the expected account")


def block(bucket_reply: Reply, account_reply: Reply) -> Judgement:
    """Judge the public access block in force: each of the four flags set on the bucket or on the account.

    A side without a configuration, or denied, counts as four times off; what was read of the other must be enough.
    """
    sides = {"bucket": bucket_reply, "account": account_reply}
    flags = {side: _flags(reply) for side, reply in sides.items()}
    evidence = "; ".join(f"{side}: {_flag_words(flags[side], reply)}" for side, reply in sides.items())
    known = [side for side in flags.values() if side is not None]
    if len(known) < len(flags):
        return Judgement("not checked", evidence)
    missing = [flag for flag in FLAGS if not any(side[flag] for side in known)]
    if missing:
        return _refused(f"not in force: {', '.join(missing)} ({evidence})")
    return _proved(evidence)


def _flags(reply: Reply) -> dict[str, bool] | None:
    if reply.code == NO_BLOCK or reply.code in DENIED:
        return dict.fromkeys(FLAGS, False)
    found = reply.value.get("PublicAccessBlockConfiguration")
    if reply.code or not isinstance(found, Mapping) or set(found) != set(FLAGS):
        return None
    return dict(found) if all(isinstance(value, bool) for value in found.values()) else None


def _flag_words(flags: dict[str, bool] | None, reply: Reply) -> str:
    if reply.code:
        return reply.code
    return "malformed answer" if flags is None else f"{sum(flags.values())} of {len(FLAGS)} on"


def policy_status(reply: Reply) -> Judgement:
    """Judge S3's own word on the policy."""
    if reply.code == NO_POLICY:
        return _proved("no policy")
    if reply.code:
        return unanswered(reply)
    status = reply.value.get("PolicyStatus")
    public = status.get("IsPublic") if isinstance(status, Mapping) else None
    if public is True:
        return _refused("S3 calls the policy public")
    return _proved("S3 calls the policy not public") if public is False else malformed("no IsPublic")


def policy(reply: Reply, status: Reply, account: str) -> Judgement:
    """Judge the policy's own text, and that it does not contradict its status."""
    if reply.code == NO_POLICY:
        if status.code == NO_POLICY:
            return _proved("no policy")
        return Judgement("not checked", "the policy's status and its text contradict each other")
    if reply.code:
        return unanswered(reply)
    reason = foreign_access(reply.value.get("Policy"), account)
    if reason:
        return _refused(reason)
    if status.code == NO_POLICY:
        return Judgement("not checked", "the policy's status and its text contradict each other")
    return _proved("every Allow names the expected account only")


def acl(reply: Reply) -> Judgement:
    """Judge the access control list: the owner's own grants and nothing else."""
    if reply.code:
        return unanswered(reply)
    owner = reply.value.get("Owner")
    owner_id = owner.get("ID") if isinstance(owner, Mapping) else None
    grants = reply.value.get("Grants")
    if not isinstance(owner_id, str) or not owner_id or not isinstance(grants, list) or not grants:
        return malformed("no owner or no grant")
    reason = next((text for grant in grants if (text := _foreign_grant(grant, owner_id))), "")
    return _refused(reason) if reason else _proved("the owner only")


def _foreign_grant(grant: Any, owner_id: str) -> str:
    grantee = grant.get("Grantee") if isinstance(grant, Mapping) else None
    if not isinstance(grantee, Mapping) or grant.get("Permission") not in _PERMISSIONS:
        return "a grant has a form that is not known"
    if grantee.get("Type") == "Group":
        return f"a grant to {_GROUPS.get(str(grantee.get('URI')), 'an unknown group')}"
    if grantee.get("Type") != "CanonicalUser" or "URI" in grantee:
        return "a grant to a grantee of a form that is not known"
    return "" if grantee.get("ID") == owner_id else "a grant to somebody other than the owner"


def replication(reply: Reply) -> Judgement:
    """Judge copies elsewhere: a copy may be public, so none may be made."""
    if reply.code == "ReplicationConfigurationNotFoundError":
        return _proved("no replication")
    if reply.code:
        return unanswered(reply)
    configuration = reply.value.get("ReplicationConfiguration")
    rules = configuration.get("Rules") if isinstance(configuration, Mapping) else None
    if not isinstance(rules, list) or not rules or not all(isinstance(rule, Mapping) for rule in rules):
        return malformed("no replication rule")
    states = {rule.get("Status") for rule in rules}
    if "Enabled" in states:
        return _refused("an enabled replication rule", f"destinations {[rule.get('Destination') for rule in rules]}")
    return _proved("every replication rule is disabled") if states == {"Disabled"} else malformed("unknown rule status")


def ownership(reply: Reply, acl_reply: Reply) -> Judgement:
    """Judge whether access control lists are off; where they live, the list itself must name the owner only."""
    if reply.code == "OwnershipControlsNotFoundError":
        setting = "no ownership control"
    elif reply.code:
        return unanswered(reply)
    else:
        controls = reply.value.get("OwnershipControls")
        rules = controls.get("Rules") if isinstance(controls, Mapping) else None
        if not isinstance(rules, list) or len(rules) != 1 or not isinstance(rules[0], Mapping):
            return malformed("no ownership rule")
        setting = str(rules[0].get("ObjectOwnership"))
        if setting == "BucketOwnerEnforced":
            return _proved("BucketOwnerEnforced")
        if setting not in {"BucketOwnerPreferred", "ObjectWriter"}:
            return malformed("unknown ownership")
    lists = acl(acl_reply)
    if lists.verdict == "refused":
        return _refused(f"{setting}, so access control lists are live, and {lists.evidence}")
    return Judgement("not checked", f"{setting}: access control lists are live; objects' own lists are not seen")


def website(reply: Reply) -> Judgement:
    """Judge the website configuration: none may exist."""
    if reply.code == "NoSuchWebsiteConfiguration":
        return _proved("no website")
    if reply.code:
        return unanswered(reply)
    if any(reply.value.get(key) for key in _WEBSITE_KEYS):
        return _refused("a website is configured")
    return malformed("no website key")
