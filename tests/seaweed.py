"""A real S3 server for the transfer tests: SeaweedFS on loopback, one process for a test session, signed requests."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shutil
import socket
import subprocess
import sysconfig
import time
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config

ACCESS_KEY, SECRET_KEY = "test-access", "test-secret"
START_SECONDS = 60


def _free_ports(count: int) -> list[int]:
    # Each of SeaweedFS's servers also listens on its port plus 10000.
    ports: list[int] = []
    while len(ports) < count:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        port = port if port < 50_000 else port - 20_000
        with socket.socket() as first, socket.socket() as second:
            try:
                first.bind(("127.0.0.1", port))
                second.bind(("127.0.0.1", port + 10_000))
            except OSError:
                continue
        if all(abs(port - other) not in {0, 10_000} for other in ports):
            ports.append(port)
    return ports


def weed_binary() -> str | None:
    return shutil.which("weed", path=os.pathsep.join([sysconfig.get_path("scripts"), os.environ.get("PATH", "")]))


def start_seaweed(tmp_path_factory: Any) -> Seaweed:
    """Start a server; once more on other ports where another process took one of them in between."""
    for _ in range(3):
        with contextlib.suppress(RuntimeError):
            return Seaweed(tmp_path_factory.mktemp("seaweed"))
    return Seaweed(tmp_path_factory.mktemp("seaweed"))


class Seaweed:
    """One server process; `stop` ends it by its own id."""

    def __init__(self, folder: Path) -> None:
        master, volume, filer, s3 = _free_ports(4)
        self.port, self.folder = s3, folder
        config = {
            "identities": [
                {
                    "name": "tests",
                    "credentials": [{"accessKey": ACCESS_KEY, "secretKey": SECRET_KEY}],
                    "actions": ["Admin", "Read", "Write", "List", "Tagging"],
                }
            ]
        }
        (folder / "s3.json").write_text(json.dumps(config))
        self._log = (folder / "weed.log").open("wb")
        self.process = subprocess.Popen(
            [
                weed_binary() or "weed", "-logtostderr", "server", f"-dir={folder}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1",
                f"-master.port={master}", f"-volume.port={volume}", f"-filer.port={filer}", "-filer", "-s3",
                f"-s3.port={s3}", f"-s3.config={folder / 's3.json'}", "-master.volumeSizeLimitMB=1024",
                "-volume.preStopSeconds=0", "-volume.max=20", "-s3.port.iceberg=0",
            ],
            stdout=self._log,
            stderr=self._log,
            stdin=subprocess.DEVNULL,
            cwd=folder,
            env={**os.environ, "HOME": str(folder), "WEED_S3_SSE_KEK": base64.b16encode(bytes(32)).decode().lower()},
        )  # fmt: skip
        self._wait()

    def _wait(self) -> None:
        client = self.client()
        end = time.monotonic() + START_SECONDS
        while True:
            try:
                client.list_buckets()
            except Exception as error:
                if self.process.poll() is not None or time.monotonic() > end:
                    raise RuntimeError("SeaweedFS did not start") from error
                time.sleep(0.1)
            else:
                return

    def client(self, port: int | None = None, **config: Any) -> Any:
        return boto3.client(
            "s3",
            region_name="us-east-1",
            endpoint_url=f"http://127.0.0.1:{port or self.port}",
            aws_access_key_id=ACCESS_KEY,
            aws_secret_access_key=SECRET_KEY,
            config=Config(
                **{
                    "s3": {"addressing_style": "path"},
                    "retries": {"mode": "standard", "total_max_attempts": 3},
                    "request_checksum_calculation": "when_required",
                    "max_pool_connections": 40,
                    "connect_timeout": 5,
                    "read_timeout": 20,
                    **config,
                }
            ),
        )

    def stop(self) -> None:
        self.process.kill()  # nothing of it is kept, and a gentle end takes ten seconds
        self.process.wait()
        self._log.close()
