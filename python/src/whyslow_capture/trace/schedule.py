"""Which steps are recorded. Only step numbers decide, so all ranks agree without talking, and so does a resumed job."""

from __future__ import annotations

from dataclasses import dataclass

# The target whose steps are the training steps; any other counts the calls of its step_callback.
TRAIN_OVERALL = "train_overall"


@dataclass(frozen=True)
class WindowPlan:
    """Steps `first` up to, not including, `end`, after `warmup` steps in which the profiler only gets ready."""

    target: str
    first: int
    steps: int
    warmup: int
    # Of the request that asked for it, if it is not one of the schedule.
    request: str | None = None
    # How many ranks record it; 0: those that are configured.
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
    Windows are the last `active` steps of each period, as torch.profiler.schedule and d9d have it, counted from
    `start`. Only whole windows are planned: a job resumed within one waits for the next.
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
        """The first window whose recorded steps have not begun before `step`."""
        if self.period <= 0:
            return None
        # A period too short for its window would never record: the window decides then.
        period = max(self.period, self.warmup + self.active)
        cycle = max(0, -(-(step + self.active - self.start) // period) - 1)
        if self.repeat > 0 and cycle >= self.repeat:
            return None
        first = self.start + (cycle + 1) * period - self.active
        if self.last is not None and first + self.active - 1 > self.last:
            return None
        return WindowPlan(self.target, first, self.active, self.warmup)
