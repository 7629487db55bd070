"""What of a text may be published: no absolute place of this machine, no credential, no bucket address.

Applied to every text of an executed notebook before it is saved, and to every error message that a kernel sends back.
A place inside the project becomes relative, another one keeps its last component, a home becomes `~`. The rules for
homes and bucket addresses look at the form alone, so the same text gives the same bytes on every machine. This is the
last net, not the first: nothing private should reach a notebook at all.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from shellbench_lib.text import PATH_BEFORE, REDACTED, without_homes

SECRET_LENGTH = 8  # a shorter value of a secret-looking variable is more likely a setting, and a common word
_SECRET_NAME = re.compile(
    r"(?:^|_)(?:API_?KEYS?|KEYS?|KEY_ID|TOKENS?|SECRETS?|PASSWORDS?|PASSWD|PASSPHRASE|CREDENTIALS?|PAT|COOKIES?|DSN)(?:_|$)",
    re.IGNORECASE,
)
_DESTINATION = "SHELLBENCH_TRACE_"
_AFTER = r"(?![\w\-]|\.\w)"
# `s3://bucket/prefix` is the placeholder of our own sentences.
_BUCKET_ADDRESS = re.compile(
    r"\bs3[an]?://(?!bucket/prefix(?![\w/-]))[^\s'\"<>`\\]*|\bhttps?://[^\s/'\"<>]*\bs3\b[^\s/'\"<>]*\.amazonaws\.com[^\s'\"<>`\\]*",
    re.IGNORECASE,
)
_LOGIN_IN_ADDRESS = re.compile(r"(?<=://)[^\s/:@'\"<>]+:[^\s/@'\"<>]+(?=@)")
_MEDIA_TYPE = re.compile(r"(?:text|image|application)/[\w.+-]+")  # the keys of a notebook's outputs, never private
# The first look-behinds spare the placeholder address of our own sentences.
_ABSOLUTE = re.compile(r"(?<!s3:)(?<!s3:/)" + PATH_BEFORE + r"/(?:[^\s/'\"<>|:()\[\]{}]+/)+(?=[^\s/'\"<>|:()\[\]{}])")
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_UNPAIRED = re.compile("[\ud800-\udfff]")  # cannot be written as UTF-8
_NOT_TEXT = frozenset({"image/png", "image/jpeg", "application/pdf"})


def is_private_name(name: str) -> bool:
    """Tell whether an environment variable holds a credential, a destination or another setting of the cloud client."""
    return name.startswith("AWS_") or _is_secret(name)


def secret_values(environment: Mapping[str, str]) -> list[str]:
    """Return the values of secret-looking variables that are long enough to be told from ordinary words."""
    return [value for name, value in environment.items() if _is_secret(name) and len(value) >= SECRET_LENGTH]


@dataclass(frozen=True, slots=True)
class Scrubber:
    """The replacements for one run, made by `scrubber`."""

    places: tuple[tuple[str, re.Pattern[str], str], ...]
    secrets: re.Pattern[str] | None

    def text(self, text: str) -> str:
        """Return the text without places, credentials and bucket addresses, fit for UTF-8."""
        text = _UNPAIRED.sub("\ufffd", text)
        if self.secrets is not None:
            text = self.secrets.sub(REDACTED, text)
        if "://" in text:
            text = _LOGIN_IN_ADDRESS.sub(REDACTED, _BUCKET_ADDRESS.sub(REDACTED, text))
        for name, pattern, replacement in self.places:
            if name in text:  # much faster than the pattern, and mostly false
                text = pattern.sub(replacement, text)
        return without_homes(text)

    def message(self, text: str) -> str:
        """Return an error message or traceback: as `text`, and every absolute path keeps its last component only."""
        return _ABSOLUTE.sub("", self.text(_ANSI.sub("", text)))

    def tree(self, value: Any) -> Any:
        """Return a JSON value with every text in it scrubbed, names included; encoded images stay as they are."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {
                k if _MEDIA_TYPE.fullmatch(k) else self.text(k): v if k in _NOT_TEXT else self.tree(v)
                for k, v in value.items()
            }
        if isinstance(value, list | tuple):
            return [self.tree(item) for item in value]
        return value


def scrubber(places: Mapping[Path, str], secrets: Iterable[str] = ()) -> Scrubber:
    """Return the scrubber for some places of this machine and some private values.

    Args:
        places: absolute folders or files and what stands for each; `.` makes what lies below it relative.
        secrets: values that must not appear, in any of the spellings that Python, JSON, HTML and addresses give them.
    """
    names: dict[str, str] = {}
    for place, shown in places.items():
        for form in {place, place.resolve()}:
            if form.is_absolute() and len(form.parts) > 1:
                names.setdefault(str(form), shown)
    patterns = []
    for name in sorted(names, key=lambda text: (-len(text), text)):
        shown = names[name]
        if shown == ".":
            patterns.append((name, re.compile(PATH_BEFORE + re.escape(name) + "/"), ""))
        patterns.append((name, re.compile(PATH_BEFORE + re.escape(name) + _AFTER), shown.replace("\\", r"\\")))
    spellings = sorted({form for secret in secrets if secret for form in _spellings(secret)}, key=len, reverse=True)
    return Scrubber(tuple(patterns), re.compile("|".join(map(re.escape, spellings))) if spellings else None)


def _spellings(secret: str) -> set[str]:
    return {secret, html.escape(secret), json.dumps(secret)[1:-1], repr(secret)[1:-1], quote(secret, safe="")}


def _is_secret(name: str) -> bool:
    return name.startswith(_DESTINATION) or _SECRET_NAME.search(name) is not None
