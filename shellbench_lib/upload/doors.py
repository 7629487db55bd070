"""Do other doors lead to the bucket? Access points and multi-region access points of the expected account.

Both are listed page by page; a list that does not end, or an answer that is not understood, leaves the check "not
checked".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from shellbench_lib.upload.aws import Reply
from shellbench_lib.upload.judgements import FLAGS, Judgement, malformed, unanswered
from shellbench_lib.upload.policy import foreign_access
from shellbench_lib.upload.settings import Destination

PAGES_LIMIT = 100  # of up to 1,000 entries; an account has at most 10,000 access points in a region
_NO_POLICY = frozenset({"NoSuchAccessPointPolicy", "NoSuchMultiRegionAccessPointPolicy", "NoSuchPolicy"})

Call = Callable[..., Reply]


class _StopJudging(Exception):  # noqa: N818 - carries a judgement, reports no error
    def __init__(self, judgement: Judgement) -> None:
        super().__init__(judgement.evidence)
        self.judgement = judgement


def access_points(call: Call, destination: Destination) -> Judgement:
    """Judge the access points of the bucket; `call(operation, **arguments)` asks with the account filled in."""
    return _judge_all(
        _pages(call, "list_access_points", "AccessPointList", Bucket=destination.bucket),
        lambda point: _access_point(call, point, destination),
        word="access points",
    )


def multi_region_access_points(call: Call, destination: Destination) -> Judgement:
    """Judge the multi-region access points that name the bucket."""
    return _judge_all(
        _pages(call, "list_multi_region_access_points", "AccessPoints"),
        lambda point: _multi_region(call, point, destination),
        word="multi-region access points of the bucket",
    )


def _judge_all(
    points: Iterator[Mapping[str, Any]], judge: Callable[[Mapping[str, Any]], Judgement | None], *, word: str
) -> Judgement:
    # Evidence of exposure decides, wherever it stands; a question left open on the way is reported only without one.
    open_question: Judgement | None = None
    seen = 0
    try:
        for point in points:
            judged = judge(point)
            seen += judged is not None
            if judged is not None and judged.verdict == "refused":
                return judged
            if judged is not None and judged.verdict == "not checked":
                open_question = open_question or judged
    except _StopJudging as stop:
        return stop.judgement
    return open_question or Judgement("proved", f"{seen} {word}, none of them open" if seen else f"no {word}")


def _pages(call: Call, operation: str, key: str, **arguments: object) -> Iterator[Mapping[str, Any]]:
    token: object = None
    for _ in range(PAGES_LIMIT):
        reply = call(operation, **arguments, **({"NextToken": token} if token else {}))
        if reply.code:
            raise _StopJudging(unanswered(reply))
        listed = reply.value.get(key)
        if not isinstance(listed, list) or not all(isinstance(point, Mapping) for point in listed):
            raise _StopJudging(malformed("no list"))
        yield from listed
        token = reply.value.get("NextToken")
        if not token:
            return
    raise _StopJudging(malformed("the list does not end"))


def _access_point(call: Call, point: Mapping[str, Any], destination: Destination) -> Judgement | None:
    name = point.get("Name")
    reply = call("get_access_point", Name=name)
    status = call("get_access_point_policy_status", Name=name)
    if status.code in _NO_POLICY:
        return Judgement("proved", "no policy")
    if status.code or reply.code:
        return unanswered(status if status.code else reply)
    public = _is_public(status.value.get("PolicyStatus"))
    if public is not False:
        return _public_or_unknown(public, "an access point has a public policy", str(name))
    if reply.value.get("NetworkOrigin") == "VPC" or _all_blocked(reply.value):
        return Judgement("proved", "reached from a private network only, or fully blocked")
    return _open_access_point(call("get_access_point_policy", Name=name), str(name), destination.account)


def _open_access_point(reply: Reply, name: str, account: str) -> Judgement:
    if reply.code:
        return unanswered(reply)
    reason = foreign_access(reply.value.get("Policy"), account)
    if reason:
        return Judgement("refused", f"an access point is open to the internet, and in its policy {reason}", name)
    return Judgement("proved", "the expected account only")


def _multi_region(call: Call, point: Mapping[str, Any], destination: Destination) -> Judgement | None:
    regions = point.get("Regions")
    if not isinstance(regions, list) or not all(isinstance(region, Mapping) for region in regions):
        return malformed("no regions")
    if all(region.get("Bucket") != destination.bucket for region in regions):
        return None
    name = point.get("Name")
    status = call("get_multi_region_access_point_policy_status", Name=name)
    if status.code in _NO_POLICY:
        return Judgement("proved", "no policy")
    if status.code:
        return unanswered(status)
    public = _is_public(status.value.get("Established"))
    return (
        Judgement("proved", "not public")
        if public is False
        else _public_or_unknown(public, "a multi-region access point has a public policy", str(name))
    )


def _is_public(status: object) -> bool | None:
    value = status.get("IsPublic") if isinstance(status, Mapping) else None
    return value if isinstance(value, bool) else None


def _public_or_unknown(public: bool | None, evidence: str, name: str) -> Judgement:  # noqa: FBT001 - a value, not a switch
    return Judgement("refused", evidence, name) if public else malformed("no IsPublic")


def _all_blocked(point: Mapping[str, Any]) -> bool:
    found = point.get("PublicAccessBlockConfiguration")
    return isinstance(found, Mapping) and all(found.get(flag) is True for flag in FLAGS)
