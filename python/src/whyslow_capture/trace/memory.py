"""How much memory this process uses and how much the host or container has left. Only known on Linux."""

from __future__ import annotations

import ctypes
import os
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# cgroup v1 writes a number near 2^63 for "no limit".
NO_LIMIT = 1 << 60
# How often to test whether the C library's own count is reliable.
PROBES = 3


@dataclass(frozen=True)
class HostMemory:
    total: int
    available: int


class _MallocInfo(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_size_t) for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd")),
        *((name, ctypes.c_size_t) for name in ("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost")),
    ]


class HeapReader:
    """
    Memory allocated through glibc. Counting takes microseconds, but 80 ms in a heap with half a million free chunks.
    """

    # At most this fraction of the time is spent counting.
    SHARE = 0.01

    def __init__(self) -> None:
        self._ask: Any = None
        with suppress(AttributeError, OSError):  # another C library, or an old one
            self._ask = ctypes.CDLL(None).mallinfo2
            self._ask.restype = _MallocInfo
        self._last = 0
        self._next_at = 0.0
        # Several tries, because other threads allocate and free meanwhile. All readers must come to the same result,
        # since their values are compared.
        self.is_in_charge = any(self._counts() for _ in range(PROBES))

    def _counts(self) -> bool:
        """Whether glibc sees allocations. With another allocator (jemalloc, tcmalloc) it does not."""
        self._next_at = 0.0
        before = self.in_use()
        probe = ctypes.create_string_buffer(1 << 20)
        self._next_at = 0.0
        after = self.in_use()
        # in_use() may return this value for a while, and the probe is freed by then.
        self._last = before or 0
        return before is not None and after is not None and after - before >= len(probe) // 2

    def in_use(self) -> int | None:
        if self._ask is None:
            return None
        if time.monotonic() >= self._next_at:
            # CPU time of this thread; wall time would include waiting for the interpreter lock.
            begin = time.thread_time()
            info = self._ask()
            self._last = info.uordblks + info.hblkhd
            self._next_at = time.monotonic() + (time.thread_time() - begin) / self.SHARE
        return self._last


class MemoryReader:
    """Reads /proc and the memory control groups. Tests can pass paths that simulate a host."""

    def __init__(self, proc: Path = Path("/proc"), cgroups: Path = Path("/sys/fs/cgroup")) -> None:
        self._proc, self._cgroups = proc, cgroups
        self._page = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
        self._groups: list[tuple[Path, bool]] | None = None
        self._heap = HeapReader()

    def own(self) -> int | None:
        """
        Memory of this process. By the C library's count if possible: resident memory does not grow while freed memory
        is reused. Otherwise resident memory without files and shared memory, which vary with the data.
        """
        return self._heap.in_use() if self._heap.is_in_charge else self.resident()

    def resident(self) -> int | None:
        try:
            _, resident, shared = (self._proc / "self/statm").read_text().split()[:3]
        except (OSError, ValueError):
            return None
        return (int(resident) - int(shared)) * self._page

    def host(self) -> HostMemory | None:
        """The tightest limit of the machine and all control groups of this process."""
        found = self._meminfo()
        if found is None:
            return None
        total, available = found.total, found.available
        for group, is_v2 in self._control_groups():
            limited = _limited(group, is_v2)
            if limited is not None:
                total, available = min(total, limited.total), min(available, limited.available)
        return HostMemory(total, max(0, available))

    def _meminfo(self) -> HostMemory | None:
        values: dict[str, int] = {}
        try:
            for line in (self._proc / "meminfo").read_text().splitlines():
                name, _, rest = line.partition(":")
                if name in ("MemTotal", "MemAvailable"):
                    values[name] = int(rest.split()[0]) * 1024
        except (OSError, ValueError, IndexError):
            return None
        if len(values) < 2:
            return None
        return HostMemory(values["MemTotal"], values["MemAvailable"])

    def _control_groups(self) -> list[tuple[Path, bool]]:
        """This process's group and its parents; exceeding the limit of any of them kills. They do not change."""
        if self._groups is None:
            self._groups = []
            try:
                lines = (self._proc / "self/cgroup").read_text().splitlines()
            except OSError:
                lines = []
            for line in lines:
                _, controllers, path = [*line.split(":", 2), "", ""][:3]
                if controllers == "":
                    self._groups += [(group, True) for group in _chain(self._cgroups, path)]
                elif "memory" in controllers.split(","):
                    self._groups += [(group, False) for group in _chain(self._cgroups / "memory", path)]
        return self._groups


def _chain(root: Path, path: str) -> list[Path]:
    """In a container the path may be the host's. Then only the root exists, which is the container's own group."""
    group = root / path.strip("/")
    return [g for g in (group, *group.parents) if g.is_relative_to(root) and g.is_dir()]


def _limited(group: Path, is_v2: bool) -> HostMemory | None:
    limit_file, used_file = (
        ("memory.max", "memory.current") if is_v2 else ("memory.limit_in_bytes", "memory.usage_in_bytes")
    )
    try:
        limit = (group / limit_file).read_text().strip()
        if limit == "max" or int(limit) >= NO_LIMIT:
            return None
        used = int((group / used_file).read_text())
        # The kernel drops inactive file pages before it kills anything.
        name = "inactive_file" if is_v2 else "total_inactive_file"
        for line in (group / "memory.stat").read_text().splitlines():
            if line.startswith(name + " "):
                used -= int(line.split()[1])
        return HostMemory(int(limit), int(limit) - max(0, used))
    except (OSError, ValueError, IndexError):
        return None
