"""Decides which steps are profiled, by step number alone, so all ranks and a resumed job agree."""

from __future__ import annotations

from dataclasses import dataclass

# The target that counts training steps. Any other target counts the calls of its step_callback.
TRAIN_OVERALL = "train_overall"


@dataclass(frozen=True)
class WindowPlan:
    """A window over steps `first` to `end` (exclusive), after `warmup` steps in which the profiler warms up."""

    target: str
    first: int
    steps: int
    warmup: int
    # Id of the request, or None for a scheduled window.
    request: str | None = None
    # How many ranks record it. 0: as configured.
    recording_ranks: int = 0

    @property
    def warm_from(self) -> int:
        return self.first - self.warmup

    @property
    def end(self) -> int:
        return self.first + self.steps

    def overlaps(self, other: WindowPlan) -> bool:
        return self.warm_from < other.end and other.warm_from < self.end


@dataclass(frozen=True)
class Schedule:
    """
    As in torch.profiler.schedule and d9d, windows are the last `active` steps of each period, counted from `start`.
    Only whole windows are planned: a job resumed inside a window waits for the next one.
    """

    target: str
    period: int
    warmup: int
    active: int
    repeat: int = 0
    start: int = 0
    # The last step that may be recorded.
    last: int | None = None

    def next_window(self, step: int) -> WindowPlan | None:
        """The first window that starts recording at `step` or later."""
        if self.period <= 0:
            return None
        # A period shorter than its window would never record, so the window sets the period.
        period = max(self.period, self.warmup + self.active)
        cycle = max(0, -(-(step + self.active - self.start) // period) - 1)
        if self.repeat > 0 and cycle >= self.repeat:
            return None
        first = self.start + (cycle + 1) * period - self.active
        if self.last is not None and first + self.active - 1 > self.last:
            return None
        return WindowPlan(self.target, first, self.active, self.warmup)
