"""Counts the job's steps, times them, keeps their losses, and ends the process at the agreed step."""

from __future__ import annotations

import functools
import time
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook

from whyslow_capture.hooks.dynamo import is_compiling, never_compiled, not_compiled
from whyslow_capture.hooks.iterations import IterationTracker

from . import ending
from .result import Measured, framework_of_caller
from .trial import Trial

# Ranks may be a few steps apart on the host when one of them decides that time is up.
AHEAD = 8
# Fewer measured steps say too little.
LEAST_STEPS = 8


class StepMeter:
    """
    A step is timed from the end of the previous one to its own end: by CUDA events where parameters are on a GPU, else
    by the host's clock. Nothing is read before the last step, so no step waits for the measurement.
    """

    def __init__(self, trial: Trial) -> None:
        self._trial = trial
        self._iterations = IterationTracker()
        self._began = time.perf_counter()
        self._marks: list[Any] = []
        self._clock: list[float] = []
        self._losses: list[list[torch.Tensor]] = [[]]
        self._on_gpu: bool | None = None
        self._framework: str | None = None
        self._stop_at: int | None = None
        self._stop_file = trial.spec.results / "stop"
        self._done = False

    def install(self) -> None:
        self._watch_backward()
        register_optimizer_step_post_hook(self._optimizer_stepped)
        ending.at_end(self._ended_early)

    @property
    def warmup(self) -> int:
        """Workers fill their queue during the slow first steps. It takes twice its length until their rate shows."""
        return max(self._trial.spec.warmup, 2 * self._trial.queue)

    def _watch_backward(self) -> None:
        original = torch.autograd.backward
        trial = self._trial

        @functools.wraps(original)
        def backward(tensors: Any, *args: Any, **options: Any) -> None:
            # Checkpointing and custom functions run further passes inside the outermost one.
            if trial.in_backward or is_compiling():
                return original(tensors, *args, **options)
            self._backward_begins(tensors)
            trial.in_backward = True
            try:
                return original(tensors, *args, **options)
            finally:
                trial.in_backward = False
                self._iterations.backward_since_step = True

        torch.autograd.backward = not_compiled(backward)

    @never_compiled
    def _backward_begins(self, tensors: Any) -> None:
        first = tensors if isinstance(tensors, torch.Tensor) else next(iter(tensors), None)
        if isinstance(first, torch.Tensor) and first.numel() == 1:
            # A copy: CUDA graphs overwrite their outputs in the next step, and scripts change losses in place.
            self._losses[-1].append(first.detach().reshape(()).clone())
        for act in self._trial.at_backward:
            act()

    @never_compiled
    def _optimizer_stepped(self, optimizer: Any, args: object, options: object) -> None:
        if self._done or is_compiling() or not self._iterations.stepped(id(optimizer)):
            return
        if self._on_gpu is None:
            self._on_gpu = _trains_on_gpu(optimizer)
        if self._on_gpu:
            mark = torch.cuda.Event(enable_timing=True)
            mark.record()
            self._marks.append(mark)
        self._clock.append(time.perf_counter())
        self._losses.append([])
        count = len(self._clock)
        if self._framework is None:
            self._framework = framework_of_caller()
        for act in self._trial.at_step_end:
            act(count)
        if count >= self._last_step(count):
            self._finish("steps" if self._stop_at is None else "seconds")

    def _last_step(self, count: int) -> int:
        """All ranks count the same steps, so a number is all that they must agree on."""
        spec = self._trial.spec
        last = self.warmup + spec.steps
        if spec.seconds is None:
            return last
        if self._stop_at is None and count >= self.warmup and self._stop_file.exists():
            self._stop_at = int(self._stop_file.read_text() or last)
        elif self._stop_at is None and self._time_is_up(count) and ending.is_first_rank():
            self._stop_at = count + (AHEAD if ending.world_size() > 1 else 0)
            ending.write(self._stop_file, str(self._stop_at))
        return last if self._stop_at is None else min(last, self._stop_at)

    def _time_is_up(self, count: int) -> bool:
        if count < self.warmup + LEAST_STEPS:
            return False
        return self._clock[-1] - self._clock[self.warmup - 1] > (self._trial.spec.seconds or 0)

    def _finish(self, why: str) -> None:
        self._write(why)
        ending.leave(self._trial.spec)

    def _ended_early(self) -> None:
        """The job has ended by itself before the last step."""
        if not self._done and self._clock:
            self._write("end")

    def _write(self, why: str) -> None:
        self._done = True
        if self._on_gpu:
            torch.cuda.synchronize()
        ending.write_result(self._trial, self._measured(why))

    def _measured(self, why: str) -> Measured:
        marks, clock = self._marks, self._clock
        if self._on_gpu:
            times = [marks[i].elapsed_time(marks[i + 1]) for i in range(len(marks) - 1)]
        else:
            times = [1e3 * (clock[i + 1] - clock[i]) for i in range(len(clock) - 1)]
        # The time of step n is between marks n − 1 and n. The first step has none.
        return Measured(
            why=why,
            clock="gpu" if self._on_gpu else "host",
            first_step_s=clock[0] - self._began,
            warmup=self.warmup,
            step_ms=times[max(0, self.warmup - 1) :],
            steps=len(clock),
            losses=[_sum(losses) for losses in self._losses[: len(clock)]],
            framework=self._framework or "plain",
        )


def _trains_on_gpu(optimizer: Any) -> bool:
    return any(p.is_cuda for group in optimizer.param_groups for p in group["params"])


def _sum(losses: list[torch.Tensor]) -> float | None:
    """Of the micro-batches of a step."""
    return sum(float(loss) for loss in losses) if losses else None
