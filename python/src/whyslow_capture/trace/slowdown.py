"""
Checks whether windows leave the job slower: times groups of steps before and after each one.

All steps of a group are timed by the host's clock, not only those that the events tier records, because those are too
few around a window. This costs a few microseconds in forty steps every four seconds, while a window is planned and for
a minute after it. At other times it costs nothing.

What a window leaves behind stays, but a busy host passes: on shared machines steps take 1.5 times as long for seconds
at a time, with or without a window (docs/internal/measurements.md). So the fastest group of the minute before is
compared with the fastest group of the minute after, and a job that ends sooner is not judged.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import ceil
from statistics import median
from time import perf_counter_ns

from ..problems import ProblemLog
from .report import WindowReport
from .schedule import NEVER

# Steps in a group, and the fewest that count if a window or the end of the job cuts one short.
WATCHED = 40
LEAST_STEPS = 12
# From one group to the next.
PAUSE_S = 4.0
# Groups to time before and after a window, and how many before it are enough to blame it. Chosen in a simulation of the
# two-speed host in docs/internal/measurements.md (docs/decisions/0021).
GROUPS = 16
ENOUGH_BEFORE = 8
# The first steps of a job, and those after a window, are not typical.
SETTLING = 3
# A trace is compressed on another thread, which takes a core from the job. How often to look whether that is over.
LOOK_EVERY = 8
# A change below this is not worth a warning, however certain.
MATTERS = 0.02
# Fewer groups do not show how much they differ.
LEAST_GROUPS = 4
# Among the fastest of many groups, on a host whose speed varies by 40%.
MOST_NOISE = 0.1

Groups = list[list[float]]


class SlowdownCheck:
    """
    Call `begin_step` when a training step begins, at the latest at the step that `wanted_at` gave, and `step_begun`
    when our own work there is done. Only the training thread uses it.
    """

    def __init__(self, problems: ProblemLog, is_compressing: Callable[[], bool]) -> None:
        self._problems, self._is_compressing = problems, is_compressing
        # Step and time at which the step that is being timed began; the steps of its group so far, in ms.
        self._begun: tuple[int, int] | None = None
        self._group: list[float] = []
        # The first step of the next group. None: no step has begun yet.
        self._next_at: int | None = None
        self._recent: deque[list[float]] = deque(maxlen=GROUPS)
        self._is_open = False
        # The window whose following steps are timed, and the groups before and after it.
        self._report: WindowReport | None = None
        self._last_report: WindowReport | None = None
        self._before: Groups = []
        self._after: Groups = []
        # What all windows so far left behind, as a factor. The job's own changes between windows are not part of it.
        self._left = 1.0

    def wanted_at(self, step: int, next_window: int) -> int:
        """The next step at which to call `begin_step`, if the next window warms up at `next_window`."""
        is_needed = self._report is not None or next_window < NEVER
        return min(next_window, max(step + 1, self._next_at or 0)) if is_needed else NEVER

    def begin_step(self, step: int) -> None:
        now, begun = perf_counter_ns(), self._begun
        self._begun = None
        if self._next_at is None:
            self._next_at = step + SETTLING
        if begun is None or begun[0] != step - 1:
            self._group = []  # the first of a group, or steps in between were not timed
            return
        self._group.append(max(1, now - begun[1]) / 1e6)
        if len(self._group) >= WATCHED:
            self._next_at = step + ceil(PAUSE_S * 1e3 / median(self._group))
            self._end_group()

    def step_begun(self, step: int) -> None:
        if self._is_open or self._next_at is None or step < self._next_at:
            return
        if self._report is not None and not self._group and self._is_compressing():
            self._next_at = step + LOOK_EVERY
        else:
            self._begun = (step, perf_counter_ns())

    def window_opens(self) -> None:
        self._conclude()
        if not self._recent and len(self._group) >= LEAST_STEPS:
            self._recent.append(self._group)
        self._group = []
        self._is_open = True
        self._before = list(self._recent)
        self._recent.clear()

    def window_ended(self, report: WindowReport | None) -> None:
        """`report`: of the last window that ended, which may be an earlier one if this one failed."""
        self._is_open = False
        is_new, self._last_report = report is not self._last_report, report
        self._report = report if is_new else None
        last = None if report is None else report.last_step
        self._next_at = 0 if last is None else last + 1 + SETTLING
        if not self._before:
            self._conclude()

    def close(self) -> None:
        self._conclude()

    @property
    def is_open(self) -> bool:
        return self._is_open

    def _end_group(self) -> None:
        group, self._group = self._group, []
        self._recent.append(group)
        report, self._report = self._report, None
        if report is None:
            return
        self._after.append(group)
        found = change(self._before, self._after)
        self._report = report
        is_known = report.detached is False or found.low <= MATTERS
        if is_known or len(self._after) >= GROUPS:
            self._conclude()

    def _conclude(self) -> None:
        """Writes down what was found about the last window."""
        report, self._report = self._report, None
        if report is None:
            return
        before, after = self._before, self._after
        self._before, self._after = [], []
        if not after and len(self._group) >= LEAST_STEPS:
            after = [self._group]
        report.afterwards = {"steps_before": sum(map(len, before)), "steps_after": sum(map(len, after))}
        if before and after:
            # Slower than a few steps, or for a few seconds, is not yet slower for good, unless the reason is known.
            is_sure = report.detached is False or (len(before) >= ENOUGH_BEFORE and len(after) >= GROUPS)
            self._tell(report, change(before, after), is_sure)

    def _tell(self, report: WindowReport, found: Change, is_sure: bool) -> None:
        total = replace(found, earlier=self._left)
        is_slower = is_sure and total.low > MATTERS
        if is_sure and found.low > MATTERS:
            self._left = 1 + total.likely
        report.afterwards |= {
            "before_ms": round(found.before_ms, 4),
            "after_ms": round(found.after_ms, 4),
            # Relative to the steps before the first window, without what the job itself changed between windows.
            "change": {"low": round(total.low, 4), "likely": round(total.likely, 4), "high": round(total.high, 4)},
            "slower": is_slower,
        }
        if is_slower:
            self._warn(report, total)

    def _warn(self, report: WindowReport, total: Change) -> None:
        steps = f"steps {report.plan.first} to {report.last_step}"
        attached = "" if report.detached else ": the GPU profiler stays attached"
        self._problems.warn(
            "trace_slower",
            f"since the profiler window for {steps} this rank's steps take {total.low:.0%} to {total.high:.0%} longer"
            f"{attached}",
        )


@dataclass(frozen=True)
class Change:
    """The fastest groups before and after, and how far each of them may be off. Changes are relative: 0.02 is 2%."""

    before_ms: float
    after_ms: float
    noise: float
    earlier: float = 1.0
    """What was left behind before, as a factor."""

    @property
    def likely(self) -> float:
        return self.earlier * self.after_ms / self.before_ms - 1

    @property
    def low(self) -> float:
        return (1 + self.likely) / (1 + self.noise) - 1

    @property
    def high(self) -> float:
        return (1 + self.likely) * (1 + self.noise) - 1


def change(before: Sequence[Sequence[float]], after: Sequence[Sequence[float]]) -> Change:
    """
    Of step times, in groups. Neither side is empty.

    Neighboring steps are alike, and a shared machine changes its speed for seconds at a time. So a group is one
    measurement, however many steps it has, and differences among the groups before are noise. The
    fastest group counts: other users of the machine only add time.
    """
    old = sorted(median(group) for group in before)
    return Change(old[0], min(median(group) for group in after), _noise(old))


def _noise(levels: Sequence[float]) -> float:
    """Half of what the groups differ by, apart from the outermost tenths."""
    if len(levels) < LEAST_GROUPS:
        return MOST_NOISE
    tenth = len(levels) // 10
    return min(MOST_NOISE, (levels[-1 - tenth] / levels[tenth] - 1) / 2)
