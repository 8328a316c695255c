"""
The only window of a run: where steps are slow it begins before its planned step, because short runs should have one
too, and it is shorter.
"""

from __future__ import annotations

import os
import time

import torch

from .. import process
from ..config import ONE_WINDOW_STEPS, CaptureConfig, TraceConfig
from .schedule import TRAIN_OVERALL
from .teardown import VARIABLE, decide

# Compilation and autotuning are over after this many steps, counted from the first that ended.
LEAST_STEPS = 3
# Jobs whose steps are shorter than this reach the planned step soon, and are better recorded there.
SLOW_STEP_S = 0.5
# Longer steps launch more work, so that fewer of them show as much: recording costs the job time for each launch.
LONG_STEP_S = 0.08
FEW_STEPS = 3


def may_start_early(config: CaptureConfig, world: int) -> bool:
    """
    It goes by time, and ranks may disagree about that: only for a run in which one rank records. Not if the profiler
    stays attached: there the steps before the window are the only ones that it does not slow.
    """
    trace = config.trace
    records_alone = world == 1 or (trace.ranks is not None and len(trace.ranks) == 1)
    is_planned = trace.is_single_window and TRAIN_OVERALL in trace.target and config.start_step == 0
    return is_planned and records_alone and _leaves_nothing_behind()


def _leaves_nothing_behind() -> bool:
    return not process.uses_cuda() or decide(torch.version.cuda, os.environ.get(VARIABLE)).detaches


class EarlyStart:
    def __init__(self) -> None:
        self._first: int | None = None
        self._began = 0.0
        self._before_s = 0.0
        self._usual_s = 0.0

    def is_due(self, step: int) -> bool:
        """
        Whether the profiler may start with `step`, which begins now. Only the last two steps count: earlier ones
        compile, and a single slow one may have saved a checkpoint.
        """
        began, self._began = self._began, time.monotonic()
        before_s, self._before_s = self._before_s, self._began - began
        if self._first is None or step < self._first:
            self._first = step
        self._usual_s = min(before_s, self._before_s)
        return step - self._first >= LEAST_STEPS and self._usual_s >= SLOW_STEP_S

    def window_steps(self, planned: int) -> int:
        """How many steps to record: a number that the user chose stays."""
        return FEW_STEPS if planned == ONE_WINDOW_STEPS and self._usual_s >= LONG_STEP_S else planned


def no_window(trace: TraceConfig, steps: int) -> str:
    """For a job that ended before its first window."""
    shortest = trace.warmup + trace.active
    advice = (
        f"to get one, set --trace-period {max(shortest, 3 * steps // 4)}"
        if steps >= shortest
        else f"a window takes {shortest} steps, {trace.warmup} of them to warm up"
    )
    return f"no trace was recorded: the job ended after {steps} steps, before the window; {advice}"
