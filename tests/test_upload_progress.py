"""Plain lines now and then where there is no terminal, and a bar where there is one."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios

from shellbench_lib.upload import progress
from shellbench_lib.upload.progress import MIB, Progress


def test_short_work_says_nothing_and_long_work_a_line_now_and_then(capsys, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    with Progress(2000 * MIB, "uploaded") as shown:
        shown.advance(MIB)
        assert capsys.readouterr().err == ""
        now[0] = 11.0
        shown.advance(1499 * MIB)
        shown.advance(-MIB)
        assert capsys.readouterr().err == "uploaded: 1,500 of 2,000 MiB\n"


def test_a_terminal_sees_a_bar_over_bytes():
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    code = "from shellbench_lib.upload.progress import Progress\nwith Progress(100, 'read') as p: p.advance(100)"
    subprocess.run([sys.executable, "-c", code], stderr=theirs, check=True, env=dict(os.environ, TERM="xterm"))
    os.close(theirs)
    seen = b""
    with contextlib.suppress(OSError):  # how a terminal says that nobody writes any more
        while piece := os.read(ours, 65536):
            seen += piece
    os.close(ours)
    assert b"read: 100%" in seen
