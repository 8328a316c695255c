"""A fake GPU for tests of marks. It reaches each event some time after the host has recorded it."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
import torch


class Device:
    def __init__(self) -> None:
        self.lag_ns = 0
        # Host time to record an event. Needs the fake clock.
        self.takes_ns = 0
        self.is_capturing = False
        self.stream = 7
        self.fails = False
        self.recorded = 0
        self.made = 0


class Stream:
    def __init__(self, *_: object) -> None:
        pass


def install(monkeypatch: pytest.MonkeyPatch, clock: Callable[[], int] = time.perf_counter_ns) -> Device:
    device = Device()

    class Event:
        def __init__(self, enable_timing: bool = False) -> None:
            assert enable_timing
            device.made += 1
            self.at: int | None = None

        def record(self, stream: object) -> None:
            assert isinstance(stream, Stream) and not device.is_capturing
            if device.fails:
                raise RuntimeError("CUDA error: an illegal memory access was encountered")
            device.recorded += 1
            if device.takes_ns:
                clock.now += device.takes_ns  # type: ignore[attr-defined]
            self.at = clock() + device.lag_ns

        def query(self) -> bool:
            assert self.at is not None
            return clock() >= self.at

        def elapsed_time(self, later: Event) -> float:
            assert self.at is not None and later.at is not None and self.query() and later.query()
            return (later.at - self.at) / 1e6

    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(torch.cuda, "current_stream", Stream)
    monkeypatch.setattr(torch.cuda, "Stream", Stream)
    monkeypatch.setattr(torch.cuda, "Event", Event)
    for name, value in {
        "_CudaEventBase": Event,
        "_cuda_getCurrentRawStream": lambda _: device.stream,
        "_cuda_isCurrentStreamCapturing": lambda: device.is_capturing,
    }.items():
        monkeypatch.setattr(torch._C, name, value, raising=False)
    return device
