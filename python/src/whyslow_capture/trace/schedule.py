"""Decides which steps are profiled, by step number alone, so all ranks and a resumed job agree."""

from __future__ import annotations

from dataclasses import dataclass, replace

# Later than any step.
NEVER = 1 << 62
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


class WindowQueue:
    """
    The upcoming windows of one target, scheduled and requested. Also counts the steps of the target. Only the training
    thread changes it.
    """

    def __init__(self, schedule: Schedule) -> None:
        self.target = schedule.target
        self.step = 0
        # Before this step there is nothing to do for this target.
        self.quiet_until = 0
        self._schedule = schedule
        self._skip_before = 0
        self._requested: tuple[WindowPlan, ...] = ()

    def add(self, plan: WindowPlan) -> None:
        self._requested = tuple(sorted((*self._requested, plan), key=lambda p: p.first))

    @property
    def has_requests(self) -> bool:
        return self._requested != ()

    def begin_schedule_at(self, step: int, active: int) -> None:
        """The first scheduled window warms up with `step` and records `active` steps."""
        self._schedule = replace(self._schedule, start=step, active=active, period=self._schedule.warmup + active)

    def begin_again_at(self, step: int, active: int) -> None:
        """Like `begin_schedule_at`, unless the first window is planned for later."""
        planned = self._scheduled(step)
        self.begin_schedule_at(step if planned is None else max(step, planned.warm_from), active)

    def due(self, step: int) -> WindowPlan | None:
        """The window that should be open or warming up during `step`. Requested windows go before scheduled ones."""
        for plan in (*self._requested[:1], self._scheduled(step)):
            if plan is not None and plan.warm_from <= step <= plan.first:
                return plan
        return None

    def drop(self, plan: WindowPlan) -> None:
        """Removes a window that has opened, or never will."""
        if plan.request is None:
            self._skip_before = plan.first + 1
        else:
            self._requested = tuple(p for p in self._requested if p is not plan)

    def drop_late(self, step: int) -> list[WindowPlan]:
        """Removes and returns requested windows that should have begun before `step`."""
        late = [plan for plan in self._requested if plan.first < step]
        self._requested = self._requested[len(late) :]
        return late

    def drop_all(self) -> list[WindowPlan]:
        requested, self._requested = self._requested, ()
        return list(requested)

    def next_event(self, step: int) -> int:
        """The first step after `step` with something to do: the one before a window warms up."""
        warm_up = self._next_warm_up(step)
        return NEVER if warm_up == NEVER else max(step + 1, warm_up - 1)

    def warms_up_within(self, step: int, steps: int) -> bool:
        """Whether a window warms up at `step` or less than `steps` later."""
        return self._next_warm_up(step - 1) - step < steps

    def _next_warm_up(self, step: int) -> int:
        scheduled = self._scheduled(step + 1)
        plans = (*self._requested, *([] if scheduled is None else [scheduled]))
        return min((plan.warm_from for plan in plans), default=NEVER)

    def free_from(self, wanted: WindowPlan, others: tuple[WindowPlan, ...] = ()) -> int:
        """The first step at which a window like `wanted` overlaps no other. Any thread may call it."""
        plan = wanted
        for _ in range(100):
            inside = self._schedule.next_window(plan.warm_from - self._schedule.active + 1)
            blocking = [p for p in (*self._requested, *others, inside) if p is not None and p.overlaps(plan)]
            if not blocking:
                return plan.first
            plan = replace(plan, first=max(p.end for p in blocking) + plan.warmup)
        # The schedule leaves no gap, so scheduled windows give way.
        return wanted.first

    def _scheduled(self, step: int) -> WindowPlan | None:
        plan = self._schedule.next_window(max(step, self._skip_before))
        while plan is not None and any(plan.overlaps(requested) for requested in self._requested):
            plan = self._schedule.next_window(plan.first + 1)
        return plan
