"""
Checks whether windows leave the job slower: times the steps before and after each one.

All steps are timed by the host's clock, not only those that the events tier records, which are too few around a window.
That costs some microseconds in some 80 steps per window, and nothing in any other.

What a window leaves behind stays. A busy host passes: on shared machines steps take half as long again for seconds at a
time, with or without a window. So slower steps are timed again some seconds later, and the fastest time counts.
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
# Seconds until slower steps are timed again.
PAUSES_S = (2, 10, 30)
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
        # What the steps after it were timed to, at the fastest, how often, and when to time them again.
        self._fastest: tuple[Change, list[float]] | None = None
        self._looks = 0
        self._look_again_at = 0
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
        is_waiting = self._report is not None and self._after_from is None
        if is_waiting and now >= self._look_again_at and not self._is_compressing():
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
                self._look(self._report)

    def _look(self, report: WindowReport) -> None:
        """Compares what was timed around the last window. Slower steps are timed again later."""
        after, self._after, self._after_from, self._report = self._after, [], None, None
        self._compare(after)
        self._looks += 1
        self._report = report
        if self._looks > len(PAUSES_S) or report.detached is False or not self._left_something(report):
            self._conclude()
        else:
            self._look_again_at = perf_counter_ns() + 10**9 * PAUSES_S[self._looks - 1]

    def _compare(self, after: list[float]) -> None:
        found = change(self._baseline, after)
        if found is not None and (self._fastest is None or found.log_ratio < self._fastest[0].log_ratio):
            self._fastest = found, after

    def _left_something(self, report: WindowReport) -> bool:
        """This window, whatever earlier ones left."""
        return self._fastest is not None and self._matters(report, *self._fastest)

    def _matters(self, report: WindowReport, found: Change, after: list[float]) -> bool:
        low, _, _ = found.interval
        return low - drift(self._baseline, after, report.plan.steps + report.plan.warmup + SETTLING) > MATTERS

    def _conclude(self) -> None:
        """Writes down what was found about the last window."""
        report, after, looks = self._report, self._after, self._looks
        self._report, self._after, self._after_from, self._looks, self._look_again_at = None, [], None, 0, 0
        if report is None:
            return
        if looks == 0:
            self._compare(after)
        fastest = self._fastest or (None, after)
        report.afterwards = {"steps_before": len(self._baseline), "steps_after": len(fastest[1])}
        if fastest[0] is not None:
            # Once slower, or slower than a few steps, is not yet slower for good, unless the reason is known.
            is_confirmed = looks > 1 and len(self._baseline) >= WATCHED
            is_sure = is_confirmed or report.detached is False or not self._left_something(report)
            self._tell(report, fastest[0], fastest[1], is_sure)
        self._fastest = None

    def _tell(self, report: WindowReport, found: Change, after: list[float], is_sure: bool) -> None:
        total = found if self._total is None else self._total.plus(found)
        is_slower = is_sure and self._matters(report, total, after)
        self._total = total if is_sure else self._total
        low, likely, high = total.interval
        report.afterwards |= {
            "before_ms": round(_middle(self._baseline), 4),
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
