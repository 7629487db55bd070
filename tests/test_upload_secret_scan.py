"""What looks like a credential is found wherever it stands; what only resembles one is not; a secret is never kept."""

from __future__ import annotations

import dataclasses
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shellbench_lib.upload import secret_scan
from shellbench_lib.upload.secret_scan import AHEAD, BEHIND, NAME_WITH_CREDENTIAL, FileScan, fingerprint

# Put together here so that no tracked file holds anything that looks like a credential.
UP, LOW, MIX = "ABCDEFGHIJKLMNOP", "abcdefghij0123456789klmnop", "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF"
SECRETS = {
    "AWS Access Key": "AKIA" + "QWERTYUIOP" + "ASDF12",
    "GitHub Token": "ghp" + "_" + (MIX + "abcd"),
    "GitLab Token": "glpat" + "-" + MIX[:20],
    "Slack Token": "xox" + "b-123456789012-" + LOW,
    "Model Provider Key": "sk-" + "ant-api03-" + MIX,
    "Hugging Face Token": "hf" + "_" + MIX + "ab",
    "Google API Key": "AI" + "za" + MIX + "abc",
    "NPM tokens": "npm" + "_" + MIX + "abcd",
    "Stripe Access Key": "sk" + "_live_" + MIX[:24],
    "JSON Web Token": "ey" + "JhbGciOiJIUzI1NiJ9." + "ey" + "JzdWIiOiIxMjM0In0.c2lnbmF0dXJl",
    "Private Key": "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIEow" + MIX + "\n-----END RSA " + "PRIVATE KEY-----",
}
SENTENCES = {
    "Bearer Token": "Authorization: " + "Bearer " + MIX,
    "Credential Assignment": "DB_PASS" + "WORD=s3cr3tP4ss",
    "Basic Auth Credentials": "postgres" + "://bob:hunter22" + "@db.example.org/app",
}


def scan(*pieces: bytes, name="m"):
    file = FileScan("raw/x-artifacts.tar.gz")
    file.member(name, pieces)
    return file.result()


def kinds(text: str):
    return {found.kind for found in scan(text.encode())[0]}


@pytest.mark.parametrize("kind", SECRETS)
@pytest.mark.parametrize("frame", ["{}", "a\nb {} c", 'x = "{}"', "key={}&b", "[{}]"])
def test_each_kind_is_found_in_plain_text(kind, frame):
    assert kind in kinds(frame.format(SECRETS[kind]))


@pytest.mark.parametrize("kind", {**SECRETS, **SENTENCES})
def test_each_kind_is_found_inside_json_and_json_inside_json(kind):
    text = {**SECRETS, **SENTENCES}[kind]
    once = json.dumps({"observation": f"$ cat file\n{text}\nexit 0"})
    assert kind in kinds(once)
    assert kind in kinds(json.dumps({"log": once})) or kind == "Private Key"
    assert kind in kinds(text)


@pytest.mark.parametrize(
    "text",
    [
        "MAX_TOKENS=100000 the KEY: value, TOKENIZERS_PARALLELISM=false",
        "API_KEY=${API_KEY} TOKEN=$TOKEN SECRET=<your-secret-goes-here> PASSWORD=changeme1",
        "OPENAI_API_KEY=your-api-key-here1", "KEY=/run/secrets/key1 SSH_KEY=./id_rsa1",
        "the bearer of this letter; Bearer authentication-is-required-here",
        "task-runner-0123456789-abcdefghijklmnop risk-free-0123456789-abcdef", "http://example.org:8080/@me",
        "sha256:" + "0123456789abcdef" * 4, "git clone https://example.org/x.git", "hf_transfer", "n_input_tokens: 12345678",
    ],
)  # fmt: skip
def test_ordinary_text_is_not_a_finding(text):
    assert kinds(text) == set()


def test_a_finding_names_place_and_kind_and_never_the_secret():
    key = SECRETS["AWS Access Key"]
    (found,), counts = scan(f"one\ntwo\nthree {key}\nfour {key} {key}\n".encode(), name="./results/a.log")
    assert (found.relative_key, found.member, found.line, found.places) == (
        "raw/x-artifacts.tar.gz",
        "results/a.log",
        3,
        3,
    )
    assert found.fingerprint == fingerprint(key)
    assert key not in repr(found) + str(dataclasses.asdict(found))
    assert counts.searched == 1


def test_one_secret_has_one_fingerprint_wherever_it_stands_and_two_have_two():
    key, other = SECRETS["Model Provider Key"], SECRETS["Model Provider Key"][:-1] + "Z"
    prints = {found.fingerprint for found in scan(f"OPENAI_API_KEY={key}\nBearer {key}\n'{key}'".encode())[0]}
    assert prints == {fingerprint(key)}
    private = SECRETS["Private Key"]
    escaped = json.dumps(private)
    assert {f.fingerprint for f in scan(private.encode())[0]} == {f.fingerprint for f in scan(escaped.encode())[0]}
    assert fingerprint(key) != fingerprint(other)
    second_key = private.replace("MIIEow", "MIIEpA")
    assert {f.fingerprint for f in scan(private.encode())[0]} != {f.fingerprint for f in scan(second_key.encode())[0]}


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(sorted(SECRETS)),
    st.integers(0, 3),
    st.integers(-90, 90),
    st.lists(st.integers(1, 9000), max_size=6),
)
def test_a_secret_is_found_wherever_the_pieces_are_cut(kind, blocks, shift, cuts):
    secret = SECRETS[kind]
    text = ("." * (blocks * AHEAD + BEHIND + shift) + "\n" + secret + "\n" + "-" * 5000).encode()
    pieces, start = [], 0
    for cut in cuts:
        pieces.append(text[start : start + cut])
        start += cut
    pieces.append(text[start:])
    cut_up, whole = scan(*pieces)[0], scan(text)[0]
    assert cut_up == whole
    assert kind in {found.kind for found in whole}
    assert all(found.line == 2 for found in whole)


def test_many_secrets_close_together_are_each_found_once():
    keys = [f"AKIA{number:016d}" for number in range(700)]
    found = scan("".join(f"{key} " for key in keys).encode())[0]
    assert {entry.fingerprint for entry in found} == {fingerprint(key) for key in keys}
    assert all(entry.places == 1 for entry in found)


def test_binary_members_are_counted_and_not_searched():
    findings, counts = scan(b"\0\1" + SECRETS["AWS Access Key"].encode())
    assert findings == ()
    assert (counts.searched, counts.binary) == (0, 1)


def test_utf_16_text_is_searched():
    assert "AWS Access Key" in {found.kind for found in scan(("x " + SECRETS["AWS Access Key"]).encode("utf-16"))[0]}


def test_a_member_beyond_the_limit_is_searched_up_to_it_and_counted(monkeypatch):
    monkeypatch.setattr(secret_scan, "MEMBER_LIMIT", 100)
    key = SECRETS["AWS Access Key"].encode()
    findings, counts = scan(key + b" " * 200, key)
    assert [found.places for found in findings] == [1]
    assert counts.oversized == 1


def test_findings_beyond_the_limit_are_counted(monkeypatch):
    monkeypatch.setattr(secret_scan, "FINDINGS_LIMIT", 3)
    findings, counts = scan("\n".join(f"AKIA{number:016d}" for number in range(5)).encode())
    assert (len(findings), counts.findings_beyond_limit) == (3, 2)


def test_a_hostile_member_name_is_shown_on_one_line():
    (found,), _ = scan(SECRETS["AWS Access Key"].encode(), name="a\nb\x1b[31m" + "x" * 999)
    assert "\n" not in found.member
    assert "\x1b" not in found.member
    assert len(found.member) <= 200


def findings_of(text, name="m.txt"):
    scan = FileScan("raw/a")
    scan.member(name, [text.encode()])
    return scan.result()[0]


def pem(body):
    name = "RSA PRIVATE KEY"
    return f"-----BEGIN {name}-----\nProc-Type: 4,ENCRYPTED\n\n{body}\n-----END {name}-----\n"


def test_two_keys_that_begin_alike_have_two_fingerprints():
    (first,), (second,) = findings_of(pem("MIIA" * 40)), findings_of(pem("MIIB" * 40))
    assert first.fingerprint != second.fingerprint
    assert findings_of(pem("MIIA" * 40))[0].fingerprint == first.fingerprint


@pytest.mark.parametrize(
    "before",
    [
        "AWS_SECRET_ACCESS_" + "KEY=",
        "aws_secret_access_" + "key = ",
        '"SecretAccess' + 'Key": "',
        "openai_api_" + "key=",
        '"api_' + 'key": "',
        "x-api-" + "key: ",
    ],
)
@pytest.mark.parametrize("start", ["/", "B"])
def test_a_secret_key_is_found_also_where_it_begins_with_a_slash(before, start):
    assert len(findings_of(before + start + "3dEf5" * 7 + "abcd" + '"')) == 1


def test_a_path_is_no_secret():
    assert findings_of("SSL_CERT_" + "KEY=/etc/ssl/private/server1.pem") == ()


def test_names_are_searched_and_never_shown():
    key = "AKIA" + "Q7" * 8
    scan = FileScan("raw/a")
    scan.label(f"dir/{key}/x")
    scan.member(f"dir/{key}/x", [("AWS_SECRET_ACCESS_" + "KEY=" + "b3dEf5/" * 5 + "abcde").encode()])
    found, _ = scan.result()
    assert len(found) == 2
    assert {finding.member for finding in found} == {NAME_WITH_CREDENTIAL}
