"""One publication from the first proof to the manifest, and the receipt of it.

    proof → files, each verified → proof again → manifest

Whatever ends it early, nothing is written after that, and the receipt says how far it came. The receipt stays on this
machine: it names bucket, account and principals.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from shellbench_lib.errors import OutputError, ShellbenchError, UploadRefusedError
from shellbench_lib.tables import json_bytes
from shellbench_lib.upload.aws import Session
from shellbench_lib.upload.inspection import Inspection
from shellbench_lib.upload.local import write_private
from shellbench_lib.upload.privacy import PrivacyProof, prove_private
from shellbench_lib.upload.publication import (
    MANIFEST_NAME,
    ManifestStatus,
    manifest_bytes,
    planned_status,
    publish_manifest,
    read_published,
)
from shellbench_lib.upload.settings import Destination
from shellbench_lib.upload.transfer import Sent, Transfer
from shellbench_lib.upload.unfinished import UNFINISHED_NAME, Unfinished

RECEIPT_PREFIX = "S3_UPLOAD_RECEIPT"
RECEIPT_VERSION = 1


@dataclass
class Publication:
    """What is published where, and how far it came: `proofs`, `sent`, `manifest` and `error` fill up on the way."""

    session: Session
    destination: Destination
    inspection: Inspection
    run_dir: Path
    workers: int
    strict: bool = False
    advance: Callable[[int], None] = field(default=lambda _: None)
    proofs: list[PrivacyProof] = field(default_factory=list)
    sent: list[Sent] = field(default_factory=list)
    manifest: ManifestStatus | None = None
    error: str = ""

    def prove(self) -> PrivacyProof:
        """Ask whether the bucket is private, keep the proof and return it."""
        proof = prove_private(self.session, self.destination, strict=self.strict)
        self.proofs.append(proof)
        return proof

    def publish(self, first: PrivacyProof) -> None:
        """Send the files and publish the manifest after a first proof.

        Raises:
            UploadRefusedError: a proof failed; after the second one the message says what already lies there.
            UploadNotVerifiedError: a transfer failed or something else lies there.
            InputError: a file changed.
        """
        require_private(first)
        client = self.session.client("s3", first.region)
        files = self.inspection.files
        source_run = self.inspection.listing.run_name
        data = manifest_bytes(files, self.destination, source_run=source_run)
        published = read_published(client, self.destination, source_run=source_run)
        planned = planned_status(published, files, data=data)
        unfinished = Unfinished(self.run_dir / "summaries" / UNFINISHED_NAME)
        transfer = Transfer(client, self.destination, workers=self.workers, unfinished=unfinished, advance=self.advance)
        self.sent = transfer.sent
        transfer.send_all(files)
        second = self.prove()
        require_private(second, lying_there=len(self.sent))
        if planned == "unchanged" and published is not None:
            data = published.data
        else:
            publish_manifest(client, self.destination, data, published=published)
        self.manifest = planned
        write_private(self.run_dir / "summaries" / MANIFEST_NAME, data)

    def run(self, first: PrivacyProof) -> None:
        """Publish, and write the receipt however it ends.

        Raises:
            OutputError: manifest and receipt could not be kept beside the summaries; nothing was sent.
            ShellbenchError: what `publish` raises.
        """
        started = datetime.now(UTC)
        _check_writable(self.run_dir / "summaries")
        try:
            self.publish(first)
        except ShellbenchError as error:
            self.error = str(error)
            raise
        except BaseException as error:
            self.error = f"interrupted: {type(error).__name__}"
            raise
        finally:
            self.write_receipt(started)

    def write_receipt(self, started: datetime) -> Path:
        """Write the receipt of this run beside the summaries and return its path; no earlier one is touched."""
        folder = self.run_dir / "summaries"
        stamp = started.strftime("%Y%m%dT%H%M%S.%fZ")
        path = folder / f"{RECEIPT_PREFIX}-{stamp}-{os.getpid()}.json"
        write_private(path, json_bytes(self.receipt(started)))
        return path

    def receipt(self, started: datetime) -> dict[str, Any]:
        """Return everything that is worth keeping about this run; it names the destination."""
        listing = self.inspection.listing
        return {
            "schema_version": RECEIPT_VERSION,
            "started_at_utc": started.isoformat(timespec="seconds"),
            "finished_at_utc": datetime.now(UTC).isoformat(timespec="seconds"),
            "outcome": "published" if not self.error else "failed",
            "error": self.error,
            "bucket": self.destination.bucket,
            "prefix": self.destination.prefix,
            "expected_account": self.destination.account,
            "kms_key": self.destination.kms_key,
            "source_run": listing.run_name,
            "strict": self.strict,
            "proofs": [_proof_record(proof) for proof in self.proofs],
            "files": [asdict(sent) for sent in sorted(self.sent)],
            "left_out": [asdict(entry) for entry in listing.left_out],
            "secret_findings": [asdict(found) for found in self.inspection.findings],
            "manifest": self.manifest,
        }


def require_private(proof: PrivacyProof, *, lying_there: int | None = None) -> None:
    """Raise UploadRefusedError unless the bucket is proved private; the message names the checks that refuse."""
    if proof.private:
        return
    checks = ", ".join(proof.refused) or "bucket"
    if lying_there is None:
        raise UploadRefusedError(f"the bucket is not proved private ({checks}); nothing was written")
    raise UploadRefusedError(
        f"the bucket is no longer proved private ({checks}); {lying_there} files of the bundle already lie there, "
        "the manifest was not published and nothing more is written"
    )


def _proof_record(proof: PrivacyProof) -> dict[str, Any]:
    checks = []
    for check in proof.checks:
        record = {**asdict(check), **asdict(check.kind)}
        del record["kind"]
        checks.append(record)
    return {"private": proof.private, "region": proof.region, "checks": checks}


def _check_writable(folder: Path) -> None:
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise OutputError(f"{folder.name}/: cannot be made ({type(error).__name__})") from error
    if folder.is_symlink() or not os.access(folder, os.W_OK):
        raise OutputError(f"{folder.name}/: manifest and receipt cannot be written there; nothing was sent")
