"""
What happens to a recording after its window, off the training thread.

The JSON itself is written on the training thread: `save` holds the interpreter lock from begin to end (torch 2.13,
750,000 events: 2.6 s in which another thread got 1 to 6 turns of a millisecond each), so elsewhere it would stop the
training thread just the same, only at a moment nobody chose. Compression lets go of the lock.
"""

from __future__ import annotations

import ctypes
import os
import re
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ..problems import ProblemLog, describe
from .compress import compress
from .profiler import clean_after_save

PARTIAL = re.compile(r"^\..*\.partial-(?P<host>.+)-(?P<pid>\d+)(?:\.[a-z]+)*$")


@dataclass(frozen=True)
class Compression:
    raw: Path
    raw_bytes: int
    target: Path
    # Name within a tar archive; None: plain gzip.
    archived_as: str | None
    # (bytes written, None) or (0, what went wrong)
    on_end: Callable[[int, str | None], None]


def partial_path(target: Path, suffix: str) -> Path:
    """Beside the target, hidden, and with its owner's name, so that what a killed process left can be told apart."""
    return target.with_name(f".{target.name}.partial-{socket.gethostname()}-{os.getpid()}{suffix}")


class Exporter:
    """One thread, started with the first recording, that takes processor time nobody else wants."""

    def __init__(self, problems: ProblemLog) -> None:
        self._problems = problems
        self._wake = threading.Condition()
        self._waiting: deque[Compression] = deque()
        self._current: Compression | None = None
        self._pending_bytes = 0
        self._thread: threading.Thread | None = None
        self._is_closing = False
        self._is_abandoned = False

    @property
    def pending_bytes(self) -> int:
        """Of raw traces that lie about."""
        return self._pending_bytes

    def submit(self, task: Compression) -> None:
        with self._wake:
            self._waiting.append(task)
            self._pending_bytes += task.raw_bytes
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="whyslow-compress", daemon=True)
                self._thread.start()
            self._wake.notify()

    def close(self, timeout: float | None) -> None:
        """Waits for what is under way; what is not done in time is given up and cleaned away."""
        with self._wake:
            self._is_closing = True
            self._wake.notify()
        thread = self._thread
        if thread is None:
            return
        thread.join(timeout)
        with self._wake:
            self._is_abandoned = True
            left = [*([self._current] if self._current else []), *self._waiting]
            self._waiting.clear()
        for task in left:
            _clean(task)
            self._problems.warn("trace_unfinished", f"no time to compress {task.target.name}: this trace is lost")
            task.on_end(0, "the job ended before the trace was compressed")

    def _run(self) -> None:
        _be_nice()
        while True:
            with self._wake:
                while not self._waiting:
                    if self._is_closing:
                        return
                    self._wake.wait()
                task = self._current = self._waiting.popleft()
            give_memory_back()
            size, problem = self._compress(task)
            with self._wake:
                self._current = None
                self._pending_bytes -= task.raw_bytes
                if self._is_abandoned:
                    return
            with self._problems.guard("trace_export", "finishing a trace"):
                task.on_end(size, problem)

    def _compress(self, task: Compression) -> tuple[int, str | None]:
        partial = partial_path(task.target, ".gz")
        try:
            size = compress(task.raw, partial, task.archived_as)
            if self._is_abandoned:
                return 0, "too late"
            os.replace(partial, task.target)
            return size, None
        except Exception as error:
            if not self._is_abandoned:
                what = f"compressing a trace into {task.target} failed, it is lost: {describe(error)}"
                self._problems.warn("trace_export", what)
            return 0, describe(error)
        finally:
            _clean(task)


def _clean(task: Compression) -> None:
    clean_after_save(str(task.raw))
    with suppress(OSError):
        partial_path(task.target, ".gz").unlink(missing_ok=True)


def _be_nice() -> None:
    """On Linux priorities are those of threads, whatever POSIX says."""
    with suppress(AttributeError, OSError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 19)


def give_memory_back() -> None:
    """
    The C library keeps what the profiler freed (1.3 kB an event) for itself: the host has it back only when told. It
    would also hide how much the next window takes.
    """
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)


def clean_stale(folders: Iterable[Path], is_own: Callable[[str], bool], before: float) -> int:
    """
    Removes what processes of this rank that are no more left on this host; returns how many files. `before`: when this
    process began (as time.time()). In containers a restarted job often has the number of the one that was killed.
    """
    removed = 0
    for folder in folders:
        with suppress(OSError):
            for name in os.listdir(folder):
                found = PARTIAL.match(name)
                if found is None or found["host"] != socket.gethostname() or not is_own(name):
                    continue
                with suppress(OSError):
                    if _is_stale(folder / name, int(found["pid"]), before):
                        os.remove(folder / name)
                        removed += 1
    return removed


def _is_stale(path: Path, pid: int, before: float) -> bool:
    if pid == os.getpid():
        return path.stat().st_mtime < before
    return not _is_alive(pid)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
