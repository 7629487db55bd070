"""Does a file of the repository give something private away? `python tools/check_tree.py` lists what does, and fails.

Looked at is every text file that git tracks or would add. What is looked for:

* credentials, by the detectors of detect-secrets that know a key by its form, and bearer tokens, keys of model
  providers and secrets assigned as in an `.env` file;
* S3 addresses (`s3://<name>`, `arn:aws:s3:::<name>`) whose bucket is no placeholder: a placeholder has `bucket` or
  `example` in its name, or is a template (`<...>`, `{...}`, `$...`);
* absolute paths into somebody's home, unless the name is a placeholder (`/home/user`, `/Users/name`);
* addresses of package registries, which belong in a machine's own configuration.

A line that must hold such a text, as a test of a scanner does, ends with `pragma: allowlist secret`.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from detect_secrets.core.scan import scan_line
from detect_secrets.settings import transient_settings

ALLOWED = "pragma: allowlist secret"
DETECTORS = (
    "ArtifactoryDetector", "AWSKeyDetector", "AzureStorageKeyDetector", "DiscordBotTokenDetector",
    "GitHubTokenDetector", "GitLabTokenDetector", "JwtTokenDetector", "MailchimpDetector", "NpmDetector",
    "OpenAIDetector", "PrivateKeyDetector", "PypiTokenDetector", "SendGridDetector", "SlackDetector",
    "SquareOAuthDetector", "StripeDetector", "TelegramBotTokenDetector", "TwilioKeyDetector",
)  # fmt: skip
_PLACEHOLDER_BUCKET = r"(?![\w.-]*(?:bucket|example))"
_PLACEHOLDER_HOME = r"(?!(?:user|name|you|someone|example)\b)"
_BUCKET = rf"{_PLACEHOLDER_BUCKET}[a-z0-9][\w.-]+"
_HOME = rf"{_PLACEHOLDER_HOME}\w"
_BEFORE = r"(?<![\w.])"  # the path starts here and is no part of a relative one
PATTERNS = {
    "bearer token": re.compile(r"(?i)\bbearer\s+(?=\S*\d)[\w.~+/-]{20,}"),
    "provider key": re.compile(r"\bsk-(?:ant|or|proj|svcacct)-[\w-]{20,}"),
    "assigned secret": re.compile(
        r"^\s*(?:export\s+)?\w*(?:SECRET|TOKEN|PASSWORD|API_KEY|ACCESS_KEY)\w*\s*=\s*[\"']?(?=[^\"'\s]*\d)[\w/+.-]{16,}"
    ),
    "S3 address": re.compile(rf"(?i)\bs3://{_BUCKET}|\barn:aws[\w-]*:s3:::{_BUCKET}"),
    "personal path": re.compile(rf"{_BEFORE}/(?:home|Users)/{_HOME}|{_BEFORE}/(?:root)/|\b[A-Za-z]:\\+Users\\+{_HOME}"),
    "registry address": re.compile(
        r"(?i)\b(?:pypi\.org|pythonhosted\.org|npmjs\.(?:org|com)|anaconda\.org|deb\.debian\.org)\b"
    ),
}
# One cheap look that leaves out nearly every line before the detectors read it: each of their forms has either a run
# of twelve characters of keys or the words of a key's header.
_WORTH_READING = re.compile(r"[A-Za-z0-9_+/.=-]{12}|PRIVATE KEY|ssh-rsa")


def faults_of_line(line: str) -> Iterator[str]:
    """Yield what a line gives away, as kinds; call it inside `detectors()`."""
    if ALLOWED in line:
        return
    yield from (kind for kind, pattern in PATTERNS.items() if pattern.search(line))
    if _WORTH_READING.search(line):
        yield from sorted({secret.type for secret in scan_line(line) if "EXAMPLE" not in str(secret.secret_value)})


def faults_of_text(text: str) -> Iterator[tuple[int, str]]:
    """Yield (line number, kind) for everything that a text gives away."""
    with transient_settings({"plugins_used": [{"name": name} for name in DETECTORS]}):
        for number, line in enumerate(text.split("\n"), start=1):
            for kind in faults_of_line(line):
                yield number, kind


def tree_files(root: Path) -> list[Path]:
    """Return the files that git tracks or would add, in order; links are left out."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=root, capture_output=True, check=True).stdout.decode()
    paths = [root / name for name in sorted(set(listed.split("\0"))) if name]
    return [path for path in paths if path.is_file() and not path.is_symlink()]


def check(root: Path) -> list[str]:
    """Return one sentence for every fault of the tree: file, line and kind, never the text itself."""
    sentences = []
    for path in tree_files(root):
        data = path.read_bytes()
        if b"\0" in data:
            continue
        text = data.decode("utf-8", "replace")
        name = path.relative_to(root).as_posix()
        sentences += [f"{name}:{number}: {kind}" for number, kind in faults_of_text(text)]
    return sentences


def main() -> int:
    """Print the faults of the tree that this file belongs to; return 1 when there is one."""
    sentences = check(Path(__file__).resolve().parents[1])
    for sentence in sentences:
        print(sentence)
    print(f"check_tree: {len(sentences)} faults")
    return int(bool(sentences))


if __name__ == "__main__":
    sys.exit(main())
