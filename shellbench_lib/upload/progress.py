"""How far it is: a bar over bytes on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType
from typing import Self

from tqdm import tqdm

LINE_EVERY = 10.0  # seconds between two plain lines; short work prints none
MIB = 1024 * 1024


class Progress:
    """Counts bytes from several threads. `advance` takes a negative number where a retry starts again."""

    def __init__(self, total: int, word: str) -> None:
        self._total, self._word, self._done = total, word, 0
        self._lock = threading.Lock()
        self._next_line = time.monotonic() + LINE_EVERY
        self._bar = tqdm(total=total, unit="B", unit_scale=True, desc=word) if sys.stderr.isatty() else None

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close the bar."""
        if self._bar is not None:
            self._bar.close()

    def advance(self, count: int) -> None:
        """Count bytes and show them where it is time to."""
        with self._lock:
            self._done += count
            if self._bar is not None:
                self._bar.update(count)
            elif time.monotonic() >= self._next_line:
                self._next_line = time.monotonic() + LINE_EVERY
                sys.stderr.write(f"{self._word}: {self._done // MIB:,} of {self._total // MIB:,} MiB\n")
                sys.stderr.flush()
