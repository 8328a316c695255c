"""
Snapshots of PyTorch's CUDA allocator, in OUT/memory. Out of memory: one, always, which says what was asked for and what
was there. With `memory=True` the allocator also keeps its last events with Python stacks, and a snapshot is taken when
the first steps have shown their peak, and again when a later step needs clearly more.
"""

from __future__ import annotations

import atexit
import os
import pickle
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

from . import layout, process
from .own_files import write_bytes
from .problems import ProblemLog

# Events that the allocator keeps: with stacks about 1 kB each in memory, and 10 to 50 MB in a file.
MAX_EVENTS = 50_000
# After so many more steps the peak has been seen, with gradients and optimizer state.
SETTLED_STEPS = 4
# A later peak is worth another snapshot from here on, and no more often than this.
HIGHER = 1.05
MAX_SNAPSHOTS = 4
MAX_OUT_OF_MEMORY = 3
MAX_DEPTH = 64


class MemoryWatch:
    def __init__(self, records: bool, problems: ProblemLog) -> None:
        self._records, self._problems = records, problems
        self._out = Path()
        self._is_on = self._trains = False
        self.is_stopped = False
        self._steps = 0
        self._taken = self._failed = 0
        self._peak = 0
        # The step after which the device ran out of memory. -1: it did not, or the job went on.
        self._failed_at = -1

    def start(self, out: Path) -> None:
        """Now, or once the job uses CUDA, which this must not start. Memory may run out in the first step."""
        if self._is_on:
            return
        torch = sys.modules.get("torch")
        on_first_use = getattr(getattr(torch, "cuda", None), "_lazy_call", None)
        if torch is None or on_first_use is None or torch.version.cuda is None:
            return
        with self._problems.guard("memory", "watching for out-of-memory errors"):
            self._out = out
            self._is_on = True
            on_first_use(self._begin)

    def _begin(self) -> None:
        # An error in here would end the start of CUDA.
        with self._problems.guard("memory", "watching for out-of-memory errors"):
            if not self._is_on:
                return
            torch = sys.modules["torch"]
            attach = getattr(torch._C, "_cuda_attachOutOfMemoryObserver", None)
            if attach is not None:
                attach(self._ran_out)
            if self._records:
                torch.cuda.memory._record_memory_history(
                    enabled="all", context="all", stacks="python", max_entries=MAX_EVENTS
                )

    def trains(self, out: Path) -> None:
        """This process is the rank. What an earlier one of it left is out of date."""
        self.start(out)
        self._trains = True
        if self._is_on and self._failed == 0:
            self._forget("oom", "snapshot")

    def _forget(self, *kinds: str) -> None:
        for kind in kinds:
            with suppress(OSError):
                self._file(kind).unlink()

    def _forget_survived(self) -> None:
        """It ran out of memory before it trained, caught that, and ends well: a helper of the job, or a trial."""
        if not self._trains and getattr(sys, "last_value", None) is None:
            self._forget("oom")

    def _file(self, kind: str) -> Path:
        return layout.memory_file(self._out, kind, process.rank())

    def step(self) -> None:
        """Called at the end of recorded steps, on the training thread."""
        if not self._is_on:
            return
        self._steps += 1
        with self._problems.guard("memory", "taking a memory snapshot"):
            if self._failed_at >= 0 and self._steps > self._failed_at + 1:
                # The job caught the error and goes on, as a search for the largest batch does.
                self._failed_at = -1
                self._forget("oom")
            cuda = sys.modules["torch"].cuda
            if self._records and self._steps >= SETTLED_STEPS and self._taken < MAX_SNAPSHOTS and cuda.is_initialized():
                peak = cuda.max_memory_allocated()
                if peak > HIGHER * self._peak:
                    self._peak = peak
                    self._taken += 1
                    self._write("snapshot", _snapshot())

    def stop(self) -> None:
        if self._is_on and self._records:
            with suppress(Exception):
                cuda = sys.modules["torch"].cuda
                if cuda.is_initialized():
                    cuda.memory._record_memory_history(enabled=None)
        self._is_on = False
        self.is_stopped = True

    def _ran_out(self, device: int, asked: int, _held: int, free: int) -> None:
        """Called by the allocator just before it raises. What fails here must not hide that."""
        if not self._is_on or self._failed >= MAX_OUT_OF_MEMORY:
            return
        self._failed += 1
        self._failed_at = self._steps
        if not self._trains:
            atexit.register(self._forget_survived)
        with self._problems.guard("memory", "taking a memory snapshot"):
            snapshot = _snapshot()
            traces = snapshot["device_traces"]
            while len(traces) <= device:
                traces.append([])
            if not any(event.get("action") == "oom" for event in traces[device][-8:]):
                traces[device].append(
                    {
                        "action": "oom",
                        "size": asked,
                        "device_free": free,
                        "addr": 0,
                        "stream": 0,
                        "time_us": time.time_ns() // 1000,
                        "frames": _frames(sys._getframe(1)),
                    }
                )
            self._write("oom", snapshot)

    def _write(self, kind: str, snapshot: dict[str, Any]) -> None:
        write_bytes(self._file(kind), pickle.dumps(snapshot, protocol=4))


class _Process:
    watch: MemoryWatch | None = None


def watch_of_process(records: bool, problems: ProblemLog) -> MemoryWatch:
    """
    `whyslow run` starts it when torch is imported: the model is made before training begins, and the first step may be
    the one that needs too much. The capture takes it over.
    """
    watch = _Process.watch
    if watch is None or watch.is_stopped:
        watch = _Process.watch = MemoryWatch(records, problems)
    return watch


def _snapshot() -> dict[str, Any]:
    found = sys.modules["torch"].cuda.memory._snapshot()
    snapshot: dict[str, Any] = dict(found)
    snapshot["device_traces"] = [list(trace) for trace in snapshot.get("device_traces", [])]
    return snapshot


def _frames(frame: FrameType | None) -> list[dict[str, object]]:
    frames: list[dict[str, object]] = []
    while frame is not None and len(frames) < MAX_DEPTH:
        code = frame.f_code
        frames.append({"name": code.co_name, "filename": os.fspath(code.co_filename), "line": frame.f_lineno or 0})
        frame = frame.f_back
    return frames
