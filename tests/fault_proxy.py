"""A proxy on loopback between client and server that loses, delays, breaks and falsifies what it is told to.

It also writes down every request, and puts into the answer to ListParts the checksums that the parts were sent with: AWS
names them there, SeaweedFS does not.
"""

from __future__ import annotations

import http.client
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit


@dataclass
class Request:
    method: str
    key: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes = field(repr=False)

    @property
    def part(self) -> int:
        return int(self.query.get("partNumber", 0))


@dataclass
class Fault:
    """What happens to the next `times` requests that match. `action` gets the handler, the request and a forwarder."""

    matches: Callable[[Request], bool]
    action: Callable[[BaseHTTPRequestHandler, Request, Callable[[], None]], None]
    times: int = 1
    skip: int = 0


def error(status: int, code: str):
    def answer(handler, request, forward):
        body = f'<?xml version="1.0"?><Error><Code>{code}</Code><Message>injected</Message></Error>'.encode()
        handler.send_response(status)
        handler.send_header("Content-Type", "application/xml")
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        if request.method != "HEAD":
            handler.wfile.write(body)

    return answer


def cut(handler, request, forward):
    handler.close_connection = True
    handler.connection.close()


def lose_answer(handler, request, forward):
    handler.discard = True
    forward()
    cut(handler, request, forward)


def corrupt(handler, request, forward):
    request.body = bytes([request.body[0] ^ 1]) + request.body[1:]
    forward()


def slow(seconds: float):
    def answer(handler, request, forward):
        time.sleep(seconds)
        forward()

    return answer


class FaultProxy:
    """Listens on a free port of loopback and forwards to `upstream`."""

    def __init__(self, upstream: int) -> None:
        self.faults: list[Fault] = []
        self.requests: list[Request] = []
        self.checksums: dict[tuple[str, str, int], str] = {}
        self._lock = threading.Lock()
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            discard = False

            def log_message(self, *args):
                pass

            def handle_one_request(self):
                try:
                    super().handle_one_request()
                except (ConnectionError, OSError, ValueError):
                    self.close_connection = True

            def do_any(self):
                parts = urlsplit(self.path)
                query = {name: values[0] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
                length = int(self.headers.get("Content-Length") or 0)
                key = parts.path.partition("/")[2].partition("/")[2]
                request = Request(self.command, key, query, dict(self.headers.items()), self.rfile.read(length))
                with proxy._lock:
                    proxy.requests.append(request)
                    fault = proxy._next_fault(request)

                def forward():
                    proxy._forward(self, request, upstream)

                fault.action(self, request, forward) if fault else forward()

            do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = do_any

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        self._thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()

    def _next_fault(self, request: Request) -> Fault | None:
        for fault in self.faults:
            if fault.times > 0 and fault.matches(request):
                if fault.skip > 0:
                    fault.skip -= 1
                    continue
                fault.times -= 1
                return fault
        return None

    def _forward(self, handler, request: Request, upstream: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", upstream, timeout=30)
        headers = {
            name: value for name, value in request.headers.items() if name.lower() not in {"expect", "connection"}
        }
        connection.request(request.method, handler.path, body=request.body or None, headers=headers)
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        if request.part and answer.status == 200:
            place = (request.key, request.query["uploadId"], request.part)
            self.checksums[place] = request.headers.get("x-amz-checksum-sha256", "")
        if request.method == "GET" and "uploadId" in request.query:
            data = self._with_checksums(data, request)
        if handler.discard:
            return
        handler.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in {"transfer-encoding", "content-length", "connection"}:
                handler.send_header(name, value)
        length = answer.getheader("Content-Length") if request.method == "HEAD" else None
        handler.send_header("Content-Length", length or str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)

    def _with_checksums(self, data: bytes, request: Request) -> bytes:
        def add(match: re.Match[bytes]) -> bytes:
            checksum = self.checksums.get((request.key, request.query["uploadId"], int(match[1])), "")
            return match[0] + f"<ChecksumSHA256>{checksum}</ChecksumSHA256>".encode()

        return re.sub(rb"<PartNumber>(\d+)</PartNumber>", add, data)

    def of(self, method: str, **query: str) -> list[Request]:
        return [r for r in self.requests if r.method == method and all(name in r.query for name in query)]

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self._thread.join(5)
