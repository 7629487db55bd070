"""What may not be published is taken out, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from shellbench_lib.scrub import is_private_name, scrubber, secret_values

SUPER = "/" + "root"  # the home of the superuser
SECRET = 'pa\'ss <word> & "more"'
SCRUB = scrubber(
    {
        Path("/srv/lab/project"): ".",
        Path("/srv/lab/project/outputs/.x-abc.part"): "outputs/x",
        Path("/data/client/matrix"): "matrix",
        Path("/opt/analyst"): "~",
        Path("/"): "root",
    },
    [SECRET, "AKIA-not-a-key"],
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("/srv/lab/project/params/a.yaml", "params/a.yaml"),
        ("PosixPath('/srv/lab/project')", "PosixPath('.')"),
        ("/srv/lab/project/outputs/.x-abc.part/a.csv", "outputs/x/a.csv"),
        ("in /data/client/matrix/jobs/r1: bad", "in matrix/jobs/r1: bad"),
        ("/data/client/matrix-2/jobs", "/data/client/matrix-2/jobs"),
        ("/opt/analyst/.cache", "~/.cache"),
        (f"/home/user/work and /Users/name/x and {SUPER}/.ssh", "~/work and ~/x and ~/.ssh"),
        ("{'a': '/home/user'}", "{'a': '~'}"),
        (f"line\\n{SUPER}/x", "line\\n~/x"),
        ("fix/root/cause and task/home/page", "fix/root/cause and task/home/page"),
        ("/rooted /homely", "/rooted /homely"),
        ("a/b and anthropic/model and 1/2", "a/b and anthropic/model and 1/2"),
        ("</td></tr>", "</td></tr>"),
        ("give s3://bucket/prefix there", "give s3://bucket/prefix there"),
        ("s3://bucket/prefix/key s3://bucket/prefix-2", "[redacted] [redacted]"),
        ("s3://bucket-a/prefix/x.tar.gz, s3a://bucket-b", "[redacted] [redacted]"),
        ("https://bucket-a.s3.eu-west-1.amazonaws.com/key?X-Amz-Signature=1", "[redacted]"),
        ("https://user:pass@example.org/x", "https://[redacted]@example.org/x"),
        ("https://example.org/s3/x", "https://example.org/s3/x"),
        ("half a \ud83d character", "half a \ufffd character"),
        (f"key {SECRET}!", "key [redacted]!"),
        ("pa&#x27;ss &lt;word&gt; &amp; &quot;more&quot;", "[redacted]"),
        ('pa\'ss <word> & \\"more\\"', "[redacted]"),
        ("AKIA-not-a-keyring", "[redacted]ring"),
    ],
)
def test_a_text(text, shown):
    assert SCRUB.text(text) == shown


def test_an_error_message_keeps_the_last_component_of_every_path():
    message = "\x1b[0;31mFile /usr/lib/python3/pandas/io.py:3\x1b[0m, in /mnt/x/client/matrix/jobs and a/b"
    assert SCRUB.message(message) == "File io.py:3, in jobs and a/b"


def test_a_tree_is_scrubbed_to_its_leaves_but_images_are_not_touched():
    tree = {
        "data": {"text/html": "<p>/home/user/x</p>", "image/png": f"aa{SUPER}/bb"},
        "list": [f"{SUPER}/y", 1, None, True],
    }
    assert SCRUB.tree(tree) == {
        "data": {"text/html": "<p>~/x</p>", "image/png": f"aa{SUPER}/bb"},
        "list": ["~/y", 1, None, True],
    }


@pytest.mark.parametrize(
    "name", ["AWS_PROFILE", "MY_API_KEY", "APIKEY", "GH_TOKEN", "DB_PASSWORD", "SHELLBENCH_TRACE_S3_URI"]
)
def test_private_names(name):
    assert is_private_name(name)


@pytest.mark.parametrize("name", ["PATH", "KEYBOARD", "MONKEY", "TOKENIZERS_PARALLELISM", "AUTHOR", "SHELL", "COMPASS"])
def test_other_names(name):
    assert not is_private_name(name)


def test_only_values_that_cannot_be_ordinary_words_are_secrets():
    environment = {
        "A_TOKEN": "demo-not-a-secret",
        "B_TOKEN": "true",
        "AWS_REGION": "eu-central-1",
        "PATH": "/usr/bin:/bin",
    }
    assert secret_values(environment) == ["demo-not-a-secret"]


def test_the_placeholder_address_of_our_own_sentences_stays_and_so_do_media_types():
    assert scrubber({}).message("set it to s3://bucket/prefix") == "set it to s3://bucket/prefix"
    masked = scrubber({}, ["text"]).tree({"text/plain": "some text", "text": 1})
    assert masked == {"text/plain": "some [redacted]", "[redacted]": 1}
