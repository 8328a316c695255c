"""Marks on the timeline: CUDA events on a GPU job, the host's clock on others."""

from __future__ import annotations

import ctypes
from time import perf_counter_ns

import torch

from .sample import Sample

# An events pool beyond this means that completions are not coming in.
MAX_EVENTS = 2048
# Clocks of host and device part by some 10 µs a second.
ANCHOR_EVERY_NS = 500_000_000
ANCHOR_TRIES = 4
CLOSE_NS = 25_000


class CudaMarks:
    """
    Events for one device, used again and again: making one costs several times what recording it does.

    All calls into CUDA are made by the training thread, and none while it captures a CUDA graph: a query from another
    thread would break a capture that runs in global mode.
    """

    def __init__(self) -> None:
        self.device = torch.cuda.current_device()
        self._free: list[torch.cuda.Event] = []
        self._made = 0
        self._stream = torch.cuda.current_stream(self.device)
        self._stream_id = -1
        # Nothing else runs in this stream, so an event in it happens as soon as it is recorded: it ties the device's
        # clock to the host's without waiting for either.
        self._anchor: torch.cuda.Event | None = None
        self._anchored_at = -ANCHOR_EVERY_NS
        self._anchor_stream = torch.cuda.Stream(self.device)
        # Around torch's Python wrappers where there is a way: they cost as much as the call itself.
        self._raw_stream = getattr(torch._C, "_cuda_getCurrentRawStream", None)
        self._is_capturing = getattr(torch._C, "_cuda_isCurrentStreamCapturing", torch.cuda.is_current_stream_capturing)
        base = getattr(torch._C, "_CudaEventBase", None)
        self._record = base.record if base is not None else torch.cuda.Event.record

    def reserve(self, count: int) -> None:
        while len(self._free) < count and self._made < MAX_EVENTS:
            self._free.append(torch.cuda.Event(enable_timing=True))
            self._made += 1

    def mark(self, sample: Sample) -> bool:
        """Adds an event in the current stream. False while nothing can be recorded."""
        if self._is_capturing():
            return False
        event = self._free.pop() if self._free else self._take()
        if event is None:
            return False
        raw = self._raw_stream(self.device) if self._raw_stream is not None else -1
        if raw != self._stream_id or raw < 0:
            self._stream = torch.cuda.current_stream(self.device)
            self._stream_id = raw
        if raw != sample.stream:
            sample.in_one_stream = sample.stream is None
            sample.stream = raw
        self._record(event, self._stream)
        sample.events.append(event)
        return True

    def tie_clocks(self, sample: Sample, now: int) -> bool:
        """
        Gives the sample an event whose time is known on the host's clock as well, to some 10 µs. One serves the samples
        of half a second. False while nothing can be recorded.
        """
        if self._is_capturing():
            return False
        if now - self._anchored_at > ANCHOR_EVERY_NS:
            self._new_anchor()
        sample.anchor, sample.anchor_host_ns = self._anchor, self._anchored_at
        sample.on_device = True
        return True

    def _new_anchor(self) -> None:
        """Another thread may come between the event and the look at the clock: of a few tries the closest counts."""
        best = 1 << 62
        for _ in range(ANCHOR_TRIES):
            event = torch.cuda.Event(enable_timing=True)
            before = perf_counter_ns()
            self._record(event, self._anchor_stream)
            after = perf_counter_ns()
            if after - before < best:
                best = after - before
                self._anchor, self._anchored_at = event, after
            if best < CLOSE_NS:
                return

    def _take(self) -> torch.cuda.Event | None:
        if not self._free:
            self.reserve(1)
        return self._free.pop() if self._free else None

    def keep_for_ever(self, samples: list[Sample]) -> None:
        """In a forked child an event that is freed ends the process: CUDA does not work there."""
        events = [
            *self._free,
            *([self._anchor] if self._anchor is not None else []),
            *[e for s in samples for e in s.events],
        ]
        for thing in (*events, self._anchor_stream, self._stream):
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))

    def give_back(self, events: list[torch.cuda.Event]) -> None:
        self._free.extend(events)
