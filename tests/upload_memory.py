"""Run by a test in a process of its own: read and send 600 MiB that do not compress, and say how much memory it took."""

from __future__ import annotations

import io
import json
import sys
import tarfile
import zlib
from pathlib import Path

from seaweed import Seaweed

from shellbench_lib.upload.bundle import find_bundle
from shellbench_lib.upload.inspection import inspect_bundle
from shellbench_lib.upload.settings import Destination
from shellbench_lib.upload.transfer import Transfer
from shellbench_lib.upload.unfinished import Unfinished

MIB = 1024 * 1024
ARCHIVES, ARCHIVE_MIB = 6, 101


def write_archive(path: Path, source: io.BufferedReader) -> None:
    """A .tar.gz whose one member is noise, written piece by piece; level 0, since noise does not compress anyway."""
    packer = zlib.compressobj(0, zlib.DEFLATED, 31)
    member = tarfile.TarInfo("results/jobs/run/noise.bin")
    member.size = ARCHIVE_MIB * MIB
    with path.open("wb") as stream:
        stream.write(packer.compress(member.tobuf()))
        for _ in range(ARCHIVE_MIB):
            stream.write(packer.compress(source.read(MIB)))
        stream.write(packer.compress(bytes(2 * tarfile.BLOCKSIZE)) + packer.flush())


def main() -> None:
    port, folder, prefix = int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    (folder / "raw").mkdir()
    with Path("/dev/urandom").open("rb") as source:
        for number in range(ARCHIVES):
            write_archive(folder / "raw" / f"run-{number}-final-artifacts.tar.gz", source)
    inspection = inspect_bundle(find_bundle(folder), part_size=64 * MIB, workers=4)
    assert not inspection.problems, inspection.problems
    client = Seaweed.client(None, port, read_timeout=120)
    to = Destination("example-bucket", prefix, "111122223333")
    sent = Transfer(client, to, workers=4, unfinished=Unfinished(None)).send_all(inspection.files)
    # Not getrusage: its maximum also counts the process that started this one.
    status = Path("/proc/self/status").read_text()
    peak = int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) / 1024
    statuses = sorted({entry.status for entry in sent})
    print(json.dumps({"bytes": sum(entry.size for entry in sent), "statuses": statuses, "peak_mib": round(peak)}))


if __name__ == "__main__":
    main()
