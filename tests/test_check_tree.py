"""The lint of the tree finds what must not be committed, and lets placeholders be."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SCRIPT = ROOT / "tools" / "check_tree.py"
_spec = importlib.util.spec_from_file_location("check_tree", SCRIPT)
check_tree = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(check_tree)

# Every text is put together here, so that this file itself stays clean.
GIVEN_AWAY = {
    "AWS key": ("key = AKIA" + "QWERTYUIOPASDFGH", "AWS Access Key"),
    "AWS secret": ("aws_secret_access_key = '" + "Ab1/" * 10 + "'", "AWS Access Key"),
    "private key": ("-----BEGIN RSA " + "PRIVATE KEY-----", "Private Key"),
    "GitHub": ("ghp_" + "a1B2" * 9, "GitHub Token"),
    "bearer": ("Authorization: Bear" + "er " + "Ab1x" * 8, "bearer token"),
    "provider": ("sk-" + "ant-api03-" + "Ab1_" * 10, "provider key"),
    "env file": ("export MODEL_API_" + "KEY=" + "ab12cd34" * 3, "assigned secret"),
    "bucket": ("s3:" + "//acme-traces/runs", "S3 address"),
    "bucket in capitals": ("S3:" + "//acme-traces", "S3 address"),
    "arn": ("arn:aws" + ":s3:::acme-traces/*", "S3 address"),
    "home": ('"/ho' + 'me/jdoe/matrix"', "personal path"),
    "file URI": ("file:///ho" + "me/jdoe/matrix", "personal path"),
    "mac": ("/Us" + "ers/jdoe/matrix", "personal path"),
    "root's home": ("(/ro" + "ot/.venv)", "personal path"),
    "windows": ("C:" + "\\Users\\jdoe", "personal path"),
    "registry": ("https://py" + "pi.org/simple", "registry address"),
}
HARMLESS = [
    "s3://bucket/prefix",
    "s3://my-bucket/prefix",
    "s3://example-traces/prefix",
    "s3://<name>/<prefix>",
    "s3://{bucket}/{prefix}",
    "s3://$NAME/x",
    "arn:aws:s3:::BUCKET/*",
    "/home/user/matrix",
    "/Users/name/matrix",
    "runs/home/jdoe",
    "AKIAIOSFODNN7EXAMPLE",
    "the bearer of this letter",
    "SECRETS = frozenset()",
    "--hash=sha256:065665c041c42a5938ed220bdcd7230f22527fbec085e1853d2402c8a3615d9d",
    '<path d="M 10.1234567890 20.2 L 12.2222222222 33.3"/>',
]


@pytest.mark.parametrize(("line", "kind"), GIVEN_AWAY.values(), ids=GIVEN_AWAY.keys())
def test_what_gives_something_away_is_found_with_its_line(line, kind):
    assert list(check_tree.faults_of_text(f"first\n  {line}\nlast")) == [(2, kind)]


@pytest.mark.parametrize("line", HARMLESS)
def test_placeholders_and_ordinary_text_are_let_be(line):
    assert list(check_tree.faults_of_text(line)) == []


def test_a_marked_line_is_let_be():
    line = GIVEN_AWAY["AWS key"][0]
    assert list(check_tree.faults_of_text(f"{line}  # pragma: allowlist secret")) == []


@pytest.fixture
def repository(tmp_path):
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "check_tree.py").write_bytes(SCRIPT.read_bytes())
    (tmp_path / ".gitignore").write_text("ignored/\n__pycache__/\n")
    return tmp_path


def run(repository: Path) -> subprocess.CompletedProcess:
    command = [sys.executable, str(repository / "tools" / "check_tree.py")]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_script_fails_on_a_file_that_would_be_added_and_never_shows_the_secret(repository):
    secret = GIVEN_AWAY["AWS key"][0]
    (repository / "notes ü.md").write_text(f"one\n{secret}\n")
    done = run(repository)
    assert done.returncode == 1
    assert "notes ü.md:2: AWS Access Key" in done.stdout
    assert secret[-16:] not in done.stdout + done.stderr


def test_ignored_binary_and_linked_files_are_not_read(repository):
    secret = GIVEN_AWAY["AWS key"][0]
    (repository / "ignored").mkdir()
    (repository / "ignored" / "key.txt").write_text(secret)
    (repository / "blob.bin").write_bytes(b"\0" + secret.encode())
    (repository / "link.txt").symlink_to(repository / "ignored" / "key.txt")
    done = run(repository)
    assert (done.returncode, done.stdout) == (0, "check_tree: 0 faults\n")


def test_this_tree_gives_nothing_away():
    assert check_tree.check(ROOT) == []
