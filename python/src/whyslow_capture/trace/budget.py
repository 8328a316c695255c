"""
Limits the host memory and disk space of a profiler window. Checked before it opens and every 0.2 s afterwards.

The danger is not the recording itself but the moment the profiler stops: torch then turns the whole recording into
objects at once, while the job waits. Measured with torch 2.13 (210,000 CPU events), in bytes per event: 236 while
recording and 1,080 to 1,300 more at stop; with shapes 545 and 3,640; with all options 542 and 4,360. A job that runs
fine while recording can be killed at the end of the window. So the limit applies to what stopping now would take.

torch does not say how much it has recorded, so we use the growth of the process between two step boundaries. Within a
step that growth includes the job's own working memory (activations of a CPU job, offloaded states). The warm-up shows
how large that is, and short steps are only judged at their end.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..config import TraceConfig
from .memory import HostMemory, MemoryReader

MB = 1 << 20
# Bytes needed at stop per byte recorded (see above), rounded up.
GROWTH_AT_STOP, GROWTH_AT_STOP_RICH = 6, 8
# Bytes of raw JSON per byte recorded: measured 1.1, with memory events 1.9. The compressed file adds a tenth.
RAW_PER_RECORDED = 2.0
DISK_PER_RECORDED = 2.2
# Host memory that always stays free: 5%, but at most 8 GB on a large host.
FLOOR_SHARE, FLOOR_MOST = 0.05, 8192 * MB
# Disk space that always stays free: this much, or 5% of a small disk.
DISK_MARGIN = 64 * MB
# Shorter steps are judged at their end, when the job has released its working memory.
LONG_STEP_S = 2.0
# With less memory than this, a window would record next to nothing.
LEAST_ALLOWANCE = 64 * MB


@dataclass(frozen=True)
class Verdict:
    """Why the window must end. `is_critical`: the host is in danger, so it cannot wait for the end of the step."""

    reason: str
    is_critical: bool


def free_disk(folder: Path) -> tuple[int, int]:
    """(free, total) bytes on the disk where `folder` is or will be."""
    for existing in (folder, *folder.parents):
        if existing.exists():
            usage = shutil.disk_usage(existing)
            return usage.free, usage.total
    raise FileNotFoundError(folder)


class WindowBudget:
    """For one window. Tests can pass readers that simulate a host."""

    def __init__(
        self,
        options: TraceConfig,
        folder: Path,
        sharers: int = 1,
        own_memory: Callable[[], int | None] | None = None,
        host_memory: Callable[[], HostMemory | None] | None = None,
        disk: Callable[[Path], tuple[int, int]] = free_disk,
        now: Callable[[], float] = time.monotonic,
        long_step_s: float = LONG_STEP_S,
    ) -> None:
        # A reader may return its last value if reading again is too expensive. Hence two readers: a value read within a
        # step must not be used for a step boundary.
        self._new_reader = (lambda: own_memory) if own_memory else (lambda: MemoryReader().own)
        self._own_within_step = self._own_at_boundary = self._new_reader()
        self._host = host_memory or MemoryReader().host
        self._disk, self._folder = disk, folder
        # The ranks of a host stop their windows at the same time.
        self._sharers = max(1, sharers)
        rich = options.record_shapes or options.with_flops or options.with_stack or options.profile_memory
        self._at_stop = GROWTH_AT_STOP_RICH if rich else GROWTH_AT_STOP
        self._budget = options.budget_mb * MB
        self._allowance = self._budget
        self._now, self._long_step_s = now, long_step_s
        self._before: int | None = None
        # The largest size of this process while nothing was recorded.
        self._most_before = 0
        self._at_last_step = 0
        self._step_began = 0.0

    def refuse(self) -> str | None:
        """
        Before a window: why it must not open, or None. Then the window may use what the host can spare of the budget.
        """
        least = min(LEAST_ALLOWANCE, self._budget)
        host = self._host()
        if host is not None:
            spare = (host.available - _floor(host)) // self._sharers
            if spare < least:
                return f"the host has {_mb(host.available)} of memory left, and {_mb(_floor(host))} must stay free" + (
                    f"; {self._sharers} ranks share the rest" if self._sharers > 1 else ""
                )
            self._allowance = min(self._allowance, spare)
        free, total = self._disk(self._folder)
        # The most that a window of this size can write.
        writes = DISK_PER_RECORDED / (1 + self._at_stop)
        spare_disk = free - _disk_margin(total)
        if spare_disk < least * writes:
            return f"the disk of {self._folder} has only {_mb(free)} left"
        self._allowance = int(min(self._allowance, spare_disk / writes))
        return None

    def learn(self) -> None:
        """During warm-up: learns how much memory the job uses by itself."""
        self._most_before = max(self._most_before, self._own_within_step() or 0)

    def begin(self) -> None:
        """Recording starts now."""
        self._own_at_boundary = self._new_reader()
        self._before = self._own_at_boundary()
        self._step_began = self._now()

    def next_step(self) -> None:
        """A recorded step ended and the next one begins."""
        self._at_last_step = self._growth(self._own_at_boundary)
        self._step_began = self._now()

    def _recorded_so_far(self) -> int:
        """In the middle of a step: recorded bytes, estimated from the growth of the process."""
        working_memory = max(0, self._most_before - (self._before or 0))
        return max(self._at_last_step, self._growth(self._own_within_step) - working_memory)

    def _growth(self, read: Callable[[], int | None]) -> int:
        now = read()
        return 0 if now is None or self._before is None else max(0, now - self._before)

    def look(self) -> Verdict | None:
        is_long = self._now() - self._step_began >= self._long_step_s
        recorded = self._recorded_so_far() if is_long else self._at_last_step
        if recorded * (1 + self._at_stop) > self._allowance:
            return Verdict(
                f"this process grew by {_mb(recorded)} since the window opened, stopping takes about "
                f"{self._at_stop} times that, and the limit is {_mb(self._allowance)}"
                + ("" if self._allowance == self._budget else f" (trace.budget_mb is {self._budget // MB})"),
                is_critical=False,
            )
        host = self._host()
        if host is not None and host.available - recorded * self._at_stop * self._sharers < _floor(host):
            return Verdict(
                f"the host has {_mb(host.available)} of memory left, and stopping the profiler takes about "
                f"{_mb(recorded * self._at_stop)}"
                + (f" on each of {self._sharers} ranks" if self._sharers > 1 else ""),
                is_critical=True,
            )
        return self._look_at_disk(recorded)

    def refuse_export(self) -> str | None:
        """After the window: why its trace cannot be written, or None."""
        free, _ = self._disk(self._folder)
        guess = int(self._growth(self._new_reader()) / (1 + self._at_stop) * RAW_PER_RECORDED)
        return (
            f"the disk of {self._folder} has {_mb(free)} left, and the trace needs about {_mb(guess)}"
            if free < guess
            else None
        )

    def _look_at_disk(self, recorded: int) -> Verdict | None:
        try:
            free, total = self._disk(self._folder)
        except OSError:
            return None  # if the folder was deleted, writing the trace creates it again
        if free - _disk_margin(total) < recorded * DISK_PER_RECORDED:
            raw = _mb(int(recorded * RAW_PER_RECORDED))
            return Verdict(f"the disk has {_mb(free)} left, and the trace already needs about {raw}", is_critical=False)
        return None


def ranks_sharing_host(recording: int) -> int:
    """How many of the `recording` ranks can be on this host."""
    try:
        local = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    except ValueError:
        local = 1
    return max(1, min(local, recording))


def _floor(host: HostMemory) -> int:
    return int(min(FLOOR_SHARE * host.total, FLOOR_MOST))


def _disk_margin(total: int) -> int:
    return int(min(DISK_MARGIN, 0.05 * total))


def _mb(size: int) -> str:
    return f"{size / MB:,.0f} MB" if size >= 10 * MB else f"{size / MB:.1f} MB"
