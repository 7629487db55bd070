"""Where an upload goes comes from the environment alone, and no parameter can say it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shellbench_lib.errors import ParameterError
from shellbench_lib.upload.parameters import UploadParameters, check_upload_parameters
from shellbench_lib.upload.settings import (
    KMS_VARIABLE,
    OWNER_VARIABLE,
    URI_VARIABLE,
    private_texts,
    read_destination,
    require_destination,
)

OWNER = "111122223333"
KEY_ID = "1234abcd-12ab-34cd-56ef-1234567890ab"


def environment(uri="s3://example-bucket/traces/run", owner=OWNER, kms=""):
    return {URI_VARIABLE: uri, OWNER_VARIABLE: owner, KMS_VARIABLE: kms}


def test_a_destination_is_bucket_prefix_owner_and_key():
    destination = read_destination(environment("s3://example-bucket/traces/run/", kms=KEY_ID))
    assert (destination.bucket, destination.prefix, destination.account) == ("example-bucket", "traces/run", OWNER)
    assert destination.kms_key == KEY_ID
    assert destination.key("raw/a.tar.gz") == "traces/run/raw/a.tar.gz"
    assert not any(text in repr(destination) for text in ("example", "traces", OWNER, KEY_ID))


def test_no_variable_is_no_destination_and_a_real_upload_needs_one():
    assert read_destination({}) is None
    with pytest.raises(ParameterError, match=URI_VARIABLE):
        require_destination({})


@pytest.mark.parametrize(
    "uri", ["example-bucket/p", "https://example-bucket/p", "S3://example-bucket/p", "s3:/example-bucket/p"]
)
def test_anything_but_an_s3_address_is_refused(uri):
    with pytest.raises(ParameterError, match=URI_VARIABLE):
        read_destination(environment(uri))


@pytest.mark.parametrize(
    "place",
    [
        "example-bucket", "example-bucket/", "example-bucket//p", "example-bucket/p//q", "example-bucket/../p",
        "example-bucket/p/./q", "example-bucket/p q", "example-bucket/p?x=1", "example-bucket/p\n", "ab/p", "/p", "Example/p",
        "example_bucket/p", "-example/p", "example-/p", "exam..ple/p", "192.0.2.1/p", "example--use1-az4--x-s3/p",
        "example-s3alias/p", "example--ol-s3/p", "example.mrap/p", "xn--example/p", "arn:aws:s3:::example-bucket/p",
        "user:pass@example-bucket/p", "a" * 64 + "/p", "example-bucket/" + "p" * 513,
        "arn:aws:s3:us-east-1:111122223333:accesspoint/example/p",
    ],
)  # fmt: skip
def test_anything_but_a_plain_bucket_and_a_prefix_is_refused_without_repeating_it(place):
    with pytest.raises(ParameterError, match=URI_VARIABLE) as caught:
        read_destination(environment(f"s3://{place}"))
    assert caught.value.exit_code == 2
    assert "example" not in str(caught.value)


@pytest.mark.parametrize(
    "owner", ["", "11112222333", "1111222233334", "11112222333x", "１１１１２２２２３３３３", " 111122223333"]
)
def test_the_owner_must_be_twelve_digits(owner):
    with pytest.raises(ParameterError, match=OWNER_VARIABLE):
        read_destination(environment(owner=owner))


@pytest.mark.parametrize(
    "key", ["alias/example", "arn:aws:kms:eu-west-1:111122223333:alias/example", "example", KEY_ID + "\n"]
)
def test_a_key_that_could_not_be_verified_is_refused(key):
    with pytest.raises(ParameterError, match=KMS_VARIABLE):
        read_destination(environment(kms=key))


def test_the_owner_without_a_destination_is_incomplete():
    with pytest.raises(ParameterError, match=URI_VARIABLE):
        read_destination({OWNER_VARIABLE: OWNER})


@given(st.text(), st.text(), st.text())
def test_what_must_not_be_shown_is_known_also_where_the_variables_are_malformed(uri, owner, kms):
    texts = private_texts(environment(uri, owner, kms))
    assert set(texts) >= {text for text in (uri, owner, kms) if len(text) >= 3}
    assert all(len(text) >= 3 for text in texts)


def test_bucket_and_account_must_not_be_shown():
    assert set(private_texts(environment())) == {"s3://example-bucket/traces/run", "example-bucket", OWNER}


def test_the_parameters_are_these_and_nothing_names_a_destination():
    assert set(UploadParameters.model_fields) == {
        "run_dir", "dry_run", "workers", "secrets", "allow_findings", "part_size_mib", "strict", "matrix_name",
    }  # fmt: skip
    parameters = check_upload_parameters({"run_dir": "r", "matrix_name": "m"})
    assert parameters.dry_run is True
    assert parameters.secrets == "refuse"
    assert (parameters.workers, parameters.part_size_mib, parameters.strict) == (4, 64, False)
    assert parameters.output_folder == "outputs/m"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("bucket", "b"), ("endpoint_url", "http://x"), ("aws_access_key_id", "x"), ("dry_run", "false"), ("dry_run", 0),
        ("workers", 0), ("secrets", "ignore"), ("allow_findings", ["all"]), ("part_size_mib", 4), ("matrix_name", "../x"),
        ("run_dir", ""),
    ],
)  # fmt: skip
def test_unknown_names_and_wrong_values_are_refused(name, value):
    with pytest.raises(ParameterError, match=name):
        check_upload_parameters({"run_dir": "r", "matrix_name": "m", name: value})
