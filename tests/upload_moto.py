"""A private bucket in moto, in process, so that every host stays an AWS name. moto proves no refusal: it is too lenient."""

from __future__ import annotations

import boto3

from shellbench_lib.upload.settings import OWNER_VARIABLE, URI_VARIABLE, Destination

ACCOUNT = "123456789012"  # moto's own
BUCKET = "example-bucket-of-moto"
REGION = "eu-west-1"
PREFIX = "traces/run-1"
ENVIRONMENT = {URI_VARIABLE: f"s3://{BUCKET}/{PREFIX}", OWNER_VARIABLE: ACCOUNT}
DESTINATION = Destination(BUCKET, PREFIX, ACCOUNT)
CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "test-access-key",
    "AWS_SECRET_ACCESS_KEY": "test-secret-value",
    "AWS_SESSION_TOKEN": "test-session-value",
    "AWS_EC2_METADATA_DISABLED": "true",
}
ALL_ON = dict.fromkeys(("BlockPublicAcls", "IgnorePublicAcls", "BlockPublicPolicy", "RestrictPublicBuckets"), True)


def client():
    return boto3.client("s3", region_name=REGION, aws_access_key_id="test", aws_secret_access_key="test")


def make_bucket(*, blocked: bool = True) -> None:
    client().create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": REGION})
    if blocked:
        client().put_public_access_block(Bucket=BUCKET, PublicAccessBlockConfiguration=ALL_ON)


def object_keys() -> list[str]:
    listed = client().list_objects_v2(Bucket=BUCKET).get("Contents", [])
    return [entry["Key"].removeprefix(f"{PREFIX}/") for entry in listed]


def stored(key: str) -> bytes:
    return client().get_object(Bucket=BUCKET, Key=f"{PREFIX}/{key}")["Body"].read()
