"""Writes the events file on a thread of its own. Counts what cannot be written, and never leaves half a record."""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable
from json import dumps
from pathlib import Path
from time import perf_counter_ns, thread_time_ns

from ..problems import ProblemLog, describe
from .budget import OverheadBudget
from .next_backward import NextBackward
from .sample import ResolvedSample, Sample, steps_of

# The header is rewritten in place, so it is padded with spaces, which JSON allows.
HEADER_BYTES = 4096
# Batches of samples that may wait for a slow disk.
MAX_WAITING = 256
# Most jobs have only a few shapes of samples. If all steps differ, each is formatted from scratch.
MAX_TEMPLATES = 64
# How often to check that the file is still there.
CHECK_EVERY_S = 2.0
# Samples to write during one backward pass: what fits into this share of it, and at least the number below.
SHARE_OF_BACKWARD = 0.8
LEAST_AT_ONCE = 8

Header = dict[str, object]


class EventsWriter:
    def __init__(
        self,
        path: Path,
        *,
        rank: int,
        run: str,
        origin_ns: int,
        header: Callable[[], Header],
        problems: ProblemLog,
        budget: OverheadBudget,
    ) -> None:
        self.path = path
        self.rows = 0
        self._rank, self._run, self._origin_ns = rank, dumps(run), origin_ns
        self._header, self._problems, self._budget = header, problems, budget
        self._queue: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._hurry = threading.Event()
        # Offset of this run's header. None until it is written.
        self._header_at: int | None = None
        self._header_is_old = False
        self._size = 0
        self._fd = -1
        self._inode = (-1, -1)
        self._checked_at = 0.0
        self._templates: dict[tuple[object, ...], str] = {}

    def put(self, samples: list[Sample]) -> None:
        """Called by the training thread. Never blocks."""
        if self._queue.qsize() >= MAX_WAITING:
            self._drop(steps_of(samples), "the disk is too slow, so records are dropped")
            return
        at = perf_counter_ns()
        self.submit(lambda: self._record(samples, at))

    def refresh_header(self) -> None:
        """Rewrites the header with the next records, or at the end."""
        self._header_is_old = True

    def submit(self, job: Callable[[], None]) -> None:
        """Runs `job` on the writer thread, after what was submitted before."""
        self._queue.put(job)
        if self._thread is None:
            thread = threading.Thread(target=self._work, name="whyslow-events", daemon=True)
            try:
                thread.start()
            except RuntimeError:  # the interpreter is shutting down; close() writes the rest
                return
            self._thread = thread

    def close(self, timeout_s: float = 5.0) -> None:
        self._hurry.set()
        if self.rows:
            self.refresh_header()
            self._queue.put(lambda: self._write_records([]))
        self._queue.put(self._close_file)
        self._queue.put(None)
        if self._thread is None:
            self._work()
            return
        self._thread.join(timeout_s)
        if self._thread.is_alive():
            self._problems.warn(
                "slow-disk", f"{self.path} is incomplete: the disk did not finish within {timeout_s:.0f} s"
            )

    def _work(self) -> None:
        while True:
            job = self._queue.get()
            if job is None:
                return
            # The thread must survive any error.
            with self._problems.guard("not-written", "writing the events file"):
                job()

    def _record(self, samples: list[Sample], at: int) -> None:
        """`at`: when the samples were handed over, which is when a step begins."""
        steps = steps_of(samples)
        next_backward = NextBackward(steps, at)
        fitting = int(SHARE_OF_BACKWARD * next_backward.length / max(1.0, self._budget.writing_ns))
        size = max(LEAST_AT_ONCE, fitting) if next_backward.length else len(steps)
        for begin in range(0, len(steps), size):
            next_backward.wait(self._hurry)
            self._write_records(steps[begin : begin + size])

    def _write_records(self, samples: list[ResolvedSample]) -> None:
        try:
            # Only this part holds the interpreter lock; the system call does not.
            started = thread_time_ns()
            text = "".join([self._text(sample) for sample in samples])
            rows = sum(len(s.phases) for s in samples)
            if samples:
                cost = (thread_time_ns() - started) / len(samples)
                self._budget.writing_ns += 0.2 * (cost - self._budget.writing_ns)
                self._budget.note_phases(rows / len(samples))
            self._write(text.encode())
            self.rows += rows
        except Exception as error:
            self._close_file()
            self._drop(samples, f"cannot write {self.path}, so records are dropped: {describe(error)}")

    def _text(self, sample: ResolvedSample) -> str:
        # One formatting call for all fields: while this runs, the training thread may wait for the interpreter lock.
        shape = sample.shape()
        template = self._templates.get(shape)
        if template is None:
            if len(self._templates) >= MAX_TEMPLATES:
                self._templates.clear()
            template = self._templates[shape] = sample.template(self._rank, self._run)
        return template % sample.numbers(self._origin_ns)

    def _drop(self, samples: list[ResolvedSample], message: str) -> None:
        self._problems.warn("not-written", message)
        self._problems.count("records-dropped", sum(len(s.phases) for s in samples))

    def _write(self, data: bytes) -> None:
        self._open_file()
        if self._header_at is None:
            self._write_whole(self._header_line(), self._size)
            self._header_at = self._size
            self._size += HEADER_BYTES
        elif self._header_is_old:
            _pwrite_all(self._fd, self._header_line(), self._header_at)
        self._header_is_old = False
        if data:
            self._write_whole(data, self._size)
            self._size += len(data)

    def _header_line(self) -> bytes:
        return header_line(self._header())

    def _open_file(self) -> None:
        """Keeps the file open, and checks now and then: its folder may have been moved, deleted or restored."""
        now = time.monotonic()
        if self._fd >= 0 and now - self._checked_at < CHECK_EVERY_S:
            return
        self._checked_at = now
        if self._fd >= 0:
            if _is_same(self._fd, self.path):
                return
            self._close_file()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        # Not O_APPEND: the header is written in place.
        self._fd = os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o644)
        self._seek_end(self._fd)

    def _close_file(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def _seek_end(self, fd: int) -> None:
        """Appends to an existing file. If an earlier run left half a line, ends that line first."""
        status = os.fstat(fd)
        if (status.st_dev, status.st_ino) == self._inode and status.st_size >= self._size:
            return
        self._inode = (status.st_dev, status.st_ino)
        self._header_at = None
        self._size = status.st_size
        if self._size > 0 and os.pread(fd, 1, self._size - 1) != b"\n":
            _pwrite_all(fd, b"\n", self._size)
            self._size += 1

    def _write_whole(self, data: bytes, at: int) -> None:
        """All or nothing: if the disk is full, half a record is removed again."""
        try:
            _pwrite_all(self._fd, data, at)
        except OSError:
            os.ftruncate(self._fd, at)
            raise


def header_line(header: Header) -> bytes:
    text = dumps(header, separators=(",", ":"), default=str)
    if len(text) >= HEADER_BYTES:
        keep = ("whyslow", "run", "rank", "origin_ns")
        text = dumps({key: header[key] for key in keep if key in header})[: HEADER_BYTES - 1]
    return text.encode("ascii").ljust(HEADER_BYTES - 1) + b"\n"


def _is_same(fd: int, path: Path) -> bool:
    try:
        there = os.stat(path)
    except OSError:
        return False
    return os.path.samestat(os.fstat(fd), there)


def _pwrite_all(fd: int, data: bytes, at: int) -> None:
    view = memoryview(data)
    while view:
        written = os.pwrite(fd, view, at)
        view, at = view[written:], at + written
