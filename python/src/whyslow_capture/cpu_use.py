"""How much processor time this process got, and how long its threads waited for a core."""

from __future__ import annotations

import os
import threading
import time
from contextlib import suppress
from dataclasses import dataclass

from .cores import Throttling, affinity, throttling
from .scheduling import NO_TIME, RunTime, ThreadClock, parse

MAX_THREADS = 512
# Names of our own threads begin with this.
OURS = "whyslow"
# Share of a core below which a thread in the background holds nothing up.
VISIBLE = 0.05
MAX_BACKGROUND = 4


@dataclass(frozen=True)
class Reading:
    wall: float
    process: float
    thread: RunTime | None


@dataclass(frozen=True)
class Snapshot:
    wall: float
    threads: dict[str, RunTime]
    throttling: dict[str, Throttling]


class CpuUse:
    """From the end of the first step. The training thread reads its own clock, the writer thread everything else."""

    def __init__(self) -> None:
        self._clock: ThreadClock | None = None
        self._first: Reading | None = None
        self._last: Reading | None = None
        self._threads = 0
        # The training thread, as the kernel numbers it.
        self._trainer = 0
        self._begin: Snapshot | None = None

    def read(self) -> None:
        """Called by the training thread; takes a few µs."""
        import torch

        if self._clock is None:
            self._clock = ThreadClock()
            self._trainer = threading.get_native_id()
        self._last = Reading(time.perf_counter(), time.process_time(), self._clock.read())
        self._first = self._first or self._last
        # Each thread has its own number.
        self._threads = torch.get_num_threads()

    def summary(self) -> dict[str, object] | None:
        """Called by the writer thread. None: no time has passed."""
        first, last = self._first, self._last
        now = Snapshot(time.perf_counter(), _threads(), throttling())
        begin = self._begin
        if begin is None:
            self._begin = now
        if first is None or last is None or last.wall <= first.wall:
            return None
        wall = last.wall - first.wall
        used: dict[str, object] = {
            "wall_s": round(wall, 3),
            "used_s": round(last.process - first.process, 3),
            "threads": self._threads,
            "threads_by": _who_set(self._threads),
            "affinity": affinity(),
        }
        if first.thread is not None and last.thread is not None:
            thread = last.thread.since(first.thread)
            used["thread_ran"], used["thread_queued"] = _share(thread.ran, wall), _share(thread.queued, wall)
        if begin is not None and now.wall > begin.wall:
            used.update(_since(begin, now))
            used["background"] = _background(begin, now, self._trainer)
        return used


def _who_set(threads: int) -> str:
    """`code`: torch.set_num_threads, since neither the environment nor the number of cores gives this number."""
    given = os.environ.get("OMP_NUM_THREADS") or os.environ.get("MKL_NUM_THREADS")
    if given == str(threads):
        return "environment"
    return "code" if given or threads > (os.cpu_count() or threads) else "default"


def _background(begin: Snapshot, now: Snapshot, trainer: int) -> list[dict[str, object]]:
    """Python threads of the job besides the training thread that ran for a visible part of the time, busiest first."""
    wall = now.wall - begin.wall
    found = []
    for thread in threading.enumerate():
        after = now.threads.get(str(thread.native_id))
        if after is None or thread.native_id == trainer or thread.name.startswith(OURS):
            continue
        ran = _share(after.since(begin.threads.get(str(thread.native_id), NO_TIME)).ran, wall)
        if ran >= VISIBLE:
            found.append((ran, thread.name[:80]))
    return [{"thread": name, "ran": ran} for ran, name in sorted(found, reverse=True)[:MAX_BACKGROUND]]


def _since(begin: Snapshot, now: Snapshot) -> dict[str, object]:
    """`queued`: how many threads waited for a core, on average. `throttled`: the share of periods that ended early."""
    found: dict[str, object] = {}
    if now.threads:
        queued = sum(own.since(begin.threads.get(tid, NO_TIME)).queued for tid, own in now.threads.items())
        found["queued"] = _share(max(0, queued), now.wall - begin.wall)
    shares = [
        (after.throttled - before.throttled) / (after.periods - before.periods)
        for group, after in now.throttling.items()
        if (before := begin.throttling.get(group)) is not None and after.periods > before.periods
    ]
    if shares:
        found["throttled"] = round(max(shares), 3)
    return found


def _share(ns: int, wall: float) -> float:
    return round(ns / 1e9 / wall, 3)


def _threads() -> dict[str, RunTime]:
    """All threads of this process by id. Empty where nothing is known."""
    found: dict[str, RunTime] = {}
    with suppress(OSError):
        for tid in os.listdir("/proc/self/task")[:MAX_THREADS]:
            # A thread may end while we look.
            with suppress(OSError, ValueError, IndexError), open(f"/proc/self/task/{tid}/schedstat", "rb") as file:
                found[tid] = parse(file.read(128))
    return found
