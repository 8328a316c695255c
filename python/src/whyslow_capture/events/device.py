"""CUDA events on one GPU, and the samples that wait until the device has reached theirs."""

from __future__ import annotations

import ctypes
import threading
from collections import deque
from collections.abc import Callable
from itertools import repeat
from time import perf_counter_ns
from typing import Any

import torch

from ..problems import ProblemLog
from .budget import OverheadBudget
from .sample import Sample

# A larger pool would mean that the device never completes our events.
MAX_EVENTS = 2048
RESERVED = 64
# The clocks of host and device drift apart by about 10 µs per second, so an anchor is good for half a second.
ANCHOR_EVERY_NS = 500_000_000
ANCHOR_TRIES = 4
CLOSE_NS = 25_000
# Time to record an event on a fast host; a slow one took 2.8 µs. Thresholds are scaled for slower hosts, up to this
# factor.
RECORD_NS = 1_000
MOST_SLOWNESS = 1.7
RECORD_TRIES = 16


class CudaDevice:
    """
    Events are reused, because creating one costs several times as much as recording it.

    Only the training thread calls into CUDA, and never while it captures a CUDA graph: a query from another thread
    would break a graph capture in global mode.
    """

    def __init__(self) -> None:
        self.index = torch.cuda.current_device()
        self.free: list[torch.cuda.Event] = []
        self._made = 0
        # Nothing else runs in this stream, so an event happens as soon as it is recorded. That relates the device's
        # clock to the host's without waiting for either.
        self._anchor_stream = torch.cuda.Stream(self.index)
        self.anchor: torch.cuda.Event | None = None
        """An event whose time on the host's clock (`anchored_at`) is known to about 10 µs."""
        self.anchored_at = 0
        # Bypasses torch's Python wrappers if possible: they cost as much as the call itself.
        torch_c: Any = torch._C
        self.raw_stream: Callable[[int], int] = getattr(torch_c, "_cuda_getCurrentRawStream", lambda _: -1)
        self.is_capturing: Callable[[], bool] = getattr(
            torch_c, "_cuda_isCurrentStreamCapturing", torch.cuda.is_current_stream_capturing
        )
        event: Any = getattr(torch_c, "_CudaEventBase", torch.cuda.Event)
        self.record, self._query, self._elapsed = event.record, event.query, event.elapsed_time
        self.reserve(RESERVED)
        self.slowness = min(MOST_SLOWNESS, max(1.0, self._time_to_record() / RECORD_NS))
        """How much slower this host is than a fast one."""
        self.renew_anchor()

    def _time_to_record(self) -> int:
        """In ns, the shortest of several tries, since other threads may interfere."""
        times = []
        for event in self.free[:RECORD_TRIES]:
            before = perf_counter_ns()
            self.record(event, self._anchor_stream)
            times.append(perf_counter_ns() - before)
        return min(times)

    def current_stream(self) -> torch.cuda.Stream:
        return torch.cuda.current_stream(self.index)

    def reserve(self, count: int) -> bool:
        count = min(count, MAX_EVENTS - self._made)
        self.free += [torch.cuda.Event(enable_timing=True) for _ in range(count)]
        self._made += count
        return count > 0

    def renew_anchor(self) -> None:
        """Another thread may run between the event and the clock reading, so the closest of several tries counts."""
        best = 1 << 62
        for _ in range(ANCHOR_TRIES):
            event = torch.cuda.Event(enable_timing=True)
            before = perf_counter_ns()
            self.record(event, self._anchor_stream)
            after = perf_counter_ns()
            if after - before < best:
                best = after - before
                self.anchor, self.anchored_at = event, after
            if best < CLOSE_NS:
                return

    def queued_work(self) -> Callable[[], int | None] | None:
        """
        Marks the end of what is queued now. The function returned says when the device got there, on the host's clock;
        None if it has not yet. Call it once.
        """
        if self.is_capturing() or not (self.free or self.reserve(1)):
            return None
        event, anchor, anchored_at = self.free.pop(), self.anchor, self.anchored_at
        self.record(event, self.current_stream())

        def reached() -> int | None:
            is_over = not self.is_capturing() and self._query(event) and anchor is not None and self._query(anchor)
            at = anchored_at + int(self._elapsed(anchor, event) * 1e6) if is_over else None
            self.free.append(event)
            return at

        return reached

    def is_done(self, sample: Sample) -> bool:
        if not sample.events:
            return True
        if sample.anchor is not None and not self._query(sample.anchor):
            return False
        # Within one stream the last event happens last.
        events = sample.events[-1:] if sample.in_one_stream else sample.events
        return all(self._query(event) for event in events)

    def read(self, sample: Sample) -> None:
        """Reads each event once, after `is_done`. The writer thread interprets the times later."""
        events = sample.events
        if not events:
            return
        first = events[0]
        if sample.anchor is not None:
            sample.first_ms = self._elapsed(sample.anchor, first)
        sample.others_ms = list(map(self._elapsed, repeat(first), events[1:]))

    def give_back(self, sample: Sample) -> None:
        """Returns its events to the pool. Nobody else may keep them: a forked child must not free any."""
        self.free += sample.events
        sample.events, sample.anchor = [], None

    def keep_forever(self, samples: list[Sample], stream: object) -> None:
        """For a forked child: CUDA does not work there, and freeing an event would end the process."""
        events = [*self.free, self.anchor, *[e for s in samples for e in (*s.events, s.anchor)]]
        for thing in (*events, self._anchor_stream, stream):
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


# If the host runs further ahead of the device than this many recorded steps, the oldest are dropped.
MAX_PENDING = 48


class PendingSamples:
    def __init__(self, budget: OverheadBudget, problems: ProblemLog) -> None:
        self._budget, self._problems = budget, problems
        self.waiting: deque[Sample] = deque()
        self._steps = 0
        self._read: list[Sample] = []
        self.device: CudaDevice | None = None

    def __bool__(self) -> bool:
        return bool(self.waiting or self._read)

    def add(self, sample: Sample) -> None:
        self.waiting.append(sample)
        self._steps += len(sample.steps)
        if self._steps > MAX_PENDING:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        """Drops samples that are still too many after removing those that are done."""
        self.resolve()
        while self._steps > MAX_PENDING:
            dropped = self._pop()
            self._problems.count("samples-dropped", len(dropped.steps))
            if self.device is not None:
                # An event may be recorded again before the device reaches it; then the old time is lost.
                self.device.give_back(dropped)

    def _pop(self) -> Sample:
        sample = self.waiting.popleft()
        self._steps -= len(sample.steps)
        return sample

    def resolve(self) -> None:
        """
        Reads the samples that the device is done with, without waiting. Called for several samples at once, because the
        first of a batch costs three times as much as the others. On the training thread, like all calls into CUDA.
        """
        device = self.device
        if device is not None and device.is_capturing():
            return
        while self.waiting:
            started = perf_counter_ns()
            sample = self.waiting[0]
            if device is not None and not device.is_done(sample):
                return
            self._pop()
            if device is not None:
                device.read(sample)
                device.give_back(sample)
            self._read.append(sample)
            cost = (sample.spent + perf_counter_ns() - started) // len(sample.steps)
            for step, *_ in sample.steps:
                self._budget.note_sample(step, cost)

    def take(self) -> list[Sample]:
        read, self._read = self._read, []
        return read

    def drain(self, wait_s: float) -> list[Sample]:
        """At the end of the job: waits for the device, at most `wait_s`, and returns all samples that are done."""
        deadline = perf_counter_ns() + int(wait_s * 1e9)
        self.resolve()
        while self.waiting and perf_counter_ns() < deadline:
            threading.Event().wait(0.002)
            self.resolve()
        return self.take()
