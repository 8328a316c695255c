"""Samples whose events the device has yet to reach, and those it has."""

from __future__ import annotations

import threading
from collections import deque
from time import perf_counter_ns

import torch

from ..trouble import Trouble
from .budget import OverheadBudget
from .clock import CudaMarks
from .sample import ResolvedSample, Sample

# A job that is this far ahead of its device loses the oldest.
MAX_PENDING = 48


class PendingSamples:
    def __init__(self, budget: OverheadBudget, trouble: Trouble) -> None:
        self._budget, self._trouble = budget, trouble
        self.waiting: deque[Sample] = deque()
        self._resolved: list[ResolvedSample] = []

    def __bool__(self) -> bool:
        return bool(self.waiting or self._resolved)

    def add(self, sample: Sample, cuda: CudaMarks | None) -> None:
        self.waiting.append(sample)
        if len(self.waiting) <= MAX_PENDING:
            return
        self.resolve(cuda)
        if len(self.waiting) > MAX_PENDING:
            dropped = self.waiting.popleft()
            self._trouble.count("samples-dropped")
            if cuda is not None:
                # Recording an event again while the device has yet to reach it is allowed; the old time is lost.
                cuda.give_back(dropped.events)

    def resolve(self, cuda: CudaMarks | None) -> None:
        """
        Asks the device, never waits for it. Called for several samples at once: the first one of a batch costs three
        times the others. On the training thread, like all calls into CUDA.
        """
        if cuda is not None and torch.cuda.is_current_stream_capturing():
            return
        while self.waiting:
            started = perf_counter_ns()
            sample = self.waiting[0]
            if not sample.is_done():
                return
            self.waiting.popleft()
            self._resolved.append(sample.resolve())
            if cuda is not None:
                cuda.give_back(sample.events)
            self._budget.note_sample(sample.step, sample.cost_ns + perf_counter_ns() - started)

    def take(self) -> list[ResolvedSample]:
        resolved, self._resolved = self._resolved, []
        return resolved

    def drain(self, cuda: CudaMarks | None, wait_s: float) -> list[ResolvedSample]:
        """All that can still be had, at the end of the job: here the device may be waited for, but not for ever."""
        deadline = perf_counter_ns() + int(wait_s * 1e9)
        self.resolve(cuda)
        while self.waiting and perf_counter_ns() < deadline:
            threading.Event().wait(0.002)
            self.resolve(cuda)
        return self.take()

    def clear(self) -> None:
        self.waiting.clear()
        self._resolved.clear()
