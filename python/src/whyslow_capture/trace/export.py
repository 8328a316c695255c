"""
Compresses traces to `.json.gz` or `.tar.gz` on a thread of its own.

The JSON itself is written on the training thread, because `save` holds the interpreter lock throughout: with torch 2.13
and 750,000 events it took 2.6 s, in which another thread ran for 1 to 6 ms. On another thread it would stop the
training thread just the same, but at an arbitrary moment. Compression releases the lock.
"""

from __future__ import annotations

import ctypes
import os
import re
import socket
import tarfile
import threading
import zlib
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

from ..own_files import OwnFile, create, partial_path
from ..problems import ProblemLog, describe
from .report import WindowReport, WindowReports

# As own_files.partial_path names them. Versions before 2026-11-16 had no random part.
PARTIAL = re.compile(r"^\..*\.partial-(?P<host>.+)-(?P<pid>\d+)(?:-x[0-9a-f]{16})?(?:\.[a-z]+)*$")
# Level 3 compresses 220 MB/s by 11 to 13 times, level 6 half as fast by 14 to 15 times, level 9 25 MB/s by 15 to 17
# times (a CPU trace of 55 MB, a GPU trace of 17 MB). While the job runs, CPU time matters more than a smaller file.
LEVEL = 3
# zlib releases the interpreter lock while it compresses a piece.
PIECE = 1 << 18
GZIP_FORMAT = 31


class Task(NamedTuple):
    raw: Path
    target: Path
    # Renamed to `target` when it is complete.
    partial: Path
    report: WindowReport


class Exporter:
    """A low-priority thread, started with the first trace."""

    def __init__(self, problems: ProblemLog, reports: WindowReports) -> None:
        self._problems, self._reports = problems, reports
        self._waiting: SimpleQueue[Task | None] = SimpleQueue()
        # Their end is not reported yet. Whoever takes one out reports it.
        self._unfinished: list[Task] = []
        self._thread: threading.Thread | None = None
        self._is_abandoned = False

    @property
    def pending_bytes(self) -> int:
        """Size of the raw traces that wait for compression."""
        return sum(task.report.raw_bytes for task in self._unfinished.copy())

    def submit(self, raw: Path, target: Path, report: WindowReport) -> None:
        task = Task(raw, target, partial_path(target, ".gz"), report)
        self._unfinished.append(task)
        self._waiting.put(task)
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="whyslow-compress", daemon=True)
            self._thread.start()

    def close(self, timeout: float | None) -> None:
        """Waits up to `timeout`, then removes the traces that are not done."""
        if self._thread is None:
            return
        self._waiting.put(None)
        self._thread.join(timeout)
        self._is_abandoned = True
        for task in self._unfinished.copy():
            _clean(task)
            self._problems.warn(
                "trace_unfinished", f"the trace {task.target.name} is lost: the job ended before it was compressed"
            )
            self._end(task, 0, "the job ended before the trace was compressed")

    def _run(self) -> None:
        _be_nice()
        while (task := self._waiting.get()) is not None and not self._is_abandoned:
            give_memory_back()
            size, problem = self._compress(task)
            with self._problems.guard("trace_export", "finishing a trace"):
                self._end(task, size, problem)

    def _end(self, task: Task, size: int, problem: str | None) -> None:
        try:
            self._unfinished.remove(task)
        except ValueError:
            return
        report = task.report
        report.bytes = size
        if problem is None:
            report.status, report.message = "done" if report.cut is None else "cut", report.cut or ""
        else:
            report.end("failed", problem)
        self._reports.end(report)

    def _compress(self, task: Task) -> tuple[int, str | None]:
        try:
            size = compress(task.raw, task.partial, archived_as(task.target))
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


class _GzipWriter:
    """The part of a file object that tarfile needs."""

    def __init__(self, out: OwnFile) -> None:
        self._out = out
        self._engine = zlib.compressobj(LEVEL, zlib.DEFLATED, GZIP_FORMAT)

    def write(self, data: bytes) -> int:
        self._out.write(self._engine.compress(data))
        return len(data)

    def finish(self) -> None:
        self._out.write(self._engine.flush())


def compress(raw: Path, target: Path, archived_as: str | None) -> int:
    """
    Creates `target` and returns its size. Piece by piece, so memory use does not depend on the size. `archived_as`: the
    name inside a tar archive, or None for plain gzip.
    """
    with OwnFile(raw, os.O_RDONLY) as source, create(target) as out:
        writer = _GzipWriter(out)
        if archived_as is None:
            while piece := source.read(PIECE):
                writer.write(piece)
        else:
            member = tarfile.TarInfo(archived_as)
            status = source.status()
            member.size, member.mtime, member.mode = status.st_size, int(status.st_mtime), 0o644
            # "w|" writes strictly from front to back.
            with tarfile.open(fileobj=writer, mode="w|", copybufsize=PIECE) as archive:  # type: ignore[call-overload]
                archive.addfile(member, source)
        writer.finish()
        return out.status().st_size


def compress_in_place(raw: Path, target: Path) -> None:
    """Replaces the raw file by a compressed one. A partial file is never visible."""
    partial = partial_path(target)
    try:
        compress(raw, partial, None)
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)
    raw.unlink()


def archived_as(target: Path) -> str | None:
    name = target.name
    return name.removesuffix(".tar.gz") + ".json" if name.endswith(".tar.gz") else None


def _clean(task: Task) -> None:
    clean_after_save(task.raw)
    with suppress(OSError):
        task.partial.unlink(missing_ok=True)


def clean_after_save(raw: Path) -> None:
    """Removes the files that a save left behind, whether it succeeded or failed."""
    for path in (raw, raw.with_name(raw.name + ".tmp")):
        with suppress(OSError):
            path.unlink()


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
