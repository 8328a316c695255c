"""How many processor cores this process may use. `os.cpu_count` says what the machine has, which is often far more."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

CGROUPS = Path("/sys/fs/cgroup")
MEMBERSHIP = "/proc/self/cgroup"
# As /proc/self/cgroup names it in version 1.
CPU = ("cpu", "cpu,cpuacct", "cpuacct,cpu")


class Throttling(NamedTuple):
    """Of a control group with a quota: its periods, and those in which it used up the quota and had to wait."""

    periods: int
    throttled: int


def cores(membership: str = MEMBERSHIP, root: Path = CGROUPS) -> dict[str, object]:
    """
    `allowed`: cores that the scheduler may run us on. `quota`: cores' worth of time that the container may use, or None
    if it has no limit. `ranks`: processes of the job on this machine, which share them.
    """
    allowed = len(_allowed()) or os.cpu_count()
    return {"allowed": allowed, "quota": _quota(membership, root), "ranks": _ranks_here()}


def affinity() -> str:
    """`0-7,16-23`. Ranks that share cores have the same text; ranks that were pinned apart do not."""
    parts: list[list[int]] = []
    for core in _allowed():
        if parts and core == parts[-1][-1] + 1:
            parts[-1][1:] = [core]
        else:
            parts.append([core])
    return ",".join("-".join(map(str, part)) for part in parts)[:200]


def throttling(membership: str = MEMBERSHIP, root: Path = CGROUPS) -> dict[str, Throttling]:
    """By directory, for our control group and those around it. Empty: none has a quota, or nothing is known."""
    found = {}
    for directory in control_groups(CPU, membership, root):
        with suppress(OSError, ValueError, KeyError):
            lines = (directory / "cpu.stat").read_text().splitlines()[:64]
            values = {key: int(value) for key, value in (line.split() for line in lines)}
            if values["nr_periods"] > 0:
                found[str(directory)] = Throttling(values["nr_periods"], values["nr_throttled"])
    return found


def _allowed() -> list[int]:
    try:
        return sorted(os.sched_getaffinity(0))
    except (AttributeError, OSError):  # not on macOS
        return []


def _ranks_here() -> int:
    for name in ("LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "SLURM_NTASKS_PER_NODE"):
        with suppress(KeyError, ValueError):
            return max(1, int(os.environ[name]))
    return 1


def _quota(membership: str, root: Path) -> float | None:
    """The smallest limit of our control group and those around it. In a container only the root may be visible."""
    limits = []
    for directory in control_groups(CPU, membership, root):
        with suppress(OSError, ValueError, IndexError, ZeroDivisionError):
            limits.append(_limit(directory))
    set_ones = [limit for limit in limits if limit is not None]
    return round(min(set_ones), 2) if set_ones else None


def control_groups(controllers: tuple[str, ...], membership: str = MEMBERSHIP, root: Path = CGROUPS) -> list[Path]:
    """This process's group and those around it. In a container only the root may exist: the path is the host's."""
    found = [root, root / controllers[0]]
    with suppress(OSError, ValueError):
        for line in Path(membership).read_text().splitlines()[:64]:
            _, named, path = line.split(":", 2)
            if named not in ("", *controllers):
                continue
            base = root if named == "" else root / controllers[0]
            parts = [p for p in path.split("/") if p not in ("", ".", "..")]
            found += [base.joinpath(*parts[:n]) for n in range(1, len(parts) + 1)]
    return found


def _limit(group: Path) -> float | None:
    """Cores' worth of time. None: unlimited."""
    try:
        quota, period = (group / "cpu.max").read_text().split()[:2]
    except FileNotFoundError:
        quota = (group / "cpu.cfs_quota_us").read_text().strip()
        period = (group / "cpu.cfs_period_us").read_text().strip()
    return None if quota in ("max", "-1") else int(quota) / int(period)
