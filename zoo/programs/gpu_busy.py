"""How long the GPU computes and copies in each step of a trace, to check a label against."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Interval = tuple[float, float]


@dataclass(frozen=True)
class Busy:
    """Milliseconds a step; the copies only where no kernel runs at the same time."""

    kernels_ms: float
    to_device_ms: float
    to_host_ms: float
    profiled_step_ms: float
    """Mean host interval of a step under the profiler."""


def union_us(intervals: Iterable[Interval]) -> float:
    total, end = 0.0, float("-inf")
    for start, stop in sorted(intervals):
        total += max(0.0, stop - max(start, end))
        end = max(end, stop)
    return total


def launch_times(events: list[dict[str, Any]]) -> dict[int, float]:
    return {
        event["args"]["correlation"]: float(event["ts"])
        for event in events
        if event.get("cat") in ("cuda_runtime", "cuda_driver") and "correlation" in event["args"]
    }


def launched_inside(events: list[dict[str, Any]], window: Interval) -> list[dict[str, Any]]:
    """GPU work that the window's steps launched: the GPU may run it after the host has moved on."""
    launched = launch_times(events)

    def inside(event: dict[str, Any]) -> bool:
        at = launched.get(event["args"].get("correlation"))
        return at is not None and window[0] <= at <= window[1]

    device = ("kernel", "gpu_memcpy", "gpu_memset")
    return [event for event in events if event.get("cat") in device and inside(event)]


def interval(event: dict[str, Any]) -> Interval:
    return float(event["ts"]), float(event["ts"]) + float(event["dur"])


def read_busy(trace: Path) -> Busy:
    events = json.loads(trace.read_text(errors="replace"))["traceEvents"]
    steps = [
        interval(event)
        for event in events
        if event.get("cat") == "user_annotation" and event["name"].startswith("ProfilerStep#")
    ]
    window = (min(s[0] for s in steps), max(s[1] for s in steps))
    work = launched_inside(events, window)
    kernels = [interval(e) for e in work if e["cat"] == "kernel"]
    busy_us = union_us(kernels)

    def exposed_ms(direction: str) -> float:
        copies = [interval(e) for e in work if e["cat"] == "gpu_memcpy" and direction in e["name"]]
        return (union_us(kernels + copies) - busy_us) / len(steps) / 1e3

    return Busy(
        kernels_ms=busy_us / len(steps) / 1e3,
        to_device_ms=exposed_ms("HtoD"),
        to_host_ms=exposed_ms("DtoH"),
        profiled_step_ms=sum(stop - start for start, stop in steps) / len(steps) / 1e3,
    )
