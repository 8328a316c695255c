"""
This process's place in the job: rank, host, device. Ask late, as they are only known once the job has set itself up.

torch is looked up, never imported: without it there is neither a process group nor a GPU in use.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from contextlib import suppress

# torchrun and most launchers, Slurm, Open MPI.
_RANK_VARIABLES = ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK")
_WORLD_VARIABLES = ("WORLD_SIZE", "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE")
_LOCAL_VARIABLES = ("LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK")


def group_is_up() -> bool:
    """Whether a default process group exists."""
    torch = sys.modules.get("torch")
    return torch is not None and bool(torch.distributed.is_available() and torch.distributed.is_initialized())


def rank() -> int:
    if group_is_up():
        return int(sys.modules["torch"].distributed.get_rank())
    return _first_int(_RANK_VARIABLES) or 0


def world_size() -> int:
    if group_is_up():
        return int(sys.modules["torch"].distributed.get_world_size())
    return _first_int(_WORLD_VARIABLES) or 1


def local_rank() -> int | None:
    return _first_int(_LOCAL_VARIABLES)


def local_world_size() -> int | None:
    """How many ranks the launcher started on this node. None if unknown."""
    return _first_int(("LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"))


def host() -> str:
    return socket.gethostname()


def uses_cuda() -> bool:
    """Whether the job has initialized CUDA. Never initializes it: in a forked DataLoader worker that would fail."""
    torch = sys.modules.get("torch")
    return torch is not None and bool(torch.cuda.is_available() and torch.cuda.is_initialized())


def device() -> dict[str, object] | None:
    if not uses_cuda():
        return None
    cuda = sys.modules["torch"].cuda
    index = cuda.current_device()
    properties = cuda.get_device_properties(index)
    found: dict[str, object] = {"type": "cuda", "index": index, "name": properties.name}
    for name in ("uuid", "pci_bus_id", "pci_domain_id", "pci_device_id"):
        value = getattr(properties, name, None)
        if value is not None:
            found[name] = value if isinstance(value, int) else str(value)
    return found


def age_ns() -> int:
    """For how long this process has been running; 0 if the system does not know."""
    with suppress(Exception):
        with open("/proc/self/stat") as file:
            # Field 22, in clock ticks since boot. Counted from the end of the process name, which may contain anything.
            ticks = int(file.read().rpartition(")")[2].split()[19])
        since_boot = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
        return max(0, int(since_boot * 1e9))
    return 0


def _first_int(names: tuple[str, ...]) -> int | None:
    for name in names:
        try:
            return int(os.environ[name])
        except (KeyError, ValueError):
            continue
    return None
