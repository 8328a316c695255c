"""Writes the events file on a thread of its own. Counts what cannot be written, and never leaves half a record."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from json import dumps
from pathlib import Path
from time import perf_counter_ns, thread_time_ns

from ..layout import BACKWARD
from ..own_files import is_full_disk
from ..problems import ProblemLog, describe
from .budget import OverheadBudget
from .log_file import LogFile
from .sample import ResolvedSample, Sample, steps_of

# The header is rewritten in place, so it is padded with spaces, which JSON allows.
HEADER_BYTES = 8192
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
        self.rows = 0
        self._log = LogFile(path)
        self._rank, self._run, self._origin_ns = rank, dumps(run), origin_ns
        self._header, self._problems, self._budget = header, problems, budget
        self._queue: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._hurry = threading.Event()
        # Offset of this run's header. None until it is written.
        self._header_at: int | None = None
        self._header_is_old = False
        self._size = 0
        # Set once we know which file is ours.
        self.is_claimed = threading.Event()
        self._checked_at = 0.0
        self._templates: dict[tuple[object, ...], str] = {}

    @property
    def path(self) -> Path:
        return self._log.path

    @property
    def suffix(self) -> str:
        """Part of the names of all files of this process, if another process already writes to the usual ones."""
        return self._log.suffix if self._log.is_second else ""

    def claim(self) -> None:
        """Runs on the writer thread."""
        try:
            self._open_file()
        except OSError:
            return  # reported and counted with the first records
        finally:
            self.is_claimed.set()

    def forget(self) -> None:
        """For a forked child, which has no writer thread."""
        self._log.forget()

    def put(self, samples: list[Sample]) -> None:
        """Called by the training thread. Never blocks."""
        if self._queue.qsize() >= MAX_WAITING:
            self._problems.warn("not-written", "the disk is too slow, so records are dropped")
            self._count_lost(steps_of(samples))
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
        self._queue.put(self._log.close)
        self._queue.put(self._tell_losses)
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
            try:
                job()
            except Exception as error:  # the thread must survive any error
                self._report(error, "writing the files of this rank failed, training goes on")

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
            self._log.close()
            self._report(error, f"cannot write {self.path}, so records are dropped")
            self._count_lost(samples)

    def _text(self, sample: ResolvedSample) -> str:
        # One formatting call for all fields: while this runs, the training thread may wait for the interpreter lock.
        shape = sample.shape()
        template = self._templates.get(shape)
        if template is None:
            if len(self._templates) >= MAX_TEMPLATES:
                self._templates.clear()
            template = self._templates[shape] = sample.template(self._rank, self._run)
        return template % sample.numbers(self._origin_ns)

    def _report(self, error: Exception, what: str) -> None:
        if is_full_disk(error):
            lost = f"disk full: records are lost until {self.path} can be written ({describe(error)})"
            self._problems.warn("disk-full", lost)
        else:
            self._problems.warn("not-written", f"{what}: {describe(error)}")

    def _count_lost(self, samples: list[ResolvedSample]) -> None:
        self._problems.count("records-dropped", sum(len(s.phases) for s in samples))

    def _tell_losses(self) -> None:
        counts = self._problems.counts
        if "disk-full" in counts and counts.get("records-dropped"):
            self._problems.say(f"disk full: {counts['records-dropped']} records lost ({self.path})")

    def _write(self, data: bytes) -> None:
        self._open_file()
        if self._header_at is None:
            self._write_whole(self._header_line(), self._size)
            self._header_at = self._size
            self._size += HEADER_BYTES
        elif self._header_is_old:
            self._log.file.write_at(self._header_line(), self._header_at)
        self._header_is_old = False
        if data:
            self._write_whole(data, self._size)
            self._size += len(data)

    def _header_line(self) -> bytes:
        return header_line(self._header())

    def _open_file(self) -> None:
        """Keeps the file open, and checks now and then that it is still in place."""
        now = time.monotonic()
        if self._log.is_open and now - self._checked_at < CHECK_EVERY_S:
            return
        self._checked_at = now
        if self._log.is_in_place:
            return
        self._log.close()
        was, taken = self._log.suffix, self._log.path
        is_same = self._log.open()
        if self._log.suffix != was:
            what = "is in use by another process, or is no plain file"
            self._problems.say(f"{taken} {what}; this process writes to {self.path.name} next to it")
        self._seek_end(is_same)

    def _seek_end(self, is_same: bool) -> None:
        """Appends to an existing file. If an earlier run left half a line, ends that line first."""
        file = self._log.file
        size = file.status().st_size
        if is_same and size >= self._size:
            return
        self._header_at = None
        self._size = size
        if size > 0 and file.read_at(1, size - 1) != b"\n":
            file.write_at(b"\n", size)
            self._size += 1

    def _write_whole(self, data: bytes, at: int) -> None:
        """All or nothing: if the disk is full, half a record is removed again."""
        try:
            self._log.file.write_at(data, at)
        except OSError:
            with suppress(OSError):  # the descriptor may be gone
                self._log.file.truncate(at)
            raise


def header_line(header: Header) -> bytes:
    text = dumps(header, separators=(",", ":"), default=str)
    if len(text) >= HEADER_BYTES:
        keep = ("whyslow", "run", "rank", "origin_ns")
        text = dumps({key: header[key] for key in keep if key in header})[: HEADER_BYTES - 1]
    return text.encode("ascii").ljust(HEADER_BYTES - 1) + b"\n"


# Records wait no longer than this. In steps that take longer, our work does not matter.
PATIENCE_NS = 200_000_000
# Fraction of the backward pass to stay away from its ends, since the prediction may be off.
MARGIN = 0.1


class NextBackward:
    """Predicts the next backward passes from recent samples. `at`: when a step began, in ns."""

    def __init__(self, samples: list[ResolvedSample], at: int) -> None:
        self._at, self.length, self._offset, self._period = at, 0, 0, 0
        for sample in reversed(samples[-3:]):
            passes = [phase for phase in sample.phases if phase[0] == BACKWARD]
            if passes:
                host = sample.host_ns
                begin = host[min(phase[1] for phase in sample.phases)]
                _, first, last, _ = max(passes, key=lambda phase: host[phase[2]] - host[phase[1]])
                self.length = host[last] - host[first]
                self._offset = host[first] - begin + int(MARGIN * self.length)
                self._period = max(1, host[max(phase[2] for phase in sample.phases)] - begin)
                return

    def wait(self, until: threading.Event) -> None:
        """Waits for the next backward pass, or until `until` is set. Returns at once if no backward pass is known."""
        now = perf_counter_ns()
        since = (now - self._at - self._offset) % self._period if self.length else 0
        ahead = self._period - since
        # No need to wait if the backward pass is under way.
        if self.length and since > self.length // 2 and now + ahead < self._at + PATIENCE_NS:
            until.wait(ahead / 1e9)
