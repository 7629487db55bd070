"""How a transfer can end otherwise than well, in one place: which codes mean what, and the sentences."""

from __future__ import annotations

from shellbench_lib.errors import UploadNotVerifiedError

TAKEN_CODES = frozenset({"PreconditionFailed", "412"})
CONFLICT_CODES = frozenset({"ConditionalRequestConflict", "409"})
VANISHED_CODES = frozenset({"NoSuchUpload"})
EXPIRED_CODES = frozenset({"ExpiredToken", "ExpiredTokenException", "RequestExpired", "TokenRefreshRequired"})
REGION_CODES = frozenset(
    {"301", "PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException"}
)
RUN_AGAIN = "this run published no manifest; run again, and what already lies there is skipped"


class DecidedError(UploadNotVerifiedError):
    """The run gives up by its own decision, not because an answer failed."""


class TakenError(Exception):
    """Something already lies under the key."""


class VanishedError(Exception):
    """A multipart upload is gone: ended by somebody else, or completed by a call whose answer was lost."""


def failure(relative_key: str, what: str, code: str) -> UploadNotVerifiedError:
    """Return the error of a call that failed; the message says what to do and names only the file and the code."""
    if code in EXPIRED_CODES:
        return UploadNotVerifiedError(f"{relative_key}: the credentials expired; renew them. {RUN_AGAIN}")
    hint = " (another region than the bucket's)" if code in REGION_CODES else ""
    return UploadNotVerifiedError(f"{relative_key}: {what}: {code}{hint}; {RUN_AGAIN}")
