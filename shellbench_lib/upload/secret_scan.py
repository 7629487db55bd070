"""Does a bundle hold credentials? Text is searched for them while it is read anyway; a secret itself is never kept.

Two steps, because the fine rules are slow: one compiled pass over the bytes looks for what every rule's match must
contain (`MARKS`), and only a short stretch of the line round each hit goes to the rules that need that mark. The
rules are those of detect-secrets for what it knows (cloud, code host, chat, payment and package tokens, private keys,
basic authentication) and a few of our own, each a documented token form, for bearer tokens, assignments in the style
of `.env` files and the keys of model providers. Rules on entropy alone are left out: agent traces are full of
digests.

A finding names archive, member, line and kind, and a fingerprint: the first 16 hexadecimal digits of the SHA-256 of
the secret. The same secret has the same fingerprint everywhere.

Not seen: credentials in binary members (a NUL byte in the first 8 KiB), beyond `MEMBER_LIMIT` of one member, inside
compressed or encoded text, and kinds that no rule knows. The first two are counted.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from detect_secrets.filters import heuristic
from detect_secrets.plugins.artifactory import ArtifactoryDetector
from detect_secrets.plugins.aws import AWSKeyDetector
from detect_secrets.plugins.azure_storage_key import AzureStorageKeyDetector
from detect_secrets.plugins.base import RegexBasedDetector
from detect_secrets.plugins.basic_auth import BasicAuthDetector
from detect_secrets.plugins.github_token import GitHubTokenDetector
from detect_secrets.plugins.gitlab_token import GitLabTokenDetector
from detect_secrets.plugins.jwt import JwtTokenDetector
from detect_secrets.plugins.npm import NpmDetector
from detect_secrets.plugins.openai import OpenAIDetector
from detect_secrets.plugins.pypi_token import PypiTokenDetector
from detect_secrets.plugins.sendgrid import SendGridDetector
from detect_secrets.plugins.slack import SlackDetector
from detect_secrets.plugins.square_oauth import SquareOAuthDetector
from detect_secrets.plugins.stripe import StripeDetector

from shellbench_lib.text import printable, shorten

MEMBER_LIMIT = 256 * 1024 * 1024  # bytes of one member that are searched; the rest is counted as not searched
BINARY_PROBE = 8 * 1024
BEHIND, AHEAD = 96, 4096  # of a line, round a mark: a variable's name before it, a long token after it
FINDINGS_LIMIT = 2_000  # kept for one file; more are counted
NAME_LIMIT = 200
NAME_WITH_CREDENTIAL = "(a name that holds a credential)"
_LINE_BREAK = re.compile(r"\s|\\+[nr]")
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, slots=True, order=True)
class SecretFinding:
    """One credential in one member; `line` is where it stands first, `places` how often. It never holds the secret."""

    relative_key: str
    member: str
    line: int
    kind: str
    fingerprint: str
    places: int = 1


@dataclass(frozen=True, slots=True)
class ScanCounts:
    """How much of a file was searched: `binary` members not at all, `oversized` ones up to the limit."""

    searched: int = 0
    binary: int = 0
    oversized: int = 0
    findings_beyond_limit: int = 0


NOTHING_SEARCHED = ScanCounts()


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """A kind of credential: patterns whose group `group` is the secret, and which of their matches are real ones."""

    kind: str
    patterns: tuple[re.Pattern[str], ...]
    group: int = 1
    accept: Callable[[str], bool] = bool
    across_lines: bool = False

    def find(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Yield start, end and secret of every match in the text."""
        for pattern in self.patterns:
            for match in pattern.finditer(text):
                if self.accept(match[self.group]):
                    yield match.start(), match.end(), match[self.group]


def _own(kind: str, pattern: str, *, accept: Callable[[str], bool] = bool, across_lines: bool = False) -> Rule:
    return Rule(kind, (re.compile(pattern),), accept=accept, across_lines=across_lines)


def _scanner(detector: RegexBasedDetector, *, group: int = 0) -> Rule:
    # The patterns are taken, not analyze_string: that yields a token's prefix alone where the pattern groups it.
    return Rule(detector.secret_type, tuple(detector.denylist), group=group)


def _mixed(text: str) -> bool:
    return any(character.isdigit() for character in text) and any(character.isalpha() for character in text)


def _assigned(text: str) -> bool:
    # Paths, references to variables and obvious stand-ins are no values; a value of letters only must be long.
    if _AWS_SECRET_KEY.fullmatch(text) and _mixed(text):
        return True  # also one that begins with a slash, as one in 64 does
    if text.startswith(("/", "./", "http://", "https://", "arn:")) or not (_mixed(text) or len(text) >= LONG_VALUE):
        return False
    doubtful = (heuristic.is_templated_secret, heuristic.is_prefixed_with_dollar_sign, heuristic.is_sequential_string)
    return not any(check(text) for check in doubtful) and not _STAND_IN.search(text)


LONG_VALUE = 20
_AWS_SECRET_KEY = re.compile(r"[A-Za-z0-9/+]{40}")
# Where a name or a token begins; in JSON text the letter before it may belong to an escaped line break.
_EDGE = r"(?:(?<![A-Za-z0-9_])|(?<=\\[nrt]))"
_STAND_IN = re.compile(
    r"(?i)your[-_]|example|placeholder|change[-_]?me|redacted|dummy|\*{3}|x{6}|\.{3}|os\.environ|getenv"
)
_ASSIGNMENT = _own(
    "Credential Assignment",
    _EDGE + r"(?:[A-Z0-9_]*(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)"
    r"|(?:aws_)?(?:secret_access_key|session_token)|SecretAccessKey|SessionToken"
    r"|[a-z0-9_]*api_key|x-api-key)"
    r"\\*[\"']?\s*[=:]\s*\\*[\"']?([^\s\"'\\,;<>{}()|`]{8,})",
    accept=_assigned,
)
_BEARER = _own("Bearer Token", r"(?:[Bb]earer|BEARER)(?:\s|%20|\+)+([A-Za-z0-9._~+/-]{16,}=*)", accept=_mixed)
_PROVIDER = _own("Model Provider Key", _EDGE + r"(sk-[A-Za-z0-9_-]{20,})", accept=_mixed)
_PREFIXED = _own("Model Provider Key", _EDGE + r"((?:gsk_|xai-|r8_|pplx-)[A-Za-z0-9]{30,})")
_GITLAB = _scanner(GitLabTokenDetector())
_SLACK = _scanner(SlackDetector())
# The scanner's rule matches the header alone, the same for every key; the fingerprint needs the key's own text.
_PRIVATE_KEY = _own(
    "Private Key",
    # Up to the end line, so that two keys that begin alike differ; a header of the key's own may hold hyphens.
    r"(-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:[\s\S]{0,3600}?(?=-----END)|[\s\S]{0,400})"
    r"|PuTTY-User-Key-File-[0-9]:(?:[\s\S]{0,3600}?(?=Private-MAC)|[\s\S]{0,400}))",
    across_lines=True,
)

# A mark stands in every match of its rules, so a text without marks has no findings. Each begins with one fixed byte
# that is rare in text: a token's separator rather than its first letter, and what stands before it is looked at then.
MARKS: tuple[tuple[bytes, tuple[Rule, ...]], ...] = (
    (rb"A(?:[KSB]IA|CCA|3T)", (_scanner(AWSKeyDetector()),)),
    (rb"_(?<=gh[pousr]_)", (_scanner(GitHubTokenDetector()),)),
    (rb"_(?<=github_pat_)", (_own("GitHub Token", r"(github_pat_[A-Za-z0-9_]{40,})"),)),
    (rb"-(?<=gl(?:pat|imt|ptt|cbt|oas)-)", (_GITLAB,)),
    (rb"-(?<=gl[dfr]t-)", (_GITLAB,)),
    (rb"-(?<=glsoat-)", (_GITLAB,)),
    (rb"-(?<=glagent-)", (_GITLAB,)),
    (rb"GR1348941", (_GITLAB,)),
    (rb"-(?<=xox[abposr]-)", (_SLACK,)),
    (rb"\.(?<=hooks\.)slack", (_SLACK,)),
    (rb"P(?:RIVATE KEY|uTTY-User-Key)", (_PRIVATE_KEY,)),
    (rb"AKC", (_scanner(ArtifactoryDetector()),)),
    (rb"AccountKey=", (_scanner(AzureStorageKeyDetector()),)),
    (rb"J(?<=eyJ)", (_scanner(JwtTokenDetector()),)),
    (rb"_authToken", (_scanner(NpmDetector()),)),
    (rb"_(?<=npm_)", (_own("NPM tokens", _EDGE + r"(npm_[A-Za-z0-9]{36})"),)),
    (rb"-(?<=pypi-)AgE", (_scanner(PypiTokenDetector()),)),
    (rb"SG\.", (_scanner(SendGridDetector()),)),
    (rb"-(?<=sq0csp-)", (_scanner(SquareOAuthDetector()),)),
    (rb"_(?<=k_)live_", (_scanner(StripeDetector()),)),
    (rb"://", (_scanner(BasicAuthDetector(), group=1),)),
    (rb"-(?<=sk-)", (_PROVIDER, _scanner(OpenAIDetector()))),
    (rb"AIza", (_own("Google API Key", r"(AIza[A-Za-z0-9_-]{35})"),)),
    (rb"\.(?<=ya29\.)", (_own("Google OAuth Token", r"(ya29\.[A-Za-z0-9_-]{20,})"),)),
    (rb"_(?<=hf_)", (_own("Hugging Face Token", _EDGE + r"(hf_[A-Za-z0-9]{30,})"),)),
    (rb"_(?<=gsk_)", (_PREFIXED,)),
    (rb"_(?<=r8_)", (_PREFIXED,)),
    (rb"-(?<=xai-)", (_PREFIXED,)),
    (rb"-(?<=pplx-)", (_PREFIXED,)),
    (rb"Bearer", (_BEARER,)),
    (rb"BEARER", (_BEARER,)),
    (rb"bearer", (_BEARER,)),
    (rb"KEY", (_ASSIGNMENT,)),
    (rb"TOKEN", (_ASSIGNMENT,)),
    (rb"SECRET", (_ASSIGNMENT,)),
    (rb"PASSW", (_ASSIGNMENT,)),
    (rb"CREDENTIAL", (_ASSIGNMENT,)),
    (rb"_access_key", (_ASSIGNMENT,)),
    (rb"_token(?<=session_token)", (_ASSIGNMENT,)),
    (rb"K(?<=SecretAccessK)ey", (_ASSIGNMENT,)),
    (rb"T(?<=SessionT)oken", (_ASSIGNMENT,)),
    (rb"_(?<=api_)key", (_ASSIGNMENT,)),
    (rb"-(?<=api-)key", (_ASSIGNMENT,)),
)
LONGEST_MARK = 16
# Without groups the alternatives' first bytes become one character set, which makes the pass several times as fast.
_ANY_MARK = re.compile(b"|".join(mark for mark, _ in MARKS))
_WHICH_MARK = re.compile(b"|".join(b"(" + mark + b")" for mark, _ in MARKS))


def fingerprint(secret: str) -> str:
    """Return what identifies a secret without giving it away; line breaks, also escaped ones, do not count."""
    return hashlib.sha256(_LINE_BREAK.sub("", secret).encode()).hexdigest()[:16]


def without_credentials(name: str) -> str:
    """Return a name, or what stands for it where it holds a credential itself."""
    text = _MemberText()
    text.add(name.encode("utf-8", "replace"))
    return NAME_WITH_CREDENTIAL if text.close() else name


class FileScan:
    """The search of one file: an archive member by member, or an audit file as one text."""

    def __init__(self, relative_key: str) -> None:
        self._relative_key = relative_key
        self._findings: list[SecretFinding] = []
        self._searched = self._binary = self._oversized = self._beyond = 0

    def member(self, name: str, pieces: Iterable[bytes]) -> None:
        """Search one member's bytes, given in pieces of any size."""
        searched, text = 0, None
        for whole_piece in pieces:
            piece = whole_piece[: MEMBER_LIMIT - searched]
            if text is None:
                if _is_binary(piece):
                    self._binary += 1
                    return
                text = _MemberText()
                self._searched += 1
            text.add(piece)
            searched += len(piece)
            if len(piece) < len(whole_piece):
                self._oversized += 1
                break
        if text is not None:
            self._keep(name, text)

    def label(self, text: str) -> None:
        """Search a text that stands beside the data: a member's name, the target of a link, a value of its header."""
        found = _MemberText()
        found.add(text.encode("utf-8", "replace"))
        self._keep(text, found)

    def _keep(self, name: str, text: _MemberText) -> None:
        found = text.close()
        if not found:
            return
        shown = shorten(printable(without_credentials(name.removeprefix("./"))), NAME_LIMIT)
        self._beyond += text.beyond
        for (kind, mark), (line, places) in found.items():
            if len(self._findings) < FINDINGS_LIMIT:
                self._findings.append(SecretFinding(self._relative_key, shown, line, kind, mark, places))
            else:
                self._beyond += 1

    def result(self) -> tuple[tuple[SecretFinding, ...], ScanCounts]:
        """Return the findings, ordered, and how much was searched."""
        counts = ScanCounts(self._searched, self._binary, self._oversized, self._beyond)
        return tuple(sorted(self._findings)), counts


class _MemberText:
    """The text of one member as it passes by, with enough of its end kept to see a token across two pieces."""

    def __init__(self) -> None:
        self._buffer = b""
        self._start = 0  # marks before this position of the buffer were dealt with
        self._line = 1  # the number of the line on which the buffer begins
        self._done: dict[Rule, int] = {}  # up to where a rule has already looked
        self._found: dict[tuple[str, str], tuple[int, int]] = {}
        self.beyond = 0  # findings that were counted and not kept

    def add(self, piece: bytes) -> None:
        # UTF-16 text is searched as what it is for ASCII characters: every other byte zero.
        self._buffer += piece.replace(b"\0", b"")
        self._search(len(self._buffer) - AHEAD)

    def close(self) -> dict[tuple[str, str], tuple[int, int]]:
        """Search what is left; return (kind, fingerprint) → (first line, number of places)."""
        self._search(len(self._buffer))
        return self._found

    def _search(self, end: int) -> None:
        if end <= self._start:
            return
        for hit in _ANY_MARK.finditer(self._buffer, self._start, end + LONGEST_MARK):
            if hit.start() < end:
                for rule in _rules_at(self._buffer, hit.start()):
                    if hit.start() >= self._done.get(rule, 0):
                        self._apply(rule, hit.start())
        drop = max(0, end - BEHIND)
        self._line += self._buffer.count(b"\n", 0, drop)
        self._buffer = self._buffer[drop:]
        self._start = end - drop
        self._done = {rule: place - drop for rule, place in self._done.items() if place > drop}

    def _apply(self, rule: Rule, position: int) -> None:
        # Everything that begins in the first half of the stretch is found now, so the rule can rest until there.
        low = max(self._buffer.rfind(b"\n", 0, position) + 1, position - BEHIND)
        high = position + AHEAD
        if not rule.across_lines and (newline := self._buffer.find(b"\n", position, high)) >= 0:
            high = newline
        text = self._buffer[low:high].decode("ascii", "replace")  # one character a byte, so that positions stay
        rest = min(high, position + AHEAD // 2)
        done = self._done.get(rule, 0)
        for start, stop, secret in rule.find(text):
            if done <= low + start < rest:
                self._count(rule.kind, secret, low + start)
                rest = max(rest, low + stop)
        self._done[rule] = rest

    def _count(self, kind: str, secret: str, position: int) -> None:
        key = (kind, fingerprint(secret))
        if len(self._found) >= FINDINGS_LIMIT and key not in self._found:
            self.beyond += 1
            return
        line, places = self._found.get(key, (0, 0))
        self._found[key] = (line or self._line + self._buffer.count(b"\n", 0, position), places + 1)


def _rules_at(buffer: bytes, position: int) -> tuple[Rule, ...]:
    which = _WHICH_MARK.match(buffer, position)
    assert which is not None
    assert which.lastindex is not None
    return MARKS[which.lastindex - 1][1]


def _is_binary(first_piece: bytes) -> bool:
    probe = first_piece[:BINARY_PROBE]
    return b"\0" in probe and not probe.startswith(_UTF16_MARKS)
