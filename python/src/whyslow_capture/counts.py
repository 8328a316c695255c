"""What hooks count for the manifest of the rank, because traces do not show it."""

from __future__ import annotations

from collections import Counter
from time import perf_counter_ns
from typing import Any

import torch


class ParameterTypes:
    """How many parameters the job trains, by number format: a trace of the CPU does not show formats."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def add(self, optimizer: object) -> None:
        """Called once for each optimizer."""
        for group in getattr(optimizer, "param_groups", None) or []:
            for parameter in group["params"]:
                self._counts[str(parameter.dtype).removeprefix("torch.")] += parameter.numel()

    def summary(self) -> dict[str, int] | None:
        return dict(self._counts) or None


# 64 numbers of 8 bytes: losses, norms, counts.
SMALL_BYTES = 512
# Below it latency is most of it: gloo sends 64 KiB over loopback in about the time that it takes to send nothing.
SHORT_BYTES = 64 * 1024


class SmallCollectives:
    """
    Collectives that move little each, in recorded steps: traces of gloo do not show sizes. Called on the training
    thread; the writer thread reads the sums.
    """

    def __init__(self) -> None:
        self._step = -1
        self._steps = self._calls = self._small = self._small_ns = self._short = self._short_ns = 0
        self._began_ns = 0

    def begins(self) -> None:
        self._began_ns = perf_counter_ns()

    def ends(self, step: int, moved: Any) -> None:
        """`moved`: the tensor that a rank sends, or the objects; None if nothing is, as in a barrier."""
        if step != self._step:
            self._step = step
            self._steps += 1
        self._calls += 1
        if not isinstance(moved, torch.Tensor):
            return
        size, took = moved.numel() * moved.element_size(), perf_counter_ns() - self._began_ns
        if 0 < size <= SMALL_BYTES:
            self._small += 1
            self._small_ns += took
        if 0 < size <= SHORT_BYTES:
            self._short += 1
            self._short_ns += took

    def summary(self) -> dict[str, object] | None:
        """`steps`: recorded ones with collectives. Time includes waiting for other ranks."""
        if self._calls == 0:
            return None
        return {
            "steps": self._steps,
            "calls": self._calls,
            "small": self._small,
            "small_ms": round(self._small_ns / 1e6, 3),
            "short": self._short,
            "short_ms": round(self._short_ns / 1e6, 3),
        }
