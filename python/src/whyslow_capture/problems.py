"""Problems inside capture: reported once, counted from then on, and never raised into the training code."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class _Stderr(logging.Handler):
    """The default handler: one line each, to what stderr is at that time. Replace it as for any logger."""

    def emit(self, record: logging.LogRecord) -> None:
        with suppress(Exception):  # stderr may be closed or full
            sys.stderr.write(f"{record.name}: {record.getMessage()}\n")


LOG = logging.getLogger("whyslow_capture")
LOG.setLevel(logging.INFO)
# Handlers of the root logger would write each line again.
LOG.propagate = False
LOG.addHandler(_Stderr())


class ProblemLog:
    def __init__(self) -> None:
        self._lock = threading.RLock()
        self.counts: dict[str, int] = {}

    def count(self, code: str, times: int = 1) -> int:
        with self._lock:
            total = self.counts.get(code, 0) + times
            self.counts[code] = total
            return total

    def warn(self, code: str, message: str) -> None:
        """Logs the first time a code occurs. Not ``warnings``: a job may turn those into errors."""
        if self.count(code) == 1:
            LOG.warning("%s", printable(message))

    def say(self, message: str) -> None:
        """Something that is no problem to be counted."""
        LOG.info("%s", printable(message))

    @contextmanager
    def guard(self, code: str, doing: str) -> Iterator[None]:
        """Stops our own exceptions here. KeyboardInterrupt and SystemExit pass through."""
        try:
            yield
        except Exception as error:
            self.warn(code, f"{doing} failed, training goes on: {describe(error)}")


def printable(text: str) -> str:
    """Names come from the job: what would steer a terminal is escaped, and a line stays one line."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "replace").decode() for c in text)


def describe(error: BaseException) -> str:
    text = str(error).strip()
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


@contextmanager
def needs_torch(user: str) -> Iterator[None]:
    """Around imports of modules that import torch: if torch is missing, says which call needs it and what to do."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise ImportError(
            f"{user} needs torch 2.3 or newer, which is not installed in this Python: install the build for your "
            "machine (https://pytorch.org/get-started/locally)"
        ) from error
