"""What a run leaves behind: the events log of each case, and truth.json."""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import os
import platform
import statistics
import subprocess
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from context import Sizes
from gpu_busy import Busy
from harness import StepTime, Timing
from labels import Label, decide, decide_without_gpu
from registry import Case

EVENT_STEPS = 40
"""The last steps of the free run that go into the events log."""
STEADY_SPREAD = 0.25
"""Repeats that differ by more are marked unsteady. Host-bound loops on a virtual machine differ by 10 to 20%
without fault; beyond this a speedup of 30% could be noise."""
PACKAGES = ("numpy", "torch", "torchvision", "transformers", "triton")
Record = dict[str, Any]
FIGURES = (
    "step_ms",
    "step_ms_sync",
    "step_ms_attached",
    "step_ms_beside",
    "spread_beside",
    "speedup_in_turns",
    "spread",
    "data_wait_ms",
    "profiled_step_ms",
    "gpu_busy",
    "kernels_ms",
    "to_device_ms",
    "to_host_ms",
    "peak_gib",
    "raw_bytes",
    "gz_bytes",
)
"""The fields of a case in truth.json that were measured; the others come from the registry."""


def event_lines(name: str, steps: list[StepTime], clock: str) -> Iterator[Record]:
    yield {"whyslow": 1, "run": name, "rank": 0}
    first = max(0, len(steps) - EVENT_STEPS)
    for number, step in enumerate(steps[first:], first):
        where = {"step": number, "rank": 0}
        yield {"name": "data_wait", **where, "duration_ms": round(step.data_wait_ms, 4), "clock": "host"}
        if step.host_to_device_ms is not None:
            copied = round(step.host_to_device_ms, 4)
            yield {"name": "host_to_device", **where, "duration_ms": copied, "clock": clock}
        yield {"name": "training_step", **where, "duration_ms": round(step.step_ms, 4), "clock": clock}


def write_events(path: Path, name: str, steps: list[StepTime], clock: str) -> None:
    lines = (json.dumps(line) for line in event_lines(name, steps, clock))
    path.write_text("\n".join(lines) + "\n")


def measured(timing: Timing, attached_ms: float, busy: Busy, on_gpu: bool, files: Record) -> Record:
    """The figures of one case, as truth.json keeps them."""
    figures = {
        "step_ms": round(timing.step_ms, 3),
        "step_ms_sync": round(timing.step_ms_sync, 3),
        "step_ms_attached": round(attached_ms, 3),
        "spread": round(timing.spread, 4),
        "data_wait_ms": round(timing.data_wait_ms, 3),
        "profiled_step_ms": round(busy.profiled_step_ms, 3),
    }
    if on_gpu:
        figures |= {
            "gpu_busy": round(busy.kernels_ms / timing.step_ms, 3),
            "kernels_ms": round(busy.kernels_ms, 3),
            "to_device_ms": round(busy.to_device_ms, 3),
            "to_host_ms": round(busy.to_host_ms, 3),
            "peak_gib": round(torch.cuda.max_memory_allocated() / 2**30, 2),
        }
    return {**figures, **files}


def measured_beside(around: list[float | None], speedups: list[float]) -> Record:
    """What a parallel process measured that was never profiled."""
    figures: Record = {}
    steps = [ms for ms in around if ms is not None]
    if len(steps) == 2:
        middle = statistics.fmean(steps)
        figures["step_ms_beside"] = round(middle, 3)
        figures["spread_beside"] = round((max(steps) - min(steps)) / middle, 4)
    if speedups:
        figures["speedup_in_turns"] = [round(at(speedups), 3) for at in (min, statistics.median, max)]
    return figures


def decided_label(figures: Record) -> Label:
    step, wait = figures["step_ms"], figures["data_wait_ms"]
    if "gpu_busy" not in figures:
        return decide_without_gpu(step, wait)
    return decide(step, figures["kernels_ms"], wait, figures["to_device_ms"])


def record(case: Case, figures: Record) -> Record:
    """The measured figures with the case's own words and the label decided from both."""
    label = decided_label(figures)
    acceptable = label.acceptable or case.also_acceptable
    optional = {
        "acceptable": list(acceptable),
        "gain_of": case.gain_of,
        "fix": case.fix,
        "twin": case.twin,
        "note": case.note,
        "intended": case.bottleneck if case.bottleneck != label.bottleneck else None,
    }
    return {
        "name": case.name,
        "bottleneck": label.bottleneck,
        "rules": list(case.rules),
        "not_a_gain": list(case.not_a_gain),
        **{key: value for key, value in optional.items() if value},
        "steady": figures["spread"] <= STEADY_SPREAD,
        **figures,
    }


class Truth:
    """truth.json, written after every case so that a run cut short keeps what it has."""

    def __init__(self, path: Path, order: list[str]) -> None:
        self.path, self.order = path, order
        self.content: Record = json.loads(path.read_text()) if path.exists() else {}
        self.runs: dict[str, Record] = {r["name"]: r for r in self.content.pop("runs", [])}
        self.failed: dict[str, str] = self.content.pop("failed", {})

    def describe(self, description: Record) -> None:
        self.content = description

    def add(self, run: Record) -> None:
        self.runs[run["name"]] = run
        self.failed.pop(run["name"], None)
        self.write()

    def fail(self, name: str, reason: str) -> None:
        self.failed[name] = reason
        self.write()

    def write(self) -> None:
        runs = sorted(self.runs.values(), key=lambda run: self.order.index(run["name"]))
        for run in runs:
            twin = self.runs.get(run.get("twin", ""))
            if "speedup_in_turns" in run:
                run["measured_speedup"] = run["speedup_in_turns"][1]
            elif twin:
                run["measured_speedup"] = round(run["step_ms"] / twin["step_ms"], 3)
        whole = {**self.content, "runs": runs, **({"failed": self.failed} if self.failed else {})}
        partial = self.path.with_suffix(".partial")
        partial.write_text(json.dumps(whole, indent=1) + "\n")
        partial.replace(self.path)


def installed(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def driver_version() -> str | None:
    query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        return subprocess.run(query, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def describe_machine(group: str, sizes_name: str, sizes: Sizes, on_gpu: bool) -> Record:
    gpu = torch.cuda.get_device_properties(0) if on_gpu else None
    # The new cases have sizes of their own.
    sized = {"sizes": sizes_name, "config": asdict(sizes)} if group == "original" else {}
    return {
        "torch": torch.__version__,
        "gpu": gpu.name if gpu else None,
        "gpu_memory_gib": round(gpu.total_memory / 2**30, 1) if gpu else None,
        "cpu_cores": os.cpu_count(),
        "group": group,
        **sized,
        "versions": {
            "python": platform.python_version(),
            "cuda": torch.version.cuda,
            "cudnn": torch.backends.cudnn.version(),
            "driver": driver_version() if gpu else None,
            **{name: installed(name) for name in PACKAGES},
        },
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
    }
