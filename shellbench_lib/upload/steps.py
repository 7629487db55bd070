"""What the cells of the upload notebook call: one method for each table, and the end that raises.

Nothing here names bucket, account, principal or an absolute path. An error on the way is kept, the steps that still
make sense go on, every table is shown, and `conclude` raises the first error in the class that gives the exit code.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from shellbench_lib import errors
from shellbench_lib.blocks import Block, Shown, paragraph, stack, table
from shellbench_lib.errors import InputError, ParameterError, ShellbenchError
from shellbench_lib.paths import local_path
from shellbench_lib.upload.aws import AwsSession, Session
from shellbench_lib.upload.bundle import Listing, find_bundle
from shellbench_lib.upload.inspection import Inspection, inspect_bundle
from shellbench_lib.upload.parameters import SAMPLE_BUNDLE, UploadParameters, check_upload_parameters
from shellbench_lib.upload.privacy import CHECKS, NOT_ASKED, PrivacyProof
from shellbench_lib.upload.progress import Progress
from shellbench_lib.upload.publication import MANIFEST_NAME, run_index_provenance
from shellbench_lib.upload.publish import Publication, require_private
from shellbench_lib.upload.sample import write_sample_bundle
from shellbench_lib.upload.settings import Destination, read_destination, require_destination

NOT_DONE = "Not reached."


def open_upload(
    values: Mapping[str, Any], *, environment: Mapping[str, str] = os.environ, session: Session | None = None
) -> Upload:
    """Check the parameters, read the whole bundle, and return what the other cells show.

    Args:
        values: the notebook's names; those of the parameters are taken.
        environment: where the destination stands.
        session: where clients come from; by default AWS with the standard chain of credentials.

    Raises:
        ParameterError: a parameter is missing or wrong.
    """
    names = UploadParameters.model_fields
    parameters = check_upload_parameters({name: values[name] for name in names if name in values})
    upload = Upload(parameters, session)
    upload.read(environment)
    return upload


class Upload:
    """One upload under way, dry or real."""

    def __init__(self, parameters: UploadParameters, session: Session | None) -> None:
        self._parameters = parameters
        self._session = session
        self._error: ShellbenchError | None = None
        self._destination: Destination | None = None
        self._inspection: Inspection | None = None
        self._publication: Publication | None = None
        self._proof: PrivacyProof | None = None
        self._scratch: tempfile.TemporaryDirectory[str] | None = None

    def read(self, environment: Mapping[str, str]) -> None:
        """Read destination and bundle; what is wrong with them is kept for the end."""
        try:
            read = read_destination if self._parameters.dry_run else require_destination
            self._destination = read(environment)
        except ParameterError as error:
            self._keep(error)
        try:
            run_dir = self._run_dir()
            listing = find_bundle(run_dir)
            self._inspection = self._inspect(listing)
            self._judge(self._inspection)
        except ShellbenchError as error:
            self._keep(error)
            return
        if self._destination is not None:
            self._publication = Publication(
                session=self._session or AwsSession(),
                destination=self._destination,
                inspection=self._inspection,
                run_dir=run_dir,
                workers=self._parameters.workers,
                strict=self._parameters.strict,
            )

    def _run_dir(self) -> Path:
        if self._parameters.run_dir != SAMPLE_BUNDLE:
            return local_path(self._parameters.run_dir, field="run_dir")
        if not self._parameters.dry_run:
            raise ParameterError("run_dir: the built-in sample cannot be published; give the folder of a run")
        self._scratch = tempfile.TemporaryDirectory(prefix="shellbench-")
        return write_sample_bundle(Path(self._scratch.name))

    def _inspect(self, listing: Listing) -> Inspection:
        total = sum(candidate.size for candidate in listing.candidates)
        with Progress(total, "read") as progress:
            return inspect_bundle(
                listing,
                part_size=self._parameters.part_size,
                workers=self._parameters.workers,
                advance=progress.advance,
            )

    def _judge(self, inspection: Inspection) -> None:
        if inspection.problems:
            self._keep(InputError("; ".join(inspection.problems)))
        try:
            run_index_provenance(inspection.files)
        except InputError as error:
            self._keep(error)
        unreviewed = inspection.unreviewed(frozenset(self._parameters.allow_findings))
        beyond = inspection.findings_beyond_limit
        if self._parameters.secrets == "refuse" and (unreviewed or beyond):
            first = f"the first in {unreviewed[0].relative_key}" if unreviewed else "beyond those listed"
            self._keep(
                InputError(
                    f"{len(unreviewed) + beyond} findings look like credentials ({first}); remove them, or put the "
                    "fingerprints of reviewed ones into allow_findings"
                )
            )

    def _keep(self, error: ShellbenchError) -> None:
        self._error = self._error or error

    @property
    def _mode(self) -> str:
        return "Dry run: nothing is written." if self._parameters.dry_run else "Real run."

    def plan(self) -> Block:
        """Show what is published in numbers."""
        if self._inspection is None:
            return paragraph(self._mode, "No bundle could be read; the last cell says why.")
        listing, usable = self._inspection.listing, self._inspection.files
        counts = [entry.counts for entry in self._inspection.inspected]
        rows = [
            ("files", len(listing.candidates)),
            ("archives", sum(candidate.is_archive for candidate in listing.candidates)),
            ("bytes", sum(candidate.size for candidate in listing.candidates)),
            ("files that can be published", len(usable)),
            ("files that are damaged", len(self._inspection.problems)),
            ("entries left out", len(listing.left_out)),
            ("texts searched for credentials", sum(count.searched for count in counts)),
            ("binary members, not searched", sum(count.binary for count in counts)),
            ("members too large, searched in part", sum(count.oversized for count in counts)),
            ("findings that look like credentials", len(self._inspection.findings)),
        ]
        frame = pd.DataFrame(rows, columns=["what", "count"])
        shown = table(frame, [Shown("what", "What"), Shown("count", "Count", "integer")], caption="The bundle.")
        return stack([paragraph(self._mode), shown])

    def files(self) -> Block:
        """Show every file with its size and digest, or what is wrong with it."""
        if self._inspection is None:
            return paragraph(NOT_DONE)
        rows = [
            (
                entry.candidate.relative_key,
                entry.file.size if entry.file else entry.candidate.size,
                entry.content.members if entry.content else None,
                entry.content.unsafe_members if entry.content else None,
                entry.file.sha256.hex() if entry.file else "",
                entry.problem.removeprefix(f"{entry.candidate.relative_key}: ") or "whole",
            )
            for entry in self._inspection.inspected
        ]
        return _table(
            rows,
            {"Key": "text", "Bytes": "integer", "Members": "integer", "Links and escapes": "integer", "SHA-256": "text",
             "State": "text"},
            caption="Files of the bundle. Links, devices and members outside their folder are counted, not unpacked.",
        )  # fmt: skip

    def left_out(self) -> Block:
        """Show what lies beside the bundle and is not published."""
        if self._inspection is None:
            return paragraph(NOT_DONE)
        rows = [(entry.relative_key, entry.reason) for entry in self._inspection.listing.left_out]
        return _table(rows, {"Entry": "text", "Why": "text"}, caption="Left out.")

    def findings(self) -> Block:
        """Show everything that looks like a credential, never the credential."""
        if self._inspection is None:
            return paragraph(NOT_DONE)
        allowed = set(self._parameters.allow_findings)
        rows = [
            (found.relative_key, found.member, found.line, found.kind, found.fingerprint, found.places,
             "reviewed" if found.fingerprint in allowed else "open")
            for found in self._inspection.findings
        ]  # fmt: skip
        return _table(
            rows,
            {"Key": "text", "Member": "text", "First line": "integer", "Kind": "text", "Fingerprint": "text",
             "Places": "integer", "State": "text"},
            caption="Findings that look like credentials; a reviewed fingerprint goes into allow_findings.",
        )  # fmt: skip

    def privacy(self) -> Block:
        """Ask whether the bucket is private and show every check; without destination or credentials, the questions."""
        if self._publication is None or (self._parameters.dry_run and not self._publication.session.has_credentials()):
            rows = [
                (kind.name, _need(required=kind.required), NOT_ASKED, kind.question, kind.action) for kind in CHECKS
            ]
            problem = self._publication.session.problem if self._publication is not None else ""
            reason = problem or "no destination or no credentials"
            return _checks(rows, f"The checks of the privacy proof. Not asked: {reason}.")
        self._proof = self._publication.prove()
        try:
            require_private(self._proof)
        except ShellbenchError as error:
            self._keep(error)
        return _proof(self._proof, "The privacy proof before anything is written.")

    def transfer(self) -> Block:
        """Publish where it is a real run without an error so far, and show what happened to every file."""
        if self._parameters.dry_run:
            return paragraph("Dry run: nothing was sent.")
        if self._error is not None or self._publication is None or self._proof is None:
            return paragraph("Nothing was sent; the last cell says why.")
        total = sum(file.size for file in self._publication.inspection.files)
        with Progress(total, "uploaded") as progress:
            self._publication.advance = progress.advance
            try:
                self._publication.run(self._proof)
            except ShellbenchError as error:
                self._keep(error)
        rows = [
            (sent.relative_key, sent.status, sent.size, sent.parts_kept, sent.evidence, sent.note)
            for sent in sorted(self._publication.sent)
        ]
        columns = {"Key": "text", "Status": "text", "Bytes": "integer", "Parts kept": "integer", "Verified by": "text",
                   "Note": "text"}  # fmt: skip
        return _table(rows, columns, caption="Files that lie in the bucket and were verified.")

    def manifest(self) -> Block:
        """Show the second proof and whether the manifest, the commit point, was published."""
        if self._publication is None or len(self._publication.proofs) <= 1:
            return paragraph("No manifest was published.")
        proof = _proof(self._publication.proofs[-1], "The privacy proof after the last file.")
        status = self._publication.manifest
        unsure = "The manifest is not confirmed; the last cell says what is known."
        not_there = unsure if self._publication.proofs[-1].private else "No manifest was published."
        said = f"{MANIFEST_NAME}: {status}." if status else not_there
        return stack([proof, paragraph(said)])

    def conclude(self) -> Block:
        """Say how it ended.

        Raises:
            ShellbenchError: the first error of the run, in the class that gives the exit code.
        """
        if self._scratch is not None:
            self._scratch.cleanup()
        if self._error is not None:
            raise _clean(self._error)
        assert self._inspection is not None
        files = self._inspection.files
        archives, size = sum(file.is_archive for file in files), sum(file.size for file in files)
        bundle = f"{len(files):,} files, {archives:,} of them archives, {size:,} bytes."
        if self._publication is None or self._publication.manifest is None:
            return paragraph(f"Dry run done: {bundle}", "Nothing was written.")
        skipped = sum(sent.status == "skipped" for sent in self._publication.sent)
        return paragraph(f"Published and verified: {bundle}", f"{skipped:,} of them were there already.")


def _table(rows: Sequence[tuple[Any, ...]], columns: Mapping[str, Any], *, caption: str) -> Block:
    frame = pd.DataFrame(list(rows), columns=list(columns))
    return table(frame, [Shown(name, name, kind) for name, kind in columns.items()], caption=caption)


def _checks(rows: Sequence[tuple[Any, ...]], caption: str) -> Block:
    columns = dict.fromkeys(("Check", "Need", "Verdict", "Evidence", "IAM action"), "text")
    return _table(rows, columns, caption=caption)


def _proof(proof: PrivacyProof, caption: str) -> Block:
    rows = [
        (check.kind.name, _need(required=check.kind.required), check.verdict, check.evidence, check.kind.action)
        for check in proof.checks
    ]
    verdict = "Proved private." if proof.private else f"Refused: {', '.join(proof.refused)}."
    return stack([_checks(rows, caption), paragraph(verdict)])


def _need(*, required: bool) -> str:
    return "required" if required else "supporting"


def _clean(error: ShellbenchError) -> ShellbenchError:
    """Return the error in its public class, without a cause that might hold what AWS wrote, shown as one sentence."""
    public = next(kind for kind in type(error).__mro__ if kind.__module__ == errors.__name__)
    clean: ShellbenchError = public(str(error))
    clean.__suppress_context__ = True
    vars(clean)["_render_traceback_"] = lambda: [f"{public.__name__}: {clean}"]  # what IPython shows instead of frames
    return clean
