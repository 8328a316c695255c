"""A fake clock for the recorder, so that a busy machine does not change durations."""

from __future__ import annotations

import pytest

from whyslow_capture.events import device, recorder, step_buffer
from whyslow_capture.hooks import phase_tracker
from whyslow_capture.job import clock as job_clock

MS = 1_000_000


class Clock:
    """Advances by `tick_ns` at each reading, and when `pause` is called."""

    def __init__(self, tick_ns: int) -> None:
        self.now = 1_000 * MS
        self._tick_ns = tick_ns

    def __call__(self) -> int:
        self.now += self._tick_ns
        return self.now

    def pause(self, milliseconds: float) -> None:
        """Use instead of a sleep."""
        self.now += int(milliseconds * MS)


def install(monkeypatch: pytest.MonkeyPatch, tick_ns: int) -> Clock:
    clock = Clock(tick_ns)
    for module in (device, job_clock, phase_tracker, recorder, step_buffer):
        monkeypatch.setattr(module, "perf_counter_ns", clock)
    return clock
