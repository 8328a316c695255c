"""What goes wrong in capture is said once, counted after, and never reaches the training code."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class ProblemLog:
    def __init__(self, where: str = "") -> None:
        self._where = where
        self._lock = threading.RLock()
        self.counts: dict[str, int] = {}

    def count(self, code: str, times: int = 1) -> int:
        with self._lock:
            total = self.counts.get(code, 0) + times
            self.counts[code] = total
            return total

    def warn(self, code: str, message: str) -> None:
        """One line on stderr the first time a code comes up. Not ``warnings``: a job may turn those into errors."""
        if self.count(code) > 1:
            return
        try:
            prefix = f"whyslow_capture{self._where}: "
            sys.stderr.write(f"{prefix}{message}\n")
        except Exception:
            pass  # a closed or full stderr is no reason to fail either

    @contextmanager
    def guard(self, code: str, doing: str) -> Iterator[None]:
        """Our own failures end here. What the interpreter uses to stop (KeyboardInterrupt, SystemExit) passes."""
        try:
            yield
        except Exception as error:
            self.warn(code, f"{doing} failed, training goes on: {describe(error)}")


def describe(error: BaseException) -> str:
    text = str(error).strip()
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
