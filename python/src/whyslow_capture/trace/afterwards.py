"""
Checks whether windows leave the job slower: times the steps before and after each one.

All steps are timed by the host's clock, not only those that the events tier records, which are too few around a window.
That costs some microseconds in some 80 steps per window, and nothing in any other.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from time import perf_counter_ns

from ..problems import ProblemLog
from .change import LEAST_STEPS, Change, change, drift
from .report import WindowReport

# Steps to time before and after a window.
WATCHED = 40
# The first steps of a job, and those after a window, are not typical.
SETTLING = 3
# A trace is compressed on another thread, which takes a core from the job. How often to look whether that is over.
LOOK_EVERY = 8
# A change below this is not worth a warning, however certain.
MATTERS = 0.02
# Later than any step.
NEVER = 1 << 62


class Afterwards:
    """
    Call `begin_step` when a training step begins, at the latest at the step that `wanted_at` gave, and `step_begun`
    when our own work there is done. Only the training thread uses it.
    """

    def __init__(self, problems: ProblemLog, is_compressing: Callable[[], bool]) -> None:
        self._problems, self._is_compressing = problems, is_compressing
        self._first_step: int | None = None
        # Step and time at which the step that is being timed began.
        self._begun: tuple[int, int] | None = None
        self._before: deque[float] = deque(maxlen=WATCHED)
        self._last_before = 0
        self._is_open = False
        # The window whose following steps are timed, the steps before it, and the first step that may count.
        self._report: WindowReport | None = None
        self._last_report: WindowReport | None = None
        self._baseline: list[float] = []
        self._after: list[float] = []
        self._after_from: int | None = None
        # The sum of what each window changed. The job's own changes between windows are not part of it.
        self._total: Change | None = None

    def wanted_at(self, step: int, next_window: int) -> int:
        """The next step at which to call `begin_step`, if the next window warms up at `next_window`."""
        watch_before = NEVER if next_window >= NEVER else max(step + 1, next_window - WATCHED)
        if self._report is None:
            return watch_before
        return min(watch_before, step + (1 if self._after_from is not None else LOOK_EVERY))

    def begin_step(self, step: int) -> None:
        now, begun = perf_counter_ns(), self._begun
        self._begun = None
        if self._first_step is None:
            self._first_step = step
        if begun is not None and begun[0] == step - 1 and begun[0] >= self._first_step + SETTLING:
            self._note(step - 1, max(1, now - begun[1]) / 1e6)
        if self._report is not None and self._after_from is None and not self._is_compressing():
            self._after_from = step + SETTLING

    def step_begun(self, step: int) -> None:
        self._begun = None if self._is_open else (step, perf_counter_ns())

    def window_opens(self) -> None:
        self._conclude()
        self._is_open = True
        self._baseline = list(self._before)
        self._before.clear()

    def window_ended(self, report: WindowReport | None) -> None:
        """`report`: of the last window that ended, which may be an earlier one if this one failed."""
        self._is_open = False
        is_new, self._last_report = report is not self._last_report, report
        self._report = report if is_new else None
        if len(self._baseline) < LEAST_STEPS:
            self._conclude()

    def close(self) -> None:
        self._conclude()

    @property
    def is_open(self) -> bool:
        return self._is_open

    def _note(self, step: int, ms: float) -> None:
        if self._report is not None and (self._after_from is None or step < self._after_from):
            return
        if step != self._last_before + 1:
            self._before.clear()  # steps before the gap were timed too long ago
        self._before.append(ms)
        self._last_before = step
        if self._report is not None:
            self._after.append(ms)
            if len(self._after) >= WATCHED:
                self._conclude()

    def _conclude(self) -> None:
        """Compares what was timed around the last window."""
        report, before, after = self._report, self._baseline, self._after
        self._report, self._after, self._after_from = None, [], None
        if report is None:
            return
        found = change(before, after)
        report.afterwards = {"steps_before": len(before), "steps_after": len(after)}
        if found is None:
            return
        total = self._total = found if self._total is None else self._total.plus(found)
        low, likely, high = total.interval
        was_slowing = drift(before, after, report.plan.steps + report.plan.warmup + SETTLING)
        is_slower = low - was_slowing > MATTERS
        report.afterwards |= {
            "before_ms": round(_middle(before), 4),
            "after_ms": round(_middle(after), 4),
            # Relative to the steps before the first window, without what the job itself changed between windows.
            "change": {"low": round(low, 4), "likely": round(likely, 4), "high": round(high, 4)},
            "slower": is_slower,
        }
        if is_slower:
            self._warn(report, low, high)

    def _warn(self, report: WindowReport, low: float, high: float) -> None:
        steps = f"steps {report.plan.first} to {report.last_step}"
        attached = "" if report.detached else ": the GPU profiler stays attached"
        self._problems.warn(
            "trace_slower",
            f"since the profiler window for {steps} this rank's steps take {low:.0%} to {high:.0%} longer{attached}",
        )


def _middle(steps: list[float]) -> float:
    return sorted(steps)[len(steps) // 2]
