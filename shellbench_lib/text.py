"""How a name from the input becomes safe text in CSV, Markdown, SVG and file names.

One function for each kind of file, so that every writer escapes in the same way. Nothing here changes what is
stored in memory: the tables hold the names as they were read.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable

# A spreadsheet runs a cell that starts with one of the first six; the apostrophe is ours and must survive a round trip.
FORMULA_STARTS = frozenset("=+-@\t\r'")
REPLACEMENT = "\ufffd"
SLUG_BYTES = 100  # leaves room under the 255-byte limit of file systems for a digest and a suffix
_CONTROL = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff\u202a-\u202e\u2066-\u2069\u2028\u2029]"
)
_MARKDOWN_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~$])")
_NOT_SLUG = re.compile(r"[^a-z0-9._-]+")
REDACTED = "[redacted]"
PATH_BEFORE = r"(?:(?<![\w.\-~])|(?<=\\n)|(?<=\\r)|(?<=\\t))"  # a path starts here: not inside a word, nor a path
_HOMES = ("/home/", "/Users/", "/root")
_HOME = re.compile(PATH_BEFORE + r"/(?:(?:home|Users)/[^/\s'\"<>:,;()\[\]{}\\]+|root(?![\w\-]|\.\w))")
# Forms that only credentials have; a message of a failed call may repeat the key that it was made with.
_CREDENTIAL = re.compile(
    r"\b(?:A(?:KI|SI)A[A-Z0-9]{16}|sk-[\w-]{20,}|gh[pousr]_\w{30,}|github_pat_\w{20,}|xox[abeprs]-[\w-]{10,}"
    r"|AIza[\w-]{35}|hf_[A-Za-z0-9]{30,}|glpat-[\w-]{20,}|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{5,})"
    r"|(?i:\bbearer\s+)[\w.~+/-]{20,}=*"
)
_RESERVED = frozenset({"con", "prn", "aux", "nul", *(f"com{i}" for i in range(10)), *(f"lpt{i}" for i in range(10))})


def guard_cell(text: str) -> str:
    """Return the text as a CSV cell that no spreadsheet runs: `'` stands before what would start a formula."""
    return "'" + text if text[:1] in FORMULA_STARTS else text


def unguard_cell(text: str) -> str:
    """Undo `guard_cell`: take one leading `'` off again."""
    return text[1:] if text[:1] == "'" else text


def printable(text: str) -> str:
    """Return the text on one line with control, bidirectional-override and unpaired characters as U+FFFD."""
    return _CONTROL.sub(REPLACEMENT, text.replace("\r\n", " ").replace("\n", " ").replace("\r", " ").replace("\t", " "))


def markdown(text: str) -> str:
    """Return the text so that it stays text in a Markdown table cell: one line, every special character escaped."""
    return _MARKDOWN_SPECIAL.sub(r"\\\1", printable(text))


def without_homes(text: str) -> str:
    """Return the text with every home directory as `~`, by its form alone, so the same on every machine."""
    return _HOME.sub("~", text) if any(home in text for home in _HOMES) else text


def without_private(text: str) -> str:
    """Return a recorded message without home directories and without what has the form of a credential."""
    return _CREDENTIAL.sub(REDACTED, without_homes(text))


def shorten(text: str, limit: int) -> str:
    """Return at most `limit` characters of the text, the middle replaced by an ellipsis."""
    if len(text) <= limit:
        return text
    head = (limit - 1) // 2
    return f"{text[:head]}…{text[len(text) - (limit - 1 - head) :]}"


def slug(text: str) -> str:
    """Return the lower-case file-name form of a label: runs of other characters than `a-z0-9._-` become `-`."""
    plain = unicodedata.normalize("NFC", text).lower()
    return _NOT_SLUG.sub("-", plain).strip("-")


def file_names(labels: Iterable[str]) -> dict[str, str]:
    """Give each distinct label a file name of its own, also on a case-insensitive, normalising file system.

    The name is the slug alone where it is unambiguous. A label whose slug is shared, empty, too long, starts or ends
    with a dot or is reserved by an operating system gets a digest of the exact label appended and no dot, whatever
    the order of the labels.
    """
    distinct = sorted(set(labels))
    slugs = {label: slug(label) for label in distinct}
    counts: dict[str, int] = {}
    for value in slugs.values():
        counts[value] = counts.get(value, 0) + 1
    names = {}
    for label in distinct:
        base = slugs[label]
        unsafe = not base or "." in {base[0], base[-1]} or base.split(".")[0] in _RESERVED
        if counts[base] > 1 or unsafe or len(base) > SLUG_BYTES:
            digest = hashlib.sha256(label.encode("utf-8", "surrogatepass")).hexdigest()[:10]
            base = f"{base[:SLUG_BYTES].replace('.', '-').strip('-') or 'name'}-{digest}"
        names[label] = base
    return names
