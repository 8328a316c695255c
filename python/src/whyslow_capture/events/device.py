"""One GPU's side of the marks: a pool of events, how far the device is, and what its clock says."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from itertools import repeat
from time import perf_counter_ns
from typing import Any

import torch

from .sample import Sample

# An events pool beyond this means that completions are not coming in.
MAX_EVENTS = 2048
RESERVED = 64
# Clocks of host and device part by some 10 µs a second: one anchor serves the samples of half a second.
ANCHOR_EVERY_NS = 500_000_000
ANCHOR_TRIES = 4
CLOSE_NS = 25_000
# What recording an event again and again is taken to need on a fast host (2.8 µs were measured on a slow one); slower
# hosts are allowed for up to so many times that.
RECORD_NS = 1_000
MOST_SLOWNESS = 1.7
RECORD_TRIES = 16


class CudaDevice:
    """
    Events are used again and again: making one costs several times what recording it does.

    All calls into CUDA are made by the training thread, and none while it captures a CUDA graph: a query from another
    thread would break a capture that runs in global mode.
    """

    def __init__(self) -> None:
        self.index = torch.cuda.current_device()
        self.free: list[torch.cuda.Event] = []
        self._made = 0
        # Nothing else runs in this stream, so an event in it happens as soon as it is recorded: it ties the device's
        # clock to the host's without waiting for either.
        self._anchor_stream = torch.cuda.Stream(self.index)
        self.anchor: torch.cuda.Event | None = None
        """An event, and when it happened on the host's clock, to some 10 µs."""
        self.anchored_at = 0
        # Around torch's Python wrappers where there is a way: they cost as much as the call itself.
        torch_c: Any = torch._C
        self.raw_stream: Callable[[int], int] = getattr(torch_c, "_cuda_getCurrentRawStream", lambda _: -1)
        self.is_capturing: Callable[[], bool] = getattr(
            torch_c, "_cuda_isCurrentStreamCapturing", torch.cuda.is_current_stream_capturing
        )
        event: Any = getattr(torch_c, "_CudaEventBase", torch.cuda.Event)
        self.record, self._query, self._elapsed = event.record, event.query, event.elapsed_time
        self.reserve(RESERVED)
        self.slowness = min(MOST_SLOWNESS, max(1.0, self._time_to_record() / RECORD_NS))
        """How much longer this host takes for everything than a fast one."""
        self.renew_anchor()

    def _time_to_record(self) -> int:
        """ns, the shortest of a few: other threads come between."""
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
        """Another thread may come between the event and the look at the clock: of a few tries the closest counts."""
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

    def is_done(self, sample: Sample) -> bool:
        if not sample.events:
            return True
        if sample.anchor is not None and not self._query(sample.anchor):
            return False
        # In one stream the last mark comes last.
        events = sample.events[-1:] if sample.in_one_stream else sample.events
        return all(self._query(event) for event in events)

    def read(self, sample: Sample) -> None:
        """When its marks happened, only when done. Each event is read once, and what that means is found out later."""
        events = sample.events
        if not events:
            return
        first = events[0]
        if sample.anchor is not None:
            sample.first_ms = self._elapsed(sample.anchor, first)
        sample.others_ms = list(map(self._elapsed, repeat(first), events[1:]))

    def give_back(self, sample: Sample) -> None:
        """It has been read, or will not be. Nobody else may hold events: in a forked child none may be freed."""
        self.free += sample.events
        sample.events, sample.anchor = [], None

    def keep_for_ever(self, samples: list[Sample], stream: object) -> None:
        """In a forked child an event that is freed ends the process: CUDA does not work there."""
        events = [*self.free, self.anchor, *[e for s in samples for e in (*s.events, s.anchor)]]
        for thing in (*events, self._anchor_stream, stream):
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))
