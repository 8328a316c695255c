"""Decides a case's bottleneck from what was measured; README.md says it in words."""

from __future__ import annotations

from dataclasses import dataclass

from registry import Bottleneck

GPU_BOUND = 0.85
"""Share of the unprofiled step the GPU must be busy for (docs/method/verdict.md)."""
MARGIN = 1.3
"""Two answers closer than this factor are both right."""


@dataclass(frozen=True)
class Label:
    bottleneck: Bottleneck | None
    acceptable: tuple[Bottleneck, ...] = ()


def share_of_input(step_ms: float, idle_ms: float, wait_ms: float, copy_ms: float) -> float:
    """Input is charged only for time the GPU was idle: the host may wait while the GPU works."""
    return min(idle_ms, wait_ms + copy_ms) / step_ms


def decide(step_ms: float, kernels_ms: float, data_wait_ms: float, to_device_ms: float) -> Label:
    busy = kernels_ms / step_ms
    if busy >= GPU_BOUND:
        return Label("gpu")
    idle_ms = step_ms - kernels_ms
    data = share_of_input(step_ms, idle_ms, data_wait_ms, to_device_ms)
    host = 1 - busy - data
    waits_for: Bottleneck = "data" if data > host else "host"
    if busy * MARGIN >= GPU_BOUND:
        return Label(None, ("gpu", waits_for))
    if max(data, host) < MARGIN * min(data, host):
        return Label(None, ("data", "host"))
    return Label(waits_for)


def decide_without_gpu(step_ms: float, data_wait_ms: float) -> Label:
    return Label("data" if data_wait_ms > step_ms / 2 else "compute")
