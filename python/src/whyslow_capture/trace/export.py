"""
Compresses traces on a thread of its own.

The JSON itself is written on the training thread, because `save` holds the interpreter lock throughout: with torch 2.13
and 750,000 events it took 2.6 s, in which another thread ran for 1 to 6 ms. On another thread it would stop the
training thread just the same, but at an arbitrary moment. Compression releases the lock.
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

# As own_files.partial_path names them. Versions before 2026-11-16 had no random part.
PARTIAL = re.compile(r"^\..*\.partial-(?P<host>.+)-(?P<pid>\d+)(?:-x[0-9a-f]{16})?(?:\.[a-z]+)*$")


@dataclass(frozen=True)
class Compression:
    raw: Path
    raw_bytes: int
    target: Path
    # Renamed to `target` when it is complete.
    partial: Path
    # Name inside a tar archive, or None for plain gzip.
    archived_as: str | None
    # Called with (bytes written, None) or (0, what went wrong).
    on_end: Callable[[int, str | None], None]


class Exporter:
    """A low-priority thread, started with the first trace."""

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
        """Size of the raw traces that wait for compression."""
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
        """Waits up to `timeout`, then removes the traces that are not done."""
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
            self._problems.warn(
                "trace_unfinished", f"the trace {task.target.name} is lost: the job ended before it was compressed"
            )
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
        try:
            size = compress(task.raw, task.partial, task.archived_as)
            if self._is_abandoned:
                return 0, "too late"
            os.replace(task.partial, task.target)
            return size, None
        except Exception as error:
            if not self._is_abandoned:
                what = f"the trace {task.target} is lost, compressing it failed: {describe(error)}"
                self._problems.warn("trace_export", what)
            return 0, describe(error)
        finally:
            _clean(task)


def _clean(task: Compression) -> None:
    clean_after_save(str(task.raw))
    with suppress(OSError):
        task.partial.unlink(missing_ok=True)


def _be_nice() -> None:
    """Lowers this thread's priority. On Linux that affects the thread alone, whatever POSIX says."""
    with suppress(AttributeError, OSError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 19)


def give_memory_back() -> None:
    """
    Makes the C library return the memory that the profiler freed (1.3 kB per event). Otherwise it keeps it, and the
    next window would seem to need less.
    """
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)


def clean_stale(folders: Iterable[Path], is_own: Callable[[str], bool], before: float) -> int:
    """
    Removes partial files that dead processes of this rank left on this host, and returns their number. `before`: when
    this process began (as time.time()). In a container a restarted job often has the same process id as the killed one.
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
