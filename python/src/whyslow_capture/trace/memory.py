"""How much memory the host or container has left. Only known on Linux."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..cores import CGROUPS, control_groups

# cgroup v1 writes a number near 2^63 for "no limit".
NO_LIMIT = 1 << 60


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
