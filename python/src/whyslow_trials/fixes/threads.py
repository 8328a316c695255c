"""Threads of operators on the CPU, and the cores that the process may use."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from whyslow_capture.cores import cores

from .base import Fix

if TYPE_CHECKING:
    from ..trial import Trial

_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
NODES = Path("/sys/devices/system/node")


class OmpThreads(Fix):
    """As many threads as this rank has cores. Launchers set one, and libraries take all that the machine has."""

    name = "omp-threads"

    def before_torch(self, trial: Trial) -> None:
        self._before = os.environ.get("OMP_NUM_THREADS")
        self._wanted = int(self.settings.get("value") or cores_per_rank())
        for name in _VARIABLES:
            os.environ[name] = str(self._wanted)

    def install(self, trial: Trial) -> None:
        import torch

        trial.apply(self.name, f"OMP_NUM_THREADS {self._before or 'unset'} → {self._wanted}")

        def again() -> None:  # the job may have set it meanwhile
            if torch.get_num_threads() != self._wanted:
                torch.set_num_threads(self._wanted)

        trial.at_backward.append(again)


class NumaBinding(Fix):
    """Runs the process on the cores next to its GPU."""

    name = "numa-binding"

    def before_torch(self, trial: Trial) -> None:
        nodes = sorted(NODES.glob("node[0-9]*"))
        if len(nodes) < 2:
            return trial.refuse(self.name, "the machine has one NUMA node")
        index = int(os.environ.get("LOCAL_RANK", "0") or 0)
        node = _node_of_gpu(index)
        if node is None:
            return trial.refuse(self.name, "the NUMA node of the GPU is not known")
        mine = _cores_of(NODES / f"node{node}") & os.sched_getaffinity(0)
        if not mine or mine == os.sched_getaffinity(0):
            return trial.refuse(self.name, f"the process is bound to node {node} already")
        os.sched_setaffinity(0, mine)
        trial.apply(self.name, f"bound to the {len(mine)} cores of NUMA node {node}")
        return None


def cores_per_rank() -> int:
    known = cores()
    shared = min(float(str(known["allowed"] or 1)), float(str(known["quota"] or "inf")))
    return max(1, int(shared / int(str(known["ranks"]))))


def _node_of_gpu(index: int) -> int | None:
    """In the driver's order, which is also CUDA's where CUDA_DEVICE_ORDER says so or all GPUs are alike."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    with suppress(ValueError, IndexError):
        index = int(visible.split(",")[index]) if visible else index
    devices = sorted(Path("/proc/driver/nvidia/gpus").glob("*"))
    with suppress(OSError, ValueError, IndexError):
        node = int(Path(f"/sys/bus/pci/devices/{devices[index].name.lower()}/numa_node").read_text())
        return node if node >= 0 else None
    return None


def _cores_of(node: Path) -> set[int]:
    found: set[int] = set()
    for part in (node / "cpulist").read_text().strip().split(","):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return found
