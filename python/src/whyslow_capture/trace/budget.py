"""
Bounds a profiler window before it opens, by the host memory and disk space that it may take.

The danger is not the recording itself but the moment the profiler stops: torch then turns the whole recording into
objects at once, while the job waits. A job that runs fine while recording can be killed at the end of the window. So
the warm-up step is recorded first and thrown away. The number of its events shows for how long the window may record.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .. import process
from ..config import TraceConfig
from ..cores import CGROUPS, control_groups

MB = 1 << 20
# Bytes of memory per event when the profiler stops. Measured with torch 2.13 (210,000 CPU events): 236 while recording
# and 1,080 to 1,300 more at stop; with shapes 545 and 3,640; with all options 542 and 4,360.
EVENT_BYTES, EVENT_BYTES_RICH = 1_600, 4_900
# Bytes of raw JSON and compressed file per event.
EVENT_DISK, EVENT_DISK_RICH = 520, 1_200
# Per second in which the training thread runs, so that neither waiting nor a busy host counts. At most; without a
# warm-up; and at least, if the warm-up saw only the beginning of a long step.
MOST_EVENTS_PER_S, USUAL_EVENTS_PER_S, LEAST_EVENTS_PER_S = 500_000, 100_000, 20_000
# Host memory that always stays free: 5%, but at most 8 GB on a large host.
FLOOR_SHARE, FLOOR_MOST = 0.05, 8192 * MB
# Disk space that always stays free: this much, or 5% of a small disk.
DISK_MARGIN = 64 * MB
# With less memory than this, a window would record next to nothing.
LEAST_ALLOWANCE = 64 * MB
# How often to ask the host, at boundaries of steps and phases, on the same clock.
LOOK_EVERY_S = 0.2
# cgroup v1 writes a number near 2^63 for "no limit".
NO_LIMIT = 1 << 60


def free_disk(folder: Path) -> tuple[int, int]:
    """(free, total) bytes on the disk where `folder` is or will be."""
    for existing in (folder, *folder.parents):
        if existing.exists():
            usage = shutil.disk_usage(existing)
            return usage.free, usage.total
    raise FileNotFoundError(folder)


@dataclass(frozen=True)
class HostMemory:
    total: int
    available: int


def host_memory(proc: Path = Path("/proc"), cgroups: Path = CGROUPS) -> HostMemory | None:
    """The tightest limit of the machine and all control groups of this process: exceeding any of them kills."""
    found = _of_machine(proc)
    if found is None:
        return None
    total, available = found.total, found.available
    for group in control_groups(("memory",), str(proc / "self/cgroup"), cgroups):
        limited = _of_group(group)
        if limited is not None:
            total, available = min(total, limited.total), min(available, limited.available)
    return HostMemory(total, max(0, available))


def _of_machine(proc: Path) -> HostMemory | None:
    values: dict[str, int] = {}
    try:
        for line in (proc / "meminfo").read_text().splitlines():
            name, _, rest = line.partition(":")
            if name in ("MemTotal", "MemAvailable"):
                values[name] = int(rest.split()[0]) * 1024
        return HostMemory(values["MemTotal"], values["MemAvailable"])
    except (OSError, ValueError, IndexError, KeyError):
        return None


def _of_group(group: Path) -> HostMemory | None:
    for limit_file, used_file, reclaimable in (
        ("memory.max", "memory.current", "inactive_file"),
        ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ):
        try:
            limit = (group / limit_file).read_text().strip()
            if limit == "max" or int(limit) >= NO_LIMIT:
                continue
            used = int((group / used_file).read_text())
            # The kernel drops inactive file pages before it kills anything.
            for line in (group / "memory.stat").read_text().splitlines():
                if line.startswith(reclaimable + " "):
                    used -= int(line.split()[1])
            return HostMemory(int(limit), int(limit) - max(0, used))
        except (OSError, ValueError, IndexError):
            continue
    return None


class WindowBudget:
    """For one window. Tests can pass readers that simulate a host."""

    def __init__(
        self,
        options: TraceConfig,
        folder: Path,
        sharers: int = 1,
        memory: Callable[[], HostMemory | None] = host_memory,
        disk: Callable[[Path], tuple[int, int]] = free_disk,
        now: Callable[[], float] = time.thread_time,
    ) -> None:
        self._memory, self._disk, self._folder, self._now = memory, disk, folder, now
        # The ranks of a host stop their windows at the same time.
        self._sharers = max(1, sharers)
        rich = options.record_shapes or options.with_flops or options.with_stack or options.profile_memory
        self._event_bytes = EVENT_BYTES_RICH if rich else EVENT_BYTES
        self._event_disk = EVENT_DISK_RICH if rich else EVENT_DISK
        self._budget_mb = options.budget_mb
        self._allowance = options.budget_mb * MB
        self._began: float | None = None
        self._looked_at = 0.0
        self._rate = float(USUAL_EVENTS_PER_S)

    def refuse(self, longest_gap_s: float = 0.0) -> str | None:
        """
        Before a window: why it must not open, or None. Then it may use what the host can spare of the budget.
        `longest_gap_s`: for how long the step before ran without a point at which a window could have ended.
        """
        least = min(LEAST_ALLOWANCE, self._budget_mb * MB)
        host = self._memory()
        if host is not None:
            spare = (host.available - _floor(host)) // self._sharers
            if spare < least:
                return f"the host has {_mb(host.available)} of memory left, and {_mb(_floor(host))} must stay free" + (
                    f"; {self._sharers} ranks share the rest" if self._sharers > 1 else ""
                )
            if longest_gap_s * MOST_EVENTS_PER_S * self._event_bytes > spare:
                return (
                    f"in a step no phase begins or ends for {longest_gap_s:.0f} s, so a window could not end in time; "
                    "mark parts of it with cap.phase()"
                )
            self._allowance = min(self._allowance, spare)
        free, total = self._disk(self._folder)
        spare_events = (free - _disk_margin(total)) / self._event_disk
        if spare_events * self._event_bytes < least:
            return f"the disk of {self._folder} has only {_mb(free)} left"
        self._allowance = int(min(self._allowance, spare_events * self._event_bytes))
        return None

    @property
    def warm_up_s(self) -> float:
        """How long the warm-up may record, even if the job makes as many events as it can."""
        return self._allowance / self._event_bytes / MOST_EVENTS_PER_S

    @property
    def limit_s(self) -> float:
        """How long the window may record."""
        return self._allowance / self._event_bytes / self._rate

    def learn(self, events: int, seconds: float, *, is_whole_step: bool) -> None:
        """What the warm-up recorded."""
        rate = events / max(seconds, 1e-6)
        self._rate = max(rate, 1.0 if is_whole_step else LEAST_EVENTS_PER_S)

    def describe(self) -> str:
        limit = self._allowance // MB
        return (
            f"it records about {self._rate:,.0f} events per second, stopping the profiler takes {self._event_bytes:,} "
            f"bytes for each, and the limit is {limit:,} MB"
            + ("" if limit == self._budget_mb else f" (trace.budget_mb is {self._budget_mb})")
        )

    def begin(self) -> None:
        """Recording starts now."""
        self._began = self._looked_at = self._now()

    def look(self, next_step_s: float = 0.0) -> str | None:
        """Recording may end here: why it must. `next_step_s`: how long it would go on at least."""
        now = self._now()
        if self._began is not None and now + next_step_s - self._began > self.limit_s:
            return self.describe()
        if now - self._looked_at < LOOK_EVERY_S:
            return None
        self._looked_at = now
        recorded = self._recorded(now)
        host, needed = self._memory(), recorded * self._event_bytes
        if host is not None and host.available - needed * self._sharers < _floor(host):
            return f"the host has {_mb(host.available)} of memory left, and stopping the profiler takes about " + (
                _mb(needed) + (f" on each of {self._sharers} ranks" if self._sharers > 1 else "")
            )
        try:
            free, total = self._disk(self._folder)
        except OSError:
            return None  # if the folder was deleted, writing the trace creates it again
        if free - _disk_margin(total) < recorded * self._event_disk:
            return (
                f"the disk has {_mb(free)} left, and the trace already needs about {_mb(recorded * self._event_disk)}"
            )
        return None

    def refuse_export(self) -> str | None:
        """After the window: why its trace cannot be written, or None."""
        free, _ = self._disk(self._folder)
        guess = self._recorded(self._now()) * self._event_disk
        return (
            f"the disk of {self._folder} has {_mb(free)} left, and the trace needs about {_mb(guess)}"
            if free < guess
            else None
        )

    def _recorded(self, now: float) -> int:
        return 0 if self._began is None else max(0, int(self._rate * (now - self._began)))


def ranks_sharing_host(recording: int) -> int:
    """How many of the `recording` ranks can be on this host."""
    return max(1, min(process.local_world_size() or 1, recording))


def _floor(host: HostMemory) -> int:
    return int(min(FLOOR_SHARE * host.total, FLOOR_MOST))


def _disk_margin(total: int) -> int:
    return int(min(DISK_MARGIN, 0.05 * total))


def _mb(size: float) -> str:
    return f"{size / MB:,.0f} MB" if size >= 10 * MB else f"{size / MB:.1f} MB"
