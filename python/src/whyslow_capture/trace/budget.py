"""
What a window may cost the host, judged before it opens and five times a second while it records.

The danger is not what is recorded but what torch makes of it when it stops: the whole recording is turned into objects
at once, while the job waits. Measured on torch 2.13 (210,000 CPU events, bytes an event): 236 while recording, 1,080 to
1,300 more at stop; with shapes 545 and 3,640; with everything on 542 and 4,360. A job that is fine while it records is
killed at the end of the window. So the limit holds for what stopping now would take.

How much is recorded torch does not tell; the growth of the process does, at the begin of a step. Within a step the
job's own working memory is in it (activations of a CPU job, offloaded states): what that is was seen while warming up,
and short steps are not judged before they end.
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
# Memory at stop for each byte recorded (see above), rounded up.
GROWTH_AT_STOP, GROWTH_AT_STOP_RICH = 6, 8
# Raw JSON for each byte recorded: 1.1, with memory events 1.9; and a tenth of it for the compressed file beside it.
RAW_PER_RECORDED = 2.0
DISK_PER_RECORDED = 2.2
# Host memory that is left alone: 5 %, but on a big host not tens of gigabytes.
FLOOR_SHARE, FLOOR_MOST = 0.05, 8192 * MB
# The disk is left with this, or with 5 % if it is a small one.
DISK_MARGIN = 64 * MB
# Steps shorter than this are judged at their end, where the job's working memory is as it was.
LONG_STEP_S = 2.0
# A window that could take less than this would show next to nothing.
LEAST_ALLOWANCE = 64 * MB


@dataclass(frozen=True)
class Verdict:
    """Why the window must end, and whether the host is in danger, so that it cannot wait for the end of the step."""

    reason: str
    is_critical: bool


def free_disk(folder: Path) -> tuple[int, int]:
    """(free, total) bytes where `folder` is or will be."""
    for place in (folder, *folder.parents):
        if place.exists():
            usage = shutil.disk_usage(place)
            return usage.free, usage.total
    raise FileNotFoundError(folder)


class WindowBudget:
    """For one window. What it reads can be given, so that tests can draw a host."""

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
        # A reader repeats itself while reading again would cost too much: what one said within a step must not pass for
        # what the process holds between two.
        self._new_reader = (lambda: own_memory) if own_memory else (lambda: MemoryReader().own)
        self._own_within_step = self._own_at_boundary = self._new_reader()
        self._host = host_memory or MemoryReader().host
        self._disk, self._folder = disk, folder
        # All ranks of a host stop their windows at the same moment.
        self._sharers = max(1, sharers)
        rich = options.record_shapes or options.with_flops or options.with_stack or options.profile_memory
        self._at_stop = GROWTH_AT_STOP_RICH if rich else GROWTH_AT_STOP
        self._budget = options.budget_mb * MB
        self._allowance = self._budget
        self._now, self._long_step_s = now, long_step_s
        self._before: int | None = None
        # The most this process was seen to hold while nothing was recorded.
        self._most_before = 0
        self._at_last_step = 0
        self._step_began = 0.0

    def refuse(self) -> str | None:
        """Before a window: why there should be none. Otherwise it may take what the host can spare of the budget."""
        least = min(LEAST_ALLOWANCE, self._budget)
        host = self._host()
        if host is not None:
            spare = (host.available - _floor(host)) // self._sharers
            if spare < least:
                return (
                    f"the host has {_mb(host.available)} of memory left, of which {_mb(_floor(host))} are kept free"
                    + (f" and {self._sharers} ranks share the rest" if self._sharers > 1 else "")
                )
            self._allowance = min(self._allowance, spare)
        free, total = self._disk(self._folder)
        # What a window of this size can write at most.
        writes = DISK_PER_RECORDED / (1 + self._at_stop)
        spare_disk = free - _disk_margin(total)
        if spare_disk < least * writes:
            return f"the disk of {self._folder} has {_mb(free)} left"
        self._allowance = int(min(self._allowance, spare_disk / writes))
        return None

    def learn(self) -> None:
        """While the profiler warms up: what the job takes by itself."""
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
        """Bytes, as far as the process's growth tells, in the middle of a step."""
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
                f"this process grew by {_mb(recorded)} since the window opened; stopping takes about "
                f"{self._at_stop} times that, and {_mb(self._allowance)} are allowed"
                + ("" if self._allowance == self._budget else f" (trace.budget_mb is {self._budget // MB})"),
                is_critical=False,
            )
        host = self._host()
        if host is not None and host.available - recorded * self._at_stop * self._sharers < _floor(host):
            return Verdict(
                f"the host has {_mb(host.available)} of memory left, and stopping takes about "
                f"{_mb(recorded * self._at_stop)}"
                + (f" on each of {self._sharers} ranks" if self._sharers > 1 else ""),
                is_critical=True,
            )
        return self._look_at_disk(recorded)

    def refuse_export(self) -> str | None:
        """After the window: why its trace cannot be written."""
        free, _ = self._disk(self._folder)
        guess = int(self._growth(self._new_reader()) / (1 + self._at_stop) * RAW_PER_RECORDED)
        return (
            f"the disk of {self._folder} has {_mb(free)} left, the trace needs about {_mb(guess)}"
            if free < guess
            else None
        )

    def _look_at_disk(self, recorded: int) -> Verdict | None:
        try:
            free, total = self._disk(self._folder)
        except OSError:
            return None  # a folder that vanished is made again when the trace is written
        if free - _disk_margin(total) < recorded * DISK_PER_RECORDED:
            raw = _mb(int(recorded * RAW_PER_RECORDED))
            return Verdict(f"the disk has {_mb(free)} left, the trace needs about {raw} by now", is_critical=False)
        return None


def ranks_sharing_host(recording: int) -> int:
    """How many of the `recording` ranks may be on this host."""
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
