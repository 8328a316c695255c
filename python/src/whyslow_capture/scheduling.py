"""How long threads ran and how long they waited for a core, as Linux counts it. On other systems nothing is known."""

from __future__ import annotations

import os
from dataclasses import dataclass
from time import thread_time_ns


@dataclass(frozen=True)
class RunTime:
    """Both in ns, since the thread began. In the rest of the time it slept: waiting for a disk, a lock or a timer."""

    ran: int
    queued: int
    """Ready to run, but all cores were taken."""

    def since(self, before: RunTime) -> RunTime:
        return RunTime(self.ran - before.ran, self.queued - before.queued)

    def __add__(self, other: RunTime) -> RunTime:
        return RunTime(self.ran + other.ran, self.queued + other.queued)


NO_TIME = RunTime(0, 0)


class ThreadClock:
    """
    For the thread that makes it, which must be the one that reads it. The file stays open: reading it again takes a few
    µs. It has the time on a core as of the kernel's last tick; the clock has it as of now.
    """

    def __init__(self) -> None:
        try:
            self._file = os.open("/proc/thread-self/schedstat", os.O_RDONLY | os.O_CLOEXEC)
        except (OSError, AttributeError):
            self._file = -1

    def __del__(self) -> None:
        if self._file >= 0:
            os.close(self._file)

    def read(self) -> RunTime | None:
        if self._file < 0:
            return None
        try:
            return RunTime(thread_time_ns(), parse(os.pread(self._file, 128, 0)).queued)
        except (OSError, ValueError, IndexError):
            return None


def run_time_of(pids: list[int]) -> RunTime | None:
    """Of the main threads of processes together. None if it is not known of all of them."""
    total = NO_TIME
    try:
        for pid in pids:
            with open(f"/proc/{pid}/schedstat", "rb") as file:
                total += parse(file.read(128))
    except (OSError, ValueError, IndexError):
        return None
    return total


def parse(text: bytes) -> RunTime:
    fields = text.split()
    return RunTime(int(fields[0]), int(fields[1]))
