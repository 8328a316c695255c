"""Samples whose events the device has not reached yet, and samples that are ready."""

from __future__ import annotations

import threading
from collections import deque
from time import perf_counter_ns

from ..problems import ProblemLog
from .budget import OverheadBudget
from .device import CudaDevice
from .sample import Sample

# If the host runs further ahead of the device than this many recorded steps, the oldest are dropped.
MAX_PENDING = 48


class PendingSamples:
    def __init__(self, budget: OverheadBudget, problems: ProblemLog) -> None:
        self._budget, self._problems = budget, problems
        self.waiting: deque[Sample] = deque()
        self._steps = 0
        self._read: list[Sample] = []
        self.device: CudaDevice | None = None

    def __bool__(self) -> bool:
        return bool(self.waiting or self._read)

    def add(self, sample: Sample) -> None:
        self.waiting.append(sample)
        self._steps += len(sample.steps)
        if self._steps > MAX_PENDING:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        """Drops samples that are still too many after removing those that are done."""
        self.resolve()
        while self._steps > MAX_PENDING:
            dropped = self._pop()
            self._problems.count("samples-dropped", len(dropped.steps))
            if self.device is not None:
                # An event may be recorded again before the device reaches it; then the old time is lost.
                self.device.give_back(dropped)

    def _pop(self) -> Sample:
        sample = self.waiting.popleft()
        self._steps -= len(sample.steps)
        return sample

    def resolve(self) -> None:
        """
        Reads the samples that the device is done with, without waiting. Called for several samples at once, because the
        first of a batch costs three times as much as the others. On the training thread, like all calls into CUDA.
        """
        device = self.device
        if device is not None and device.is_capturing():
            return
        while self.waiting:
            started = perf_counter_ns()
            sample = self.waiting[0]
            if device is not None and not device.is_done(sample):
                return
            self._pop()
            if device is not None:
                device.read(sample)
                device.give_back(sample)
            self._read.append(sample)
            cost = (sample.spent + perf_counter_ns() - started) // len(sample.steps)
            for step, *_ in sample.steps:
                self._budget.note_sample(step, cost)

    def take(self) -> list[Sample]:
        read, self._read = self._read, []
        return read

    def drain(self, wait_s: float) -> list[Sample]:
        """At the end of the job: waits for the device, at most `wait_s`, and returns all samples that are done."""
        deadline = perf_counter_ns() + int(wait_s * 1e9)
        self.resolve()
        while self.waiting and perf_counter_ns() < deadline:
            threading.Event().wait(0.002)
            self.resolve()
        return self.take()
